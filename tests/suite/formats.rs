//! Plain archives, image layouts and packages of Debian, each installed by its own client: the simulator runs on the CPU
//! from all of them, and the doctor finds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::consumers::{can_build, serves};
use crate::origin::recipe;
use crate::simulating::net;
use crate::support::{Ran, client, copy_tree, digests, files, need, python, scratch, simpack, tool, volley};

/// Volley in all formats of this file, from the shared build's artifacts.
pub fn dist() -> &'static Path {
    static DIST: OnceLock<PathBuf> = OnceLock::new();
    DIST.get_or_init(|| {
        volley();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("volley/formats");
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = simpack(checkout, &["build", "volley", "--locked", "--format", "tar,oci,deb", "--dist"]);
        Ran::of(command.arg(root.join("dist")).arg("--work").arg(root.join("work"))).exit(0);
        root.join("dist")
    })
}

pub fn named<'a>(all: &'a [String], start: &str) -> &'a str {
    let mut found = all.iter().filter(|name| name.rsplit('/').next().unwrap().starts_with(start));
    let name = found.next().unwrap_or_else(|| panic!("no {start} in {all:?}"));
    assert_eq!(found.next(), None, "{start}");
    name
}

/// Spikes of a run on the CPU, without any environment; the loader is this machine's.
fn spikes(prefix: &Path) -> u64 {
    let mut command = Command::new(prefix.join("bin/volley"));
    let ran =
        Ran::of(command.env_clear().args(["run", "--json", "--backend", "cpu"]).arg(net("balanced"))).exit(0).json();
    ran["spikes"].as_u64().unwrap()
}

/// The doctor finds core and kernels in a prefix, and nothing wrong with their files.
fn diagnosed(prefix: &Path) {
    let ran = Ran::of(simpack(Path::new("."), &["doctor"]).arg(prefix));
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["volley-core 1.0.0", "volley-kernels-sm_90 1.0.0", "nothing broken"] {
        assert!(words.contains(word), "{word}: {}\n{}", ran.stdout, ran.stderr);
    }
    let lib = prefix.join("share/simpack/volley-core/sbom.cdx.json");
    assert!(lib.is_file(), "{}", lib.display());
}

/// A byte changed in one of these files of a prefix is found when `subject`, which is it or what it is in, is verified;
/// before, nothing is.
pub fn changes_are_found(subject: &Path, prefix: &Path, files: &[&str]) {
    let found = || -> Vec<String> {
        let report = Ran::of(simpack(Path::new("."), &["verify", "--json"]).arg(subject)).json();
        let findings = report["findings"].as_array().unwrap().iter();
        let own = findings.filter(|finding| finding["lint"] == "record-mismatch").map(ToString::to_string);
        own.chain(report["incomplete"].as_array().unwrap().iter().map(ToString::to_string)).collect()
    };
    assert_eq!(found(), [""; 0], "{}", subject.display());
    for file in files {
        let path = prefix.join(file);
        let good = fs_err::read(&path).unwrap();
        let mut bad = good.clone();
        // A letter in the middle of a word: what it is in stays JSON.
        let is_inside = |at: &usize| bad[*at].is_ascii_lowercase() && bad[at - 1].is_ascii_lowercase();
        let at = (bad.len() / 2..bad.len()).chain(1..bad.len() / 2).find(is_inside).unwrap();
        bad[at] = if bad[at] == b'q' { b'z' } else { b'q' };
        // Clients link files into prefixes: the changed one is another file.
        fs_err::remove_file(&path).unwrap();
        fs_err::write(&path, &bad).unwrap();
        let said = found();
        assert!(!said.is_empty(), "{file} of {}, byte {at}", subject.display());
        fs_err::write(&path, &good).unwrap();
    }
    let path = prefix.join(files[0]);
    let good = fs_err::read(&path).unwrap();
    fs_err::remove_file(&path).unwrap();
    assert!(found().iter().any(|finding| finding.contains("not there")), "{:?}", found());
    fs_err::write(&path, good).unwrap();
}

/// The files of core that lie beside those of its manifest, and the manifest, wherever it is installed.
pub const BESIDE_CORE: [&str; 2] =
    ["share/simpack/volley-core/sbom.cdx.json", "share/simpack/volley-core/simpack.json"];

#[test]
fn plain_archives_unpack_into_one_prefix_with_a_module() {
    need!(which::which("zstd").is_ok(), "zstd, which tar calls, is not installed");
    let prefix = scratch();
    let all = files(&dist().join("tar"));
    for start in ["volley-core-", "volley-kernels-sm_90-", "volley-rtc-", "volley-dev-"] {
        let mut tar = Command::new("tar");
        Ran::of(
            tar.arg("--zstd").arg("-xf").arg(dist().join("tar").join(named(&all, start))).arg("-C").arg(prefix.path()),
        )
        .exit(0);
    }
    assert!(spikes(prefix.path()) > 0);
    diagnosed(prefix.path());
    let licence = "share/simpack/volley-core/licenses/LICENSE";
    assert!(prefix.path().join(licence).is_file());
    // What each archive brings is a list that coreutils read; a change is found by them, and by the verifier.
    let sums = "share/simpack/volley-core/SHA256SUMS";
    let check =
        || Ran::of(Command::new("sha256sum").args(["--check", "--strict", "--quiet", sums]).current_dir(prefix.path()));
    check().exit(0);
    let more = [licence, sums, "share/modulefiles/volley/1.0.0.lua"];
    changes_are_found(prefix.path(), prefix.path(), &[&BESIDE_CORE[..], &more].concat());

    if can_build() {
        serves(prefix.path());
    }

    // Lmod itself loads the module, from whatever place the archives were unpacked to.
    let init = "/usr/share/lmod/lmod/init/bash";
    need!(Path::new(init).is_file(), "lmod is not installed");
    let script = "source \"$INIT\" && module use \"$PREFIX/share/modulefiles\" && module load volley/1.0.0 && \
                  module whatis volley && volley --version && echo \"$VOLLEY_ROOT\" && module unload volley && ! command -v volley";
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script).env_clear().env("PATH", "/usr/bin:/bin").env("INIT", init).env("PREFIX", prefix.path());
    let said = Ran::of(bash.env("HOME", prefix.path())).exit(0);
    assert!(said.stdout.contains("volley 1.0.0") && said.stdout.contains(prefix.path().to_str().unwrap()), "{said:?}");
    let whatis = said.stdout.clone() + &said.stderr;
    assert!(whatis.contains("spiking networks on CPU and GPU"), "{whatis}");
}

#[test]
fn images_share_layers_and_are_unpacked_by_umoci() {
    let Some(umoci) = tool("umoci") else { return };
    let layout = dist().join("oci");
    let index: serde_json::Value = serde_json::from_slice(&fs_err::read(layout.join("index.json")).unwrap()).unwrap();
    let (mut layers, mut shared) = (BTreeSet::new(), 0);
    let blob = |digest: &serde_json::Value| -> serde_json::Value {
        let name = digest.as_str().unwrap().replace(':', "/");
        serde_json::from_slice(&fs_err::read(layout.join("blobs").join(name)).unwrap()).unwrap()
    };
    for entry in index["manifests"].as_array().unwrap() {
        for layer in blob(&entry["digest"])["layers"].as_array().unwrap() {
            shared += usize::from(!layers.insert(layer["digest"].to_string()));
        }
    }
    let tars = files(&dist().join("tar"));
    assert_eq!(layers.len(), tars.len(), "a layer for each package with files");
    assert!(shared > layers.len(), "{shared} uses of {} layers", layers.len());
    let dir = scratch();
    for tag in ["1.0.0-sm_90", "1.0.0-cpu"] {
        let bundle = dir.path().join(tag);
        let image = format!("{}:{tag}", layout.display());
        Ran::of(Command::new(&umoci).args(["unpack", "--rootless", "--image", &image]).arg(&bundle)).exit(0);
        assert!(spikes(&bundle.join("rootfs/opt/volley")) > 0, "{tag}");
    }
    let unpacked = dir.path().join("1.0.0-sm_90/rootfs/opt/volley");
    diagnosed(&unpacked);
    changes_are_found(&unpacked, &unpacked, &BESIDE_CORE);
    let config = fs_err::read_to_string(dir.path().join("1.0.0-cpu/config.json")).unwrap();
    assert!(config.contains("/opt/volley/bin/volley") && config.contains("PATH=/opt/volley/bin:"), "{config}");
    assert!(!dir.path().join("1.0.0-cpu/rootfs/opt/volley/lib/volley").exists(), "no kernels");

    // Skopeo reads every digest when it copies, and what it wrote is the same image, layer by layer.
    let Some(skopeo) = tool("skopeo") else { return };
    let run = |args: &[&str]| Ran::of(Command::new(&skopeo).arg("--insecure-policy").args(args)).exit(0).stdout;
    let from = format!("oci:{}:1.0.0-sm_90", layout.display());
    let inspected: serde_json::Value = serde_json::from_str(&run(&["inspect", &from])).unwrap();
    assert_eq!(inspected["Os"], "linux", "{inspected}");
    assert_eq!(inspected["Layers"].as_array().unwrap().len(), 3, "core, rtc and kernels: {inspected}");
    let copy = dir.path().join("copy");
    run(&["copy", &from, &format!("oci:{}:sm_90", copy.display())]);
    let again: serde_json::Value =
        serde_json::from_str(&run(&["inspect", &format!("oci:{}:sm_90", copy.display())])).unwrap();
    assert_eq!((&again["Layers"], &again["Digest"]), (&inspected["Layers"], &inspected["Digest"]));
    // What it puts into a directory is run by the host's loader, too.
    let (blobs, root) = (dir.path().join("blobs"), dir.path().join("root"));
    run(&["copy", &from, &format!("dir:{}", blobs.display())]);
    fs_err::create_dir(&root).unwrap();
    for layer in inspected["Layers"].as_array().unwrap() {
        let blob = blobs.join(layer.as_str().unwrap().trim_start_matches("sha256:"));
        Ran::of(Command::new("tar").arg("-xzf").arg(blob).arg("-C").arg(&root)).exit(0);
    }
    assert!(spikes(&root.join("opt/volley")) > 0);
    diagnosed(&root.join("opt/volley"));
    // As docker takes it: the layers unpacked and compressed anew, their digests checked on the way.
    let archive = dir.path().join("volley.tar");
    run(&["copy", &from, &format!("docker-archive:{}:volley:1.0.0", archive.display())]);
    assert!(archive.is_file());
}

/// A root in which dpkg installs, with a C library that is said to be there.
pub fn dpkg_root(dir: &Path) -> PathBuf {
    let root = dir.join("root");
    let admin = root.join("var/lib/dpkg");
    for name in ["info", "updates", "triggers"] {
        fs_err::create_dir_all(admin.join(name)).unwrap();
    }
    let libc = "Package: libc6\nStatus: install ok installed\nMaintainer: a <a@example.org>\nArchitecture: amd64\n\
                Version: 2.36-9\nDescription: the machine's own\n\n";
    fs_err::write(admin.join("status"), libc).unwrap();
    root
}

pub fn dpkg(root: &Path, args: &[&str], packages: &[PathBuf]) -> Ran {
    let mut command = Command::new("dpkg");
    command.arg(format!("--root={}", root.display())).arg("--log=/dev/null").args(args).args(packages);
    Ran::of(command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
}

#[test]
fn packages_of_debian_are_installed_checked_and_removed_by_dpkg() {
    need!(which::which("dpkg").is_ok(), "dpkg is not here");
    // SAFETY: it has no preconditions.
    need!(unsafe { libc::geteuid() } == 0, "dpkg installs for root alone");
    let dir = scratch();
    let root = dpkg_root(dir.path());
    let all = files(&dist().join("deb"));
    let deb = |start: &str| dist().join("deb").join(named(&all, start));
    let (core, kernels) = (deb("volley-core_"), deb("volley-kernels-sm-90_"));
    // Kernels without a core of their table are refused.
    let refused = dpkg(&root, &["-i"], std::slice::from_ref(&kernels));
    assert!(refused.code != Some(0) && refused.stderr.contains("volley-kernel-abi-k"), "{refused:?}");
    dpkg(&root, &["-i"], &[core.clone(), kernels.clone(), deb("volley_")]).exit(0);
    assert!(spikes(&root.join("usr")) > 0);
    diagnosed(&root.join("usr"));
    let audit = dpkg(&root, &["--verify"], &[]).exit(0);
    assert_eq!(audit.stdout, "", "dpkg's own digests");
    changes_are_found(&root.join("usr"), &root.join("usr"), &BESIDE_CORE);
    // What is changed is found by dpkg, and by the verifier in the file.
    Ran::of(simpack(Path::new("."), &["verify"]).args([&core, &kernels])).exit(0);
    let said = Ran::of(simpack(Path::new("."), &["inspect"]).arg(&core)).exit(0).stdout;
    assert!(said.contains("volley-core") && said.contains("libvolley.so.1.0.0"), "{said}");
    dpkg(&root, &["-r", "volley", "volley-kernels-sm-90", "volley-core"], &[]).exit(0);
    assert!(!root.join("usr").exists(), "nothing stays");
    // A cut or damaged file is said to be one.
    let (whole, bad) = (fs_err::read(&core).unwrap(), dir.path().join("bad_1.0.0-1_amd64.deb"));
    for end in [0, 40, 68, 300, whole.len() / 2, whole.len() - 100] {
        fs_err::write(&bad, &whole[..end]).unwrap();
        Ran::of(simpack(Path::new("."), &["verify"]).arg(&bad)).exit(7);
    }
}

/// Debian's own checker finds no error but those that the packages name with their reasons.
#[test]
fn packages_of_debian_pass_lintian() {
    let Some(lintian) = tool("lintian") else { return };
    let debs = files(&dist().join("deb")).into_iter().map(|name| dist().join("deb").join(name));
    let some = debs.filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        !name.starts_with("volley-kernels-") || name.starts_with("volley-kernels-sm-90_") || name.contains("compute-75")
    });
    let mut command = Command::new(lintian);
    command.args(["--allow-root", "--fail-on", "error", "--display-info"]).args(some);
    let ran = Ran::of(command.env("LC_ALL", "C.UTF-8"));
    let errors: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("E:")).collect();
    assert!(errors.is_empty() && ran.code == Some(0), "{errors:#?}\n{}", ran.stderr);
    let unused: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("unused-override")).collect();
    assert!(unused.is_empty(), "{unused:#?}");
}

/// The commands that select prints do what they say, in one go.
#[test]
fn selected_files_are_installed_by_the_commands_that_select_prints() {
    let dir = scratch();
    let select = |format: &str, device: &str| {
        let mut command = simpack(Path::new("."), &["select", "--device", device, "--format", format]);
        let ran = Ran::of(command.arg(dist()));
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        ran.stdout.trim().to_owned()
    };
    let tar = select("tar", "9.0");
    assert_eq!(tar.lines().count(), 2, "{tar}");
    if which::which("zstd").is_ok() {
        Ran::of(Command::new("sh").arg("-ec").arg(&tar).env("PREFIX", dir.path())).exit(0);
        assert!(spikes(dir.path()) > 0);
    }
    let deb = select("deb", "9.0");
    assert!(deb.starts_with("apt-get install /") && deb.contains("/volley-kernels-sm-90_1.0.0-1_all.deb"), "{deb}");
    assert!(!select("deb", "cpu").contains("kernels"));
    let (oci, cpu) = (select("oci", "9.0"), select("oci", "cpu"));
    assert!(oci.contains(":1.0.0-sm_90 volley") && cpu.contains(":1.0.0-cpu volley"), "{oci}\n{cpu}");
    if which::which("umoci").is_ok() {
        Ran::of(Command::new("sh").arg("-ec").arg(&oci).current_dir(dir.path())).exit(0);
        assert!(spikes(&dir.path().join("volley/rootfs/opt/volley")) > 0);
    }
}

/// An image layout holds packages, too: they are verified and offered, and a blob is what its name says.
#[test]
fn image_layouts_are_read_as_directories_of_packages() {
    let dir = scratch();
    let layout = dir.path().join("layout");
    copy_tree(&dist().join("oci"), &layout);
    let verify = || Ran::of(&mut simpack(dir.path(), &["verify", "layout"]));
    let said = verify().exit(0).stdout;
    assert!(said.contains("0 findings over 13 packages"), "{said}");
    let select = Ran::of(&mut simpack(dir.path(), &["select", "--device", "9.0", "--format", "oci", "layout"])).exit(0);
    assert!(select.stdout.contains("layout:1.0.0-sm_90 volley"), "{}", select.stdout);
    let blobs = layout.join("blobs/sha256");
    let name = files(&blobs).into_iter().max_by_key(|name| fs_err::metadata(blobs.join(name)).unwrap().len()).unwrap();
    let mut bytes = fs_err::read(blobs.join(&name)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs_err::write(blobs.join(&name), bytes).unwrap();
    let said = verify().exit(7).stdout;
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words.join(" ").contains("has other bytes than its name says"), "{said}");
}

/// Other directories, another number of threads: the same bytes, the statement beside them included.
#[test]
fn every_format_has_the_same_bytes_again() {
    dist();
    let dir = scratch();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command =
        simpack(checkout, &["build", "volley", "--locked", "--format", "tar,oci,deb", "--jobs", "1", "--dist"]);
    command.arg(dir.path().join("deeper/dist")).arg("--work").arg(dir.path().join("work"));
    Ran::of(command.env("TZ", "Asia/Kathmandu").env("LC_ALL", "C")).exit(0);
    assert_eq!(digests(&dir.path().join("deeper/dist")), digests(dist()));
    Ran::of(simpack(checkout, &["verify", "--provenance"]).arg(dist())).exit(0);
}

/// An upgrade and a downgrade leave the files of the installed version and no others.
#[test]
fn upgrades_and_downgrades_leave_no_stray_file() {
    need!(which::which("dpkg").is_ok(), "dpkg is not here");
    // SAFETY: it has no preconditions.
    need!(unsafe { libc::geteuid() } == 0, "dpkg installs for root alone");
    let dir = scratch();
    recipe(dir.path());
    let build = |dist: &str| {
        Ran::of(&mut simpack(dir.path(), &["build", "--format", "deb,conda", "--dist", dist])).exit(0);
        let name =
            files(&dir.path().join(dist).join("deb")).into_iter().find(|name| name.starts_with("own-core_")).unwrap();
        dir.path().join(dist).join("deb").join(name)
    };
    let older = build("older");
    let text = fs_err::read_to_string(dir.path().join("simpack.toml")).unwrap();
    fs_err::write(dir.path().join("simpack.toml"), text.replace("version = \"1.0.0\"", "version = \"1.1.0\"")).unwrap();
    let script = fs_err::read_to_string(dir.path().join("build.sh")).unwrap();
    fs_err::write(dir.path().join("build.sh"), script.clone() + &script.replace("bin/own", "bin/new")).unwrap();
    let newer = build("newer");
    let root = dpkg_root(dir.path());
    let mut seen = Vec::new();
    for package in [&older, &newer, &older] {
        dpkg(&root, &["-i"], std::slice::from_ref(package)).exit(0);
        seen.push(files(&root.join("usr")));
    }
    assert!(seen[1].contains(&"bin/new".to_owned()) && !seen[0].contains(&"bin/new".to_owned()), "{seen:?}");
    assert_eq!(seen[0], seen[2]);

    // The same by conda's client, in one prefix; of the client's own directory nothing is said.
    need!(python().is_some(), "no client");
    let prefix = dir.path().join("prefix");
    let seen = ["older", "newer", "older"].map(|from| {
        let mut command = client("install.py").unwrap();
        command.arg("--channel").arg(dir.path().join(from).join("conda")).arg("--prefix").arg(&prefix).arg("own-core");
        Ran::of(&mut command).exit(0);
        let installed = files(&prefix).into_iter().filter(|file| !file.starts_with("conda-meta/"));
        installed.collect::<Vec<String>>()
    });
    assert!(seen[1].contains(&"bin/new".to_owned()) && !seen[0].contains(&"bin/new".to_owned()), "{seen:?}");
    assert_eq!(seen[0], seen[2]);
}

//! Wheels by their real clients: pip and uv install them, refuse what does not fit, and leave nothing behind.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use simpack::fs::Content;
use simpack::package::Package;
use simpack::package::wheel::{Wheel, level};
use simpack::recipe::ComponentKind;

use crate::clients::sample;
use crate::consumers::{can_build, serves};
use crate::doctor_machine::{doctor, stand_in};
use crate::formats::changes_are_found;
use crate::support::{Ran, changed, digests, files, need, python, scratch, set_up, simpack, skip, volley};

/// The shared build's bundles once more, as wheels beside a channel; nothing is compiled.
pub fn dist() -> &'static Path {
    static DIST: OnceLock<PathBuf> = OnceLock::new();
    DIST.get_or_init(|| {
        volley();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheels");
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = simpack(checkout, &["build", "volley", "--locked", "--quiet", "--format", "conda,wheel"]);
        command.arg("--dist").arg(root.join("dist")).arg("--work").arg(root.join("work"));
        Ran::of(&mut command).exit(0);
        root.join("dist")
    })
}

/// Who installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Pip,
    Uv,
}

pub const CLIENTS: [Client; 2] = [Client::Pip, Client::Uv];

/// A virtual environment, and the client that fills it.
pub struct Environment {
    dir: tempfile::TempDir,
    client: Client,
}

impl Environment {
    pub fn new(client: Client) -> Option<Self> {
        let dir = scratch();
        let mut command = python()?;
        Ran::of(command.args(["-m", "venv", "--without-pip"]).arg(dir.path().join("env"))).exit(0);
        Some(Self { dir, client })
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("env")
    }

    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.path().join("bin").join(name));
        command.env_clear();
        command
    }

    /// The client's command with these arguments; whoever types it has nothing else set up.
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = python().unwrap();
        match self.client {
            Client::Pip => {
                command.args(["-m", "pip", "--isolated", "--disable-pip-version-check", "--python"]);
                command.arg(self.path().join("bin/python")).args(args)
            }
            Client::Uv => {
                let (verb, rest) = args.split_first().unwrap();
                command.args(["-m", "uv", "--no-config", "pip", verb, "--python"]);
                command.arg(self.path().join("bin/python")).args(rest)
            }
        };
        for name in ["PIP_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "VIRTUAL_ENV"] {
            command.env_remove(name);
        }
        Ran::of(command.env("UV_CACHE_DIR", self.dir.path().join("cache")))
    }

    /// The same without an index.
    pub fn install(&self, from: &Path, wanted: &[&str]) -> Ran {
        let from = from.to_str().unwrap();
        self.run(&[&["install", "--no-index", "--find-links", from], wanted].concat())
    }

    pub fn site_packages(&self) -> PathBuf {
        let lib = self.path().join("lib");
        let mut entries = fs_err::read_dir(lib).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.join("site-packages").is_dir()).unwrap().join("site-packages")
    }

    /// Files of the simulator, without what Python makes of its module when it runs.
    fn installed(&self) -> BTreeSet<String> {
        let all = files(&self.site_packages()).into_iter();
        all.filter(|file| file.starts_with("volley") && !file.contains("__pycache__")).collect()
    }
}

/// Runs the command that `select` prints, as a shell takes it.
fn run_selected(environment: &Environment, selection: &[&str]) {
    let format = if environment.client == Client::Pip { "pip" } else { "uv" };
    let mut command = simpack(dist().parent().unwrap(), &["select", "dist", "--format", format]);
    let said = Ran::of(command.args(selection)).exit(0).stdout;
    assert_eq!(said.lines().count(), 1, "{said}");
    // `pip` and `uv` by their names, as in an environment that is active.
    let bin = environment.dir.path().join("path");
    fs_err::create_dir_all(&bin).unwrap();
    let python = python().unwrap().get_program().to_str().unwrap().to_owned();
    let target = environment.path().join("bin/python");
    let pip = format!("#!/bin/sh\nexec {python} -m pip --isolated --quiet --python {} \"$@\"\n", target.display());
    // Started as a module it would take Python's own environment.
    let uv = Path::new(&python).parent().unwrap().join("uv");
    let uv = format!("#!/bin/sh\nexec {} --no-config --quiet \"$@\"\n", uv.display());
    for (name, text) in [("pip", pip), ("uv", uv)] {
        use std::os::unix::fs::PermissionsExt;
        fs_err::write(bin.join(name), text).unwrap();
        fs_err::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &said]).env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    shell.env("UV_CACHE_DIR", environment.dir.path().join("cache"));
    Ran::of(shell.env("VIRTUAL_ENV", environment.path())).exit(0);
}

/// From one printed command to spikes: the simulator is on PATH and a module, its files are all below one directory,
/// and the doctor knows it.
#[test]
fn the_selected_wheels_install_and_run() {
    if python().is_none() {
        return;
    }
    for client in CLIENTS {
        let environment = Environment::new(client).unwrap();
        run_selected(&environment, &["--device", "9.0"]);
        let ran = Ran::of(environment.program("volley").arg("--version")).exit(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("volley 1.0.0\n", ""), "{client:?}");
        let example = environment.site_packages().join("volley/share/volley/examples/balanced.toml");
        let run = |mut command: Command, args: &[&str]| {
            let ran = Ran::of(command.args(args).args(["run", "--backend", "cpu", "--json"]).arg(&example)).exit(0);
            ran.json()["digest"].as_str().unwrap().to_owned()
        };
        let plain = crate::support::Prefix::of(&["volley-core"]);
        let expected = run(plain.volley(&[]), &[]);
        assert_eq!(run(environment.program("volley"), &[]), expected, "{client:?}");
        assert_eq!(run(environment.program("python"), &["-m", "volley"]), expected, "{client:?}");
        let tops: BTreeSet<String> =
            environment.installed().iter().map(|file| file.split('/').next().unwrap().to_owned()).collect();
        let (own, infos): (Vec<&str>, Vec<&str>) =
            tops.iter().map(String::as_str).partition(|top| !top.ends_with(".dist-info"));
        assert_eq!((own, infos.len()), (vec!["volley"], 3), "{tops:?}");

        let page = Ran::of(&mut doctor(&[environment.path().to_str().unwrap()])).exit(0).stdout;
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for named in ["site-packages/volley: volley-core 1.0.0", "volley-kernels-sm_90-cu13 1.0.0", "nothing broken"] {
            assert!(words.contains(named), "{named}: {page}");
        }
        let (site, root) = (environment.site_packages(), environment.path());
        let mut infos = fs_err::read_dir(&site).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let info = infos.find(|name| name.starts_with("volley-1.0.0") && name.ends_with(".dist-info")).unwrap();
        let boms = environment.installed().into_iter().filter(|file| file.starts_with(&format!("{info}/sboms/")));
        let boms: Vec<String> = boms.collect();
        let manifest = "volley/share/simpack/volley-core/simpack.json";
        let changed: Vec<&str> = boms.iter().map(String::as_str).chain([manifest]).collect();
        changes_are_found(&root, &site, &changed);
        changes_are_found(&site.join("volley"), &site, &changed);
        // A file that is not what was installed is found, and so is what installs it again.
        let kernels = environment.installed();
        let cubin = kernels.iter().find(|file| file.ends_with(".cubin")).unwrap();
        fs_err::write(environment.site_packages().join(cubin), "nothing").unwrap();
        let page = Ran::of(&mut doctor(&[environment.path().to_str().unwrap()])).exit(1).stdout;
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let fix = "bin/python -m pip install --force-reinstall --no-deps volley-kernels-sm-90-cu13==1.0.0";
        assert!(words.contains("not what was installed") && words.contains(fix), "{page}");
    }
}

/// Wheels are verified as the packages beside them; each that holds files says what is in it.
#[test]
fn wheels_pass_verification_beside_other_packages() {
    Ran::of(&mut simpack(dist().parent().unwrap(), &["verify", "dist", "--recipe", "volley"])).exit(0);
    let listed = Ran::of(&mut simpack(Path::new("."), &["build", "--list-formats"])).exit(0).stdout;
    assert!(listed.lines().any(|line| line.starts_with("wheel ")), "{listed}");
    for wheel in fs_err::read_dir(dist().join("wheel")).unwrap().map(|entry| entry.unwrap().path()) {
        if wheel.extension().is_none_or(|ending| ending != "whl") {
            continue;
        }
        let zip = zip::ZipArchive::new(fs_err::File::open(&wheel).unwrap()).unwrap();
        let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
        let holds = |end: &str| names.iter().any(|name| name.ends_with(end));
        assert!(holds(".dist-info/RECORD") && holds(".dist-info/METADATA"), "{names:?}");
        let is_described = holds(".dist-info/sboms/sbom.cdx.json") && holds("/simpack.json");
        assert!(is_described || wheel.to_str().unwrap().contains("volley_cu13"), "{names:?}");
    }
}

/// The index that lies beside the wheels serves both clients, too, and a whole CUDA release is one name.
#[test]
fn the_written_index_serves_both_clients() {
    if python().is_none() {
        return;
    }
    let index = format!("file://{}", dist().join("wheel/simple").display());
    let mut seen = Vec::new();
    for client in CLIENTS {
        let environment = Environment::new(client).unwrap();
        environment.run(&["install", "--index-url", &index, "volley-cu13"]).exit(0);
        let installed = environment.installed();
        assert_eq!(installed.iter().filter(|file| file.ends_with("neuron.cubin")).count(), 7 * 3, "{client:?}");
        assert!(installed.iter().any(|file| file.contains("compute_75") && file.ends_with(".ptx")), "{installed:?}");
        let own = installed.into_iter().filter(|file| file.starts_with("volley/"));
        seen.push(own.collect::<BTreeSet<String>>());
    }
    assert_eq!(seen[0], seen[1], "both install the same files");
}

/// On a machine whose GPU has no code among what is installed, one sentence names the extra; with the code none does.
#[test]
fn the_module_names_the_extra_that_is_missing() {
    if python().is_none() {
        return;
    }
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let environment = Environment::new(Client::Uv).unwrap();
    let said = |environment: &Environment, capability: &str| {
        let mut command = environment.program("volley");
        command.env("LD_LIBRARY_PATH", driver.path()).env("FAKE_CUDA_CAPABILITY", capability);
        Ran::of(command.arg("--version")).exit(0).stderr
    };
    environment.install(&dist().join("wheel"), &["volley[sm80]"]).exit(0);
    let sentence = |gpu: &str, extra: &str| {
        let what = "needs device code that is not installed";
        format!("volley: GPU 0 ({gpu}) {what}: pip install 'volley[{extra}]==1.0.0'\n")
    };
    assert_eq!(said(&environment, "9.0"), sentence("9.0", "sm90"));
    assert_eq!(said(&environment, "12.1"), sentence("12.1", "sm120"));
    assert_eq!(said(&environment, "8.6"), "", "code of a lower minor runs");
    assert_eq!(said(&environment, "5.0"), "", "no extra has code for it");
    // The doctor knows what would run better than what does.
    let at = environment.path();
    let doctor = |capability: &str| {
        let mut command = doctor(&[at.to_str().unwrap(), "--channel", dist().to_str().unwrap()]);
        command.env("LD_LIBRARY_PATH", driver.path()).env("FAKE_CUDA_CAPABILITY", capability);
        let ran = Ran::of(command.env_remove("CUDA_VISIBLE_DEVICES"));
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let better = doctor("8.6");
    assert!(better.contains("sm_80 (lower minor of 8.x); sm_86 exists: install volley-kernels-sm_86-cu13"), "{better}");
    let none = doctor("9.0");
    assert!(none.contains("install volley-kernels-sm_90-cu13"), "{none}");
    environment.install(&dist().join("wheel"), &["volley[ptx]"]).exit(0);
    assert_eq!(said(&environment, "9.0"), "", "PTX runs");
}

/// rtc finds NVRTC in the vendor's wheel, which stands here for what the vendor's index has.
#[test]
fn libraries_are_found_in_the_wheels_of_vendors() {
    if python().is_none() {
        return;
    }
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", "cuda-13.0", "--json"])).exit(0).json();
    let library = PathBuf::from(shown["cuda"]["nvrtc"]["library"].as_str().unwrap());
    let environment = Environment::new(Client::Pip).unwrap();
    let vendor = environment.dir.path().join("vendor");
    let mut command = crate::support::client("vendor_wheel.py").unwrap();
    command.arg(&vendor).args(["nvidia-cuda-nvrtc", "13.0.88", "nvidia/cu13/lib"]).arg(library.parent().unwrap());
    Ran::of(&mut command).exit(0);
    let (from, wheels) = (vendor.to_str().unwrap(), dist().join("wheel"));
    environment.install(&wheels, &["--find-links", from, "volley[rtc]"]).exit(0);
    let out = environment.dir.path().join("out");
    fs_err::create_dir(&out).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/volley/models/lif_user.toml");
    let mut command = environment.program("volley");
    Ran::of(command.arg("rtc").arg(model).args(["--arch", "sm_90", "-o"]).arg(&out)).exit(0);
    assert!(files(&out).iter().any(|file| file.ends_with(".cubin")), "{:?}", files(&out));
    // A release that its range leaves out is refused.
    let other = Environment::new(Client::Pip).unwrap();
    let wrong = other.dir.path().join("vendor");
    let mut command = crate::support::client("vendor_wheel.py").unwrap();
    command.arg(&wrong).args(["nvidia-cuda-nvrtc", "14.0.1", "nvidia/cu14/lib"]).arg(library.parent().unwrap());
    Ran::of(&mut command).exit(0);
    let ran = other.install(&wheels, &["--find-links", wrong.to_str().unwrap(), "volley[rtc]"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("nvidia-cuda-nvrtc"), "{ran:?}");
}

/// A program is compiled against the installed headers and library, whose link names are no links.
#[test]
fn programs_link_with_an_installed_library() {
    if python().is_none() {
        return;
    }
    let Some(cc) = crate::support::tool("c++") else { return };
    let environment = Environment::new(Client::Uv).unwrap();
    environment.install(&dist().join("wheel"), &["volley[dev]"]).exit(0);
    let prefix = environment.site_packages().join("volley");
    let dir = environment.dir.path();
    let text = "#include <cstdio>\n#include <volley/volley.h>\nint main() { std::puts(volley_version()); }\n";
    fs_err::write(dir.join("main.cc"), text).unwrap();
    for (name, library) in [("short", "libvolley.so"), ("whole", "libvolley.so.1.0.0")] {
        let mut command = Command::new(&cc);
        command.current_dir(dir).args(["main.cc", "-o", name, "-I"]).arg(prefix.join("include"));
        command.arg(prefix.join("lib").join(library)).arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
        Ran::of(&mut command).exit(0);
        assert_eq!(Ran::of(&mut Command::new(dir.join(name))).exit(0).stdout, "1.0.0\n", "{library}");
    }
    need!(can_build(), "no consumer can be built");
    serves(&prefix);
}

/// Every wheel, and wheels of others: our level is auditwheel's.
#[test]
fn levels_are_those_of_auditwheel() {
    let Some(wheels) = set_up("SIMPACK_TEST_WHEELS") else { return };
    if python().is_none() {
        return;
    }
    let mut all: Vec<PathBuf> = Vec::new();
    for (dir, names) in [
        (dist().join("wheel"), ["volley-1.0.0", "volley_rtc"].as_slice()),
        (wheels, &["numpy-2.2.6", "numpy-2.3.5", "nvidia_cuda_runtime-", "nvidia_curand", "openmm_cuda_13"]),
    ] {
        let found = fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let is_one =
            |path: &PathBuf| names.iter().any(|name| path.file_name().unwrap().to_str().unwrap().starts_with(name));
        all.extend(found.filter(is_one));
    }
    assert_eq!(all.len(), 7, "{all:?}");
    let dir = scratch();
    let manifests = sample::manifests();
    let mut tags = BTreeSet::new();
    for wheel in all {
        let tree = dir.path().join("tree");
        let _ = fs_err::remove_dir_all(&tree);
        Ran::of(python().unwrap().args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&tree)).exit(0);
        let contents: Vec<Content> = files(&tree).iter().map(|file| Content::open(&tree.join(file)).unwrap()).collect();
        let elves = contents.iter().filter(|content| simpack::elf::is_elf(content.bytes()));
        let facts: Vec<_> = elves.filter_map(|content| simpack::elf::facts(content.bytes()).ok()).collect();
        let names: BTreeSet<String> =
            files(&tree).iter().map(|file| file.rsplit('/').next().unwrap().to_owned()).collect();
        let own = level(&facts, &|name| names.contains(name), &manifests.glibc).tag("x86_64");
        let shown = Ran::of(python().unwrap().args(["-m", "auditwheel", "show"]).arg(&wheel)).exit(0).stdout;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&format!("following platform tag: \"{own}\"")), "{}: {own}: {shown}", wheel.display());
        let name = wheel.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with("volley") || name.contains(&own), "{name} is tagged {own}");
        tags.insert(own);
    }
    assert!(tags.len() > 2 && tags.contains("linux_x86_64"), "{tags:?}");
}

/// A made-up release without links, whose kernels have a table of their own.
fn release(dir: &Path, version: &str, parameters: u32) -> Vec<Package> {
    let mut recipe = sample::recipe(&["sm_80", "sm_90", "compute_75"], "13.0");
    recipe.version = version.parse().unwrap();
    recipe.groups[0].table[0].params[0].size = parameters;
    recipe.components.retain(|component| component.kind != ComponentKind::Dev);
    let mut bundles = sample::bundles_without_dev(&recipe, &dir.join(version));
    let only = format!("share/volley/of-{version}");
    let core = bundles.iter_mut().find(|bundle| bundle.manifest.component == ComponentKind::Core).unwrap();
    fs_err::create_dir_all(core.root.join("share/volley")).unwrap();
    sample::replace(core, &only, b"text");
    let manifests = sample::manifests();
    simpack::pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap()
}

fn jobs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Variants, where a recipe asks for the experiment: each names its GPU in its own file and in that of the index, and
/// clients that know none take the wheel without a label.
#[test]
fn variants_name_their_gpus_and_hinder_nobody() {
    if python().is_none() {
        return;
    }
    let dir = scratch();
    let packages = release(dir.path(), "1.0.0", 8);
    let out = dir.path().join("out");
    let mut recipe = sample::recipe(&["sm_80"], "13.0");
    recipe.package.wheel_experiments = vec![simpack::recipe::WheelExperiment::Variants];
    let manifests = sample::manifests();
    let (earlier, now) = (None, jiff::Timestamp::UNIX_EPOCH);
    let context = simpack::package::FormatContext { recipe: &recipe, manifests: &manifests, earlier, now };
    simpack::package::Format::write(&Wheel, &packages, &context, &out, jobs(2)).unwrap();
    let text = fs_err::read_to_string(out.join("volley_kernels-1.0.0-variants.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&text).unwrap();
    let labels: Vec<&String> = index["variants"].as_object().unwrap().keys().collect();
    assert_eq!(labels, ["compute75_cu13", "null", "sm80_cu13", "sm90_cu13"]);
    let sm_90 = serde_json::json!({ "nvidia": { "sm_arch": ["90_real"], "cuda_version_lower_bound": ["13.0"] } });
    assert_eq!(index["variants"]["sm90_cu13"], sm_90);
    assert_eq!(index["variants"]["null"], serde_json::json!({}));
    let order = &index["default-priorities"]["property"]["nvidia"]["sm_arch"];
    assert_eq!(order, &serde_json::json!(["90_real", "80_real", "75_virtual"]), "the best first");
    let mut seen = BTreeSet::new();
    for file in files(&out).iter().filter(|file| file.starts_with("volley_kernels-1.0.0-py3-none-any")) {
        let label = file.strip_prefix("volley_kernels-1.0.0-py3-none-any").unwrap().strip_suffix(".whl").unwrap();
        let mut zip = zip::ZipArchive::new(fs_err::File::open(out.join(file)).unwrap()).unwrap();
        let read = zip.by_name("volley_kernels-1.0.0.dist-info/variant.json").map(std::io::read_to_string);
        match label.strip_prefix('-') {
            None => assert!(read.is_err(), "{file}"),
            Some(label) => {
                let own: serde_json::Value = serde_json::from_str(&read.unwrap().unwrap()).unwrap();
                assert_eq!(own["default-priorities"], index["default-priorities"]);
                assert_eq!(own["variants"], serde_json::json!({ label: index["variants"][label] }));
            }
        }
        seen.insert(label.to_owned());
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    let page = fs_err::read_to_string(out.join("simple/volley-kernels/index.html")).unwrap();
    assert!(page.contains("../../volley_kernels-1.0.0-variants.json"), "{page}");
    for client in CLIENTS {
        let environment = Environment::new(client).unwrap();
        environment.install(&out, &["volley[gpu]"]).exit(0);
        let installed = environment.installed();
        assert!(installed.iter().any(|file| file.starts_with("volley_kernels-1.0.0.dist-info")), "{installed:?}");
        assert!(!installed.iter().any(|file| file.ends_with(".cubin")), "{client:?}: {installed:?}");
    }
}

/// Core and device code of other tables are never installed together; going from one release to the next and back
/// leaves what a first installation has.
#[test]
fn releases_are_not_mixed_and_leave_nothing_behind() {
    if python().is_none() {
        return;
    }
    let dir = scratch();
    let wheels = dir.path().join("wheels");
    for (version, parameters) in [("1.0.0", 8), ("1.1.0", 4)] {
        let packages = release(dir.path(), version, parameters);
        let part = dir.path().join("part").join(version);
        sample::write_format(&Wheel, &packages, &part, jobs(2)).unwrap();
        fs_err::create_dir_all(&wheels).unwrap();
        for file in files(&part).iter().filter(|file| file.ends_with(".whl")) {
            fs_err::copy(part.join(file), wheels.join(file)).unwrap();
        }
    }
    for client in CLIENTS {
        let fresh = |version: &str| {
            let environment = Environment::new(client).unwrap();
            environment.install(&wheels, &[&format!("volley[sm90]=={version}")]).exit(0);
            environment
        };
        let mixed = Environment::new(client).unwrap();
        let ran = mixed.install(&wheels, &["volley==1.1.0", "volley-kernels-sm-90-cu13==1.0.0"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code != Some(0) && said.contains("volley-kernel-abi"), "{client:?}: {ran:?}");
        assert!(mixed.installed().is_empty(), "{client:?}");

        let environment = fresh("1.0.0");
        let first = environment.installed();
        assert!(first.contains("volley/share/volley/of-1.0.0") && first.contains("volley/__init__.py"), "{first:?}");
        environment.install(&wheels, &["volley[sm90]==1.1.0"]).exit(0);
        assert_eq!(environment.installed(), fresh("1.1.0").installed(), "{client:?}");
        environment.install(&wheels, &["volley[sm90]==1.0.0"]).exit(0);
        assert_eq!(environment.installed(), first, "{client:?}");
        let names = ["volley", "volley-kernel-abi", "volley-kernels-sm-90-cu13"];
        let yes: &[&str] = if client == Client::Pip { &["-y"] } else { &[] };
        environment.run(&[&["uninstall"], yes, &names].concat()).exit(0);
        assert_eq!(environment.installed(), BTreeSet::new(), "{client:?}");
    }
}

/// Directory and threads leave no trace, and what two releases of one CUDA major have in common is written once.
#[test]
fn the_same_packages_give_the_same_bytes() {
    let dir = scratch();
    let mut written = Vec::new();
    for (name, threads) in [("a", 1), ("elsewhere/b", 4)] {
        let root = dir.path().join(name);
        let packages = release(&root, "1.0.0", 8);
        let out = root.join("out");
        sample::write_format(&Wheel, &packages, &out, jobs(threads)).unwrap();
        written.push(digests(&out));
    }
    assert_eq!(changed(&written[0], &written[1]), [""; 0]);
    assert!(written[0].keys().any(|file| file == "simple/volley/index.html"), "{:?}", written[0].keys());
}

//! The same inputs give the same bytes, whatever the circumstances; and `simpack rebuild` can tell.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use simpack::engine::{same_file_names, same_source_path};

use crate::support::{
    CacheView, Ran, changed, clock_can_be_set, copy_tree, digests, files, need, scratch, set_clock, set_up, simpack,
    volley,
};

/// A unit whose device code has names of its own: an anonymous namespace and a file-local variable.
const LOCAL_NAMES: &str = "
namespace {
__device__ int table[32];
__device__ __noinline__ float deep(float x) { return x * table[static_cast<int>(x)]; }
}
extern \"C\" __global__ void tiny_local(float *v) { *v = deep(*v); }
";

/// A recipe made by `simpack init`, with names that depend on directories if nobody takes care.
fn recipe(into: &Path) {
    let parent = into.parent().unwrap();
    fs_err::create_dir_all(parent).unwrap();
    Ran::of(simpack(parent, &["init", "tiny", "--dir"]).arg(into)).exit(0);
    let append = |file: &str, text: &str| {
        let old = fs_err::read_to_string(into.join(file)).unwrap();
        fs_err::write(into.join(file), old + text).unwrap();
    };
    append("kernels/tiny.cu", LOCAL_NAMES);
    let table = "\n[[kernel]]\nname = \"tiny_local\"\nparams = [{ name = \"v\", type = \"ptr\" }]\n";
    append("kernels/table.toml", table);
    append("src/api.cc", "\nconst char *tiny_place() { return __FILE__; }\n");
}

/// What a build runs in.
struct Circumstances {
    /// Directory of recipe and output.
    dir: &'static str,
    umask: libc::mode_t,
    jobs: &'static str,
    env: &'static [(&'static str, &'static str)],
    /// Modification time of every source file, in seconds since 1970.
    mtime: Option<u64>,
    /// Time at which simpack's clock starts, instead of the machine's.
    clock: Option<&'static str>,
    /// Program and arguments before simpack's.
    under: &'static [&'static str],
}

/// Every format that there is.
const ALL: &str = "conda,wheel,tar,oci,deb";

const PLAIN: Circumstances = Circumstances {
    dir: "a",
    umask: 0o022,
    jobs: "1",
    env: &[("LC_ALL", "C"), ("TZ", "UTC")],
    mtime: None,
    clock: None,
    under: &[],
};

impl Circumstances {
    /// Builds `tiny` from nothing; answers the directory of its packages.
    fn build(&self, root: &Path) -> PathBuf {
        let dir = root.join(self.dir);
        recipe(&dir.join("tiny"));
        if let Some(seconds) = self.mtime {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            for file in files(&dir.join("tiny")) {
                let file = fs_err::OpenOptions::new().write(true).open(dir.join("tiny").join(file)).unwrap();
                file.file().set_modified(time).unwrap();
            }
        }
        let view = CacheView::new(&["zig"]);
        let mut command = self.command(&dir, &["build", "tiny", "--format", ALL, "--jobs", self.jobs]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
        dir.join("dist")
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let plain = simpack(dir, &[]);
        let words: Vec<&std::ffi::OsStr> =
            self.under.iter().map(std::ffi::OsStr::new).chain([plain.get_program()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(args).current_dir(dir);
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(self.env.iter().copied());
        if let Some(time) = self.clock {
            set_clock(&mut command, time);
        }
        let umask = self.umask;
        // SAFETY: between fork and exec only `umask` is called, which is safe there.
        unsafe {
            command.pre_exec(move || {
                libc::umask(umask);
                Ok(())
            })
        };
        command
    }
}

/// One build of `tiny` in plain circumstances, shared.
fn tiny() -> &'static Path {
    static BUILD: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &BUILD
        .get_or_init(|| {
            let root = scratch();
            let dist = PLAIN.build(root.path());
            (root, dist)
        })
        .1
}

fn works(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).arg("true").output().is_ok_and(|output| output.status.success())
}

#[test]
fn directory_locale_time_zone_umask_jobs_and_dates_of_files_leave_no_trace() {
    let root = scratch();
    let far = Circumstances {
        dir: "much/deeper/and with a space",
        umask: 0o077,
        jobs: "4",
        env: &[("LC_ALL", "C.UTF-8"), ("TZ", "Asia/Kathmandu"), ("LANG", "de_DE.UTF-8"), ("USER", "else")],
        mtime: Some(1_900_000_000),
        ..PLAIN
    };
    assert_eq!(changed(&digests(tiny()), &digests(&far.build(root.path()))), [""; 0]);
}

#[test]
fn another_user_leaves_no_trace() {
    const OTHER: &[&str] = &["unshare", "--user", "--map-user=12345", "--map-group=54321"];
    need!(works(OTHER), "`unshare --user --map-user` is not allowed here");
    let root = scratch();
    let env = &[("HOME", "/nonexistent"), ("USER", "nobody"), ("LOGNAME", "nobody"), ("HOSTNAME", "elsewhere")];
    let other = Circumstances { dir: "b", umask: 0o002, jobs: "2", env, under: OTHER, ..PLAIN };
    assert_eq!(changed(&digests(tiny()), &digests(&other.build(root.path()))), [""; 0]);
}

/// Simpack's own clock and the times of files are years ahead. The steps have a clean environment, so that
/// compilers see this machine's clock: what they stamp comes from SOURCE_DATE_EPOCH.
#[test]
fn another_month_leaves_no_trace() {
    need!(clock_can_be_set(), "libfaketime is not here");
    let root = scratch();
    let later = Circumstances { dir: "c", clock: Some("2031-08-17 23:59:58"), mtime: Some(1_944_000_000), ..PLAIN };
    assert_eq!(changed(&digests(tiny()), &digests(&later.build(root.path()))), [""; 0]);
}

/// Volley once more, compiled from nothing for one capability in other circumstances and years later: what both builds
/// have is equal in each format.
#[test]
fn volley_elsewhere_gives_the_packages_of_the_shared_build() {
    let volley = volley();
    let root = scratch();
    let view = CacheView::new(&["zig"]);
    let there = Circumstances {
        umask: 0o077,
        env: &[("LC_ALL", "C.UTF-8"), ("TZ", "America/St_Johns"), ("HOME", "/nonexistent"), ("USER", "else")],
        clock: clock_can_be_set().then_some("2031-08-17 23:59:58"),
        ..PLAIN
    };
    let dir = root.path().join("other checkout");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &dir.join("recipe"));
    let args = ["build", "recipe", "--format", ALL, "--capability", "9.0", "--ptx", "none", "--jobs", "3"];
    Ran::of(there.command(&dir, &args).env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
    let mut shared = digests(&volley.dist);
    shared.extend(digests(crate::formats::dist()).into_iter().filter(|(path, _)| !path.starts_with("tar/")));
    shared.extend(digests(crate::wheels::dist()).into_iter().filter(|(path, _)| path.starts_with("wheel/")));
    let here = digests(&dir.join("dist"));
    let packages = ["core", "rtc", "dev", "source", "kernel-abi", "kernels-sm_90"];
    for format in ["conda", "tar", "deb", "wheel"] {
        for package in packages {
            // Archives hold files, and Debian ties packages without one; core's wheel has an extra for each capability.
            match (format, package) {
                ("tar" | "deb", "kernel-abi") | ("wheel", "core") => continue,
                _ => {}
            }
            let (start, end) = match format {
                "deb" => (format!("volley-{}_", package.replace('_', "-")), ".deb"),
                "wheel" => (format!("volley_{}-", package.replace('-', "_")), ".whl"),
                _ => (format!("volley-{package}-"), ""),
            };
            let start =
                if (format, package) == ("wheel", "kernels-sm_90") { "volley_kernels_sm_90_cu13-" } else { &start };
            let is_it = |path: &&String| {
                let name = path.rsplit('/').next().unwrap();
                let rest = name.strip_prefix(start).filter(|_| path.starts_with(&format!("{format}/")));
                rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()) && rest.ends_with(end))
            };
            let path = here.keys().find(is_it).unwrap_or_else(|| panic!("no {start} in {format}: {:?}", here.keys()));
            assert_eq!(here.get(path), shared.get(path), "{path} differs: {:?}", changed(&shared, &here));
        }
    }
    // An image is the same when its layers and all that is said of them are.
    let image = |dist: &Path, tag: &str| {
        let text = fs_err::read(dist.join("oci/index.json")).unwrap();
        let index: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let named = |image: &&serde_json::Value| image["annotations"]["org.opencontainers.image.ref.name"] == tag;
        index["manifests"].as_array().unwrap().iter().find(named).unwrap_or_else(|| panic!("{index}")).clone()
    };
    for tag in ["1.0.0-sm_90", "1.0.0-cpu"] {
        assert_eq!(image(&dir.join("dist"), tag), image(crate::formats::dist(), tag));
    }
}

#[test]
fn the_time_stamp_is_honoured_or_refused() {
    let dir = scratch();
    recipe(&dir.path().join("tiny"));
    let plan = |value: &[u8]| {
        let mut command = simpack(dir.path(), &["plan", "tiny", "--json"]);
        Ran::of(command.env("SOURCE_DATE_EPOCH", std::ffi::OsStr::from_bytes(value)))
    };
    let stamps = |ran: Ran| -> Vec<String> {
        let plan = ran.exit(0).json();
        let parts = plan["steps"].as_array().unwrap().iter().flat_map(|step| step["parts"].as_array().unwrap());
        parts.filter(|part| part["name"] == "source-date-epoch").map(|part| part["value"].to_string()).collect()
    };
    for value in ["0", "1", "315532800", "1704067200", "4354819198", "0001704067200"] {
        let digits = value.trim_start_matches('0');
        let expected = format!("\"{}\"", if digits.is_empty() { "0" } else { digits });
        let stamps = stamps(plan(value.as_bytes()));
        assert!(!stamps.is_empty() && stamps.iter().all(|stamp| *stamp == expected), "{value}: {stamps:?}");
    }
    let nonsense: [&[u8]; 16] = [
        b"",
        b" ",
        b"-1",
        b"+1",
        b"1.5",
        b"1e9",
        b"0x10",
        b"yesterday",
        b"2024-01-01",
        b"1 ",
        b" 1",
        b"1\n",
        b"4354819199",
        b"18446744073709551616",
        "\u{0661}\u{0662}".as_bytes(),
        b"\xff1",
    ];
    for value in nonsense {
        let ran = plan(value).exit(2);
        assert!(ran.stderr.contains("SOURCE_DATE_EPOCH is `"), "{value:?}: {ran:?}");
    }
}

/// Other time stamps are other bytes, and nothing but the time is.
#[test]
fn a_time_stamp_of_its_own_reaches_the_archives() {
    let dir = scratch();
    let mut command =
        simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["build", "volley", "--quiet", "--component", "kernels"]);
    command.args(["--capability", "9.0", "--ptx", "none", "--dist"]).arg(dir.path().join("dist"));
    command.arg("--work").arg(dir.path().join("work")).env("SOURCE_DATE_EPOCH", "1704067200");
    Ran::of(&mut command).exit(0);
    let package = crate::support::package_file(&dir.path().join("dist/conda"), "volley-kernels-sm_90");
    let zip = zip::ZipArchive::new(fs_err::File::open(&package).unwrap()).unwrap();
    assert!(zip.file_names().count() == 3);
    let tree = dir.path().join("tree");
    crate::support::unpack(&package, "pkg", &tree);
    for file in files(&tree) {
        let time = fs_err::metadata(tree.join(&file)).unwrap().modified().unwrap();
        assert_eq!(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 1_704_067_200, "{file}");
    }
}

/// What `simpack::engine` knows of nvcc, against nvcc: plain and relocatable device code, compiled and linked in two
/// directories by different processes, are equal bit for bit.
#[test]
fn nvcc_links_the_same_bytes_everywhere() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let root = scratch();
    let made = |dir: &str| {
        let dir = root.path().join(dir);
        fs_err::create_dir_all(dir.join("kept")).unwrap();
        let one = "__device__ float twice(float);\nstatic __device__ int count;\n__global__ void add(float *x) { *x = twice(*x); count = 1; }\nint main() { add<<<1, 1>>>(nullptr); return 0; }\n";
        fs_err::write(dir.join("one.cu"), one).unwrap();
        fs_err::write(dir.join("two.cu"), "__device__ float twice(float x) { return 2 * x; }\n").unwrap();
        fs_err::write(dir.join("plain.cu"), format!("{LOCAL_NAMES}\nint main() {{ return 0; }}\n")).unwrap();
        let nvcc = |args: &[&str]| {
            let mut command = Command::new(cuda.join("bin/nvcc"));
            command.current_dir(&dir).args(["-arch=sm_90", "-Xcompiler", "-fPIC"]).args(args);
            Ran::of(command.args(same_file_names(Path::new("kept")).unwrap())).exit(0);
        };
        for (unit, mode) in [("one", "-dc"), ("two", "-dc"), ("plain", "-c")] {
            let (source, object) = (format!("{unit}.cu"), format!("{unit}.o"));
            let path = same_source_path(&source);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            nvcc(&[&[mode, source.as_str(), "-o", object.as_str()], path.as_slice()].concat());
        }
        for (link, objects) in [("rdc", ["one.o", "two.o"].as_slice()), ("plain", &["plain.o"])] {
            let (program, library) = (format!("{link}.exe"), format!("lib{link}.so"));
            nvcc(&[objects, &["-o", program.as_str()]].concat());
            nvcc(&[objects, &["-shared", "-o", library.as_str()]].concat());
        }
        fs_err::remove_dir_all(dir.join("kept")).unwrap();
        digests(&dir)
    };
    let (here, there) = (made("here"), made("much/deeper/there"));
    assert_eq!(here.len(), 3 + 3 + 4);
    assert_eq!(changed(&here, &there), [""; 0]);
}

fn rebuild(dir: &Path, args: &[&str]) -> Ran {
    let view = CacheView::new(&["zig"]);
    Ran::of(simpack(dir, args).env("SIMPACK_CACHE_DIR", view.root.path()))
}

#[test]
fn packages_are_rebuilt_and_compared() {
    let dist = tiny();
    let root = scratch();
    recipe(&root.path().join("tiny"));
    fs_err::create_dir(root.path().join("recipes")).unwrap();
    fs_err::rename(root.path().join("tiny"), root.path().join("recipes/tiny")).unwrap();
    let ran = rebuild(root.path(), &["rebuild", dist.to_str().unwrap()]).exit(0);
    let count = files(dist)
        .iter()
        .filter(|file| [".conda", ".whl", ".tar.zst", ".deb"].iter().any(|end| file.ends_with(end)))
        .count();
    assert!(ran.stdout.contains(&format!("{count} of {count} packages identical")), "{}", ran.stdout);
    let left = ["dist", "target", "recipes/tiny/simpack.lock"].map(|path| root.path().join(path).exists());
    assert_eq!(left, [false; 3]);

    // One package, from the plain archives.
    let one = files(dist).into_iter().find(|file| file.starts_with("tar/tiny-kernels-sm_80")).unwrap();
    let ran = rebuild(root.path(), &["rebuild", "--json", dist.join(&one).to_str().unwrap()]).exit(0).json();
    assert_eq!((&ran["identical"], ran["packages"].as_array().unwrap().len()), (&true.into(), 1));

    // Another source: the files that differ are named, with the place.
    let main = root.path().join("recipes/tiny/src/main.cc");
    let text = fs_err::read_to_string(&main).unwrap();
    fs_err::write(&main, text.replace(r#"\"why\""#, r#"\"how\""#)).unwrap();
    let core = files(dist).into_iter().find(|file| file.starts_with("conda/linux-64/tiny-core")).unwrap();
    let ran = rebuild(root.path(), &["rebuild", dist.join(&core).to_str().unwrap()]).exit(1);
    let line =
        ran.stdout.lines().find(|line| line.trim().starts_with("bin/tiny ")).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(line.contains("3 bytes differ, the first at") && line.contains("section .rodata"), "{line}");
    assert!(!ran.stdout.contains("lib/libtiny"), "{}", ran.stdout);
    assert!(ran.stdout.contains("note       tiny-core: its steps read other files"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("0 of 1 packages identical\n"), "{}", ran.stdout);

    // Another recipe is refused before anything is compiled.
    let file = root.path().join("recipes/tiny/simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(&file, text.replace("\"-O3\", ", "")).unwrap();
    let ran = rebuild(root.path(), &["rebuild", dist.to_str().unwrap()]).exit(3);
    assert!(ran.stderr.contains("is not the recipe that the packages were made from"), "{}", ran.stderr);
    for (subject, said) in [("nothing", "nothing holds no packages"), ("recipes", "recipes holds no packages")] {
        assert!(rebuild(root.path(), &["rebuild", subject]).exit(2).stderr.contains(said));
    }
}

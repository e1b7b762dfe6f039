//! What `simpack init` starts: a simulator that builds whatever its name, and whose loader people can copy, because it
//! chooses as simpack does and really loads a kernel.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::selecting::{cases, item};
use crate::support::{Ran, need, package_file, scratch, simpack, unpack};

/// Names that are allowed, however awkward: a word of C, CMake and the shell, digits, dashes, as long as may be.
const AWKWARD: [&str; 8] = ["int", "test", "all", "string", "a", "x-9--_z-", "core-kernels-dev", "install"];

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// A program or library of one file, by the machine's compiler.
pub fn compile(source: &str, args: &[&str], output: &Path) {
    let compiler = ["c++", "g++", "clang++"].iter().find_map(|name| which::which(name).ok()).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O2", "-ffp-contract=off"]).args(args).arg(checkout(source)).arg("-o").arg(output);
    Ran::of(&mut command).exit(0);
}

#[test]
fn the_samples_chain_chooses_what_simpack_chooses() {
    need!(["c++", "g++", "clang++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "sample", "--dir", "sample"])).exit(0);
    let program = dir.path().join("chain");
    compile("tests/newcomer/chain.cc", &["-I", dir.path().join("sample/src").to_str().unwrap()], &program);
    let (cases, manifests) = cases();
    let number = |text: &str| -> u32 { text.replace('.', "").parse().unwrap() };
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for case in &cases.case {
        // Without a driver nobody gets as far as choosing.
        let Some(driver) = &case.driver else { continue };
        let (major, minor) = driver.split_once('.').unwrap();
        let driver = major.parse::<u32>().unwrap() * 1000 + minor.parse::<u32>().unwrap() * 10;
        let mut available: Vec<_> = case.available.iter().filter_map(|text| item(text, &manifests)).collect();
        available.sort();
        let before = available.len();
        available.dedup();
        if available.len() < before {
            // Directories know CUDA majors only: two releases of one major are one place.
            continue;
        }
        lines.push_str(&format!("{} {driver}", number(&case.device)));
        for name in &available {
            let (path, isa) = name.split_once('@').unwrap_or((name, "0"));
            let (cuda, target) = path.strip_prefix("cuda").unwrap().split_once('/').unwrap();
            lines.push_str(&format!(" {cuda},{target},{}", number(isa)));
        }
        lines.push('\n');
        let chosen = item(&case.chosen, &manifests).map(|name| name.split('@').next().unwrap().to_owned());
        expected.push((case.name.as_str(), chosen.unwrap_or_else(|| "cpu".to_owned())));
    }
    assert!(expected.len() >= 30, "only {} cases of {}", expected.len(), cases.case.len());
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let said = Ran::from(child.wait_with_output().unwrap()).exit(0).stdout;
    let found: Vec<_> = expected.iter().map(|(name, _)| *name).zip(said.lines().map(str::to_owned)).collect();
    assert_eq!(found, expected);
}

/// From nothing to a simulator that is installed, runs on the CPU, and finds, loads and launches the right kernel.
#[test]
fn the_sample_loads_a_kernel_under_an_awkward_name() {
    need!(["c++", "g++", "clang++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    let name = "x-9--_z-";
    let dir = scratch();
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args)).exit(0);
    run(&["init", name, "--dir", "."]);
    assert!(!run(&["check"]).stdout.contains("warning"));
    let built = run(&["build"]);
    assert!(built.stdout.contains("0 from cache") || built.stdout.contains("from cache"), "{}", built.stdout);
    let prefix = dir.path().join("prefix");
    let kernels = ["kernels-sm_75", "kernels-sm_80", "kernels-sm_90", "kernels-compute_75"];
    for part in ["core", "source"].iter().chain(&kernels) {
        unpack(&package_file(&dir.path().join("dist/conda"), &format!("{name}-{part}")), "pkg", &prefix);
    }
    let driver = dir.path().join("driver");
    fs_err::create_dir(&driver).unwrap();
    compile("tests/newcomer/driver.cc", &["-shared", "-fPIC"], &driver.join("libcuda.so.1"));
    let sample = |args: &[&str], machine: &[(&str, &str)]| {
        let mut command = Command::new(prefix.join("bin").join(name));
        Ran::of(command.env_clear().args(args).env("LD_LIBRARY_PATH", &driver).envs(machine.iter().copied()))
    };
    let cpu = sample(&["cpu"], &[]).exit(0).json();
    assert_eq!((cpu["v"].as_f64().unwrap() * 1e4).round(), 99997.0, "{cpu}");
    for (capability, driver, variant, code) in [
        ("90", "13000", "exact", "cuda13/exact/sm_90"),
        ("89", "13000", "exact", "cuda13/exact/sm_80"),
        ("120", "13000", "fast", "cuda13/fast/compute_75"),
        ("75", "13010", "fast", "cuda13/fast/sm_75"),
    ] {
        let ran = sample(&["gpu", variant], &[("CAPABILITY", capability), ("DRIVER", driver)]).exit(0).json();
        assert_eq!((ran["code"].as_str(), ran["backend"].as_str()), (Some(code), Some("gpu")), "{ran}");
        assert_eq!(ran["v"], cpu["v"]);
    }
    // What is compiled here for a GPU goes before the best that is installed for it.
    run(&["compile", "--prefix", "prefix", "--capability", "8.9", "--toolchain", "wheels", "--into", "here"]);
    let here = dir.path().join("here");
    let machine = [("CAPABILITY", "89"), ("SIMPACK_COMPILED_DIR", here.to_str().unwrap())];
    assert_eq!(sample(&["gpu", "exact"], &machine).exit(0).json()["code"], "cuda13/exact/sm_89");
    let asked = sample(&["gpu", "exact", "0", "compute_75"], &[]).exit(0).json();
    assert_eq!(asked["code"], "cuda13/exact/compute_75");
    // What cannot run is refused with the reason; without a wish the CPU takes over and says why.
    for (args, machine, why) in [
        (&["gpu", "exact", "0", "sm_80"][..], ("CAPABILITY", "90"), "none of 1 kernels in "),
        (&["gpu"], ("CAPABILITY", "70"), "runs on capability 7.0 under a driver of CUDA 13.0"),
        (&["gpu"], ("DRIVER", "12080"), "under a driver of CUDA 12.8"),
        (&["gpu", "slow"], ("CAPABILITY", "90"), "none of 0 kernels"),
        (&["gpu", "exact", "3"], ("CAPABILITY", "90"), "cuDeviceGet of the CUDA driver says"),
        (&["gpu"], ("LD_LIBRARY_PATH", "/nowhere"), "no CUDA driver: "),
    ] {
        let ran = sample(args, &[machine]).exit(1);
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    let fallen = sample(&[], &[("CAPABILITY", "70")]).exit(0).json();
    assert_eq!((&fallen["backend"], &fallen["v"]), (&serde_json::json!("cpu"), &cpu["v"]));
    assert!(fallen["why"].as_str().unwrap().contains("capability 7.0"), "{fallen}");
}

/// A recipe for each name, which has no mistakes and nothing to be said better.
fn starts(name: &str) -> Result<(), TestCaseError> {
    let dir = scratch();
    let init = Ran::of(&mut simpack(dir.path(), &["init", name]));
    prop_assert_eq!(init.code, Some(0), "{}: {}", name, init.stderr);
    let check = Ran::of(&mut simpack(dir.path(), &["check", &format!("recipes/{name}")]));
    prop_assert_eq!(check.code, Some(0), "{}: {}", name, check.stdout);
    prop_assert!(check.stdout.ends_with("ok, no mistakes\n") && !check.stdout.contains("warning"), "{}", check.stdout);
    Ok(())
}

#[test]
fn awkward_names_start() {
    AWKWARD.iter().for_each(|name| starts(name).unwrap());
    starts(&"n".repeat(64)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_name_that_is_allowed_starts(name in "[a-z][a-z0-9_-]{0,63}") {
        starts(&name)?;
    }
}

#[test]
fn a_directory_that_has_files_keeps_them() {
    let dir = scratch();
    let path = |below: &str| dir.path().join(below);
    fs_err::create_dir(path("src")).unwrap();
    for (file, text) in
        [("LICENSE", "mine\n"), ("notes.txt", "notes\n"), ("src/old.cc", "int x;\n"), (".gitignore", "*.o\n")]
    {
        fs_err::write(path(file), text).unwrap();
    }
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let said = run(&["init", "sim", "--dir", "."]).exit(0).stdout;
    assert!(said.contains("kept as they are: .gitignore LICENSE"), "{said}");
    for (file, text) in
        [("LICENSE", "mine\n"), ("notes.txt", "notes\n"), ("src/old.cc", "int x;\n"), (".gitignore", "*.o\n")]
    {
        assert_eq!(fs_err::read_to_string(path(file)).unwrap(), text);
    }
    assert!(path("src/loader.cc").is_file() && path("simpack.toml").is_file());
    run(&["check"]).exit(0);
    // A recipe is there now, and a project of one's own is not mixed with the sample.
    let again = run(&["init", "sim", "--dir", "."]).exit(2).stderr;
    assert!(again.contains("simpack.toml is there already"), "{again}");
    let other = scratch();
    fs_err::write(other.path().join("CMakeLists.txt"), "project(theirs)\n").unwrap();
    let ran = Ran::of(&mut simpack(other.path(), &["init", "sim", "--dir", "."])).exit(2).stderr;
    assert!(ran.contains("CMakeLists.txt is there already") && ran.contains("simpack init --here"), "{ran}");
    assert_eq!(fs_err::read_dir(other.path()).unwrap().count(), 1, "nothing was written");
}

/// What CMake was given and did not ask for is said, by the build that configures and by one that takes all from the cache.
#[test]
fn options_that_the_build_does_not_use_are_a_finding() {
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "sample"])).exit(0);
    let recipe = dir.path().join("recipes/sample/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    fs_err::write(&recipe, text.replace("\"{kernel-abi}\" }", "\"{kernel-abi}\", WITH_MIP = true }")).unwrap();
    for build in ["first", "second"] {
        let args = ["build", "recipes/sample", "--component", "core", "--work", build];
        let said = Ran::of(&mut simpack(dir.path(), &args)).exit(0).stdout;
        assert!(said.contains("option WITH_MIP of component `core` was not used by its build"), "{build}: {said}");
        assert_eq!(said.matches("was not used").count(), 1, "{build}: {said}");
    }
}

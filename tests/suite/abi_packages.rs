//! Packages that other tools made: conda packages of rattler-build, a wheel that auditwheel repaired.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, client, need, python, scratch, set_up, simpack};

fn compile(dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    fs_err::write(dir.join("a.c"), source).unwrap();
    let output = dir.join(name);
    let mut command = Command::new("cc");
    command.current_dir(dir).args(["-shared", "-fPIC", "-o"]).arg(&output).arg("a.c").args(flags);
    Ran::of(&mut command).exit(0);
    output
}

/// The file in a directory, below whatever subdirectories, whose name ends so.
fn only(dir: &Path, end: &str) -> PathBuf {
    let files = walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.unwrap().into_path());
    let found: Vec<PathBuf> = files.filter(|path| path.is_file() && path.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// Directories of programs, those that came with the clients first.
fn search_path() -> String {
    let clients = set_up("SIMPACK_TEST_PYTHON").unwrap_or_default();
    format!("{}:{}", clients.parent().unwrap_or(Path::new("/")).display(), std::env::var("PATH").unwrap())
}

/// A conda package with one library, built by rattler-build.
fn conda_package(dir: &Path, version: &str, source: &str) -> Option<PathBuf> {
    let root = dir.join(version);
    fs_err::create_dir_all(root.join("channel/noarch")).unwrap();
    fs_err::write(root.join("channel/noarch/repodata.json"), "{\"info\":{\"subdir\":\"noarch\"},\"packages\":{}}")
        .unwrap();
    compile(&root, "libpair.so.1", source, &["-Wl,-soname,libpair.so.1", "-s"]);
    let recipe = format!(
        "package:\n  name: libpair\n  version: {version}\nbuild:\n  number: 0\n  script:\n    \
         - mkdir -p $PREFIX/lib\n    - cp {}/libpair.so.1 $PREFIX/lib/\n",
        root.display()
    );
    fs_err::write(root.join("recipe.yaml"), recipe).unwrap();
    let mut command = client("build.py")?;
    command.arg(root.join("recipe.yaml")).arg("--channel").arg(root.join("channel"));
    // rattler-build calls patchelf.
    Ran::of(command.arg("--output").arg(root.join("out")).env("PATH", search_path())).exit(0);
    Some(only(&root.join("out"), ".conda"))
}

/// The same files in the form that conda had before.
fn older_form(package: &Path, dir: &Path) -> PathBuf {
    let name = package.file_name().unwrap().to_string_lossy().replace(".conda", ".tar.bz2");
    let (tree, old) = (dir.join(format!("{name}-tree")), dir.join(name));
    Ran::of(client("extract.py").unwrap().arg(package).arg(&tree)).exit(0);
    Ran::of(Command::new("tar").arg("-cjf").arg(&old).arg("-C").arg(&tree).arg(".")).exit(0);
    old
}

#[test]
fn conda_packages_of_another_tool() {
    if set_up("SIMPACK_TEST_PYTHON").is_none() {
        return;
    }
    let dir = scratch();
    let dir = dir.path();
    let one = conda_package(dir, "1.0.0", "int f(void) { return 1; }").unwrap();
    let two = conda_package(dir, "1.1.0", "int f(void) { return 1; } int g(void) { return 2; }").unwrap();
    for (one, two) in [(one.clone(), two.clone()), (older_form(&one, dir), older_form(&two, dir))] {
        let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
        let baseline: Value = Ran::of(&mut simpack(dir, &["abi", "dump", one])).exit(0).json();
        assert_eq!(
            (&baseline["release"], &baseline["libraries"]["libpair.so.1"]["soname"]),
            (&"1.0.0".into(), &"libpair.so.1".into())
        );
        let answer = Ran::of(&mut simpack(dir, &["abi", "diff", one, two, "--json"])).exit(0).json();
        assert_eq!(
            (&answer["verdict"], &answer["lowest"], &answer["fits"]),
            (&"additions".into(), &"1.1.0".into(), &true.into())
        );
        let back = Ran::of(&mut simpack(dir, &["abi", "diff", two, one, "--json"])).exit(1).json();
        assert_eq!((&back["verdict"], &back["lowest"]), (&"incompatible".into(), &"2.0.0".into()));
        // The package says its name and its release.
        fs_err::remove_dir_all(dir.join("symbols")).ok();
        Ran::of(&mut simpack(dir, &["abi", "update", one, two, "--symbols", "symbols"])).exit(0);
        let text = fs_err::read_to_string(dir.join("symbols/libpair.so.1.symbols")).unwrap();
        assert!(text.contains("package libpair\npolicy major\n\nf 1.0.0\ng 1.1.0\n"), "{text}");
    }
    // A consumer in a package of its own.
    compile(
        dir,
        "libuser.so",
        "int g(void); int h(void) { return g(); }",
        &["1.1.0/libpair.so.1", "-Wl,-soname,libuser.so"],
    );
    let floors =
        Ran::of(&mut simpack(dir, &["abi", "floor", "libuser.so", "--against", "symbols", "--json"])).exit(0).json();
    assert_eq!(floors[0]["floors"][0]["depends"], "libpair >=1.1.0,<2");
}

/// A wheel by hand, as build backends write it before anybody repaired it.
const MAKE_WHEEL: &str = "
import base64, hashlib, pathlib, sys, zipfile
info = 'demo-1.0.dist-info'
files = {'demo/__init__.py': b'', 'demo/_ext.so': pathlib.Path(sys.argv[1]).read_bytes(),
    f'{info}/METADATA': b'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n',
    f'{info}/WHEEL': b'Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: false\\nTag: py3-none-linux_x86_64\\n'}
digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
record = ''.join(f'{name},sha256={digest(data)},{len(data)}\\n' for name, data in files.items()) + f'{info}/RECORD,,\\n'
with zipfile.ZipFile(sys.argv[2], 'w') as wheel:
    for name, data in files.items():
        wheel.writestr(name, data)
    wheel.writestr(f'{info}/RECORD', record)
";

/// Findings of `verify` over a path, as `lint | message`.
fn findings(dir: &Path, path: &str) -> Vec<String> {
    let report = Ran::of(&mut simpack(dir, &["verify", "--json", path])).json();
    assert_eq!(report["incomplete"], serde_json::json!([]), "{report:#}");
    let all = report["findings"].as_array().unwrap().iter();
    all.map(|it| format!("{} | {}", it["lint"].as_str().unwrap(), it["message"].as_str().unwrap())).collect()
}

/// auditwheel puts a library into the wheel under a name with a hash, and lets patchelf rename both the NEEDED entry
/// and the version records. Who renames again by removing one entry and adding another leaves the records behind.
#[test]
fn a_repaired_wheel_whose_version_records_stayed_behind() {
    let Some(python_path) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let bin = python_path.parent().unwrap();
    need!(bin.join("auditwheel").is_file(), "auditwheel is not installed beside {}", python_path.display());
    let dir = scratch();
    let dir = dir.path();
    fs_err::write(dir.join("map"), "FOO_1 { global: foo; };").unwrap();
    let script = format!("-Wl,--version-script={}", dir.join("map").display());
    fs_err::create_dir_all(dir.join("lib")).unwrap();
    compile(dir, "lib/libfoo.so.1", "int foo(void) { return 42; }", &["-Wl,-soname,libfoo.so.1", &script]);
    let extension = compile(dir, "_ext.so", "int foo(void); int answer(void) { return foo(); }", &["lib/libfoo.so.1"]);
    let plain = dir.join("demo-1.0-py3-none-linux_x86_64.whl");
    Ran::of(python().unwrap().args(["-c", MAKE_WHEEL]).arg(&extension).arg(&plain)).exit(0);

    let mut repair = Command::new(bin.join("auditwheel"));
    repair
        .current_dir(dir)
        .env("PATH", search_path())
        .args(["repair", "--plat", "auto", "--ldpaths"])
        .arg(dir.join("lib"));
    Ran::of(repair.arg("-w").arg(dir.join("repaired")).arg(&plain)).exit(0);
    let wheel = only(&dir.join("repaired"), ".whl");
    let repaired = findings(dir, wheel.to_str().unwrap());
    assert!(!repaired.iter().any(|line| line.starts_with("version-need-orphan")), "{repaired:?}");

    let unzip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    Ran::of(python().unwrap().args(["-c", unzip]).arg(&wheel).arg(dir.join("tree"))).exit(0);
    let bundled = only(&dir.join("tree/demo.libs"), ".so.1");
    let name = bundled.file_name().unwrap().to_str().unwrap().to_owned();
    let extension = dir.join("tree/demo/_ext.so");
    let renamed = "libfoo-renamed.so.1";
    fs_err::rename(&bundled, bundled.with_file_name(renamed)).unwrap();
    let patchelf = |args: &[&str]| Ran::of(Command::new(bin.join("patchelf")).args(args).arg(&extension)).exit(0);
    patchelf(&["--remove-needed", &name]);
    patchelf(&["--add-needed", renamed]);
    let left = findings(dir, "tree");
    let wanted = format!("version-need-orphan | expects versions of {name}, which it does not name as NEEDED");
    assert!(left.contains(&wanted), "{left:?}");

    // What the finding advises keeps both together.
    Ran::of(python().unwrap().args(["-c", unzip]).arg(&wheel).arg(dir.join("again"))).exit(0);
    let replace = format!("{name}={renamed}");
    Ran::of(&mut simpack(dir, &["patch", "--replace-needed", &replace, "again/demo/_ext.so"])).exit(0);
    let kept = findings(dir, "again/demo");
    assert!(!kept.iter().any(|line| line.starts_with("version-need-orphan")), "{kept:?}");
}

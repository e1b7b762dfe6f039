//! Generated texts for the package managers of computing centres: EasyBuild reads, checks and installs its own; Spack's is
//! executed against a stand-in, because Spack is in no package index.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use simpack::generate;

use crate::support::{Ran, client, copy_tree, digests, files, need, python, scratch, set_up, simpack};

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// A directory with a copy of a recipe, and its texts for a target.
fn generated(dir: &Path, name: &str, target: &str) -> PathBuf {
    if !dir.join(name).exists() {
        copy_tree(&checkout("tests/recipes").join(name), &dir.join(name));
    }
    Ran::of(&mut simpack(dir, &["generate", target, name])).exit(0);
    dir.join(name).join("packaging").join(target)
}

/// EasyBuild's settings where it may run at all: with a tool for modules, as root as well.
fn easybuild(mut command: Command) -> Option<Command> {
    let lmod = Path::new("/usr/share/lmod/lmod/libexec/lmod");
    if !lmod.exists() {
        crate::support::skip("Lmod is not here; Debian has it as lmod");
        return None;
    }
    command.env("LMOD_CMD", lmod).env("EASYBUILD_MODULES_TOOL", "Lmod");
    command.env("EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES", "1");
    // What it leaves behind.
    command.env("EASYBUILD_TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    // It looks for newer helpers outside: nothing leaves this machine.
    command.env("http_proxy", "http://127.0.0.1:9").env("https_proxy", "http://127.0.0.1:9");
    Some(command)
}

/// EasyBuild's reader gives every text back, and its checker of style finds nothing.
#[test]
fn easybuild_reads_easyconfigs() {
    let Some(mut command) = client("easybuild_text.py").and_then(easybuild) else { return };
    let dir = scratch();
    let to = generated(dir.path(), "every", "easybuild");
    let names: Vec<String> = files(&to).into_iter().filter(|name| name.ends_with(".eb")).collect();
    assert_eq!(names, ["every-2.3.1-GCC-14.3.0-CUDA-12.9.1.eb", "every-2.3.1-GCC-14.3.0-CUDA-13.0.2.eb"]);
    // The same recipe with an archive and texts that EasyBuild would take for templates.
    let recipe = dir.path().join("every/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let summary = "50%(name)s %%(version)s 'x' \\ \"y\"";
    let hostile = text.lines().map(|line| match line.starts_with("summary") {
        true => format!("summary = {}\n", toml::Value::from(summary)),
        false => format!("{line}\n"),
    });
    fs_err::write(&recipe, hostile.collect::<String>()).unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "easybuild", "every", "--output", "hostile"])).exit(0);
    let hostile = dir.path().join("hostile").join(&names[1]);
    command.arg(dir.path().join("prefix")).args(names.iter().map(|name| to.join(name))).arg(&hostile);
    let read = Ran::of(&mut command).exit(0).json();
    let (old, new) = (&read[0], &read[1]);
    assert_eq!(
        (&old["dependencies"], &new["dependencies"]),
        (&json!([["CMake", "3.31.8"], ["CUDA", "12.9.1"]]), &json!([["CMake", "3.31.8"], ["CUDA", "13.0.2"]]))
    );
    assert_eq!(new["full"], "every/2.3.1-GCC-14.3.0-CUDA-13.0.2");
    assert_eq!(new["easyblock"], "CMakeMake");
    assert_eq!(new["description"], "all at once: \"quotes\", ${braces}, ${{ expressions }}, 'ticks' and ünïcode");
    assert_eq!(new["capabilities"], json!(["8.0", "8.6", "9.0", "9.0a", "10.0", "10.0f"]));
    assert_eq!(new["sm"], "sm_80 sm_86 sm_90 sm_90a sm_100 sm_100f");
    assert_eq!(read[2]["description"], summary);
    let script = simpack::fs::Digest::of_file(&to.join("kernels.sh")).unwrap().to_string();
    assert!(new["checksums"].as_array().unwrap().contains(&json!({ "kernels.sh": script })));
    assert!(new["configopts"].as_str().unwrap().contains("-DEVERY_NOTE='it'\\''s ${HERE}; %(installdir)s/share -j 1'"));
}

/// What EasyBuild has no words or no modules for is said.
#[test]
fn what_easybuild_does_not_have_is_said() {
    let dir = scratch();
    copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
    let ran = Ran::of(&mut simpack(dir.path(), &["generate", "easybuild", "volley"])).exit(3);
    assert!(ran.stderr.contains("home page") && ran.stderr.contains("add `homepage`"), "{}", ran.stderr);
    for text in hostile() {
        let quoted = generate::easyconfig(&text).unwrap();
        assert!(quoted.starts_with('\'') && quoted.ends_with('\''), "{text:?}");
    }
}

fn hostile() -> Vec<String> {
    let mut texts: Vec<String> =
        ["", "%(x)s", "%%(x)s", "%%%(x)s", "%", "100%", "%()s", "'", "\\", "\"\"\"", "a\nb\u{85}"]
            .map(str::to_owned)
            .to_vec();
    texts.extend(crate::generating::hostile_texts(300));
    texts
}

/// Python reads each string as it was, and EasyBuild's templates leave it so.
#[test]
fn hostile_texts_come_back_from_python() {
    let Some(mut command) = crate::support::python() else { return };
    let texts = hostile();
    let dir = scratch();
    let list = |quote: fn(&str) -> Option<String>| {
        texts.iter().map(|text| quote(text).unwrap()).collect::<Vec<_>>().join(", ")
    };
    let script = format!(
        "import json, sys\nfrom easybuild.framework.easyconfig.easyconfig import resolve_template\n\
         plain = [{}]\neb = [resolve_template(one, {{'x': 'y', 'name': 'z'}}) for one in [{}]]\n\
         json.dump([plain, eb], sys.stdout)\n",
        list(generate::python),
        list(generate::easyconfig)
    );
    fs_err::write(dir.path().join("script.py"), script).unwrap();
    let read = Ran::of(command.arg(dir.path().join("script.py"))).exit(0).json();
    assert_eq!(read[0], json!(texts));
    for (text, found) in texts.iter().zip(read[1].as_array().unwrap()) {
        assert_eq!(found, &json!(text));
    }
}

/// A small simulator, installed by EasyBuild itself from its easyconfig and by the phases of the package of Spack: both have
/// core by the simulator's own build, and the same device code as simpack's own build.
#[test]
fn both_install_core_and_device_code() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let (Some(eb), Some(mut spack)) = (client("easybuild_text.py"), client("spack_text.py")) else { return };
    let eb = Path::new(eb.get_program()).parent().unwrap().join("eb");
    let Some(mut eb) = easybuild(Command::new(eb)) else { return };
    need!(which::which("make").is_ok() && which::which("g++").is_ok(), "no make or g++");
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "tiny", "--dir", "tiny"])).exit(0);
    let recipe = dir.path().join("tiny/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let text = text.replace("[source]", "homepage = \"https://example.org/tiny\"\n\n[source]");
    fs_err::write(&recipe, text.replacen("\n\nhomepage", "\nhomepage", 1)).unwrap();
    let texts = generated(dir.path(), "tiny", "easybuild");
    let package = generated(dir.path(), "tiny", "spack").join("package.py");
    let [source, sources, prefix] = ["tiny-0.1.0", "sources", "spack"].map(|below| dir.path().join(below));
    copy_tree(&dir.path().join("tiny"), &source);
    fs_err::create_dir(&sources).unwrap();
    let archive = sources.join("tiny-0.1.0.tar.gz");
    Ran::of(Command::new("tar").arg("-czf").arg(archive).arg("-C").arg(dir.path()).arg("tiny-0.1.0")).exit(0);
    let shown = Ran::of(&mut simpack(dir.path(), &["toolchain", "show", "cmake", "--json"])).exit(0).json();
    let cmake = Path::new(shown["program"].as_str().unwrap()).parent().unwrap();
    // EasyBuild runs by whatever is called python.
    let python = Path::new(eb.get_program()).parent().unwrap().display().to_string();
    let path =
        format!("{}:{}:{python}:{}", cuda.join("bin").display(), cmake.display(), std::env::var("PATH").unwrap());

    // The toolchain's modules would be built first, for hours: the machine's programs stand for them.
    let easyconfig = texts.join("tiny-0.1.0-GCC-14.3.0-CUDA-13.0.2.eb");
    let text = fs_err::read_to_string(&easyconfig).unwrap();
    let of_system = text.replace("toolchain = {'name': 'GCC', 'version': '14.3.0'}", "toolchain = SYSTEM");
    assert_ne!(of_system, text);
    fs_err::write(&easyconfig, of_system).unwrap();
    eb.arg(&easyconfig).env("PATH", &path).current_dir(dir.path());
    eb.arg(format!("--prefix={}", dir.path().join("eb").display()));
    eb.arg(format!("--sourcepath={}:{}", sources.display(), texts.display()));
    eb.args(["--filter-deps=CUDA,CMake,Ninja", "--disable-rpath", "--parallel=2"]);
    Ran::of(eb.args(["--cuda-compute-capabilities=9.0"])).exit(0);
    let installed = dir.path().join("eb/software/tiny/0.1.0-CUDA-13.0.2");

    spack.arg(&package).arg(&source).arg(&prefix).arg("90").env("PATH", &path).env("CUDA_HOME", &cuda);
    let said = Ran::of(&mut spack).exit(0).json();
    assert_eq!(said["bases"], json!(["CMakePackage", "CudaPackage"]));
    assert_eq!(said["class"], "Tiny");

    let kernels = |prefix: &Path| digests(&prefix.join("lib/tiny/kernels"));
    let found = kernels(&installed);
    assert_eq!(found, kernels(&prefix), "the same compiler by the same script");
    let names: Vec<&str> = found.keys().filter_map(|name| name.split_once("/cuda13/")).map(|(_, name)| name).collect();
    let files = |variant: &str| {
        ["compute_75/tiny.ptx", "compute_90/tiny.ptx", "sm_90/tiny.cubin"].map(|file| format!("{variant}/{file}"))
    };
    assert_eq!(names, [files("exact"), files("fast")].concat());
    for prefix in [&installed, &prefix] {
        let ran = Ran::of(&mut Command::new(prefix.join("bin/tiny"))).exit(0);
        assert!(ran.stdout.contains("\"backend\": \"cpu\""), "{}", ran.stdout);
    }
}

/// The directives of a package with everything.
#[test]
fn spack_packages_say_what_recipes_say() {
    let Some(mut command) = client("spack_text.py") else { return };
    let dir = scratch();
    let to = generated(dir.path(), "every", "spack");
    let said: Value = Ran::of(command.arg(to.join("package.py")).args(["", "/prefix", "90"])).exit(0).json();
    assert_eq!(said["doc"], "all at once: \"quotes\", ${braces}, ${{ expressions }}, 'ticks' and ünïcode");
    assert_eq!(said["maintainers"], json!(["one-person", "group/team"]));
    assert_eq!(
        said["depends_on"].as_array().unwrap().last().unwrap(),
        &json!(["cuda@13.0,12.9", ["build", "link"], "+cuda"])
    );
    assert_eq!(said["conflicts"], json!([["cuda_arch=none", "+cuda"]]));
    assert_eq!(said["ptx"]["13.0"], json!(["compute_80", "compute_100"]));
    assert_eq!(said["environment"][0][0], "LD_LIBRARY_PATH", "NVRTC is opened when it is asked for");
}

/// The first thing that Spack's reviewers run over a package, with the length of lines that Spack sets. A recipe's own
/// words are never broken, and may be longer.
#[test]
fn spack_packages_are_in_the_style_of_python() {
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "tiny", "--dir", "tiny"])).exit(0);
    copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
    for (name, rule) in
        [("tiny", "--max-line-length=99"), ("volley", "--max-line-length=99"), ("every", "--ignore=E501")]
    {
        let Some(mut command) = python() else { return };
        let package = generated(dir.path(), name, "spack").join("package.py");
        Ran::of(command.args(["-m", "pycodestyle", rule]).arg(package)).exit(0);
    }
}

//! Kernel groups of the form `slice`: a simulator that cannot be split, from its recipe to what a client installs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::by_clients::Distribution;
use crate::consumers::{by_cmake, by_pkg_config};
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, set_up, simpack};

fn original() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/whole")
}

/// A build of `tests/recipes/whole` with the real compilers.
struct Whole {
    dir: tempfile::TempDir,
    summary: serde_json::Value,
}

impl Whole {
    fn new() -> Option<Self> {
        set_up("SIMPACK_TEST_CUDA")?;
        let dir = scratch();
        copy_tree(&original(), &dir.path().join("recipe"));
        // With a glob that does not name the library: what was built does.
        let file = dir.path().join("recipe/simpack.toml");
        let text = fs_err::read_to_string(&file).unwrap();
        assert!(text.contains("lib/libwhole.so.*"), "{text}");
        fs_err::write(file, text.replace("lib/libwhole.so.*", "lib/lib*.so.*")).unwrap();
        let summary =
            Ran::of(&mut simpack(dir.path(), &["build", "recipe", "--json", "--format", "conda,wheel,oci,deb"]))
                .exit(0)
                .json();
        Some(Self { dir, summary })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn simpack(&self, args: &[&str]) -> Ran {
        Ran::of(&mut simpack(self.dir.path(), args))
    }

    /// A client's answer for a machine with this GPU; `None` for one without.
    fn client(&self, script: &str, gpu: Option<&str>, args: &[&str]) -> Ran {
        let mut command = client(script).unwrap();
        command.arg("--channel").arg(self.path("dist/conda")).args(args).current_dir(self.dir.path());
        command.env("CONDA_OVERRIDE_CUDA", gpu.map_or("", |_| "13.0"));
        command.env("CONDA_OVERRIDE_CUDA_ARCH", gpu.unwrap_or(""));
        Ran::of(&mut command)
    }
}

/// One library in as many packages as there are targets, the same path in each, and exactly one of them installed: the
/// one that the machine needs. Its program starts, and the library's host code works.
#[test]
fn a_library_that_cannot_be_split_ships_cut_and_exactly_one_is_installed() {
    need!(python().is_some(), "no client");
    let Some(whole) = Whole::new() else { return };
    let findings = &whole.summary["report"]["findings"];
    let monolithic = findings.as_array().unwrap().iter().find(|finding| finding["lint"] == "monolithic");
    let monolithic = monolithic.unwrap_or_else(|| panic!("{findings}"));
    assert_eq!(monolithic["subject"], "whole-kernels: lib/libwhole.so.1.2.0");
    whole.simpack(&["verify", "dist"]).exit(0);
    let cases: [(Option<&str>, &str, &[&str]); 5] = [
        (Some("9.0"), "whole-kernels-sm_90", &["9.0"]),
        (Some("8.6"), "whole-kernels-sm_80", &["8.0"]),
        (Some("12.0"), "whole-kernels-compute_80", &["8.0"]),
        (Some("7.5"), "whole-kernels-cpu", &[]),
        (None, "whole-kernels-cpu", &[]),
    ];
    for (index, (gpu, package, capabilities)) in cases.into_iter().enumerate() {
        let prefix = format!("prefix-{index}");
        let packages = whole.client("install.py", gpu, &["--prefix", &prefix, "whole", "whole-dev"]).exit(0).json();
        let names: Vec<&str> =
            packages.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
        let kernels: Vec<&str> = names.iter().copied().filter(|name| name.starts_with("whole-kernels-")).collect();
        assert_eq!(kernels, [package], "{gpu:?}");
        let library = whole.path(&prefix).join("lib/libwhole.so.1.2.0");
        let inspected = whole.simpack(&["inspect", "--json", library.to_str().unwrap()]).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().cloned().unwrap_or_default();
        let found: std::collections::BTreeSet<&str> =
            images.iter().map(|image| image["capability"].as_str().unwrap()).collect();
        assert_eq!(found, capabilities.iter().copied().collect(), "{gpu:?}: {inspected}");
        // The program is linked with it; without a GPU its kernels fail, and its host code works.
        let mut program = Command::new(whole.path(&prefix).join("bin/whole"));
        let ran = Ran::of(program.env_clear()).exit(0);
        assert!(ran.stdout.starts_with("answer 42\nscale "), "{}", ran.stdout);
        let load = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).whole_answer(-1) - 100)";
        let link = whole.path(&prefix).join("lib/libwhole.so");
        Ran::of(python().unwrap().args(["-c", load]).arg(link)).exit(0);
    }
    // By name: a slice can be chosen, two cannot.
    whole.client("solve.py", None, &["whole-kernels-sm_80"]).exit(0);
    let both = whole.client("solve.py", Some("9.0"), &["whole-kernels-sm_80", "whole-kernels-sm_90"]).exit(1);
    assert!(both.stderr.contains("whole-slice"), "{}", both.stderr);

    programs_link_it(&whole, &whole.path("prefix-1"));
    other_clients_install_one_slice(&whole);

    let compared = whole.simpack(&["plan", "recipe", "--compare", "--json"]).exit(0).json();
    let way = |name: &str| compared["ways"].as_array().unwrap().iter().find(|way| way["way"] == name).cloned().unwrap();
    let number = |name: &str, what: &str| way(name)[what].as_u64().unwrap();
    assert!(number("sliced", "download") < number("fat", "download"), "{compared}");
    assert!(number("fat", "stored") < number("sliced", "stored"), "{compared}");
    assert_eq!((&way("sliced")["estimated"], &way("rebuilt")["estimated"]), (&false.into(), &true.into()));
}

/// The same by pip, uv, umoci and dpkg: the program starts with the slice that was asked for, and two are refused.
fn other_clients_install_one_slice(whole: &Whole) {
    let dist = whole.path("dist");
    let distribution = Distribution { dist: &dist, name: "whole", version: "1.2.0" };
    let starts = |program: &Path| {
        let ran = Ran::of(Command::new(program).env_clear()).exit(0);
        assert!(ran.stdout.starts_with("answer 42\nscale "), "{}", ran.stdout);
    };
    let code = |prefix: &Path| -> Vec<String> {
        // By the name that is looked for: wheels have no links, and it is the file there.
        let library = prefix.join("lib/libwhole.so.1");
        let inspected = whole.simpack(&["inspect", "--json", library.to_str().unwrap()]).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().cloned().unwrap_or_default();
        let mut found: Vec<_> = images.iter().map(|image| image["capability"].as_str().unwrap().to_owned()).collect();
        found.dedup();
        found
    };
    for (extra, capabilities) in [("sm90", &["9.0"][..]), ("cpu", &[])] {
        distribution.by_wheels(extra, &|prefix, programs| {
            assert_eq!(code(prefix), capabilities, "{extra}");
            starts(&programs.join("whole"));
        });
    }
    distribution.refused_by_wheels("sm80,sm90", "whole-slice");
    for (target, capabilities) in [("sm_90", &["9.0"][..]), ("cpu", &[])] {
        distribution.by_image(target, &|prefix| {
            assert_eq!(code(prefix), capabilities, "{target}");
            starts(&prefix.join("bin/whole"));
        });
    }
    let (one, other) = (["whole-core_", "whole-kernels-sm-90_"], ["whole-kernels-sm-80_", "whole-kernels-cpu_"]);
    distribution.by_dpkg(&one, &other, &|prefix| {
        assert_eq!(code(prefix), ["9.0"]);
        starts(&prefix.join("bin/whole"));
    });
}

/// Generated files name the library in the kernel packages, from what was built as from a glob; programs link it.
fn programs_link_it(whole: &Whole, prefix: &Path) {
    need!(which::which("cc").is_ok(), "no C compiler");
    need!(which::which("pkg-config").is_ok(), "pkg-config is not here");
    let (config, modules) = (prefix.join("lib/cmake/whole"), prefix.join("lib/pkgconfig"));
    for (target, output) in [("cmake", &config), ("pkgconfig", &modules)] {
        whole.simpack(&["generate", target, "recipe", "--dist", "dist", "--output", output.to_str().unwrap()]).exit(0);
        let ran = whole.simpack(&["generate", target, "recipe", "--output", "unbuilt"]).exit(3);
        assert!(ran.stderr.contains("no component of the recipe has a library"), "{}", ran.stderr);
    }
    whole.simpack(&["generate", "cmake", original().to_str().unwrap(), "--output", "unbuilt"]).exit(0);
    for file in ["wholeConfig.cmake", "wholeConfigVersion.cmake"] {
        let unbuilt = fs_err::read_to_string(whole.path("unbuilt").join(file)).unwrap();
        assert_eq!(fs_err::read_to_string(config.join(file)).unwrap(), unbuilt, "{file}");
    }
    let (main, program) = (whole.path("main.c"), whole.path("by-pkg-config"));
    let text =
        "#include <stdio.h>\n#include <whole.h>\nint main(void) { printf(\"%d\\n\", whole_answer(-1)); return 0; }\n";
    fs_err::write(&main, text).unwrap();
    by_pkg_config(&main, "whole-kernels", &modules, prefix, &program);
    assert_eq!(Ran::of(Command::new(&program).env_clear()).exit(0).stdout, "100\n");
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(linked LANGUAGES C)\n\
                find_package(whole 1 REQUIRED COMPONENTS kernels)\nadd_executable(linked main.c)\n\
                target_link_libraries(linked PRIVATE whole::kernels)\n";
    fs_err::write(whole.path("CMakeLists.txt"), text).unwrap();
    let build = whole.path("by-cmake");
    by_cmake(&whole.path(""), &build, &format!("whole_DIR={}", config.display()));
    assert_eq!(Ran::of(Command::new(build.join("linked")).env_clear()).exit(0).stdout, "100\n");
}

/// A copy of the recipe with the library in two variants, for one GPU.
pub fn in_two_widths(recipe: &Path) {
    copy_tree(&original(), recipe);
    let change = |name: &str, from: &str, to: &str| {
        let text = fs_err::read_to_string(recipe.join(name)).unwrap();
        assert!(text.contains(from), "{text}");
        fs_err::write(recipe.join(name), text.replace(from, to)).unwrap();
    };
    change("CMakeLists.txt", "VERSION ${PROJECT_VERSION} ", "OUTPUT_NAME whole-${WIDTH} VERSION ${PROJECT_VERSION} ");
    change("simpack.toml", "driver = \"cmake\"", "driver = \"cmake\"\noptions = { WIDTH = \"{variant}\" }");
    change("simpack.toml", "lib/libwhole.so\"", "lib/lib*.so\"");
    change("simpack.toml", "capabilities = [\"8.0\", \"9.0\"]\nptx = [\"8.0\"]", "capabilities = [\"9.0\"]\nptx = []");
    let variants = "\"lib/libwhole-*.so.*\"]\nvariants.width = { narrow = {}, wide = {} }";
    change("simpack.toml", "\"lib/libwhole.so.*\"]", variants);
}

/// A library in two variants: the build is called for each, every kernel package holds a slice of both, and the rest of
/// the host part is one.
#[test]
fn a_library_that_ships_cut_may_have_variants() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let dir = scratch();
    let recipe = dir.path().join("recipe");
    in_two_widths(&recipe);
    let file = recipe.join("simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(file, text.replace("ptx = []", "ptx = [\"9.0\"]")).unwrap();
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let plan = run(&["plan", "recipe", "--json"]).exit(0).json();
    let steps: Vec<&str> = plan["steps"].as_array().unwrap().iter().filter_map(|step| step["id"].as_str()).collect();
    assert_eq!(steps, ["host core (narrow)", "host core (wide)"]);
    run(&["build", "recipe"]).exit(0);
    run(&["verify", "dist"]).exit(0);
    let bundle = |name: &str| files(&dir.path().join("target/simpack/bundles").join(name).join("lib"));
    let both = ["libwhole-narrow.so.1.2.0", "libwhole-wide.so.1.2.0"];
    assert_eq!(
        (bundle("whole-kernels-sm_90"), bundle("whole-kernels-cpu")),
        (both.map(Into::into).into(), both.map(Into::into).into())
    );
    for library in both {
        let library = format!("target/simpack/bundles/whole-kernels-sm_90/lib/{library}");
        let inspected = run(&["inspect", "--json", &library]).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap();
        assert!(!images.is_empty() && images.iter().all(|image| image["capability"] == "9.0"), "{inspected}");
    }
    // Ways to ship are compared with both: the cut packages hold what the packages of kernels do.
    let compared = run(&["plan", "recipe", "--compare", "--json"]).exit(0).json();
    let sizes = |name: &str| -> u64 {
        let lib = dir.path().join("target/simpack/bundles").join(name).join("lib");
        both.iter().map(|library| fs_err::metadata(lib.join(library)).unwrap().len()).sum()
    };
    for target in compared["targets"].as_array().unwrap() {
        let bundle = format!("whole-kernels-{}", target["target"].as_str().unwrap());
        assert_eq!(target["bytes"], sizes(&bundle), "{compared}");
    }
    assert_eq!((&compared["steps"], &compared["measured"]), (&2.into(), &2.into()));
    // The program and what is linked with are those of the first.
    let links = fs_err::read_dir(dir.path().join("target/simpack/bundles/whole-dev/lib")).unwrap();
    let links: Vec<_> = links.map(|link| link.unwrap().file_name()).collect();
    assert_eq!(links, ["libwhole-narrow.so"]);
}

/// What keeps a recipe from being cut is said where it stands.
#[test]
fn recipes_that_cannot_be_cut_say_why() {
    let dir = scratch();
    let recipe = dir.path().join("recipe");
    copy_tree(&original(), &recipe);
    let text = fs_err::read_to_string(recipe.join("simpack.toml")).unwrap();
    let check = |changed: String| {
        fs_err::write(recipe.join("simpack.toml"), changed).unwrap();
        let ran = Ran::of(&mut simpack(dir.path(), &["check", "recipe"]));
        ran.stdout + &ran.stderr
    };
    // Texts that build without simpack build one target at a time; a workflow calls it.
    for target in ["conda", "nix", "github"] {
        Ran::of(&mut simpack(dir.path(), &["generate", target, "recipe", "--output", target])).exit(0);
    }
    let files = "files = [\"lib/libwhole.so.*\"]";
    let said = check(text.replace(files, ""));
    assert!(said.contains("files"), "{said}");
    let said = check(text.replace(files, &format!("{files}\nsources = [\"src/waves.cu\"]")));
    assert!(said.contains("`sources` cannot be combined with form = \"slice\""), "{said}");
    let variants = format!("{files}\nvariants.width = {{ narrow = {{}}, wide = {{}} }}");
    let said = check(text.replace(files, &variants));
    assert!(said.contains("no build tells its variants apart") && said.contains("^^^^^^^"), "{said}");
    let said = check(text.replace(files, &variants.replace("{}", "{ define = [\"WIDE\"] }")));
    assert!(said.contains("variant `narrow` of form `slice` can add nothing"), "{said}");
    let named = "driver = \"cmake\"\noptions = { WIDTH = \"{variant}\" }";
    let said = check(text.replace("driver = \"cmake\"", named));
    assert!(said.contains("`{variant}` is known where a group of form `slice` has variants"), "{said}");
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let build = |changed: String| {
        fs_err::write(recipe.join("simpack.toml"), changed).unwrap();
        Ran::of(&mut simpack(dir.path(), &["build", "recipe"])).exit(5).stderr
    };
    fs_err::write(recipe.join("same.sh"), "mkdir -p $PREFIX/lib\necho $WIDTH > $PREFIX/lib/libwhole.so.1\n").unwrap();
    let same = named.replace("cmake\"", "script\"\ntargets = [\"same.sh\"]");
    let same = text.replace("driver = \"cmake\"", &same).replace("\"CMakeLists.txt\"", "\"same.sh\"");
    let said = build(same.replace(files, &variants));
    assert!(said.contains("two host builds install lib/libwhole.so.1") && said.contains("`{variant}`"), "{said}");
    let said = build(text.replace(files, "files = [\"lib/libother.so.*\"]"));
    assert!(said.contains("no file that the kernel groups name holds device code"), "{said}");
    // The build is told one capability, the matrix lists another, too.
    let fixed = "inputs = [\"CMakeLists.txt\", \"src/**\"]";
    let said = build(text.replace(fixed, &format!("{fixed}\noptions = {{ CMAKE_CUDA_ARCHITECTURES = \"90-real\" }}")));
    assert!(said.contains("kernels of lib/libwhole.so.1.2.0 have no code for sm_80"), "{said}");
    assert!(said.contains("scale"), "{said}");
}

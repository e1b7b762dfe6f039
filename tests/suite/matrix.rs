//! One build of a recipe over several CUDA releases: the host part once, kernels for each, nothing that clashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::support::{CacheView, Ran, client, copy_tree, files, need, python, scratch, set_up, simpack};

/// Formats that are built; the first is the one that is summed up.
const ALL: &str = "conda,wheel,oci,deb";

/// A recipe of this repository, built for the releases that stand in `matrix`.
struct Built {
    dir: tempfile::TempDir,
    summary: Value,
}

impl Built {
    /// The recipe below `original` with `matrix` in the place of its own, and with `tables` at its end.
    fn new(original: &str, matrix: &str, tables: &str) -> Self {
        let dir = scratch();
        let recipe = dir.path().join("recipe");
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join(original), &recipe);
        for (path, text) in [("rtc.sh", RTC), ("rtc.cc", RTC_SOURCE)] {
            fs_err::write(recipe.join(path), text).unwrap();
        }
        let path = recipe.join("simpack.toml");
        let text = fs_err::read_to_string(&path).unwrap();
        let (start, rest) = text.split_once("[matrix]\n").unwrap();
        let (_, end) = rest.split_once("\n[toolchain]\n").unwrap();
        fs_err::write(&path, format!("{start}[matrix]\n{matrix}\n[toolchain]\n{end}{tables}")).unwrap();
        let summary = Ran::of(&mut simpack(dir.path(), &["build", "recipe", "--json", "--format", ALL])).exit(0).json();
        // Wheels and packages of Debian have names of their own, and releases share them.
        Ran::of(&mut simpack(dir.path(), &["verify", "--provenance", "dist"])).exit(0);
        Self { dir, summary }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut simpack(self.dir.path(), args))
    }

    /// Lints that found something.
    fn findings(&self) -> Vec<&str> {
        let report = &self.summary["report"];
        assert_eq!(report["incomplete"].as_array().unwrap().len(), 0, "{report}");
        report["findings"].as_array().unwrap().iter().map(|finding| finding["lint"].as_str().unwrap()).collect()
    }

    /// The packages of single releases, each with its release.
    fn of_releases(&self) -> BTreeSet<String> {
        let packages = digests(&self.summary).into_keys().filter(|(_, cuda)| !cuda.is_empty());
        packages.map(|(name, cuda)| format!("{name} {cuda}")).collect()
    }

    /// The package's build string for a release.
    fn build(&self, package: &str, cuda: &str) -> String {
        let mut packages = self.summary["packages"].as_array().unwrap().iter();
        let found = packages.find(|one| one["package"] == package && one["cuda"] == cuda).unwrap();
        found["build"].as_str().unwrap().to_owned()
    }

    /// The match specs that a machine with an H100 gets for a driver.
    fn selected(&self, driver: &str) -> Vec<String> {
        let args = ["select", "--device", "9.0", "--driver", driver, "dist", "--format", "conda"];
        self.run(&args).stdout.lines().map(str::to_owned).collect()
    }

    /// Packages, made again from what they say of themselves, are the same.
    fn rebuilds(&self, subject: &Path, count: usize) {
        let view = CacheView::new(&["zig"]);
        let args = ["rebuild", subject.to_str().unwrap(), "--recipe", "recipe"];
        let mut command = simpack(self.dir.path(), &args);
        let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
        assert!(ran.stdout.ends_with(&format!("{count} of {count} packages identical\n")), "{}", ran.stdout);
    }

    /// A package's file for a release.
    fn file(&self, package: &str, cuda: &str) -> PathBuf {
        let build = self.build(package, cuda);
        let dist = self.path("dist");
        let mut all = files(&dist).into_iter();
        dist.join(all.find(|file| file.contains(&format!("/{package}-")) && file.contains(&build)).unwrap())
    }
}

/// The build of a component that follows from the CUDA release.
const RTC: &str = r#"
$CXX -O1 -shared -fPIC -DRELEASE=$RELEASE -Wl,-soname,librtc.so.1.2 -Wl,-z,relro,-z,now,-z,noexecstack -s -nostdlib \
  -o librtc.so.1.2 rtc.cc -ldl -lc
mkdir -p "$PREFIX/lib"
cp librtc.so.1.2 "$PREFIX/lib/"
"#;

/// It opens another library for each release.
const RTC_SOURCE: &str = r#"
#include <dlfcn.h>
extern "C" void *release() { return dlopen(RELEASE > 13.2 ? "libnvidia-ml.so.1" : "libcuda.so.1", RTLD_NOW); }
"#;

/// Digests of package files by package and CUDA release; selectors and what brings others are left out.
fn digests(summary: &Value) -> BTreeMap<(String, String), String> {
    let packages = summary["packages"].as_array().unwrap().iter();
    let with_files = packages.filter(|package| !package["package"].as_str().unwrap().ends_with("-kernels"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    with_files.map(|package| ((text(&package["package"]), text(&package["cuda"])), text(&package["sha256"]))).collect()
}

/// The table of a release whose compiler lies in a directory.
fn table(release: &str, targets: &str, directory: &Path) -> String {
    format!("[matrix.release.\"{release}\"]\n{targets}\ntoolchain = \"{}\"\n", directory.display())
}

/// Three generations, of which two share a major: one build serves them all.
#[test]
fn releases_of_one_build_serve_generations_of_drivers() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let (system, newest) = (set_up("SIMPACK_TEST_CUDA_SYSTEM"), set_up("SIMPACK_TEST_CUDA_NEWEST"));
    need!(system.is_some(), "no CUDA compiler of the system");
    need!(newest.is_some(), "no newest CUDA compiler");
    let old = table("11.8", "capabilities = [\"7.0\", \"9.0\"]", &system.unwrap());
    let new = table("13.5", "capabilities = [\"9.0\"]\nptx = [\"9.0\"]", &newest.unwrap());
    let general = "cuda = [\"13.0\", \"11.8\", \"13.5\"]\ncapabilities = [\"8.0\", \"9.0\"]\nptx = [\"8.0\"]\n";
    let built = Built::new("recipes/volley", &format!("{general}{old}{new}"), "");
    assert_eq!(built.findings(), [""; 0], "{}", built.summary["report"]);
    let expected = [
        "volley-kernels-compute_80 11.8",
        "volley-kernels-compute_80 13.0",
        "volley-kernels-compute_90 13.5",
        "volley-kernels-sm_70 11.8",
        "volley-kernels-sm_80 13.0",
        "volley-kernels-sm_90 11.8",
        "volley-kernels-sm_90 13.0",
        "volley-kernels-sm_90 13.5",
        "volley-rtc 13.0",
    ];
    assert_eq!(built.of_releases(), expected.map(str::to_owned).into());
    built.run(&["verify", "dist"]).exit(0);
    let plan = built.run(&["plan", "recipe", "--json"]).exit(0).json();
    assert_eq!((plan["cuda"].as_str(), plan["others"][0]["cuda"].as_str()), (Some("13.0"), Some("11.8")));
    let steps: Vec<&str> = plan["steps"].as_array().unwrap().iter().filter_map(|step| step["id"].as_str()).collect();
    assert_eq!(steps.iter().filter(|id| id.starts_with("host core")).count(), 1, "{steps:?}");

    // 450, 525 and 550 load machine code of CUDA 11 alone, 580 that of 13, by the newest compiler of its major.
    for (driver, cuda) in [("450.80.02", "11.8"), ("525.60.13", "11.8"), ("550.54.14", "11.8"), ("580.65.06", "13.5")] {
        let spec = format!("volley-kernels-sm_90 ==1.0.0 {}", built.build("volley-kernels-sm_90", cuda));
        assert_eq!(built.selected(driver)[1], spec, "{driver}");
    }
    // Those of one major share a directory below the prefix, and are told apart in the work directory.
    for cuda in ["13.0", "13.5"] {
        let kernels = built.path(&format!("target/simpack/bundles/volley-kernels-sm_90-cuda{cuda}/lib/volley/kernels"));
        let tag = fs_err::read_dir(kernels).unwrap().next().unwrap().unwrap().path();
        assert!(tag.join("cuda13/fixed/sm_90/neuron.cubin").is_file(), "{cuda}");
    }

    // One more release changes no package that is there without it, and a release alone makes the same kernels.
    let all = digests(&built.summary);
    for release in ["13.0", "11.8"] {
        let alone = built.run(&["build", "recipe", "--json", "--cuda", release, "--dist", "alone"]).exit(0).json();
        assert!(alone["steps"].as_array().unwrap().iter().all(|step| step["cached"] == true), "{}", alone["steps"]);
        for ((name, _), digest) in digests(&alone) {
            let is_kernels = name.starts_with("volley-kernels-");
            let same = all.get(&(name.clone(), release.to_owned())).or_else(|| all.get(&(name.clone(), String::new())));
            if is_kernels || release == "13.0" && name != "volley" {
                assert_eq!(same, Some(&digest), "{name}, CUDA {release}");
            }
        }
    }
    // Capabilities that are asked for go to the releases that the recipe lists them for; a release without any is left out.
    let headline = |capability: &str| built.run(&["plan", "recipe", "--capability", capability]).exit(0).stdout;
    let three = "1 capability + PTX, CUDA 13.0; 1 capability + PTX, CUDA 11.8; 1 capability + PTX, CUDA 13.5";
    assert!(headline("9.0").contains(three), "{}", headline("9.0"));
    assert!(headline("8.0").contains("recipe  1 capability + PTX, CUDA 13.0, "), "{}", headline("8.0"));

    built.rebuilds(&built.file("volley-kernels-sm_90", "11.8"), 1);
    other_clients_take_a_release(&built);
}

/// Wheels have a name for each CUDA major and hold the newest of its machine code; packages of Debian and images have a
/// name for each release, of which one is installed.
fn other_clients_take_a_release(built: &Built) {
    let dist = built.path("dist");
    let distribution = Distribution { dist: &dist, name: "volley", version: "1.0.0" };
    let majors = |prefix: &Path| -> BTreeSet<String> {
        let cubins =
            files(&prefix.join("lib/volley/kernels")).into_iter().filter(|file| file.ends_with("neuron.cubin"));
        cubins.map(|file| file.split('/').nth(1).unwrap().to_owned()).collect()
    };
    let runs = |program: &Path| {
        let ran = Ran::of(Command::new(program).env_clear().arg("--version")).exit(0);
        assert_eq!(ran.stdout, "volley 1.0.0\n");
    };
    let both = BTreeSet::from(["cuda11", "cuda13"].map(str::to_owned));
    let one = |major: &str| BTreeSet::from([major.to_owned()]);
    for (extras, expected) in [("sm90", both.clone()), ("sm90-cu11", one("cuda11")), ("cu13", one("cuda13"))] {
        distribution.by_wheels(extras, &|prefix, programs| {
            assert_eq!(majors(prefix), expected, "{extras}");
            runs(&programs.join("volley"));
        });
    }
    for (target, major) in [("cuda11.8-sm_90", "cuda11"), ("cuda13.5-sm_90", "cuda13")] {
        distribution.by_image(target, &|prefix| {
            assert_eq!(majors(prefix), one(major), "{target}");
            runs(&prefix.join("bin/volley"));
        });
    }
    let kernels = |cuda: &str| format!("volley-kernels-sm-90-cuda{cuda}_");
    let (first, others) = (kernels("13.5"), ["13.0", "11.8"].map(kernels));
    let others = others.each_ref().map(String::as_str);
    distribution.by_dpkg(&["volley-core_", &first], &others, &|prefix| {
        assert_eq!(majors(prefix), one("cuda13"));
        runs(&prefix.join("bin/volley"));
    });
    // Select names the files of the release that the driver runs.
    let select = |driver: &str, format: &str| {
        let args = ["select", "--device", "9.0", "--driver", driver, "dist", "--format", format];
        built.run(&args).stdout
    };
    for (driver, cuda) in [("550.54.14", "11.8"), ("580.65.06", "13.5")] {
        assert!(select(driver, "deb").contains(&kernels(cuda)), "{driver}: {}", select(driver, "deb"));
        let image = format!(":1.0.0-cuda{cuda}-sm_90 ");
        assert!(select(driver, "oci").contains(&image), "{driver}: {}", select(driver, "oci"));
    }
    // Archives say the major in their names; of two releases of one, their content tells them apart.
    built.run(&["build", "recipe", "--format", "tar", "--dist", "archives"]).exit(0);
    for (driver, cuda) in [("550.54.14", "11.8"), ("580.65.06", "13.5")] {
        let args = ["select", "--device", "9.0", "--driver", driver, "archives", "--format", "tar"];
        let said = built.run(&args).exit(0).stdout;
        let archive = format!("/volley-kernels-sm_90-1.0.0-{}.tar.zst", built.build("volley-kernels-sm_90", cuda));
        assert!(said.contains(&archive) && said.lines().count() == 2, "{driver}: {said}");
    }
}

/// Of a library that cannot be split and of what follows from the release by its build, each release makes its own.
#[test]
fn slices_and_runtime_compilation_of_two_releases() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let newest = set_up("SIMPACK_TEST_CUDA_NEWEST");
    need!(newest.is_some(), "no newest CUDA compiler");
    let new = table("13.5", "opens = { rtc = [\"libnvidia-ml.so.1\"] }", &newest.unwrap());
    let matrix = format!("cuda = [\"13.0\", \"13.5\"]\ncapabilities = [\"9.0\"]\nptx = [\"9.0\"]\n{new}");
    let rtc = "\n[component.rtc]\nfiles = [\"lib/librtc.so.*\"]\nopens = [\"libcuda.so.1\"]\n\n[component.rtc.build]\n\
               driver = \"script\"\ntargets = [\"rtc.sh\"]\ninputs = [\"rtc.*\"]\noptions = { RELEASE = \"{cuda}\" }\n";
    let built = Built::new("tests/recipes/whole", &matrix, rtc);
    let expected = [
        "whole-kernels-compute_90 13.5",
        "whole-kernels-compute_90 13.0",
        "whole-kernels-sm_90 13.5",
        "whole-kernels-sm_90 13.0",
        "whole-rtc 13.5",
        "whole-rtc 13.0",
    ];
    assert_eq!(built.of_releases(), expected.map(str::to_owned).into());
    let lints: BTreeSet<&str> = built.findings().into_iter().collect();
    assert_eq!(lints, ["monolithic"].into(), "{}", built.summary["report"]);
    built.run(&["verify", "dist"]).exit(0);
    for (cuda, opens) in [("13.0", "libcuda.so.1"), ("13.5", "libnvidia-ml.so.1")] {
        let manifest =
            built.path(&format!("target/simpack/bundles/whole-rtc-cuda{cuda}/share/simpack/whole-rtc/simpack.json"));
        let manifest: Value = serde_json::from_slice(&fs_err::read(manifest).unwrap()).unwrap();
        assert_eq!(manifest["opens"], serde_json::json!([opens]));
        let library = format!("target/simpack/bundles/whole-kernels-sm_90-cuda{cuda}/lib/libwhole.so.1.2.0");
        let inspected = built.run(&["inspect", "--json", "--kernels", &library]).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap();
        assert!(!images.is_empty(), "{inspected}");
        assert!(images.iter().all(|image| image.to_string().contains(&format!("V{cuda}."))), "{inspected}");
    }
    let spec = format!("whole-kernels-sm_90 ==1.2.0 {}", built.build("whole-kernels-sm_90", "13.5"));
    assert!(built.selected("580.65.06").contains(&spec), "{:?}", built.selected("580.65.06"));
    built.rebuilds(&built.path("dist"), files(&built.path("dist")).iter().filter(|file| is_package(file)).count());
    built.rebuilds(&built.file("whole-rtc", "13.5"), 1);
    built.rebuilds(&built.file("whole-kernels-sm_90", "13.5"), 1);

    // A client takes, of rtc too, the newest that the driver runs.
    need!(python().is_some(), "no client");
    let mut solve = client("solve.py").unwrap();
    solve.arg("--channel").arg(built.path("dist/conda")).args(["whole", "whole-rtc"]);
    solve.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "9.0");
    let solved = Ran::of(&mut solve).exit(0).stdout;
    for package in ["whole-kernels-sm_90", "whole-rtc"] {
        assert!(solved.contains(&built.build(package, "13.5")), "{solved}");
    }
}

fn is_package(file: &str) -> bool {
    [".conda", ".whl", ".deb"].iter().any(|end| file.ends_with(end))
}

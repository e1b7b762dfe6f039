//! The JSON forms: their schemas are checked in and current, real output fits them, and old files still read.

use std::path::{Path, PathBuf};

use simpack::abi::Baseline;
use simpack::bundle::{BundleManifest, Condition, Dependency, KernelsList, MANIFEST_SCHEMA, Versions, read_manifest};
use simpack::cli::FORMS;
use simpack::error::ErrorJson;
use simpack::lock::Lock;
use simpack::plan::BuildPlan;
use simpack::report::Report;

use crate::support::{CacheView, Ran, client, copy_tree, files, scratch, simpack, volley};

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// `INSTA_UPDATE=always` writes them, as it does snapshots.
#[test]
fn schemas_are_checked_in_and_current() {
    let dir = scratch();
    let update = std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always");
    let mut expected = Vec::new();
    for form in FORMS {
        let path = checkout("schemas").join(form.file());
        let text = Ran::of(&mut simpack(dir.path(), &["schema", form.name])).exit(0).stdout;
        if update {
            fs_err::write(&path, &text).unwrap();
        }
        let checked_in = fs_err::read_to_string(&path).unwrap_or_default();
        assert_eq!(checked_in, text, "{} is not current: run this test with INSTA_UPDATE=always", path.display());
        expected.push(form.file());
    }
    // Forms that are read and no longer written.
    expected.push("manifest-1.json".to_owned());
    expected.sort();
    assert_eq!(files(&checkout("schemas")), expected);
    let listed = Ran::of(&mut simpack(dir.path(), &["schema"])).exit(0).stdout;
    assert_eq!(listed.lines().count(), FORMS.len());
    let wrong = Ran::of(&mut simpack(dir.path(), &["schema", "plans"])).exit(2);
    assert!(wrong.stderr.contains("did you mean `plan`?"), "{}", wrong.stderr);
}

/// Files of each version, as simpack wrote them. They are never changed.
#[test]
fn files_of_each_version_still_read() {
    let text = |name: &str| fs_err::read_to_string(checkout("tests/schemas").join(name)).unwrap();
    let manifest: BundleManifest = serde_json::from_str(&text("manifest-1.json")).unwrap();
    assert_eq!(
        (manifest.package.as_str(), manifest.schema, manifest.artifacts.len()),
        ("tiny-core", MANIFEST_SCHEMA, 4)
    );
    let volleys = fs_err::read(checkout("tests/cases/volley-rtc-manifest-1.json")).unwrap();
    let manifest = read_manifest("share/simpack/volley-rtc/simpack.json", &volleys).unwrap();
    assert_eq!(manifest.uses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["cuda-nvrtc >=13.0,<14"]);
    assert!(matches!(&manifest.uses[0], Dependency::Package { versions: Versions::Range(_), .. }));
    assert_eq!((manifest.dependencies.len(), manifest.license), (0, None));
    let kernels =
        read_manifest("share/simpack/volley-kernels/simpack.json", text("manifest-2.json").as_bytes()).unwrap();
    assert!(matches!(kernels.conditions[..], [Condition::Driver { .. }, Condition::Device { .. }]), "{kernels:?}");
    assert_eq!((kernels.schema, kernels.dependencies.len()), (MANIFEST_SCHEMA, 2));
    assert!(kernels.license.is_some());
    let plan: BuildPlan = serde_json::from_str(&text("plan-1.json")).unwrap();
    assert_eq!((plan.schema, plan.steps.len(), plan.bundles.len()), (1, 2, 3));
    for step in &plan.steps {
        assert_eq!(simpack::plan::key_of(&step.parts), step.key, "the key of {} is made otherwise", step.id);
    }
    let report: Report = serde_json::from_str(&text("report-1.json")).unwrap();
    assert_eq!((report.findings.len(), report.examined.len()), (1, 1));
    let error: ErrorJson = serde_json::from_str(&text("error-1.json")).unwrap();
    assert_eq!((error.error.exit_code, error.error.kind.exit_code()), (3, 3));
    let kernels: KernelsList = serde_json::from_str(&text("kernels-1.json")).unwrap();
    assert_eq!((kernels.variant.as_str(), kernels.modules.len(), kernels.kernels.len()), ("default", 1, 1));
    let baseline = Baseline::parse(text("abi-1.json").as_bytes()).unwrap();
    assert_eq!((baseline.subject.as_str(), baseline.libraries.len()), ("libtiny.so.1.0.0", 1));
    let lock: Lock = serde_json::from_str(&text("lock-1.json")).unwrap();
    assert_eq!(lock, Lock::parse(&text("lock-1.toml"), "lock-1.toml").unwrap());
    assert_eq!(lock.text().unwrap(), text("lock-1.toml"));
}

/// The validator of Python's `jsonschema`, over pairs of form and document.
fn validate<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a PathBuf)>) {
    let Some(mut command) = client("validate.py") else { return };
    for (form, document) in pairs {
        command.arg(checkout(&format!("schemas/{form}.json"))).arg(document);
    }
    Ran::of(&mut command).exit(0);
}

#[test]
fn files_of_each_version_fit_the_schemas_of_today() {
    let dir = checkout("tests/schemas");
    let samples =
        files(&dir).into_iter().filter_map(|file| Some((file.strip_suffix(".json")?.to_owned(), dir.join(&file))));
    let samples: Vec<(String, PathBuf)> = samples.collect();
    let first = samples.iter().filter_map(|(form, _)| form.strip_suffix("-1"));
    assert_eq!(first.collect::<Vec<_>>(), FORMS.map(|form| form.name));
    for form in FORMS {
        let newest = format!("{}-{}", form.name, form.version);
        assert!(samples.iter().any(|(sample, _)| *sample == newest), "no sample of {newest}");
    }
    validate(samples.iter().map(|(form, path)| (form.as_str(), path)));
}

#[test]
fn what_the_verbs_print_and_write_fits_the_schemas() {
    let volley = volley();
    let dir = scratch();
    let view = CacheView::with_artifacts();
    let mut pairs: Vec<(&str, PathBuf)> = Vec::new();
    let print = |form: &'static str, code: i32, args: &[&str], pairs: &mut Vec<(&str, PathBuf)>| {
        let mut command = simpack(&checkout(""), args);
        command.arg("--json").env("SIMPACK_CACHE_DIR", view.root.path());
        let path = dir.path().join(format!("{}-{}.json", pairs.len(), form));
        fs_err::write(&path, Ran::of(&mut command).exit(code).stdout).unwrap();
        pairs.push((form, path));
    };
    print("plan", 0, &["plan", "volley"], &mut pairs);
    print("report", 0, &["verify", volley.dist.to_str().unwrap()], &mut pairs);
    print("config", 0, &["config", "--list"], &mut pairs);
    print("generate", 0, &["generate", "nix", "recipes/volley", "--output", "nix/volley", "--check"], &mut pairs);
    print("lock-result", 0, &["lock", "recipes/volley", "--check"], &mut pairs);
    print("check", 0, &["check", "volley", "--offline"], &mut pairs);
    let wrong = dir.path().join("wrong.toml");
    fs_err::write(&wrong, "edition = 1\n[simulator]\nname = 7\n").unwrap();
    print("check", 3, &["check", wrong.to_str().unwrap()], &mut pairs);
    print("cache-stat", 0, &["cache", "stat"], &mut pairs);
    print("cache-gc", 0, &["cache", "gc"], &mut pairs);
    print("cache-verify", 0, &["cache", "verify"], &mut pairs);
    let bundles = volley.work.join("bundles");
    let library = bundles.join("volley-core/lib/libvolley.so.1.0.0");
    let library = library.to_str().unwrap();
    for subject in [library, volley.dist.to_str().unwrap()] {
        print("inspect", 0, &["inspect", "--kernels", subject], &mut pairs);
    }
    print("resolve", 0, &["resolve", library], &mut pairs);
    print("abi", 0, &["abi", "dump", library], &mut pairs);
    print("abi-diff", 0, &["abi", "diff", library, library], &mut pairs);
    print("error", 2, &["verify", "no-such-directory/"], &mut pairs);
    print("error", 2, &["plan", "volley", "--why", "no such step"], &mut pairs);
    let kernels = files(&volley.dist).into_iter().find(|file| file.starts_with("tar/volley-kernels-sm_90")).unwrap();
    print("rebuild", 0, &["rebuild", volley.dist.join(kernels).to_str().unwrap()], &mut pairs);

    // What people write, as an editor sees it.
    for (form, name) in [("recipe", "/simpack.toml"), ("kernel-table", "/table.toml")] {
        for root in ["recipes", "tests/recipes"].map(checkout) {
            for file in files(&root).into_iter().filter(|file| file.ends_with(name)) {
                let text = fs_err::read_to_string(root.join(&file)).unwrap();
                let path = dir.path().join(format!("{}-{form}.json", pairs.len()));
                fs_err::write(&path, serde_json::to_string(&text.parse::<toml::Table>().unwrap()).unwrap()).unwrap();
                pairs.push((form, path));
            }
        }
    }
    let summary = dir.path().join("summary.json");
    fs_err::write(&summary, volley.summary.to_string()).unwrap();
    pairs.push(("build", summary));
    pairs.push(("build", volley.dist.join("build.json")));
    let lists = files(&bundles).into_iter().filter(|file| file.ends_with("/kernels.json"));
    pairs.extend(lists.map(|file| ("kernels", bundles.join(file))));
    let manifests = files(&bundles).into_iter().filter(|file| file.ends_with("/simpack.json"));
    pairs.extend(manifests.map(|file| ("manifest", bundles.join(file))));
    assert!(pairs.len() > 20, "{pairs:?}");
    let of_today = |name: &str| FORMS.iter().find(|form| form.name == name).unwrap().file().replace(".json", "");
    let pairs: Vec<(String, PathBuf)> = pairs.into_iter().map(|(form, path)| (of_today(form), path)).collect();
    validate(pairs.iter().map(|(form, path)| (form.as_str(), path)));
}

/// A validator that accepts everything would prove nothing.
#[test]
fn the_validator_finds_mistakes() {
    let Some(mut command) = client("validate.py") else { return };
    let dir = scratch();
    copy_tree(&checkout("tests/schemas"), dir.path());
    let path = dir.path().join("manifest-1.json");
    let text = fs_err::read_to_string(&path).unwrap();
    assert!(text.contains("\"component\": \"core\""));
    fs_err::write(&path, text.replace("\"component\": \"core\"", "\"component\": \"coer\"")).unwrap();
    let ran = Ran::of(command.arg(checkout("schemas/manifest-1.json")).arg(&path)).exit(1);
    assert!(ran.stdout.contains("component"), "{}", ran.stdout);
}

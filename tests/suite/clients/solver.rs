//! A real client's solver chooses what the fallback chain chooses, and its installer what was packed.
//!
//! These tests need a Python with `requirements.txt`, named in `SIMPACK_TEST_PYTHON`.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simpack::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use simpack::gpu::{Available, choose};
use simpack::pack;
use simpack::package::Package;
use simpack::recipe::Fallback;

use super::sample::{self, TARGETS};
use crate::support::client;

pub(super) fn json(command: &mut Command) -> serde_json::Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(specs: &[Package], channel: &Path) {
    sample::write_conda(specs, channel, NonZeroUsize::new(2).unwrap()).unwrap();
}

/// A second channel with what the first one's packages need from elsewhere.
pub(super) fn stand_ins(dir: &Path) -> PathBuf {
    let libraries = dir.join("libraries");
    fs_err::create_dir_all(&libraries).unwrap();
    for name in ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libstdc++.so.6"] {
        fs_err::write(libraries.join(name), name).unwrap();
    }
    let channel = dir.join("vendor");
    for (name, version) in [("cuda-nvrtc", "13.0.88"), ("cuda-nvrtc", "11.8.89"), ("libstdcxx", "12.2.0")] {
        let output = client("vendor.py").unwrap().arg(&channel).args([name, version]).arg(&libraries).output().unwrap();
        assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    channel
}

/// One question to the solver: what the machine is.
struct Machine {
    driver: Option<CudaVersion>,
    device: Option<Capability>,
}

/// What the chain says. For a device that nobody told: PTX, the lowest of each release that the
/// driver compiles, and of these the highest.
fn expected(machine: &Machine, available: &[Available]) -> String {
    let name = |item: Option<&Available>| item.map_or("cpu".to_owned(), |item| item.target.to_string());
    if let Some(device) = machine.device {
        let choice = choose(device, machine.driver, available, &sample::manifests());
        return name(choice.chosen.map(|index| &available[index]));
    }
    let plain = |item: &&Available| {
        let capability = item.target.capability().filter(|capability| capability.suffix == Suffix::Plain);
        capability.is_some() && matches!(item.target, KernelTarget::Ptx(_))
    };
    let mut lowest: BTreeMap<CudaVersion, &Available> = BTreeMap::new();
    for item in available.iter().filter(plain) {
        let entry = lowest.entry(item.cuda).or_insert(item);
        if item.target < entry.target {
            *entry = item;
        }
    }
    let compiled = lowest.into_values().filter(|item| machine.driver >= Some(item.cuda));
    name(compiled.max_by_key(|item| item.target))
}

/// Asks the solver about every known capability, some that nobody knows yet, an unknown one, with
/// several drivers, for several sets of kernels, also of two CUDA releases in one channel: of two builds, or of one
/// distribution that serves several generations of drivers.
#[test]
fn the_solver_and_the_chain_agree() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let vendor = stand_ins(dir.path());
    let sets: [&[(&[&str], &str)]; 6] = [
        &[(TARGETS, "13.0")],
        &[(&["sm_80", "sm_87", "sm_90a", "sm_90", "sm_100f", "sm_120a", "compute_90a", "compute_80"], "13.0")],
        &[(&["sm_90", "compute_90"], "13.3"), (&["sm_60", "sm_86", "compute_50"], "11.8")],
        &[
            (&["sm_75", "sm_100", "sm_103f", "sm_101"], "12.9"),
            (&["sm_75", "sm_103", "compute_100f", "compute_75"], "13.0"),
        ],
        &[
            (&["sm_80", "sm_90", "sm_120", "compute_80"], "13.0"),
            (&["sm_60", "sm_70", "sm_80", "sm_90", "compute_60"], "11.8"),
        ],
        &[(&["sm_80", "sm_90", "compute_80"], "13.0"), (&["sm_80", "sm_121", "compute_90"], "13.5")],
    ];
    // The sets from here on are one distribution each.
    let of_one_build = 4;
    // Drivers 450, 470, 525, 550, 560, 575, 580 and two newer ones.
    let drivers = ["11.0", "11.4", "12.0", "12.4", "12.6", "12.9", "13.0", "13.4", "13.5"].map(sample::cuda);
    let known: Vec<_> = sample::manifests().capabilities.iter().map(|entry| entry.capability()).collect();
    let unborn = ["8.1", "9.5", "13.0"].map(|text| text.parse().unwrap());
    for (index, set) in sets.iter().enumerate() {
        let channel = dir.path().join(format!("channel{index}"));
        let mut available = Vec::new();
        if index >= of_one_build {
            write(&sample::matrix(&dir.path().join(format!("stage{index}")), set), &channel);
        }
        for (targets, cuda) in *set {
            if index < of_one_build {
                write(&sample::specs(&dir.path().join(format!("stage{index}-{cuda}")), targets, cuda), &channel);
            }
            let cuda = sample::cuda(cuda);
            available.extend(targets.iter().map(|target| Available {
                target: target.parse().unwrap(),
                cuda,
                ptx_isa: None,
            }));
        }
        // CEP 46: `__cuda_arch` is never there without `__cuda`.
        let mut machines = vec![Machine { driver: None, device: None }];
        for driver in drivers.map(Some) {
            let devices = known.iter().chain(&unborn).map(|&device| Some(device)).chain([None]);
            machines.extend(devices.map(|device| Machine { driver, device }));
        }
        let mut command = client("solve.py").unwrap();
        command.arg("--batch").arg("--channel").arg(&channel).arg("--channel").arg(&vendor).arg("volley");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut questions = String::new();
        for machine in &machines {
            let mut packages = vec!["__glibc=2.36".to_owned(), "__linux=6.1".to_owned()];
            packages.extend(machine.driver.map(|driver| format!("__cuda={driver}")));
            packages.extend(machine.device.map(|device| format!("__cuda_arch={device}")));
            questions.push_str(&format!("{}\n", serde_json::json!(packages)));
        }
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answers.lines().count(), machines.len());
        for (machine, answer) in machines.iter().zip(answers.lines()) {
            let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
            let packages = answer.as_array().unwrap_or_else(|| panic!("{answer}"));
            let mut kernels = packages.iter().filter_map(|package| {
                let target = package["name"].as_str().unwrap().strip_prefix("volley-kernels-")?;
                Some((target, package["build"].as_str().unwrap()))
            });
            let (found, build) = kernels.next().unwrap_or(("cpu", "cpu"));
            assert_eq!(kernels.next(), None);
            // Of two releases' code for the same device, the newer that the driver can load.
            let loaded = |item: &&Available| machine.driver.is_some_and(|driver| driver.major >= item.cuda.major);
            let same = available.iter().filter(|item| item.target.to_string() == found).filter(loaded);
            let newest = same.map(|item| format!("cuda{}_", item.cuda.major)).max().unwrap_or_default();
            assert!(build.starts_with(&newest), "set {index}, {:?}: {build}", machine.driver);
            let (driver, device) =
                (machine.driver.map(|driver| driver.to_string()), machine.device.map(|device| device.to_string()));
            assert_eq!(found, expected(machine, &available), "set {index}, driver {driver:?}, device {device:?}");
        }
    }
}

/// One distribution, each release with an rtc of its own: the newest that the driver runs, with its NVRTC; without a
/// driver the oldest. Kernels and rtc of two releases are never installed together.
#[test]
fn each_driver_gets_the_rtc_and_the_kernels_that_it_runs() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (channel, vendor) = (dir.path().join("channel"), stand_ins(dir.path()));
    let targets: &[&str] = &["sm_80", "sm_90", "compute_80"];
    write(&sample::matrix(&dir.path().join("stage"), &[(targets, "13.0"), (targets, "11.8")]), &channel);
    let solve = |cuda: &str, arch: &str, specs: &[&str]| {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).args(specs);
        command.env("CONDA_OVERRIDE_CUDA", cuda).env("CONDA_OVERRIDE_CUDA_ARCH", arch);
        command.env("CONDA_OVERRIDE_GLIBC", "2.36");
        command
    };
    // Drivers 450, 525, 550 and 580, and none.
    for (cuda, nvrtc, kernels) in [
        ("11.0", "11.8.89", Some("cuda11_")),
        ("12.0", "11.8.89", Some("cuda11_")),
        ("12.4", "11.8.89", Some("cuda11_")),
        ("13.0", "13.0.88", Some("cuda13_")),
        ("", "11.8.89", None),
    ] {
        let answer =
            json(&mut solve(cuda, if cuda.is_empty() { "" } else { "9.0" }, &["volley", "volley-rtc", "volley-dev"]));
        let of = |name: &str, what: &str| {
            let mut found = answer.as_array().unwrap().iter().filter(|package| package["name"] == name);
            let one = found.next().map(|package| package[what].as_str().unwrap().to_owned());
            assert_eq!(found.next(), None);
            one
        };
        assert_eq!(of("cuda-nvrtc", "version").as_deref(), Some(nvrtc), "{cuda}");
        let build = of("volley-kernels-sm_90", "build");
        assert_eq!(build.as_ref().map(|build| &build[..7]), kernels, "{cuda}");
    }
    let both = ["volley-kernels-sm_90=*=cuda11_*", "volley-kernels-sm_90=*=cuda13_*"];
    assert_eq!(solve("13.0", "9.0", &both).output().unwrap().status.code(), Some(1));
}

/// Machines by driver and capability.
fn grid() -> Vec<(Option<CudaVersion>, Capability)> {
    let capabilities = ["5.2", "6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0", "13.0"];
    let drivers = [None, Some(sample::cuda("12.6")), Some(sample::cuda("13.0"))];
    let of = |driver| capabilities.map(|text| (driver, text.parse().unwrap()));
    drivers.into_iter().flat_map(of).collect()
}

/// What serves GPUs of unknown capability, in the words of the recipe.
fn fallback_specs(fallback: Fallback, stage: &Path) -> Vec<Package> {
    let mut recipe = sample::recipe(TARGETS, "13.0");
    recipe.package.fallback = fallback;
    let bundles = sample::bundles(&recipe, stage);
    let manifests = sample::manifests();
    pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap()
}

/// Takes the constraints out of an index: solvers that leave out those on packages which are not there see no others here.
fn without_constraints(channel: &Path) {
    for subdir in ["linux-64", "noarch"] {
        let path = channel.join(subdir).join("repodata.json");
        let mut index: serde_json::Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
        for record in index["packages.conda"].as_object_mut().unwrap().values_mut() {
            record.as_object_mut().unwrap().remove("constrains");
        }
        fs_err::write(&path, index.to_string()).unwrap();
        fs_err::remove_file(path.with_extension("json.zst")).unwrap();
    }
}

/// Answers of the solver for `volley`, one for each list of virtual packages.
fn batch(channel: &Path, vendor: &Path, machines: &[Vec<String>]) -> Vec<serde_json::Value> {
    let mut command = client("solve.py").unwrap();
    command.arg("--batch").arg("--channel").arg(channel).arg("--channel").arg(vendor).arg("volley");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = machines.iter().map(|machine| format!("{}\n", serde_json::json!(machine))).collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), machines.len());
    answers
}

/// Drivers, capabilities, clients that know the capability and those that do not, solvers that heed constraints and those
/// that do not: everybody gets what runs, and who is told the capability gets the best of it.
#[test]
fn every_client_gets_code_that_runs() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let vendor = stand_ins(dir.path());
    let item = |target: &&str| Available { target: target.parse().unwrap(), cuda: sample::cuda("13.0"), ptx_isa: None };
    let available: Vec<Available> = TARGETS.iter().map(item).collect();
    for (name, fallback) in Fallback::NAMES {
        let channel = dir.path().join(name);
        write(&fallback_specs(fallback, &dir.path().join(format!("stage-{name}"))), &channel);
        for heeds_constraints in [true, false] {
            if !heeds_constraints {
                without_constraints(&channel);
            }
            let mut cases: Vec<(Machine, Vec<String>)> = Vec::new();
            for (driver, device) in grid() {
                for knows in [true, false] {
                    let device = driver.and_then(|_| knows.then_some(device));
                    let mut packages = vec!["__glibc=2.36".to_owned(), "__linux=6.1".to_owned()];
                    packages.extend(driver.map(|driver| format!("__cuda={driver}")));
                    packages.extend(device.map(|device| format!("__cuda_arch={device}")));
                    cases.push((Machine { driver, device }, packages));
                }
            }
            let questions: Vec<Vec<String>> = cases.iter().map(|(_, packages)| packages.clone()).collect();
            for ((machine, asked), answer) in cases.iter().zip(batch(&channel, &vendor, &questions)) {
                let packages = answer.as_array().unwrap_or_else(|| panic!("{asked:?}: {answer}"));
                let names =
                    packages.iter().filter_map(|one| one["name"].as_str().unwrap().strip_prefix("volley-kernels-"));
                let found: Vec<&str> = names.collect();
                let said = format!("fallback {name}, constraints {heeds_constraints}, {asked:?}");
                let loads = machine.driver.is_some_and(|driver| driver >= sample::cuda("13.0"));
                match (machine.device, fallback) {
                    (None, Fallback::All) if loads => assert_eq!(found.len(), TARGETS.len() + 1, "{said}: {found:?}"),
                    (None, Fallback::Ptx) if loads => assert_eq!(found, ["compute_75"], "{said}"),
                    (None, _) => assert!(found.is_empty(), "{said}: {found:?}"),
                    (Some(_), _) => {
                        let expected = expected(machine, &available);
                        let expected: Vec<&str> =
                            Some(expected.as_str()).filter(|it| *it != "cpu").into_iter().collect();
                        assert_eq!(found, expected, "{said}");
                    }
                }
            }
        }
    }
}

/// One more capability changes, of the packages that are there, the list of all kernels alone. Users may ask for the list
/// themselves: with GPUs of several kinds each runs its own.
#[test]
fn all_kernels_are_one_list() {
    let dir = tempfile::tempdir().unwrap();
    let specs = |targets: &[&str], stage: &str| {
        let mut recipe = sample::recipe(targets, "13.0");
        recipe.package.fallback = Fallback::All;
        let bundles = sample::bundles(&recipe, &dir.path().join(stage));
        let manifests = sample::manifests();
        let packages = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        sample::rendered(&packages).iter().map(|one| one.stem()).collect::<Vec<String>>()
    };
    let (few, more) = (specs(&["sm_80", "compute_80"], "few"), specs(&["sm_80", "sm_90", "compute_80"], "more"));
    let changed: Vec<&String> = few.iter().filter(|stem| !more.contains(stem)).collect();
    assert!(changed.len() == 1 && changed[0].starts_with("volley-kernels-all-"), "{changed:?}");
    if client("solve.py").is_none() {
        return;
    }
    let (channel, vendor) = (dir.path().join("channel"), stand_ins(dir.path()));
    write(&fallback_specs(Fallback::All, &dir.path().join("stage")), &channel);
    let mut command = client("solve.py").unwrap();
    command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).args(["volley", "volley-kernels-all"]);
    let answer = json(command.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "8.0"));
    let kernels = answer.as_array().unwrap().iter().filter(|one| one["name"].as_str().unwrap().contains("-kernels-"));
    assert_eq!(kernels.count(), TARGETS.len() + 1, "{answer}");
}

/// Two releases and a rebuild of the first in one channel: the newest is taken, of one version the rebuild, and what is
/// pinned is what comes. conda's own reader opens every package.
#[test]
fn releases_and_rebuilds_share_a_channel() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (channel, vendor) = (dir.path().join("channel"), stand_ins(dir.path()));
    let mut builds = BTreeMap::new();
    let mut files = 0;
    for (version, number) in [("1.0.0", 0), ("1.0.0", 1), ("1.1.0", 0)] {
        let mut recipe = sample::recipe(&["sm_80", "sm_90", "compute_80"], "13.0");
        (recipe.version, recipe.package.build_number) = (version.parse().unwrap(), number);
        let bundles = sample::bundles(&recipe, &dir.path().join(format!("{version}-{number}")));
        let manifests = sample::manifests();
        let packages = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        write(&packages, &channel);
        // Each has its files but for the package that ties kernels to core, which is the same in all.
        files += packages.len() - usize::from(files > 0);
        let rendered = sample::rendered(&packages);
        let kernels = rendered.iter().find(|one| one.package.name() == "volley-kernels-sm_90").unwrap();
        builds.insert((version, number), kernels.build.clone());
    }
    let packages: Vec<PathBuf> = crate::support::files(&channel)
        .into_iter()
        .filter(|name| name.ends_with(".conda"))
        .map(|name| channel.join(name))
        .collect();
    assert_eq!(packages.len(), files);
    let opened = client("stream.py").unwrap().args(&packages).output().unwrap();
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    assert_eq!(String::from_utf8(opened.stdout).unwrap().lines().count(), files);
    for (specs, version, number) in [
        (vec!["volley".to_owned()], "1.1.0", 0),
        (vec!["volley <1.1".to_owned()], "1.0.0", 1),
        (
            vec!["volley ==1.0.0".to_owned(), format!("volley-kernels-sm_90 ==1.0.0 {}", builds[&("1.0.0", 0)])],
            "1.0.0",
            0,
        ),
    ] {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).args(&specs);
        let answer = json(command.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "9.0"));
        let of = |name: &str| answer.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        assert_eq!(of("volley-kernels-sm_90")["build"], builds[&(version, number)], "{specs:?}");
        assert_eq!(of("volley-core")["version"], version, "{specs:?}");
    }
}

/// The environment variables that users have, and a core with another kernel table.
#[test]
fn overrides_and_foreign_tables() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (channel, vendor) = (dir.path().join("channel"), stand_ins(dir.path()));
    write(&sample::specs(&dir.path().join("one"), TARGETS, "13.0"), &channel);
    let solve = |cuda: &str, arch: &str, specs: &[&str]| {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).args(specs);
        command.env("CONDA_OVERRIDE_CUDA", cuda).env("CONDA_OVERRIDE_CUDA_ARCH", arch);
        command
    };
    let kernels = |answer: &serde_json::Value| {
        let names = answer.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("volley-kernels-")).collect::<Vec<_>>()
    };
    for (cuda, arch, name) in [
        ("13.0", "8.9", Some("volley-kernels-sm_89")),
        ("13.0", "8.7", Some("volley-kernels-compute_75")),
        ("13.0", "12.1", Some("volley-kernels-sm_120")),
        ("13.0", "13.0", Some("volley-kernels-compute_120")),
        ("13.0", "6.1", None),
        ("12.6", "8.9", None),
        ("", "", None),
    ] {
        let answer = json(&mut solve(cuda, arch, &["volley"]));
        assert_eq!(kernels(&answer), Vec::from_iter(name), "{cuda} {arch}");
    }
    // Version 1.1.0 has another table. Kernels of one and core of the other do not go together; asked
    // for the older core, the solver takes the older selector rather than the newer one's CPU build.
    let mut recipe = sample::recipe(TARGETS, "13.0");
    recipe.version = "1.1.0".parse().unwrap();
    recipe.groups[0].table[0].params[0].size = 16;
    let bundles = sample::bundles(&recipe, &dir.path().join("two"));
    let manifests = sample::manifests();
    write(&pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap(), &channel);
    let output = solve("13.0", "9.0", &["volley-core ==1.0.0", "volley-kernels-sm_90 ==1.1.0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("volley-kernel-abi"), "{text}");
    let answer = json(&mut solve("13.0", "9.0", &["volley-core ==1.0.0", "volley-kernels"]));
    assert_eq!(kernels(&answer), ["volley-kernels-sm_90"]);
    assert!(answer.as_array().unwrap().iter().all(|package| package["version"] != "1.1.0"), "{answer}");
}

/// Versions as the world writes them: a solver orders them as we do, and takes kernels and rtc of core's own version.
#[test]
fn versions_of_any_form_are_chosen() {
    if client("solve.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (channel, vendor) = (dir.path().join("channel"), stand_ins(dir.path()));
    for version in ["3.8.dev2", "3.8b1", "3.8", "8.2.2", "8.2.2.post1"] {
        let mut recipe = sample::recipe(&["sm_90"], "13.0");
        recipe.version = version.parse().unwrap();
        let bundles = sample::bundles(&recipe, &dir.path().join(version));
        let manifests = sample::manifests();
        write(&pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap(), &channel);
    }
    let solve = |specs: &[&str]| {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).args(specs);
        json(command.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "9.0"))
    };
    for (spec, chosen) in [
        ("volley", "8.2.2.post1"),
        ("volley <8", "3.8"),
        ("volley <3.8", "3.8b1"),
        ("volley <3.8a0", "3.8dev2"),
        ("volley ==8.2.2", "8.2.2"),
    ] {
        let answer = solve(&[spec, "volley-rtc"]);
        let own = answer.as_array().unwrap().iter().filter(|package| package["name"] != "volley-kernel-abi");
        let own: Vec<_> = own.filter(|package| package["name"].as_str().unwrap().starts_with("volley")).collect();
        assert!(own.len() >= 5, "{spec}: {answer}");
        assert!(own.iter().all(|package| package["version"] == chosen), "{spec}: {answer}");
    }
    let index: Vec<Vec<u8>> =
        ["linux-64", "noarch"].map(|subdir| fs_err::read(channel.join(subdir).join("repodata.json")).unwrap()).to_vec();
    let offered: Vec<String> =
        pack::offers(&index).unwrap().iter().map(|offer| offer.distribution.version.to_string()).collect();
    assert_eq!(offered, ["8.2.2.post1", "8.2.2", "3.8", "3.8b1", "3.8.dev2"]);
}

/// Installed files have the digests of `paths.json` (install.py compares), links and modes survive,
/// and every package leaves its `simpack.json`.
#[test]
fn a_client_installs_what_was_packed() {
    if client("install.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (channel, vendor, prefix) = (dir.path().join("channel"), stand_ins(dir.path()), dir.path().join("prefix"));
    write(&sample::specs(&dir.path().join("stage"), TARGETS, "13.0"), &channel);
    let mut command = client("install.py").unwrap();
    command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).arg("--prefix").arg(&prefix);
    command.args(["--virtual", "__cuda=13.0", "--virtual", "__cuda_arch=9.0", "--virtual", "__glibc=2.36"]);
    let installed = json(command.args(["volley", "volley-rtc", "volley-dev", "volley-source"]));
    let names: Vec<_> = installed.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
    for name in names.iter().filter(|name| name.starts_with("volley")) {
        let path = prefix.join(format!("share/simpack/{name}/simpack.json"));
        let manifest: simpack::bundle::BundleManifest = serde_json::from_slice(&fs_err::read(path).unwrap()).unwrap();
        assert_eq!(manifest.package, **name);
    }
    assert!(names.contains(&"volley-kernels-sm_90") && names.contains(&"cuda-nvrtc"), "{names:?}");
    assert!(prefix.join("lib/libvolley.so").canonicalize().unwrap().ends_with("lib/libvolley.so.1.0.0"));
    let output = Command::new(prefix.join("bin/volley")).output().unwrap();
    assert_eq!(output.stdout, b"volley 1.0.0\n");
}

/// rattler-build reads the package and runs its tests: `volley --version` in a prefix of its own.
/// A program that fails makes them fail.
#[test]
fn a_builder_runs_the_packages_own_tests() {
    if client("check.py").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let vendor = stand_ins(dir.path());
    for (program, code) in [("#!/bin/sh\necho volley 1.0.0\n", 0), ("#!/bin/sh\nexit 3\n", 1)] {
        let channel = dir.path().join(format!("channel{code}"));
        let recipe = sample::recipe(&["sm_90"], "13.0");
        let mut bundles = sample::bundles(&recipe, &dir.path().join(format!("stage{code}")));
        sample::replace(&mut bundles[0], "bin/volley", program.as_bytes());
        let manifests = sample::manifests();
        let specs = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        write(&specs, &channel);
        let rendered = sample::rendered(&specs);
        let core = rendered.iter().find(|spec| spec.package.name() == "volley-core").unwrap();
        let mut command = client("check.py").unwrap();
        command.arg(channel.join("linux-64").join(format!("{}.conda", core.stem())));
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).env("HOME", dir.path());
        command.env("RATTLER_CACHE_DIR", dir.path().join("cache")).env("CONDA_OVERRIDE_GLIBC", "2.36");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["tests"], serde_json::json!([code == 0]));
        assert_eq!(answer["depends"], serde_json::json!(core.depends));
    }
}

//! Machines against distributions (`tests/cases/fit.toml`), and binaries against capabilities.

use serde::Deserialize;

use super::*;
use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget, Version};
use crate::data::Data;
use crate::gpu::{Available, CodeImage, CodeKind, CodePlace};
use crate::machine::{Device, DeviceKind, Driver};
use crate::manifest::Manifests;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    devices: Vec<String>,
    driver: Option<CudaVersion>,
    core: Option<String>,
    rtc: Option<String>,
    #[serde(default)]
    installed: Vec<String>,
    #[serde(default)]
    offered: Vec<String>,
    runs: Vec<String>,
    better: Vec<String>,
    best: Vec<String>,
    smallest: Vec<String>,
    #[serde(default)]
    disagree: Vec<String>,
}

fn manifests() -> Manifests {
    Manifests::load(&Data::at("no such directory")).unwrap()
}

const VERSION: Version = Version::new(1, 0, 0);

fn tag(letter: &str) -> KernelAbiTag {
    format!("k{}", letter.repeat(12)).parse().unwrap()
}

fn part(name: &str, letter: &str) -> Part {
    Part { package: name.to_owned(), version: VERSION, kernel_abi: Some(tag(letter)), installed: true }
}

/// `sm_90 cuda13.0`, with `abi-b` and `pkg-NAME` where they are not the usual ones.
fn kernels(text: &str, installed: bool) -> KernelPackage {
    let mut words = text.split(' ');
    let target: KernelTarget = words.next().unwrap().parse().unwrap();
    let cuda = words.next().unwrap().strip_prefix("cuda").unwrap().parse().unwrap();
    let (mut package, mut abi) = (format!("sim-kernels-{target}"), tag("a"));
    for word in words {
        match word.strip_prefix("abi-") {
            Some(letter) => abi = tag(letter),
            None => package = word.to_owned(),
        }
    }
    let kernel_abi = Some(abi);
    KernelPackage {
        package,
        version: VERSION,
        build: None,
        target,
        cuda,
        ptx_isa: None,
        kernel_abi,
        installed,
        problem: None,
    }
}

fn device(text: &str, index: u32) -> Device {
    let kind = match text {
        "amd" => DeviceKind::Amd { gfx: Some("gfx942".to_owned()) },
        text => DeviceKind::Cuda { capability: text.parse().unwrap() },
    };
    Device { index, name: format!("GPU of {text}"), kind, memory: None }
}

fn driver(cuda: &str) -> Driver {
    Driver { version: None, cuda: cuda.parse().unwrap() }
}

impl Case {
    fn fit(&self, manifests: &Manifests) -> Fit {
        let distribution = Distribution {
            shaders: Vec::new(),
            simulator: "sim".to_owned(),
            version: VERSION,
            core: self.core.as_ref().map(|letter| part("sim-core", letter)),
            rtc: self.rtc.as_ref().map(|letter| part("sim-rtc", letter)),
            kernels: self.installed.iter().map(|text| kernels(text, true)).collect(),
            as_wheels: false,
            needs_gpu: false,
        };
        let distribution = distribution.with_offers(self.offered.iter().map(|text| kernels(text, false)));
        let devices: Vec<Device> = self.devices.iter().zip(0..).map(|(text, index)| device(text, index)).collect();
        let driver = self.driver.map(|cuda| Driver { version: None, cuda });
        fit(&devices, driver.as_ref(), &distribution, manifests)
    }
}

#[test]
fn all_machines_of_the_table() {
    let manifests = manifests();
    let cases: Cases = toml::from_str(include_str!("../../tests/cases/fit.toml")).unwrap();
    assert!(cases.case.len() >= 12);
    for case in cases.case {
        let found = case.fit(&manifests);
        assert_eq!(found.devices.len(), case.devices.len(), "{}", case.name);
        for ((device, expected), better) in found.devices.iter().zip(&case.runs).zip(&case.better) {
            match expected.strip_prefix("cpu ") {
                Some(words) => {
                    let why = device.why_cpu.as_deref().unwrap_or_default();
                    assert!(device.runs.is_none() && why.contains(words), "{}: {device:#?}", case.name);
                }
                None => {
                    let runs = device.runs.as_ref().unwrap_or_else(|| panic!("{}: {device:#?}", case.name));
                    let place = serde_json::to_value(runs.place).unwrap();
                    let said = format!("{} {}", runs.target, place.as_str().unwrap());
                    assert_eq!(said, *expected, "{}", case.name);
                    assert!(device.why_cpu.is_none());
                }
            }
            let said = device.better.as_ref().map_or("-", |advice| advice.words.as_str());
            assert_eq!(said, better, "{}", case.name);
        }
        let short = |packages: &[String]| -> Vec<String> {
            packages.iter().map(|name| name.trim_start_matches("sim-kernels-").to_owned()).collect()
        };
        assert_eq!(short(&found.best), case.best, "{}: best", case.name);
        assert_eq!(short(&found.smallest), case.smallest, "{}: smallest", case.name);
        assert_eq!(found.disagreements, case.disagree, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct ChainCases {
    case: Vec<ChainCase>,
}

/// A case of `tests/cases/chain.toml`, as far as a machine with one GPU has to do with it.
#[derive(Deserialize)]
struct ChainCase {
    name: String,
    device: String,
    driver: Option<CudaVersion>,
    available: Vec<String>,
    chosen: String,
}

/// One table decides: what the chain takes is what an installed distribution runs, and what is selected.
#[test]
fn the_table_of_the_chain_holds_for_distributions() {
    let manifests = manifests();
    let cases: ChainCases = toml::from_str(include_str!("../../tests/cases/chain.toml")).unwrap();
    assert!(cases.case.len() >= 30);
    for case in cases.case {
        for installed in [true, false] {
            let package = |(index, text): (usize, &String)| {
                let mut words = text.split(' ');
                let head: Vec<&str> = words.by_ref().take(2).collect();
                let isa = words.next().and_then(|word| word.strip_prefix("ptx")?.split_once('.'));
                let ptx_isa = isa.map(|(major, minor)| (major.parse().unwrap(), minor.parse().unwrap()));
                let own = kernels(&format!("{} package-{index}", head.join(" ")), installed);
                KernelPackage { ptx_isa, ..own }
            };
            let mut distribution = Distribution {
                shaders: Vec::new(),
                simulator: "sim".to_owned(),
                version: VERSION,
                core: None,
                rtc: None,
                kernels: case.available.iter().enumerate().map(package).collect(),
                as_wheels: false,
                needs_gpu: false,
            };
            distribution.settle();
            let driver = case.driver.map(|cuda| Driver { version: None, cuda });
            let found = fit(&[device(&case.device, 0)], driver.as_ref(), &distribution, &manifests);
            let expected = case.available.iter().position(|text| *text == case.chosen);
            let target = |index: usize| case.available[index].split(' ').next().unwrap().to_owned();
            let runs = found.devices[0].runs.as_ref().map(|runs| runs.package.clone());
            assert_eq!(runs, expected.map(|index| format!("package-{index}")), "{}", case.name);
            let said = found.devices[0].runs.as_ref().map(|runs| runs.target.to_string());
            assert_eq!(said, expected.map(target), "{}", case.name);
            assert_eq!(found.smallest, runs.into_iter().collect::<Vec<_>>(), "{}", case.name);
        }
    }
}

#[test]
fn a_page_for_a_mixed_host() {
    let case = Case {
        name: String::new(),
        devices: vec!["9.0".to_owned(), "8.9".to_owned(), "amd".to_owned()],
        driver: Some(CudaVersion::new(13, 0)),
        core: Some("a".to_owned()),
        rtc: None,
        installed: vec!["sm_80 cuda13.0".to_owned(), "compute_75 cuda13.0".to_owned()],
        offered: vec!["sm_86 cuda13.0".to_owned(), "sm_89 cuda13.0".to_owned(), "sm_90 cuda13.0".to_owned()],
        runs: Vec::new(),
        better: Vec::new(),
        best: Vec::new(),
        smallest: Vec::new(),
        disagree: Vec::new(),
    };
    insta::assert_snapshot!(case.fit(&manifests()).page());
}

/// Where several releases compiled for a target, words say which is meant.
#[test]
fn packages_of_two_releases_are_told_apart() {
    let offered = ["sm_80 cuda13.0", "sm_90 cuda13.0", "sm_90 cuda11.8", "sm_100 cuda13.0", "compute_80 cuda11.8"];
    let distribution = Distribution {
        shaders: Vec::new(),
        simulator: "sim".to_owned(),
        version: VERSION,
        core: None,
        rtc: None,
        kernels: offered.map(|text| kernels(text, false)).into(),
        as_wheels: false,
        needs_gpu: false,
    };
    let on = |cuda: &str, capability: &str| {
        let found = fit(&[device(capability, 0)], Some(&driver(cuda)), &distribution, &manifests());
        (found.devices[0].line(), found.devices[0].fallback().join(", "))
    };
    let (line, fallback) = on("12.0", "9.0");
    assert_eq!(line, "kernels sm_90 of CUDA 11.8 (exact)");
    assert!(fallback.starts_with("PTX 8.0 yes, sm_80 sm_100 no (other major), sm_90 of CUDA 13.0 no ("), "{fallback}");
    assert_eq!(on("13.0", "9.0").0, "kernels sm_90 of CUDA 13.0 (exact)");
    assert!(on("13.0", "9.0").1.starts_with("sm_90 of CUDA 11.8 yes, "), "{fallback}");
    let line = on("11.4", "7.5").0;
    assert!(line.contains("sm_90 of CUDA 11.8, ") && !line.contains("sm_80 of CUDA"), "{line}");
}

#[test]
fn a_damaged_package_is_refused_by_its_own_words() {
    let mut broken = kernels("sm_90 cuda13.0", true);
    broken.problem = Some("neuron.cubin is missing".to_owned());
    let distribution = Distribution {
        shaders: Vec::new(),
        simulator: "sim".to_owned(),
        version: VERSION,
        core: Some(part("sim-core", "a")),
        rtc: None,
        kernels: vec![broken],
        as_wheels: false,
        needs_gpu: false,
    };
    let found = fit(&[device("9.0", 0)], Some(&driver("13.0")), &distribution, &manifests());
    assert_eq!(found.devices[0].why_cpu.as_deref(), Some("sm_90: neuron.cubin is missing"));
    assert_eq!(found.disagreements, ["sim-kernels-sm_90: neuron.cubin is missing"]);
}

fn image(target: &str, isa: Option<(u16, u16)>) -> CodeImage {
    let target: KernelTarget = target.parse().unwrap();
    let kind = if matches!(target, KernelTarget::Ptx(_)) { CodeKind::Ptx } else { CodeKind::Sass };
    let capability = target.capability();
    CodeImage {
        capability,
        version: isa.unwrap_or((1, 7)),
        ..CodeImage::new(kind, &CodePlace::default().section(".nv_fatbin"), 0, 1)
    }
}

fn unit(name: &str, images: &[CodeImage], needed: &[&str], manifests: &Manifests) -> Unit {
    let needed: Vec<String> = needed.iter().map(ToString::to_string).collect();
    Unit::new(name.to_owned(), &images.iter().collect::<Vec<_>>(), &needed, manifests)
}

#[test]
fn the_release_comes_from_what_the_file_tells() {
    let manifests = manifests();
    let note = vec!["ptxas 12.8, V12.8.61".to_owned()];
    let with_note = CodeImage { compilers: note, ..image("sm_80", None) };
    let release = |unit: Unit| (unit.code[0].cuda.to_string(), unit.release_from.unwrap());
    assert_eq!(release(unit("a", &[with_note], &["libcudart.so.11.0"], &manifests)).0, "12.8");
    assert_eq!(
        release(unit("b", &[image("sm_80", None), image("compute_80", Some((7, 5)))], &[], &manifests)).0,
        "11.5"
    );
    assert_eq!(
        release(unit("c", &[image("sm_80", None)], &["libcudart.so.12"], &manifests)),
        ("12.0".to_owned(), "libcudart.so.12".to_owned())
    );
    assert_eq!(release(unit("d", &[image("sm_89", None)], &[], &manifests)).0, "11.8");
    // Relocatable leftovers of linked code do not count, alone they do.
    let leftover = CodeImage { relocatable: true, ..image("sm_60", None) };
    let linked = unit("e", &[leftover.clone(), image("sm_90", None)], &[], &manifests);
    assert_eq!(linked.code.iter().map(|code| code.target.to_string()).collect::<Vec<_>>(), ["sm_90"]);
    assert_eq!(unit("f", &[leftover], &[], &manifests).code.len(), 1);
}

/// There is no Jetson with x86-64; code for one is named all the same.
#[test]
fn beside_host_code_for_x86_no_system_on_a_chip_is_missed() {
    let manifests = manifests();
    let named = |is_x86, own: &str| {
        let unit = Unit { is_x86, ..unit("a", &[image(own, None)], &[], &manifests) };
        let reach = Reach::of("a".to_owned(), vec![unit], &manifests);
        let all = reach.devices.iter().filter_map(|device| device.capability);
        all.filter(|capability| manifests.capabilities.is_tegra(*capability))
            .map(|it| it.to_string())
            .collect::<Vec<_>>()
    };
    assert!(named(false, "sm_80").contains(&"8.7".to_owned()));
    assert_eq!(named(true, "sm_80"), [""; 0]);
    assert_eq!(named(true, "sm_87"), ["8.7", "8.8"], "8.8 runs code for 8.7");
    assert_eq!(named(true, "compute_75"), [""; 0], "that PTX would run there helps nobody here");
}

/// As vendors' wheels are: code in a static archive, and a library without code beside it.
#[test]
fn a_library_without_device_code_tells_the_machine() {
    let manifests = manifests();
    let library = Unit { is_x86: true, ..unit("libcudart.so.13", &[], &[], &manifests) };
    let units = vec![unit("libcudadevrt.a", &[image("sm_90", None)], &[], &manifests), library];
    let reach = Reach::of("a".to_owned(), units, &manifests);
    let mut all = reach.devices.iter().filter_map(|device| device.capability);
    assert!(!all.any(|capability| manifests.capabilities.is_tegra(capability)), "{:?}", reach.devices);
}

/// One file without PTX, another with: that nothing runs on what is newer is one problem, not two.
#[test]
fn what_comes_is_told_once() {
    let manifests = manifests();
    let every = [image("sm_75", None), image("sm_80", None), image("sm_90", None), image("sm_100", None)];
    let mut with_ptx = every.to_vec();
    with_ptx.push(image("compute_75", Some((9, 0))));
    let units = vec![unit("a.so", &every, &[], &manifests), unit("b.so", &with_ptx, &[], &manifests)];
    let problems = Reach::of("a".to_owned(), units, &manifests).problems;
    assert!(!problems.iter().any(|problem| problem.contains("on  a part")), "{problems:?}");
}

#[test]
fn files_reach_as_far_as_the_worst_of_them() {
    let manifests = manifests();
    let wide = unit(
        "wide.so",
        &[image("sm_80", None), image("sm_90", None), image("compute_80", Some((8, 4)))],
        &["libcudart.so.12"],
        &manifests,
    );
    let narrow = unit("narrow.so", &[image("sm_80", None)], &["libcudart.so.12"], &manifests);
    let reach = Reach::of("both".to_owned(), vec![wide, narrow], &manifests);
    insta::assert_snapshot!(reach.page());
    let on = |capability: &str, cuda: &str| {
        let fit = reach.on(&device(capability, 0), Some(&driver(cuda)), &manifests);
        (fit.runs, fit.words)
    };
    assert_eq!(on("8.9", "12.0"), (true, "sm_80 (as machine code)".to_owned()));
    assert_eq!(on("9.0", "13.0"), (false, "narrow.so: sm_80: other major".to_owned()));
    assert!(on("8.0", "11.8").1.contains("needs a driver of CUDA 12.0 (525.60.13 or newer), this one is of CUDA 11.8"));
    assert_eq!(reach.on(&device("8.0", 0), None, &manifests).words, "no CUDA driver");
    assert!(!reach.on(&device("amd", 0), Some(&driver("13.0")), &manifests).runs);
}

#[test]
fn old_machine_code_alone_is_a_problem_under_any_new_driver() {
    let manifests = manifests();
    let old = unit("libold.so", &[image("sm_60", None)], &["libcudart.so.12"], &manifests);
    let reach = Reach::of("libold.so".to_owned(), vec![old], &manifests);
    insta::assert_snapshot!(reach.page());
    assert!(!reach.on(&device("9.0", 0), Some(&driver("13.0")), &manifests).runs);
}

#[test]
fn what_compiles_at_run_time_reaches_what_its_compiler_knows() {
    let manifests = manifests();
    let plugin = unit("libplugin.so", &[], &["libnvrtc.so.13", "libcuda.so.1", "libc.so.6"], &manifests);
    let reach = Reach::of("plugin.whl".to_owned(), vec![plugin], &manifests);
    insta::assert_snapshot!(reach.page());
    let on = |capability: &str, cuda: &str| reach.on(&device(capability, 0), Some(&driver(cuda)), &manifests);
    assert!(on("9.0", "13.0").runs && !on("7.0", "13.0").runs && !on("9.0", "12.6").runs);
    assert!(on("9.0", "12.6").words.contains("needs a driver of CUDA 13.0"));
    let nothing = Reach::of("x".to_owned(), vec![unit("libx.so", &[], &["libc.so.6"], &manifests)], &manifests);
    assert!(nothing.devices.is_empty() && nothing.page().contains("it runs on the CPU"));
}

#[test]
fn values_survive_json() {
    let manifests = manifests();
    let wide = unit("wide.so", &[image("sm_80", None), image("compute_80", Some((8, 4)))], &[], &manifests);
    assert_eq!(
        wide.code[0],
        Available { target: "compute_80".parse().unwrap(), cuda: CudaVersion::new(12, 4), ptx_isa: Some((8, 4)) }
    );
    let reach = Reach::of("wide".to_owned(), vec![wide], &manifests);
    let back: Reach = serde_json::from_str(&serde_json::to_string(&reach).unwrap()).unwrap();
    assert_eq!(back, reach);
}

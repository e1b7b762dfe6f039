//! The fallback chain: which of the available kernels a device runs, and why not the others.
//!
//! Exact SASS, lower minor of the same major (not between desktop and Tegra), family (`f`), PTX,
//! CPU. One function decides for doctor, select and verify; its rules are data in `manifests/`, its
//! cases are data in `tests/cases/chain.toml`, on which a simulator's own loader is tested too.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::manifest::Manifests;

/// Kernels that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Available {
    /// What they were compiled for.
    pub target: KernelTarget,
    /// CUDA release that compiled them.
    pub cuda: CudaVersion,
    /// PTX ISA version (major, minor) of PTX; when it is not known, the release's own counts.
    pub ptx_isa: Option<(u32, u32)>,
}

/// What became of one of the available kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// This one runs.
    Taken,
    /// It would run, but a better one is there.
    Possible,
    /// It cannot run here.
    Refused,
}

/// One of the available kernels with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    /// Its index among the available.
    pub index: usize,
    /// What it was compiled for.
    pub target: KernelTarget,
    /// What became of it.
    pub verdict: Verdict,
    /// Where it stands in the chain; none when it cannot run.
    pub place: Option<Place>,
    /// Why, in a few words.
    pub reason: String,
}

/// The choice for one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Index among the available; none is the CPU.
    pub chosen: Option<usize>,
    /// Every available one: first those that can run, in the order of the chain, then the refused,
    /// as they came.
    pub trace: Vec<Considered>,
}

/// Places in the chain, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Machine code of the device's own capability.
    Exact,
    /// Machine code of a lower minor of the same major.
    LowerMinor,
    /// Machine code of the device's family.
    Family,
    /// PTX, which the driver compiles.
    Ptx,
}

impl Place {
    /// Whether the device runs it as it is; otherwise the driver compiles it first.
    pub fn is_machine_code(self) -> bool {
        self != Self::Ptx
    }
}

/// Chooses for a device.
///
/// `device` is its capability (a suffix does not matter), `driver` the CUDA version that its driver
/// supports, none without a driver. Among equals the newer compiler's kernels win, then the first.
pub fn choose(
    device: Capability,
    driver: Option<CudaVersion>,
    available: &[Available],
    manifests: &Manifests,
) -> Choice {
    let device = device.plain();
    let mut usable = Vec::new();
    let mut refused = Vec::new();
    for (index, item) in available.iter().enumerate() {
        match place(device, driver, item, manifests) {
            Ok((place, reason)) => usable.push((place, index, reason)),
            Err(reason) => {
                let verdict = Verdict::Refused;
                refused.push(Considered { index, target: item.target, verdict, place: None, reason });
            }
        }
    }
    usable.sort_by(|(place_a, index_a, _), (place_b, index_b, _)| {
        let rank = |index: usize| rank(&available[index]);
        place_a.cmp(place_b).then(rank(*index_b).cmp(&rank(*index_a))).then(index_a.cmp(index_b))
    });
    let chosen = usable.first().map(|&(_, index, _)| index);
    let mut trace: Vec<Considered> = usable
        .into_iter()
        .map(|(place, index, reason)| {
            let verdict = if Some(index) == chosen { Verdict::Taken } else { Verdict::Possible };
            Considered { index, target: available[index].target, verdict, place: Some(place), reason }
        })
        .collect();
    trace.append(&mut refused);
    Choice { chosen, trace }
}

/// Within a place the higher one comes first: by capability, then by suffix, then by compiler. What is made for one
/// device comes first of all; family code is that of a whole family, while plain PTX is that of every later device.
fn rank(item: &Available) -> (u32, u8, CudaVersion) {
    let (code, is_ptx) = match item.target {
        KernelTarget::Sass(code) => (code, false),
        KernelTarget::Ptx(code) => (code, true),
        KernelTarget::Spirv(..) | KernelTarget::Vulkan(..) | KernelTarget::WebGpu | KernelTarget::Cpu => {
            return (0, 0, item.cuda);
        }
    };
    let suffix = match code.suffix {
        Suffix::Exact => 2,
        Suffix::Family => u8::from(is_ptx),
        Suffix::Plain => u8::from(!is_ptx),
    };
    (code.number(), suffix, item.cuda)
}

/// Where an item stands in the chain, or why it cannot run.
fn place(
    device: Capability,
    driver: Option<CudaVersion>,
    item: &Available,
    manifests: &Manifests,
) -> Result<(Place, String), String> {
    let found = match item.target {
        KernelTarget::Sass(code) => sass(device, code, manifests)?,
        KernelTarget::Ptx(code) => ptx(device, code, manifests)?,
        KernelTarget::WebGpu => return Err("WGSL is not run by the CUDA driver".to_owned()),
        KernelTarget::Spirv(..) | KernelTarget::Vulkan(..) => {
            return Err("SPIR-V is not run by the CUDA driver".to_owned());
        }
        KernelTarget::Cpu => return Err("no device code: this is the CPU's".to_owned()),
    };
    let Some(driver) = driver else { return Err("no CUDA driver".to_owned()) };
    match found.0 {
        Place::Ptx => driver_compiles(driver, item, manifests)?,
        _ => driver_runs(driver, item.cuda, manifests)?,
    }
    Ok(found)
}

fn sass(device: Capability, code: Capability, manifests: &Manifests) -> Result<(Place, String), String> {
    if code.major != device.major {
        return Err(other_major(device, code, manifests));
    }
    if code.minor > device.minor {
        return Err(format!("higher minor than {device}"));
    }
    // Family code stands behind plain code on every device, its own capability's too: so its place is
    // one number, which a package manager can compare.
    if code.minor == device.minor && code.suffix != Suffix::Family {
        return Ok((Place::Exact, "exact".to_owned()));
    }
    match code.suffix {
        Suffix::Exact => Err(format!("`a` code runs on exactly {}", code.plain())),
        Suffix::Family if manifests.capabilities.in_family(code, device) => {
            Ok((Place::Family, format!("family of {}", code.plain())))
        }
        Suffix::Family => Err(format!("{device} is not in the family of {}", code.plain())),
        Suffix::Plain => {
            let name = |tegra| if tegra { "Tegra" } else { "desktop" };
            let (of_code, of_device) = (manifests.capabilities.is_tegra(code), manifests.capabilities.is_tegra(device));
            if of_code == of_device {
                Ok((Place::LowerMinor, format!("lower minor of {}.x", device.major)))
            } else {
                let (from, to) = (name(of_code), name(of_device));
                Err(format!("machine code of a {from} part does not run on a {to} part"))
            }
        }
    }
}

fn other_major(device: Capability, code: Capability, manifests: &Manifests) -> String {
    let renamed = manifests.capabilities.get(code).and_then(|entry| entry.renamed);
    match renamed {
        Some(renamed) if renamed.to == device => {
            format!("other major: {code} is named {device} from CUDA {} on", renamed.since)
        }
        _ => "other major".to_owned(),
    }
}

fn ptx(device: Capability, code: Capability, manifests: &Manifests) -> Result<(Place, String), String> {
    let fits = match code.suffix {
        _ if code.plain() == device => Ok(()),
        Suffix::Exact => Err(format!("`a` PTX is compiled for exactly {}", code.plain())),
        Suffix::Family if code.major != device.major => Err(other_major(device, code, manifests)),
        Suffix::Family if code.minor > device.minor => Err(format!("higher minor than {device}")),
        Suffix::Family if manifests.capabilities.in_family(code, device) => Ok(()),
        Suffix::Family => Err(format!("{device} is not in the family of {}", code.plain())),
        Suffix::Plain if code < device => Ok(()),
        Suffix::Plain => Err(format!("PTX of a higher capability than {device}")),
    };
    fits.map(|()| (Place::Ptx, format!("PTX {code}, compiled by the driver")))
}

/// Minor-version compatibility: a driver runs machine code of every release of its major and of
/// lower majors.
fn driver_runs(driver: CudaVersion, cuda: CudaVersion, manifests: &Manifests) -> Result<(), String> {
    let major = manifests.cuda.major(cuda.major);
    let lowest = major.map_or(CudaVersion::new(cuda.major, 0), |major| major.min_driver_cuda);
    if driver >= lowest {
        return Ok(());
    }
    let needs = major.map_or(String::new(), |major| format!(" ({} or newer)", major.min_driver));
    Err(format!("compiled by CUDA {cuda}: needs a driver of CUDA {lowest}{needs}, this one is of CUDA {driver}"))
}

/// Minor-version compatibility does not cover PTX: the driver must know the ISA version.
fn driver_compiles(driver: CudaVersion, item: &Available, manifests: &Manifests) -> Result<(), String> {
    let lowest = item.ptx_isa.and_then(|isa| manifests.cuda.cuda_for_ptx(isa)).unwrap_or(item.cuda);
    if driver >= lowest {
        return Ok(());
    }
    let isa = item.ptx_isa.map_or(String::new(), |(major, minor)| format!(" ISA {major}.{minor}"));
    Err(format!("PTX{isa} needs a driver of CUDA {lowest}, this one is of CUDA {driver}"))
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Taken => "taken",
            Self::Possible => "possible",
            Self::Refused => "refused",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cases {
        case: Vec<Case>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        device: Capability,
        driver: Option<CudaVersion>,
        available: Vec<String>,
        chosen: String,
        #[serde(default)]
        refused: Vec<Refused>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Refused {
        item: String,
        says: String,
    }

    /// `sm_90 cuda12.4` or `compute_75 cuda13.0 ptx9.0`.
    fn item(text: &str) -> Available {
        let mut words = text.split(' ');
        let target = words.next().unwrap().parse().unwrap();
        let cuda = words.next().unwrap().strip_prefix("cuda").unwrap().parse().unwrap();
        let isa: Option<CudaVersion> = words.next().map(|word| word.strip_prefix("ptx").unwrap().parse().unwrap());
        Available { target, cuda, ptx_isa: isa.map(|isa| (isa.major, isa.minor)) }
    }

    #[test]
    fn all_cases_of_the_table() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let cases: Cases = toml::from_str(include_str!("../../../tests/cases/chain.toml")).unwrap();
        assert!(cases.case.len() >= 30, "{} cases", cases.case.len());
        for case in cases.case {
            let available: Vec<_> = case.available.iter().map(|text| item(text)).collect();
            let choice = choose(case.device, case.driver, &available, &manifests);
            let chosen = choice.chosen.map_or("cpu", |index| case.available[index].as_str());
            assert_eq!(chosen, case.chosen, "{}: {:#?}", case.name, choice.trace);
            assert_eq!(choice.trace.len(), available.len(), "{}", case.name);
            for expected in &case.refused {
                let index = case.available.iter().position(|text| *text == expected.item).unwrap();
                let found = choice.trace.iter().find(|considered| considered.index == index).unwrap();
                assert_eq!(found.verdict, Verdict::Refused, "{}: {}", case.name, expected.item);
                assert!(found.reason.contains(&expected.says), "{}: {}", case.name, found.reason);
            }
        }
    }

    #[test]
    fn the_trace_has_the_order_of_the_chain() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let available = ["compute_75 cuda13.0 ptx9.0", "sm_75 cuda13.0", "sm_80 cuda13.0", "sm_86 cuda13.0"].map(item);
        let choice = choose(Capability::new(8, 6), Some(CudaVersion::new(13, 0)), &available, &manifests);
        let lines: Vec<_> =
            choice.trace.iter().map(|one| format!("{} {} ({})", one.target, one.verdict, one.reason)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        sm_86 taken (exact)
        sm_80 possible (lower minor of 8.x)
        compute_75 possible (PTX 7.5, compiled by the driver)
        sm_75 refused (other major)
        ");
    }
}

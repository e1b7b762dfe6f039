//! What a channel offers, from its index alone: the selector's builds say which kernels there are, for which target,
//! by which CUDA release and for which kernel ABI; names of packages which shaders. No package is opened.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget, Version};
use crate::error::{Error, Result};
use crate::fit::{Distribution, KernelPackage, Part, ShaderPackage};
use crate::package::conda::{self, Record};
use crate::package::{kernel_abi_name, release_of, selector_name};
use crate::recipe::ComponentKind;

/// One release of a simulator in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its packages as values; none is installed.
    pub distribution: Distribution,
    /// Match spec that brings the simulator: its metapackage, else its core.
    pub simulator: String,
    /// Match specs of its kernel packages, by package and CUDA release: exactly the one that the index names.
    pub kernels: BTreeMap<(String, CudaVersion), String>,
    /// Build strings of its core and of its module for Python, by package: host variants are told apart by them.
    pub builds: BTreeMap<String, BTreeSet<String>>,
}

/// A build of the selector: its build number, the kernel package that it brings, and that one's spec.
type Selected = (u64, KernelPackage, String);

/// The releases of simulators that the indexes (`repodata.json` of each directory of one channel) offer, by name, the
/// newest first. Packages that simpack did not make are passed over.
///
/// # Errors
/// An index is no JSON, or none of a channel.
pub fn offers(indexes: &[Vec<u8>]) -> Result<Vec<Offer>> {
    let mut all: Vec<Record> = Vec::new();
    for bytes in indexes {
        let no_index = |error| Error::new(crate::error::ErrorKind::File, "no channel's index").because(error);
        all.extend(conda::records(bytes).map_err(no_index)?);
    }
    let mut found: BTreeMap<(String, Version), Vec<Selected>> = BTreeMap::new();
    for record in &all {
        // Nothing selects shaders: their packages speak for themselves.
        if let Some((simulator, shaders)) = shaders(record) {
            found.entry((simulator, shaders.version)).or_default();
        }
        let Some((simulator, kernels, spec)) = selected(record) else { continue };
        found.entry((simulator, kernels.version)).or_default().push((record.build_number, kernels, spec));
    }
    let mut offers: Vec<Offer> =
        found.into_iter().map(|((simulator, version), kernels)| offer(&simulator, version, kernels, &all)).collect();
    offers.sort_by(|a, b| {
        let key = |offer: &Offer| offer.distribution.simulator.clone();
        key(a).cmp(&key(b)).then(b.distribution.version.cmp(&a.distribution.version))
    });
    Ok(offers)
}

/// The kernel package that a selector's build brings: simulator, package, and its spec.
fn selected(record: &Record) -> Option<(String, KernelPackage, String)> {
    let simulator = record.name.strip_suffix("-kernels")?;
    let cuda = release_of(record.build_number)?;
    let version: Version = conda::version(&record.version)?;
    let start = format!("{}-", record.name);
    let (spec, wanted, target) = record.wanted().find_map(|(spec, wanted)| {
        let target: KernelTarget = wanted.name()?.strip_prefix(&start)?.parse().ok()?;
        Some((spec, wanted, target))
    })?;
    let kernels = KernelPackage {
        package: wanted.name()?.to_owned(),
        version,
        build: Some(wanted.build()?.to_owned()),
        target,
        cuda,
        ptx_isa: None,
        kernel_abi: kernel_abi(record, simulator),
        installed: false,
        problem: None,
    };
    Some((simulator.to_owned(), kernels, spec.to_owned()))
}

/// A package of shaders, and of which simulator.
fn shaders(record: &Record) -> Option<(String, ShaderPackage)> {
    let (simulator, target) = record.name.rsplit_once("-shaders-")?;
    let target: KernelTarget = target.parse().ok()?;
    let shaders = ShaderPackage {
        package: record.name.clone(),
        version: conda::version(&record.version)?,
        target,
        kernel_abi: kernel_abi(record, simulator),
        needs: BTreeMap::new(),
        embedded: false,
        installed: false,
        problem: None,
    };
    target.is_shader().then(|| (simulator.to_owned(), shaders))
}

/// The tag in a package's dependency on the package that ties kernels to a core.
fn kernel_abi(record: &Record, simulator: &str) -> Option<KernelAbiTag> {
    let name = kernel_abi_name(simulator);
    let (_, tie) = record.wanted().find(|(_, wanted)| wanted.name() == Some(&name))?;
    tie.build()?.parse().ok()
}

fn offer(simulator: &str, version: Version, mut kernels: Vec<Selected>, records: &[Record]) -> Offer {
    // Of several builds of a package the one that a solver takes.
    kernels.sort_by(|(a, ..), (b, ..)| b.cmp(a));
    kernels.dedup_by(|(_, later, _), (_, first, _)| later.package == first.package && later.cuda == first.cuda);
    let text = conda::spelled(version);
    let newest = |fits: &dyn Fn(&Record) -> bool| {
        records.iter().filter(|record| record.version == text && fits(record)).max_by_key(|record| record.build_number)
    };
    let selector = selector_name(simulator);
    // Only core and kernels depend on the table; rtc depends on core.
    let is_core = |record: &Record| {
        !record.name.starts_with(&selector) && shaders(record).is_none() && kernel_abi(record, simulator).is_some()
    };
    let part = |record: &Record| Part {
        package: record.name.clone(),
        version,
        kernel_abi: kernel_abi(record, simulator),
        installed: false,
    };
    let core = newest(&is_core).map(part);
    let rtc = newest(&|record| record.name == format!("{simulator}-rtc")).map(part);
    let meta = newest(&|record| record.name == simulator).map(|record| record.name.clone());
    let brings = meta.or_else(|| core.as_ref().map(|core| core.package.clone()));
    let mut builds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.version == text) {
        if is_core(record) || record.name == format!("{simulator}-{}", ComponentKind::Python) {
            builds.entry(record.name.clone()).or_default().insert(record.build.clone());
        }
    }
    let specs =
        kernels.iter().map(|(_, kernels, spec)| ((kernels.package.clone(), kernels.cuda), spec.clone())).collect();
    // The builds of a selector for machines without a GPU have no release in their numbers.
    let for_cpu = |record: &Record| {
        record.name == selector && record.version == text && release_of(record.build_number).is_none()
    };
    let needs_gpu = !kernels.is_empty() && !records.iter().any(for_cpu);
    let mut distribution = Distribution {
        shaders: records
            .iter()
            .filter_map(shaders)
            .filter_map(|(of, shaders)| (of == simulator && shaders.version == version).then_some(shaders))
            .collect(),
        simulator: simulator.to_owned(),
        version,
        core,
        rtc,
        kernels: kernels.into_iter().map(|(_, kernels, _)| kernels).collect(),
        as_wheels: false,
        needs_gpu,
    };
    distribution.settle();
    let simulator = conda::exactly(brings.as_deref().unwrap_or(simulator), version);
    Offer { simulator, kernels: specs, builds, distribution }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"{"info": {"subdir": "noarch"}, "packages": {}, "packages.conda": {
      "a": {"name": "sim", "version": "1.2.0", "build": "h1_0", "build_number": 0},
      "b": {"name": "sim-kernels", "version": "1.2.0", "build": "cpu_h1", "build_number": 0,
            "depends": ["sim-kernel-abi 1.* k000000000001"]},
      "c": {"name": "sim-kernels", "version": "1.2.0", "build": "cuda13_sm_90_h2", "build_number": 30900130,
            "depends": ["__cuda >=13.0", "sim-kernel-abi 1.* k000000000001",
                        "sim-kernels-sm_90 ==1.2.0 cuda13_k000000000001_h3"]},
      "d": {"name": "sim-kernels", "version": "1.1.0", "build": "cuda12_compute_75_h2", "build_number": 10750124,
            "depends": ["sim-kernel-abi 1.* k000000000002", "sim-kernels-compute_75 ==1.1.0 cuda12_x"]},
      "e": {"name": "other-kernels", "version": "7", "build": "whatever", "build_number": 1},
      "f": {"name": "sim-core", "version": "1.2.0", "build": "h5_0", "build_number": 0,
            "depends": ["sim-kernel-abi 1.* k000000000001"]}
    }}"#;

    #[test]
    fn the_selectors_say_what_there_is() {
        let offers = offers(&[INDEX.as_bytes().to_vec()]).unwrap();
        let [new, old] = offers.as_slice() else { panic!("{offers:?}") };
        assert_eq!(new.simulator, "sim ==1.2.0");
        let kernels = &new.distribution.kernels[0];
        assert_eq!((kernels.target.to_string(), kernels.cuda.to_string()), ("sm_90".to_owned(), "13.0".to_owned()));
        assert_eq!(kernels.kernel_abi, new.distribution.core.as_ref().unwrap().kernel_abi);
        assert_eq!(
            new.kernels[&("sim-kernels-sm_90".to_owned(), CudaVersion::new(13, 0))],
            "sim-kernels-sm_90 ==1.2.0 cuda13_k000000000001_h3"
        );
        assert_eq!((old.simulator.as_str(), old.distribution.version.to_string()), ("sim ==1.1.0", "1.1.0".to_owned()));
        assert_eq!(old.distribution.kernels[0].cuda.to_string(), "12.4");
        assert!(super::offers(&[b"<html>".to_vec()]).is_err());
    }
}

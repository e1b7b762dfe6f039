//! Installed packages: whole, made for each other, and loading what they were made for.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::VersionPolicy;
use crate::doctor::Facts;
use crate::elf::{library_stem, soname_major};
use crate::lint::{Hits, Parameters};
use crate::machine::{InstalledPackage, Prefix, PrefixKind, VendorFile};
use crate::package::wheel::normalized;
use crate::recipe::ComponentKind;
use crate::report::Subject;

fn packages(facts: &Facts) -> impl Iterator<Item = (&Prefix, &InstalledPackage)> {
    facts.machine.prefixes.iter().flat_map(|prefix| prefix.packages.iter().map(move |package| (prefix, package)))
}

/// The command that installs a package again, in words.
fn install(prefix: &Prefix, package: &InstalledPackage) -> Option<String> {
    let channel = package.channel.as_ref().map(|channel| format!(" -c {channel}")).unwrap_or_default();
    let (name, version) = (&package.manifest.package, package.manifest.version);
    let is_conda = prefix.kind == PrefixKind::Conda;
    let by_conda = || format!("conda install --force-reinstall -p {}{channel} {name}=={version}", prefix.path);
    is_conda.then(by_conda).or_else(|| by_pip(prefix, package))
}

/// The same for a wheel, from wherever it came.
fn by_pip(prefix: &Prefix, package: &InstalledPackage) -> Option<String> {
    let (environment, _) =
        prefix.path.split_once("/lib/python3").or_else(|| prefix.path.split_once("/lib64/python3"))?;
    let manifest = &package.manifest;
    let name = match manifest.component {
        ComponentKind::Core => &manifest.simulator,
        _ => &manifest.package,
    };
    let wheel = format!("{}=={}", normalized(name), manifest.version);
    let is_wheel = prefix.kind == PrefixKind::Wheels;
    is_wheel.then(|| format!("{environment}/bin/python -m pip install --force-reinstall --no-deps {wheel}"))
}

pub(super) fn files(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for (prefix, package) in packages(facts) {
        let name = &package.manifest.package;
        let parts = [(&package.missing, "missing"), (&package.changed, "not what was installed")];
        for (files, what) in parts.into_iter().filter(|(files, _)| !files.is_empty()) {
            let are = if files.len() == 1 { "1 file is".to_owned() } else { format!("{} files are", files.len()) };
            let hit = hits.add(name, format!("{are} {what}"));
            let hit = hit.evidence_lines(files.iter().take(5).map(|file| format!("{}/{file}", prefix.path)));
            if let Some(command) = install(prefix, package) {
                hit.fix(command);
            }
        }
    }
}

pub(super) fn kernel_abi(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for prefix in &facts.machine.prefixes {
        let mut tags: BTreeMap<&str, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
        for package in &prefix.packages {
            let manifest = &package.manifest;
            if let Some(tag) = &manifest.kernel_abi {
                let of = tags.entry(manifest.simulator.as_str()).or_default();
                of.entry(tag.to_string()).or_default().push(&manifest.package);
            }
        }
        for (simulator, tags) in tags.into_iter().filter(|(_, tags)| tags.len() > 1) {
            let hit =
                hits.add(simulator, "its packages were made for different kernel interfaces: kernels are not found");
            hit.evidence_lines(tags.into_iter().map(|(tag, packages)| format!("{tag}: {}", packages.join(", "))))
                .fix(format!("install all packages of {simulator} in one version into {}", prefix.path));
        }
    }
}

pub(super) fn rtc(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for prefix in &facts.machine.prefixes {
        let of = |kind: ComponentKind| {
            prefix.packages.iter().map(|package| &package.manifest).filter(move |it| it.component == kind)
        };
        for core in of(ComponentKind::Core) {
            for rtc in of(ComponentKind::Rtc).filter(|rtc| rtc.simulator == core.simulator) {
                if !VersionPolicy::MajorMinor.agree(core.version, rtc.version) {
                    let series = VersionPolicy::MajorMinor.series(core.version).unwrap_or_default();
                    hits.add(
                        &rtc.package,
                        format!("version {} does not go with {} {}", rtc.version, core.package, core.version),
                    )
                    .fix(format!("install {} {series}", rtc.package));
                }
            }
        }
    }
}

pub(super) fn loads(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for (_, package) in packages(facts) {
        for loads in &package.loads {
            let subject = Subject::file(&package.manifest.package, &loads.file);
            // The driver's absence is a finding about the machine.
            let missing: Vec<&String> =
                loads.missing.iter().filter(|name| facts.manifests.vendor.driver(name).is_none()).collect();
            if !missing.is_empty() {
                hits.add(&subject, "it does not start: libraries that it needs are found nowhere")
                    .evidence_lines(missing);
            }
            if !loads.lacks.is_empty() {
                hits.add(&subject, "it does not start: libraries that it gets are too old")
                    .evidence_lines(&loads.lacks);
            }
        }
    }
}

pub(super) fn driver(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(driver) = facts.machine.driver() else { return };
    for (_, package) in packages(facts) {
        let manifest = &package.manifest;
        let Some(cuda) = manifest.cuda.filter(|cuda| cuda.major > driver.cuda.major) else { continue };
        let least = facts.manifests.cuda.major(cuda.major).map(|major| major.min_driver.clone());
        let least = least.map_or("a newer one".to_owned(), |least| format!("driver {least} or newer"));
        let has = driver.version.as_deref().unwrap_or("of unknown version");
        hits.add(&manifest.package, format!("was made with CUDA {cuda}; the driver {has} is of CUDA {}", driver.cuda))
            .fix(format!("install {least}, or packages made with CUDA {}", driver.cuda.major));
    }
}

pub(super) fn unserved(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    // Without a driver that works nothing can run, and that is a finding of its own.
    if facts.machine.usable_driver().is_none() {
        return;
    }
    for found in &facts.fits {
        let (name, version) = (&found.fit.simulator, &found.fit.version);
        let unserved = found.fit.devices.iter().filter(|device| device.runs.is_none());
        for device in unserved.filter(|device| device.capability.is_some()) {
            let why = device.why_cpu.as_deref().unwrap_or("nothing that is installed runs on it");
            hits.add(format!("GPU {}", device.index), format!("{name} {version} leaves it to the CPU: {why}"))
                .evidence(format!("installed in {}", found.prefix))
                .evidence_lines(device.trace.iter().map(|step| format!("{}: {}", step.package, step.reason)))
                .fix(match (&device.better, device.capability) {
                    (Some(better), _) => format!("install {}", better.runs.package),
                    (None, Some(capability)) => format!(
                        "`simpack select CHANNEL --device {capability}` names the packages of {name} to install"
                    ),
                    (None, None) => String::new(),
                });
        }
    }
}

pub(super) fn vendor_twice(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for prefix in &facts.machine.prefixes {
        let mut by_name: BTreeMap<&str, Vec<&VendorFile>> = BTreeMap::new();
        for file in prefix.vendor.iter().filter(|file| facts.manifests.vendor.library(&file.soname).is_some()) {
            by_name.entry(&file.soname).or_default().push(file);
        }
        for (name, files) in by_name.into_iter().filter(|(_, files)| files.len() > 1) {
            let directories: BTreeSet<&str> =
                files.iter().map(|file| file.path.rsplit_once('/').map_or("", |(directory, _)| directory)).collect();
            if directories.len() > 1 {
                hits.add(name, format!("{} copies in {}: a process may get two", files.len(), prefix.path))
                    .evidence_lines(files.iter().map(|file| format!("{} ({} bytes)", file.path, file.size)));
            }
        }
    }
}

/// Libraries of which two in one process hurt, under whatever names; those of the GPU vendor are another lint's.
pub(super) fn runtime_twice(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let manifests = &facts.manifests;
    for prefix in &facts.machine.prefixes {
        let mut families: BTreeMap<(&str, Option<u32>), Vec<&VendorFile>> = BTreeMap::new();
        for file in prefix.vendor.iter().filter(|file| manifests.vendor.library(&file.soname).is_none()) {
            let Some(family) = manifests.foreign.family(library_stem(&file.soname)) else { continue };
            families.entry(family.group(soname_major(&file.soname))).or_default().push(file);
        }
        for ((name, _), files) in families.into_iter().filter(|(_, files)| files.len() > 1) {
            let hurts = manifests.foreign.family_named(name).map(|family| format!("known to hurt: {}", family.hurts));
            hits.add(&prefix.path, format!("holds {} {name}: a process may get two", files.len()))
                .evidence_lines(hurts)
                .evidence_lines(files.iter().map(|file| file.path.clone()));
        }
    }
}

pub(super) fn vendor_shadowed(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for (_, package) in packages(facts) {
        for loads in &package.loads {
            for load in &loads.vendor {
                let Some(other) = &load.instead_of else { continue };
                if facts.manifests.vendor.library(&load.name).is_none() {
                    continue;
                }
                let subject = Subject::file(&package.manifest.package, &loads.file);
                hits.add(subject, format!("gets {} instead of {other}", load.path)).evidence(format!("by {}", load.by));
            }
        }
    }
}

//! Simulators whose core embeds the shaders. No index says so, and no name does: core's own manifest is read.

use std::collections::BTreeMap;
use std::path::Path;

use super::source::{SUBDIRS, Source};
use crate::bundle::BundleManifest;
use crate::error::Result;
use crate::fit::Distribution;
use crate::package::conda::{Record, exactly, version};
use crate::package::manifest;

/// Adds to the sources of a channel what cores in it embed, and the simulators that have no other device code. A core that
/// is in the index alone is passed over.
///
/// # Errors
/// A package is damaged.
pub(super) fn add(channel: &Path, records: &[Record], found: &mut Vec<Source>) -> Result<()> {
    for core in records.iter().filter(|record| is_core(record, records)) {
        let is_its = |source: &Source| source.distribution.core.as_ref().is_some_and(|it| it.package == core.name);
        let known = found.iter().position(is_its);
        if known.is_some_and(|at| !found[at].distribution.shaders.is_empty()) {
            continue;
        }
        let Some(manifest) = opened(channel, core)?.filter(|manifest| !manifest.embedded.is_empty()) else { continue };
        let distribution = Distribution::of([&manifest], false).remove(0);
        match known.map(|at| &mut found[at].distribution) {
            Some(own) if own.version == distribution.version => *own = own.clone().with_embedded(&distribution),
            Some(_) => {}
            None => found.push(Source {
                simulator: exactly(&manifest.simulator, manifest.version),
                channel: Some(channel.to_owned()),
                kernels: BTreeMap::new(),
                builds: BTreeMap::new(),
                wheels: None,
                distribution,
            }),
        }
    }
    Ok(())
}

/// Whether a record is of the newest core of a simulator whose own package, which brings it, is there, too.
fn is_core(record: &Record, all: &[Record]) -> bool {
    let Some(simulator) = record.name.strip_suffix("-core") else { return false };
    let order = |one: &Record| (version(&one.version), one.build_number);
    let brings = |meta: &Record| {
        meta.name == simulator
            && meta.version == record.version
            && meta.wanted().any(|(_, wanted)| wanted.name() == Some(&record.name))
    };
    all.iter().any(brings) && !all.iter().any(|other| other.name == record.name && order(other) > order(record))
}

fn opened(channel: &Path, record: &Record) -> Result<Option<BundleManifest>> {
    let name = format!("{}-{}-{}.conda", record.name, record.version, record.build);
    if name.contains('/') {
        return Ok(None);
    }
    let mut places = SUBDIRS.iter().map(|subdir| channel.join(subdir).join(&name));
    places.find(|place| place.is_file()).map_or(Ok(None), |place| manifest(&place))
}

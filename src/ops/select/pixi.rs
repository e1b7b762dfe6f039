//! What a machine is to conda's clients, and a workspace of pixi for it.

use std::collections::BTreeMap;

use super::answer::{Machine, Selection};
use crate::arch::Capability;
use crate::error::{Error, Result};
use crate::machine::Driver;
use crate::package::conda::PixiManifest;
use crate::printable;

/// What a machine is to conda's clients, as variables that outweigh what they find: for machines without that GPU, such
/// as login nodes. `__cuda_arch` is the lowest capability of the machine's GPUs (CEP 46).
pub(super) fn overrides(machine: &Machine) -> BTreeMap<String, String> {
    let cuda = machine.driver.as_ref().map_or_else(String::new, |driver| driver.cuda.to_string());
    let mut found = BTreeMap::from([("CONDA_OVERRIDE_CUDA".to_owned(), cuda)]);
    if let Some((_, lowest)) = described(machine) {
        found.insert("CONDA_OVERRIDE_CUDA_ARCH".to_owned(), lowest.to_string());
    }
    found
}

/// The driver and the lowest capability; none where one is missing, as conda's clients have it.
fn described(machine: &Machine) -> Option<(&Driver, Capability)> {
    let lowest = machine.devices.iter().filter_map(|device| device.kind.capability()).min()?;
    Some((machine.driver.as_ref()?, lowest))
}

/// The manifest.
///
/// # Errors
/// Something was not selected from a channel.
pub(super) fn manifest(selection: &Selection) -> Result<String> {
    let mut channels: Vec<String> = Vec::new();
    for selected in &selection.simulators {
        let place = selected.channel.as_ref().ok_or_else(|| {
            Error::usage(format!(
                "{} was selected from no channel, and pixi installs from channels",
                selected.fit.simulator
            ))
            .hint("`simpack build` makes one; name the directory that it wrote")
        })?;
        let place = fs_err::canonicalize(place)?;
        let channel = url::Url::from_file_path(&place)
            .map_err(|()| Error::usage(format!("{} cannot be an address", place.display())))?;
        if !channels.contains(&channel.to_string()) {
            channels.push(channel.to_string());
        }
    }
    let names: Vec<&str> = selection.simulators.iter().map(|selected| selected.fit.simulator.as_str()).collect();
    let machine = &selection.machine;
    let driver = machine.driver.as_ref().map(|driver| driver.cuda);
    let lowest = described(machine).map(|(_, lowest)| lowest);
    let mut manifest = PixiManifest::new(names.join("-"), channels, driver, lowest);
    selection.simulators.iter().flat_map(|selected| &selected.conda).try_for_each(|spec| manifest.add(spec))?;
    let variables: Vec<String> =
        overrides(machine).into_iter().map(|(name, value)| format!("{name}={}", printable::word(&value))).collect();
    let head = "# A workspace for this machine. Where pixi runs on another, such as a login node, it wants";
    Ok(format!("{head}\n# {}\n{}", variables.join(" "), manifest.text()?.trim_end()))
}

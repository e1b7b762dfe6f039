//! A manifest of pixi: a workspace whose platform is the machine that was selected for.

use std::collections::BTreeMap;

use super::answer::{Machine, Selection};
use crate::arch::Capability;
use crate::error::{Error, Result};
use crate::machine::Driver;
use crate::package::conda::Wanted;

/// The first pixi that knows platforms with virtual packages, and `__cuda_arch` among them.
const OLDEST: &str = ">=0.71";

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
    let mut dependencies = String::new();
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
        for spec in &selected.conda {
            dependencies.push_str(&dependency(spec)?);
        }
    }
    // What the vendor's libraries come from.
    channels.push("conda-forge".to_owned());
    let names: Vec<&str> = selection.simulators.iter().map(|selected| selected.fit.simulator.as_str()).collect();
    let list = |items: &[String]| items.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let machine = &selection.machine;
    let platform = match (described(machine), &machine.driver) {
        (Some((driver, lowest)), _) => {
            let name = format!("linux-64-cuda-{}", lowest.number());
            let cuda = format!("{{ driver = {}, arch = {} }}", quoted(driver.cuda), quoted(lowest));
            format!("{{ name = {}, platform = \"linux-64\", cuda = {cuda} }}", quoted(name))
        }
        (None, Some(driver)) => {
            format!("{{ name = \"linux-64-cuda\", platform = \"linux-64\", cuda = {} }}", quoted(driver.cuda))
        }
        (None, None) => quoted("linux-64"),
    };
    let variables: Vec<String> =
        overrides(machine).into_iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    Ok(format!(
        "# A workspace for this machine. Where pixi runs on another, such as a login node, it wants\n# {}\n\
         [workspace]\nname = {}\nrequires-pixi = {}\nchannels = [{}]\nplatforms = [{platform}]\n\n\
         [dependencies]\n{}",
        variables.join(" "),
        quoted(names.join("-")),
        quoted(OLDEST),
        list(&channels),
        dependencies.trim_end(),
    ))
}

/// A line of `[dependencies]`.
fn dependency(spec: &str) -> Result<String> {
    let wanted = Wanted::read(spec).map_err(|why| Error::usage(format!("`{spec}` is no match spec: {why}")))?;
    let name = wanted.name().ok_or_else(|| Error::usage(format!("`{spec}` names no package")))?;
    let version = quoted(wanted.version().unwrap_or_else(|| "*".to_owned()));
    Ok(match wanted.build() {
        Some(build) => format!("{name} = {{ version = {version}, build = {} }}\n", quoted(build)),
        None => format!("{name} = {version}\n"),
    })
}

fn quoted(text: impl ToString) -> String {
    toml::Value::from(text.to_string()).to_string()
}

//! The Python module beside core's files: it finds them, starts the programs, and says which extra is missing.
//!
//! Its text is the same for every simulator; what differs is in a file of data beside it. Which device code runs where
//! is decided here, by the conditions of the selector's builds: the module compares numbers.

use serde_json::{Value, json};

use super::super::{Choice, Package, PackageKind};
use super::layout::Member;
use super::names::extra;
use super::python;
use crate::arch::{Capability, CudaVersion, KernelTarget};
use crate::bundle::{Condition, DeviceRange};
use crate::error::{Error, Result};
use crate::recipe::Recipe;

const INIT: &str = include_str!("module/__init__.py");
const MAIN: &str = include_str!("module/__main__.py");

/// The module's name, which is that of the directory of all files: the simulator's as Python can spell it, with an ending
/// where the simulator itself is a module of that name.
pub(super) fn name(simulator: &str, packages: &[Package]) -> String {
    let letters = simulator.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let name: String = letters.collect();
    let name = if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name };
    let is_taken = packages.iter().any(|package| python::has_module(package, &name));
    if is_taken { format!("{name}_prefix") } else { name }
}

/// What the module is made of.
pub(super) struct Module<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// Programs of core, and those that ship cut.
    pub programs: Vec<String>,
    /// Packages of device code, with their names as wheels have them.
    pub kernels: &'a [(&'a Package, String)],
    /// All packages, the selector's builds among them.
    pub all: &'a [Package],
}

impl Module<'_> {
    /// Its files, by their names.
    ///
    /// # Errors
    /// An internal error.
    pub fn members(&self) -> Result<Vec<Member>> {
        let mut data = serde_json::to_vec(&self.data())
            .map_err(|error| Error::bug("the data of a Python module does not print as JSON").because(error))?;
        data.push(b'\n');
        let file = |name: &str, bytes: Vec<u8>| Member::of(name.to_owned(), bytes);
        Ok(vec![
            file("__init__.py", INIT.as_bytes().to_vec()),
            file("__main__.py", MAIN.as_bytes().to_vec()),
            file("_simpack.json", data),
        ])
    }

    fn data(&self) -> Value {
        let name = super::normalized(&self.recipe.name);
        json!({
            "name": name,
            "version": self.recipe.version.to_string(),
            "programs": self.programs,
            "driver": self.recipe.driver.directories,
            // Whether core is not whole without one of them.
            "needed": self.recipe.is_sliced(),
            "kernels": self.rows(),
        })
    }

    /// Device code, the best first.
    fn rows(&self) -> Vec<Value> {
        let mut rows: Vec<(u64, Value)> =
            self.kernels.iter().filter_map(|(package, name)| self.row(package, name)).collect();
        rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn row(&self, package: &Package, name: &str) -> Option<(u64, Value)> {
        let target = package.manifest.target?;
        let is_its = |other: &&Package| {
            other.kind == PackageKind::Selector(Choice::Fitting)
                && other.manifest.target == Some(target)
                && (target == KernelTarget::Cpu || other.manifest.cuda == package.manifest.cuda)
        };
        let selector = self.all.iter().find(is_its)?;
        let mut row = json!({ "extra": extra(target, None), "package": name });
        for condition in &selector.manifest.conditions {
            match condition {
                Condition::Driver { cuda } => row["driver"] = pair(*cuda),
                Condition::Device { ranges, .. } => row["devices"] = ranges.iter().map(range).collect(),
                Condition::Glibc { .. } => {}
            }
        }
        Some((selector.build_number, row))
    }
}

fn range(range: &DeviceRange) -> Value {
    match range {
        DeviceRange::Only(capabilities) => json!({ "only": numbers(capabilities) }),
        DeviceRange::From { from, below, except } => {
            json!({ "from": numbers(&[*from])[0], "below": below, "except": numbers(except) })
        }
    }
}

fn numbers(capabilities: &[Capability]) -> Vec<Value> {
    capabilities.iter().map(|capability| json!([capability.major, capability.minor])).collect()
}

fn pair(cuda: CudaVersion) -> Value {
    json!([cuda.major, cuda.minor])
}

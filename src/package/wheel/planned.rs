//! A wheel that is to be written.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Package;
use super::layout::Member;
use super::names::escaped;
use super::variants::Variant;

/// A wheel that is to be written.
pub(super) struct Planned<'a> {
    /// The package that it is made of; core's for what is made of none.
    pub package: &'a Package,
    /// Name, normalized.
    pub name: String,
    /// Version.
    pub version: String,
    /// Build tag: of wheels with one version the highest is taken.
    pub build: Option<u64>,
    /// Versions of Python that it can be installed for; none where that is not known.
    pub requires_python: Option<String>,
    /// The first two parts of its tag, where its modules are for one version of Python.
    pub python: Option<String>,
    /// Platform tag; none for what runs anywhere.
    pub platform: Option<String>,
    /// One line.
    pub summary: String,
    /// What it needs, sorted.
    pub requires: BTreeSet<String>,
    /// What its extras need.
    pub extras: BTreeMap<String, BTreeSet<String>>,
    /// Programs for PATH, with the Python function that starts each.
    pub scripts: BTreeMap<String, String>,
    /// What makes it one of several of its version, and what it says of that.
    pub variant: Option<Variant>,
    /// Its `variant.json`.
    pub variant_json: Option<Vec<u8>>,
    /// Its bill of materials; none of what holds nothing.
    pub sbom: Option<Vec<u8>>,
    /// Files, sorted by path.
    pub members: Vec<Member>,
}

impl Planned<'_> {
    /// Its tags: `py3-none-any`.
    pub fn tag(&self) -> String {
        let python = self.python.as_deref().unwrap_or("py3-none");
        format!("{python}-{}", self.platform.as_deref().unwrap_or("any"))
    }

    /// `volley-1.0.0`: the beginning of its file name, and of the directory that describes it.
    pub fn stem(&self) -> String {
        format!("{}-{}", escaped(&self.name), self.version)
    }

    /// Its file name (binary distribution format).
    pub fn file_name(&self) -> String {
        let build = self.build.map(|number| format!("-{number}")).unwrap_or_default();
        let label = self.variant.as_ref().map(|variant| format!("-{}", variant.label)).unwrap_or_default();
        format!("{}{build}-{}{label}.whl", self.stem(), self.tag())
    }
}

impl<'a> Planned<'a> {
    /// A wheel without files.
    pub fn empty(package: &'a Package) -> Self {
        Self {
            package,
            name: String::new(),
            version: String::new(),
            build: None,
            requires_python: None,
            python: None,
            platform: None,
            summary: String::new(),
            requires: BTreeSet::new(),
            extras: BTreeMap::new(),
            scripts: BTreeMap::new(),
            variant: None,
            variant_json: None,
            sbom: None,
            members: Vec::new(),
        }
    }

    /// Its version is all that it is for.
    pub fn is_tie(&mut self, name: String, version: String) {
        (self.name, self.version, self.build) = (name, version, None);
    }
}

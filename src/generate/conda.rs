//! A recipe of rattler-build (schema version 1), its variants, and what conda-forge wants beside it.
//!
//! Two staging outputs build: the host part once, and the device code once a CUDA release. Packages are slices of them
//! by glob, so one more capability changes no other package.

use serde::Serialize;

use super::{FileSet, Model, Package, Templates};
use crate::error::Result;
use crate::manifest::CondaForge;
use crate::recipe::{BuildDriver, ComponentKind};

/// Values of the templates.
#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    /// Packages with what follows from their kind.
    outputs: Vec<Output<'a>>,
    /// Tools of the host part's builds.
    tools: Vec<&'static str>,
    /// Packages with headers of what components use.
    headers: Vec<String>,
    /// Address and digest of the source, where it is an archive.
    archive: Option<(&'a str, &'a str)>,
    /// What other packages export that the recipe's own ranges outweigh.
    ignored: Vec<String>,
    /// There are several CUDA releases.
    several: bool,
    forge: &'a CondaForge,
}

#[derive(Serialize)]
struct Output<'a> {
    package: &'a Package,
    /// Staging output that its files come from.
    from: Option<&'static str>,
    /// It holds host code, which depends on the compiler's libraries.
    code: bool,
}

/// All files.
pub(super) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let mut headers: Vec<String> = model.uses.iter().filter_map(|used| used.conda_dev.clone()).collect();
    let mut ignored: Vec<String> = model.uses.iter().map(|used| used.conda.clone()).collect();
    for list in [&mut headers, &mut ignored] {
        list.sort();
        list.dedup();
    }
    let mut tools = Vec::new();
    if model.builds.iter().any(|build| build.driver == BuildDriver::Cmake) {
        tools.extend(["cmake", "ninja"]);
    }
    if model.builds.iter().any(|build| build.driver == BuildDriver::Make) {
        tools.push("make");
    }
    if !model.builds.is_empty() {
        tools.push("patchelf");
    }
    let values = Values {
        model,
        outputs: model.packages.iter().map(output).collect(),
        tools,
        headers,
        archive: model.archive(),
        ignored,
        several: model.releases.len() > 1,
        forge: &model.forge,
    };
    let mut files = FileSet::default();
    files.add("recipe.yaml", templates.fill("conda/recipe.yaml", &values)?);
    files.add("variants.yaml", templates.fill("conda/variants.yaml", &values)?);
    files.add("conda-forge.yml", templates.fill("conda/conda-forge.yml", &values)?);
    files.add("host.sh", templates.fill("host.sh", &values)?);
    if !model.groups.is_empty() {
        files.add("kernels.sh", templates.fill("kernels.sh", &values)?);
    }
    Ok(files)
}

fn output(package: &Package) -> Output<'_> {
    let from = match package.component {
        _ if package.files.is_empty() => None,
        ComponentKind::Kernels => Some("device"),
        _ => Some("host"),
    };
    let code = matches!(package.component, ComponentKind::Core | ComponentKind::Rtc);
    Output { package, from, code }
}

//! A recipe of rattler-build (schema version 1), its variants, and what conda-forge wants beside it.
//!
//! Two staging outputs build: the host part once, and the device code once a CUDA release. Packages are slices of them
//! by glob, so one more capability changes no other package.

use serde::Serialize;

use super::{FileSet, Model, Output, Templates};
use crate::arch::CudaVersion;
use crate::build_system::BuildDriver;
use crate::bundle::Dependency;
use crate::error::Result;
use crate::manifest::{CondaForge, Vendor};
use crate::package::conda::{self, BuildText, Specs};
use crate::recipe::ComponentKind;

/// Values of the templates.
#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    /// The simulator's version in conda's spelling.
    version: String,
    /// Packages with what follows from their kind.
    outputs: Vec<OutputText<'a>>,
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
struct OutputText<'a> {
    package: PackageText<'a>,
    /// Staging output that its files come from.
    from: Option<&'static str>,
    /// It holds host code, which depends on the compiler's libraries.
    code: bool,
}

/// A package in conda's words.
#[derive(Serialize)]
struct PackageText<'a> {
    name: &'a str,
    version: String,
    noarch: bool,
    release: Option<CudaVersion>,
    build: Text,
    number: u64,
    depends: Vec<Text>,
    constrains: Vec<String>,
    run_exports: Vec<String>,
    files: &'a [String],
    tests: &'a [String],
    summary: &'a str,
}

/// A text with what it is: `hashed`, `named` or `fixed` for build strings, `spec` or `exactly` (the very build of
/// another package of the recipe) for dependencies.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Text {
    text: String,
    kind: &'static str,
}

/// All files.
pub(super) fn files(model: &Model, vendor: &Vendor, templates: &Templates) -> Result<FileSet> {
    let mut headers: Vec<String> = model.uses.iter().filter_map(|used| used.conda_dev.clone()).collect();
    let mut ignored: Vec<String> = model.uses.iter().map(|used| used.conda.clone()).collect();
    for list in [&mut headers, &mut ignored] {
        list.sort();
        list.dedup();
    }
    let built_by = |driver| model.builds.iter().any(|build| build.driver == driver);
    let drivers = BuildDriver::NAMES.into_iter().map(|(_, driver)| driver).filter(|driver| built_by(*driver));
    // The compiler is asked for apart, by conda's own words.
    let tools = drivers.flat_map(|driver| driver.system().tools()).filter(|tool| **tool != "c++");
    let mut tools: Vec<&str> = tools.copied().collect();
    if !model.builds.is_empty() {
        tools.push("patchelf");
    }
    let values = Values {
        model,
        version: conda::spelled(model.version),
        outputs: model.packages.iter().map(|output| output_text(output, &Specs::new(&model.name, vendor))).collect(),
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

fn output_text<'a>(output: &'a Output, specs: &Specs<'_>) -> OutputText<'a> {
    let Output { package, release, files } = output;
    let component = package.manifest.component;
    let from = match component {
        _ if files.is_empty() => None,
        ComponentKind::Kernels => Some("device"),
        _ => Some("host"),
    };
    let (kind, text) = match conda::build_text(package) {
        BuildText::Hashed => ("hashed", String::new()),
        BuildText::Named(words) => ("named", words),
        BuildText::Fixed(text) => ("fixed", text),
    };
    let conda::Selection { depends, constrains } = conda::selection(&package.manifest.conditions);
    // In the order of the packages that simpack makes, which is that of the specs.
    let mut sorted: Vec<(String, Text)> =
        depends.into_iter().map(|text| (text.clone(), Text { kind: "spec", text })).collect();
    sorted.extend(package.manifest.dependencies.iter().map(|dependency| {
        let spec = specs.spec(dependency);
        let text = match dependency {
            Dependency::Build { package, .. } => Text { kind: "exactly", text: package.clone() },
            _ => Text { kind: "spec", text: spec.clone() },
        };
        (spec, text)
    }));
    sorted.sort();
    sorted.dedup();
    let package = PackageText {
        name: package.name(),
        version: conda::spelled(package.version),
        noarch: package.manifest.platform.is_none(),
        release: *release,
        build: Text { kind, text },
        number: package.build_number,
        depends: sorted.into_iter().map(|(_, text)| text).collect(),
        constrains,
        run_exports: specs.run_exports(package),
        files,
        tests: &package.tests,
        summary: &package.summary,
    };
    OutputText { package, from, code: matches!(component, ComponentKind::Core | ComponentKind::Rtc) }
}

//! A recipe of rattler-build (schema version 1), its variants, and what conda-forge wants beside it.
//!
//! Two staging outputs build: the host part once, and the device code once a CUDA release. Packages are slices of them
//! by glob, so one more capability changes no other package. Builders that run a job for each release build every package
//! in one of them.
//!
//! Bots raise `build_number` in `context` and nothing else where it stands there; numbers that order the builds of one
//! package are written as sums over it, so that the order outlives them.

use serde::Serialize;

use super::crossing;
use super::{Axis, FileSet, Model, Needed, Output, Templates, Use};
use crate::arch::{CudaVersion, KernelTarget};
use crate::build_system::BuildDriver;
use crate::bundle::Dependency;
use crate::error::{Error, Result};
use crate::manifest::{CondaForge, Vendor};
use crate::package::PREFERRED;
use crate::package::conda::{self, BuildText, Specs};
use crate::recipe::{ComponentKind, SITE_PACKAGES};

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
    /// Staging outputs of the host part.
    stagings: Vec<Staging<'a>>,
    /// Axes of host variants, each once.
    axes: Vec<&'a Axis>,
    /// Something of the vendor's is among it, whose release goes with the compiler's.
    host_uses_cuda: bool,
    /// Address and digest of the source, where it is an archive.
    archive: Option<(&'a str, &'a str)>,
    /// What other packages export that the recipe's own ranges outweigh.
    ignored: Vec<String>,
    /// A package says which CUDA release it is built with, because builders know others, too.
    chosen: bool,
    /// Compilers of conda-forge are pinned here: nobody else does, or its own pins name no such release.
    pinned: bool,
    forge: &'a CondaForge,
}

/// A staging output that builds components of the host part.
#[derive(Serialize)]
struct Staging<'a> {
    /// The end of its name.
    name: String,
    /// What it builds, where there are several.
    components: Vec<String>,
    /// What device code it is built for, where that is in its libraries and programs.
    target: Option<String>,
    /// What components use and builds need, with the ranges that packages ask for: libraries by the packages with their
    /// headers.
    host: Vec<String>,
    /// Packages of this recipe that it is built against.
    against: &'a [String],
    /// Host variants, Python last.
    axes: &'a [Axis],
}

#[derive(Serialize)]
struct OutputText<'a> {
    package: PackageText<'a>,
    /// Staging output that its files come from.
    from: Option<String>,
    /// Its own build, where it is built against other packages of the recipe: staging outputs are made before these.
    own: Option<Staging<'a>>,
    /// It holds host code, which depends on the compiler's libraries.
    code: bool,
}

/// A package in conda's words.
#[derive(Serialize)]
struct PackageText<'a> {
    name: &'a str,
    version: String,
    /// `generic`, or `python` of modules for every Python; none for what is for one platform.
    noarch: Option<&'static str>,
    /// CUDA release that it is built with.
    release: CudaVersion,
    build: Text,
    number: Number,
    depends: Vec<Text>,
    constrains: Vec<String>,
    run_exports: Vec<String>,
    /// Host variants that it is there in, Python last.
    axes: &'a [Axis],
    /// Some of them go before others.
    preferred: bool,
    files: &'a [String],
    /// Files of other packages that rattler-build's globs, whose `*` crosses directories, would take along.
    excluded: Vec<&'a str>,
    tests: &'a [String],
    summary: &'a str,
}

/// A build number: the recipe's own, `scale` times, and `rest`.
#[derive(Serialize)]
struct Number {
    scale: u64,
    rest: u64,
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
    if model.conda_forge {
        asks_conda_forge(model)?;
    }
    let mut ignored: Vec<String> = model.uses.iter().map(|used| used.conda.clone()).collect();
    ignored.sort();
    ignored.dedup();
    let built_by = |driver| model.builds.iter().any(|build| build.driver == driver);
    let drivers = BuildDriver::NAMES.into_iter().map(|(_, driver)| driver).filter(|driver| built_by(*driver));
    // The compiler is asked for apart, by conda's own words.
    let tools = drivers.flat_map(|driver| driver.system().tools()).filter(|tool| **tool != "c++");
    let mut tools: Vec<&str> = tools.copied().collect();
    if !(model.builds.is_empty() || model.conda_forge && model.sonames.is_empty()) {
        tools.push("patchelf");
    }
    if model.unpacks {
        tools.push("unzip");
    }
    if model.patches_wheels {
        tools.push("patch");
    }
    let own = model.releases.first().map_or_else(|| CudaVersion::new(0, 0), |release| release.cuda);
    let pinned = !model.conda_forge || model.releases.iter().any(|release| !release.pinned);
    let values = Values {
        model,
        version: conda::spelled(model.version),
        outputs: model.packages.iter().map(|output| output_text(output, own, model, vendor)).collect::<Result<_>>()?,
        tools,
        stagings: stagings(model),
        axes: axes(model),
        host_uses_cuda: !model.cut.is_empty()
            || !model.groups.is_empty() && model.uses.iter().any(|used| used.conda_dev.is_some()),
        archive: model.archive(),
        ignored,
        chosen: !(model.groups.is_empty() && model.cut.is_empty()) && (model.releases.len() > 1 || model.conda_forge),
        pinned,
        forge: &model.forge,
    };
    let mut files = FileSet::default();
    files.add("recipe.yaml", templates.fill("conda/recipe.yaml", &values)?);
    if pinned || axes(model).iter().any(|axis| !axis.python) {
        files.add("variants.yaml", templates.fill("conda/variants.yaml", &values)?);
    }
    if model.conda_forge {
        files.add("conda-forge.yml", templates.fill("conda/conda-forge.yml", &values)?);
    }
    files.add("host.sh", templates.fill("host.sh", &values)?);
    if !model.groups.is_empty() {
        files.add("kernels.sh", templates.fill("kernels.sh", &values)?);
    }
    if model.has_shaders() {
        files.add("shaders.sh", templates.fill("shaders.sh", &values)?);
    }
    Ok(files)
}

/// The staging outputs of the host part: a module for Python with a build of its own has one of its own, so that its
/// versions build nothing else again.
fn stagings(model: &Model) -> Vec<Staging<'_>> {
    let built = model.builds.iter().map(|build| build.component);
    let all = built.chain(model.copies.iter().map(|copy| copy.component));
    let others = all.filter(|kind| *kind != ComponentKind::Python && model.python_needs.is_some());
    let others: Vec<String> = others.map(|kind| kind.to_string()).collect();
    let is_taken = |used: &&Use| model.python_needs.is_none() || used.component != ComponentKind::Python;
    let host = |name: String| staging(name, &model.needs, others.clone(), model.uses.iter().filter(is_taken));
    let mut found: Vec<Staging<'_>> = match model.cut.is_empty() {
        true => vec![host("host".to_owned())],
        false => {
            let target = |it: &KernelTarget| Staging { target: Some(it.to_string()), ..host(it.to_string()) };
            model.cut.iter().map(target).collect()
        }
    };
    found.extend(module(model).filter(|module| module.against.is_empty()));
    found
}

/// The build of the module for Python, where it has one.
fn module(model: &Model) -> Option<Staging<'_>> {
    let against = model.python_against.as_slice();
    // Without, it may install all that the others do.
    let is_used = |used: &&Use| against.is_empty() || used.component == ComponentKind::Python;
    let uses = model.uses.iter().filter(is_used);
    let needed = model.python_needs.as_ref()?;
    let own = staging("module".to_owned(), needed, vec![ComponentKind::Python.to_string()], uses);
    Some(Staging { against, ..own })
}

fn staging<'a>(
    name: String,
    needed: &'a Needed,
    components: Vec<String>,
    uses: impl Iterator<Item = &'a Use>,
) -> Staging<'a> {
    let python = needed.axes.iter().any(|axis| axis.python).then(|| "python".to_owned());
    let mut host: Vec<String> = uses.map(host_requirement).chain(needed.specs.clone()).chain(python).collect();
    host.sort();
    host.dedup();
    Staging { name, components, target: None, host, against: &[], axes: &needed.axes }
}

/// The axes of all stagings, each once: what several components have in common is one choice of builders.
fn axes(model: &Model) -> Vec<&Axis> {
    let mut found: Vec<&Axis> = Vec::new();
    for axis in model.needs.axes.iter().chain(model.python_needs.iter().flat_map(|needed| &needed.axes)) {
        if !found.iter().any(|other| other.name == axis.name) {
            found.push(axis);
        }
    }
    found
}

/// What conda-forge's linter asks of every recipe, and only the simulator's own can say.
fn asks_conda_forge(model: &Model) -> Result<()> {
    let (what, key) = match (&model.homepage, model.maintainers.as_slice(), model.licences.as_slice()) {
        (None, ..) => ("a home page", "`homepage` in [simulator]"),
        (_, [], _) => ("somebody who looks after it", "`maintainers` in [package.conda]"),
        (_, _, []) => ("the text of its licence", "a file LICENSE at the top of the source"),
        _ => return Ok(()),
    };
    Err(Error::recipe(format!("conda-forge asks of every recipe for {what}, and this one names none"))
        .hint(format!("add {key}, or set `profile = \"channel\"` in [package.conda]")))
}

/// What is asked for where the host part is built: a library's headers come with its packages for builders, in the range
/// that its users are given.
fn host_requirement(used: &Use) -> String {
    match &used.conda_dev {
        Some(headers) => format!("{headers} {}", used.versions).trim_end().to_owned(),
        None => used.spec.clone(),
    }
}

fn output_text<'a>(output: &'a Output, own: CudaVersion, model: &'a Model, vendor: &Vendor) -> Result<OutputText<'a>> {
    let Output { package, release, files, axes } = output;
    let specs = Specs::new(&model.name, vendor);
    let of_recipe = package.scale.saturating_mul(model.build_number);
    let preferred = axes.iter().any(|axis| !axis.python);
    let rest = package.build_number.saturating_sub(of_recipe).saturating_sub(if preferred { PREFERRED } else { 0 });
    let number = Number { scale: package.scale, rest };
    let component = package.manifest.component;
    let from = match component {
        _ if files.is_empty() => None,
        ComponentKind::Kernels if package.manifest.target.is_some_and(KernelTarget::is_shader) => Some("shaders"),
        ComponentKind::Kernels if !package.manifest.is_slice() => Some("device"),
        ComponentKind::Python if model.python_needs.is_some() => Some("module"),
        _ => Some("host"),
    };
    let built = module(model).filter(|module| from == Some("module") && !module.against.is_empty());
    let from = from.filter(|_| built.is_none());
    // Of what is built once for each target, the first build gives whatever is the same in all.
    let cut = package.manifest.target.filter(|target| package.manifest.is_slice() && *target != KernelTarget::Cpu);
    let from = from.map(|from| match cut.or(model.cut.first().copied()) {
        Some(target) if from != "module" => target.to_string(),
        _ => from.to_owned(),
    });
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
            Dependency::Package { name, .. } if !axes.is_empty() && name == "python" => {
                Text { kind: "python", text: name.clone() }
            }
            Dependency::Package { name, .. } if !axes.is_empty() && name == "python_abi" => {
                Text { kind: "python_abi", text: name.clone() }
            }
            _ => Text { kind: "spec", text: spec.clone() },
        };
        (spec, text)
    }));
    sorted.sort();
    sorted.dedup();
    let has_code = (matches!(component, ComponentKind::Core | ComponentKind::Rtc | ComponentKind::Python)
        || package.manifest.is_slice())
        && package.manifest.platform.is_some();
    let package = PackageText {
        name: package.name(),
        version: conda::spelled(package.version),
        noarch: package.manifest.platform.is_none().then(|| {
            let is_modules = files.iter().any(|glob| glob.starts_with(SITE_PACKAGES));
            if is_modules { "python" } else { "generic" }
        }),
        release: release.unwrap_or(own),
        build: Text { kind, text },
        number,
        depends: sorted.into_iter().map(|(_, text)| text).collect(),
        constrains,
        run_exports: specs.run_exports(package),
        axes,
        preferred,
        files,
        excluded: crossing::excluded(output, &model.packages)?,
        tests: &package.tests,
        summary: &package.summary,
    };
    Ok(OutputText { package, from, own: built, code: has_code })
}

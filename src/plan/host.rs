//! Host steps: one per component that has a build of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::kernels::{data_part, tool_part};
use super::{Action, KeyPart, PlanInputs, Step, key_of};
use crate::arch::{KernelAbiTag, KernelTarget};
use crate::build_system::OF_CUDA;
use crate::error::{Error, Result};
use crate::recipe::{
    BuildSpec, Component, ComponentKind, HostVariant, Install, Need, Recipe, RecipeMatrix, Soname, VariantBuild,
};

/// Steps of all components with a build: one each, and of plug-in libraries one for each target and CUDA release. Other
/// releases build again what their packages hold of it: libraries that ship cut, and an rtc of their own.
pub(super) fn steps(recipes: &RecipeMatrix, inputs: &PlanInputs, tag: Option<&KernelAbiTag>) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let rtc = releases_of_rtc(recipes, &inputs.cuda_builds);
    for recipe in recipes.iter() {
        for component in &recipe.components {
            let builds = component.builds();
            let Some(VariantBuild { spec, .. }) = builds.first() else { continue };
            let build = Build { recipe, tag, component, spec, host: None, target: None, variant: None };
            if component.kind == ComponentKind::Kernels {
                for &target in recipe.targets.iter().filter(|target| !target.is_shader()) {
                    steps.push(step(&Build { target: Some(target), ..build }, inputs)?);
                }
                continue;
            }
            let is_own = recipe.cuda == recipes.own().cuda;
            let is_rtc = component.kind == ComponentKind::Rtc && rtc.iter().any(|other| other.cuda == recipe.cuda);
            // Nothing of a module for Python ships cut.
            let is_cut = recipe.is_sliced() && component.kind != ComponentKind::Python;
            if !(is_own || is_rtc || is_cut) {
                continue;
            }
            for VariantBuild { host, spec } in builds.iter().filter(|build| build.host.is_some()) {
                steps.push(step(&Build { host: host.as_ref(), spec, ..build }, inputs)?);
            }
            if !component.variants.is_empty() {
                continue;
            }
            let differs = spec.options.values().any(|value| value.contains(VARIANT));
            for variant in recipe.cut_variants() {
                let step = step(&Build { variant: differs.then_some(variant), ..build }, inputs)?;
                let is_same = |other: &Step| other.component == step.component && other.key == step.key;
                if !steps.iter().any(is_same) {
                    let cuda = step.cuda.or((!is_own).then_some(recipe.cuda));
                    steps.push(Step { cuda, ..step });
                }
            }
        }
    }
    Ok(steps)
}

/// The releases that have an rtc of their own: its build is called otherwise, or it uses other packages, than that of
/// every release before.
pub(super) fn releases_of_rtc<'a>(recipes: &'a RecipeMatrix, cuda_builds: &BTreeSet<ComponentKind>) -> Vec<&'a Recipe> {
    let filled = |recipe: &Recipe| {
        let rtc = recipe.component(ComponentKind::Rtc)?;
        let options = rtc.build.iter().flat_map(|spec| &spec.options);
        let options: Vec<String> = options.map(|(_, value)| fill(value, recipe)).collect();
        let compiler = cuda_builds.contains(&ComponentKind::Rtc).then_some(recipe.cuda);
        Some((options, compiler, rtc.uses.clone(), rtc.opens.clone()))
    };
    let mut found: Vec<&Recipe> = Vec::new();
    for recipe in recipes.iter() {
        if !found.iter().any(|other| filled(other) == filled(recipe)) {
            found.push(recipe);
        }
    }
    found
}

/// What one step builds.
#[derive(Clone, Copy)]
struct Build<'a> {
    recipe: &'a Recipe,
    tag: Option<&'a KernelAbiTag>,
    component: &'a Component,
    spec: &'a BuildSpec,
    /// The host variant.
    host: Option<&'a HostVariant>,
    /// The only target that it compiles device code for.
    target: Option<KernelTarget>,
    /// The variant of libraries that ship cut.
    variant: Option<&'a str>,
}

/// Stands for the variant in options.
const VARIANT: &str = "{variant}";

fn step(build: &Build<'_>, inputs: &PlanInputs) -> Result<Step> {
    let Build { recipe, tag, component, spec, host, target, variant } = *build;
    let targets = target.as_ref().map_or(recipe.targets.as_slice(), std::slice::from_ref);
    let fill = |value: &String| {
        let value = filled(value, recipe, targets, tag).replace(VARIANT, variant.unwrap_or_default());
        target.map_or_else(|| value.clone(), |target| value.replace("{target}", &target.to_string()))
    };
    let mut options: BTreeMap<String, String> =
        spec.options.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
    let has = |tool: &str| inputs.tools.get(&recipe.cuda).is_some_and(|tools| tools.contains_key(tool));
    let compiles_cuda = inputs.cuda_builds.contains(&component.kind) && has("nvcc");
    if compiles_cuda {
        options.entry(ARCHITECTURES.to_owned()).or_insert_with(|| architectures_of(targets));
    }
    if let Some((name, word)) = of_cuda_in(&options).filter(|_| !compiles_cuda) {
        return Err(Error::recipe(format!(
            "option `{name}` of component `{}` says `{{{word}}}`, and its build compiles no device code",
            component.kind
        ))
        .hint("a build compiles device code where a kernel group has form = \"slice\" or \"library\" and, of CMake, a file of the project enables CUDA"));
    }
    let mut parts = vec![
        KeyPart::new("simpack", env!("CARGO_PKG_VERSION")),
        KeyPart::new("action", "host 5"),
        KeyPart::new("driver", spec.driver.name()),
        KeyPart::new("platform", recipe.platform),
        KeyPart::new("source-date-epoch", inputs.source_date_epoch),
    ];
    parts.extend(data_part(inputs, recipe.cuda));
    let tools = spec.driver.system().tools();
    let of_cuda: &[&str] = if compiles_cuda { &["nvcc", "c++ of nvcc"] } else { &[] };
    // The archiver and the linker are asked with the machine's own compiler only.
    let binutils: &[&str] = if has("binutils") && !tools.is_empty() { &["binutils"] } else { &[] };
    for name in tools.iter().chain(of_cuda).chain(binutils) {
        parts.push(tool_part(inputs, recipe.cuda, name)?);
    }
    parts.extend(options.iter().map(|(name, value)| KeyPart::new(format!("option {name}"), value)));
    parts.extend(spec.targets.iter().map(|target| KeyPart::new("target", target)));
    parts.extend(spec.install.iter().map(|Install { from, to }| KeyPart::new(format!("install {from}"), to)));
    let sonames: Vec<Soname> = recipe.components.iter().flat_map(|component| component.sonames.clone()).collect();
    parts.extend(sonames.iter().map(|soname| KeyPart::new("soname", soname)));
    parts.extend(host.into_iter().flat_map(HostVariant::choices).map(|(axis, value)| {
        // Two variants that are called in the same way may still differ in what their build finds.
        KeyPart::new(format!("variant {axis}"), value)
    }));
    parts.extend(dependencies(spec, host, inputs));
    let read = read_by(spec, inputs)?;
    if read.is_empty() {
        return Err(Error::recipe(format!("the build of component `{}` reads no file of the source", component.kind))
            .hint("check `source` and `inputs` of its build"));
    }
    parts.extend(read);
    let id = match (target, host.map(ToString::to_string).as_deref().or(variant)) {
        (Some(target), _) => format!("host {} {target}", component.kind),
        (None, Some(variant)) => format!("host {} ({variant})", component.kind),
        (None, None) => format!("host {}", component.kind),
    };
    Ok(Step {
        id,
        component: component.kind,
        cuda: (compiles_cuda || target.is_some()).then_some(recipe.cuda),
        host: host.cloned(),
        key: key_of(&parts),
        parts,
        direct: None,
        action: Action::Host {
            driver: spec.driver,
            source: spec.directory().to_owned(),
            options,
            targets: spec.targets.clone(),
            install: spec.install.clone(),
            sonames,
            target,
            dependencies: spec.needs.iter().any(Need::is_of_channel),
            variant: variant.map(str::to_owned),
            shaders: Vec::new(),
            against: Vec::new(),
        },
    })
}

/// An option with a placeholder that stands for the CUDA compiler, and that placeholder.
fn of_cuda_in(options: &BTreeMap<String, String>) -> Option<(&String, &'static str)> {
    let named = |value: &String| OF_CUDA.into_iter().find(|word| value.contains(&format!("{{{word}}}")));
    options.iter().find_map(|(name, value)| Some((name, named(value)?)))
}

/// CMake's name for the list of capabilities.
const ARCHITECTURES: &str = "CMAKE_CUDA_ARCHITECTURES";

/// The recipe's targets in CMake's words: `90a-real` for SASS, `75-virtual` for PTX.
pub fn architectures(recipe: &Recipe) -> String {
    architectures_of(&recipe.targets)
}

fn architectures_of(targets: &[KernelTarget]) -> String {
    let words = targets.iter().filter_map(|target| {
        let number = target.capability()?.sm().trim_start_matches("sm_").to_owned();
        let kind = if matches!(target, KernelTarget::Ptx(_)) { "virtual" } else { "real" };
        Some(format!("{number}-{kind}"))
    });
    words.collect::<Vec<_>>().join(";")
}

/// Targets in nvcc's words: `-gencode=arch=compute_90,code=sm_90`, `-gencode=arch=compute_75,code=compute_75`.
fn gencode(targets: &[KernelTarget]) -> String {
    let words = targets.iter().filter_map(|target| {
        let capability = target.capability()?;
        let code = if matches!(target, KernelTarget::Ptx(_)) { capability.compute() } else { capability.sm() };
        Some(format!("-gencode=arch={},code={code}", capability.compute()))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The same where the build is called once for each target: `{cuda-architectures}` and `{cuda-gencode}` are still to be replaced.
pub fn fill_but_targets(value: &str, recipe: &Recipe) -> String {
    words(value, recipe, recipe.kernel_abi_tag().as_ref())
}

/// Replaces what is known when the job is planned; `{prefix}`, `{dependencies}`, `{jobs}` and places of the step are known only later.
pub fn fill(value: &str, recipe: &Recipe) -> String {
    filled(value, recipe, &recipe.targets, recipe.kernel_abi_tag().as_ref())
}

fn filled(value: &str, recipe: &Recipe, targets: &[KernelTarget], tag: Option<&KernelAbiTag>) -> String {
    words(value, recipe, tag)
        .replace("{cuda-architectures}", &architectures_of(targets))
        .replace("{cuda-gencode}", &gencode(targets))
}

fn words(value: &str, recipe: &Recipe, tag: Option<&KernelAbiTag>) -> String {
    let tag = tag.map(|tag| tag.to_string()).unwrap_or_default();
    value
        .replace("{kernel-abi}", &tag)
        .replace("{version}", &recipe.version.to_string())
        .replace("{name}", &recipe.name)
        .replace("{cuda}", &recipe.cuda.to_string())
}

/// What a build is given of others. All packages that the lock has for a host variant lie in one prefix, so all of them
/// count.
fn dependencies(spec: &BuildSpec, host: Option<&HostVariant>, inputs: &PlanInputs) -> Vec<KeyPart> {
    let of_channel = spec.needs.iter().any(Need::is_of_channel);
    let given = inputs.dependencies.get(&host.cloned()).filter(|_| of_channel);
    let mut parts: Vec<KeyPart> = given.into_iter().flatten().cloned().collect();
    parts.extend(spec.needs.iter().filter_map(|need| match need {
        Need::System { module, .. } => {
            let version = inputs.system.get(module).map_or("unknown", String::as_str);
            Some(KeyPart::new(format!("system {module}"), version))
        }
        Need::Channel { .. } => None,
    }));
    parts
}

fn read_by(spec: &BuildSpec, inputs: &PlanInputs) -> Result<Vec<KeyPart>> {
    let reads = spec.reads()?;
    let read = inputs.sources.iter().filter(|(path, _)| reads.contain(path, inputs.left_out.contains(*path)));
    let files = read.map(|(path, digest)| KeyPart::new(format!("file {path}"), digest));
    let empty = inputs.empty_directories.iter().filter(|path| reads.contain(path, false));
    Ok(files.chain(empty.map(KeyPart::empty_directory)).collect())
}

//! From resolved recipes to the model of generated texts. Packages are derived by the very code that packs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::built::Built;
use super::modules::modules;
use super::place::{Place, WITHOUT_RECIPE};
use super::sources;
use crate::arch::{KernelTarget, VersionPolicy};
use crate::build_system::{BuildDriver, OF_STEP};
use crate::bundle::{Artifact, ArtifactKind, Bundle, BundleManifest};
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::generate::{
    Axis, AxisValue, Build, BuildVariant, CopyBuild, Group, Host, KernelTable, Library, Model, Needed, Output, Release,
    Target, Use, expression, extended, library_base, licence_ids,
};
use crate::manifest::{CondaForge, EasyBuild, Manifests};
use crate::pack::{self, PackContext};
use crate::package::{Package, PackageKind};
use crate::plan::{self, PlannedBundle, kernel_dir};
use crate::recipe::{
    Component, ComponentKind, CondaProfile, DeviceCompiler, HostVariant, Install, KernelGroup, NONE, Need, PYTHON,
    Recipe, RecipeMatrix, VariantAxis, VariantBuild, VariantValue, choice_word, needs_dxc,
};

/// The model of a recipe that was resolved once a CUDA release, for a target's texts. With `built`, what is known of
/// the host part comes from its packages instead of globs.
pub(super) fn model(
    target: Target,
    recipes: &RecipeMatrix,
    built: Option<&Built>,
    manifests: &Manifests,
    forge: &CondaForge,
    easybuild: &EasyBuild,
    place: &Place,
) -> Result<Model> {
    let recipe = recipes.own();
    for group in &recipe.groups {
        generated_form(recipes, group, target)?;
        generated_shaders(recipe, group, target)?;
    }
    sources::generated(recipe, target)?;
    let releases: Vec<Release> = recipes.iter().map(|recipe| release(recipe, manifests, forge)).collect();
    // One core serves all releases, so the newest glibc that one of them asks for is that of all.
    let stdlib = recipes.iter().map(|recipe| forge.host(recipe.cuda).0.stdlib).max();
    let glibc = recipe.host.glibc_ceiling().max(stdlib);
    let program = format!("bin/{}", recipe.name);
    let program = match built.and_then(|built| built.manifest(ComponentKind::Core)) {
        Some(core) => core.artifacts.iter().any(|artifact| artifact.path == program),
        None => claims(recipe.component(ComponentKind::Core), &program)?,
    };
    let builds = recipe.components.iter().map(|one| build(recipe, one)).collect::<Result<Vec<_>>>()?;
    let mut builds: Vec<Build> = builds.into_iter().flatten().collect();
    // Only conda's builders are told of a version of Python.
    builds.retain(|build| target == Target::Conda || build.component != ComponentKind::Python);
    builds.sort_by_key(|build| (depth(recipe, build.component), build.component));
    let parts = sources::parts(recipe, target, place)?;
    let by_cut = builds.iter().any(|build| build.by_cut);
    Ok(Model {
        name: recipe.name.clone(),
        tables: recipe.groups.iter().filter_map(KernelTable::of).collect(),
        version: recipe.version,
        license: recipe.license.clone(),
        licenses: licence_ids(&recipe.license),
        summary: recipe.summary.clone(),
        homepage: recipe.homepage.clone(),
        maintainers: recipe.package.maintainers.clone(),
        nix_maintainers: recipe.package.nix_maintainers.clone(),
        gpu_check: gpu_check(recipe),
        build_number: recipe.package.build_number,
        conda_forge: recipe.package.profile == CondaProfile::CondaForge,
        kernel_abi: recipe.kernel_abi_tag().map(|tag| tag.to_string()),
        recipe: place.recipe.clone(),
        simpack: place.simpack.clone(),
        source: sources::source(recipe, place)?,
        unpacks: parts.iter().any(|part| part.wheel),
        patches_wheels: parts.iter().any(|part| part.wheel && !part.patches.is_empty()),
        parts,
        licences: sources::licences(recipe, place),
        wheels: builds.iter().any(|build| build.driver == BuildDriver::Wheel),
        places: recipe.is_sliced() || builds.iter().any(|build| build.options.values().any(|value| names_place(value))),
        against: builds.iter().any(|build| !build.against.is_empty()),
        installs: builds.iter().any(|build| !build.install.is_empty()),
        builds,
        copies: copies(recipe)?,
        sonames: recipe
            .components
            .iter()
            .flat_map(|component| component.sonames.iter().map(ToString::to_string))
            .collect(),
        groups: recipe
            .groups
            .iter()
            .filter(|group| group.form.is_cuda() && !group.form.is_exclusive())
            .map(group)
            .collect(),
        cut: match recipe.is_sliced() {
            true => recipe.targets.iter().filter(|it| !it.is_shader()).copied().collect(),
            false => Vec::new(),
        },
        cut_files: if by_cut { patterns(&cut_files(recipe))? } else { Vec::new() },
        cut_variants: if by_cut { recipe.cut_variants().into_iter().map(str::to_owned).collect() } else { Vec::new() },
        shaders: plan::glslc_calls(recipe),
        modules: if target.compiles_shaders() { modules(recipe, &place.source)? } else { Vec::new() },
        host: Host {
            gxx: releases.iter().map(|release| release.gxx).min().unwrap_or_default(),
            glibc: glibc.map(|glibc| glibc.to_string()).unwrap_or_default(),
        },
        releases,
        driver_directories: recipe.driver.directories.clone(),
        rpath: recipe.driver.tag == crate::elf::edit::PathTag::Rpath,
        forge: forge.clone(),
        easybuild: easybuild.clone(),
        uses: uses(recipe, manifests),
        needs: needed(recipe, target, false)?,
        python_against: python_against(recipe),
        python_needs: match recipe
            .component(ComponentKind::Python)
            .filter(|_| target == Target::Conda)
            .and_then(|it| it.build.as_ref())
        {
            Some(_) => Some(needed(recipe, target, true)?),
            None => None,
        },
        libraries: libraries(recipe, built)?,
        files: recipe
            .components
            .iter()
            .filter(|component| !component.files.is_empty())
            .map(|component| (component.kind.to_string(), component.files.clone()))
            .collect(),
        program,
        packages: match target.names_packages() {
            true => packages(recipes, built, manifests)?,
            false => Vec::new(),
        },
    })
}

/// Refuses a kernel group that the texts of a target have no words for.
fn generated_form(recipes: &RecipeMatrix, group: &KernelGroup, target: Target) -> Result<()> {
    let what = match group.form.compiler() {
        _ if !target.compiles() => return Ok(()),
        DeviceCompiler::Steps => return Ok(()),
        DeviceCompiler::HostBuilds if target == Target::Conda && recipes.iter().count() > 1 => {
            "is built once for each CUDA release by simpack"
        }
        DeviceCompiler::HostBuilds if target.builds_each() => return Ok(()),
        DeviceCompiler::HostBuilds => "is cut out of a finished library by simpack",
        DeviceCompiler::KernelsBuild => "is built once for each target by simpack",
    };
    Err(Error::recipe(format!("kernel group `{}` {what}; a recipe for {target} builds without it", group.name))
        .hint(WITHOUT_RECIPE))
}

/// Refuses shaders that a target has no compiler of.
fn generated_shaders(recipe: &Recipe, group: &KernelGroup, target: Target) -> Result<()> {
    let beyond = needs_dxc(recipe).filter(|(source, _)| group.sources.iter().any(|own| own == source));
    if !target.compiles() || group.form.is_cuda() {
        return Ok(());
    }
    let what = match target.compiles_shaders() {
        true if beyond.is_some() => "has shaders in HLSL for more than vulkan1.1, which glslc does not compile",
        true => return Ok(()),
        false => "has shaders",
    };
    Err(Error::recipe(format!("kernel group `{}` {what}; recipes for {target} build none", group.name))
        .hint(WITHOUT_RECIPE))
}

/// Whether a value of an option names a place of the build or a compiler.
fn names_place(value: &str) -> bool {
    OF_STEP.iter().any(|word| value.contains(&format!("{{{word}}}")))
}

fn release(recipe: &Recipe, manifests: &Manifests, forge: &CondaForge) -> Release {
    let range = manifests.cuda.get(recipe.cuda).and_then(|release| release.gcc);
    let (pin, pinned) = forge.host(recipe.cuda);
    Release {
        cuda: recipe.cuda,
        gxx: range.map_or(pin.gxx, |range| pin.gxx.min(range.max)),
        pinned,
        targets: recipe.targets.iter().filter(|target| !target.is_shader()).copied().collect(),
    }
}

fn build(recipe: &Recipe, component: &Component) -> Result<Option<Build>> {
    let mut builds = component.builds();
    // Whoever knows no variants builds the default one.
    let Some(first) = builds.first().filter(|build| build.spec.driver != BuildDriver::Copy) else { return Ok(None) };
    let spec = first.spec.clone();
    let of_wheel = spec.inputs.as_ref().filter(|_| spec.driver == BuildDriver::Wheel);
    builds.retain(|build| build.host.is_some());
    let fill = |options: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        // What ships cut is built for each target.
        let fill = if recipe.is_sliced() { plan::fill_but_targets } else { plan::fill };
        options.iter().map(|(name, value)| (name.clone(), fill(value, recipe))).collect()
    };
    let variant = |build: VariantBuild| {
        Some(BuildVariant { key: variant_key(component, &build.host?), options: fill(&build.spec.options) })
    };
    Ok(Some(Build {
        patterns: of_wheel.map(|inputs| patterns(inputs)).transpose()?.unwrap_or_default(),
        variants: builds.into_iter().filter_map(variant).collect(),
        by_cut: spec.options.values().any(|value| value.contains(VARIANT)),
        component: component.kind,
        driver: spec.driver,
        flag: spec.driver.system().flag(),
        in_source: spec.driver.system().builds_in_source(),
        source: spec.source.clone(),
        options: fill(&spec.options),
        install: spec.install.iter().map(installed).collect::<Result<_>>()?,
        targets: spec.targets.clone(),
        against: spec.against.clone(),
    }))
}

/// How many builds stand one behind the other before that of a component.
fn depth(recipe: &Recipe, kind: ComponentKind) -> usize {
    let against = recipe.component(kind).and_then(|component| component.build.as_ref()).map(|build| &build.against);
    against.into_iter().flatten().map(|other| depth(recipe, *other) + 1).max().unwrap_or_default()
}

/// The packages that hold what the builds installed that the module for Python is built against: those of their own
/// components, and of components that are made by them.
fn python_against(recipe: &Recipe) -> Vec<String> {
    let build = recipe.component(ComponentKind::Python).and_then(|python| python.build.as_ref());
    let Some(build) = build else { return Vec::new() };
    let is_of = |component: &&Component| {
        let source = recipe.variant_source(component.kind).map(|source| source.kind);
        !component.files.is_empty()
            && !matches!(component.kind, ComponentKind::Kernels | ComponentKind::Meta | ComponentKind::Python)
            && source.is_some_and(|source| build.against.contains(&source))
    };
    recipe.components.iter().filter(is_of).map(|component| format!("{}-{}", recipe.name, component.kind)).collect()
}

/// What of a build is installed, and where.
fn installed(install: &Install) -> Result<(String, String)> {
    let wrong = || Error::recipe(format!("`{}` cannot be an expression of a shell", install.from));
    Ok((expression(&install.from).ok_or_else(wrong)?, install.to.clone()))
}

/// Stands for the variant of what ships cut in options.
const VARIANT: &str = "{variant}";

/// Globs over what ships cut.
fn cut_files(recipe: &Recipe) -> Vec<String> {
    let groups = recipe.groups.iter().filter(|group| group.form.is_exclusive());
    groups.flat_map(|group| group.files.clone()).collect()
}

/// Globs as patterns of a shell.
fn patterns(globs: &[String]) -> Result<Vec<String>> {
    let pattern =
        |glob: &String| extended(glob).ok_or_else(|| Error::recipe(format!("`{glob}` cannot be a pattern of a shell")));
    globs.iter().map(pattern).collect()
}

fn copies(recipe: &Recipe) -> Result<Vec<CopyBuild>> {
    let mut copies = Vec::new();
    for component in &recipe.components {
        let Some(spec) = component.build.as_ref().filter(|spec| spec.driver == BuildDriver::Copy) else { continue };
        let all = || vec!["**".to_owned()];
        let patterns = patterns(&spec.inputs.clone().unwrap_or_else(all))?;
        copies.push(CopyBuild { component: component.kind, source: spec.source.clone(), patterns });
    }
    Ok(copies)
}

fn gpu_check(recipe: &Recipe) -> Vec<String> {
    let Some(smoke) = recipe.smoke.as_ref().filter(|smoke| !smoke.cuda.is_empty() && !recipe.groups.is_empty()) else {
        return Vec::new();
    };
    smoke.command.iter().chain(&smoke.cuda).cloned().collect()
}

fn group(group: &KernelGroup) -> Group {
    let arguments = |flags: &[String], define: &[String]| {
        flags.iter().cloned().chain(define.iter().map(|name| format!("-D{name}"))).collect::<Vec<_>>()
    };
    Group {
        name: group.name.clone(),
        sources: group.sources.clone(),
        flags: group.flags.clone(),
        variants: group
            .variants
            .iter()
            .map(|variant| (variant.name.clone(), arguments(&variant.flags, &variant.define)))
            .collect(),
        when: group
            .when
            .iter()
            .map(|when| {
                let number = |bound: Option<crate::arch::Capability>| bound.map(|bound| bound.number());
                (number(when.from), number(when.below), arguments(&when.flags, &when.define))
            })
            .collect(),
    }
}

fn uses(recipe: &Recipe, manifests: &Manifests) -> Vec<Use> {
    let mut found = Vec::new();
    for component in recipe.components.iter().filter(|component| component.kind != ComponentKind::Meta) {
        for used in &component.uses {
            let library = used.library.as_ref().and_then(|library| manifests.vendor.by_name(library));
            found.push(Use {
                component: component.kind,
                spec: used.to_string(),
                versions: used.versions.clone(),
                conda_dev: library.map(|library| library.conda_dev.clone()),
                nix: library.map(|library| library.nix.clone()),
                conda: used.package.clone(),
            });
        }
    }
    found.sort();
    found
}

/// What other builders call a variant.
fn variant_key(component: &Component, host: &HostVariant) -> String {
    let word = |axis: &Axis| {
        let value = host.of(&axis.name).unwrap_or_default();
        if axis.python { value.replace('.', "") } else { axis_key(&axis.name, value) }
    };
    axes(component).iter().map(word).collect::<Vec<_>>().join("/")
}

/// conda-forge's word for a value: `nompi` for what does without.
fn axis_key(axis: &str, value: &str) -> String {
    if value == NONE { choice_word(axis, value) } else { value.to_owned() }
}

/// The axes of a component, Python last, as build strings have them.
fn axes(component: &Component) -> Vec<Axis> {
    let specs = |value: &VariantValue| {
        // Builders choose the version of Python by its variant.
        let others = value.needs.iter().filter(|need| need.name() != PYTHON && need.python_of_machine().is_none());
        others.map(ToString::to_string).collect()
    };
    let axis = |axis: &VariantAxis| Axis {
        name: axis.name.clone(),
        python: axis.name == PYTHON,
        values: axis
            .values
            .iter()
            .map(|value| AxisValue { key: axis_key(&axis.name, &value.name), specs: specs(value) })
            .collect(),
    };
    let mut axes: Vec<Axis> = component.variants.iter().map(axis).collect();
    axes.sort_by(|a, b| (a.python, &a.name).cmp(&(b.python, &b.name)));
    axes
}

/// What the build of the module for Python needs of channels, or that of all others, in conda's words.
fn needed(recipe: &Recipe, target: Target, of_python: bool) -> Result<Needed> {
    let all = recipe.components.iter().filter(|component| component.build.is_some());
    let components: Vec<&Component> =
        all.filter(|component| (component.kind == ComponentKind::Python) == of_python).collect();
    refuse_needs(recipe, target)?;
    let builds = components.iter().filter_map(|component| component.build.as_ref());
    let needs = builds.flat_map(|build| &build.needs).filter(|need| need.python_of_machine().is_none());
    let needs: BTreeSet<&Need> = needs.collect();
    Ok(Needed {
        specs: needs.into_iter().map(ToString::to_string).collect(),
        axes: components.iter().flat_map(|component| axes(component)).collect(),
    })
}

fn refuse_needs(recipe: &Recipe, target: Target) -> Result<()> {
    let refused = |need: &Need| match need {
        _ if !target.compiles() => None,
        // Builders bring a Python of their own, or build no module for it.
        need if need.python_of_machine().is_some() => None,
        Need::System { .. } => Some("it comes from the machine that builds"),
        Need::Channel { .. } if target != Target::Conda => {
            Some("it is a package of conda, which has another name there")
        }
        Need::Channel { .. } => None,
    };
    let needs = recipe.needs();
    for need in needs.values().flatten() {
        if let Some(why) = refused(need) {
            return Err(Error::recipe(format!("a recipe for {target} cannot bring `{}`: {why}", need.name()))
                .hint("`simpack build` makes the packages, and `simpack generate github` a workflow that calls it"));
        }
    }
    Ok(())
}

/// Libraries that others link: from the globs by which components name them, or as they were built. A library that
/// ships cut to one capability is in the kernel packages, and its SONAME is core's.
fn libraries(recipe: &Recipe, built: Option<&Built>) -> Result<Vec<Library>> {
    let is_linked = |kind| matches!(kind, ComponentKind::Core | ComponentKind::Rtc | ComponentKind::Static);
    let components = recipe.components.iter().filter(|component| is_linked(component.kind));
    let components = components.map(|component| (component.kind, &component.files, component.policy));
    let core = recipe.component(ComponentKind::Core).map(|core| core.policy);
    let cut: Vec<String> = recipe.groups.iter().flat_map(|group| group.files.clone()).collect();
    let cut = (!cut.is_empty()).then_some((ComponentKind::Kernels, &cut, core.unwrap_or(VersionPolicy::Major)));
    let mut found: Vec<Library> = Vec::new();
    for (kind, files, policy) in components.chain(cut) {
        let named = named_library(recipe, kind, files, policy);
        let library = match built.filter(|built| built.manifest(kind).is_some()) {
            None => named,
            Some(built) => built_library(kind, named.as_ref(), built)?,
        };
        found.extend(library.filter(|library| found.iter().all(|other| other.file != library.file)));
    }
    Ok(found)
}

/// The library that globs over a component's files name.
fn named_library(recipe: &Recipe, kind: ComponentKind, files: &[String], policy: VersionPolicy) -> Option<Library> {
    let globs = files.iter().filter_map(|glob| library_base(glob));
    let mut named = globs.filter(|(base, _)| !base.contains('*'));
    // A glob over all archives stands for the one of the simulator's name.
    let wild = files.iter().any(|glob| glob == "lib/lib*.a" || glob == "lib/*.a");
    let (base, archive) = named.next().or_else(|| wild.then_some((recipe.name.as_str(), true)))?;
    let soname = policy.series(recipe.version).unwrap_or_default();
    let file = if archive { format!("lib{base}.a") } else { format!("lib{base}.so.{soname}") };
    Some(Library { component: kind, base: base.to_owned(), soname, archive, file })
}

/// The library that was built for a component: the one that its globs name, or the first.
fn built_library(kind: ComponentKind, named: Option<&Library>, built: &Built) -> Result<Option<Library>> {
    let there = built.libraries.iter().filter(|library| library.component == kind);
    let read = there.filter_map(|library| {
        let path = format!("lib/{}", library.file);
        let (base, archive) = library_base(&path)?;
        let soname = library.file.split_once(".so.").map(|(_, version)| version.to_owned()).unwrap_or_default();
        Some(Library { component: kind, base: base.to_owned(), soname, archive, file: library.file.clone() })
    });
    let read: Vec<Library> = read.collect();
    let Some(named) = named else { return Ok(read.into_iter().next()) };
    let names: Vec<String> = read.iter().map(|library| library.file.clone()).collect();
    match read.into_iter().find(|library| library.base == named.base && library.archive == named.archive) {
        Some(library) => Ok(Some(library)),
        None => Err(Error::recipe(format!("{kind} names {}, and no such library was built", named.file))
            .detail(match names.is_empty() {
                true => "its package holds no library".to_owned(),
                false => format!("its package holds {}", names.join(", ")),
            })
            .hint(match kind {
                ComponentKind::Kernels => "correct `files` of the kernel group that ships cut".to_owned(),
                kind => format!("correct `files` of [component.{kind}]"),
            })),
    }
}

/// Names of licence texts at the top of the source, sorted.
pub(super) fn licences(recipe: &Recipe, source: &Path) -> Result<Vec<String>> {
    Ok(crate::project::licences(recipe, source)?.into_keys().collect())
}

/// All packages: those of the host part once, those of device code once a release.
fn packages(recipes: &RecipeMatrix, built: Option<&Built>, manifests: &Manifests) -> Result<Vec<Output>> {
    let bundles = plan::bundles(recipes, &BTreeSet::new());
    let is_several = |component| {
        let is_cuda = |target: KernelTarget| target != KernelTarget::Cpu && !target.is_shader();
        let of = |one: &&PlannedBundle| one.component == component && one.target.is_none_or(is_cuda);
        let first = bundles.iter().find(of).and_then(|planned| planned.cuda);
        bundles.iter().filter(of).any(|planned| planned.cuda != first)
    };
    let by_release = [ComponentKind::Kernels, ComponentKind::Rtc].map(|kind| (kind, is_several(kind)));
    let bundles = bundles.iter().map(|one| bundle(recipes.of(one.cuda), one, built)).collect::<Result<Vec<_>>>()?;
    let outside = built.map(|built| built.needs.clone()).unwrap_or_default();
    let (licences, vendors) = Default::default();
    let context = PackContext { manifests, outside, compiled_by: BTreeMap::new(), licences, vendors };
    let is_shown = |package: &Package| {
        let host = package.manifest.host.as_ref();
        host.is_none_or(|host| recipes.own().is_default_variant(package.manifest.component, host))
    };
    let found = pack::packages(recipes.own(), &bundles, &context)?.into_iter().filter(is_shown);
    let mut found: Vec<Output> = found.map(|package| output(recipes, &by_release, package)).collect();
    // A release's own one after the other, and whatever brings the others last.
    let release = |output: &Output| recipes.iter().position(|recipe| Some(recipe.cuda) == output.release);
    found
        .sort_by_key(|output| (output.package.manifest.component == ComponentKind::Meta, release(output).unwrap_or(0)));
    Ok(found)
}

/// What packages are derived from: the bundle that was built, or before anything is built one without files.
fn bundle(recipe: &Recipe, planned: &PlannedBundle, built: Option<&Built>) -> Result<Bundle> {
    if let Some(manifest) = built.and_then(|built| built.manifest_for(planned)) {
        // The C library is that of whoever builds from the texts: its compilers' packages say which.
        // And what a variant was linked with is said by the packages that whoever builds gives it.
        let outside = if planned.host.is_some() { Vec::new() } else { manifest.outside.clone() };
        let manifest = BundleManifest { glibc: None, outside, ..manifest.clone() };
        return Ok(Bundle::new(PathBuf::new(), manifest));
    }
    let component = recipe.component(planned.component);
    let digest = Digest::of(planned.package.as_bytes());
    let program = format!("bin/{}", recipe.name);
    let mut artifacts = Vec::new();
    if planned.component == ComponentKind::Core && claims(component, &program)? {
        artifacts
            .push(Artifact { path: program, kind: ArtifactKind::File { sha256: digest, size: 0, executable: true } });
    }
    let manifest = BundleManifest { kernel_abi: recipe.kernel_abi_tag(), artifacts, ..planned.manifest(recipe) };
    Ok(Bundle::new(PathBuf::new(), manifest))
}

fn claims(component: Option<&Component>, path: &str) -> Result<bool> {
    for glob in component.iter().flat_map(|component| &component.files) {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let matcher = built.map_err(|error| Error::recipe(format!("`{glob}` is not a glob")).because(error))?;
        if matcher.compile_matcher().is_match(path) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn output(recipes: &RecipeMatrix, by_release: &[(ComponentKind, bool)], package: Package) -> Output {
    let manifest = &package.manifest;
    let recipe = recipes.of(manifest.cuda);
    let files = match (&package.kind, manifest.target) {
        _ if package.root.is_none() => Vec::new(),
        (PackageKind::Kernels, Some(_)) if manifest.is_slice() => cut_files(recipe),
        (PackageKind::Kernels, Some(target)) => kernel_files(recipe, target),
        _ => recipe.component(manifest.component).map(|component| component.files.clone()).unwrap_or_default(),
    };
    let release = manifest.cuda.filter(|_| by_release.contains(&(manifest.component, true)));
    let source = manifest.host.as_ref().and_then(|_| recipe.variant_source(manifest.component));
    Output { release, files, axes: source.map(axes).unwrap_or_default(), package }
}

/// Globs over the device code of a target, in all variants.
fn kernel_files(recipe: &Recipe, target: KernelTarget) -> Vec<String> {
    let tag = recipe.kernel_abi_tag();
    let groups = recipe.groups.iter().filter(|group| group.form.is_cuda() != target.is_shader());
    let variants: BTreeSet<&str> = groups.flat_map(|group| &group.variants).map(|one| one.name.as_str()).collect();
    let dirs = tag.iter().flat_map(|tag| variants.iter().map(|variant| kernel_dir(recipe, tag, variant, target)));
    dirs.map(|dir| format!("{dir}/**")).collect()
}

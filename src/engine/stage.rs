//! Stages artifacts into bundles: components by glob, device code by target, then the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::cache::{CacheEntry, artifacts_with};
use super::run::BuildOutcome;
use crate::arch::{CudaVersion, KernelAbiTag, KernelCompiler, KernelTarget};
use crate::build_system::BuildDriver;
use crate::bundle::{
    Artifact, ArtifactKind, Bundle, BundleManifest, DeviceSources, EmbeddedModule, EmbeddedShaders, KERNELS_LIST,
    KERNELS_SCHEMA, KernelsList, OutsideLibrary, Provenance, ToolVersion,
};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, Tree};
use crate::gpu::{KernelSignature, ShaderNeeds};
use crate::plan::{Action, BuildPlan, PlannedBundle, Step, kernel_dir};
use crate::process::check_interrupted;
use crate::recipe::{
    Component, ComponentKind, HostVariant, KernelForm, KernelGroup, Recipe, RecipeMatrix, UNNAMED_VARIANT,
};

/// What staging works on.
pub struct StageInputs<'a> {
    /// The recipe.
    pub recipes: &'a RecipeMatrix,
    /// Its plan.
    pub plan: &'a BuildPlan,
    /// What the plan's steps made.
    pub outcome: &'a BuildOutcome,
    /// What the builds of each host variant were given of others, as it enters provenance.
    pub given: &'a BTreeMap<Option<HostVariant>, BTreeMap<String, ToolVersion>>,
    /// Stands in for every time stamp.
    pub source_date_epoch: u64,
}

impl StageInputs<'_> {
    /// Tools that a bundle was made with, and what its builds were given of others.
    fn tools_of(&self, planned: &PlannedBundle) -> BTreeMap<String, ToolVersion> {
        let mut tools = self.plan.tools_of(planned.cuda).clone();
        if planned.host.is_some() {
            let others = self.given.get(&None);
            tools.retain(|name, _| others.is_none_or(|others| !others.contains_key(name)));
            tools.extend(self.given.get(&planned.host).cloned().unwrap_or_default());
        }
        tools
    }
}

/// Bundles before they are sealed, and what the globs left over.
#[derive(Debug)]
pub struct Staged {
    /// Bundles in the plan's order. Their manifests hold no artifacts yet.
    pub bundles: Vec<Bundle>,
    /// Installed files that no component claims.
    pub unclaimed: Vec<String>,
    /// Installed files that several components claim, with the claimants.
    pub claimed_twice: Vec<(String, Vec<ComponentKind>)>,
    /// Globs that match nothing, with their component.
    pub empty_globs: Vec<(ComponentKind, String)>,
    /// Installed files that ship cut to one capability, and are in no bundle yet.
    pub fat: Vec<FatFile>,
    /// Lists of device code that are still to be written, by the root of the bundle.
    pub lists: BTreeMap<PathBuf, Vec<PendingList>>,
}

/// A list of device code before its files have their last bytes.
#[derive(Debug)]
pub struct PendingList {
    /// Directory of the bundle.
    dir: String,
    /// All but the files.
    list: KernelsList,
}

/// A file with code for all targets, each of whose kernel bundles shall hold its own slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatFile {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// CUDA release whose targets it has code for.
    pub cuda: CudaVersion,
    /// Where it lies now. Nothing may be written there.
    pub file: PathBuf,
    /// Owner's execute bit.
    pub executable: bool,
}

/// Lays every bundle of the plan out below the empty directory `root`.
///
/// # Errors
/// An artifact is missing, two lie at one path, or a file cannot be written.
pub fn stage(inputs: &StageInputs<'_>, root: &Path) -> Result<Staged> {
    let recipe = inputs.recipes.own();
    let claims = Claims::new(&recipe.components)?;
    let mut trees = BTreeMap::new();
    for recipe in inputs.recipes.iter() {
        trees.insert(recipe.cuda, Installed::of(inputs, recipe.cuda, None, &claims)?);
    }
    let own = &trees[&recipe.cuda];
    one_maker(inputs.plan, &own.entries)?;
    let installs =
        || host_steps_of_all(inputs.plan).any(|step| own.entries.values().any(|entry| entry.made.step == step.id));
    for soname in recipe.components.iter().flat_map(|component| &component.sonames).filter(|_| installs()) {
        if !own.entries.contains_key(&format!("lib/{soname}")) {
            return Err(Error::build(format!(
                "no build installs lib/{}, which the recipe gives a SONAME",
                soname.library
            ))
            .hint("correct `soname`, or let a build install the library"));
        }
    }
    let hosts: BTreeSet<&HostVariant> =
        inputs.plan.bundles.iter().filter_map(|planned| planned.host.as_ref()).collect();
    let mut variants = BTreeMap::new();
    for host in hosts {
        variants.insert(host, Installed::of(inputs, recipe.cuda, Some(host), &claims)?);
    }
    let all = || std::iter::once(own).chain(variants.values());
    let mut staged = Staged {
        bundles: Vec::new(),
        unclaimed: sorted(all().flat_map(|tree| tree.unclaimed.clone())),
        claimed_twice: sorted(all().flat_map(|tree| tree.claimed_twice.clone())),
        // A build of kernels alone installs nothing, which says nothing about the globs.
        empty_globs: match host_steps_of_all(inputs.plan).next() {
            Some(_) => claims.empty(all().flat_map(|tree| tree.entries.keys())),
            None => Vec::new(),
        },
        fat: trees.iter().flat_map(|(cuda, tree)| tree.fat(*cuda)).collect(),
        lists: BTreeMap::new(),
    };
    for planned in &inputs.plan.bundles {
        check_interrupted()?;
        let bundle = Bundle::new(root.join(inputs.plan.directory(planned)), manifest(inputs, planned));
        let list = bundle.manifest.path();
        if let Some(entry) = trees.values().find_map(|tree| tree.entries.get(&list)) {
            return Err(Error::build(format!("{} installs {list}, which simpack writes", entry.made.step)));
        }
        fs_err::create_dir_all(&bundle.root)?;
        match planned.target {
            Some(target) if !recipe.is_sliced() => {
                let (lists, others) = stage_kernels(inputs, planned.cuda, target, &bundle)?;
                staged.lists.insert(bundle.root.clone(), lists);
                staged.unclaimed.extend(others);
            }
            _ => {
                let of_release = || planned.cuda.and_then(|cuda| trees.get(&cuda));
                let tree = planned.host.as_ref().map_or_else(of_release, |host| variants.get(host)).unwrap_or(own);
                if let Some(bound) = tree.bound(planned) {
                    return Err(Error::build(format!(
                        "{} holds {bound}, which {} makes",
                        planned.package, tree.entries[bound].made.step
                    ))
                    .detail("there is one such package, and there are several variants of that build")
                    .hint(format!(
                        "let another component claim it, or leave out the build of component `{}`",
                        planned.component
                    )));
                }
                for (path, kind) in &tree.owners {
                    let is_fat = *kind == ComponentKind::Kernels && fat_file(tree.entries[path], path).is_some();
                    if *kind == planned.component && !is_fat {
                        place(tree.entries[path], path, &bundle, path)?;
                    }
                }
            }
        }
        staged.bundles.push(bundle);
    }
    let embedded = embedded(inputs, &staged)?;
    let is_shader = |step: &&Step| step.target().is_some_and(KernelTarget::is_shader);
    let compiling: Vec<&Step> = inputs.plan.steps.iter().filter(is_shader).collect();
    let has_it = |bundle: &&mut Bundle| bundle.manifest.component == ComponentKind::Core;
    for core in staged.bundles.iter_mut().filter(has_it).filter(|_| !embedded.is_empty()) {
        core.manifest.embedded.clone_from(&embedded);
        core.manifest.kernels = kernels_of(recipe, true);
        core.manifest.exact = recipe.exact();
        core.manifest.provenance.sources = sources(&compiling);
    }
    Ok(staged)
}

/// What the build of core was given of shaders: their bundles are there to be examined, and are not packed.
fn embedded(inputs: &StageInputs<'_>, staged: &Staged) -> Result<Vec<EmbeddedShaders>> {
    let mut found = Vec::new();
    for bundle in &staged.bundles {
        let target = bundle.manifest.target.filter(|target| inputs.recipes.own().is_embedded(*target));
        let (Some(target), Some(lists)) = (target, staged.lists.get(&bundle.root)) else { continue };
        let mut shaders = EmbeddedShaders { target, needs: BTreeMap::new(), modules: Vec::new() };
        for PendingList { dir, list } in lists {
            let modules = artifacts(bundle, dir)?;
            shaders.needs.insert(list.variant.clone(), needs(bundle, dir, &modules)?);
            shaders.modules.extend(modules.into_iter().filter_map(|module| {
                let ArtifactKind::File { sha256, size, .. } = module.kind else { return None };
                let kernel = module.path.split('.').next().unwrap_or_default().to_owned();
                Some(EmbeddedModule { kernel, variant: list.variant.clone(), size, sha256 })
            }));
        }
        found.push(shaders);
    }
    Ok(found)
}

/// Declared kernels, sorted by name: of shaders, or of CUDA.
fn kernels_of(recipe: &Recipe, shaders: bool) -> Vec<KernelSignature> {
    let mut kernels = recipe.kernels();
    kernels.retain(|kernel| kernel.shader == shaders);
    kernels
}

/// What host builds installed, as it is for one CUDA release.
struct Installed<'a> {
    /// Files with the cache entries that hold them.
    entries: BTreeMap<String, &'a CacheEntry>,
    /// Whose they are.
    owners: BTreeMap<String, ComponentKind>,
    unclaimed: Vec<String>,
    claimed_twice: Vec<(String, Vec<ComponentKind>)>,
    /// Steps that there is one of for each host variant, by name.
    bound: BTreeSet<&'a str>,
}

impl<'a> Installed<'a> {
    /// What a release builds again goes before what the host part's build left. Without a host variant it is the default
    /// one.
    fn of(inputs: &'a StageInputs<'_>, cuda: CudaVersion, host: Option<&HostVariant>, claims: &Claims) -> Result<Self> {
        let recipe = inputs.recipes.own();
        let is_host = |step: &Step| match host {
            Some(host) => step.host.as_ref().is_none_or(|of| of == host),
            None => step.is_default_variant(recipe),
        };
        let is_own = |step: &Step| step.cuda.is_none_or(|of| of == inputs.plan.cuda) && is_host(step);
        let mut entries = installed(inputs, claims, is_own)?;
        if cuda != inputs.plan.cuda {
            entries.extend(installed(inputs, claims, |step| step.cuda == Some(cuda))?);
        }
        let mut tree = Self {
            entries,
            owners: BTreeMap::new(),
            unclaimed: Vec::new(),
            claimed_twice: Vec::new(),
            bound: bound(inputs, host),
        };
        for path in tree.entries.keys() {
            let kind = match claims.of(path).as_slice() {
                [] => {
                    tree.unclaimed.push(path.clone());
                    continue;
                }
                // What is cut is named one by one; core's globs may be those of all libraries.
                kinds if kinds.contains(&ComponentKind::Kernels) => ComponentKind::Kernels,
                [kind] => *kind,
                kinds => {
                    tree.claimed_twice.push((path.clone(), kinds.to_vec()));
                    continue;
                }
            };
            tree.owners.insert(path.clone(), kind);
        }
        Ok(tree)
    }

    /// A file of a bundle that there is once, made by a build of which there is one for each host variant.
    fn bound(&self, planned: &PlannedBundle) -> Option<&String> {
        let owned = self.owners.iter().filter(|(_, kind)| planned.host.is_none() && **kind == planned.component);
        owned.map(|(path, _)| path).find(|path| self.bound.contains(self.entries[*path].made.step.as_str()))
    }

    /// The files that are cut for the targets of the release.
    fn fat(&self, cuda: CudaVersion) -> impl Iterator<Item = FatFile> {
        let cut = self.owners.iter().filter(|(_, kind)| **kind == ComponentKind::Kernels);
        cut.filter_map(move |(path, _)| {
            let executable = fat_file(self.entries[path], path)?;
            Some(FatFile { path: path.clone(), cuda, file: self.entries[path].root.join(path), executable })
        })
    }
}

/// Says which libraries files of a bundle need out of what its build was given.
pub type OutsideOf<'a> = dyn Fn(&Bundle) -> Result<Vec<OutsideLibrary>> + 'a;

/// Completes a bundle once its files are final: the glibc floor, the artifacts, `simpack.json`.
///
/// # Errors
/// A file cannot be read, or `simpack.json` cannot be written.
pub fn seal(bundle: &mut Bundle, lists: Vec<PendingList>, outside: &OutsideOf<'_>) -> Result<()> {
    for PendingList { dir, list } in lists {
        let list = KernelsList { modules: artifacts(bundle, &dir)?, ..list };
        if list.target.is_shader() {
            let needs = needs(bundle, &dir, &list.modules)?;
            bundle.manifest.needs.insert(list.variant.clone(), needs);
        }
        write_list(bundle, &dir, &list)?;
    }
    let list = bundle.manifest.path();
    bundle.manifest.artifacts = artifacts(bundle, "")?;
    bundle.manifest.artifacts.retain(|artifact| artifact.path != list);
    bundle.manifest.outside = outside(bundle)?;
    // Sources that a build put elsewhere, or left out, cannot be compiled on users' machines.
    let has = |path: String| bundle.manifest.artifacts.iter().any(|artifact| artifact.path == path);
    bundle.manifest.device_sources = bundle.manifest.device_sources.take().filter(|sources| {
        let all = sources.groups.iter().flat_map(|group| &group.sources);
        all.map(|source| format!("{}/{source}", sources.directory)).all(has)
    });
    let made_by = match &bundle.manifest.compile {
        Some(compile) if !has(compile.command[0].clone()) => {
            return Err(Error::recipe(format!("{} does not hold {}", bundle.manifest.package, compile.command[0]))
                .hint("`compile` of a component calls a program of its own: add it to `files`"));
        }
        Some(_) => made_by(bundle)?,
        None => Vec::new(),
    };
    bundle.manifest.compile.iter_mut().for_each(|compile| compile.made_by.clone_from(&made_by));
    // The highest that any host file needs.
    bundle.manifest.glibc = bundle.host_facts()?.iter().filter_map(|(_, facts)| facts.glibc()).max();
    let mut text = serde_json::to_vec_pretty(&bundle.manifest)
        .map_err(|error| Error::bug("a manifest does not print as JSON").because(error))?;
    text.push(b'\n');
    Tree::at(&bundle.root)?.write(&list, &text)
}

/// What the objects of a bundle say of the compilers that made them, as GCC and Clang write it into `.comment`.
fn made_by(bundle: &Bundle) -> Result<Vec<String>> {
    let marks = ["GCC: (", "clang version "].map(memchr::memmem::Finder::new);
    let mut found = BTreeSet::new();
    for artifact in &bundle.manifest.artifacts {
        let ArtifactKind::File { .. } = artifact.kind else { continue };
        let file = fs::Content::open(&bundle.root.join(&artifact.path))?;
        if !file.bytes().starts_with(b"\x7fELF") && !file.bytes().starts_with(b"!<arch>\n") {
            continue;
        }
        for at in marks.iter().flat_map(|mark| mark.find_iter(file.bytes())) {
            let text = file.bytes()[at..].split(|byte| *byte == 0).next().unwrap_or_default();
            let text =
                std::str::from_utf8(text).ok().filter(|text| text.len() < 100 && !text.contains(char::is_control));
            found.extend(text.map(str::to_owned));
        }
    }
    Ok(found.into_iter().collect())
}

/// What the shaders of a directory need of a device.
fn needs(bundle: &Bundle, dir: &str, modules: &[Artifact]) -> Result<ShaderNeeds> {
    modules.iter().try_fold(ShaderNeeds::default(), |all, module| {
        let code = bundle.device_code_of(&format!("{dir}/{}", module.path))?;
        let found = code.images.iter().filter_map(|image| image.spirv.as_ref()).map(ShaderNeeds::of);
        Ok(found.fold(all, ShaderNeeds::with))
    })
}

/// The steps that there is one of for each host variant.
fn bound<'a>(inputs: &'a StageInputs<'_>, host: Option<&HostVariant>) -> BTreeSet<&'a str> {
    let steps = host_steps_of_all(inputs.plan).filter(|step| step.host.is_some() && host.is_none());
    steps.map(|step| step.id.as_str()).collect()
}

/// Each once, sorted.
fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.collect::<BTreeSet<T>>().into_iter().collect()
}

/// Host steps whose files are claimed by globs: those of a plug-in library have their place.
fn host_steps_of_all(plan: &BuildPlan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.action, Action::Host { target: None, .. }))
}

/// Every file that host steps of some releases installed with the cache entry that holds it; of other variants than the
/// host part's the libraries that ship cut.
fn installed<'a>(
    inputs: &'a StageInputs<'_>,
    claims: &Claims,
    of: impl Fn(&Step) -> bool,
) -> Result<BTreeMap<String, &'a CacheEntry>> {
    let mut installed: BTreeMap<String, &CacheEntry> = BTreeMap::new();
    for step in host_steps_of_all(inputs.plan).filter(|step| of(step)) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        let is_other = step.is_other_variant(inputs.recipes.own());
        let is_taken = |path: &str| match step.component {
            // It may install all of the simulator once more, beside the module.
            ComponentKind::Python => match claims.of(path).as_slice() {
                [] => !installed.contains_key(path),
                kinds => kinds.contains(&ComponentKind::Python),
            },
            _ => !is_other || claims.of(path).contains(&ComponentKind::Kernels),
        };
        let taken: Vec<_> = entry.artifacts.iter().filter(|artifact| is_taken(&artifact.path)).collect();
        for artifact in taken {
            if installed.insert(artifact.path.clone(), entry).is_some() {
                let error = Error::build(format!("two host builds install {}", artifact.path));
                return Err(match is_other {
                    true => error.hint("let `{variant}` be part of its name, or name it in no kernel group"),
                    false => error.hint("install it by one of them"),
                });
            }
        }
    }
    Ok(installed)
}

/// Refuses a file that a host build installs at the place of a kernel.
fn one_maker(plan: &BuildPlan, installed: &BTreeMap<String, &CacheEntry>) -> Result<()> {
    for step in &plan.steps {
        if let Action::Kernel { output, .. } = &step.action
            && let Some(entry) = installed.get(output)
        {
            return Err(Error::build(format!("two steps make {output}"))
                .detail(format!("{} and {}", entry.made.step, step.id))
                .hint("install it elsewhere: device code has its place from the kernel group"));
        }
    }
    Ok(())
}

/// The globs of all components that hold installed files.
pub struct Claims(Vec<(ComponentKind, Vec<(String, GlobSet)>)>);

impl Claims {
    /// Those of a recipe's components.
    ///
    /// # Errors
    /// One is no glob.
    pub fn new(components: &[Component]) -> Result<Self> {
        let mut claims = Vec::new();
        for component in components {
            let mut globs = Vec::new();
            for glob in &component.files {
                let wrong = |error| {
                    Error::recipe(format!("`{glob}` of component `{}` is not a glob", component.kind)).because(error)
                };
                // `*` stays within one directory; `**` crosses.
                let one = GlobBuilder::new(glob).literal_separator(true).build().map_err(wrong)?;
                let set = GlobSetBuilder::new().add(one).build().map_err(wrong)?;
                globs.push((glob.clone(), set));
            }
            claims.push((component.kind, globs));
        }
        Ok(Self(claims))
    }

    /// The components that claim an installed file.
    pub fn of(&self, path: &str) -> Vec<ComponentKind> {
        let claiming = self.0.iter().filter(|(_, globs)| globs.iter().any(|(_, glob)| glob.is_match(path)));
        claiming.map(|(kind, _)| *kind).collect()
    }

    fn empty<'p>(&self, installed: impl Iterator<Item = &'p String>) -> Vec<(ComponentKind, String)> {
        let installed: Vec<&String> = installed.collect();
        let all = self.0.iter().flat_map(|(kind, globs)| globs.iter().map(move |(text, glob)| (*kind, text, glob)));
        all.filter(|(_, _, glob)| !installed.iter().any(|path| glob.is_match(path)))
            .map(|(kind, text, _)| (kind, text.clone()))
            .collect()
    }
}

/// The execute bit of a claimed artifact that is a file, and no link.
fn fat_file(entry: &CacheEntry, path: &str) -> Option<bool> {
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path)?;
    match artifact.kind {
        ArtifactKind::File { executable, .. } => Some(executable),
        ArtifactKind::Link { .. } => None,
    }
}

/// Files and links of a bundle below one of its directories, sorted by their paths below it. What came out of the cache
/// and was not changed is not digested again.
fn artifacts(bundle: &Bundle, directory: &str) -> Result<Vec<Artifact>> {
    artifacts_with(&bundle.root.join(directory), |path| match directory {
        "" => bundle.digest(path),
        _ => bundle.digest(&format!("{directory}/{path}")),
    })
}

/// Copies one artifact out of the cache.
fn place(entry: &CacheEntry, path: &str, bundle: &Bundle, to: &str) -> Result<()> {
    // Another step may have installed a link where this file has a directory.
    let tree = Tree::at(&bundle.root)?;
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path);
    match artifact.map(|artifact| &artifact.kind) {
        Some(ArtifactKind::Link { to: text }) => tree.symlink(text, to)?,
        Some(ArtifactKind::File { executable, sha256, .. }) => {
            // The build system's umask must not reach a package.
            let mode = if *executable { 0o755 } else { 0o644 };
            tree.copy(&Tree::at(&entry.root)?.open(path)?, to, Some(mode))?;
            bundle.files.file(to).written(*sha256);
        }
        None => return Err(Error::bug(format!("{path} is not in its cache entry"))),
    }
    Ok(())
}

/// Lays out the modules of a target; answers the lists of its directories, and what was installed and is no module.
fn stage_kernels(
    inputs: &StageInputs<'_>,
    cuda: Option<CudaVersion>,
    target: KernelTarget,
    bundle: &Bundle,
) -> Result<(Vec<PendingList>, Vec<String>)> {
    let recipe = inputs.recipes.of(cuda);
    let mut variants: Vec<&str> = Vec::new();
    let mut others = Vec::new();
    let Some(tag) = &inputs.plan.kernel_abi else { return Ok((Vec::new(), others)) };
    for step in steps_of(inputs.plan, cuda, target) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        match &step.action {
            Action::Kernel { output, variant, .. } => {
                place(entry, super::step::cached_name(step), bundle, output)?;
                variants.push(variant);
            }
            Action::Generate { .. } | Action::Structures { .. } => {}
            Action::Host { .. } => {
                let (variant, name) = (UNNAMED_VARIANT, recipe.plugin(target));
                let installed = format!("lib/{name}");
                if !entry.artifacts.iter().any(|artifact| artifact.path == installed) {
                    return Err(Error::build(format!("{} installs no {installed}", step.id))
                        .hint("name the library by `{target}` in the options of the build of component `kernels`"));
                }
                let dir = kernel_dir(recipe, tag, variant, target);
                place(entry, &installed, bundle, &format!("{dir}/{name}"))?;
                others.extend(entry.artifacts.iter().map(|file| file.path.clone()).filter(|path| *path != installed));
                variants.push(variant);
            }
        }
    }
    variants.sort_unstable();
    variants.dedup();
    let kernels = kernels_of(recipe, target.is_shader());
    let mut lists = Vec::new();
    for variant in variants {
        let dir = kernel_dir(recipe, tag, variant, target);
        let list = KernelsList {
            schema: KERNELS_SCHEMA,
            kernel_abi: tag.clone(),
            target,
            cuda,
            variant: variant.to_owned(),
            modules: Vec::new(),
            kernels: kernels.clone(),
            compilers: compilers(inputs.plan.tools_of(cuda), target),
        };
        lists.push(PendingList { dir, list });
    }
    Ok((lists, others))
}

fn write_list(bundle: &Bundle, dir: &str, list: &KernelsList) -> Result<()> {
    let mut text =
        serde_json::to_vec_pretty(list).map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
    text.push(b'\n');
    Tree::at(&bundle.root)?.write(&format!("{dir}/{KERNELS_LIST}"), &text)
}

/// The tools that compile for a target, with their versions.
fn compilers(tools: &BTreeMap<String, ToolVersion>, target: KernelTarget) -> BTreeMap<String, String> {
    let is_its = |name: &str| match target.is_shader() {
        true => KernelCompiler::OF_SHADERS.iter().any(|compiler| compiler.name() == name),
        false => name.contains("nvcc") || name.contains("nvvm"),
    };
    let kernel_tools = tools.iter().filter(|(name, _)| is_its(name));
    kernel_tools.map(|(name, tool)| (name.clone(), tool.version.clone())).collect()
}

fn steps_of(plan: &BuildPlan, cuda: Option<CudaVersion>, target: KernelTarget) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(move |step| step.cuda == cuda && step.target() == Some(target))
}

/// Host steps that may have made files of a bundle: those of a release where it builds again, else those of the host
/// part. What is copied out of the source needs no other, nor does a module for Python with a build of its own; and nobody
/// needs that. Of several host variants it is the bundle's own, or the default: one more changes no other package.
fn host_steps<'a>(plan: &'a BuildPlan, recipe: &Recipe, planned: &PlannedBundle) -> Vec<&'a Step> {
    let PlannedBundle { component, cuda, .. } = *planned;
    let is_copy = |step: &&Step| matches!(step.action, Action::Host { driver: BuildDriver::Copy, .. });
    let of_python = |step: &&Step| step.component == ComponentKind::Python;
    let is_python = component == ComponentKind::Python && host_steps_of_all(plan).any(|step| of_python(&step));
    let is_host = |step: &&Step| match &planned.host {
        Some(host) => step.host.as_ref().is_none_or(|of| of == host),
        None => step.is_default_variant(recipe),
    };
    let is_taken = |step: &&Step| {
        (component == ComponentKind::Kernels || !step.is_other_variant(recipe))
            && of_python(step) == is_python
            && is_host(step)
    };
    let all = || host_steps_of_all(plan).filter(is_taken);
    let of = |cuda: CudaVersion| all().filter(move |step| step.cuda == Some(cuda));
    let again: Vec<&Step> = cuda.filter(|cuda| *cuda != plan.cuda).into_iter().flat_map(of).collect();
    if !again.is_empty() {
        return again;
    }
    let host = || all().filter(|step| step.cuda.is_none_or(|cuda| cuda == plan.cuda));
    match host().find(|step| step.component == component && is_copy(step)) {
        Some(copied) => vec![copied],
        None => host().filter(|step| !is_copy(step)).collect(),
    }
}

/// The steps that make the files of a bundle, in the plan's order: its plan is the digest over their keys.
pub fn steps_of_bundle<'a>(plan: &'a BuildPlan, recipes: &RecipeMatrix, planned: &PlannedBundle) -> Vec<&'a Step> {
    let recipe = recipes.of(planned.cuda);
    let is_slice = planned.component == ComponentKind::Kernels && recipe.is_sliced();
    match planned.target {
        Some(target) if !is_slice => steps_of(plan, planned.cuda, target).collect(),
        _ => host_steps(plan, recipe, planned),
    }
}

fn manifest(inputs: &StageInputs<'_>, planned: &PlannedBundle) -> BundleManifest {
    let (recipe, plan) = (inputs.recipes.of(planned.cuda), inputs.plan);
    let is_kernels = planned.component == ComponentKind::Kernels;
    let steps = steps_of_bundle(plan, inputs.recipes, planned);
    let keys = steps.iter().fold(DigestBuilder::default(), |digest, step| digest.field(step.key.as_bytes()));
    // A core that holds all its device code meets no packages of it.
    let is_tied = match planned.component {
        ComponentKind::Core | ComponentKind::Rtc => recipe.ships_kernels(),
        component => component == ComponentKind::Kernels,
    };
    BundleManifest {
        kernel_abi: plan.kernel_abi.clone().filter(|_| is_tied),
        kernels: if is_kernels { recipe.kernels() } else { Vec::new() },
        exact: if is_kernels { recipe.exact() } else { BTreeMap::new() },
        smoke: recipe.smoke.clone().filter(|_| planned.component == ComponentKind::Core),
        device_sources: device_sources(recipe, plan.kernel_abi.as_ref())
            .filter(|_| planned.component == ComponentKind::Source),
        provenance: Provenance {
            simpack: env!("CARGO_PKG_VERSION").to_owned(),
            recipe: recipe_digest(recipe),
            plan: keys.finish(),
            tools: inputs.tools_of(planned),
            sources: if is_kernels { sources(&steps) } else { BTreeMap::new() },
            source_date_epoch: inputs.source_date_epoch,
        },
        ..planned.manifest(recipe)
    }
}

/// The kernel groups of a recipe that can be compiled from their sources alone, as a build that copies installs these.
fn device_sources(recipe: &Recipe, tag: Option<&KernelAbiTag>) -> Option<DeviceSources> {
    let is_plain = |group: &&KernelGroup| group.form == KernelForm::Cubin && group.generator.is_none();
    let groups: Vec<KernelGroup> = recipe.groups.iter().filter(is_plain).cloned().collect();
    let directory = format!("share/{}", recipe.name);
    let kernel_abi = tag.filter(|_| !groups.is_empty())?.clone();
    Some(DeviceSources { directory, groups, cuda: recipe.cuda, kernel_abi })
}

/// Digest over a resolved recipe, as packages name it. One more capability must change no other package, so
/// the list of targets stays out.
pub fn recipe_digest(recipe: &Recipe) -> fs::Digest {
    let text = serde_json::to_vec(&Recipe { targets: Vec::new(), ..recipe.clone() }).unwrap_or_default();
    fs::Digest::of(&text)
}

/// What device code was compiled from: the files in the keys of its steps.
fn sources(steps: &[&Step]) -> BTreeMap<String, Digest> {
    let parts = steps.iter().flat_map(|step| &step.parts);
    parts.filter_map(|part| Some((part.file()?.to_owned(), part.value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::VersionPolicy;

    fn claims(components: &[(ComponentKind, &[&str])]) -> Claims {
        let component = |(kind, files): &(ComponentKind, &[&str])| Component {
            kind: *kind,
            policy: VersionPolicy::Major,
            build: None,
            files: files.iter().map(ToString::to_string).collect(),
            variants: Vec::new(),
            uses: Vec::new(),
            opens: Vec::new(),
            sonames: Vec::new(),
            compile: None,
        };
        Claims::new(&components.iter().map(component).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_file_has_the_components_whose_globs_match_it() {
        let claims = claims(&[
            (ComponentKind::Core, &["lib/libsim.so.*", "bin/sim"]),
            (ComponentKind::Dev, &["lib/lib*.so", "include/**"]),
            (ComponentKind::Static, &["lib/*.a", "include/sim/static.h"]),
        ]);
        assert_eq!(claims.of("lib/libsim.so.1"), [ComponentKind::Core]);
        assert_eq!(claims.of("lib/libsim.so"), [ComponentKind::Dev]);
        assert_eq!(claims.of("include/sim/deep/a.h"), [ComponentKind::Dev]);
        assert_eq!(claims.of("include/sim/static.h"), [ComponentKind::Dev, ComponentKind::Static]);
        // `*` stays within one directory, and a name is matched whole.
        assert_eq!(claims.of("lib/plugins/libsim.so.1"), []);
        assert_eq!(claims.of("bin/sim-tool"), []);
    }

    #[test]
    fn globs_that_match_nothing_are_told() {
        let claims = claims(&[
            (ComponentKind::Core, &["lib/libsim.so.*", "lib/libold.so.*"]),
            (ComponentKind::Kernels, &["share/never/**"]),
        ]);
        let installed = BTreeMap::from([("lib/libsim.so.1".to_owned(), ())]);
        let expected = [(ComponentKind::Core, "lib/libold.so.*"), (ComponentKind::Kernels, "share/never/**")];
        assert_eq!(claims.empty(installed.keys()), expected.map(|(kind, glob)| (kind, glob.to_owned())));
        assert!(Claims::new(&[]).unwrap().empty(installed.keys()).is_empty());
    }
}

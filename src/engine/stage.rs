//! Stages artifacts into bundles: components by glob, device code by target, then the manifest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::cache::{CacheEntry, artifacts_with};
use super::run::BuildOutcome;
use crate::arch::KernelTarget;
use crate::bundle::{
    Artifact, ArtifactKind, Bundle, BundleManifest, KERNELS_LIST, KERNELS_SCHEMA, KernelsList, MANIFEST_SCHEMA,
    Provenance,
};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder};
use crate::plan::{Action, BuildPlan, PlannedBundle, Step, kernel_dir};
use crate::process::check_interrupted;
use crate::recipe::{BuildDriver, Component, ComponentKind, KernelForm, Recipe, UNNAMED_VARIANT};

/// What staging works on.
pub struct StageInputs<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// Its plan.
    pub plan: &'a BuildPlan,
    /// What the plan's steps made.
    pub outcome: &'a BuildOutcome,
    /// Stands in for every time stamp.
    pub source_date_epoch: u64,
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
}

/// A file with code for all targets, each of whose kernel bundles shall hold its own slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatFile {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// Where it lies now. Nothing may be written there.
    pub file: PathBuf,
    /// Owner's execute bit.
    pub executable: bool,
}

/// Lays every bundle of the plan out below the empty directory `root`.
pub fn stage(inputs: &StageInputs<'_>, root: &Path) -> Result<Staged> {
    let installed = installed(inputs)?;
    one_maker(inputs.plan, &installed)?;
    let claims = Claims::new(&inputs.recipe.components)?;
    let mut staged = Staged {
        bundles: Vec::new(),
        unclaimed: Vec::new(),
        claimed_twice: Vec::new(),
        // A build of kernels alone installs nothing, which says nothing about the globs.
        empty_globs: if has_host_step(inputs) { claims.empty(&installed) } else { Vec::new() },
        fat: Vec::new(),
    };
    let mut owner: BTreeMap<&str, ComponentKind> = BTreeMap::new();
    for path in installed.keys() {
        match claims.of(path).as_slice() {
            [] => staged.unclaimed.push(path.clone()),
            // What is cut is named one by one; core's globs may be those of all libraries.
            kinds if kinds.contains(&ComponentKind::Kernels) => {
                owner.insert(path, ComponentKind::Kernels);
            }
            [kind] => {
                owner.insert(path, *kind);
            }
            kinds => staged.claimed_twice.push((path.clone(), kinds.to_vec())),
        }
    }
    let cut = owner.iter().filter(|(_, kind)| **kind == ComponentKind::Kernels);
    staged.fat = cut.filter_map(|(path, _)| fat_file(installed[*path], path)).collect();
    for planned in &inputs.plan.bundles {
        check_interrupted()?;
        let bundle = Bundle::new(root.join(&planned.package), manifest(inputs, planned));
        fs_err::create_dir_all(&bundle.root)?;
        match planned.target {
            Some(target) if !inputs.recipe.is_sliced() => {
                staged.unclaimed.extend(stage_kernels(inputs, target, &bundle)?);
            }
            _ => {
                for (path, kind) in &owner {
                    let is_fat = *kind == ComponentKind::Kernels && fat_file(installed[*path], path).is_some();
                    if *kind == planned.component && !is_fat {
                        place(installed[*path], path, &bundle, path)?;
                    }
                }
            }
        }
        staged.bundles.push(bundle);
    }
    Ok(staged)
}

/// Completes a bundle once its files are final: the glibc floor, the artifacts, `simpack.json`.
pub fn seal(bundle: &mut Bundle) -> Result<()> {
    if bundle.manifest.form() == Some(KernelForm::Library) {
        list_again(bundle)?;
    }
    let list = bundle.manifest.path();
    bundle.manifest.artifacts = artifacts(bundle, "")?;
    bundle.manifest.artifacts.retain(|artifact| artifact.path != list);
    // The highest that any host file needs.
    bundle.manifest.glibc = bundle.host_facts()?.iter().filter_map(|(_, facts)| facts.glibc()).max();
    let mut text = serde_json::to_vec_pretty(&bundle.manifest)
        .map_err(|error| Error::bug("a manifest does not print as JSON").because(error))?;
    text.push(b'\n');
    fs::write_atomic(&bundle.root.join(list), &text)
}

fn has_host_step(inputs: &StageInputs<'_>) -> bool {
    host_steps_of_all(inputs.plan).next().is_some()
}

/// Host steps whose files are claimed by globs: those of a plug-in library have their place.
fn host_steps_of_all(plan: &BuildPlan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.action, Action::Host { target: None, .. }))
}

/// Every installed file with the cache entry that holds it.
fn installed<'a>(inputs: &'a StageInputs<'_>) -> Result<BTreeMap<String, &'a CacheEntry>> {
    let mut installed = BTreeMap::new();
    for step in host_steps_of_all(inputs.plan) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        for artifact in &entry.artifacts {
            if installed.insert(artifact.path.clone(), entry).is_some() {
                return Err(Error::build(format!("two host builds install {}", artifact.path))
                    .hint("install it by one of them"));
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

    fn empty<V>(&self, installed: &BTreeMap<String, V>) -> Vec<(ComponentKind, String)> {
        let all = self.0.iter().flat_map(|(kind, globs)| globs.iter().map(move |(text, glob)| (*kind, text, glob)));
        all.filter(|(_, _, glob)| !installed.keys().any(|path| glob.is_match(path)))
            .map(|(kind, text, _)| (kind, text.clone()))
            .collect()
    }
}

/// A claimed artifact that is a file, and no link.
fn fat_file(entry: &CacheEntry, path: &str) -> Option<FatFile> {
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path)?;
    match artifact.kind {
        ArtifactKind::File { executable, .. } => {
            Some(FatFile { path: path.to_owned(), file: entry.root.join(path), executable })
        }
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
    let target = bundle.root.join(to);
    if let Some(parent) = target.parent() {
        fs_err::create_dir_all(parent)?;
    }
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path);
    match artifact.map(|artifact| &artifact.kind) {
        Some(ArtifactKind::Link { to }) => fs_err::os::unix::fs::symlink(to, &target)?,
        Some(ArtifactKind::File { executable, sha256, .. }) => {
            fs_err::copy(entry.root.join(path), &target)?;
            bundle.files.file(to).written(*sha256);
            // The build system's umask must not reach a package.
            fs::set_mode(&target, if *executable { 0o755 } else { 0o644 })?;
        }
        None => return Err(Error::bug(format!("{path} is not in its cache entry"))),
    }
    Ok(())
}

/// Lays out the modules of a target, each directory with its list; answers what was installed and is none.
fn stage_kernels(inputs: &StageInputs<'_>, target: KernelTarget, bundle: &Bundle) -> Result<Vec<String>> {
    let mut variants: Vec<&str> = Vec::new();
    let mut others = Vec::new();
    let Some(tag) = &inputs.plan.kernel_abi else { return Ok(others) };
    for step in steps_of(inputs.plan, target) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        match &step.action {
            Action::Kernel { output, variant, .. } => {
                place(entry, super::step::cached_name(step), bundle, output)?;
                variants.push(variant);
            }
            Action::Host { .. } => {
                let (variant, name) = (UNNAMED_VARIANT, inputs.recipe.plugin(target));
                let installed = format!("lib/{name}");
                if !entry.artifacts.iter().any(|artifact| artifact.path == installed) {
                    return Err(Error::build(format!("{} installs no {installed}", step.id))
                        .hint("name the library by `{target}` in the options of the build of component `kernels`"));
                }
                let dir = kernel_dir(inputs.recipe, tag, variant, target);
                place(entry, &installed, bundle, &format!("{dir}/{name}"))?;
                others.extend(entry.artifacts.iter().map(|file| file.path.clone()).filter(|path| *path != installed));
                variants.push(variant);
            }
        }
    }
    variants.sort_unstable();
    variants.dedup();
    let kernels = inputs.recipe.kernels();
    for variant in variants {
        let dir = kernel_dir(inputs.recipe, tag, variant, target);
        let list = KernelsList {
            schema: KERNELS_SCHEMA,
            kernel_abi: tag.clone(),
            target,
            cuda: inputs.plan.cuda,
            variant: variant.to_owned(),
            modules: artifacts(bundle, &dir)?,
            kernels: kernels.clone(),
            compilers: compilers(inputs.plan),
        };
        write_list(&bundle.root.join(&dir), &list)?;
    }
    Ok(others)
}

fn write_list(dir: &Path, list: &KernelsList) -> Result<()> {
    let mut text =
        serde_json::to_vec_pretty(list).map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
    text.push(b'\n');
    fs::write_atomic(&dir.join(KERNELS_LIST), &text)
}

/// Plug-in libraries have got their search path since they were listed.
fn list_again(bundle: &Bundle) -> Result<()> {
    for entry in fs::walk(&bundle.root)?.into_iter().filter(|entry| entry.path.ends_with(KERNELS_LIST)) {
        let path = bundle.root.join(&entry.path);
        let Some((dir, _)) = entry.path.rsplit_once('/') else { continue };
        let mut list: KernelsList = serde_json::from_slice(&fs_err::read(&path)?)
            .map_err(|error| Error::bug("a list that was just written is not JSON").because(error))?;
        fs_err::remove_file(&path)?;
        list.modules = artifacts(bundle, dir)?;
        write_list(&bundle.root.join(dir), &list)?;
        bundle.files.forget(&entry.path);
    }
    Ok(())
}

fn compilers(plan: &BuildPlan) -> BTreeMap<String, String> {
    let kernel_tools = plan.tools.iter().filter(|(name, _)| name.contains("nvcc") || name.contains("nvvm"));
    kernel_tools.map(|(name, tool)| (name.clone(), tool.version.clone())).collect()
}

fn steps_of(plan: &BuildPlan, target: KernelTarget) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(move |step| step.target() == Some(target))
}

/// Host steps that may have made files of a component. What is copied out of the source needs no other.
fn host_steps(plan: &BuildPlan, component: ComponentKind) -> Vec<&Step> {
    let is_copy = |step: &&Step| matches!(step.action, Action::Host { driver: BuildDriver::Copy, .. });
    let host = || host_steps_of_all(plan);
    match host().find(|step| step.component == component && is_copy(step)) {
        Some(copied) => vec![copied],
        None => host().filter(|step| !is_copy(step)).collect(),
    }
}

fn manifest(inputs: &StageInputs<'_>, planned: &PlannedBundle) -> BundleManifest {
    let (recipe, plan) = (inputs.recipe, inputs.plan);
    let component = recipe.component(planned.component);
    let is_kernels = planned.component == ComponentKind::Kernels;
    let is_slice = is_kernels && recipe.is_sliced();
    let has_host_code = match planned.component {
        ComponentKind::Core | ComponentKind::Rtc | ComponentKind::Dev | ComponentKind::Static => true,
        ComponentKind::Kernels => recipe.form().is_some_and(KernelForm::has_host_code),
        ComponentKind::Source | ComponentKind::Meta => false,
    };
    let steps: Vec<&Step> = match planned.target {
        Some(target) if !is_slice => steps_of(plan, target).collect(),
        _ => host_steps(plan, planned.component),
    };
    let keys = steps.iter().fold(DigestBuilder::default(), |digest, step| digest.field(step.key.as_bytes()));
    BundleManifest {
        schema: MANIFEST_SCHEMA,
        package: planned.package.clone(),
        simulator: recipe.name.clone(),
        version: recipe.version,
        component: planned.component,
        policy: component.map_or(crate::arch::VersionPolicy::Major, |component| component.policy),
        platform: has_host_code.then_some(recipe.platform),
        target: planned.target,
        cuda: (is_kernels && planned.target != Some(KernelTarget::Cpu) || planned.component == ComponentKind::Rtc)
            .then_some(recipe.cuda),
        kernel_abi: matches!(planned.component, ComponentKind::Core | ComponentKind::Rtc | ComponentKind::Kernels)
            .then(|| plan.kernel_abi.clone())
            .flatten(),
        kernels: if is_kernels { recipe.kernels() } else { Vec::new() },
        glibc: None,
        uses: component.map(|component| component.uses.clone()).unwrap_or_default(),
        opens: component.map(|component| component.opens.clone()).unwrap_or_default(),
        artifacts: Vec::new(),
        smoke: recipe.smoke.clone().filter(|_| planned.component == ComponentKind::Core),
        provenance: Provenance {
            simpack: env!("CARGO_PKG_VERSION").to_owned(),
            recipe: recipe_digest(recipe),
            plan: keys.finish(),
            tools: plan.tools.clone(),
            sources: if is_kernels { sources(&steps) } else { BTreeMap::new() },
            source_date_epoch: inputs.source_date_epoch,
        },
    }
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
            uses: Vec::new(),
            opens: Vec::new(),
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
        assert_eq!(claims.empty(&installed), expected.map(|(kind, glob)| (kind, glob.to_owned())));
        assert!(Claims::new(&[]).unwrap().empty(&installed).is_empty());
    }
}

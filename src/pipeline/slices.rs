//! Kernel groups of the form `slice`: the libraries that a component's build left are cut to the target of each
//! kernel bundle. Each library is opened once, and planned for all bundles before the first slice is written.

use std::path::Path;

use super::search_paths::{self, Libraries};
use crate::arch::KernelTarget;
use crate::bundle::Bundle;
use crate::engine::{FatFile, Staged};
use crate::error::{Error, Result};
use crate::fs::{self, Content, Tree};
use crate::gpu::slice::{FreedSpace, LtoRule, PtxRule, SliceError, SliceSpec, plan};
use crate::manifest::Manifests;
use crate::process::check_interrupted;
use crate::recipe::{ComponentKind, Recipe, RecipeMatrix};
use crate::slice::write_slice;
use crate::verify::ReplacedSearchPath;

/// Kernels that an error names.
const NAMED: usize = 8;

/// What a kernel package for `target` holds of a library: exactly the code for it, and nothing for the CPU.
pub(crate) fn slice_for(target: KernelTarget) -> SliceSpec {
    let ptx = if matches!(target, KernelTarget::Ptx(_)) { PtxRule::Only } else { PtxRule::Drop };
    SliceSpec { capabilities: target.capability().into_iter().collect(), ptx, lto: LtoRule::Drop, deep: false }
}

/// Puts a slice of every fat file into every kernel bundle; `scratch` is an empty directory beside the bundles.
///
/// # Errors
/// No file is there to cut, none of them holds device code, or kernels would have no code for a target.
pub(crate) fn cut(
    recipes: &RecipeMatrix,
    manifests: &Manifests,
    libraries: &Libraries,
    staged: &Staged,
    scratch: &Path,
) -> Result<Vec<ReplacedSearchPath>> {
    let recipe = recipes.own();
    let mut replaced = Vec::new();
    if !recipe.is_sliced() {
        return Ok(replaced);
    }
    let mut with_code = false;
    for fat in &staged.fat {
        with_code |= cut_one(recipe, (manifests, libraries), staged, fat, scratch, &mut replaced)?;
    }
    let has_kernels = staged.bundles.iter().any(|bundle| bundle.manifest.component == ComponentKind::Kernels);
    if with_code || !has_kernels {
        return Ok(replaced);
    }
    let mut names: Vec<&str> = staged.fat.iter().map(|fat| fat.path.as_str()).collect();
    names.dedup();
    let error = Error::build("no file that the kernel groups name holds device code to cut");
    let error = match names.as_slice() {
        [] => error.detail("their globs match nothing that was installed"),
        names => error.detail(format!("looked into {}", names.join(", "))),
    };
    Err(error.hint("let `files` of the kernel group name the library that the build compiles device code into"))
}

/// Slices of one file; answers whether it holds device code. Without any it is in every bundle as it is.
fn cut_one(
    recipe: &Recipe,
    (manifests, libraries): (&Manifests, &Libraries),
    staged: &Staged,
    fat: &FatFile,
    scratch: &Path,
    replaced: &mut Vec<ReplacedSearchPath>,
) -> Result<bool> {
    // The search path is the same in all slices: it is set once.
    let file = scratch.join(fat.path.replace('/', "!"));
    fs_err::create_dir_all(scratch)?;
    fs_err::copy(&fat.file, &file)?;
    fs::set_mode(&file, if fat.executable { 0o755 } else { 0o644 })?;
    let patched = search_paths::set(recipe, manifests, libraries, &file, &fat.path)?;
    let content = Content::open(&file)?;
    let mut plans = Vec::new();
    let is_cut = |bundle: &&Bundle| {
        let Bundle { manifest, .. } = bundle;
        manifest.component == ComponentKind::Kernels && manifest.cuda.unwrap_or(recipe.cuda) == fat.cuda
    };
    for bundle in staged.bundles.iter().filter(is_cut) {
        let Some(target) = bundle.manifest.target else { continue };
        replaced.extend(patched.replaced_in(bundle, &fat.path));
        let ask = slice_for(target);
        let planned = match plan(content.bytes(), &ask, FreedSpace::Cut, manifests) {
            Ok(planned) => Some(planned),
            // Nothing to cut, or no file of code at all.
            Err(SliceError::Nothing | SliceError::Elf(_)) => None,
            Err(SliceError::Code(error)) => return Err(error.at(Path::new(&fat.path))),
        };
        if let Some(losses) = planned.as_ref().map(|plan| &plan.losses).filter(|losses| !losses.is_empty()) {
            let mut kernels: Vec<&str> =
                losses.iter().flat_map(|loss| loss.kernels.iter().map(String::as_str)).collect();
            kernels.sort_unstable();
            kernels.dedup();
            let error = Error::build(format!("{} kernels of {} have no code for {target}", kernels.len(), fat.path));
            let error = kernels.iter().take(NAMED).fold(error, |error, kernel| error.detail(*kernel));
            return Err(error
                .hint("compile for what the matrix lists: {cuda-architectures} and {cuda-gencode} name it in options")
                .hint(
                    "separately compiled code (-rdc) is linked by the driver for what it has PTX of in every object",
                ));
        }
        plans.push((bundle.root.as_path(), ask, planned));
    }
    let with_code = plans.iter().any(|(_, _, plan)| plan.is_some());
    for (root, ask, plan) in plans {
        check_interrupted()?;
        match plan {
            Some(plan) => {
                write_slice(&file, &Tree::at(root)?.place(&fat.path)?, &plan, FreedSpace::Cut, &ask, manifests)?;
            }
            None => Tree::at(root)?.copy(&fs::open(&file)?, &fat.path, None)?,
        }
    }
    drop(content);
    fs_err::remove_file(&file)?;
    Ok(with_code)
}

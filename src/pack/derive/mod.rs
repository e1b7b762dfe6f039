//! Derives every package from the recipe and its bundles: names, pins, run-exports, conditions.
//!
//! ```text
//! volley ──────────── core of this version, selector, shaders of the lowest environment or of all (`fallback = "all"`)
//! volley-core ─────── kernel-abi (tag), glibc               exports core within its major
//! volley-rtc ──────── core within its minor, NVRTC          exports rtc within its minor
//! volley-dev ──────── exactly this core                     exports core within its major
//! volley-kernels ──── selector: one of volley-kernels-sm_90 … , PTX, all, nothing (CPU)
//! volley-kernels-all  every volley-kernels-* of a CUDA release (`fallback = "all"`)
//! volley-kernels-* ── kernel-abi (tag)
//! volley-shaders-* ── kernel-abi (tag)
//! ```
//!
//! Of a simulator whose libraries ship whole, cut to one capability, the packages hold the same paths. An environment
//! holds one of them, because each depends on a build of its own of one package, which holds nothing else:
//! ```text
//! volley-core ─────── volley-kernels of this version, which brings exactly one of the libraries
//! volley-kernels-* ── volley-slice (target)
//! ```

mod components;
mod derivation;
mod selectors;
mod ties;

pub use derivation::{BundleKey, PackContext, key};

use self::derivation::Derivation;
use crate::arch::KernelTarget;
use crate::bundle::Bundle;
use crate::error::Result;
use crate::package::{Package, PackageKind};
use crate::recipe::{ComponentKind, Recipe};

/// All packages of a distribution, in the order in which they build on each other.
///
/// Packages follow from the bundles that are there: a partial build (`--capability 9.0`) gives a
/// selector over what it built, and a build without core gives no metapackage.
///
/// # Errors
/// A bundle contradicts the recipe, or a time stamp fits no archive.
pub fn packages(recipe: &Recipe, bundles: &[Bundle], context: &PackContext<'_>) -> Result<Vec<Package>> {
    let derivation =
        Derivation { recipe, bundles, context, tag: recipe.kernel_abi_tag().filter(|_| recipe.ships_kernels()) };
    derivation.check()?;
    let mut packages = Vec::new();
    if let Some(tag) = derivation.tag.as_ref().filter(|_| !bundles.is_empty()) {
        packages.push(derivation.kernel_abi(tag));
    }
    let mut slots: Vec<KernelTarget> = Vec::new();
    for target in bundles.iter().filter(|bundle| bundle.manifest.is_slice()).filter_map(|bundle| bundle.manifest.target)
    {
        if !slots.contains(&target) {
            packages.push(derivation.slot(target));
            slots.push(target);
        }
    }
    let mut bundled: Vec<&Bundle> = bundles.iter().collect();
    bundled.sort_by_key(|Bundle { manifest, .. }| (manifest.component, manifest.target, key(manifest)));
    for bundle in bundled {
        packages.push(match bundle.manifest.component {
            ComponentKind::Core => derivation.core(bundle),
            ComponentKind::Rtc => derivation.rtc(bundle),
            ComponentKind::Kernels => derivation.kernels(bundle),
            ComponentKind::Dev => derivation.dev(bundle, &packages)?,
            ComponentKind::Static => derivation.r#static(bundle, &packages)?,
            ComponentKind::Python => derivation.python(bundle),
            ComponentKind::Source => derivation.of_bundle(PackageKind::Component, bundle),
            ComponentKind::Meta => continue,
        });
    }
    packages.extend(derivation.all_kernels(&packages)?);
    packages.extend(derivation.selectors(&packages)?);
    packages.extend(derivation.meta(&packages));
    Ok(packages)
}

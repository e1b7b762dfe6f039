//! Packages whose only use is that an environment holds one build of them.

use std::collections::BTreeMap;

use serde_json::json;

use super::derivation::Derivation;
use crate::arch::{KernelAbiTag, KernelTarget, Version, VersionPolicy};
use crate::bundle::{BundleManifest, Provenance};
use crate::fs::DigestBuilder;
use crate::package::{KERNEL_ABI_VERSION, Package, PackageKind, SLOT_VERSION, kernel_abi_name, slot_name};
use crate::recipe::ComponentKind;

impl Derivation<'_> {
    /// The package that ties kernels to a core: nothing in it but its manifest. It is a function
    /// of the simulator's name, the tag and the kernel table alone, so that two releases that
    /// share a tag publish the same file; hence the fixed time and the schema as version.
    pub(super) fn kernel_abi(&self, tag: &KernelAbiTag) -> Package {
        let kernels = self.recipe.kernels();
        let table = json!(kernels).to_string();
        let digest = DigestBuilder::default().field("kernel-abi").field(tag.to_string()).field(table).finish();
        let manifest = BundleManifest {
            kernel_abi: Some(tag.clone()),
            kernels,
            provenance: Provenance::fixed(digest),
            ..self.empty(kernel_abi_name(&self.recipe.name), ComponentKind::Kernels)
        };
        let summary = format!("ties {} kernels to a core with the same kernel table", self.recipe.name);
        self.tie(PackageKind::KernelAbi(tag.clone()), KERNEL_ABI_VERSION, manifest, summary)
    }

    /// The package by which the slices exclude each other: an environment holds one build of a package. It is a
    /// function of the simulator's name and the target alone, so one more capability changes no other package.
    pub(super) fn slot(&self, target: KernelTarget) -> Package {
        let digest = DigestBuilder::default().field("slice").field(target.to_string()).finish();
        let manifest = BundleManifest {
            provenance: Provenance::fixed(digest),
            ..self.empty(slot_name(&self.recipe.name), ComponentKind::Kernels)
        };
        let summary = format!("lets an environment have {} for one target only: {target}", self.recipe.name);
        self.tie(PackageKind::Slot(target), SLOT_VERSION, manifest, summary)
    }

    /// A package whose only use is that an environment holds one build of it. Two releases publish the same file, so
    /// nothing is in it that may differ between them: no licence, home page, time or build number.
    pub(super) fn tie(&self, kind: PackageKind, version: u32, manifest: BundleManifest, summary: String) -> Package {
        let numbers = Version::new(version.into(), 0, 0);
        let manifest = BundleManifest { version: numbers, policy: VersionPolicy::Capability, ..manifest };
        let mut package = self.package(kind, manifest, None);
        package.manifest.licences.clear();
        package.manifest.license = None;
        Package {
            version: version.into(),
            build_number: 0,
            scale: 0,
            licences: BTreeMap::new(),
            summary,
            homepage: None,
            ..package
        }
    }
}

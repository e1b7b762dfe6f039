//! The lints over device code: what packages may hold of it, what it reaches, which driver it needs.

mod code;
mod core_layout;
mod coverage;
mod driver;
mod kernels;
mod layout;
mod lists;
mod modules;
mod nvrtc;
mod shaders;
mod toolchain;

use crate::lint::Predicate;
use crate::verify::BundleFacts;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    let subjects = [
        code::predicates(),
        core_layout::predicates(),
        coverage::predicates(),
        driver::predicates(),
        kernels::predicates(),
        lists::predicates(),
        nvrtc::predicates(),
        shaders::predicates(),
        toolchain::predicates(),
    ];
    subjects.into_iter().flatten().collect()
}

//! `simpack.lock`: every digest that a build of a recipe takes from outside, beside the recipe.
//!
//! `model` is the file, `settle` decides what of an older lock still holds for a recipe. A source that
//! is a directory is not in it: its files are the recipe's own, and version control keeps them.

mod model;
mod settle;

pub use model::{
    DEPENDENCIES, LOCK_EDITION, LOCK_FILE, Lock, LockedDependencies, LockedHost, LockedPackage, LockedPart,
    LockedSource, LockedTool, LockedVariant, LockedWheel,
};
pub use settle::{Change, Kept, Settled, Update, kept, settle};

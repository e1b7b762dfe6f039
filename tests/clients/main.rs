//! Packages as values, as bytes, and as a real client sees them.

mod packages;
mod sample;
#[path = "../suite/support/skip.rs"]
mod skip;
mod solver;

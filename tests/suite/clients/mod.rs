//! Packages as values, as bytes, and as a real client sees them.

mod channel;
mod packages;
pub mod sample;
mod solver;

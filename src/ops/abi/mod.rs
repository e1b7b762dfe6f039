//! `simpack abi`: records interfaces, compares them, and finds the floor of a consumer.

mod diff;
mod dump;
mod floor;
mod second;
mod subject;
mod update;

pub(crate) use diff::DiffAnswer;
pub use diff::{DiffRequest, diff};
pub use dump::dump;
pub use floor::floor;
pub use update::{UpdateRequest, update};

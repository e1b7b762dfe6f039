//! `simpack select`: which packages to install for this machine, or for one that is described.

mod answer;
mod run;

pub use answer::{FromWheels, Machine, SELECT_SCHEMA, Selected, Selection};
pub use run::{Format, SelectRequest, run};

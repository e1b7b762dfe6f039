//! `simpack select`: which packages to install for this machine, or for one that is described.

mod answer;
mod files;
mod pixi;
mod run;
mod variants;

pub use answer::{FromWheels, Machine, SELECT_SCHEMA, Selected, Selection};
pub use files::FileFormat;
pub use run::{Format, SelectRequest, run};
pub use variants::VariantChoice;

//! Packages of conda: match specs, build strings, channels and `.conda` archives. Nothing outside this module makes one.

mod archive;
mod channel;
mod info;
mod read;
mod selection;
mod specs;

pub use self::{
    archive::Conda,
    channel::index,
    specs::{BuildText, Specs, build_text},
};
pub use read::{INDEX, INFO, PATHS, Record, Wanted, exactly, records, spelled, version};
pub use selection::{Selection, selection};

//! Packages of conda: match specs, build strings, channels and `.conda` archives. Nothing outside this module makes one.

mod archive;
mod channel;
mod info;
mod selection;
mod specs;
mod wanted;

pub use self::{
    archive::Conda,
    channel::index,
    specs::{BuildText, Specs, build_text},
};
pub use selection::{Selection, selection};
pub use wanted::{Wanted, wanted};

//! Packages of conda: match specs, build strings, channels and `.conda` archives. Nothing outside this module makes one.

mod archive;
mod channel;
mod info;
mod specs;

pub use archive::Conda;
pub use channel::index;
pub use specs::{BuildText, Selection, Specs, Wanted, build_text, selection, wanted};

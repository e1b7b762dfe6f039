//! Packages of conda: match specs, build strings, channels and `.conda` archives. Nothing outside this module makes one.

#[cfg(feature = "tool")]
mod archive;
#[cfg(feature = "tool")]
mod channel;
#[cfg(feature = "tool")]
mod info;
mod selection;
#[cfg(feature = "tool")]
mod specs;
mod wanted;

#[cfg(feature = "tool")]
pub use self::{
    archive::Conda,
    channel::index,
    specs::{BuildText, Specs, build_text},
};
pub use selection::{Selection, selection};
pub use wanted::{Wanted, wanted};

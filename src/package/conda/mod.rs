//! Packages of conda: match specs, build strings, channels and `.conda` archives. Nothing outside this module makes one.

mod archive;
mod channel;
mod entry;
mod hash;
mod info;
mod install;
mod kept;
mod pixi;
mod read;
mod selection;
mod shards;
mod solve;
mod specs;

pub use self::{
    archive::{Conda, CondaArchive},
    channel::index,
    install::{Installation, Installed},
    pixi::PixiManifest,
    solve::{ChannelIndex, Chosen, Wishes, solve},
    specs::{BuildText, Specs, build_text, of_variant},
};
pub use read::{INDEX, INFO, PATHS, Record, Wanted, exactly, records, spelled, version};
pub use selection::{Selection, selection};

//! One file per verb: the places where the modules of floor 4 meet through values of lower floors.

#[cfg(feature = "tool")]
pub mod abi;
#[cfg(feature = "tool")]
pub mod amount;
#[cfg(feature = "tool")]
pub mod build;
#[cfg(feature = "tool")]
pub mod cache;
#[cfg(feature = "tool")]
pub mod check;
#[cfg(feature = "tool")]
pub mod config;
#[cfg(feature = "tool")]
pub mod doctor;
#[cfg(feature = "tool")]
pub mod generate;
#[cfg(feature = "tool")]
pub mod init;
pub mod inspect;
#[cfg(feature = "tool")]
pub mod lints;
#[cfg(feature = "tool")]
pub mod lock;
#[cfg(feature = "tool")]
pub mod patch;
#[cfg(feature = "tool")]
pub mod plan;
#[cfg(feature = "tool")]
pub mod reach;
#[cfg(feature = "tool")]
pub mod rebuild;
#[cfg(feature = "tool")]
pub mod request;
#[cfg(feature = "tool")]
pub mod resolve;
#[cfg(feature = "tool")]
pub mod schema;
#[cfg(feature = "tool")]
pub mod select;
#[cfg(feature = "tool")]
pub mod slice;
#[cfg(feature = "tool")]
pub mod smoke;
#[cfg(feature = "tool")]
pub mod toolchain;
#[cfg(feature = "tool")]
pub mod verify;

#[cfg(feature = "tool")]
mod built;
#[cfg(feature = "tool")]
mod compare;
#[cfg(feature = "tool")]
mod dist;
#[cfg(feature = "tool")]
mod generated;
#[cfg(feature = "tool")]
mod hygiene;
#[cfg(feature = "tool")]
mod job;
#[cfg(feature = "tool")]
mod packages;
#[cfg(feature = "tool")]
mod recipe_dir;
#[cfg(feature = "tool")]
mod recipes;
#[cfg(feature = "tool")]
mod slices;
#[cfg(feature = "tool")]
mod sources;
#[cfg(feature = "tool")]
mod summary;
#[cfg(feature = "tool")]
mod symbols;
#[cfg(feature = "tool")]
mod tools;
#[cfg(feature = "tool")]
mod unchanged;
#[cfg(feature = "tool")]
mod watched;
#[cfg(feature = "tool")]
mod why;

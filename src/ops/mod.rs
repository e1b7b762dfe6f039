//! One file per verb: the places where the modules of floor 4 meet through values of lower floors.

pub mod abi;
pub mod amount;
pub mod build;
pub mod cache;
pub mod check;
pub mod config;
pub mod doctor;
pub mod init;
pub mod inspect;
pub mod lock;
pub mod patch;
pub mod plan;
pub mod rebuild;
pub mod request;
pub mod resolve;
pub mod schema;
pub mod slice;
pub mod toolchain;
pub mod verify;

mod compare;
mod dist;
mod hygiene;
mod job;
mod packages;
mod recipe_dir;
mod recipes;
mod sources;
mod summary;
mod symbols;
mod tools;
mod unchanged;
mod why;

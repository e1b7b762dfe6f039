//! One file per verb: the places where the modules of floor 4 meet through values of lower floors.

pub mod abi;
pub mod build;
pub mod cache;
pub mod check;
pub mod config;
pub mod doctor;
pub mod generate;
pub mod init;
pub mod inspect;
pub mod lints;
pub mod lock;
pub mod patch;
pub mod plan;
pub mod reach;
pub mod rebuild;
pub mod resolve;
pub mod schema;
pub mod select;
pub mod slice;
pub mod smoke;
pub mod toolchain;
pub mod verify;

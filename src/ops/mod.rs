//! The verbs of the command line, one module each; none imports another, and what several of them need lies on a
//! lower floor.

pub mod abi;
pub mod build;
pub mod cache;
pub mod check;
pub mod compile;
pub mod compose;
pub mod config;
pub mod doctor;
pub mod generate;
pub mod init;
pub mod inspect;
pub mod lock;
pub mod patch;
pub mod patch_source;
pub mod plan;
pub mod publish;
pub mod rebuild;
pub mod resolve;
pub mod schema;
pub mod select;
pub mod slice;
pub mod toolchain;
pub mod vendor;
pub mod verify;

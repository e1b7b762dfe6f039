//! `simpack compile`: what a package leaves to the user's machine, made there: device code for its GPUs, and what users
//! write themselves.
//!
//! `installed` finds the packages and trusts none of them, `gpus` and `compilers` say what there is to compile for and with,
//! `kernels` and `model` make a tree each, `kept` puts it where loaders look and knows what is there already.

mod compilers;
mod gpus;
mod installed;
mod kept;
mod kernels;
mod model;
mod place;
mod report;
mod request;
mod run;

pub use report::Compiled;
pub use request::CompileRequest;
pub use run::compile;

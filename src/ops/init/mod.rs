//! `simpack init`: starts a recipe, with a simulator that builds or for a project that is there.

mod cmake;
mod draft;
mod here;
mod run;
mod sample;
mod survey;
mod write;

pub use draft::Shape;
pub use run::{InitRequest, Project, Start, init};
pub use sample::Sample;

//! `simpack doctor`: what this machine has, what is wrong with it, and what would fix it.

mod redaction;
mod repair;
mod run;

pub use run::{DoctorRequest, explain, list, run};

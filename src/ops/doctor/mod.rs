//! `simpack doctor`: what this machine has, what is wrong with it, and what would fix it.

mod record;
mod repair;
mod run;

pub use record::{DOCTOR_SCHEMA, DoctorJson};
pub use run::{DoctorRequest, explain, list, run};

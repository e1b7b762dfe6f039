//! `simpack doctor`: what this machine has, what is wrong with it, and what would repair it.

mod fix;
mod record;
mod run;

pub use record::{DOCTOR_SCHEMA, DoctorJson};
pub use run::{DoctorRequest, explain, list, run};

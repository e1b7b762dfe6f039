//! What is wrong with a machine, and the page that says what is there.
//!
//! Everything here is a function of a [`Machine`](crate::machine::Machine) and the manifests, so a recorded machine
//! gets the report that it got where it was recorded.

mod by_device;
mod facts;
mod fix;
mod foreign;
mod lints;
mod page;
mod record;
mod serve;
pub mod smoke;

pub use by_device::{ByDevice, FileByDevice};
pub use facts::{Facts, FailedRun};
pub use fix::{Action, INSTALLER, actions};
pub use foreign::Foreign;
pub use lints::{examine, registry};
pub use page::{PageOptions, page};
pub use record::{DOCTOR_SCHEMA, DoctorJson, Recorded};
pub use serve::PrefixFit;

//! Settings of the user: one table of them, a file, `SIMPACK_*` variables, and where each value came from.
//!
//! `table` is the single list that reading, `simpack config --list` and the book follow; `read` makes a
//! [`Config`] of a file and an environment.

mod read;
mod table;

pub use read::{Config, Origin, Value, current, environment, start};
pub use table::{ENVIRONMENT, Kind, LIMITS, SECRETS, SETTINGS, Setting};

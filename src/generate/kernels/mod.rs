//! What is generated of kernel tables: a page for people, structures for the host.

pub(super) mod docs;
pub(super) mod kernel_table;
pub(super) mod structures;

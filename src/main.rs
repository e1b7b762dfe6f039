//! The `simpack` program.
fn main() {}

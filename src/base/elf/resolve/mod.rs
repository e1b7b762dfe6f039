//! Which files a loader takes, and why: glibc's and musl's rules over a [`Tree`] of files, a [`Loader`]
//! (the machine as a value) and an [`Environment`].
//!
//! [`Process::start`] loads a program or a library with all it needs, [`Process::first`] what it names itself, [`Process::open`] what is opened
//! at run time, [`Process::finish`] answers. Nothing is executed. Left out: `dlmopen` namespaces,
//! `LD_AUDIT`, the order of constructors.

mod answer;
mod enter;
mod files;
mod load;
mod loader;
mod lookup;
mod minimal;
mod object;
mod process;
mod remembered;
#[cfg(test)]
mod tests;
mod tree;
mod versions;

pub use answer::file_name;
pub use answer::{Candidate, End, Link, LoadedObject, MissingVersion, Outcome, PathEntry, Resolution, Rule};
pub use load::{Open, Refusal};
pub use loader::{Cpu, Environment, Libc, Loader};
pub use lookup::tokens::normal;
pub use minimal::library_named;
pub use object::{NeedKind, Object, Rejection, read_object};
pub use process::Process;
pub use remembered::Remembered;
pub use tree::{FileId, MemoryTree, OpenFile, Opened, Source, Tree};

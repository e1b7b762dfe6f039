//! The interface of libraries: recorded ([`Baseline`]), compared ([`compare`]), and looked up per
//! symbol ([`SymbolsFile`], [`floor`]).
//!
//! All of it is over the dynamic symbols, so it holds for stripped files, and it says so: what types
//! changed inside a pointer's target is not seen here ([`Depth`]).

mod advice;
mod baseline;
mod change;
mod compare;
mod floor;
mod interface;
mod symbols;

pub use advice::{Advice, Verdict, advise};
pub use baseline::{BASELINE_SCHEMA, Baseline};
pub use change::{Change, ChangeKind, Weight};
pub use compare::{compare, compare_files, compare_libraries};
pub use floor::{Floor, dependencies, floor};
pub use interface::{Depth, Interface, Offer, SymbolName};
pub use symbols::{Recorded, SymbolsFile, Update};

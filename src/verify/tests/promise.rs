//! Interfaces against the recipe's symbols files.

use super::fixture::{Tree, context, report, said};
use crate::abi::SymbolsFile;
use crate::report::Level;

fn context_with(text: &str) -> crate::verify::VerifyContext {
    let text = format!("simpack-symbols 1\nlibrary libvolley.so.1\npackage volley-core\npolicy major\n\n{text}");
    context().symbols(vec![SymbolsFile::parse(&text).unwrap()])
}

#[test]
fn what_a_release_had_stays() {
    let core = Tree::core().library("lib/libvolley.so.1", &[]).seal();
    assert_eq!(said(&report(&[&core], &context_with("answer 1.0.0\n"))), [""; 0]);
    let lost = report(&[&core], &context_with("answer 1.0.0\nold 1.0.0\n"));
    assert_eq!(
        said(&lost),
        [
            "abi-broken | volley-core: lib/libvolley.so.1 | lacks 1 symbol that earlier releases have; 1.2.0 cannot be its version"
        ]
    );
    assert_eq!(lost.findings[0].level, Level::Deny);
    assert_eq!(
        lost.findings[0].fix.as_deref(),
        Some("bring them back, or release it as 2.0.0, which policy `major` asks for")
    );
    // Gone before this release, or of a later one: nothing was promised.
    assert_eq!(said(&report(&[&core], &context_with("answer 1.0.0\nold 1.0.0 gone 1.1.0\nnew 1.3.0\n"))), [""; 0]);
}

#[test]
fn what_is_new_is_recorded() {
    let core = Tree::core().library("lib/libvolley.so.1", &[]).seal();
    let new = report(&[&core], &context_with("first 1.2.0 gone 1.2.0\n"));
    assert_eq!(
        said(&new),
        ["abi-unrecorded | volley-core: lib/libvolley.so.1 | exports 1 symbol that its symbols file does not know"]
    );
    assert_eq!(new.findings[0].level, Level::Warn);
    assert_eq!(new.findings[0].evidence, ["answer", "policy `major` gives additions a number of their own: 1.3.0"]);
}

//! A recipe's text: mistakes are shown with their places, whatever the text is.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;
use simpack::recipe::{parse, render_all};

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Err(mistakes) = parse(text, "simpack.toml") {
            assert!(!mistakes.is_empty());
            render_all(&mistakes);
        }
    });
});

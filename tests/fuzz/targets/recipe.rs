//! A recipe's text: mistakes are shown with their places, whatever the text is.

use simpack::recipe::{parse, render_all};

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(mistakes) = parse(text, "simpack.toml") {
        assert!(!mistakes.is_empty());
        render_all(&mistakes);
    }
}

//! The instructions of host code: any bytes are decoded, or passed over.

use simpack::elf::{Image, facts, host_code};

pub fn run(bytes: &[u8]) {
    let (Ok(image), Ok(facts)) = (Image::parse(bytes), facts(bytes)) else { return };
    let Ok(Some(code)) = host_code(&image, &facts) else { return };
    // What is needed is needed by somebody.
    for (need, used) in &code.needs {
        assert!(used.count > 0 && !used.functions.is_empty(), "{need}");
    }
}

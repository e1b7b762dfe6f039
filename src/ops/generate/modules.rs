//! Modules of shaders in WGSL for texts that build without simpack: as it compiles them itself, they stand in the texts.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::error::Result;
use crate::fs::{self, Digest};
use crate::generate::ShaderModule;
use crate::gpu::LARGEST_WGSL;
use crate::plan::{ShaderCall, wgsl_calls, wgsl_module};
use crate::recipe::Recipe;

/// Characters of a line, as `base64` writes them.
const LINE: usize = 76;

/// The modules of all shaders in WGSL, in the order of the recipe.
///
/// # Errors
/// A source cannot be read or is longer than any shader, or naga does not take it.
pub(super) fn modules(recipe: &Recipe, source: &Path) -> Result<Vec<ShaderModule>> {
    wgsl_calls(recipe).into_iter().map(|call| module(call, source)).collect()
}

fn module(call: ShaderCall, root: &Path) -> Result<ShaderModule> {
    let ShaderCall { source, args, output } = call;
    let text = fs::read_short(&root.join(&source), LARGEST_WGSL as u64)?;
    let made = wgsl_module((&source, &text), &args)?;
    let sha256 = Digest::of(text.as_bytes());
    // Text for WebGPU, else words.
    let (is_text, lines) = match String::from_utf8(made) {
        Ok(text) if output.ends_with(".wgsl") => (true, text.split('\n').map(str::to_owned).collect()),
        Ok(text) => (false, encoded(text.as_bytes())),
        Err(other) => (false, encoded(other.as_bytes())),
    };
    Ok(ShaderModule { source, sha256, output, is_text, lines })
}

fn encoded(module: &[u8]) -> Vec<String> {
    let text = BASE64_STANDARD.encode(module);
    text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

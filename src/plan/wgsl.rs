//! Shaders in WGSL, which simpack compiles itself: a function of their text and of what their steps are called with.

use crate::arch::KernelTarget;
use crate::error::{Error, Result};
use crate::gpu::{Contraction, wgsl_for_webgpu, wgsl_to_spirv};
use crate::recipe::NO_CONTRACTION;

/// The module of a shader, by the arguments of its step: a target, flags, values of constants. The language has no way to
/// reach another file.
///
/// # Errors
/// naga does not take the text.
pub fn wgsl_module((source, text): (&str, &str), args: &[String]) -> Result<Vec<u8>> {
    let wrong = |what: String| Error::bug(format!("naga cannot be called for {source} with {what}"));
    let (target, given) = args.split_first().ok_or_else(|| wrong("no target".to_owned()))?;
    let (flags, constants): (Vec<&String>, Vec<&String>) = given.iter().partition(|arg| *arg == NO_CONTRACTION);
    let contraction = if flags.is_empty() { Contraction::Allowed } else { Contraction::Off };
    let target: KernelTarget = target.parse().map_err(wrong)?;
    let value = |constant: &String| {
        let (name, value) = constant.split_once('=').unwrap_or((constant, "1"));
        Ok((name.to_owned(), value.parse().map_err(|_| wrong(constant.clone()))?))
    };
    let constants = constants.into_iter().map(value).collect::<Result<Vec<_>>>()?;
    let made = match target.spirv() {
        Some(version) => wgsl_to_spirv((source, text), version, &constants, contraction),
        // The text has no word for operations that stay apart.
        None => wgsl_for_webgpu((source, text), &constants),
    };
    made.map_err(|said| {
        let error = Error::build(format!("naga does not take {source}"));
        said.lines().filter(|line| !line.trim().is_empty()).fold(error, Error::detail)
    })
}

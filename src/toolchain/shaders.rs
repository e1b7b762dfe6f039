//! The compiler of shaders in GLSL: the machine's glslang.

use std::path::PathBuf;

use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::process::Call;

/// A compiler of shaders.
#[derive(Debug, Clone)]
pub struct ShaderCompiler {
    /// The program, where it really lies.
    pub program: PathBuf,
    /// What it is, for keys and provenance: what it says of itself, and the digest of its file.
    pub tool: ToolVersion,
}

/// Names of the program: Debian's, and that of glslang itself since its release 12.
const NAMES: [&str; 2] = ["glslangValidator", "glslang"];

/// The machine's compiler of shaders.
///
/// # Errors
/// There is none, or it does not say its version.
pub fn shader_compiler(answers: &VersionCache) -> Result<ShaderCompiler> {
    let found = NAMES.iter().find_map(|name| which::which(name).ok()).ok_or_else(|| {
        Error::toolchain("the recipe has shaders, and there is no glslang to compile them")
            .detail(format!("looked for in PATH: {}", NAMES.join(", ")))
            .hint("install glslang: Debian and Ubuntu have it as glslang-tools, conda-forge as glslang")
    })?;
    let program = fs_err::canonicalize(found)?;
    let said = answers.ask(&Call::new(&program).arg("--version"))?;
    let version = said.lines().next().and_then(|line| line.rsplit(' ').next()).filter(|it| !it.is_empty());
    let version = version.ok_or_else(|| {
        Error::toolchain(format!("{} does not say its version", program.display())).detail("asked with --version")
    })?;
    let tool = ToolVersion { version: version.to_owned(), sha256: Some(fs::Digest::of_file(&program)?) };
    Ok(ShaderCompiler { program, tool })
}

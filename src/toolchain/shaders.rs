//! The compilers of shaders in GLSL and HLSL: the machine's glslc, or its glslang; and of HLSL its dxc, where there is one.

use std::path::{Path, PathBuf};

use crate::arch::KernelCompiler;
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder};
use crate::lastrun::VersionCache;
use crate::process::Call;

/// A compiler of shaders.
#[derive(Debug, Clone)]
pub struct ShaderCompiler {
    /// Which.
    pub kind: KernelCompiler,
    /// The program, where it really lies.
    pub program: PathBuf,
    /// The library that the program is a shell around, where there is one.
    pub library: Option<PathBuf>,
    /// What it is, for keys and provenance: what it says of itself, and the digest of its file.
    pub tool: ToolVersion,
}

/// Names of programs, the best first. glslc takes many shaders at a time: what it would do for each alone, to make the
/// tables of the language, takes 20 times as long as a small shader. glslang's program is called as Debian does, and as
/// itself since its release 12.
const NAMES: [(&str, KernelCompiler); 3] = [
    ("glslc", KernelCompiler::Glslc),
    ("glslangValidator", KernelCompiler::Glslang),
    ("glslang", KernelCompiler::Glslang),
];

/// The machine's compiler of shaders.
///
/// # Errors
/// There is none, or it does not say its version.
pub fn shader_compiler(answers: &VersionCache) -> Result<ShaderCompiler> {
    let found = NAMES.iter().find_map(|(name, kind)| Some((which::which(name).ok()?, *kind)));
    let (found, kind) = found.ok_or_else(|| {
        Error::toolchain("the recipe has shaders, and there is neither glslc nor glslang to compile them")
            .detail(format!("looked for in PATH: {}", NAMES.map(|(name, _)| name).join(", ")))
            .hint("install glslc: Debian and Ubuntu have it in the package glslc, conda-forge in shaderc")
            .hint("or install glslang: Debian and Ubuntu have it as glslang-tools, conda-forge as glslang")
    })?;
    asked(&found, kind, answers)
}

/// Name of DirectXShaderCompiler's program.
const DXC: &str = "dxc";
/// How the name of the library begins that it is made of.
const DXC_LIBRARY: &str = "libdxcompiler.so";

/// Whether the machine has DirectXShaderCompiler's program.
pub fn has_dxc() -> bool {
    which::which(DXC).is_ok()
}

/// DirectXShaderCompiler's program of the machine; none where there is none.
///
/// # Errors
/// It does not say its version.
pub fn dxc(answers: &VersionCache) -> Result<Option<ShaderCompiler>> {
    let Ok(found) = which::which(DXC) else { return Ok(None) };
    let mut compiler = asked(&found, KernelCompiler::Dxc, answers)?;
    // The program is a shell around its library, which lies beside it or in the `lib` beside its `bin`.
    let bin = compiler.program.parent().unwrap_or(&compiler.program).to_owned();
    for dir in [bin.join("../lib"), bin] {
        let library = dir.join(DXC_LIBRARY);
        if let (Some(program), true) = (compiler.tool.sha256, library.is_file()) {
            let both = DigestBuilder::default().field(program.as_bytes()).field(Digest::of_file(&library)?.as_bytes());
            compiler.tool.sha256 = Some(both.finish());
            compiler.library = Some(library);
            break;
        }
    }
    Ok(Some(compiler))
}

/// A compiler that says what it is.
fn asked(found: &Path, kind: KernelCompiler, answers: &VersionCache) -> Result<ShaderCompiler> {
    let program = fs_err::canonicalize(found)?;
    let said = answers.ask(&Call::new(&program).arg("--version"))?;
    let version = version(&said, kind).ok_or_else(|| {
        Error::toolchain(format!("{} does not say its version", program.display())).detail("asked with --version")
    })?;
    let tool = ToolVersion { version, sha256: Some(Digest::of_file(&program)?) };
    Ok(ShaderCompiler { kind, program, library: None, tool })
}

/// glslc tells the versions of what it is made of, a line each; of glslang the last word of the first line is its own.
fn version(said: &str, kind: KernelCompiler) -> Option<String> {
    let found = match kind {
        KernelCompiler::Glslc => {
            let parts: Vec<&str> = said.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            parts.join(", ")
        }
        // `libdxcompiler.so: 1.7 - 1.7.0.4390 (a2b4c6d8)`.
        KernelCompiler::Dxc => said.lines().next()?.split_once(": ")?.1.trim().to_owned(),
        _ => said.lines().next()?.rsplit(' ').next()?.to_owned(),
    };
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told() {
        let glslc = "shaderc 2023.2-1\nspirv-tools 2022.4+1.3.236.0-1\nglslang 11.13.0-1\n\nTarget: SPIR-V 1.0\n";
        let parts = "shaderc 2023.2-1, spirv-tools 2022.4+1.3.236.0-1, glslang 11.13.0-1";
        assert_eq!(version(glslc, KernelCompiler::Glslc).unwrap(), parts);
        assert_eq!(version("Glslang Version: 11:12.0.0\nESSL\n", KernelCompiler::Glslang).unwrap(), "11:12.0.0");
        let dxc = "libdxcompiler.so: 1.7 - 1.7.3435 (d66bdf94)\n";
        assert_eq!(version(dxc, KernelCompiler::Dxc).unwrap(), "1.7 - 1.7.3435 (d66bdf94)");
        assert_eq!(version("\n", KernelCompiler::Glslc), None);
        assert_eq!(version("", KernelCompiler::Glslang), None);
    }
}

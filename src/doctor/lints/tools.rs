//! Compilers and toolkits that do not go together.

use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::CompilerFamily;

pub(super) fn compiler_pair(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let tools = &facts.machine.tools;
    let Some(toolkit) = tools.toolkits.iter().find(|toolkit| toolkit.first) else { return };
    let Some(release) = toolkit.version.and_then(|version| facts.manifests.cuda.get(version)) else { return };
    // nvcc takes NVCC_CCBIN, else g++ of PATH; CUDAHOSTCXX is CMake's, CXX nobody's but the user's.
    let chosen = |by: &str| tools.compilers.iter().find(|compiler| compiler.by == by);
    let Some(compiler) = chosen("NVCC_CCBIN")
        .or_else(|| chosen("CUDAHOSTCXX"))
        .or_else(|| tools.compilers.iter().find(|it| it.by == "PATH" && it.family == CompilerFamily::Gcc))
    else {
        return;
    };
    let (range, name) = match compiler.family {
        CompilerFamily::Gcc => (release.gcc, "g++"),
        CompilerFamily::Clang => (release.clang, "clang++"),
    };
    let (Some(range), Some(major)) = (range, compiler.major) else { return };
    if (range.min..=range.max).contains(&major) {
        return;
    }
    let fits = |it: &&crate::machine::Compiler| {
        it.family == compiler.family && it.major.is_some_and(|major| (range.min..=range.max).contains(&major))
    };
    let hit = hits.add(
        "nvcc",
        format!("nvcc {} accepts {name} {} to {}, but takes {name} {major}", release.version(), range.min, range.max),
    );
    let hit = hit
        .evidence_lines(toolkit.nvcc.as_ref().map(|nvcc| nvcc.to_owned()))
        .evidence(format!("{} by {}", compiler.path, compiler.by));
    match tools.compilers.iter().find(fits) {
        Some(other) => hit.fix(format!("NVCC_CCBIN={}", other.path)),
        None => hit.fix(format!("install {name}-{} and set NVCC_CCBIN to it", range.max)),
    };
}

pub(super) fn binutils_mixed(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let tools = &facts.machine.tools;
    // A compiler that a variable names comes first, as builds take it.
    let named = tools.compilers.iter().find(|compiler| compiler.by == "CXX");
    let Some(compiler) = named.or_else(|| tools.compilers.iter().find(|compiler| compiler.by == "PATH")) else {
        return;
    };
    let system = |prefix: &str| matches!(prefix, "/usr" | "/usr/local");
    for program in &tools.binutils {
        let same = program.prefix == compiler.prefix || (system(&program.prefix) && system(&compiler.prefix));
        if !same && compiler.binutils.contains(&program.name) {
            hits.add(&program.name, format!("{} of another toolchain than {}", program.path, compiler.path));
        }
    }
}

pub(super) fn toolkit_newer(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(driver) = facts.machine.driver() else { return };
    for toolkit in facts.machine.tools.toolkits.iter().filter(|toolkit| toolkit.first) {
        let Some(version) = toolkit.version.filter(|version| *version > driver.cuda) else { continue };
        let minor = version.major == driver.cuda.major;
        let what = if minor { "its machine code runs, its PTX does not" } else { "nothing it makes runs here" };
        hits.add("nvcc", format!("nvcc is of CUDA {version}, the driver of CUDA {}: {what}", driver.cuda))
            .evidence(&toolkit.root);
    }
}

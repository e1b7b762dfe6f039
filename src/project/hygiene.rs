//! Capabilities and tools that a source or its recipe chooses by itself: simpack's choice wins where it
//! can, and where it cannot, the place is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Result;
use crate::fs::{self, Digest};
use crate::recipe::{ComponentKind, DeviceCompiler, Recipe};

/// Bytes of a build system's file that are looked at: longer ones were not written by people.
const LONGEST: u64 = 1 << 20;

/// Options of a recipe that name a tool, by the way in which build systems call them.
const TOOL_OPTIONS: [&str; 16] = [
    "CMAKE_C_COMPILER",
    "CMAKE_CXX_COMPILER",
    "CMAKE_CUDA_COMPILER",
    "CMAKE_CUDA_HOST_COMPILER",
    "CMAKE_AR",
    "CMAKE_RANLIB",
    "CMAKE_LINKER",
    "CMAKE_STRIP",
    "CMAKE_TOOLCHAIN_FILE",
    "CC",
    "CXX",
    "AR",
    "RANLIB",
    "LD",
    "STRIP",
    "NVCC",
];

/// Text by which a build system's file fixes capabilities, in lower case without blanks.
const FIXED: [&str; 10] = [
    "set(cmake_cuda_architectures",
    "set_property(targetcuda_architectures",
    "-gencode",
    "--generate-code",
    "-arch=sm_",
    "-arch=compute_",
    "--gpu-architecture",
    "arch=compute_",
    "cudaarchs=",
    "cuda_arch_list",
];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hygiene {
    /// Capabilities that the source fixes: file, line, text.
    pub hard_coded: Vec<String>,
    /// Tools that the recipe's options name.
    pub overrides: Vec<String>,
    /// Components whose build compiles device code by itself.
    pub cuda_builds: BTreeSet<ComponentKind>,
}

/// Looks into the build systems' files of a source tree, and into the options of the recipe.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn examine(recipe: &Recipe, root: &Path, sources: &BTreeMap<String, Digest>) -> Result<Hygiene> {
    let mut found = Hygiene { overrides: overrides(recipe), ..Hygiene::default() };
    for path in sources.keys().filter(|path| is_build_file(path)) {
        if fs_err::metadata(root.join(path))?.len() > LONGEST {
            continue;
        }
        let bytes = fs::read(&root.join(path))?;
        let text = String::from_utf8_lossy(&bytes);
        found.hard_coded.extend(fixed(&text).into_iter().map(|(line, text)| format!("{path}:{line}: {text}")));
        if enables_cuda(&text) {
            found.cuda_builds.extend(builders(recipe, path));
        }
    }
    // No build system but CMake says that it compiles device code; here one of them must.
    let others = recipe.components.iter().filter(|component| {
        let system = component.build.as_ref().map(|build| build.driver.system());
        system.is_some_and(|system| !system.tools().is_empty() && !system.says_languages())
    });
    let kinds = others.map(|component| component.kind);
    let compiles = |compiler| recipe.groups.iter().any(|group| group.form.compiler() == compiler);
    if compiles(DeviceCompiler::HostBuilds) {
        found.cuda_builds.extend(kinds);
    } else if compiles(DeviceCompiler::KernelsBuild) {
        found.cuda_builds.extend(kinds.filter(|kind| *kind == ComponentKind::Kernels));
    }
    for group in &recipe.groups {
        for flag in group.flags.iter().filter(|flag| !fixed(flag).is_empty()) {
            found.hard_coded.push(format!("flags of kernel group `{}`: {flag}", group.name));
        }
    }
    Ok(found)
}

fn is_build_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    ["cmakelists.txt", "makefile", "gnumakefile", "meson.build", "setup.py", "configure.ac"].contains(&name.as_str())
        || [".cmake", ".mk", ".sh"].iter().any(|end| name.ends_with(end))
}

/// Components that are built by CMake in the directory of a file, or above it.
fn builders<'a>(recipe: &'a Recipe, path: &'a str) -> impl Iterator<Item = ComponentKind> + 'a {
    recipe.components.iter().filter_map(move |component| {
        let build = component.build.as_ref().filter(|build| build.driver.system().says_languages())?;
        let dir = build.source.trim_matches('/').trim_start_matches("./");
        (matches!(dir, "" | ".") || path.starts_with(&format!("{dir}/"))).then_some(component.kind)
    })
}

/// Lines that fix capabilities. One that only speaks when nothing was given is not among them: simpack
/// gives a list to CMake, and then the line is not reached.
fn fixed(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut guarded = false;
    for (index, line) in text.lines().enumerate() {
        let code = line.split(['#', '\r']).next().unwrap_or_default().trim();
        if code.is_empty() {
            continue;
        }
        let plain: String = code.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
        if plain.starts_with("if(") {
            guarded =
                plain.contains("notdefinedcmake_cuda_architectures") || plain.contains("notcmake_cuda_architectures");
        } else if plain.starts_with("else") || plain.starts_with("endif") {
            guarded = false;
        }
        let is_default = guarded || (plain.contains("cache") && !plain.contains("force"));
        let property = plain.contains("cuda_architectures") && plain.starts_with("set_") && !plain.contains("${");
        let fixes = FIXED.iter().any(|fixed| plain.contains(fixed)) || property;
        if fixes && !is_default && !plain.contains("unset(") {
            found.push((index + 1, code.to_owned()));
        }
    }
    found
}

/// Whether a CMake file makes CUDA a language of its project.
fn enables_cuda(text: &str) -> bool {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n").to_lowercase();
    ["project", "enable_language", "check_language"].iter().any(|call| {
        text.split(call).skip(1).any(|rest| {
            let arguments = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split(')').next());
            arguments.is_some_and(|text| text.split_whitespace().any(|word| word == "cuda"))
        })
    })
}

/// A tool named alone takes the others from another toolchain, unless it is the toolchain's own by its placeholder.
fn overrides(recipe: &Recipe) -> Vec<String> {
    let builds = recipe.components.iter().filter_map(|component| Some((component.kind, component.build.as_ref()?)));
    let named = builds.flat_map(|(kind, build)| {
        let is_own = |value: &str| ["{cxx}", "{nvcc}"].iter().any(|own| value.split(' ').next() == Some(own));
        let named = move |(name, value): &(&String, &String)| TOOL_OPTIONS.contains(&name.as_str()) && !is_own(value);
        let options = build.options.iter().filter(named);
        options.map(move |(name, value)| format!("option {name} = {value} of component `{kind}`"))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        fixed(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn capabilities_that_a_source_fixes_are_found_with_their_line() {
        assert_eq!(lines("project(x)\nset(CMAKE_CUDA_ARCHITECTURES 70 80)\n"), [2]);
        assert_eq!(lines("set( CMAKE_CUDA_ARCHITECTURES 70 CACHE STRING \"\" FORCE)"), [1]);
        assert_eq!(lines("NVCCFLAGS += -gencode arch=compute_70,code=sm_70\nall: -arch=sm_80"), [1, 2]);
        assert_eq!(lines("set_target_properties(a PROPERTIES CUDA_ARCHITECTURES \"70;80\")"), [1]);
        assert_eq!(lines("\n\nexport CUDAARCHS=90"), [3]);
    }

    #[test]
    fn defaults_comments_and_what_follows_the_given_list_are_not() {
        let guarded = "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES 70)\nendif()\n";
        assert_eq!(lines(guarded), [0; 0]);
        assert_eq!(lines(&format!("{guarded}set(CMAKE_CUDA_ARCHITECTURES 80)")), [4]);
        assert_eq!(lines("set(CMAKE_CUDA_ARCHITECTURES 70 CACHE STRING \"which\")"), [0; 0]);
        assert_eq!(lines("# nvcc -arch=sm_80\nmessage(\"${CMAKE_CUDA_ARCHITECTURES}\")"), [0; 0]);
        let given = "set_target_properties(a PROPERTIES CUDA_ARCHITECTURES \"${CMAKE_CUDA_ARCHITECTURES}\")";
        assert_eq!(lines(given), [0; 0]);
    }

    #[test]
    fn a_project_that_compiles_cuda_is_known_by_its_languages() {
        for text in ["project(x LANGUAGES CXX CUDA)", "Project( x\n  LANGUAGES CUDA )", "enable_language(CUDA)"] {
            assert!(enables_cuda(text), "{text}");
        }
        for text in
            ["project(cudax LANGUAGES CXX)", "# enable_language(CUDA)", "find_package(CUDA)", "project (x) # cuda"]
        {
            assert!(!enables_cuda(text), "{text}");
        }
    }
}

//! Toolkits, NVRTC, host compilers, `ar` and `ld`.

use crate::arch::CudaVersion;
use crate::elf::resolve::{Environment, Loader};
use crate::fs::Root;
use crate::machine::{Compiler, CompilerFamily, Program, Toolkit, Tools};
use crate::manifest::Manifests;
use crate::process::Call;

use super::Snapshot;
use super::search::{directory_of, name_of, search};

/// Programs that come with a compiler or with the system.
const BINUTILS: [&str; 2] = ["ar", "ld"];

/// Directories of CUDA toolkits: that of the first nvcc, those that variables name, then the usual ones.
pub(super) fn toolkit_roots(root: &Root, manifests: &Manifests, snapshot: &Snapshot) -> Vec<String> {
    let mut roots: Vec<String> = Vec::new();
    let mut add = |path: &str| {
        let real = root.real(path).unwrap_or_else(|| path.to_owned());
        // Distributions put nvcc into /usr/bin beside everything else.
        if root.is_directory(&real) && !roots.contains(&real) {
            roots.push(real);
        }
    };
    if let Some(nvcc) = first_nvcc(root, snapshot) {
        add(directory_of(directory_of(&nvcc)));
    }
    ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| snapshot.value(name)).for_each(&mut add);
    for pattern in &manifests.environment.toolkits {
        let (directory, name) = (directory_of(pattern), name_of(pattern));
        match name.strip_suffix('*') {
            None => add(pattern),
            Some(stem) => {
                let names = root.names(directory).into_iter().filter(|name| name.starts_with(stem));
                names.for_each(|name| add(&format!("{directory}/{name}")));
            }
        }
    }
    roots
}

fn first_nvcc(root: &Root, snapshot: &Snapshot) -> Option<String> {
    let found = programs(root, snapshot, "nvcc").next()?;
    Some(root.real(&found).unwrap_or(found))
}

/// Programs of a name in `PATH`, in its order.
fn programs<'a>(root: &'a Root, snapshot: &'a Snapshot, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let directories = snapshot.path.iter().filter(|directory| directory.starts_with('/'));
    let paths = directories.map(move |directory| format!("{}/{name}", directory.trim_end_matches('/')));
    paths.filter(|path| root.exists(path) && !root.is_directory(path))
}

/// Everything; `run`: compilers may be asked for their version.
pub(super) fn tools(
    root: &Root,
    loader: &Loader,
    environment: &Environment,
    manifests: &Manifests,
    snapshot: &Snapshot,
    run: bool,
) -> Tools {
    let first = first_nvcc(root, snapshot);
    let mut nvrtc: Vec<String> = Vec::new();
    let mut toolkits: Vec<Toolkit> = Vec::new();
    for path in toolkit_roots(root, manifests, snapshot) {
        for directory in ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"] {
            let directory = format!("{path}/{directory}");
            let names = root.names(&directory).into_iter().filter(|name| is_nvrtc(name));
            nvrtc.extend(names.filter_map(|name| root.real(&format!("{directory}/{name}"))));
        }
        let nvcc = format!("{path}/bin/nvcc");
        let nvcc = root.exists(&nvcc).then_some(nvcc);
        let version = cuda_version(root, &path);
        if nvcc.is_some() || version.is_some() {
            let first = nvcc.is_some() && nvcc == first;
            toolkits.push(Toolkit { root: path, version, nvcc, first });
        }
    }
    let majors = manifests.cuda.toolkits().into_iter().map(|version| version.major);
    let mut names: Vec<String> = majors.map(|major| format!("libnvrtc.so.{major}")).collect();
    names.dedup();
    for name in names {
        let found = search(root, loader, environment, &name).into_iter().next();
        nvrtc.extend(found.map(|it| root.real(&it.path).unwrap_or(it.path)));
    }
    nvrtc.sort();
    nvrtc.dedup();
    let binutils = BINUTILS.iter().filter_map(|name| {
        let path = programs(root, snapshot, name).next()?;
        Some(Program { name: (*name).to_owned(), prefix: prefix_of(&path), path })
    });
    Tools { binutils: binutils.collect(), toolkits, nvrtc, compilers: compilers(root, snapshot, run) }
}

fn is_nvrtc(name: &str) -> bool {
    name.strip_prefix("libnvrtc.so.").is_some_and(|rest| !rest.is_empty() && rest.parse::<u32>().is_ok())
}

/// `#define CUDA_VERSION 13000` of the toolkit's header.
fn cuda_version(root: &Root, toolkit: &str) -> Option<CudaVersion> {
    ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"].iter().find_map(|directory| {
        let file = root.open(&format!("{toolkit}/{directory}/cuda.h")).ok()?;
        let text = file.bytes();
        let word = b"#define CUDA_VERSION ";
        let at = memchr::memmem::find(text, word)? + word.len();
        let digits: String = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).map(|b| *b as char).collect();
        super::nvml::cuda_version(digits.parse().ok()?)
    })
}

/// Directory of an installation: what lies above `bin`.
fn prefix_of(program: &str) -> String {
    let directory = directory_of(program);
    let above = directory.strip_suffix("/bin").or_else(|| directory.strip_suffix("/sbin")).unwrap_or(directory);
    // /bin is /usr/bin where both were merged.
    if above.is_empty() { "/usr".to_owned() } else { above.to_owned() }
}

/// Compilers in the order in which nvcc would take them.
fn compilers(root: &Root, snapshot: &Snapshot, run: bool) -> Vec<Compiler> {
    let mut named: Vec<(String, String)> = Vec::new();
    for variable in ["NVCC_CCBIN", "CUDAHOSTCXX", "CXX"] {
        let Some(word) = snapshot.value(variable).and_then(|value| value.split_whitespace().next()) else { continue };
        let path = match word.contains('/') {
            // nvcc takes the directory of a compiler, too.
            true if root.is_directory(word) => Some(format!("{}/g++", word.trim_end_matches('/'))),
            true => Some(word.to_owned()),
            false => programs(root, snapshot, word).next(),
        };
        named.extend(path.filter(|path| root.exists(path)).map(|path| (path, variable.to_owned())));
    }
    for name in ["g++", "clang++"] {
        named.extend(programs(root, snapshot, name).map(|path| (path, "PATH".to_owned())));
    }
    let mut found: Vec<Compiler> = Vec::new();
    let mut seen = Vec::new();
    for (path, by) in named {
        let real = root.real(&path).unwrap_or_else(|| path.clone());
        if seen.contains(&real) && by == "PATH" {
            continue;
        }
        let family = if name_of(&real).contains("clang") { CompilerFamily::Clang } else { CompilerFamily::Gcc };
        let major = major_of_name(name_of(&real)).or_else(|| run.then(|| asked(&path)).flatten());
        let beside = |name: &&str| root.exists(&format!("{}/{name}", directory_of(&path)));
        let binutils = BINUTILS.iter().filter(|name| beside(name)).map(|name| (*name).to_owned()).collect();
        found.push(Compiler { prefix: prefix_of(&path), path, family, major, by, binutils });
        seen.push(real);
    }
    found
}

/// `x86_64-linux-gnu-g++-12` is 12.
fn major_of_name(name: &str) -> Option<u32> {
    name.rsplit_once('-')?.1.parse().ok()
}

fn asked(compiler: &str) -> Option<u32> {
    let said = Call::new(compiler).arg("-dumpversion").read().ok()?;
    said.trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_versions_and_places() {
        assert_eq!(major_of_name("x86_64-linux-gnu-g++-12"), Some(12));
        assert_eq!(major_of_name("g++"), None);
        assert_eq!(prefix_of("/opt/conda/bin/ld"), "/opt/conda");
        assert_eq!(prefix_of("/bin/ld"), "/usr");
        assert!(is_nvrtc("libnvrtc.so.13") && !is_nvrtc("libnvrtc.so.13.0.48") && !is_nvrtc("libnvrtc.so"));
    }
}

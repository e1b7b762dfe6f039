//! What a project's directory shows without running anything: its build system, its licence, what it compiles, what was
//! compiled before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::cmake::CmakeFiles;
use crate::arch::{KernelTarget, Version};
use crate::build_system::BuildDriver;
use crate::error::{Error, Result};
use crate::gpu::{CodeKind, KernelSignature, Look};
use crate::inspect::look;
use crate::ui::Ui;

/// Entries of the directory that are looked at, at most.
const MOST_ENTRIES: usize = 50_000;
/// Bytes of a file that is read as text.
const LONGEST: u64 = 1 << 20;
/// Bytes of all texts together.
const MOST_TEXT: u64 = 64 << 20;
/// Compiled files that are examined.
const MOST_COMPILED: usize = 64;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// What builds it.
    pub build: Option<BuildFiles>,
    /// What its CMake files say.
    pub cmake: CmakeFiles,
    /// Version, and where it stands.
    pub version: Option<(Version, String)>,
    /// SPDX expression, and the file with the text.
    pub license: Option<(Option<&'static str>, String)>,
    /// CUDA sources.
    pub units: Vec<String>,
    /// A source that loads device code by the driver.
    pub loads_modules: Option<String>,
    /// Files and directories at the top that a build may read, as globs; and those that it surely does not.
    pub inputs: Vec<String>,
    pub left_out: Vec<String>,
    /// What was compiled before.
    pub compiled: Compiled,
}

/// The build system at the top of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuildFiles {
    /// Those of a build system, the one that was found.
    Of(BuildDriver, &'static str),
    /// Nothing is built: it is an installed tree.
    Installed,
}

/// What compiled files say.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    /// Libraries with device code: file name and SONAME.
    pub libraries: BTreeMap<String, Option<String>>,
    /// Targets of that code.
    pub targets: BTreeSet<KernelTarget>,
    /// Kernels of loose device code (cubins, PTX), with the file.
    pub kernels: BTreeMap<KernelSignature, String>,
}

/// Looks at a directory, and at what was compiled elsewhere.
///
/// # Errors
/// Something cannot be read, or nothing can be built or packed here.
pub(super) fn survey(dir: &Path, compiled: Option<&Path>, ui: &Ui) -> Result<Survey> {
    let mut found = Survey::default();
    let (mut texts, mut binaries) = (Vec::new(), Vec::new());
    let mut tops: BTreeMap<String, bool> = BTreeMap::new();
    let kept = |entry: &walkdir::DirEntry| {
        let is_output = entry.depth() == 1 && (entry.file_name() == "dist" || entry.path().join("simpack").is_dir());
        entry.depth() == 0 || !(entry.file_name().as_encoded_bytes().starts_with(b".") || is_output)
    };
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().filter_entry(kept);
    for (count, entry) in walk.enumerate() {
        let entry = entry.map_err(|error| Error::file(dir, error))?;
        if count == MOST_ENTRIES {
            return Err(Error::usage(format!("{} has more than {MOST_ENTRIES} files", dir.display()))
                .hint("name the directory of the project with --dir"));
        }
        let path = crate::fs::relative(dir, entry.path())?;
        // No recipe can name what holds a line break.
        if !entry.file_type().is_file() || path.contains(char::is_control) {
            continue;
        }
        let is_read = is_build_input(&path);
        *tops.entry(top_of(&path)).or_default() |= is_read;
        if path.ends_with(".cu") && is_own(&path) {
            found.units.push(path.clone());
        }
        if is_compiled(&path) {
            binaries.push(entry.path().to_owned());
        } else if is_read && entry.metadata().is_ok_and(|data| data.len() <= LONGEST) {
            texts.push((path, entry.into_path()));
        }
    }
    found.build = build_files(dir);
    if found.build.is_none() {
        let known: Vec<&str> =
            BuildDriver::NAMES.iter().flat_map(|(_, driver)| driver.system().top_files()).copied().collect();
        return Err(Error::usage(format!("{} holds nothing that simpack could build or pack", dir.display()))
            .detail(format!("looked for {}, and an installed tree with lib/ or bin/", known.join(", ")))
            .hint("name the directory of the project with --dir, or start from a sample: simpack init NAME"));
    }
    read_texts(&mut found, &texts)?;
    for (top, is_read) in tops {
        let list = if is_read { &mut found.inputs } else { &mut found.left_out };
        list.push(top);
    }
    found.license = license(dir);
    if let Some((_, file)) = &found.license {
        let name = file.clone();
        found.left_out.retain(|left| *left != name);
        found.inputs.push(name);
    }
    found.inputs.sort();
    found.inputs.dedup();
    found.version = version(dir, &found.cmake);
    binaries.truncate(MOST_COMPILED);
    binaries.extend(compiled.map(Path::to_owned));
    found.compiled = read_compiled(&binaries, ui)?;
    Ok(found)
}

/// A path's first part, as a glob.
fn top_of(path: &str) -> String {
    path.split_once('/').map_or_else(|| globset::escape(path), |(top, _)| format!("{}/**", globset::escape(top)))
}

/// Whether a build may read a file, by its name.
fn is_build_input(path: &str) -> bool {
    const ENDINGS: [&str; 20] = [
        "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hh", "hpp", "hxx", "ipp", "inl", "inc", "in", "cmake", "mk", "f90",
        "mod", "map", "sh",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let of_system = || BuildDriver::NAMES.iter().any(|(_, driver)| driver.system().top_files().contains(&name));
    let is_named = ["VERSION", "meson_options.txt", "meson.options"].contains(&name) || of_system();
    is_named || name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Whether a file is the project's own and part of what it installs: what it brings of others has its own options and
/// libraries.
fn is_own(path: &str) -> bool {
    const OTHERS: [&str; 17] = [
        "ext",
        "extern",
        "external",
        "externals",
        "third_party",
        "thirdparty",
        "3rdparty",
        "vendor",
        "deps",
        "test",
        "tests",
        "doc",
        "docs",
        "example",
        "examples",
        "benchmark",
        "benchmarks",
    ];
    !path.split('/').any(|part| OTHERS.contains(&part.to_lowercase().as_str()))
}

fn is_compiled(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".cubin") || name.ends_with(".ptx")
}

fn build_files(dir: &Path) -> Option<BuildFiles> {
    let has = |name: &str| dir.join(name).exists();
    let of = |driver: BuildDriver| {
        let top = driver.system().top_files().iter().copied().find(|name| has(name))?;
        Some(BuildFiles::Of(driver, top))
    };
    let of_system = BuildDriver::NAMES.into_iter().find_map(|(_, driver)| of(driver));
    let is_installed = || ["lib", "lib64", "bin"].into_iter().any(has);
    of_system.or_else(|| is_installed().then_some(BuildFiles::Installed))
}

/// Reads CMake's files, and looks for sources that load device code themselves.
fn read_texts(found: &mut Survey, texts: &[(String, PathBuf)]) -> Result<()> {
    let mut left = MOST_TEXT;
    for (path, file) in texts {
        let bytes = crate::fs::read(file)?;
        left = left.saturating_sub(bytes.len() as u64);
        if left == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        if path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") {
            match is_own(path) {
                true => found.cmake.add(&text),
                false => found.cmake.add_of_others(&text),
            }
        } else if is_own(path)
            && found.loads_modules.is_none()
            && ["cuModuleLoad", "cuLibraryLoad"].iter().any(|call| text.contains(call))
        {
            found.loads_modules = Some(path.clone());
        }
    }
    Ok(())
}

/// The licence's file, and what its text is, where that is plain.
fn license(dir: &Path) -> Option<(Option<&'static str>, String)> {
    let names = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING", "COPYING.txt"];
    let name = names.into_iter().find(|name| dir.join(name).is_file())?;
    let text = crate::fs::read(&dir.join(name)).unwrap_or_default();
    let text =
        String::from_utf8_lossy(&text[..text.len().min(1 << 16)]).split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |words: &str| text.to_lowercase().contains(words);
    let spdx = match () {
        () if has("apache license version 2.0") => Some("Apache-2.0"),
        () if has("gnu lesser general public license version 2.1") => Some("LGPL-2.1-or-later"),
        () if has("gnu lesser general public license version 3") => Some("LGPL-3.0-or-later"),
        () if has("gnu general public license version 2") => Some("GPL-2.0-or-later"),
        () if has("gnu general public license version 3") => Some("GPL-3.0-or-later"),
        () if has("redistribution and use in source and binary forms") && has("endorse or promote") => {
            Some("BSD-3-Clause")
        }
        () if has("redistribution and use in source and binary forms") => Some("BSD-2-Clause"),
        () if has("permission is hereby granted, free of charge") => Some("MIT"),
        () => None,
    };
    Some((spdx, name.to_owned()))
}

/// The version as `project()` says it, else the file VERSION, else what a source distribution for Python says.
fn version(dir: &Path, cmake: &CmakeFiles) -> Option<(Version, String)> {
    let text = |name: &str| crate::fs::read_to_string(&dir.join(name)).ok();
    let info = || {
        let text = text("PKG-INFO")?;
        text.lines().find_map(|line| line.strip_prefix("Version:")).map(str::to_owned)
    };
    let said = [
        (cmake.version(), "project() in CMakeLists.txt"),
        (text("VERSION"), "the file VERSION"),
        (info(), "the file PKG-INFO"),
    ];
    said.into_iter().find_map(|(text, place)| Some((three_numbers(&text?)?, place.to_owned())))
}

/// The numbers that a version begins with, three of them.
fn three_numbers(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches('v');
    let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit()).unwrap_or(text.len());
    let mut numbers: Vec<&str> = text[..end].split('.').filter(|number| !number.is_empty()).take(3).collect();
    if numbers.is_empty() {
        return None;
    }
    numbers.resize(3, "0");
    numbers.join(".").parse().ok()
}

fn read_compiled(files: &[PathBuf], ui: &Ui) -> Result<Compiled> {
    let mut compiled = Compiled::default();
    for path in files {
        for file in look(path, Look { kernels: true, deep: false }, ui)?.files {
            if file.images.is_empty() {
                continue;
            }
            compiled.targets.extend(file.images.iter().filter_map(crate::gpu::CodeImage::target));
            let whole = if file.path.is_all() { path.display().to_string() } else { file.path.to_string() };
            let name = whole.rsplit('/').next().unwrap_or(&whole).to_owned();
            match file.elf.filter(|_| name.contains(".so")) {
                Some(elf) => drop(compiled.libraries.insert(name, elf.soname)),
                None => {
                    let images =
                        file.images.iter().filter(|image| matches!(image.kind, CodeKind::Sass | CodeKind::Ptx));
                    let kernels = images.flat_map(|image| &image.kernels).map(|kernel| (*kernel.signature).clone());
                    compiled.kernels.extend(kernels.map(|kernel| (kernel, name.clone())));
                }
            }
        }
    }
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        let read = |text: &str| three_numbers(text).map(|version| version.to_string());
        for (text, expected) in
            [("1.2.3\n", "1.2.3"), ("v0.10.1-dev", "0.10.1"), ("3.8", "3.8.0"), ("8.2.2.post1", "8.2.2")]
        {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!((read("${version}"), read("")), (None, None));
    }

    #[test]
    fn licences_are_known_by_their_texts() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(license(dir.path()), None);
        fs_err::write(dir.path().join("COPYING"), "GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007").unwrap();
        assert_eq!(license(dir.path()), Some((Some("GPL-3.0-or-later"), "COPYING".to_owned())));
        fs_err::write(dir.path().join("LICENSE"), "ask me").unwrap();
        assert_eq!(license(dir.path()), Some((None, "LICENSE".to_owned())));
    }
}

//! Commands that install files of a `dist/` directory: plain archives, packages of Debian, an image.

use std::path::{Path, PathBuf};

use super::answer::{Selected, Selection};
use crate::arch::CudaVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::package::{manifest, oci};

/// Formats whose packages are files that are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Plain archives.
    Tar,
    /// Packages of Debian.
    Deb,
    /// An image of a layout.
    Oci,
}

impl FileFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Deb => "deb",
            Self::Oci => "oci",
        }
    }
}

/// The commands for all simulators of a selection, one a line.
///
/// # Errors
/// The packages are not there in this format.
pub(super) fn commands(format: FileFormat, paths: &[PathBuf], selection: &Selection) -> Result<String> {
    let absent = || {
        let name = format.name();
        Error::usage(format!("there are no packages of the format {name}"))
            .hint(format!("`simpack build --format {name}` makes them; name the directory that it wrote"))
    };
    let places = paths.iter().flat_map(|path| [path.join(format.name()), path.clone()]);
    let has = |place: &PathBuf| match format {
        FileFormat::Oci => place.join(oci::LAYOUT).is_file(),
        _ => place.file_name().is_some_and(|name| name == format.name()) && place.is_dir(),
    };
    let place = std::path::absolute(places.into_iter().find(has).ok_or_else(absent)?)?;
    let lines =
        selection.simulators.iter().map(|selected| command(format, &place, selected)).collect::<Result<Vec<_>>>()?;
    Ok(lines.join("\n"))
}

fn command(format: FileFormat, place: &Path, selected: &Selected) -> Result<String> {
    if format == FileFormat::Oci {
        return image(place, selected);
    }
    let (simulator, version) = (&selected.fit.simulator, selected.fit.version.to_string());
    let mut names: Vec<String> = Vec::new();
    for entry in fs_err::read_dir(place)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let wanted = std::iter::once(format!("{simulator}-core")).chain(selected.packages.iter().cloned());
    let files = wanted.map(|package| {
        let cuda = release(selected, &package);
        let found = names.iter().filter(|name| is_file_of(format, name, &package, &version, cuda));
        let mut found: Vec<&String> = found.collect();
        if format == FileFormat::Tar && found.len() > 1 {
            // Names of archives say the major alone: of two releases of one, what is in them tells.
            let mut of_release = Vec::new();
            for name in found {
                let manifest = manifest(&place.join(name))?;
                of_release.extend(manifest.is_some_and(|manifest| manifest.cuda == cuda).then_some(name));
            }
            found = of_release;
        }
        match found.as_slice() {
            [name] => Ok(quoted(&place.join(name))),
            [] => Err(Error::usage(format!("{} holds no file of {package} {version}", place.display()))
                .hint(format!("build it: simpack build --format {}", format.name()))),
            several => {
                let error = Error::usage(format!("{} holds several files of {package} {version}", place.display()));
                let error = several.iter().fold(error, |error, name| error.detail(name.as_str()));
                Err(error.hint("build for one CUDA release: --cuda X.Y"))
            }
        }
    });
    let files = files.collect::<Result<Vec<String>>>()?;
    Ok(match format {
        FileFormat::Deb => format!("apt-get install {}", files.join(" ")),
        _ => {
            let unpack = |file: &String| format!("tar --zstd -xf {file} -C \"${{PREFIX:?}}\"");
            files.iter().map(unpack).collect::<Vec<_>>().join("\n")
        }
    })
}

/// The CUDA release of the code that a package was selected for.
fn release(selected: &Selected, package: &str) -> Option<CudaVersion> {
    let steps = selected.fit.devices.iter().flat_map(|device| &device.trace);
    steps.filter(|step| step.place.is_some() && step.package == package).map(|step| step.cuda).max()
}

fn is_file_of(format: FileFormat, name: &str, package: &str, version: &str, cuda: Option<CudaVersion>) -> bool {
    match format {
        FileFormat::Deb => {
            let Some((named, rest)) = name.split_once('_') else { return false };
            let plain = package.to_lowercase().replace('_', "-");
            let is_named = named == plain || cuda.is_some_and(|cuda| named == format!("{plain}-cuda{cuda}"));
            is_named && rest.starts_with(&format!("{version}-")) && name.ends_with(".deb")
        }
        _ => {
            let build =
                name.strip_suffix(".tar.zst").and_then(|stem| stem.strip_prefix(&format!("{package}-{version}-")));
            build.is_some_and(|build| cuda.is_none_or(|cuda| build.starts_with(&format!("cuda{}_", cuda.major))))
        }
    }
}

/// The image of one kernel package, of all where several are needed, of none where the CPU does.
fn image(layout: &Path, selected: &Selected) -> Result<String> {
    let index: serde_json::Value = serde_json::from_slice(&fs::read(&layout.join("index.json"))?)
        .map_err(|error| Error::incomplete(layout.join("index.json"), error))?;
    let tag = |entry: &serde_json::Value| {
        Some(entry["annotations"]["org.opencontainers.image.ref.name"].as_str()?.to_owned())
    };
    let tags: Vec<String> = index["manifests"].as_array().into_iter().flatten().filter_map(tag).collect();
    let (simulator, version) = (&selected.fit.simulator, &selected.fit.version);
    let (end, cuda) = match selected.packages.as_slice() {
        [] => ("-cpu".to_owned(), None),
        [one] => (one.replacen(&format!("{simulator}-kernels"), "", 1), release(selected, one)),
        _ => (String::new(), None),
    };
    let wanted = [Some(format!("{version}{end}")), cuda.map(|cuda| format!("{version}-cuda{cuda}{end}"))];
    let found = wanted.into_iter().flatten().find(|tag| tags.contains(tag));
    let found = found.ok_or_else(|| {
        let error = Error::usage(format!("{} holds no image {version}{end} of {simulator}", layout.display()));
        tags.iter()
            .fold(error, |error, tag| error.detail(tag.clone()))
            .hint("build all targets: simpack build --format oci")
    })?;
    let reference = quoted(Path::new(&format!("{}:{found}", layout.display())));
    Ok(format!("umoci unpack --rootless --image {reference} {simulator}"))
}

/// A path as shells take it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let cuda = Some(CudaVersion::new(13, 0));
        let deb = |name: &str| is_file_of(FileFormat::Deb, name, "volley-kernels-sm_90", "1.0.0", cuda);
        assert!(deb("volley-kernels-sm-90_1.0.0-1_all.deb") && deb("volley-kernels-sm-90-cuda13.0_1.0.0-1_all.deb"));
        assert!(!deb("volley-kernels-sm-90-cuda12.9_1.0.0-1_all.deb") && !deb("volley-kernels-sm-90a_1.0.0-1_all.deb"));
        assert!(!deb("volley-kernels-sm-90_1.0.1-1_all.deb"));
        let tar = |name: &str| is_file_of(FileFormat::Tar, name, "volley-kernels-sm_90", "1.0.0", cuda);
        assert!(tar("volley-kernels-sm_90-1.0.0-cuda13_k1_h2.tar.zst"));
        assert!(
            !tar("volley-kernels-sm_90-1.0.0-cuda12_k1_h2.tar.zst")
                && !tar("volley-kernels-sm_90-1.0.0-cuda13_h.conda")
        );
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}

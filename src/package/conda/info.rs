//! The `info/` directory of a conda package: what clients and builders read.

use std::collections::BTreeMap;

use rattler_conda_types::package::{
    AboutJson, IndexJson, LinkJson, NoArchLinks, PackageFile, PathType, PathsEntry, PathsJson, PythonEntryPoints,
    RunExportsJson,
};
use rattler_conda_types::utils::TimestampMs;
use rattler_conda_types::{MatchSpec, NoArchType, PackageName, ParseStrictness, VersionWithSource};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::{Package, Rendered};
use super::hash::hash_input;
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::Digest;

/// All files below `info/`, by path, for a package whose files are `artifacts`.
pub(super) fn files(spec: &Rendered<'_>, artifacts: &[Artifact]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    files.insert(path::<IndexJson>(), json_lines(&index(spec)?)?);
    files.insert(path::<PathsJson>(), json_lines(&paths(artifacts))?);
    files.insert(path::<AboutJson>(), json_lines(&about(spec.package)?)?);
    files.insert(path::<RunExportsJson>(), json_lines(&run_exports(spec))?);
    files.insert(
        "info/hash_input.json".to_owned(),
        json_lines(&hash_input(&spec.package.manifest, &spec.depends, &spec.constrains))?,
    );
    if spec.subdir == "noarch" {
        let noarch = match spec.package.manifest.is_for_every_python() {
            true => NoArchLinks::Python(PythonEntryPoints { entry_points: Vec::new() }),
            false => NoArchLinks::Generic,
        };
        let link = LinkJson { noarch, package_metadata_version: 1 };
        files.insert(path::<LinkJson>(), json_lines(&link)?);
    }
    if !spec.package.tests.is_empty() {
        files.insert("info/tests/tests.yaml".to_owned(), tests(spec.package)?);
    }
    for (name, text) in &spec.package.licences {
        files.insert(format!("info/licenses/{name}"), text.clone().into_bytes());
    }
    Ok(files)
}

/// Refuses what no client could read: names, versions, build strings and match specs.
pub(super) fn check(spec: &Rendered<'_>) -> Result<()> {
    let wrong = |message: String| {
        Error::recipe(format!("package {}: {message}", spec.package.name()))
            .hint("names, versions and `uses` of the recipe must be valid in conda")
    };
    index(spec)?.validate().map_err(|error| wrong(chain(&error)))?;
    for text in spec.depends.iter().chain(&spec.constrains).chain(&spec.run_exports) {
        // Lenient readers take `cuda nvrtc >=13` for a package `cuda` of version `nvrtc`.
        let read = MatchSpec::from_str(text, ParseStrictness::Strict);
        read.map_err(|error| wrong(format!("`{text}` is no match spec: {}", chain(&error))))?;
    }
    spec.build
        .parse::<rattler_conda_types::package::BuildString>()
        .map_err(|error| wrong(format!("build string {}: {error}", spec.build)))?;
    let fits = |name: &str| !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
    match spec.package.licences.keys().find(|name| !fits(name)) {
        Some(name) => Err(wrong(format!("`{name}` is no file name for a licence"))),
        None => Ok(()),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

fn path<T: PackageFile>() -> String {
    T::package_path().to_string_lossy().into_owned()
}

/// A package's time as a zone-free instant.
pub(super) fn timestamp(package: &Package) -> Result<jiff::Timestamp> {
    i64::try_from(package.time())
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
        .ok_or_else(|| Error::bug(format!("package {}: no time {}", package.name(), package.time())))
}

fn index(spec: &Rendered<'_>) -> Result<IndexJson> {
    let wrong = |message: String| Error::recipe(format!("package {}: {message}", spec.package.name()));
    let (platform, arch) = match spec.subdir.split_once('-') {
        Some((platform, "64")) => (Some(platform.to_owned()), Some("x86_64".to_owned())),
        _ => (None, None),
    };
    Ok(IndexJson {
        arch,
        build: rattler_conda_types::package::BuildString::new_unchecked(spec.build.as_str()),
        build_number: spec.package.build_number,
        constrains: spec.constrains.clone(),
        depends: spec.depends.clone(),
        extra_depends: BTreeMap::new(),
        features: None,
        flags: Vec::new(),
        license: spec.package.manifest.license.clone(),
        license_family: None,
        name: spec.package.name().parse::<PackageName>().map_err(|error| wrong(chain(&error)))?,
        noarch: match spec.subdir == "noarch" {
            true if spec.package.manifest.is_for_every_python() => NoArchType::python(),
            true => NoArchType::generic(),
            false => NoArchType::none(),
        },
        platform,
        purls: None,
        python_site_packages_path: None,
        repodata_revision: None,
        subdir: Some(spec.subdir.clone()),
        timestamp: Some(TimestampMs::from_timestamp_millis(timestamp(spec.package)?)),
        track_features: Vec::new(),
        version: spec.version.parse::<VersionWithSource>().map_err(|error| wrong(chain(&error)))?,
    })
}

/// Digest and size of every file. No entry has a `prefix_placeholder`: the files are relocatable,
/// nothing in them names the place of installation, so clients hard-link them unchanged and the
/// digests stay true in every prefix.
///
/// A link has digest and size of what it leads to, as conda-build writes them and conda compares them; one that leads
/// out of the package those of an empty file.
fn paths(artifacts: &[Artifact]) -> PathsJson {
    let by_path: BTreeMap<&str, &ArtifactKind> =
        artifacts.iter().map(|artifact| (artifact.path.as_str(), &artifact.kind)).collect();
    let entries = artifacts.iter().map(|artifact| {
        let (sha256, size) = followed(&by_path, &artifact.path).unwrap_or((Digest::of(b""), 0));
        PathsEntry {
            relative_path: artifact.path.clone().into(),
            no_link: false,
            path_type: match &artifact.kind {
                ArtifactKind::File { .. } => PathType::HardLink,
                ArtifactKind::Link { .. } => PathType::SoftLink,
            },
            prefix_placeholder: None,
            sha256: Some((*sha256.as_bytes()).into()),
            size_in_bytes: Some(size),
        }
    });
    PathsJson { paths: entries.collect(), paths_version: 1 }
}

/// Most links that lead to one file.
const MOST_LINKS: usize = 40;

/// The file that a path of the package is, or leads to.
fn followed(by_path: &BTreeMap<&str, &ArtifactKind>, path: &str) -> Option<(Digest, u64)> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match by_path.get(path.as_str())? {
            ArtifactKind::File { sha256, size, .. } => return Some((*sha256, *size)),
            ArtifactKind::Link { to, .. } => path = beside(&path, to)?,
        }
    }
    None
}

/// Where a link at `path` leads, below the prefix; none for a way out of it.
fn beside(path: &str, to: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        match part {
            "" => return None,
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn about(package: &Package) -> Result<AboutJson> {
    let home = match &package.homepage {
        Some(text) => vec![
            text.parse::<url::Url>()
                .map_err(|error| Error::recipe(format!("home page `{text}` is no address: {error}")))?,
        ],
        None => Vec::new(),
    };
    Ok(AboutJson {
        channels: Vec::new(),
        description: None,
        dev_url: Vec::new(),
        doc_url: Vec::new(),
        extra: BTreeMap::from([("simpack-manifest".to_owned(), Value::from(package.manifest.path()))]),
        home,
        license: package.manifest.license.clone(),
        license_family: None,
        source_url: None,
        summary: Some(package.summary.clone()),
    })
}

/// Weak exports: they reach packages that link against this one, not those that only build with it.
fn run_exports(spec: &Rendered<'_>) -> RunExportsJson {
    RunExportsJson { weak: spec.run_exports.clone(), ..RunExportsJson::default() }
}

/// Tests in the form that rattler-build runs. JSON is YAML, and is quoted without doubt.
fn tests(package: &Package) -> Result<Vec<u8>> {
    json_lines(&json!([{ "script": package.tests }]))
}

/// A value as indented JSON with a final newline.
pub(super) fn json_lines(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::bug("a package's metadata does not print as JSON").because(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

//! Projects of Python as wheels and installers lay them out: a directory that tells name, version, requirements, tags
//! and every file ("Recording installed projects", "Binary distribution format").

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::fs::{self, Digest};
use crate::package::wheel;

/// What the name of the directory ends with in which a project tells about itself.
const INFO: &str = ".dist-info";
/// The file in it that lists all files.
const RECORD: &str = "RECORD";
/// Signatures of that list, which it does not list.
const SIGNATURES: [&str; 2] = ["RECORD.jws", "RECORD.p7s"];
/// Larger lists than this are nobody's.
const MOST_BYTES: u64 = 256 << 20;

/// A project, unpacked or installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonProject {
    /// Normalised name (PEP 503).
    pub name: String,
    /// Version.
    pub version: String,
    /// Normalised names of what it requires whatever extras are asked for.
    pub requires: BTreeSet<String>,
    /// Platform tags, joined by dots.
    pub platform: Option<String>,
    /// The directory in which it tells this, below the directory of all projects.
    pub info: String,
    /// Its files, or why they are not known.
    pub files: Result<Vec<RecordedFile>, String>,
}

/// A line of a project's list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// `/`-joined path below the directory of all projects; may lead above it.
    pub path: String,
    /// Its digest.
    pub digest: RecordedDigest,
    /// Bytes.
    pub size: Option<u64>,
}

/// A digest of a project's list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedDigest {
    /// None is told: of the list itself, and of what Python compiled.
    None,
    /// SHA-256.
    Sha256(Digest),
    /// Another algorithm, by its name, or no digest at all.
    Other(String),
}

impl PythonProject {
    /// `scipy-1.16.3`.
    pub fn label(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// The list of its files.
    pub fn record(&self) -> String {
        format!("{}/{RECORD}", self.info)
    }

    /// Whether a file need not be listed: the list itself and its signatures.
    pub fn is_list(&self, path: &str) -> bool {
        let name = path.strip_prefix(&self.info).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| name == RECORD || SIGNATURES.contains(&name))
    }
}

/// The directories below `root` that hold installed projects: itself, or those of its Python.
pub fn site_directories(root: &Path) -> Vec<PathBuf> {
    let holds = |dir: &Path| names(dir).iter().any(|name| name.ends_with(INFO) && dir.join(name).is_dir());
    if holds(root) {
        return vec![root.to_owned()];
    }
    let lib = root.join("lib");
    let pythons = names(&lib).into_iter().filter(|name| name.starts_with("python"));
    let sites = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|site| lib.join(&python).join(site)));
    sites.filter(|site| holds(site)).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The projects whose own directories lie directly in `site`, sorted by name.
pub fn projects(site: &Path) -> Vec<PythonProject> {
    projects_named(site, "")
}

/// Those of them whose normalised names begin like `start`.
pub(in crate::package) fn projects_named(site: &Path, start: &str) -> Vec<PythonProject> {
    let start = normalised(start);
    let infos = names(site)
        .into_iter()
        .filter(|name| name.ends_with(INFO) && normalised(name).starts_with(&start) && site.join(name).is_dir());
    let mut projects: Vec<PythonProject> = infos.map(|info| project(site, info)).collect();
    projects.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    projects
}

fn project(site: &Path, info: String) -> PythonProject {
    let text = |name: &str| {
        let bytes = read_bounded(&site.join(&info).join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let told = text("METADATA").and_then(|text| wheel::metadata(&text));
    // Where it does not tell, the directory's name does: NAME-VERSION.dist-info.
    let named = info.trim_end_matches(INFO);
    let (name, version) = named.split_once('-').unwrap_or((named, ""));
    let (name, version, depends) = match told {
        Some(told) => (told.name, told.version, told.depends),
        None => (name.to_owned(), version.to_owned(), Vec::new()),
    };
    let platform = text("WHEEL").and_then(|text| platform(&text));
    let files = read_bounded(&site.join(&info).join(RECORD)).and_then(|bytes| recorded(&bytes));
    let requires = depends.iter().filter_map(|requirement| required(requirement)).collect();
    PythonProject { name: normalised(&name), version, requires, platform, info, files }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    match path.symlink_metadata() {
        Ok(data) if data.is_file() && data.len() <= MOST_BYTES => fs::read(path).map_err(|error| error.to_string()),
        Ok(_) => Err("it is no regular file of a plausible size".to_owned()),
        Err(_) => Err("there is none".to_owned()),
    }
}

/// The lines of a list of files: path, digest, bytes, as CSV.
///
/// # Errors
/// It is no such list; why, in words.
pub fn recorded(bytes: &[u8]) -> Result<Vec<RecordedFile>, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let line = |line: csv::Result<csv::StringRecord>| {
        let line = line.map_err(|error| error.to_string())?;
        let field = |index: usize| line.get(index).map(str::trim).filter(|text| !text.is_empty());
        let path = field(0).ok_or_else(|| "a line without a path".to_owned())?;
        Ok(RecordedFile {
            path: path.strip_prefix("./").unwrap_or(path).to_owned(),
            digest: field(1).map_or(RecordedDigest::None, digest),
            size: field(2).and_then(|size| size.parse().ok()),
        })
    };
    reader.records().map(line).collect()
}

/// `sha256=` and URL-safe base64 without padding.
fn digest(text: &str) -> RecordedDigest {
    let (algorithm, value) = text.split_once('=').unwrap_or((text, ""));
    let bytes = || URL_SAFE_NO_PAD.decode(value.trim_end_matches('=')).ok()?.try_into().ok();
    match algorithm {
        "sha256" => bytes().map_or_else(
            || RecordedDigest::Other("sha256 that cannot be read".to_owned()),
            |bytes: [u8; 32]| RecordedDigest::Sha256(bytes.into()),
        ),
        other => RecordedDigest::Other(other.to_owned()),
    }
}

/// Platform tags of `WHEEL`: the last part of each tag.
fn platform(text: &str) -> Option<String> {
    let tags = text.lines().filter_map(|line| line.strip_prefix("Tag:")?.trim().rsplit('-').next());
    let platforms: BTreeSet<&str> = tags.flat_map(|tag| tag.split('.')).collect();
    (!platforms.is_empty()).then(|| platforms.into_iter().collect::<Vec<_>>().join("."))
}

/// The normalised name of a requirement; none of one that an extra asks for.
fn required(requirement: &str) -> Option<String> {
    let (name, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
    if marker.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "extra") {
        return None;
    }
    let name = name.trim();
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(name.len());
    Some(normalised(&name[..end]))
}

/// A project's name as indexes compare it (PEP 503): lowercase, with one `-` for each run of `-`, `_` and `.`.
pub fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_files_are_csv_with_digests() {
        let text = "a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n\
                    \"b,\"\"c.py\",sha512=AAAA,7\nd.py,sha256=short,1\n./a-1.dist-info/RECORD,,\n";
        let lines = recorded(text.as_bytes()).unwrap();
        let paths: Vec<&str> = lines.iter().map(|line| line.path.as_str()).collect();
        assert_eq!(paths, ["a.py", "b,\"c.py", "d.py", "a-1.dist-info/RECORD"]);
        assert_eq!(lines[0].digest, RecordedDigest::Sha256(Digest::of(b"")));
        assert_eq!(lines[1].digest, RecordedDigest::Other("sha512".to_owned()));
        assert!(matches!(lines[2].digest, RecordedDigest::Other(_)));
        assert_eq!((&lines[3].digest, lines[3].size), (&RecordedDigest::None, None));
        assert!(recorded(b",sha256=x,1\n").is_err() && recorded(b"\xff,,\n").is_err());
    }

    #[test]
    fn requirements_and_names_are_compared_as_indexes_do() {
        for (text, name) in [
            ("numpy>=1.2", Some("numpy")),
            ("nvidia_cublas.cu12 (>=12.1) ; platform_system == 'Linux'", Some("nvidia-cublas-cu12")),
            ("mpi4py ; extra == 'mpi'", None),
            ("cuda-toolkit[cudart]==13.0", Some("cuda-toolkit")),
            ("b @ https://example.org/b.whl", Some("b")),
        ] {
            assert_eq!(required(text).as_deref(), name, "{text}");
        }
        assert_eq!(normalised("NEURON__gpu.-x"), "neuron-gpu-x");
        let text = "Tag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n";
        assert_eq!(platform(text).as_deref(), Some("manylinux2014_x86_64.manylinux_2_17_x86_64"));
    }

    #[test]
    fn environments_are_searched_for_projects() {
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join("lib/python3.11/site-packages");
        let put = |path: &str, text: &str| {
            fs_err::create_dir_all(site.join(path).parent().unwrap()).unwrap();
            fs_err::write(site.join(path), text).unwrap();
        };
        put("A_b-1.0.dist-info/METADATA", "Name: A.b\nVersion: 1.0\nRequires-Dist: c\n\n");
        put("A_b-1.0.dist-info/RECORD", "a_b.py,,\n");
        put("old-2.dist-info/INSTALLER", "pip\n");
        assert_eq!(site_directories(dir.path()), std::slice::from_ref(&site));
        assert_eq!(site_directories(&site), std::slice::from_ref(&site));
        assert!(site_directories(&dir.path().join("lib")).is_empty());
        let found = projects(&site);
        assert_eq!(found.iter().map(PythonProject::label).collect::<Vec<_>>(), ["a-b-1.0", "old-2"]);
        assert!(found[0].requires.contains("c") && found[0].files.as_ref().unwrap().len() == 1);
        assert_eq!(found[1].files, Err("there is none".to_owned()));
        assert!(found[0].is_list("A_b-1.0.dist-info/RECORD.jws") && !found[0].is_list("old-2.dist-info/RECORD"));
    }
}

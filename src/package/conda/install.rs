//! Puts unpacked packages into a prefix: files by their list, with the prefix in the place of the one that they were
//! built in.

use std::collections::BTreeSet;
use std::path::Path;

use rattler_conda_types::package::{FileMode, LinkJson, NoArchLinks, PackageFile, PathType, PathsJson, RunExportsJson};

use crate::error::{Error, Result};
use crate::fs::{self, Tree};

/// Bytes of the shortest prefix that a package may want replaced: those of builders are padded to far more, and a short one
/// would make a file many times as long.
const SHORTEST: usize = 8;

/// A prefix that packages are put into.
pub struct Installation {
    tree: Tree,
    /// Where the prefix will be when it is whole, which files are told.
    place: String,
    /// `python3.12`, for packages that are for every Python.
    python: Option<String>,
    taken: BTreeSet<String>,
}

/// What a package put into a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installed {
    /// Paths below the prefix, sorted.
    pub files: Vec<String>,
    /// Match specs that whoever is built with the package depends on.
    pub exports: Vec<String>,
}

impl Installation {
    /// Into the directory `root`, which will be moved to `place`; `python` is the version of a Python in it.
    ///
    /// # Errors
    /// The directory cannot be made, or the place is no text.
    pub fn new(root: &Path, place: &Path, python: Option<&str>) -> Result<Self> {
        let series = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
        Ok(Self {
            tree: Tree::make(root)?,
            place: fs::utf8(place)?.to_owned(),
            python: python.map(|version| format!("python{}", series(version))),
            taken: BTreeSet::new(),
        })
    }

    /// Adds the package that was unpacked into `from`. Of two packages that have a file of one path, the first has it.
    ///
    /// # Errors
    /// The package does not say what is in it, or a file cannot be read or written.
    pub fn add(&mut self, from: &Path) -> Result<Installed> {
        let wrong = |what: &str, error: std::io::Error| Error::toolchain(format!("{what} cannot be read: {error}"));
        let paths = PathsJson::from_package_directory_with_deprecated_fallback(from)
            .map_err(|error| wrong("the package's list of files", error))?;
        let exports = match RunExportsJson::from_package_directory(from) {
            Ok(exports) => exports.weak.into_iter().chain(exports.strong).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(wrong("what the package exports", error)),
        };
        let for_every_python =
            LinkJson::from_package_directory(from).is_ok_and(|link| matches!(link.noarch, NoArchLinks::Python(_)));
        let source = Tree::at(from)?;
        let mut files = Vec::new();
        for entry in &paths.paths {
            let listed = fs::utf8(&entry.relative_path)?;
            if listed.starts_with('/') || listed.split('/').any(|part| part == "..") {
                return Err(Error::toolchain(format!("its list of files names {listed}, which lies outside of it")));
            }
            let path = if for_every_python { self.of_python(listed)? } else { listed.to_owned() };
            if !self.taken.insert(path.clone()) {
                continue;
            }
            match entry.path_type {
                PathType::Directory => self.tree.directory(&path)?,
                PathType::SoftLink => {
                    // Unpacking left no link that leads out; where this one leads from here is looked at in the end.
                    let to = fs_err::read_link(from.join(listed))?;
                    self.tree.symlink(fs::utf8(&to)?, &path)?;
                }
                PathType::HardLink => {
                    let replaced =
                        entry.prefix_placeholder.as_ref().map(|old| (old.placeholder.as_str(), old.file_mode));
                    self.file(&source, listed, &path, replaced)?;
                }
            }
            files.push(path);
        }
        files.sort();
        Ok(Installed { files, exports })
    }

    /// Where a package for every Python has a file in the prefix of one.
    fn of_python(&self, path: &str) -> Result<String> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, &self.python) {
            ("site-packages", Some(python)) => Ok(format!("lib/{python}/site-packages/{rest}")),
            ("python-scripts", _) => Ok(format!("bin/{rest}")),
            ("site-packages", None) => {
                Err(Error::toolchain(format!("{path} is for a Python, and none is in the prefix"))
                    .hint("add python to `needs`"))
            }
            _ => Ok(path.to_owned()),
        }
    }

    fn file(&self, source: &Tree, listed: &str, path: &str, replaced: Option<(&str, FileMode)>) -> Result<()> {
        let from = source.open(listed)?;
        let Some((old, mode)) = replaced else { return self.tree.copy(&from, path, None) };
        if old.len() < SHORTEST || !old.starts_with('/') || old.contains('\0') {
            return Err(Error::toolchain(format!("{path} wants something replaced that is no prefix: {old:?}")));
        }
        let permissions = std::os::unix::fs::PermissionsExt::mode(&from.metadata()?.permissions());
        let bytes = source.read(listed)?;
        let bytes = match mode {
            FileMode::Text => replace_text(&bytes, old.as_bytes(), self.place.as_bytes()),
            FileMode::Binary => replace_binary(&bytes, old.as_bytes(), self.place.as_bytes()).ok_or_else(|| {
                Error::toolchain(format!("{path} has no room for the directory {}", self.place))
                    .hint("set SIMPACK_CACHE_DIR to a directory with a shorter name")
            })?,
        };
        self.tree.file(path, &bytes, permissions & 0o777)
    }
}

/// All occurrences in a text.
fn replace_text(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for found in memchr::memmem::find_iter(bytes, old) {
        replaced.extend_from_slice(&bytes[at..found]);
        replaced.extend_from_slice(new);
        at = found + old.len();
    }
    replaced.extend_from_slice(&bytes[at..]);
    replaced
}

/// All occurrences in texts that end in a zero byte: what a text gets shorter is filled with such bytes, so that
/// everything behind it stays in its place. None where the new text does not fit.
fn replace_binary(bytes: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut replaced = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&bytes[at..], old).map(|found| found + at) {
        let end = memchr::memchr(0, &bytes[found..]).map_or(bytes.len(), |end| found + end);
        let text = replace_text(&bytes[found..end], old, new);
        let place = replaced.get_mut(found..end)?;
        if text.len() > place.len() {
            return None;
        }
        place[..text.len()].copy_from_slice(&text);
        place[text.len()..].fill(0);
        at = end;
    }
    Some(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_grow_and_shrink() {
        assert_eq!(replace_text(b"a /old/x b /old", b"/old", b"/newer"), b"a /newer/x b /newer");
        assert_eq!(replace_text(b"none", b"/old", b"/newer"), b"none");
    }

    #[test]
    fn bytes_behind_a_text_stay_in_their_place() {
        let bytes = b"\x01/long/prefix/lib:/long/prefix/bin\0tail\0/long/prefix\0";
        let replaced = replace_binary(bytes, b"/long/prefix", b"/p").unwrap();
        assert_eq!(replaced.len(), bytes.len());
        assert!(replaced.starts_with(b"\x01/p/lib:/p/bin\0\0"));
        assert_eq!(memchr::memmem::find(&replaced, b"tail"), memchr::memmem::find(bytes, b"tail"));
        assert!(replaced.ends_with(b"\0/p\0\0\0\0\0\0\0\0\0\0\0"));
        assert_eq!(replace_binary(bytes, b"/long/prefix", b"/a/very/long/prefix"), None);
        assert_eq!(replace_binary(b"/old", b"/old", b"/o").unwrap(), b"/o\0\0");
    }

    #[test]
    fn a_package_lands_in_its_prefix_with_links_and_modes() {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join("package");
        for (path, text) in [
            ("bin/tool", "#!/placeholder/bin/sh\n"),
            ("lib/libx.so.1", "x"),
            ("info/run_exports.json", r#"{"weak": ["x >=1,<2"]}"#),
            (
                "info/paths.json",
                r#"{"paths_version": 1, "paths": [
                    {"_path": "bin/tool", "path_type": "hardlink", "prefix_placeholder": "/placeholder", "file_mode": "text"},
                    {"_path": "lib/libx.so", "path_type": "softlink"},
                    {"_path": "lib/libx.so.1", "path_type": "hardlink"}]}"#,
            ),
        ] {
            fs_err::create_dir_all(package.join(path).parent().unwrap()).unwrap();
            fs_err::write(package.join(path), text).unwrap();
        }
        fs::set_mode(&package.join("bin/tool"), 0o755).unwrap();
        fs_err::os::unix::fs::symlink("libx.so.1", package.join("lib/libx.so")).unwrap();
        let root = dir.path().join("prefix");
        let mut installation = Installation::new(&root, Path::new("/cache/p"), None).unwrap();
        let installed = installation.add(&package).unwrap();
        assert_eq!(installed.files, ["bin/tool", "lib/libx.so", "lib/libx.so.1"]);
        assert_eq!(installed.exports, ["x >=1,<2"]);
        assert_eq!(fs_err::read_to_string(root.join("bin/tool")).unwrap(), "#!/cache/p/bin/sh\n");
        assert_eq!(fs_err::read_link(root.join("lib/libx.so")).unwrap(), Path::new("libx.so.1"));
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs_err::metadata(root.join("bin/tool")).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o755);
        assert!(installation.add(&package).unwrap().files.is_empty());
    }

    /// Nothing would be replaced everywhere, and a zero byte would never be passed.
    #[test]
    fn what_is_no_prefix_is_not_replaced() {
        for (placeholder, mode) in [("", "text"), ("", "binary"), ("/", "text"), ("\\u0000/long/prefix", "binary")] {
            let dir = tempfile::tempdir().unwrap();
            let package = dir.path().join("package");
            let list = format!(
                r#"{{"paths_version": 1, "paths": [{{"_path": "tool", "path_type": "hardlink",
                     "prefix_placeholder": "{placeholder}", "file_mode": "{mode}"}}]}}"#
            );
            fs::write_atomic(&package.join("info/paths.json"), list.as_bytes()).unwrap();
            fs::write_atomic(&package.join("tool"), b"text\0/long/prefix\0").unwrap();
            let mut installation = Installation::new(&dir.path().join("prefix"), Path::new("/cache/p"), None).unwrap();
            let error = installation.add(&package).unwrap_err().to_string();
            assert!(error.contains("is no prefix"), "{error}");
        }
    }
}

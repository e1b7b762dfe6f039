//! `.conda` packages: taken apart and laid out anew. Sliced files change their digests in `paths.json`, and the package says
//! by its build string what it holds and by a dependency where it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Member;
use crate::bundle::{Condition, is_manifest, read_manifest};
use crate::container::{Form, Stop, unpack};
use crate::error::{Error, Result};
use crate::fs::{self, Content, Digest, EntryKind, Tree};
use crate::package::Effort;
use crate::package::conda::{INDEX, INFO, PATHS, selection};

mod write;

/// A `.conda` package that is being sliced, unpacked.
pub struct Conda {
    path: PathBuf,
    root: PathBuf,
    index: Value,
}

/// What a slice of a package says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CondaLabel {
    /// What stands before the fat package's build string: `sm90`, `ptx90`, `sm80_sm90_ptx`.
    pub word: String,
    /// Where the slice runs.
    pub conditions: Vec<Condition>,
    /// What is added to the build number: a solver prefers the slice to the fat package.
    pub preference: u64,
    /// How hard the files are compressed.
    pub effort: Effort,
}

/// Where slicing put the build number of the fat package.
const FAT_NUMBER: u64 = 100_000_000;

impl Conda {
    /// Whether the file is such a package, by its name.
    pub fn is_one(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "conda")
    }

    /// Unpacks it into the empty directory `root`.
    ///
    /// # Errors
    /// It cannot be read, or is no such package.
    pub fn unpack(path: &Path, root: &Path) -> Result<Self> {
        let damaged = || Error::incomplete(path, "the package is damaged");
        extract(path, root).map_err(|stop| stop.error(|error| damaged().because(error).hint("download it again")))?;
        let index = json(&Tree::at(root)?, INDEX).map_err(|error| damaged().because(error))?;
        agrees(root).map_err(|what| damaged().because(what).hint("download it again"))?;
        Ok(Self { path: path.to_owned(), root: root.to_owned(), index })
    }

    /// Its files that may hold device code.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn members(&self) -> Result<Vec<Member>> {
        let mut members = super::tree_members(&self.root)?;
        members.retain(|member| !member.name.starts_with(INFO));
        Ok(members)
    }

    /// File name of a slice.
    ///
    /// # Errors
    /// The package's own index names nothing that could be a file's name.
    pub fn name(&self, label: &CondaLabel) -> Result<String> {
        Ok(format!("{}.conda", self.stem(label)?))
    }

    fn stem(&self, label: &CondaLabel) -> Result<String> {
        let (build, _) = self.build(label)?;
        Ok(format!("{}-{}-{build}", self.field("name")?, self.field("version")?))
    }

    fn field(&self, key: &str) -> Result<&str> {
        let text = self.index[key].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.+!-".contains(c);
        match !text.is_empty() && !text.starts_with('.') && text.chars().all(plain) {
            true => Ok(text),
            false => Err(Error::file(&self.path, format!("its {INDEX} has no usable `{key}`"))),
        }
    }

    /// Build string and build number of a slice; those of the slice's fat package where this is one itself.
    fn build(&self, label: &CondaLabel) -> Result<(String, u64)> {
        let build = self.field("build")?;
        let number = self.index["build_number"].as_u64().unwrap_or(0);
        let fat = unsliced(build);
        let number = if fat == build { number } else { number / FAT_NUMBER };
        Ok((format!("{}_{fat}", label.word), number.saturating_mul(FAT_NUMBER).saturating_add(label.preference)))
    }

    /// Makes the tree of the package with other content for the files in `sliced` (file by name); `layout` is a new
    /// directory on the same file system as the unpacked package.
    ///
    /// # Errors
    /// The tree cannot be written, or the package's own lists are not what they should be.
    pub fn lay_out(&self, sliced: &BTreeMap<String, PathBuf>, label: &CondaLabel, layout: &Path) -> Result<()> {
        let tree = Tree::make(layout)?;
        let mut changed: BTreeSet<String> = sliced.keys().cloned().collect();
        for entry in fs::walk(&self.root)? {
            match entry.kind {
                EntryKind::Directory => tree.directory(&entry.path)?,
                EntryKind::Link(text) => tree.symlink(&text, &entry.path)?,
                EntryKind::File { .. } => {
                    let from = self.root.join(&entry.path);
                    let from = sliced.get(&entry.path).unwrap_or(&from);
                    if fs_err::hard_link(from, tree.place(&entry.path)?).is_err() {
                        tree.copy(&fs::open(from)?, &entry.path, None)?;
                    }
                }
            }
        }
        changed.extend(manifests(&self.path, layout, sliced, label)?);
        put(&tree, INDEX, &self.new_index(label)?)?;
        put(&tree, PATHS, &paths(&tree, layout, &changed)?)
    }

    fn new_index(&self, label: &CondaLabel) -> Result<Value> {
        let mut index = self.index.clone();
        let (build, number) = self.build(label)?;
        let is_slice = unsliced(self.field("build")?) != self.field("build")?;
        let mut depends: Vec<String> =
            index["depends"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        // A slice of a slice runs where the smaller one does.
        let name = |spec: &str| spec.split_whitespace().next().unwrap_or_default().to_owned();
        let added = selection(&label.conditions).depends;
        depends.retain(|spec| !(is_slice && added.iter().any(|added| name(added) == name(spec))));
        depends.extend(added);
        depends.sort();
        depends.dedup();
        index["build"] = build.into();
        index["build_number"] = number.into();
        index["depends"] = depends.into();
        Ok(index)
    }
}

/// What simpack itself put into the package `of`: lists of files, and where these run.
fn manifests(of: &Path, layout: &Path, sliced: &BTreeMap<String, PathBuf>, label: &CondaLabel) -> Result<Vec<String>> {
    let tree = Tree::at(layout)?;
    let mut written = Vec::new();
    for entry in fs::walk(layout)? {
        let name = entry.path.as_str();
        if !is_manifest(name) {
            continue;
        }
        let bytes = tree.read(name)?;
        let mut manifest = read_manifest(name, &bytes).map_err(|error| Error::incomplete(of, error))?;
        for artifact in manifest.artifacts.iter_mut().filter(|artifact| sliced.contains_key(&artifact.path)) {
            if let crate::bundle::ArtifactKind::File { sha256, size, .. } = &mut artifact.kind {
                let content = Content::map(&tree.open(&artifact.path)?)?;
                (*sha256, *size) = (Digest::of(content.bytes()), content.bytes().len() as u64);
            }
        }
        let is_device = |condition: &Condition| matches!(condition, Condition::Device { .. });
        manifest.conditions.retain(|old| !(is_device(old) && label.conditions.iter().any(is_device)));
        manifest.conditions.extend(label.conditions.iter().cloned());
        put(&tree, name, &manifest)?;
        written.push(name.to_owned());
    }
    Ok(written)
}

/// Replaces a file of the layout, which may be one with the unpacked package's.
fn put(tree: &Tree, name: &str, value: &impl serde::Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::bug("a package's metadata does not print as JSON").because(error))?;
    bytes.push(b'\n');
    tree.write(name, &bytes)
}

/// The fat package's build string in a slice's: `h1_0` of `sm80_sm90a_ptx_h1_0`.
fn unsliced(build: &str) -> &str {
    let is_word = |word: &str| {
        let number = word.strip_prefix("sm").or_else(|| word.strip_prefix("ptx"));
        let digits = number.map(|number| number.trim_end_matches(['a', 'f']));
        word == "ptx" || digits.is_some_and(|it| it.len() >= 2 && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut rest = build;
    while let Some((_, after)) = rest.split_once('_').filter(|(word, _)| is_word(word)) {
        rest = after;
    }
    rest
}

/// `paths.json` with what the changed files are now, and so the links that lead to them.
fn paths(tree: &Tree, layout: &Path, changed: &BTreeSet<String>) -> Result<Value> {
    let mut list = json(tree, PATHS)?;
    let top = fs_err::canonicalize(layout)?;
    let led_to = |link: &str| fs::relative(&top, &fs_err::canonicalize(top.join(link)).ok()?).ok();
    for entry in list["paths"].as_array_mut().into_iter().flatten() {
        let name = entry["_path"].as_str().map(str::to_owned);
        let name = match entry["path_type"] == "softlink" {
            true => name.and_then(|name| led_to(&name)),
            false => name,
        };
        let Some(name) = name.filter(|name| changed.contains(name)) else { continue };
        let content = Content::map(&tree.open(&name)?)?;
        entry["sha256"] = Digest::of(content.bytes()).to_string().into();
        entry["size_in_bytes"] = content.bytes().len().into();
        // What a client would compare after it wrote the prefix into the file is not known any more.
        entry.as_object_mut().and_then(|entry| entry.remove("sha256_in_prefix"));
    }
    Ok(list)
}

fn json(tree: &Tree, path: &str) -> Result<Value> {
    serde_json::from_slice(&tree.read(path)?).map_err(|error| Error::file(path, "is no JSON").because(error))
}

/// Unpacks a package; none of its members may be missing in a slice.
fn extract(path: &Path, root: &Path) -> std::result::Result<(), Stop> {
    unpack(path, Form::Conda, root, false, &mut |refused| Err(refused.into()))
}

/// Whether the files of an unpacked package are what its `paths.json` says.
fn agrees(root: &Path) -> std::result::Result<(), String> {
    let tree = Tree::at(root).map_err(|error| error.to_string())?;
    let list = json(&tree, PATHS).map_err(|error| error.to_string())?;
    for entry in list["paths"].as_array().into_iter().flatten() {
        let name = entry["_path"].as_str().unwrap_or_default();
        if Path::new(name).components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(format!("{name} in paths.json leads out of the package"));
        }
        if entry["path_type"] == "softlink" {
            if !root.join(name).is_symlink() {
                return Err(format!("{name} is no link"));
            }
        } else if entry["path_type"] == "hardlink" {
            let content = tree.open(name).and_then(|file| Content::map(&file));
            let content = content.map_err(|_| format!("{name} is not there"))?;
            let listed = entry["sha256"].as_str();
            if listed.is_some_and(|listed| listed != Digest::of(content.bytes()).to_string()) {
                return Err(format!("{name} is not what paths.json says"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::arch::Capability;
    use crate::bundle::{DeviceRange, EARLIEST};
    use crate::error::ErrorKind;
    use crate::package::Efforts;
    use crate::package::conda::CondaArchive;

    const LIBRARY: &[u8] = b"\x7fELF with code for every GPU";

    /// What simpack says of a package, and where that lies in it.
    const MANIFEST: (&str, &str) =
        ("share/simpack/volley-kernels/simpack.json", include_str!("../../tests/schemas/manifest-2.json"));

    /// A package with these two lists, a file that could hold device code, and a manifest.
    fn package(dir: &Path, index: &str, paths: &str) -> PathBuf {
        let lists = [("info/index.json", index.as_bytes()), ("info/paths.json", paths.as_bytes())];
        let files = [("lib/libfat.so", LIBRARY), (MANIFEST.0, MANIFEST.1.as_bytes())];
        let one = NonZeroUsize::MIN;
        let mut archive = CondaArchive::new(dir, "fat-1-0", EARLIEST, Efforts::default(), one).unwrap();
        let add = |archive: &mut CondaArchive, (name, content): (&str, &[u8])| {
            let place = dir.join("content");
            fs_err::write(&place, content).unwrap();
            let file = fs_err::File::open(place).unwrap();
            archive.entry(name, content.len() as u64, false, Effort::Strong, &file).unwrap();
        };
        files.into_iter().for_each(|file| add(&mut archive, file));
        let mut archive = archive.about().unwrap();
        lists.into_iter().for_each(|list| add(&mut archive, list));
        let path = dir.join("fat-1-0.conda");
        archive.finish().unwrap().persist(&path).unwrap();
        path
    }

    fn hopper() -> Condition {
        let ranges = vec![DeviceRange::Only(vec![Capability::new(9, 0)])];
        Condition::Device { ranges, if_unknown: false }
    }

    #[test]
    fn the_manifest_says_where_a_slice_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = package(dir.path(), INDEX, &listed("lib/libfat.so", LIBRARY));
        let slice = dir.path().join(cut(&path, dir.path()).unwrap());
        let root = dir.path().join("slice");
        fs_err::create_dir(&root).unwrap();
        let conda = Conda::unpack(&slice, &root).unwrap();
        assert_eq!(conda.index["depends"], serde_json::json!(["__cuda_arch ==9.0"]));
        let was = read_manifest(MANIFEST.0, MANIFEST.1.as_bytes()).unwrap().conditions;
        let now = read_manifest(MANIFEST.0, &fs_err::read(root.join(MANIFEST.0)).unwrap()).unwrap().conditions;
        // What it asks of the driver stays, where it runs is what the slice says.
        assert_eq!((was.len(), now), (2, vec![was[0].clone(), hopper()]));
    }

    /// Cuts the library of a package; answers the name of the slice.
    fn cut(path: &Path, dir: &Path) -> Result<String> {
        let (root, scratch) = (dir.join("root"), dir.join("scratch"));
        fs_err::create_dir_all(&root)?;
        fs_err::create_dir_all(&scratch)?;
        let conda = Conda::unpack(path, &root)?;
        fs_err::write(dir.join("cut"), b"\x7fELF less")?;
        let sliced = conda.members()?.into_iter().map(|member| (member.name, dir.join("cut"))).collect();
        let label = CondaLabel { word: "sm90".into(), conditions: vec![hopper()], preference: 1, effort: Effort::Fast };
        let name = conda.name(&label)?;
        conda.write(&sliced, &label, &scratch, &dir.join(&name))?;
        Ok(name)
    }

    const INDEX: &str = r#"{"name": "fat", "version": "1", "build": "0", "build_number": 0, "depends": []}"#;

    fn listed(name: &str, content: &[u8]) -> String {
        let sha256 = Digest::of(content);
        format!(r#"{{"paths": [{{"_path": "{name}", "path_type": "hardlink", "sha256": "{sha256}"}}]}}"#)
    }

    #[test]
    fn packages_that_contradict_themselves_are_refused() {
        let good = listed("lib/libfat.so", LIBRARY);
        for (index, paths, said) in [
            (INDEX, &good, None),
            (INDEX, &listed("lib/libfat.so", b"other"), Some("is not what paths.json says")),
            (INDEX, &listed("lib/gone.so", LIBRARY), Some("is not there")),
            (INDEX, &listed("../../outside", LIBRARY), Some("leads out of the package")),
            (INDEX, &listed("/outside", LIBRARY), Some("leads out of the package")),
            (r#"{"name": "../x", "version": "1", "build": "0"}"#, &good, Some("no usable `name`")),
            (r#"{"name": "fat", "version": 1, "build": "0"}"#, &good, Some("no usable `version`")),
            ("[]", &good, Some("no usable `build`")),
            (INDEX, &"none".to_owned(), Some("no JSON")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = package(dir.path(), index, paths);
            match (cut(&path, dir.path()), said) {
                (Ok(name), None) => assert_eq!(name, "fat-1-sm90_0.conda"),
                (Err(error), Some(said)) => {
                    assert!(matches!(error.kind(), ErrorKind::File | ErrorKind::Incomplete), "{error}");
                    let whole = format!("{error} {error:?}");
                    assert!(whole.contains(said), "{whole}");
                }
                (result, _) => panic!("{index} {paths}: {:?}", result.map_err(|error| error.to_string())),
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]

        /// Damage anywhere is refused or does no harm: what is written always reads back.
        #[test]
        fn damaged_packages_are_refused(damage in proptest::collection::vec((0usize..10_000, 0u8..=255), 1..5)) {
            let dir = tempfile::tempdir().unwrap();
            let path = package(dir.path(), INDEX, &listed("lib/libfat.so", LIBRARY));
            let mut bytes = fs_err::read(&path).unwrap();
            for (at, byte) in damage {
                let length = bytes.len();
                bytes[at % length] = byte;
            }
            fs_err::write(&path, bytes).unwrap();
            if let Err(error) = cut(&path, dir.path()) {
                assert_ne!(error.kind(), ErrorKind::Bug, "{error}");
            }
        }
    }

    #[test]
    fn the_fat_build_string_is_found_in_a_slices() {
        assert_eq!(unsliced("sm80_sm90a_ptx_h1234567_0"), "h1234567_0");
        assert_eq!(unsliced("ptx90_0"), "0");
        assert_eq!(unsliced("h1234567_0"), "h1234567_0");
        assert_eq!(unsliced("small_0"), "small_0");
        assert_eq!(unsliced("sm_90_h1"), "sm_90_h1");
    }
}

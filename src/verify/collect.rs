//! Reads every file of every bundle, once, on all cores, from memory maps.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::BundleFacts;
use super::facts::{Contents, FileFacts, Kept, ObjectFacts, PackageFacts, PackageIndex, Stray};
use super::input::{Extent, Foreign};
use super::texts::{fixed, is_build_text, naming, prefixed};
use super::{Depth, Loads, Rules};
use crate::budget::Budget;
use crate::bundle::{Bundle, BundleManifest, HeldFile, KERNELS_LIST, KnownFile, is_manifest};
use crate::elf;
use crate::error::Result;
use crate::fs::Content;
use crate::fs::{self, Digest, Entry, EntryKind};
use crate::gpu::{self, CodeError, KernelSignature, Look};
use crate::layout::{CompiledType, compiled_types};
use crate::manifest::opened;
use crate::package::{is_beside, is_installed, kept};
use crate::parallel::{side_by_side, threads};
use crate::report::{self, Incomplete, Subject};

/// What a run asks of the collector: nobody pays for bytes that no lint looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Digest of every file: reads all bytes.
    pub digests: bool,
    /// Digest of every file of a project that lists its files with digests.
    pub recorded: bool,
    /// Paths of the build in every file: reads all bytes.
    pub leaks: bool,
    /// How closely to look at code.
    pub depth: Depth,
}

/// What was read, and what could not be.
pub(super) struct Collected {
    pub(super) facts: BundleFacts,
    pub(super) incomplete: Vec<Incomplete>,
}

/// What is examined.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subjects<'a> {
    /// What simpack made.
    pub(super) bundles: &'a [Bundle],
    /// What others made.
    pub(super) foreign: &'a [Foreign],
    /// What package managers are told of packages.
    pub(super) indexes: &'a [PackageIndex],
    /// Members that would leave their packages.
    pub(super) strays: &'a [Stray],
}

/// One tree of files.
struct Tree<'a> {
    name: &'a str,
    root: &'a Path,
    bundle: Option<&'a Bundle>,
    foreign: Option<&'a Foreign>,
}

/// What findings call packages: by name, and by CUDA release and host variant where several packages share one.
pub(super) fn labels(bundles: &[Bundle]) -> Vec<String> {
    let mut releases: BTreeMap<&str, BTreeSet<_>> = BTreeMap::new();
    for Bundle { manifest, .. } in bundles {
        releases.entry(&manifest.package).or_default().insert(manifest.cuda);
    }
    let label = |Bundle { manifest, .. }: &Bundle| {
        let cuda = manifest.cuda.filter(|_| releases[manifest.package.as_str()].len() > 1);
        report::one_of(&manifest.package, cuda, manifest.host.as_ref().map(ToString::to_string).as_deref())
    };
    bundles.iter().map(label).collect()
}

/// Facts of all subjects. What cannot be read is said in `incomplete`; this never fails as a whole.
pub(super) fn collect(subjects: Subjects<'_>, rules: &Rules, needs: Needs) -> Collected {
    let Subjects { bundles, foreign, indexes, strays } = subjects;
    let mut incomplete = Vec::new();
    let mut work: Vec<(usize, Entry)> = Vec::new();
    let labels = labels(bundles);
    let of_bundles = bundles.iter().zip(&labels).map(|(bundle, label)| Tree {
        name: label,
        root: &bundle.root,
        bundle: Some(bundle),
        foreign: None,
    });
    let of_others = foreign.iter().map(|foreign| Tree {
        name: &foreign.name,
        root: &foreign.root,
        bundle: None,
        foreign: Some(foreign),
    });
    let trees: Vec<Tree<'_>> = of_bundles.chain(of_others).collect();
    for (index, tree) in trees.iter().enumerate() {
        let entries = match (tree.bundle, tree.foreign) {
            (Some(bundle), _) => entries(bundle),
            (None, foreign) => foreign.map_or_else(|| Ok(Vec::new()), Foreign::entries),
        };
        match entries {
            Ok(entries) => work.extend(entries.into_iter().map(|entry| (index, entry))),
            Err(error) => incomplete.push(gap(tree.name, "file", &error.to_string())),
        }
    }
    // The largest first, so that no core is left with one at the end.
    let size = |entry: &Entry| if let EntryKind::File { size, .. } = entry.kind { size } else { 0 };
    work.sort_by_key(|(_, entry)| std::cmp::Reverse(size(entry)));
    let common = Budget::for_size(0);
    let shared = shared_types(bundles);
    let mut examined = side_by_side(
        &work,
        threads(),
        || (),
        |(), (index, entry)| {
            let tree = &trees[*index];
            let mut examination =
                Examination { tree, rules, needs, common: &common, shared: &shared, gaps: Vec::new() };
            (*index, examination.file(entry), examination.gaps)
        },
    );
    let empty = |tree: &Tree<'_>| Contents {
        name: tree.name.to_owned(),
        platform: tree.foreign.and_then(|foreign| foreign.platform.clone()),
        project: tree.foreign.and_then(|foreign| foreign.project.clone()),
        environment: tree.foreign.and_then(|foreign| foreign.environment.clone()),
        is_alone: tree.foreign.is_some_and(|foreign| matches!(foreign.extent, Extent::One(_))),
        files: Vec::new(),
    };
    let mut contents: Vec<Contents> = trees.iter().map(empty).collect();
    examined.sort_by(|(a, one, _), (b, other, _)| (a, &one.path).cmp(&(b, &other.path)));
    for (index, file, gaps) in examined {
        contents[index].files.push(file);
        incomplete.extend(gaps);
    }
    for contents in &mut contents {
        contents.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let mut foreign = contents.split_off(bundles.len());
    foreign.sort_by(|a, b| a.name.cmp(&b.name));
    let mut packages: Vec<PackageFacts> = bundles
        .iter()
        .zip(contents)
        .map(|(bundle, contents)| PackageFacts {
            manifest: bundle.manifest.clone(),
            contents,
            kept: kept_of(bundle, needs),
        })
        .collect();
    let order = |package: &PackageFacts| {
        let BundleManifest { target, cuda, host, .. } = &package.manifest;
        (package.name().to_owned(), *target, *cuda, host.clone())
    };
    packages.sort_by_key(order);
    let mut indexes = indexes.to_vec();
    indexes.sort();
    indexes.dedup();
    let mut strays = strays.to_vec();
    strays.sort();
    let loads = Loads::of(&packages, &rules.manifests.loaders);
    Collected { facts: BundleFacts { packages, foreign, indexes, strays, loads, rules: rules.clone() }, incomplete }
}

/// The types of the host, by simulator, that buffers and push constants of its shaders are filled from.
fn shared_types(bundles: &[Bundle]) -> SharedTypes<'_> {
    let mut found = SharedTypes::new();
    for Bundle { manifest, .. } in bundles {
        let types: Vec<&str> = manifest.kernels.iter().flat_map(KernelSignature::host_types).collect();
        found.entry(&manifest.simulator).or_default().extend(types);
    }
    found
}

/// Files and links of a bundle without what formats put beside those of the manifest. A prefix that several packages are
/// installed in holds what others own: there the manifest says which files are the package's.
fn entries(bundle: &Bundle) -> Result<Vec<Entry>> {
    let mut entries = match bundle.files.held() {
        Some(held) => held.iter().map(held_entry).collect(),
        None => fs::walk(&bundle.root)?,
    };
    let shared =
        entries.iter().filter(|entry| is_manifest(&entry.path)).count() > 1 || bundle.root.join("conda-meta").is_dir();
    let own: BTreeSet<&str> = bundle.manifest.artifacts.iter().map(|artifact| artifact.path.as_str()).collect();
    entries.retain(|entry| {
        entry.kind != EntryKind::Directory
            && !is_beside(&bundle.manifest, &entry.path)
            && (!shared || own.contains(entry.path.as_str()))
    });
    Ok(entries)
}

/// A file in memory as a walk would have found it on a disk.
fn held_entry((path, file): (&String, &HeldFile)) -> Entry {
    let (size, executable) = (file.bytes.len() as u64, file.mode & 0o100 != 0);
    Entry { path: path.clone(), kind: EntryKind::File { size, executable } }
}

/// What was kept of a package's installation, where it is installed.
fn kept_of(bundle: &Bundle, needs: Needs) -> Kept {
    if !needs.recorded || needs.depth == Depth::Symbols || bundle.files.held().is_some() {
        return Kept::Nothing;
    }
    match kept(&bundle.root, &bundle.manifest) {
        Some(list) => Kept::List { place: list.place.clone(), differences: list.differences() },
        None if is_installed(&bundle.root) => Kept::NoList,
        None => Kept::Nothing,
    }
}

fn gap(subject: impl Into<Subject>, topic: &str, reason: &str) -> Incomplete {
    Incomplete { subject: subject.into(), topic: topic.to_owned(), reason: reason.to_owned() }
}

/// Names of types by simulators.
type SharedTypes<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The examination of one file.
struct Examination<'a> {
    tree: &'a Tree<'a>,
    rules: &'a Rules,
    needs: Needs,
    /// What all files may spend beside their own shares.
    common: &'a Budget,
    shared: &'a SharedTypes<'a>,
    gaps: Vec<Incomplete>,
}

impl Examination<'_> {
    fn file(&mut self, entry: &Entry) -> FileFacts {
        let mut facts = FileFacts {
            path: entry.path.clone(),
            kind: entry.kind.clone(),
            mode: None,
            digest: None,
            objects: Vec::new(),
            device: Arc::default(),
            embedded: BTreeMap::new(),
            leaks: Vec::new(),
            leaking: Vec::new(),
            fixed: Vec::new(),
            prefixed: Vec::new(),
            holds_tag: false,
            list: None,
            builtins: None,
            opens: Vec::new(),
        };
        if !matches!(entry.kind, EntryKind::File { .. }) {
            return facts;
        }
        match self.open(&entry.path) {
            Ok((file, content, mode)) => {
                facts.mode = Some(mode);
                let read = match self.needs.depth {
                    Depth::Symbols => {
                        self.tables(content.sparse().bytes(), &mut facts);
                        Ok(())
                    }
                    Depth::Code | Depth::Instructions => self.bytes(file.as_ref(), &content, &mut facts),
                };
                if let Err(error) = read {
                    self.gap(&entry.path, "file", &error.to_string());
                }
            }
            Err(error) => self.gap(&entry.path, "file", &error.to_string()),
        }
        facts
    }

    /// A file where it is on a disk, its bytes, and its permission bits.
    fn open(&self, path: &str) -> Result<(Option<fs_err::File>, Content, u32)> {
        if let Some(held) = self.tree.bundle.and_then(|bundle| bundle.files.held()?.get(path)) {
            return Ok((None, Content::Held(held.bytes.to_vec()), held.mode));
        }
        let file = fs::open(&self.tree.root.join(path))?;
        let (content, mode) = (Content::map(&file)?, file.metadata()?.mode());
        Ok((Some(file), content, mode))
    }

    /// The ELF tables alone.
    fn tables(&mut self, bytes: &[u8], facts: &mut FileFacts) {
        let budget = self.common.share(bytes.len() as u64);
        if bytes.starts_with(b"!<arch>\n") {
            self.archive(bytes, facts, &budget);
        } else if elf::is_elf(bytes) {
            self.object(bytes, None, facts, &budget);
        }
    }

    fn bytes(&mut self, file: Option<&fs_err::File>, content: &Content, facts: &mut FileFacts) -> Result<()> {
        let bytes = content.bytes();
        let is_listed = self.tree.foreign.is_some_and(|foreign| foreign.project.is_some()) && self.needs.recorded;
        if is_listed || (self.needs.digests && self.tree.bundle.is_some()) {
            facts.digest = Some(match (self.known(&facts.path).and_then(|known| known.digest()), content, file) {
                (Some(known), ..) => known,
                // Through the map all of it would be held at once.
                (None, Content::Mapped(_), Some(file)) => Digest::of_open(file)?,
                (None, ..) => Digest::of(bytes),
            });
        }
        if self.needs.leaks {
            let leaks = self.rules.build_paths.iter().filter(|path| contains(bytes, path.as_bytes()));
            facts.leaks = leaks.cloned().collect();
            if !facts.leaks.is_empty() && is_build_text(facts.name(), bytes) {
                facts.leaking = naming(bytes, &std::mem::take(&mut facts.leaks));
            }
        }
        facts.fixed = fixed(facts.name(), bytes);
        facts.prefixed = prefixed(bytes);
        if let Some(tag) =
            self.tree.bundle.and_then(|bundle| bundle.manifest.kernel_abi.as_ref()).filter(|_| elf::is_elf(bytes))
        {
            facts.holds_tag = contains(bytes, tag.to_string().as_bytes());
        }
        if facts.name() == KERNELS_LIST {
            facts.list = Some(serde_json::from_slice(bytes).map_err(|error| error.to_string()));
        }
        if facts.name().starts_with("libnvrtc") && elf::is_elf(bytes) {
            facts.builtins = opened_builtins(bytes);
        }
        let path = facts.path.clone();
        let budget = self.common.share(bytes.len() as u64);
        if bytes.starts_with(b"!<arch>\n") {
            self.archive(bytes, facts, &budget);
        } else if elf::is_elf(bytes) {
            self.object(bytes, None, facts, &budget);
            self.opened(bytes, facts);
        }
        match gpu::embedded_modules(bytes, &self.given(), &budget) {
            Ok(found) => facts.embedded = found,
            Err(error) => self.gap(&path, "device-code", &error.to_string()),
        }
        let look = Look { kernels: true, deep: false };
        match gpu::device_code_within(bytes, look, &budget, Some(content)) {
            Ok(device) => {
                for reason in &device.unexamined {
                    self.gap(&path, "device-code", reason);
                }
                facts.device = Arc::new(device);
                if let Some(known) = self.known(&path) {
                    known.examined(&facts.device);
                }
            }
            // The ELF reader has said it of the same bytes.
            Err(CodeError::Elf(_)) => {}
            Err(error) => self.gap(&path, "device-code", &error.to_string()),
        }
        Ok(())
    }

    /// Sizes and digests of the modules that the build of the package was given to embed.
    fn given(&self) -> BTreeMap<u64, BTreeSet<Digest>> {
        let mut given: BTreeMap<u64, BTreeSet<Digest>> = BTreeMap::new();
        let embedded = self.tree.bundle.iter().flat_map(|bundle| &bundle.manifest.embedded);
        for module in embedded.flat_map(|shaders| &shaders.modules) {
            given.entry(module.size).or_default().insert(module.sha256);
        }
        given
    }

    /// Names that a package's file may open. What others made promises nothing about them.
    fn opened(&self, bytes: &[u8], facts: &mut FileFacts) {
        let [object] = facts.objects.as_slice() else { return };
        if self.tree.bundle.is_some() && (object.elf.imports_symbol("dlopen") || object.elf.imports_symbol("dlmopen")) {
            let own = object.elf.soname.as_deref().unwrap_or(facts.name());
            facts.opens = opened(bytes, own, &self.rules.manifests.loaders, &self.rules.manifests.vendor);
        }
    }

    fn archive(&mut self, bytes: &[u8], facts: &mut FileFacts, budget: &Budget) {
        let path = facts.path.clone();
        let members = match gpu::archive_members(bytes, budget) {
            Ok(members) => members,
            Err(error) => return self.gap(&path, "elf", &error.to_string()),
        };
        for member in members {
            match member {
                Ok((name, data)) if elf::is_elf(data) => self.object(data, Some(name), facts, budget),
                Ok(_) => {}
                Err(error) => return self.gap(&path, "elf", &error.to_string()),
            }
        }
    }

    /// What is known of a bundle's file. Nothing is added: a bundle may be examined again when its files have changed.
    fn known(&self, path: &str) -> Option<Arc<KnownFile>> {
        self.tree.bundle.map(|bundle| bundle.files.file(path))
    }

    fn object(&mut self, bytes: &[u8], member: Option<String>, facts: &mut FileFacts, budget: &Budget) {
        let known = self.known(&facts.path).filter(|_| member.is_none());
        let read = || -> Result<Option<(elf::Image<'_>, Arc<elf::Facts>)>, elf::ElfError> {
            let image = elf::Image::parse_within(bytes, budget.clone())?;
            if image.is_device_code() {
                return Ok(None);
            }
            let found = match known.as_ref().and_then(|known| known.host()) {
                Some(found) => Arc::clone(found),
                None => Arc::new(elf::facts_of(&image)?),
            };
            Ok(Some((image, found)))
        };
        let is_deep = self.needs.depth == Depth::Instructions;
        let read = read().and_then(|read| {
            let Some((image, found)) = read else { return Ok(None) };
            let code = if is_deep { elf::host_code(&image, &found)? } else { None };
            let isa = elf::isa_level(&image);
            image.spent()?;
            Ok(Some((isa, found, code)))
        });
        match read {
            Ok(None) => {}
            Ok(Some((isa, found, code))) => {
                if is_deep && code.is_none() {
                    let path = member_of(&facts.path, member.as_deref());
                    self.gap(&path, "instructions", &format!("only x86-64 is decoded, this is {}", found.machine));
                }
                let types = self.types(bytes, (&facts.path, member.as_deref()), &found, budget);
                facts.objects.push(ObjectFacts { member, elf: found, isa, code, types });
            }
            Err(error) => {
                let path = member_of(&facts.path, member.as_deref());
                self.gap(&path, "elf", &error.to_string());
            }
        }
    }

    /// The types of the host that shaders are filled from, where debug information says how they lie.
    fn types(
        &mut self,
        bytes: &[u8],
        (path, member): (&str, Option<&str>),
        found: &elf::Facts,
        budget: &Budget,
    ) -> Vec<CompiledType> {
        let simulator = self.tree.bundle.map(|bundle| bundle.manifest.simulator.as_str());
        let names = simulator.and_then(|name| self.shared.get(name)).filter(|names| !names.is_empty());
        let Some(names) = names.filter(|_| found.debug_info && self.needs.depth != Depth::Symbols) else {
            return Vec::new();
        };
        compiled_types(bytes, names, budget).unwrap_or_else(|error| {
            self.gap(&member_of(path, member), "types", &error.to_string());
            Vec::new()
        })
    }

    fn gap(&mut self, path: &str, topic: &str, reason: &str) {
        let subject = if self.tree.name == path { path.into() } else { Subject::file(self.tree.name, path) };
        self.gaps.push(gap(subject, topic, reason));
    }
}

/// `lib/liba.a(b.o)`.
fn member_of(path: &str, member: Option<&str>) -> String {
    member.map_or_else(|| path.to_owned(), |member| format!("{path}({member})"))
}

/// Position of the first `word`.
fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    let first = *word.first()?;
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes[from..].starts_with(word) {
            return Some(from);
        }
        from += 1;
    }
}

/// The name by which an NVRTC opens its built-in functions: `libnvrtc-builtins.so.13.0`, a whole string
/// constant. The library of built-in functions itself holds its own name, as SONAME.
fn opened_builtins(bytes: &[u8]) -> Option<String> {
    const STEM: &[u8] = b"libnvrtc-builtins";
    let mut from = 0;
    while let Some(found) = find(&bytes[from..], STEM) {
        let at = from + found;
        from = at + STEM.len();
        let text: Vec<u8> = bytes[at..].iter().copied().take(128).take_while(u8::is_ascii_graphic).collect();
        let text = String::from_utf8(text).ok()?;
        let version = text.split_once(".so.").map(|(_, version)| version);
        if version.is_some_and(|version| version.split('.').all(|part| part.parse::<u32>().is_ok())) {
            return Some(text);
        }
    }
    None
}

/// Whether `needle` stands in `bytes` as a whole word: `/tmp/build` is not found in `/tmp/builder`.
fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = &rest[at..];
        if rest.starts_with(needle) {
            let after = rest.get(needle.len());
            let continues = after.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(byte));
            if needle.ends_with(b"/") || !continues {
                return true;
            }
        }
        rest = &rest[1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn paths_are_found_whole() {
        assert!(contains(b"xx/tmp/build/core.cc\0", b"/tmp/build"));
        assert!(contains(b"/tmp/build", b"/tmp/build"));
        assert!(contains(b"//tmp/build\0", b"/tmp/build"));
        assert!(!contains(b"/tmp/builder/core.cc", b"/tmp/build"));
        assert!(!contains(b"/tmp/buil", b"/tmp/build"));
        assert!(!contains(b"anything", b""));
    }
}

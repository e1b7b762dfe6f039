//! Kernels: what was compiled against the declared table, and each target against the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::KernelAbiTag;
use crate::elf::demangled;
use crate::gpu::{KernelSignature, Param, kernel_abi_tag};
use crate::lint::{Hits, Parameters, Predicate};
use crate::near::nearest;
use crate::recipe::{ComponentKind, KernelForm, KernelPlace, scalars_of};
use crate::report::Place;
use crate::verify::{BundleFacts, FileFacts, PackageFacts};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "kernel-abi", parameters: &[], check: kernel_abi },
        Predicate { id: "kernel-coverage", parameters: &[], check: kernel_coverage },
        Predicate { id: "kernel-entry", parameters: &[], check: kernel_entry },
        Predicate { id: "kernel-tag-absent", parameters: &[], check: kernel_tag_absent },
    ]
}

/// Device code of one directory: one variant for one target.
struct KernelDir<'a> {
    package: &'a PackageFacts,
    path: &'a str,
    files: Vec<&'a FileFacts>,
}

impl<'a> KernelDir<'a> {
    /// Every kernel with the file it is in and its name. Two modules may hold the same kernel.
    fn kernels(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a KernelSignature)> {
        self.files.iter().flat_map(|file| {
            let kernels = file.device.images.iter().flat_map(|image| &image.kernels);
            kernels
                .map(move |kernel| (file.path.as_str(), file.kernel_name(&kernel.signature.name), &*kernel.signature))
        })
    }

    /// Whether a file of it is SPIR-V.
    fn is_spirv(&self, path: &str) -> bool {
        let file = self.files.iter().find(|file| file.path == path);
        file.is_some_and(|file| file.device.images.iter().any(|image| image.spirv.is_some()))
    }

    fn names(&self) -> BTreeSet<&'a str> {
        self.kernels().map(|(_, name, _)| name).collect()
    }

    /// Whether all of its device code could be read.
    fn is_known(&self) -> bool {
        self.files.iter().all(|file| file.device.unexamined.is_empty())
    }

    /// The directory without the target's own name, so that targets can be compared:
    /// `lib/volley/kernels/k.../cuda13/fixed` of `.../fixed/sm_90`.
    fn variant(&self) -> &'a str {
        let target = self.package.manifest.target.map(|target| format!("/{target}")).unwrap_or_default();
        self.path.strip_suffix(target.as_str()).unwrap_or(self.path)
    }
}

/// All directories with device code of kernel packages, by package and path.
fn kernel_dirs(facts: &BundleFacts) -> Vec<KernelDir<'_>> {
    let mut dirs = Vec::new();
    // A library that ships cut launches its own kernels: no table is declared for them.
    let is_declared = |package: &&PackageFacts| !package.manifest.is_slice();
    let kernels = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Kernels);
    for package in kernels.filter(is_declared) {
        let mut by_path: BTreeMap<&str, Vec<&FileFacts>> = BTreeMap::new();
        for file in package.files().iter().filter(|file| !file.device.is_empty()) {
            by_path.entry(file.directory()).or_default().push(file);
        }
        // The same package may be here in two formats.
        let is_new = |path: &&str, dirs: &[KernelDir<'_>]| {
            !dirs.iter().any(|dir: &KernelDir<'_>| dir.path == *path && dir.package.manifest == package.manifest)
        };
        for (path, files) in by_path {
            if is_new(&path, &dirs) {
                dirs.push(KernelDir { package, path, files });
            }
        }
    }
    dirs
}

/// Parameter layouts and names equal the declared table, and the tag follows from it. Kernels that
/// are absent are kernel-coverage's.
fn kernel_abi(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let dirs = kernel_dirs(facts);
    let misspelt = misspelt(&dirs);
    for dir in &dirs {
        let declared: BTreeMap<&str, &KernelSignature> =
            dir.package.manifest.own_kernels().map(|kernel| (kernel.name.as_str(), kernel)).collect();
        for (path, name, kernel) in dir.kernels() {
            let subject = dir.package.subject(path);
            match declared.get(name).copied() {
                // kernel-coverage says which declared name is meant.
                None if misspelt.values().any(|found| *found == name) => {}
                None => {
                    hits.add(subject, format!("kernel `{name}` is not in the declared table"))
                        .evidence(format!("its parameters: {}", layout(&kernel.params)))
                        .fix(format!("declare `{name}` in the kernel table, or make it static"));
                }
                // Parameters of a shader are its push constants: shader-layout compares them.
                Some(known) if known.params != kernel.params && !dir.is_spirv(path) => {
                    let difference = difference(known, kernel, facts.rules.kernel_place(&known.name));
                    let hit = hits
                        .add(subject, format!("kernel `{name}`: {}", difference.message))
                        .evidence(format!("table: {}", layout(&known.params)))
                        .evidence(format!("code:  {}", layout(&kernel.params)))
                        .at(difference.at);
                    if let Some(fix) = difference.fix {
                        hit.fix(fix);
                    }
                }
                Some(_) => {}
            }
        }
        let tags = dir.path.split('/').filter_map(|part| part.parse::<KernelAbiTag>().ok());
        for tag in tags.filter(|tag| Some(tag) != dir.package.manifest.kernel_abi.as_ref()) {
            hits.add(
                dir.package.subject(dir.path),
                format!("lies under tag {tag}, the package's is {}", of(dir.package)),
            );
        }
    }
    // The table of what core embeds is a part of the one that the tag is over.
    let with_table = |package: &&PackageFacts| {
        package.manifest.component == ComponentKind::Kernels && !package.manifest.kernels.is_empty()
    };
    for package in facts.packages.iter().filter(with_table) {
        let computed = kernel_abi_tag(&package.manifest.kernels);
        if package.manifest.kernel_abi.as_ref() != Some(&computed) {
            hits.add(package.label(), format!("its table gives tag {computed}, it declares {}", of(package)));
        }
    }
    same_tag(facts, hits);
}

fn of(package: &PackageFacts) -> String {
    package.manifest.kernel_abi.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// Core, rtc and kernels of one simulator version carry one tag.
fn same_tag(facts: &BundleFacts, hits: &mut Hits) {
    let core = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core);
    for core in core {
        for package in &facts.packages {
            let (ours, theirs) = (&package.manifest, &core.manifest);
            let together = ours.simulator == theirs.simulator && ours.version == theirs.version;
            if together
                && ours.kernel_abi.is_some()
                && theirs.kernel_abi.is_some()
                && ours.kernel_abi != theirs.kernel_abi
            {
                let message = format!("has kernel ABI tag {}, {} has {}", of(package), core.name(), of(core));
                hits.add(package.label(), message).fix("build core and kernels from one recipe and kernel table");
            }
        }
    }
}

/// How the code of a kernel differs from the table, and what to do about it.
struct Difference<'a> {
    message: String,
    fix: Option<String>,
    at: Option<&'a Place>,
}

/// The first difference: what follows it follows from it.
fn difference<'a>(
    declared: &KernelSignature,
    found: &KernelSignature,
    place: Option<&'a KernelPlace>,
) -> Difference<'a> {
    let pairs = declared.params.iter().zip(&found.params).enumerate();
    let at_name = place.map(|place| &place.name);
    let Some((index, (known, param))) = pairs.into_iter().find(|(_, (known, param))| known != param) else {
        let message = format!("the code has {}, the table {}", count(&found.params), count(&declared.params));
        return Difference { message, fix: None, at: at_name };
    };
    let named = place.and_then(|place| place.params.get(index));
    let name = named.map_or_else(|| format!("parameter {}", index + 1), |(name, _)| format!("parameter `{name}`"));
    let at = named.map(|(_, at)| at).or(at_name);
    if known.size == param.size {
        let message =
            format!("{name} lies at byte {} in the code and at byte {} in the table", param.offset, known.offset);
        return Difference { message, fix: None, at };
    }
    let types: Vec<&str> = scalars_of(param.size).collect();
    let fix = format!(
        "give {name} a type of {} in the table ({}), or change the kernel; core launches by the table",
        bytes(param.size),
        if types.is_empty() { "a struct".to_owned() } else { types.join(", ") }
    );
    let message = format!("{name} has {} in the code and {} in the table", bytes(param.size), bytes(known.size));
    Difference { message, fix: Some(fix), at }
}

fn bytes(count: u32) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

fn count(params: &[Param]) -> String {
    if params.len() == 1 { "1 parameter".to_owned() } else { format!("{} parameters", params.len()) }
}

/// Declared kernels that no code has, each with a compiled one that the table does not declare and that is probably
/// meant: its name as C++ mangles it, or one spelt alike.
fn misspelt<'a>(dirs: &[KernelDir<'a>]) -> BTreeMap<&'a str, &'a str> {
    let compiled: BTreeSet<&str> = dirs.iter().flat_map(KernelDir::names).collect();
    let all: BTreeSet<&str> =
        dirs.iter().flat_map(|dir| dir.package.manifest.own_kernels()).map(|kernel| kernel.name.as_str()).collect();
    let mut others: Vec<&str> = compiled.difference(&all).copied().collect();
    let mut pairs = BTreeMap::new();
    if !dirs.iter().all(KernelDir::is_known) || all.len().saturating_mul(others.len()) > MOST_PAIRS {
        return pairs;
    }
    for missing in all.difference(&compiled) {
        let is_mangled = |name: &&str| plain_name(name).is_some_and(|plain| plain == *missing);
        let near = || nearest(missing, others.iter().map(ToString::to_string));
        let Some(found) = others.iter().find(|name| is_mangled(name)).copied().or_else(|| {
            let near = near()?;
            others.iter().find(|name| **name == near).copied()
        }) else {
            continue;
        };
        others.retain(|other| *other != found);
        pairs.insert(*missing, found);
    }
    pairs
}

/// Pairs of names that are compared: a simulator has hundreds of kernels, a hostile file any number.
const MOST_PAIRS: usize = 1 << 16;

/// `decay` of `_Z5decayPf`.
fn plain_name(mangled: &str) -> Option<String> {
    let whole = demangled(mangled)?;
    Some(whole.split(['(', '<']).next().unwrap_or(&whole).to_owned())
}

fn layout(params: &[Param]) -> String {
    if params.is_empty() {
        return "no parameters".to_owned();
    }
    let all: Vec<String> = params.iter().map(|param| format!("{}+{}", param.offset, param.size)).collect();
    format!("{} (offset+bytes)", all.join(" "))
}

/// Every declared kernel is in every target and variant.
fn kernel_coverage(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let dirs = kernel_dirs(facts);
    let misspelt = misspelt(&dirs);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in dirs.iter().flat_map(KernelDir::names) {
        *seen.entry(name).or_default() += 1;
    }
    for dir in &dirs {
        // What could not be read may hold the kernel; the report says so already.
        if !dir.is_known() {
            continue;
        }
        let names = dir.names();
        for kernel in dir.package.manifest.own_kernels().filter(|kernel| !names.contains(kernel.name.as_str())) {
            let subject = dir.package.subject(dir.path);
            let place = facts.rules.kernel_place(&kernel.name).map(|place| &place.name);
            if let Some(found) = misspelt.get(kernel.name.as_str()) {
                let hit = hits.add(subject, format!("the table declares `{}`, which the code has not", kernel.name));
                let mangled = demangled(found).filter(|_| plain_name(found).as_deref() == Some(&kernel.name));
                match mangled {
                    Some(whole) => hit
                        .evidence(format!("the code has `{found}`, which is {whole}"))
                        .fix("declare the kernel `extern \"C\"`, or write its mangled name in the table"),
                    None => hit
                        .evidence(format!("the code has `{found}`, which the table does not declare"))
                        .fix(format!("did you mean `{found}`? Correct the name in the table or in the code")),
                }
                .at(place);
                continue;
            }
            let others = seen.get(kernel.name.as_str()).copied().unwrap_or(0);
            let others = match others {
                0 => "declared, compiled for no target".to_owned(),
                count => format!("present in {count} other {}", if count == 1 { "place" } else { "places" }),
            };
            hits.add(subject, format!("`{}` missing ({others})", kernel.name)).at(place);
        }
    }
    variants(facts, &dirs, hits);
}

/// A variant that some targets have and others lack.
fn variants(facts: &BundleFacts, dirs: &[KernelDir<'_>], hits: &mut Hits) {
    let packages = facts.packages.iter().filter(|package| {
        package.manifest.component == ComponentKind::Kernels && package.manifest.target.is_some() && package.has_files()
    });
    for package in packages {
        // Each CUDA release has directories of its own, or shares those of its major and is never installed beside another.
        let same = || dirs.iter().filter(|dir| dir.package.manifest.cuda == package.manifest.cuda);
        let all: BTreeSet<&str> = same().map(KernelDir::variant).collect();
        let own: BTreeSet<&str> =
            same().filter(|dir| dir.package.name() == package.name()).map(KernelDir::variant).collect();
        for missing in all.difference(&own).filter(|_| !own.is_empty()) {
            let name = missing.rsplit('/').next().unwrap_or(missing);
            let others = same().filter(|dir| dir.variant() == *missing).count();
            hits.add(package.label(), format!("variant `{name}` missing ({})", other_targets(others)))
                .evidence(format!("directory: {missing}"));
        }
    }
}

/// Core embeds the tag by which it finds its kernels.
fn kernel_tag_absent(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core) {
        let has_code = package.loaded().next().is_some();
        if let Some(tag) = package.manifest.kernel_abi.as_ref().filter(|_| has_code)
            && !package.files().iter().any(|file| file.holds_tag)
        {
            hits.add(package.label(), format!("no library or program holds {tag}"));
        }
    }
}

/// A plug-in library gives core one thing, its entry table, and says of which kernel ABI it is.
fn kernel_entry(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.packages.iter().filter(|package| package.manifest.form() == Some(KernelForm::Library)) {
        let entry = format!("{}_kernels", package.manifest.simulator.replace('-', "_"));
        for (subject, file, elf) in package.loaded() {
            let mut names: Vec<&str> = elf.exports.iter().map(|export| export.name.as_str()).collect();
            names.sort_unstable();
            if names != [entry.as_str()] {
                let named = names.iter().filter(|name| **name != entry).take(NAMED).copied().collect::<Vec<_>>();
                let message = match names.contains(&entry.as_str()) {
                    true => format!("exports more than its entry table `{entry}`"),
                    false => format!("does not export its entry table `{entry}`"),
                };
                hits.add(&subject, message)
                    .evidence_lines((!named.is_empty()).then(|| format!("it exports {}", named.join(", "))));
            }
            if let Some(tag) = package.manifest.kernel_abi.as_ref().filter(|_| !file.holds_tag) {
                hits.add(&subject, format!("does not hold {tag}"))
                    .fix("pass `{kernel-abi}` to the build of component `kernels` and put it into the entry table");
            }
        }
    }
}

/// Names that a finding lists.
const NAMED: usize = 8;

fn other_targets(count: usize) -> String {
    if count == 1 { "1 other target has it".to_owned() } else { format!("{count} other targets have it") }
}

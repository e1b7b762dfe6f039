//! The verb: find the packages, make them again in a directory of their own, compare.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{Member, compare};
use super::request::{host, provenance, request};
use crate::bundle::{BundleManifest, Provenance};
use crate::data::Data;
use crate::engine::{SandboxMode, recipe_digest};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::manifest::Manifests;
use crate::package::FormatName;
use crate::pipeline::{BuildRequest, BuildResult, CudaSource, build};
use crate::project::locate;
use crate::recipe::CudaToolchain;
use crate::toolchain::Store;
use crate::ui::Ui;
use crate::verify::open;

/// Version of the JSON form.
const SCHEMA: u32 = 1;

/// What to make again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RebuildRequest {
    /// A package file, or a directory of packages such as `dist`.
    pub subject: PathBuf,
    /// Recipe; the simulator's name when absent.
    pub recipe: Option<String>,
    /// Fetch nothing.
    pub offline: bool,
    /// Steps at a time.
    pub jobs: Option<usize>,
    /// Whether steps are isolated.
    pub sandbox: SandboxMode,
}

/// The answer as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Rebuilt {
    /// Always 1.
    pub schema: u32,
    /// Whether every package is the same, bit for bit.
    pub identical: bool,
    /// What was not the same before anything was compiled: simpack, tools. These may be why packages differ.
    pub circumstances: Vec<String>,
    /// The packages, sorted by file.
    pub packages: Vec<Compared>,
}

/// One package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Compared {
    /// Its file, below the directory that was named.
    pub file: String,
    /// Whether it is the same, bit for bit.
    pub identical: bool,
    /// File name of the rebuilt one, when it has another; none with `identical: false` and no members means
    /// that there is none.
    pub rebuilt: Option<String>,
    /// SHA-256 of the package.
    pub sha256: Digest,
    /// Members that differ; empty when only the archive does.
    pub members: Vec<Member>,
}

/// Makes packages again and compares; answers the exit code: 0 identical, 1 not.
///
/// # Errors
/// No packages are there, their recipe cannot be found or is another one, or the build fails.
pub fn rebuild(request: &RebuildRequest, ui: &Ui) -> Result<u8> {
    let files = packages(&request.subject)?;
    let root = tempfile::Builder::new().prefix("simpack-rebuild-").tempdir()?;
    let made = root.path().canonicalize()?;
    let manifests = read(&files)?;
    let asked = build_request(request, &manifests, &formats(&files), &made)?;
    let from = provenance(&manifests)?;
    ui.note(format!("rebuild    {} package files, in {}", files.len(), made.display()));
    if let BuildResult::Stopped(report) = build(&asked, &ui.without_results())? {
        let error = Error::build("the rebuilt packages do not pass").hint("build the recipe to see the findings");
        return Err(report.findings.iter().fold(error, |error, finding| {
            error.detail(format!("{}: {} ({})", finding.about(), finding.message, finding.lint))
        }));
    }
    let rebuilt = packages(&made.join("dist"))?;
    let circumstances = circumstances(from, &manifests, &read(&rebuilt)?)?;
    let answer = answer(&request.subject, &files, &rebuilt, circumstances)?;
    if !ui.json(&answer)? {
        ui.say(words(&answer));
    }
    Ok(if answer.identical { 0 } else { 1 })
}

/// The build of the packages. The recipe is tried with its own host compiler, then with the one that the
/// packages were made by: the digest in them says which it was.
fn build_request(
    request_: &RebuildRequest,
    manifests: &[BundleManifest],
    formats: &[FormatName],
    root: &Path,
) -> Result<BuildRequest> {
    let from = provenance(manifests)?;
    let simulator = manifests.first().map(|manifest| manifest.simulator.clone()).unwrap_or_default();
    let recipe = request_.recipe.clone().unwrap_or_else(|| here(&simulator));
    let RebuildRequest { offline, jobs, sandbox, .. } = *request_;
    let formats = formats.to_vec();
    let asked = BuildRequest { offline, jobs, sandbox, formats, ..request(manifests, &recipe, root)? };
    let data = Data::here();
    let loaded = Manifests::load(&data)?;
    let store = Store::open(fs::cache_dir()?)?;
    let mut found = None;
    for host in [None, host(from)] {
        let asked = BuildRequest { host, ..asked.clone() };
        let located = locate(&asked.recipe(), &data, &loaded, &store, &Ui::new(true, true))?;
        let own = located.recipes.own();
        if own.name != simulator {
            return Err(Error::usage(format!("{recipe} is the recipe of {}, not of {simulator}", own.name))
                .hint("name the recipe: --recipe DIR"));
        }
        if let Some(recipe) = located.recipes.iter().find(|recipe| recipe_digest(recipe) == from.recipe) {
            // Where the recipe says whose compiler a release has, nothing else need say it.
            let is_said = recipe.cuda_toolchain != CudaToolchain::Pinned;
            let cuda_source = if is_said { CudaSource::Wheels } else { asked.cuda_source };
            return Ok(BuildRequest { cuda_source, ..asked });
        }
        found = Some((recipe_digest(own), located.shown));
    }
    let (digest, shown) = found.unwrap_or((from.recipe, recipe));
    Err(Error::recipe(format!("{shown} is not the recipe that the packages were made from"))
        .detail(format!("in the packages  {}", from.recipe))
        .detail(format!("here             {digest}"))
        .hint("check out the recipe of that release and name it: --recipe DIR"))
}

/// The recipe of a simulator: the current directory's when it is that of the simulator, else by name.
fn here(simulator: &str) -> String {
    let text = std::fs::read_to_string("simpack.toml").unwrap_or_default();
    let is_its = crate::recipe::parse(&text, "simpack.toml")
        .is_ok_and(|file| file.simulator.name.is_some_and(|name| name.value == simulator));
    if is_its { ".".to_owned() } else { simulator.to_owned() }
}

/// Package files: the one that is named, or those below a directory; sorted.
fn packages(subject: &Path) -> Result<Vec<PathBuf>> {
    let is_package = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        FormatName::of_file(&name).is_some()
    };
    let mut files = Vec::new();
    if subject.is_file() {
        files.push(subject.to_owned());
    } else if subject.is_dir() {
        for entry in walkdir::WalkDir::new(subject).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::file(subject, error))?;
            if entry.file_type().is_file() && is_package(entry.path()) {
                files.push(entry.into_path());
            }
        }
    }
    if files.is_empty() || !files.iter().all(|file| is_package(file)) {
        return Err(Error::usage(format!("{} holds no packages", subject.display()))
            .hint("name a package file that simpack made, such as a .conda, or a directory such as dist"));
    }
    Ok(files)
}

/// The formats of package files, each once.
fn formats(files: &[PathBuf]) -> Vec<FormatName> {
    let names = files.iter().filter_map(|file| file.file_name()).map(|name| name.to_string_lossy());
    let formats: BTreeSet<FormatName> = names.filter_map(|name| FormatName::of_file(&name)).collect();
    formats.into_iter().collect()
}

/// The manifests in package files.
fn read(files: &[PathBuf]) -> Result<Vec<BundleManifest>> {
    Ok(open(files)?.complete()?.bundles.into_iter().map(|bundle| bundle.manifest).collect())
}

/// What was not the same: simpack itself, the tools, and where these are, what the steps read.
fn circumstances(was: &Provenance, given: &[BundleManifest], rebuilt: &[BundleManifest]) -> Result<Vec<String>> {
    let now = provenance(rebuilt)?;
    let mut lines = Vec::new();
    if was.simpack != now.simpack {
        lines.push(format!("simpack {} made the packages, this is {}", was.simpack, now.simpack));
    }
    let names: BTreeSet<&String> = was.tools.keys().chain(now.tools.keys()).collect();
    for name in names {
        let word = |from: &Provenance| {
            from.tools.get(name).map_or("none".to_owned(), |tool| match tool.sha256 {
                Some(digest) => format!("{} ({})", tool.version, digest.short(12)),
                None => tool.version.clone(),
            })
        };
        if word(was) != word(now) {
            lines.push(format!("tool {name}: {} -> {}", word(was), word(now)));
        }
    }
    if !lines.is_empty() {
        return Ok(lines);
    }
    let made = |manifest: &&BundleManifest| !manifest.provenance.tools.is_empty();
    for manifest in given.iter().filter(made) {
        let same = |other: &&BundleManifest| {
            (&other.package, other.target, other.cuda, &other.host)
                == (&manifest.package, manifest.target, manifest.cuda, &manifest.host)
        };
        if let Some(other) = rebuilt.iter().find(same)
            && other.provenance.plan != manifest.provenance.plan
        {
            lines.push(format!("{}: its steps read other files, or were called otherwise", manifest.package));
        }
    }
    lines.dedup();
    Ok(lines)
}

fn answer(subject: &Path, files: &[PathBuf], rebuilt: &[PathBuf], circumstances: Vec<String>) -> Result<Rebuilt> {
    let names: BTreeMap<String, &PathBuf> = rebuilt.iter().map(|path| (name(path), path)).collect();
    let mut packages = Vec::new();
    for file in files {
        let own = name(file);
        let same_kind = |other: &&String| stem(other) == stem(&own) && ending(other) == ending(&own);
        let other = names.get(&own).or_else(|| names.iter().find(|(other, _)| same_kind(other)).map(|(_, path)| path));
        let sha256 = Digest::of_file(file)?;
        let identical = match other {
            Some(other) => name(other) == own && Digest::of_file(other)? == sha256,
            None => false,
        };
        packages.push(Compared {
            file: file
                .strip_prefix(subject)
                .ok()
                .filter(|below| !below.as_os_str().is_empty())
                .unwrap_or(file)
                .display()
                .to_string(),
            identical,
            rebuilt: other.map(|other| name(other)).filter(|other| *other != own),
            sha256,
            members: match other {
                Some(other) if !identical => compare(file, other)?,
                _ => Vec::new(),
            },
        });
    }
    Ok(Rebuilt { schema: SCHEMA, identical: packages.iter().all(|package| package.identical), circumstances, packages })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What two packages of one kind share in their names: everything before the digest in the build string.
fn stem(file: &str) -> &str {
    let end = file.rfind("-h").into_iter().chain(file.rfind("_h")).max();
    end.map_or(file, |end| &file[..end])
}

fn ending(file: &str) -> bool {
    file.ends_with(".conda")
}

fn words(answer: &Rebuilt) -> String {
    let mut text = String::new();
    for package in &answer.packages {
        let verdict = if package.identical { "identical" } else { "differs" };
        text.push_str(&format!("{verdict:<9}  {}\n", package.file));
        if let Some(other) = &package.rebuilt {
            text.push_str(&format!("           rebuilt as {other}\n"));
        }
        if !package.identical && package.members.is_empty() {
            text.push_str(
                "           no such package was rebuilt, or only the archive differs (order, times, compression)\n",
            );
        }
        for member in &package.members {
            text.push_str(&format!("           {}\n", member.words()));
        }
    }
    for line in &answer.circumstances {
        text.push_str(&format!("note       {line}\n"));
    }
    let same = answer.packages.iter().filter(|package| package.identical).count();
    text.push_str(&format!("{same} of {} packages identical", answer.packages.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_one_kind_share_a_stem() {
        assert_eq!(stem("volley-core-1.0.0-h1234567_0.conda"), "volley-core-1.0.0");
        assert_eq!(
            stem("volley-kernels-1.0.0-cuda13_sm_90_h1234567_30900130.conda"),
            "volley-kernels-1.0.0-cuda13_sm_90"
        );
        assert_ne!(
            stem("volley-kernels-1.0.0-cuda13_sm_80_h1.conda"),
            stem("volley-kernels-1.0.0-cuda13_sm_90_h1.conda")
        );
        assert_eq!(stem("volley-kernel-abi-1-k0123.conda"), "volley-kernel-abi-1-k0123.conda");
    }
}

//! `simpack verify --signature`, `--identity`, `--provenance`: whether files are signed by a key or for an identity, and what of the statement beside them holds.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::{DIST, WORK};
use crate::attest::{self, Checked, Identity, Outcome, PROVENANCE, Sigstore, TrustedKey, subjects};
use crate::data::Data;
use crate::engine::recipe_digest;
use crate::error::{DENIED, Error, Result};
use crate::fs::{self, Digest};
use crate::lock::LOCK_FILE;
use crate::manifest::Manifests;
use crate::project::{RecipeRequest, SYMBOLS_DIR, locate, scan, source_digest, source_root};
use crate::toolchain::Store;
use crate::ui::Ui;
use crate::verify::{is_package, open};
use crate::wrap::{width, wrap};

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct OriginRequest {
    /// `dist/` directories and package files; `dist` when there is none.
    pub paths: Vec<PathBuf>,
    /// Public key, or its file: everything must be signed by it.
    pub key: Option<String>,
    /// Who must have signed by sigstore's client: the statement of a directory, else the file itself.
    pub identity: Option<Identity>,
    /// Compare the statement with what is there.
    pub provenance: bool,
    /// Recipe that the statement is compared with, too.
    pub recipe: Option<String>,
}

/// `simpack verify --signature --json`, `--provenance --json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct OriginReport {
    /// Always 1.
    pub schema: u32,
    /// Whether nothing is wrong.
    pub holds: bool,
    /// Files whose signatures were checked, sorted.
    pub signatures: Vec<SignedFile>,
    /// Parts of the statement.
    pub provenance: Vec<StatedPart>,
}

/// One file and its signature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SignedFile {
    /// The file.
    pub file: String,
    /// What is wrong with its signature; none when it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub problem: Option<String>,
}

/// One part of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct StatedPart {
    /// The part.
    pub part: String,
    /// How it compares.
    pub verdict: StatedVerdict,
    /// What it was compared with, what is wrong, or what could check it.
    pub lines: Vec<String>,
}

/// How a part of a statement compares with what is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatedVerdict {
    /// It holds.
    Holds,
    /// It does not.
    Wrong,
    /// It cannot be checked here.
    Open,
}

/// Checks; answers the exit code: 0, or 1 when something is wrong.
///
/// # Errors
/// There is nothing to check, or the key is none.
pub fn origin(request: &OriginRequest, ui: &Ui) -> Result<u8> {
    let paths = match request.paths.as_slice() {
        [] => vec![PathBuf::from(DIST)],
        paths => paths.to_vec(),
    };
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(Error::usage(format!("{} does not exist", missing.display()))
            .hint("name the directory that `simpack build` wrote, or a package in it"));
    }
    let mut report = OriginReport { schema: 1, ..OriginReport::default() };
    if let Some(key) = &request.key {
        let key = TrustedKey::read(key)?;
        for path in &paths {
            signatures(path, &key, &mut report.signatures)?;
        }
        report.signatures.sort();
    }
    if let Some(who) = &request.identity {
        let client = Sigstore::find()?;
        for path in &paths {
            let file = if path.is_dir() { path.join(PROVENANCE) } else { path.clone() };
            let problem = client.check(&file, who).err();
            report.signatures.push(SignedFile { file: file.display().to_string(), problem });
        }
    }
    // What is signed for an identity is the statement: of the packages it says their digests.
    let is_signed = |path: &PathBuf| request.identity.is_some() && path.is_dir();
    if request.provenance || paths.iter().any(is_signed) {
        for path in paths.iter().filter(|path| request.provenance || is_signed(path)) {
            report.provenance.extend(provenance(path, request, ui)?.iter().map(StatedPart::from));
        }
    }
    let is_wrong = |part: &StatedPart| part.verdict == StatedVerdict::Wrong;
    report.holds =
        !report.provenance.iter().any(is_wrong) && report.signatures.iter().all(|file| file.problem.is_none());
    if !ui.json(&report)? {
        ui.say(report.text());
    }
    Ok(if report.holds { 0 } else { DENIED })
}

/// Signatures of a package file, or of the packages and the statement of a directory.
fn signatures(path: &Path, key: &TrustedKey, found: &mut Vec<SignedFile>) -> Result<()> {
    let names: Vec<String> = match path.is_dir() {
        false => vec![String::new()],
        true => {
            let packages = subjects(path)?.into_keys().filter(|name| is_package(Path::new(name)));
            packages.chain(path.join(PROVENANCE).is_file().then(|| PROVENANCE.to_owned())).collect()
        }
    };
    if names.is_empty() {
        return Err(
            Error::usage(format!("{} holds no packages", path.display())).hint("name what `simpack build` wrote")
        );
    }
    for name in names {
        let file = if name.is_empty() { path.to_owned() } else { path.join(&name) };
        let problem = key.check(&file).err();
        found.push(SignedFile { file: file.display().to_string(), problem });
    }
    Ok(())
}

fn provenance(dist: &Path, request: &OriginRequest, ui: &Ui) -> Result<Vec<Checked>> {
    #[derive(Deserialize)]
    struct Mark {
        sandbox: Option<String>,
    }
    if !dist.is_dir() {
        return Err(Error::usage(format!("{} is no directory", dist.display()))
            .hint("a statement is about all of what a build wrote: name the directory, such as dist"));
    }
    let manifests: Vec<_> = open(&[dist])?.complete()?.bundles.into_iter().map(|bundle| bundle.manifest).collect();
    let mark = dist.join(crate::pipeline::MARK);
    let mark = mark.is_file().then(|| fs::read(&mark)).transpose()?;
    // What is damaged there is found by its digest.
    let isolation = mark.and_then(|bytes| serde_json::from_slice::<Mark>(&bytes).ok()).and_then(|mark| mark.sandbox);
    let source = request.recipe.as_deref().map(|recipe| source(recipe, dist, ui)).transpose()?;
    attest::check(dist, &manifests, isolation.as_deref(), source.as_ref())
}

/// Digests of the recipe, by CUDA release, and of its source as it is now.
fn source(asked: &str, dist: &Path, ui: &Ui) -> Result<(Vec<Digest>, Digest)> {
    let data = Data::here();
    let request = RecipeRequest { recipe: Some(asked.to_owned()), ..RecipeRequest::default() };
    let store = Store::open(fs::cache_dir()?)?;
    let located = locate(&request, &data, &Manifests::load(&data)?, &store, ui)?;
    let recipe = located.recipes.own();
    let (symbols, lock) = (recipe.dir.join(SYMBOLS_DIR), recipe.dir.join(LOCK_FILE));
    let root = source_root(recipe, located.fetched)?;
    let scanned = scan(recipe, &root, &[dist, Path::new(DIST), Path::new(WORK), &symbols, &lock])?;
    Ok((located.recipes.iter().map(recipe_digest).collect(), source_digest(&scanned.files, &scanned.left_out)))
}

impl From<&Checked> for StatedPart {
    fn from(checked: &Checked) -> Self {
        let (verdict, lines) = match &checked.outcome {
            Outcome::Holds(with) => (StatedVerdict::Holds, vec![with.clone()]),
            Outcome::Wrong(lines) => (StatedVerdict::Wrong, lines.clone()),
            Outcome::Open(why) => (StatedVerdict::Open, vec![why.clone()]),
        };
        Self { part: checked.what.to_owned(), verdict, lines }
    }
}

impl OriginReport {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for SignedFile { file, problem } in &self.signatures {
            if let Some(problem) = problem {
                lines.push(format!("wrong  {file} {problem}"));
            }
        }
        let signed = self.signatures.iter().filter(|file| file.problem.is_none()).count();
        if !self.signatures.is_empty() {
            lines.push(format!("signatures  {signed} of {} files are signed as asked", self.signatures.len()));
        }
        for StatedPart { part, verdict, lines: said } in &self.provenance {
            let word = match verdict {
                StatedVerdict::Holds => "holds",
                StatedVerdict::Wrong => "wrong",
                StatedVerdict::Open => "open ",
            };
            for (at, line) in said.iter().enumerate() {
                let start = if at == 0 { format!("{word}  {part:<10} ") } else { " ".repeat(18) };
                lines.extend(wrap(&start, 18, line, width()));
            }
        }
        let closing = match (self.holds, self.provenance.is_empty()) {
            (false, _) => "these files are not what is stated or signed",
            (true, true) => "nothing wrong",
            (true, false) => "nothing wrong; what is open cannot be checked from files alone",
        };
        lines.push(closing.to_owned());
        lines.join("\n")
    }
}

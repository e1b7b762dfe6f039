//! What users write, compiled by a package's own program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::compilers::CudaCompilers;
use super::installed::Installed;
use super::kept::{Kept, New, Record};
use super::place::Place;
use super::report::What;
use crate::arch::Capability;
use crate::bundle::ArtifactKind;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind, Tree};
use crate::process::{Call, check_interrupted};
use crate::recipe::{Compile, is_of_cuda};
use crate::toolchain::HostCompiler;

/// Most files and directories that are looked at for those that a package compiles.
const MOST_FILES: usize = 100_000;

/// A user's files that a package compiles.
pub(super) struct Model {
    /// Name of their directory, of letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The directory, without links.
    dir: PathBuf,
    /// Paths below it with their digests, sorted.
    files: BTreeMap<String, Digest>,
}

/// What compiles models.
pub(super) struct ModelCompilers<'a> {
    pub host: HostCompiler,
    /// Where there are GPUs that the package compiles models for.
    pub cuda: Option<(&'a CudaCompilers, &'a [Capability])>,
}

/// The files of `dir` that a package compiles; none when there are none.
///
/// # Errors
/// The directory cannot be read, or holds too much.
pub(super) fn find(dir: &Path, compile: &Compile) -> Result<Option<Model>> {
    let (dir, wanted) = (fs_err::canonicalize(dir)?, globs(&compile.inputs)?);
    let is_hidden =
        |entry: &walkdir::DirEntry| entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
    let walk = walkdir::WalkDir::new(&dir).min_depth(1).into_iter().filter_entry(|entry| !is_hidden(entry));
    let mut files = BTreeMap::new();
    for (number, entry) in walk.enumerate() {
        check_interrupted()?;
        if number == MOST_FILES {
            return Err(Error::usage(format!("{} holds more than {MOST_FILES} files", dir.display()))
                .hint("name the directory that holds the model alone"));
        }
        let entry = entry.map_err(|error| Error::file(&dir, error))?;
        // A link to a file is the user's own word; of what is no file nothing can be compiled.
        if wanted.is_match(entry.path().strip_prefix(&dir).unwrap_or(entry.path())) && entry.path().is_file() {
            files.insert(fs::relative(&dir, entry.path())?, Digest::of_file(entry.path())?);
        }
    }
    let letters = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let name = dir.file_name().map(|name| name.to_string_lossy().chars().map(letters).collect::<String>());
    let name = name.map(|name| name.trim_start_matches('.').to_owned()).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "model".to_owned());
    Ok((!files.is_empty()).then_some(Model { name, dir, files }))
}

/// What a model is made from, and where it goes: a directory of the user's has one place, whatever is in it.
///
/// # Errors
/// The package's table does not print as JSON.
pub(super) fn planned(
    installed: &Installed,
    compile: &Compile,
    model: &Model,
    compilers: &ModelCompilers<'_>,
    kept: &Kept,
) -> Result<New> {
    let manifest = &installed.manifest;
    let table = serde_json::to_vec(compile).map_err(|error| Error::bug("a table is no JSON").because(error))?;
    // What is made knows where the packages lie.
    let mut key = DigestBuilder::default().field("model 1").field(table).field(fs::utf8(&installed.prefix)?);
    let mut said = vec![compilers.host.describe()];
    key = key.field(&said[0]).field(fs::utf8(&compilers.host.cxx)?);
    if let Some((cuda, gpus)) = compilers.cuda {
        key = key.field(cuda.toolchain.digest.as_bytes()).field(architectures(gpus));
        said.extend(cuda.describe().into_iter().take(1));
    }
    for bundle in std::iter::once(manifest).chain(&installed.beside) {
        for artifact in &bundle.artifacts {
            if let ArtifactKind::File { sha256, .. } = &artifact.kind {
                key = key.field(&artifact.path).field(sha256.as_bytes());
            }
        }
    }
    for (path, digest) in &model.files {
        key = key.field(path).field(digest.as_bytes());
    }
    let place = Digest::of(fs::utf8(&model.dir)?.as_bytes()).short(8);
    let mut new = New {
        key: key.finish(),
        package: manifest.package.clone(),
        simulator: manifest.simulator.clone(),
        version: manifest.version,
        what: What::Model,
        name: model.name.clone(),
        path: format!("models/{}-{place}", model.name),
        compilers: said,
        sets: BTreeMap::new(),
    };
    let compiled = kept.place(&new);
    let compiled = fs::utf8(&compiled)?;
    let filled = |(name, text): (&String, &String)| (name.clone(), text.replace("{compiled}", compiled));
    new.sets = compile.sets.iter().map(filled).collect();
    Ok(new)
}

/// Compiles a model.
///
/// # Errors
/// The package's program fails, or leaves nothing of what is kept; or the run was interrupted.
pub(super) fn make(
    (installed, compile): (&Installed, &Compile),
    (model, compilers): (&Model, &ModelCompilers<'_>),
    (place, jobs): (&Place<'_>, usize),
    kept: &Kept,
    new: New,
) -> Result<Record> {
    let started = Instant::now();
    let (own, tree) = (place.work.join("own"), place.work.join("tree"));
    let (copy, run) = (own.join("model"), own.join("run"));
    fs_err::create_dir_all(&run)?;
    let to = Tree::make(&copy)?;
    for (path, digest) in &model.files {
        to.copy(&fs::open(&model.dir.join(path))?, path, Some(0o644))?;
        if Digest::of_open(&to.open(path)?)? != *digest {
            return Err(Error::build(format!("{path} was changed while it was compiled")).hint("compile again"));
        }
    }
    let jobs = jobs.to_string();
    let mut values = vec![
        ("prefix", fs::utf8(&installed.prefix)?),
        ("model", fs::utf8(&copy)?),
        ("name", &model.name),
        ("cxx", fs::utf8(&compilers.host.cxx)?),
        ("jobs", &jobs),
    ];
    let (list, codes);
    if let Some((cuda, gpus)) = compilers.cuda {
        list = architectures(gpus);
        let code = |gpu: &Capability| format!("-gencode=arch={},code={}", gpu.compute(), gpu.sm());
        codes = gpus.iter().map(code).collect::<Vec<_>>().join(" ");
        values.extend([
            ("nvcc", fs::utf8(&cuda.toolchain.nvcc)?),
            ("nvcc-ccbin", fs::utf8(&cuda.cxx.cxx)?),
            ("cuda-root", fs::utf8(&cuda.toolchain.root)?),
            ("cuda-architectures", &list),
            ("cuda-gencode", &codes),
        ]);
    }
    let filled = |text: &String| {
        values.iter().fold(text.clone(), |text, (word, value)| text.replace(&format!("{{{word}}}"), value))
    };
    let is_there = |text: &&String| compilers.cuda.is_some() || !is_of_cuda(text);
    let more = compile.cuda.iter().filter(|_| compilers.cuda.is_some());
    let (program, arguments) = compile.command.split_first().ok_or_else(|| Error::bug("a table without a command"))?;
    let mut call = Call::new(installed.prefix.join(program)).args(arguments.iter().chain(more).map(filled)).dir(&run);
    call.env = compile
        .env
        .iter()
        .filter(|(_, text)| is_there(text))
        .map(|(name, text)| (name.clone(), filled(text)))
        .collect();
    let what = format!("model `{}`", model.name);
    place.run(call, &own, &what, Duration::from_secs(compile.limit.into()), &kept.log(&new))?;
    let wanted = globs(&compile.outputs)?;
    let (from, to) = (Tree::at(&run)?, Tree::make(&tree)?);
    let mut any = false;
    for entry in fs::walk(&run)?.into_iter().filter(|entry| wanted.is_match(&entry.path)) {
        match entry.kind {
            EntryKind::Directory => {}
            EntryKind::File { .. } => {
                to.copy(&from.open(&entry.path)?, &format!("{}/{}", new.path, entry.path), None)?;
                any = true;
            }
            EntryKind::Link(_) => {
                return Err(Error::build(format!("{} leaves a link, {}: links are not kept", new.package, entry.path)));
            }
        }
    }
    if !any {
        return Err(Error::build(format!("{} leaves no file like {}", new.package, compile.outputs.join(", ")))
            .hint("this is a mistake of the package: tell those who made it"));
    }
    kept.keep(new, &tree, started.elapsed().as_secs_f64())
}

/// Capabilities as CMake takes them: `80;90`.
fn architectures(gpus: &[Capability]) -> String {
    gpus.iter().map(|gpu| gpu.sm().trim_start_matches("sm_").to_owned()).collect::<Vec<_>>().join(";")
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let wrong = |error: globset::Error| Error::usage("a pattern of the package is no glob").because(error);
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(wrong)
}

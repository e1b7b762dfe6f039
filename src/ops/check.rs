//! `simpack check`: reads a recipe and shows all of its mistakes. Nothing of the recipe is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::count;
use crate::data::Data;
use crate::error::{ErrorKind, Result};
use crate::fs;
use crate::manifest::Manifests;
use crate::package::conda;
use crate::pipeline::must_hold_glibc;
use crate::project::{files_of, find, licences, source_elsewhere, source_root, unsaid_inputs};
use crate::recipe::{
    self, Component, CudaToolchain, Diagnostic, DiagnosticRecord, Document, Fallback, Recipe, RecipeMatrix, Selection,
    Source,
};
use crate::toolchain::{Store, has_dxc, not_asked};
use crate::ui::{Ui, size};

/// `simpack check --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked<'a> {
    /// Always 1.
    schema: u32,
    /// The recipe's file.
    path: &'a str,
    /// Its mistakes, in the order of the file.
    mistakes: Vec<DiagnosticRecord>,
    /// One for every CUDA release of the matrix; none when there are mistakes.
    recipes: &'a [Recipe],
    /// What could be said better, in a recipe without mistakes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    warnings: Vec<DiagnosticRecord>,
}

/// Checks the recipe `asked` for (a file, a directory, an embedded name, or the current one) for every CUDA release of
/// its matrix; answers the exit code. A source that is not in the recipe's directory is fetched, because the recipe
/// names files in it; `offline` looks only at one that is in the cache.
///
/// # Errors
/// The recipe cannot be found or read, or its source cannot be fetched. Mistakes in it are no error: they are the answer.
pub fn check(asked: Option<&str>, offline: bool, ui: &Ui) -> Result<u8> {
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let found = find(asked, &data)?;
    let text = found.text()?;
    let (path, dir) = (found.path(), found.dir());
    let fetched = fetched(&text, &path, dir, offline, ui)?;
    let files = files_of(dir, fetched.as_deref());
    let loaded = recipe::load_matrix(&text, &path, dir, &*files, &manifests, &Selection::default());
    let answer = loaded.and_then(|recipes| match without_glibc(&recipes, &text, &path, &manifests) {
        Some(mistake) => Err(vec![mistake]),
        None => Ok(recipes),
    });
    let (recipes, mut mistakes) = match &answer {
        Ok(recipes) => (recipes.as_slice(), Vec::new()),
        Err(mistakes) => ([].as_slice(), mistakes.clone()),
    };
    // What no compiler of this machine makes is refused here, not by a build.
    if let (Ok(file), false) = (recipe::parse(&text, &path), has_dxc()) {
        mistakes.extend(recipe::beyond_glslang(&file));
    }
    let (recipes, mistakes) = if mistakes.is_empty() { (recipes, &[][..]) } else { (&[][..], mistakes.as_slice()) };
    let mut warnings = match recipes.first().filter(|recipe| matches!(recipe.source, Source::Path(_))) {
        Some(recipe) => warnings(recipe, &text, &path)?,
        None => Vec::new(),
    };
    warnings.extend(without_licence(recipes.first(), &text, &path, fetched));
    let records = |of: &[Diagnostic]| of.iter().map(Diagnostic::record).collect();
    let (mistakes_json, warnings_json) = (records(mistakes), records(&warnings));
    if !ui.json(&Checked { schema: 1, path: &path, mistakes: mistakes_json, recipes, warnings: warnings_json })? {
        let said = recipe::render_all(&warnings);
        ui.say(if mistakes.is_empty() { said + &summary(recipes, &found.shown()) } else { complaint(mistakes) });
    }
    Ok(if mistakes.is_empty() { 0 } else { ErrorKind::Recipe.exit_code() })
}

/// Where builds write when they are not told otherwise.
const WRITTEN: [&str; 2] = ["dist", "target/simpack"];

/// Of a recipe whose source was looked into and has no licence text: no package can be made before there is one.
fn without_licence(recipe: Option<&Recipe>, text: &str, path: &str, fetched: Option<PathBuf>) -> Option<Diagnostic> {
    let recipe = recipe.filter(|recipe| matches!(recipe.source, Source::Path(_)) || fetched.is_some())?;
    let error = licences(recipe, &source_root(recipe, fetched).ok()?).err()?;
    let licence = recipe::parse(text, path).ok()?.simulator.license?;
    let mistake = Diagnostic::at(&Document::new(path, text), licence.span, error.to_string());
    Some(error.hints().iter().fold(mistake.warning(), |mistake, hint| mistake.hint(hint)))
}

/// What this machine's compilers lack for the glibc that a recipe wants them held to: a build would stop there.
fn without_glibc(recipes: &RecipeMatrix, text: &str, path: &str, manifests: &Manifests) -> Option<Diagnostic> {
    let store = fs::cache_dir().and_then(Store::open);
    let error = store.and_then(|store| must_hold_glibc(recipes, manifests, &store)).err()?;
    let glibc = recipe::parse(text, path).ok()?.toolchain.host?.glibc?;
    let mistake = Diagnostic::at(&Document::new(path, text), glibc.span, error.to_string());
    let mistake = error.details().iter().fold(mistake, |mistake, detail| mistake.note(detail));
    Some(error.hints().iter().fold(mistake, |mistake, hint| mistake.hint(hint)))
}

fn warnings(recipe: &Recipe, text: &str, path: &str) -> Result<Vec<Diagnostic>> {
    let file = recipe::parse(text, path).map_err(|mistakes| recipe::as_error(&mistakes))?;
    unsaid_inputs(recipe, &file, &Document::new(path, text), &WRITTEN.map(Path::new))
}

/// The source tree of a recipe whose source is elsewhere; none offline when it is not in the cache.
fn fetched(text: &str, path: &str, dir: &Path, offline: bool, ui: &Ui) -> Result<Option<PathBuf>> {
    let Some(source) = source_elsewhere(text, path, dir) else { return Ok(None) };
    let store = Store::open(fs::cache_dir()?)?;
    match store.tree(&source, dir, ui, offline) {
        // Archives are found in the cache by their digest: an address that never worked would show on other machines.
        Ok(root) if offline && !store.is_confirmed(&source) => {
            ui.note(not_asked(&source));
            Ok(Some(root))
        }
        Ok(root) => {
            store.confirm(&source, ui)?;
            Ok(Some(root))
        }
        Err(error) if offline && error.kind() == ErrorKind::Toolchain => {
            ui.note(format!("source  not looked into: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn complaint(mistakes: &[Diagnostic]) -> String {
    format!("{}{}, nothing built", recipe::render_all(mistakes), count(mistakes.len(), "mistake"))
}

fn summary(recipes: &[Recipe], shown: &str) -> String {
    let Some(first) = recipes.first() else { return String::new() };
    let join = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("{} {}  {shown}", first.name, first.version)];
    let mut line = |what: &str, text: String| lines.push(format!("  {what:<11} {text}").trim_end().to_owned());
    line("components", join(&mut first.components.iter().map(component)));
    line("host", first.host.to_string());
    for recipe in recipes {
        let of = |shaders: bool| recipe.targets.iter().filter(move |target| target.is_shader() == shaders);
        let (mut targets, mut shaders) = (of(false).map(ToString::to_string), of(true).map(ToString::to_string));
        let from = match &recipe.cuda_toolchain {
            CudaToolchain::Pinned => String::new(),
            CudaToolchain::System => "  (the machine's compiler)".to_owned(),
            CudaToolchain::Directory(dir) => format!("  ({})", dir.display()),
        };
        if recipe.is_cuda() || recipe.groups.is_empty() {
            line(&format!("CUDA {}", recipe.cuda), join(&mut targets) + &from);
        }
        if of(true).next().is_some() {
            line("shaders", join(&mut shaders));
        }
    }
    for group in &first.groups {
        let variants = join(&mut group.variants.iter().map(|variant| variant.name.clone()));
        let (kernels, sources) = (group.table.len(), group.sources.len());
        let text = format!("{} in {}", count(kernels, "kernel"), count(sources, "source"));
        line("kernels", format!("{}: {text}, {}: {variants}", group.name, count(group.variants.len(), "variant")));
    }
    if let Some(tag) = first.kernel_abi_tag() {
        line("kernel ABI", tag.to_string());
    }
    if let Some(text) = fallback(recipes) {
        line("fallback", text);
    }
    lines.push("ok, no mistakes".to_owned());
    lines.join("\n")
}

/// What serves GPUs whose capability the package manager does not know, and what it would cost to bring them everything.
/// Libraries that ship cut exclude each other.
fn fallback(recipes: &[Recipe]) -> Option<String> {
    let first = recipes.first().filter(|recipe| recipe.is_cuda() && !recipe.is_sliced())?;
    let targets = recipes.iter().flat_map(|recipe| &recipe.targets).filter(|target| !target.is_shader());
    let names: BTreeSet<String> = targets.map(|target| target.package(&first.name)).collect();
    let index = fs_err::read(Path::new(WRITTEN[0]).join("conda/noarch/repodata.json")).ok();
    let records = index.and_then(|bytes| Some(conda::records(&bytes).ok()?.collect::<Vec<_>>())).unwrap_or_default();
    let version = conda::spelled(first.version);
    let built = records.iter().filter(|record| names.contains(&record.name) && record.version == version);
    let (packages, bytes) = built.filter_map(|record| record.size).fold((0, 0), |(n, sum), size| (n + 1, sum + size));
    let all = match packages {
        0 => format!("{}, of sizes that a build tells", count(names.len(), "package")),
        packages => format!("{}, {} as built in {}", count(packages, "package"), size(bytes), WRITTEN[0]),
    };
    let word = Fallback::NAMES.iter().find(|(_, fallback)| *fallback == first.package.fallback)?.0;
    Some(match first.package.fallback {
        Fallback::All => format!("{word} for a GPU that conda does not know: {all}"),
        _ => format!("{word} for a GPU that conda does not know; \"all\" would bring {all}"),
    })
}

fn component(component: &Component) -> String {
    format!("{} ({})", component.kind, component.policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = r#"
edition = 1
[simulator]
name = "sim"
version = "0.1.0"
license = "MIT"
summary = "s"
[matrix]
cuda = ["13.0", "12.4"]
capabilities = ["8.0", "9.0"]
[component.core]
[kernels.all]
sources = ["one.cu"]
table = "table.toml"
"#;

    fn resolved(text: &str) -> Result<Vec<Recipe>, Vec<Diagnostic>> {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("one.cu"), "").unwrap();
        let table = "edition = 1\n[[kernel]]\nname = \"step\"\nparams = [{ name = \"v\", type = \"ptr\" }]\n";
        fs_err::write(dir.path().join("table.toml"), table).unwrap();
        for shader in ["relax.wgsl", "relax.comp"] {
            fs_err::write(dir.path().join(shader), "").unwrap();
        }
        let table = "edition = 1\n[[kernel]]\nname = \"relax\"\nparams = [{ name = \"count\", type = \"u32\" }]\n";
        fs_err::write(dir.path().join("shaders.toml"), table).unwrap();
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let (dir, files) = (dir.path(), files_of(dir.path(), None));
        recipe::load_matrix(text, "sim/simpack.toml", dir, &*files, &manifests, &Selection::default())
            .map(|recipes| recipes.as_slice().to_vec())
    }

    #[test]
    fn every_release_of_the_matrix_is_resolved() {
        insta::assert_snapshot!(summary(&resolved(RECIPE).unwrap(), "sim"), @r#"
        sim 0.1.0  sim
          components  core (major) kernels (capability) meta (major)
          host        zig, for glibc 2.28
          CUDA 13.0   sm_80 sm_90 compute_80
          CUDA 12.4   sm_80 sm_90 compute_80
          kernels     all: 1 kernel in 1 source, 1 variant: default
          kernel ABI  k7845580f538f
          fallback    ptx for a GPU that conda does not know; "all" would bring 3 packages, of sizes that a build tells
        ok, no mistakes
        "#);
    }

    #[test]
    fn shaders_stand_beside_kernels_of_cuda() {
        let shaders = "[kernels.portable]\nform = \"spirv\"\nsources = [\"relax.wgsl\"]\ntable = \"shaders.toml\"\n";
        let mixed = RECIPE.replace("\"9.0\"]", "\"9.0\"]\nenvironments = [\"vulkan1.1\", \"vulkan1.2\"]") + shaders;
        // What belongs to no release is the recipe's own.
        insta::assert_snapshot!(summary(&resolved(&mixed).unwrap(), "sim"), @r#"
        sim 0.1.0  sim
          components  core (major) kernels (capability) meta (major)
          host        zig, for glibc 2.28
          CUDA 13.0   sm_80 sm_90 compute_80
          shaders     vulkan1.1 vulkan1.2
          CUDA 12.4   sm_80 sm_90 compute_80
          kernels     all: 1 kernel in 1 source, 1 variant: default
          kernels     portable: 1 kernel in 1 source, 1 variant: default
          kernel ABI  ke826767f625a
          fallback    ptx for a GPU that conda does not know; "all" would bring 3 packages, of sizes that a build tells
        ok, no mistakes
        "#);
        let cut = "[kernels.all]\nform = \"slice\"\nfiles = [\"lib/libsim.so.*\"]\n";
        let at = mixed.find("[kernels.all]").unwrap();
        let text = complaint(&resolved(&(mixed[..at].to_owned() + cut + shaders)).unwrap_err());
        assert!(text.contains("kernel group `portable` ships as `spirv`, and `all` as `slice`"), "{text}");
        let of_c = mixed.clone() + "flags = [\"-ffp-contract=off\"]\n";
        assert!(resolved(&of_c).is_ok());
        let text = complaint(&resolved(&of_c.replace("relax.wgsl", "relax.comp")).unwrap_err());
        assert!(text.contains("`relax.comp` is not WGSL, whose shaders alone `-ffp-contract=off` is for"), "{text}");
    }

    #[test]
    fn each_release_takes_the_capabilities_that_it_knows() {
        let with = |change: &str| {
            RECIPE
                .replace("\"9.0\"]", "\"9.0\", \"12.0\"]")
                .replace("[component.core]", &format!("{change}\n[component.core]"))
        };
        let targets = |text: &str| -> Vec<String> {
            let join = |recipe: &Recipe| recipe.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            resolved(text).map_err(|mistakes| complaint(&mistakes)).unwrap().iter().map(join).collect()
        };
        let all = "sm_80 sm_90 sm_120 compute_80";
        assert_eq!(targets(&with("")), [all, "sm_80 sm_90 compute_80"]);
        let own = "[matrix.release.\"12.4\"]\ncapabilities = [\"7.0\"]\nptx = []\ntoolchain = \"/opt/cuda\"\ncxx = \"g++-11\"";
        assert_eq!(targets(&with(own)), [all, "sm_70"]);
        let recipes = resolved(&with(own)).unwrap();
        assert_eq!(recipes[0].cuda_toolchain, CudaToolchain::Pinned);
        assert_eq!(recipes[1].cuda_toolchain, CudaToolchain::Directory("/opt/cuda".into()));
        assert_eq!(recipes[1].cuda_cxx.as_deref(), Some("g++-11"));
        assert!(summary(&recipes, "sim").contains("CUDA 12.4   sm_70  (/opt/cuda)"));
    }

    #[test]
    fn an_impossible_pair_is_a_mistake_where_it_was_written() {
        let said = |from: &str, to: &str| complaint(&resolved(&RECIPE.replace(from, to)).unwrap_err());
        let text = said("[component.core]", "[matrix.release.\"12.4\"]\ncapabilities = [\"12.0\"]\n[component.core]");
        assert!(text.contains("CUDA 12.4 does not compile for capability `12.0`"), "{text}");
        assert!(text.contains("12 | capabilities = [\"12.0\"]"), "{text}");
        // No release of the matrix compiles for it.
        let text = said("\"9.0\"]", "\"9.0\", \"3.5\"]");
        assert!(text.contains("`3.5`"), "{text}");
        let text = said("[component.core]", "[matrix.release.\"12.5\"]\nptx = []\n[component.core]");
        assert!(text.contains("CUDA 12.5 is not in the matrix"), "{text}");
        let text = said("[\"8.0\", \"9.0\"]", "[\"12.0\"]");
        assert!(text.contains("CUDA 12.4 compiles for none of these capabilities"), "{text}");
    }
}

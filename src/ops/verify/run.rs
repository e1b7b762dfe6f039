//! Looks into bundles and finished packages.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs;
use crate::lint::{Reads, Settings};
use crate::manifest::Manifests;
use crate::project::{Located, RecipeRequest, SYMBOLS_DIR, locate, read_all_symbols, scan, source_root};
use crate::recipe::Waiver;
use crate::report::{Format, Level, NotRun, Report, Rule, TextOptions};
use crate::toolchain::Store;
use crate::ui::Ui;
use crate::verify::{Depth, VerifyContext, open_to_verify};

/// Where packages are when nobody says.
pub(super) const DIST: &str = "dist";
/// Where builds work when nobody says; not a part of a source tree around it.
pub(super) const WORK: &str = "target/simpack";

/// What to verify, and how.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// Directories, packages and bundles on disk; a word that is no path is the name of a package to
    /// report about. `dist` when there is no path.
    pub subjects: Vec<String>,
    /// Recipe whose levels, waivers, driver directories and glibc hold: a directory, a file, or an
    /// embedded name. Without, packages are judged by what they say themselves.
    pub recipe: Option<String>,
    /// Lints at `allow`.
    pub allow: Vec<String>,
    /// Lints at `warn`.
    pub warn: Vec<String>,
    /// Lints at `deny`.
    pub deny: Vec<String>,
    /// Findings that are accepted.
    pub waivers: Vec<Waiver>,
    /// How closely to look.
    pub depth: Depth,
    /// Form of the report.
    pub format: Format,
    /// Every finding, however many there are of a kind.
    pub all: bool,
    /// Names of kernels and symbols as long as they are.
    pub full: bool,
}

/// Verifies; answers the exit code: 0, 1 or 7.
///
/// # Errors
/// A path or package does not exist, a lint is unknown, or a data file is wrong.
pub fn run(request: &VerifyRequest, ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    let data = Data::here();
    let mut context = VerifyContext::load(&data)?;
    let mut settings = Settings::default();
    let mut recipe_file = None;
    if let Some(asked) = &request.recipe {
        let located = recipe(asked, &data, ui)?;
        settings = Settings::new(&located.recipes.own().lint)?;
        let symbols = read_all_symbols(&located.recipes.own().dir.join(SYMBOLS_DIR))?;
        let source = source_root(located.recipes.own(), located.fetched)?;
        let sources = scan(located.recipes.own(), &source, &[Path::new(DIST), Path::new(WORK)])?.files;
        context = context.recipe(&located.recipes).symbols(symbols).sources(sources);
        recipe_file = located.below;
    }
    settings = command_line(settings, request)?;
    context.lints().resolve(settings.clone())?;
    let (paths, names) = sort_out(&request.subjects)?;
    let opened = open_to_verify(&paths)?;
    for bundle in &opened.bundles {
        settings.carry(&bundle.manifest.package, &bundle.manifest.waivers);
    }
    let (mut settings, not_run) = at_depth(context.lints().resolve(settings)?, request.depth, &context);
    let rules = context.lints().rules();
    let named = || {
        let bundles = opened.bundles.iter().map(|bundle| bundle.manifest.package.as_str());
        bundles.chain(opened.foreign.iter().map(|foreign| foreign.name.as_str()))
    };
    let known = |name: &str| named().any(|known| known == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let mut have: Vec<&str> = named().collect();
        have.dedup();
        return Err(Error::usage(format!("no package `{unknown}`")).hint(format!("there are {}", have.join(", "))));
    }
    // Package files by name, or one bundle, are not the distribution that they belong to.
    // What is missed may lie in what cannot be read.
    let partial = opened.bundles.len() == 1 || paths.iter().all(|path| path.is_file()) || !opened.incomplete.is_empty();
    settings.partial = partial || !names.is_empty();
    let context = context.partial(partial).depth(request.depth).full_names(request.full);
    let mut report = opened.verify(&context, &settings);
    report.add_not_run(not_run);
    if !names.is_empty() {
        report = report.filtered(|subject| names.iter().any(|name| name == subject.package()));
    }
    print(&report, request, &rules, recipe_file.as_deref(), started, ui)?;
    Ok(report.exit_code())
}

fn recipe(asked: &str, data: &Data, ui: &Ui) -> Result<Located> {
    let request = RecipeRequest { recipe: Some(asked.to_owned()), ..RecipeRequest::default() };
    let store = Store::open(fs::cache_dir()?)?;
    locate(&request, data, &Manifests::load(data)?, &store, ui)
}

/// At the depth of symbols, lints over other bytes do not run, and it is said.
fn at_depth(mut settings: Settings, depth: Depth, context: &VerifyContext) -> (Settings, Vec<NotRun>) {
    let mut not_run = Vec::new();
    for info in context.lints().infos().filter(|info| info.reads == Reads::Bytes && depth == Depth::Symbols) {
        if context.lints().level(&info.id, &settings) != Level::Allow {
            let reason = "with --symbols only ELF tables are read".to_owned();
            not_run.push(NotRun { lint: info.id.clone(), reason, subjects: Vec::new() });
        }
        settings = settings.level(info.id.clone(), Level::Allow);
    }
    (settings, not_run)
}

/// Levels and waivers of the command line over those of the recipe.
fn command_line(mut settings: Settings, request: &VerifyRequest) -> Result<Settings> {
    let levels = [(&request.allow, Level::Allow), (&request.warn, Level::Warn), (&request.deny, Level::Deny)];
    for (ids, level) in levels {
        for id in ids {
            settings = settings.level(id.clone(), level);
        }
    }
    request.waivers.iter().try_fold(settings, |settings, waiver| settings.waive(waiver.clone()))
}

/// What is on disk, and what is the name of a package.
fn sort_out(subjects: &[String]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let ends = [".conda", ".tar.bz2", ".whl", ".deb", ".tar.zst", ".tar.gz", ".so"];
    let looks_like_path = |text: &str| text.contains('/') || ends.iter().any(|end| text.ends_with(end));
    let (paths, names): (Vec<&String>, Vec<&String>) =
        subjects.iter().partition(|subject| looks_like_path(subject) || Path::new(subject.as_str()).exists());
    let mut paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    if paths.is_empty() {
        if !Path::new(DIST).is_dir() {
            let missing = match names.first() {
                Some(name) => {
                    format!("{name} does not exist, and there is no directory dist with a package of that name")
                }
                None => "there is no directory dist".to_owned(),
            };
            return Err(Error::usage(missing)
                .hint("run `simpack build` first, or name a directory with packages, a package or a bundle"));
        }
        paths.push(PathBuf::from(DIST));
    }
    Ok((paths, names.into_iter().cloned().collect()))
}

fn print(
    report: &Report,
    request: &VerifyRequest,
    rules: &[Rule],
    recipe: Option<&str>,
    started: Instant,
    ui: &Ui,
) -> Result<()> {
    if ui.json(&report.json())? {
        return Ok(());
    }
    match request.format.render(report, rules, recipe, ui.data())? {
        Some(text) => ui.out(&text),
        None => {
            let millis = Some(started.elapsed().as_millis());
            ui.say(report.text(TextOptions { millis, all: request.all, ..TextOptions::default() }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_paths_or_packages() {
        let dir = tempfile::tempdir().unwrap();
        let subjects = [dir.path().display().to_string(), "volley-core".to_owned(), "x/volley.conda".to_owned()];
        let (paths, names) = sort_out(&subjects).unwrap();
        assert_eq!(paths, [dir.path().to_owned(), PathBuf::from("x/volley.conda")]);
        assert_eq!(names, ["volley-core"]);
    }
}

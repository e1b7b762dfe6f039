//! The verb's two calls.

use std::path::{Path, PathBuf};

use super::tree::{Mark, is_replaced, skipped};
use super::{PatchSourceRequest, PatchedSource, SourceWork};
use crate::amount::count;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs::{self, Tree};
use crate::printable;
use crate::project::{Origin, find};
use crate::recipe::{self, Source, SourcePart};
use crate::toolchain::{Alteration, Difference, Snapshot, Store, difference, lay_over};
use crate::ui::Ui;

/// Where new patches lie, below the recipe's directory.
const PATCHES: &str = "patches";

/// What both calls work on.
struct Subject {
    /// The recipe's directory.
    dir: PathBuf,
    /// How the recipe is named to the user.
    shown: String,
    origin: Origin,
    part: SourcePart,
}

/// Writes the tree of a recipe's source, or makes a patch of a changed one; answers the exit code.
///
/// # Errors
/// The recipe has mistakes or names no such source, the source cannot be had, the directory holds something else, or
/// what was changed cannot be said by a patch.
pub fn patch_source(request: &PatchSourceRequest, ui: &Ui) -> Result<u8> {
    let found = find(request.recipe.as_deref(), &Data::here())?;
    let file = recipe::parse(&found.text()?, &found.path()).map_err(|mistakes| recipe::as_error(&mistakes))?;
    let part = part_of(file.source.map(|source| source.value), request.source.as_deref())?;
    let subject = Subject { dir: found.dir().to_owned(), shown: found.shown(), origin: found.origin, part };
    let store = Store::open(fs::cache_dir()?)?;
    let answer = match &request.work {
        SourceWork::Edit(dir) => subject.edit(dir, &store, request.offline, ui)?,
        SourceWork::From { tree, name } => subject.from(tree, name, &store, request.offline, ui)?,
    };
    if !ui.json(&answer)? {
        ui.say(subject.in_words(&answer, &request.work, request));
    }
    Ok(0)
}

/// The source that is meant.
fn part_of(source: Option<Source>, asked: Option<&str>) -> Result<SourcePart> {
    let parts = match source {
        None => return Err(Error::usage("the recipe names no source")),
        Some(Source::Path(path)) => {
            let path = printable::text(&path).into_owned();
            return Err(Error::usage(format!("the source is the directory `{path}`, which can be changed itself")));
        }
        Some(Source::Composed(parts)) => parts,
        Some(source) => {
            vec![SourcePart { into: ".".to_owned(), source: Some(source), overlay: None, patches: Vec::new() }]
        }
    };
    let mut parts: Vec<_> = parts.into_iter().filter(|part| part.source.is_some()).collect();
    let wanted = asked.unwrap_or(".");
    if let Some(at) = parts.iter().position(|part| part.into == wanted) {
        return Ok(parts.swap_remove(at));
    }
    let names: Vec<_> = parts.iter().map(|part| part.into.clone()).filter(|name| name != ".").collect();
    match (asked, parts.pop()) {
        (None, Some(only)) if parts.is_empty() => Ok(only),
        (None, _) => Err(Error::usage("the recipe has several sources")
            .hint(format!("choose one with --source: {}", names.join(", ")))),
        (Some(asked), _) => {
            let error = Error::usage(format!("the recipe fetches no source `{}`", printable::text(asked)));
            Err(match names.is_empty() {
                true => error.hint("it has one source: leave --source out"),
                false => error.hint(format!("it has {}", names.join(", "))),
            })
        }
    }
}

impl Subject {
    fn edit(&self, dir: &Path, store: &Store, offline: bool, ui: &Ui) -> Result<PatchedSource> {
        let is_replaced = is_replaced(dir)?;
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs_err::create_dir_all(parent)?;
        let fresh = temporary(parent)?;
        let made = fresh.path().join("tree");
        store.patched(&self.part, &self.dir, &made, ui, offline)?;
        lay_over(&self.part, &self.dir, &made)?;
        let mark = Mark::new(&self.part.into, Snapshot::of(&made, &[])?.digest());
        mark.write(&Tree::at(&made)?)?;
        match is_replaced {
            true => fs::replace_dir(&made, dir)?,
            // Whatever has come into its place meanwhile makes this fail, unless it is an empty directory.
            false => fs_err::rename(&made, dir)?,
        }
        Ok(self.answer(dir, None, Difference::default()))
    }

    fn from(&self, dir: &Path, name: &str, store: &Store, offline: bool, ui: &Ui) -> Result<PatchedSource> {
        if self.origin == Origin::Embedded {
            return Err(Error::usage(format!("{} came with simpack: no patch can be put beside it", self.shown))
                .hint("`simpack init` starts a recipe of your own"));
        }
        let place = format!("{PATCHES}/{}", file_name(name)?);
        let recipe = Tree::at(&self.dir)?;
        if fs_err::symlink_metadata(self.dir.join(&place)).is_ok() {
            return Err(Error::usage(format!("{} is there already", self.dir.join(&place).display()))
                .hint("choose another name, or remove it first"));
        }
        let changed = Tree::at(dir)?;
        let mark = Mark::of(&changed, dir)?;
        let temporary = temporary(&std::env::temp_dir())?;
        let base = temporary.path().join("base");
        store.patched(&self.part, &self.dir, &base, ui, offline)?;
        let over = match &self.part.overlay {
            Some(overlay) => Snapshot::of(&self.dir.join(overlay), &[])?,
            None => Snapshot::default(),
        };
        let before = Snapshot::of(&base, &[])?;
        let expected = before.clone().under(&over);
        if let Some(mark) = &mark {
            self.is_of(mark, &expected, dir)?;
        }
        let now = Snapshot::of(dir, skipped(dir))?;
        if let Some(path) = expected.differing(&now).into_iter().find(|path| over.holds(path)) {
            let overlay = self.part.overlay.as_deref().unwrap_or_default();
            let (path, overlay) = (printable::text(path), printable::text(overlay));
            return Err(Error::usage(format!("{path} comes from the overlay, which is put over patched files"))
                .hint(format!("change {overlay}/{path} beside the recipe")));
        }
        let made = difference((&base, &before), (dir, &now), &over)?;
        if made.altered.is_empty() {
            return Ok(self.answer(dir, None, made));
        }
        recipe.write(&place, &made.patch)?;
        if let Some(mut mark) = mark {
            // With the new patch the recipe makes of its source what lies here.
            mark.trees.push(now.digest());
            mark.write(&changed)?;
        }
        Ok(self.answer(dir, Some(place), made))
    }

    /// A tree made of other patches than the recipe has today would take theirs back.
    fn is_of(&self, mark: &Mark, expected: &Snapshot, dir: &Path) -> Result<()> {
        let shown = dir.display();
        if mark.into != self.part.into {
            return Err(Error::usage(format!(
                "{shown} holds another source of the recipe, `{}`",
                mark.into.escape_debug()
            )));
        }
        match mark.trees.contains(&expected.digest()) {
            true => Ok(()),
            false => Err(Error::usage(format!("{shown} was made of another source, other patches or another overlay"))
                .detail("a patch of it would take back what the recipe has changed since")
                .hint("write a new tree with --edit, and bring the changes there")),
        }
    }

    fn answer(&self, dir: &Path, patch: Option<String>, made: Difference) -> PatchedSource {
        let mut patches = self.part.patches.clone();
        patches.extend(patch.clone());
        PatchedSource {
            schema: 1,
            tree: dir.display().to_string(),
            patch: patch.map(|patch| self.dir.join(patch).display().to_string()),
            patches,
            altered: made.altered,
            not_carried: made.not_carried,
        }
    }

    fn in_words(&self, answer: &PatchedSource, work: &SourceWork, request: &PatchSourceRequest) -> String {
        let tree = printable::word(&answer.tree).into_owned();
        if let SourceWork::Edit(_) = work {
            let recipe = request.recipe.iter().map(|name| format!(" {}", printable::word(name))).collect::<String>();
            let source = request.source.iter().map(|name| format!(" --source {name}")).collect::<String>();
            let over = if self.part.overlay.is_some() { ", and the overlay" } else { "" };
            return format!(
                "{tree}: the source of {}, with {}{over}\nnext: change it, then   simpack patch-source{recipe}{source} --from {tree} --name NAME.patch",
                self.shown,
                count(answer.patches.len(), "patch"),
            );
        }
        let mut text = String::new();
        for file in &answer.altered {
            let what = match file.what {
                Alteration::Added => "added",
                Alteration::Changed => "changed",
                Alteration::Removed => "removed",
            };
            text.push_str(&format!("  {what:<8} {}\n", printable::text(&file.path)));
        }
        for left in &answer.not_carried {
            text.push_str(&format!("  not in the patch: {left}\n"));
        }
        match &answer.patch {
            None => text.push_str(&format!("{tree} is as the recipe makes it: no patch written")),
            Some(patch) => {
                let table = match self.part.into.as_str() {
                    "." => "[source]".to_owned(),
                    name => format!("[sources.{name}]"),
                };
                let list = answer
                    .patches
                    .iter()
                    .map(|patch| format!("\"{}\"", printable::text(patch)))
                    .collect::<Vec<_>>()
                    .join(", ");
                text.push_str(&format!("{patch} written; in the recipe, below {table}:\npatches = [{list}]"));
            }
        }
        text
    }
}

fn temporary(parent: &Path) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(".simpack-source-").tempdir_in(parent);
    made.map_err(|error| Error::file(parent, "no directory can be made here").because(error))
}

/// The name of a patch: one file's, which recipes, shells and other tools take as it is.
fn file_name(name: &str) -> Result<&str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    match !name.is_empty() && name.len() < 128 && name.bytes().all(fits) && !name.starts_with(['.', '-']) {
        true => Ok(name),
        false => Err(Error::usage(format!("`{}` is no name for a patch", printable::text(name)))
            .hint("letters, digits and `._+-`, for instance 0001-find-cuda.patch")),
    }
}

//! Builds that do not say what they read: a change of any file of the source builds them again.

use std::collections::BTreeMap;
use std::path::Path;

use super::sources::{Scanned, scan, source_root};
use super::symbols::SYMBOLS_DIR;
use crate::amount::count;
use crate::error::Result;
use crate::lock::LOCK_FILE;
use crate::recipe::{ComponentKind, Diagnostic, Document, Recipe, RecipeFile};

/// Names that are told; the others are counted.
const TOLD: usize = 12;

/// A warning for each build without `inputs`, with what counts for it now. `outside` are directories that builds write.
///
/// # Errors
/// The source cannot be read.
pub(crate) fn unsaid_inputs(
    recipe: &Recipe,
    file: &RecipeFile,
    document: &Document,
    outside: &[&Path],
) -> Result<Vec<Diagnostic>> {
    let builds = recipe.components.iter().filter_map(|component| Some((component.kind, component.build.as_ref()?)));
    let unsaid: Vec<_> = builds.filter(|(_, build)| build.inputs.is_none()).collect();
    if unsaid.is_empty() {
        return Ok(Vec::new());
    }
    let (symbols, lock) = (recipe.dir.join(SYMBOLS_DIR), recipe.dir.join(LOCK_FILE));
    let own = [symbols.as_path(), lock.as_path()];
    let Scanned { files, left_out, .. } =
        scan(recipe, &source_root(recipe, None)?, &[outside, own.as_slice()].concat())?;
    let mut warnings = Vec::new();
    for (kind, build) in unsaid {
        let reads = build.reads()?;
        let counting = files.keys().filter(|path| reads.contain(path, left_out.contains(*path)));
        let below =
            |path: &String| path.strip_prefix(build.directory()).unwrap_or(path).trim_start_matches('/').to_owned();
        warnings.push(warning(kind, &counting.map(below).collect::<Vec<_>>(), file, document));
    }
    Ok(warnings)
}

fn warning(kind: ComponentKind, counting: &[String], file: &RecipeFile, document: &Document) -> Diagnostic {
    // What lies in one directory is one name.
    let mut names: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for path in counting {
        let top = path.split_once('/');
        *names.entry((top.is_some(), top.map_or(path.as_str(), |(dir, _)| dir))).or_default() += 1;
    }
    let shown = names.iter().map(|((is_dir, name), files)| match (is_dir, files) {
        (false, _) => (*name).to_owned(),
        (true, 1) => format!("{name}/ (1 file)"),
        (true, files) => format!("{name}/ ({})", count(*files, "file")),
    });
    let mut shown: Vec<String> = shown.collect();
    let globs = names.keys().map(|(is_dir, name)| format!("\"{name}{}\"", if *is_dir { "/**" } else { "" }));
    let mut globs: Vec<String> = globs.collect();
    if shown.len() > TOLD {
        let more = shown.len() - TOLD;
        shown.truncate(TOLD);
        globs.truncate(TOLD);
        shown.push(format!("and {more} more"));
        globs.push("...".to_owned());
    }
    let files = match counting.len() {
        1 => "the one file".to_owned(),
        files => format!("any of {files} files"),
    };
    let message = format!("the build of `{kind}` has no `inputs`: a change of {files} builds it again");
    let table = file.components.get(&kind);
    let span = table.map(|table| table.build.as_ref().map_or(table.span.clone(), |build| build.span.clone()));
    let warning = match span {
        Some(span) => Diagnostic::at(document, span, message),
        None => Diagnostic::asked(message),
    };
    warning
        .warning()
        .note(format!("what counts: {}", shown.join(", ")))
        .hint(format!("name what it reads, for example inputs = [{}]", globs.join(", ")))
}

//! Installs what the recipe lists of what a build left, for builds without an install target.

use std::path::Path;

use globset::GlobBuilder;

use crate::error::{Error, Result};
use crate::fs::{self, EntryKind, Tree};
use crate::recipe::Install;

/// Copies what `list` names below `built` into `tree`.
///
/// # Errors
/// A glob matches nothing, or several files for one path; or a file cannot be copied.
pub(in crate::engine::step) fn install(list: &[Install], built: &Path, tree: &Path) -> Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    let entries = fs::walk(built)?;
    let (from, to) = (Tree::at(built)?, Tree::at(tree)?);
    for item in list {
        let glob = GlobBuilder::new(&item.from).literal_separator(true).build();
        let glob = glob.map_err(|error| Error::recipe(format!("`{}` is not a glob", item.from)).because(error))?;
        let glob = glob.compile_matcher();
        let matching = entries.iter().filter(|entry| glob.is_match(&entry.path));
        let files: Vec<_> = matching.filter(|entry| !matches!(entry.kind, EntryKind::Directory)).collect();
        let wrong = match files.len() {
            0 => Some("matches nothing that the build left"),
            1 => None,
            _ if item.to.ends_with('/') => None,
            _ => Some("matches several files; with a slash at its end `to` names a directory for them"),
        };
        if let Some(why) = wrong {
            let error = Error::build(format!("`{}` of install {why}", item.from));
            return Err(files.iter().take(8).fold(error, |error, entry| error.detail(entry.path.clone())));
        }
        for entry in files {
            let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
            let place = if item.to.ends_with('/') { format!("{}{name}", item.to) } else { item.to.clone() };
            match &entry.kind {
                EntryKind::Link(text) => to.symlink(text, &place)?,
                EntryKind::File { executable, .. } => {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    to.copy(&from.open(&entry.path)?, &place, Some(mode))?;
                }
                EntryKind::Directory => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_installed_and_what_is_not_there_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (built, tree) = (dir.path().join("built"), dir.path().join("tree"));
        for path in ["bin/one", "bin/two", "main.o"] {
            fs_err::create_dir_all(built.join(path).parent().unwrap()).unwrap();
            fs_err::write(built.join(path), path).unwrap();
        }
        crate::fs::set_mode(&built.join("bin/one"), 0o755).unwrap();
        fs_err::create_dir(&tree).unwrap();
        let item = |from: &str, to: &str| Install { from: from.to_owned(), to: to.to_owned() };
        install(&[item("bin/*", "libexec/sim/"), item("main.o", "lib/crt.o")], &built, &tree).unwrap();
        let found: Vec<_> = fs::walk(&tree).unwrap().into_iter().map(|entry| (entry.path, entry.kind)).collect();
        let names: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(names, ["lib", "lib/crt.o", "libexec", "libexec/sim", "libexec/sim/one", "libexec/sim/two"]);
        assert!(matches!(found[4].1, EntryKind::File { executable: true, .. }));
        for (list, why) in [(item("*.so", "lib/"), "matches nothing"), (item("bin/*", "bin/sim"), "matches several")] {
            let error = install(&[list], &built, &tree).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}

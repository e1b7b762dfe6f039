//! The commit of a directory in the user's own working copy, and whether files differ from it.

use std::path::Path;

use crate::process::Call;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id, in hex.
    pub id: String,
    /// Whether files that count differ from it.
    pub dirty: bool,
}

impl Commit {
    /// A commit whose files are as they are in it.
    pub fn clean(id: &str) -> Self {
        Self { id: id.to_owned(), dirty: false }
    }
}

/// The commit of the files below `tree` of which `counts` says by their path that they count; none outside of a working
/// copy, without git, and where git does not trust the directory. Nothing of the repository's settings is run.
pub fn commit_of(tree: &Path, counts: &dyn Fn(&str) -> bool) -> Option<Commit> {
    let program = which::which("git").ok()?;
    let git = |args: &[&str]| {
        let call =
            Call::new(&program).dir(tree).pass(["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "LD_LIBRARY_PATH"]);
        let call =
            call.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"]);
        let call = call.args(["-c", "core.attributesFile=/dev/null", "-c", "diff.external=", "--no-optional-locks"]);
        let outcome = call.args(args.iter().copied()).run().ok()?;
        outcome.status.success().then(|| outcome.stdout_text())
    };
    let id = git(&["rev-parse", "--verify", "HEAD"])?.trim().to_owned();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let changed =
        git(&["diff-index", "--no-ext-diff", "--no-textconv", "--name-only", "--relative", "-z", "HEAD", "--", "."])?;
    let others = git(&["ls-files", "--others", "-z", "--", "."])?;
    let mut names = changed.split('\0').chain(others.split('\0')).filter(|name| !name.is_empty());
    is_id.then(|| Commit { id, dirty: names.any(counts) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_removed_and_new_files_are_seen_where_they_count() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let call = Call::new("git").dir(dir.path()).pass(["PATH"]).env("HOME", dir.path().to_string_lossy());
            let call = call.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false"]);
            call.args(args.iter().copied()).read().unwrap()
        };
        if which::which("git").is_err() {
            return crate::skip::skip("git is not installed");
        }
        fs_err::create_dir(dir.path().join("src")).unwrap();
        let write = |name: &str, text: &str| fs_err::write(dir.path().join("src").join(name), text).unwrap();
        let seen = || commit_of(&dir.path().join("src"), &|name| !name.ends_with(".log"));
        git(&["init", "--quiet"]);
        write("a.c", "1");
        assert_eq!(seen(), None, "there is no commit yet");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "one"]);
        let clean = Commit::clean(git(&["rev-parse", "HEAD"]).trim());
        assert_eq!(seen(), Some(clean.clone()));
        fs_err::write(dir.path().join("above"), "").unwrap();
        write("x.log", "");
        assert_eq!(seen(), Some(clean.clone()), "neither counts");
        let dirty = Some(Commit { dirty: true, ..clean.clone() });
        write("b.c", "");
        assert_eq!(seen(), dirty, "a new file");
        fs_err::remove_file(dir.path().join("src/b.c")).unwrap();
        write("a.c", "2");
        assert_eq!(seen(), dirty, "a changed file");
        fs_err::remove_file(dir.path().join("src/a.c")).unwrap();
        let any = commit_of(&dir.path().join("src"), &|_| true);
        assert_eq!(any, dirty, "a removed file");
    }
}

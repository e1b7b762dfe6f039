//! Source trees out of git repositories, by the machine's own git: one commit, its submodules, no
//! history, no questions to the user.

use std::path::{Path, PathBuf};

use url::Url;

use super::archive::at_fault;
use crate::container::links_stay_inside;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::{Call, Outcome};

/// What git needs of the user's environment: login data, certificates, proxies, its configuration.
const PASSED: [&str; 28] = [
    "HOME",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_COMMAND",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
];

/// Makes `tree`, an empty directory, the tree of commit `rev` with its submodules. Of git's own there is what tells builds that a
/// submodule was checked out: the file `.git` in it.
///
/// # Errors
/// `rev` is no full commit id, git is missing, or the repository does not give the commit.
pub(in crate::toolchain) fn checkout(url: &str, rev: &str, tree: &Path, offline: bool) -> Result<()> {
    full_id(url, rev)?;
    let is_local = check_address(url)?;
    if offline && !is_local {
        return Err(Error::toolchain("it is not here, and this run is offline"));
    }
    let git = Git { program: find()?, tree, is_local };
    git.read(&["init", "--quiet"])?;
    git.read(&["remote", "add", "origin", url])?;
    let commit = format!("{rev}^{{commit}}");
    // Not every server gives a commit by its id; all of them give their branches and tags.
    if !git.run(&["fetch", "--quiet", "--no-tags", "--depth", "1", "origin", rev])?.status.success() {
        git.read(&["fetch", "--quiet", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*"])?;
        if !git.run(&["cat-file", "-e", &commit])?.status.success() {
            return Err(Error::toolchain(format!("no branch and no tag of the repository holds the commit {rev}"))
                .hint(format!("list what it has: git ls-remote {url}")));
        }
    }
    git.read(&["checkout", "--quiet", "--detach", &commit])?;
    let got = git.read(&["rev-parse", "HEAD"])?;
    if got.trim() != rev {
        return Err(Error::recipe(format!("{rev} is not a commit: it is a tag of the commit {}", got.trim()))
            .hint("write the commit into `rev`"));
    }
    if tree.join(".gitmodules").exists() {
        submodules(&git)?;
    }
    remove_git(tree)?;
    no_large_file_pointers(tree)?;
    links_stay_inside(tree).map_err(at_fault)
}

struct Git<'a> {
    program: PathBuf,
    tree: &'a Path,
    is_local: bool,
}

impl Git<'_> {
    fn call(&self, args: &[&str]) -> Call {
        let protocols = if self.is_local { "file:git:http:https:ssh" } else { "git:http:https:ssh" };
        let call = Call::new(&self.program).dir(self.tree).pass(PASSED);
        let call =
            call.args(["-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "core.symlinks=true"]);
        let call = call.args(["-c", "core.attributesFile=/dev/null", "-c", "advice.detachedHead=false"]);
        call.args(args.iter().copied())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
            .env("GIT_ALLOW_PROTOCOL", protocols)
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            // Repositories around the cache do not matter.
            .env("GIT_CEILING_DIRECTORIES", self.tree.parent().unwrap_or(self.tree).to_string_lossy())
    }

    fn run(&self, args: &[&str]) -> Result<Outcome> {
        self.call(args).run()
    }

    fn read(&self, args: &[&str]) -> Result<String> {
        self.call(args).read().map_err(|error| {
            let text = error.details().join("\n").to_lowercase();
            let login = ["terminal prompts disabled", "could not read username", "authentication failed", "publickey"];
            match login.iter().any(|sign| text.contains(sign)) {
                true => error
                    .hint("the repository wants login data: git's credential helper or an ssh agent has to know them"),
                false => error,
            }
        })
    }
}

fn find() -> Result<PathBuf> {
    which::which("git").map_err(|_| {
        Error::toolchain("the source is in a git repository, and there is no program `git` on PATH")
            .hint("install git, or name an archive of the same commit: url and sha256 in [source]")
    })
}

fn full_id(url: &str, rev: &str) -> Result<()> {
    if rev.len() == 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(Error::recipe(format!("`{rev}` is not a full commit id of 40 hex digits; branches and tags move"))
        .hint(format!("ask the repository for the id: git ls-remote {url} {rev}")))
}

/// Whether the repository is on this machine.
fn check_address(url: &str) -> Result<bool> {
    if url.starts_with('/') {
        return Ok(true);
    }
    let hint = "write https://..., ssh://..., user@host:path, or file:///... with an absolute path";
    if let Ok(parsed) = Url::parse(url)
        && url.contains("://")
    {
        return match parsed.scheme() {
            "file" => Ok(true),
            "http" | "https" | "ssh" | "git" => Ok(false),
            other => Err(Error::recipe(format!("a repository cannot come by `{other}:`")).hint(hint)),
        };
    }
    // The short form of ssh. `a::b` would start a helper program of git.
    match url.split_once(':') {
        Some((host, path)) if !host.starts_with('-') && !host.contains('/') && !path.starts_with(':') => Ok(false),
        _ => Err(Error::recipe(format!("`{url}` is not the address of a repository")).hint(hint)),
    }
}

fn submodules(git: &Git) -> Result<()> {
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    let shallow: Vec<&str> = update.iter().copied().chain(["--depth", "1"]).collect();
    if git.run(&shallow)?.status.success() {
        return Ok(());
    }
    git.read(&update).map(|_| ()).map_err(|error| {
        let why =
            Error::toolchain("the repository has submodules, and they cannot be fetched").detail(error.to_string());
        let why = error.details().iter().fold(why, Error::detail);
        error.hints().iter().fold(why, Error::hint)
    })
}

/// Removes the repositories. The file `.git` of a submodule stays, as it does in archives that are made of a checkout: builds test for it.
/// Git writes the same text into it everywhere, a way to what is gone.
fn remove_git(tree: &Path) -> Result<()> {
    let mut found = Vec::new();
    let mut walk = walkdir::WalkDir::new(tree).min_depth(1).into_iter();
    while let Some(entry) = walk.next() {
        let entry = entry.map_err(|error| Error::file(tree, error))?;
        if entry.file_name() == ".git" && entry.file_type().is_dir() {
            walk.skip_current_dir();
            found.push(entry);
        }
    }
    for entry in found {
        fs_err::remove_dir_all(entry.path())?;
    }
    Ok(())
}

/// Refuses a tree where Git LFS left notes in the place of files: whether they are resolved depends on
/// the machine, and here they never are.
fn no_large_file_pointers(tree: &Path) -> Result<()> {
    for entry in fs::walk(tree)? {
        let fs::EntryKind::File { size, .. } = entry.kind else { continue };
        if size < 1024 && fs::read(&tree.join(&entry.path))?.starts_with(b"version https://git-lfs.github.com/") {
            return Err(Error::toolchain(format!("{} is kept in Git LFS, which simpack does not fetch", entry.path))
                .hint("name an archive that holds the files: url and sha256 in [source]"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_refused() {
        for rev in ["main", "v1.0", "0123456", &"g".repeat(40), &"A".repeat(40), "--upload-pack=x"] {
            let error = full_id("https://x.example/r", rev).unwrap_err();
            assert!(error.hints()[0].contains("git ls-remote"), "{rev}");
        }
        full_id("https://x.example/r", &"0a".repeat(20)).unwrap();
    }

    #[test]
    fn addresses() {
        for (url, is_local) in [
            ("https://x.example/r.git", false),
            ("ssh://git@x.example/r", false),
            ("git@x.example:a/r.git", false),
            ("file:///a/r", true),
            ("/a/r", true),
        ] {
            assert_eq!(check_address(url).unwrap(), is_local, "{url}");
        }
        for url in ["ext::sh -c true", "../r", "r", "-oProxyCommand=x:y", "ftp://x.example/r", "fd::3", ""] {
            assert!(check_address(url).is_err(), "{url}");
        }
    }
}

//! What is built, and with which tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::process::Call;

/// Prefix that the build systems believe in; the real tree is below `DESTDIR`. A fixed one keeps
/// the name of this machine's directories out of generated files.
pub const PREFIX: &str = "/opt/simpack";

/// Where a text names [`PREFIX`], by itself or right behind a flag of compilers, and not a path that only begins or ends with the
/// same letters.
pub fn prefixes_in(text: &str) -> impl Iterator<Item = usize> {
    let goes_on = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    text.match_indices(PREFIX).map(|(at, _)| at).filter(move |&at| {
        let before = &text[..at];
        let is_flag = ["-I", "-L", "-isystem"].iter().any(|flag| before.ends_with(flag));
        let begins = is_flag || !before.ends_with(|c: char| c.is_alphanumeric() || "/._-})".contains(c));
        begins && !text[at + PREFIX.len()..].starts_with(goes_on)
    })
}

/// What is built: a component, from a copy of its declared sources, into an empty tree.
#[derive(Debug, Clone, Copy)]
pub struct HostBuild<'a> {
    /// Simulator's name.
    pub name: &'a str,
    /// Copy of the declared sources, with the top file. Build systems may write into it.
    pub source: &'a Path,
    /// Options; `{prefix}`, `{dependencies}`, `{against}`, `{jobs}` and those of [`OF_STEP`] are still to be replaced.
    pub options: &'a BTreeMap<String, String>,
    /// Make targets, or the script's file name.
    pub targets: &'a [String],
    /// Whether simpack installs what is built, by the recipe's list.
    pub installs: bool,
    /// Directory of this step.
    pub work: &'a Path,
    /// What `DESTDIR` says.
    pub dest: &'a Path,
    /// [`PREFIX`] below it.
    pub tree: &'a Path,
    /// The prefix of the packages that it is given; none for a build that needs none.
    pub dependencies: Option<&'a str>,
    /// The prefix of what it is built against; none for a build that is built against nothing.
    pub against: Option<&'a Path>,
    /// Directory of the shaders that it embeds, as `VARIANT/ENVIRONMENT/KERNEL.spv`; none for a build that embeds none.
    pub shaders: Option<&'a Path>,
    /// Processes at a time.
    pub jobs: usize,
}

/// Placeholders of options that stand for places of a step, beside the prefix and the packages that it is given.
pub const OF_STEP: [&str; 7] = ["source", "work", "shaders", "cxx", "cuda-root", "nvcc", "nvcc-ccbin"];

/// Those of them that a build knows alone which compiles device code.
pub const OF_CUDA: [&str; 3] = ["cuda-root", "nvcc", "nvcc-ccbin"];

impl HostBuild<'_> {
    /// Options with their placeholders replaced, for a build system that knows `prefix`.
    pub(super) fn options(&self, prefix: &str, tools: &dyn HostTools) -> Result<Vec<(&String, String)>> {
        let text = |path: &Path| crate::fs::utf8(path).map(str::to_owned);
        let mut words = vec![
            ("prefix", prefix.to_owned()),
            ("dependencies", self.dependencies.unwrap_or_default().to_owned()),
            ("jobs", self.jobs.to_string()),
            ("source", text(self.source)?),
            ("work", text(self.work)?),
            ("cxx", text(&tools.cxx()?)?),
        ];
        if let Some(against) = self.against {
            words.push(("against", text(against)?));
        }
        if let Some(shaders) = self.shaders {
            words.push(("shaders", text(shaders)?));
        }
        if let Some((nvcc, cxx)) = tools.cuda() {
            let root = nvcc.parent().and_then(Path::parent).unwrap_or(nvcc);
            words.extend([("nvcc", text(nvcc)?), ("nvcc-ccbin", text(cxx)?), ("cuda-root", text(root)?)]);
        }
        let fill = |value: &String| {
            words.iter().fold(value.clone(), |value, (word, text)| value.replace(&format!("{{{word}}}"), text))
        };
        Ok(self.options.iter().map(|(name, value)| (name, fill(value))).collect())
    }
}

/// The tools of a build, as the engine arranges them.
pub trait HostTools {
    /// A call in a clean environment with the compilers.
    ///
    /// # Errors
    /// A script that stands for a compiler cannot be written.
    fn call(&self, program: &Path) -> Result<Call>;

    /// A pinned tool.
    ///
    /// # Errors
    /// The plan does not name it.
    fn pinned(&self, name: &str) -> Result<&Path>;

    /// The host compiler for C++, as one program.
    ///
    /// # Errors
    /// A script that stands for it cannot be written.
    fn cxx(&self) -> Result<PathBuf>;

    /// What belongs to the compiler, by name (`ar`).
    ///
    /// # Errors
    /// A script that stands for a program cannot be written.
    fn companions(&self) -> Result<BTreeMap<&'static str, PathBuf>>;

    /// nvcc and its host compiler, for a component that compiles device code.
    fn cuda(&self) -> Option<(&Path, &Path)>;

    /// The call with its part in the tokens of the jobs; none where there are no tokens.
    ///
    /// # Errors
    /// The tokens cannot be handed on.
    fn share(&self, call: &Call) -> Result<Option<Call>>;
}

//! Keys of the simulator and its sources.

use schemars::JsonSchema;

/// The simulator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Simulator {
    /// Name, with which the names of all packages begin: lower-case letters, digits, `-` and `_`.
    #[schemars(example = &"mysim")]
    name: String,
    /// Version, as PEP 440 writes it: `1.2.0`, `3.8`, `1.0b1`, `8.2.2.post1`.
    #[schemars(example = &"1.2.0")]
    version: String,
    /// Licence, as an SPDX expression.
    #[schemars(example = &"BSD-3-Clause")]
    license: String,
    /// One line about it.
    #[schemars(example = &"spiking networks on CPU and GPU")]
    summary: String,
    /// Address of its home page.
    #[schemars(example = &"https://mysim.example.org")]
    homepage: Option<String>,
    /// Licence texts that packages carry, relative to the source. Without the key: `LICENSE*`, `COPYING*`, `NOTICE*` at its
    /// top.
    #[schemars(example = ["LICENSE", "docs/NOTICE.txt"])]
    licence_files: Option<Vec<String>>,
}

/// Where the source is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Source {
    /// Directory, relative to the recipe's.
    #[schemars(example = &"..")]
    path: Option<String>,
    /// Address of a git repository. Its submodules come along, each with its file `.git`, for which builds look.
    #[schemars(example = &"https://git.example.org/mysim.git")]
    git: Option<String>,
    /// Commit of the repository: all 40 digits, because branches and tags move.
    #[schemars(example = &"0123456789abcdef0123456789abcdef01234567")]
    rev: Option<String>,
    /// Address of an archive; `{version}` is the simulator's.
    #[schemars(example = &"https://www.example.org/mysim-{version}.tar.gz")]
    url: Option<String>,
    /// Name of a project on the package index: its source distribution or wheel is the source.
    #[schemars(example = &"mysim")]
    pypi: Option<String>,
    /// Version of the project.
    #[schemars(example = &"1.2.0")]
    version: Option<String>,
    /// Digest of the archive: `sha256sum FILE` prints it.
    #[schemars(example = &"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    sha256: Option<String>,
    /// Directory, relative to the recipe's, whose files are put over what was fetched: a build script, a licence text.
    #[schemars(example = &"files")]
    overlay: Option<String>,
    /// Patches (unified diffs, as `git diff` and `diff -ru` write them), relative to the recipe's directory, applied in
    /// order to what was fetched, before the overlay.
    #[schemars(example = ["patches/0001-find-cuda.patch"])]
    patches: Option<Vec<String>>,
}

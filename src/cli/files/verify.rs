//! `simpack verify`.

use clap::{Args, ValueEnum};

use crate::attest::Identity;
use crate::error::Result;
use crate::ops::verify::{self, OriginRequest, VerifyRequest, lints};
use crate::recipe::Waiver;
use crate::report::Format;
use crate::ui::Ui;
use crate::verify::Depth;

/// Forms of a report beside `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Words
    Text,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing worse than warnings, 1 denied findings, 7 something could not be examined

Examples:
  simpack verify                                every package in dist/
  simpack verify dist/ volley-core              the findings about one package
  simpack verify --recipe recipes/volley        with the levels and waivers of a recipe
  simpack verify dist/noarch/volley-kernels-sm_90-1.0.0-h9be2_0.conda
  simpack verify some_gpu_wheel-1.0-py3-none-linux_x86_64.whl  what others made: wheels, libraries, trees
  simpack verify --symbols site-packages/nvidia  in milliseconds: only what ELF tables say
  simpack verify --deep dist/                   instructions beyond the processor that the recipe declares
  simpack verify --explain kernel-abi           what a lint means and what to do
  simpack verify --deny build-path-leak --waive soname-policy 'volley-core: lib/*' 'renamed in 2.0'
  simpack verify --signature minisign.pub --provenance dist/   who made them, and from what
  simpack verify --identity you@example.org --issuer https://accounts.example.org dist/
  simpack verify --format sarif > simpack.sarif")]
pub(in crate::cli) struct VerifyArgs {
    /// Directory of packages, package, bundle or prefix; wheel, library, device code or any directory that simpack
    /// did not make; or the name of a package in them [default: dist]
    #[arg(value_name = "DIST|PACKAGE|BUNDLE")]
    subjects: Vec<String>,

    /// Recipe whose lint levels, waivers, driver directories and glibc hold
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,

    /// Switch a lint off
    #[arg(long, value_name = "ID")]
    allow: Vec<String>,

    /// Make a lint a warning
    #[arg(long, value_name = "ID")]
    warn: Vec<String>,

    /// Make a lint stop the run
    #[arg(long, value_name = "ID")]
    deny: Vec<String>,

    /// Accept findings of a lint over subjects that match a glob, and say why
    #[arg(long, num_args = 3, value_names = ["ID", "SUBJECT", "REASON"])]
    waive: Vec<String>,

    /// Look at ELF tables and dynamic symbols only, not at device code, digests and build paths
    #[arg(long, conflicts_with = "deep")]
    symbols: bool,

    /// Decode the instructions of host code, too (x86-64), and hold them against the recipe's processor
    #[arg(long)]
    deep: bool,

    /// Check that packages and the statement of origin are signed by this public key (a file, or the key itself), instead
    /// of running lints
    #[arg(long, value_name = "PUBKEY")]
    signature: Option<String>,

    /// Check that sigstore's client signed the statement of origin, or a package, for this identity, and compare the
    /// statement with the packages, instead of running lints
    #[arg(long, value_name = "WHO", requires = "issuer")]
    identity: Option<String>,

    /// Who vouches for the identity: the address of its OpenID provider
    #[arg(long, value_name = "URL", requires = "identity")]
    issuer: Option<String>,

    /// Compare the statement of origin, provenance.json, with the packages beside it, and with --recipe with recipe and
    /// source; say what holds and what cannot be checked, instead of running lints
    #[arg(long)]
    provenance: bool,

    /// Form of the report
    #[arg(long, value_enum, default_value = "text")]
    format: FormatArg,

    /// Show every finding, also when there are many of one lint
    #[arg(long)]
    all: bool,

    /// Show names of kernels and symbols whole, not only their first 80 characters
    #[arg(long)]
    full: bool,

    /// List all lints and their levels, those of other verbs too
    #[arg(long, conflicts_with = "subjects")]
    list: bool,

    /// Explain a lint
    #[arg(long, value_name = "ID", conflicts_with_all = ["subjects", "list"])]
    explain: Option<String>,
}

impl VerifyArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        if self.list {
            return lints::list(ui).map(|()| 0);
        }
        if let Some(id) = &self.explain {
            return lints::explain(id, ui).map(|()| 0);
        }
        let identity = self.identity.clone().zip(self.issuer.clone()).map(|(name, issuer)| Identity { name, issuer });
        if self.signature.is_some() || self.provenance || identity.is_some() {
            let Self { subjects, signature: key, provenance, recipe, .. } = self;
            let paths = subjects.iter().map(Into::into).collect();
            return verify::origin(&OriginRequest { paths, key, identity, provenance, recipe }, ui);
        }
        verify::run(&self.request(), ui)
    }

    fn request(self) -> VerifyRequest {
        let waivers = self.waive.chunks_exact(3).map(|waiver| Waiver {
            id: waiver[0].clone(),
            subject: waiver[1].clone(),
            reason: waiver[2].clone(),
        });
        VerifyRequest {
            waivers: waivers.collect(),
            format: match self.format {
                FormatArg::Text => Format::Text,
                FormatArg::Sarif => Format::Sarif,
                FormatArg::Github => Format::Github,
            },
            depth: match (self.symbols, self.deep) {
                (true, _) => Depth::Symbols,
                (_, true) => Depth::Instructions,
                _ => Depth::Code,
            },
            subjects: self.subjects,
            recipe: self.recipe,
            allow: self.allow,
            warn: self.warn,
            deny: self.deny,
            all: self.all,
            full: self.full,
        }
    }
}

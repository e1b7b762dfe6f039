//! The one table of settings.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A path; `~/` at its beginning is the home directory.
    Path,
    /// Any text.
    Text,
    /// A whole number above 0.
    Count,
    /// `true` or `false`; in variables also `1`, `0`, `yes`, `no`, `on`, `off`.
    Switch,
    /// One of some words.
    Word(&'static [&'static str]),
}

/// One setting: a key of the file, and a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Key in the file: kebab-case.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What holds when nobody says anything, in words.
    pub default: &'static str,
    /// One line.
    pub about: &'static str,
}

impl Setting {
    /// The variable that sets it: `SIMPACK_CACHE_DIR`.
    pub fn variable(&self) -> String {
        variable(self.name)
    }

    /// Variables that set it, the one that counts first: its own, and those of names that it had.
    pub(super) fn variables(&self) -> impl Iterator<Item = String> {
        let former = FORMER.iter().filter(|(_, now)| *now == self.name);
        std::iter::once(self.variable()).chain(former.map(|(name, _)| variable(name)))
    }
}

fn variable(name: &str) -> String {
    format!("SIMPACK_{}", name.to_uppercase().replace('-', "_"))
}

/// What readers of foreign files may spend.
pub const LIMITS: Setting = Setting {
    name: "limits",
    kind: Kind::Count,
    default: "1",
    about: "how many times the usual memory and work a foreign file may take to read",
};

/// Names that settings had, which files and variables may still say.
pub(super) const FORMER: [(&str, &str); 4] = [
    ("slurm-args", "cluster-args"),
    ("slurm-array-limit", "cluster-array-limit"),
    ("slurm-dir", "cluster-dir"),
    ("slurm-partition", "cluster-partition"),
];

/// All settings, sorted by name.
pub const SETTINGS: [Setting; 30] = [
    Setting {
        name: "build-trees-size",
        kind: Kind::Text,
        default: "10G",
        about: "bytes of build trees that a build leaves in its work directory at most, the least recently used go; `none`",
    },
    Setting {
        name: "cache-dir",
        kind: Kind::Path,
        default: "simpack in the user's cache directory",
        about: "cache of toolchains, sources and artifacts",
    },
    Setting {
        name: "cache-remote",
        kind: Kind::Path,
        default: "none",
        about: "second cache directory: what the first lacks is checked and copied from there; never written",
    },
    Setting {
        name: "cache-size",
        kind: Kind::Text,
        default: "10G",
        about: "bytes of artifacts that a build leaves at most, the least recently used go; `none`",
    },
    Setting {
        name: "cache-store",
        kind: Kind::Text,
        default: "none",
        about: "object store behind the cache, `s3://BUCKET/PREFIX`: what the cache lacks is checked and fetched from there",
    },
    Setting {
        name: "cache-store-endpoint",
        kind: Kind::Text,
        default: "Amazon's for the region",
        about: "address of another S3-compatible service than Amazon's: `https://HOST`",
    },
    Setting {
        name: "cache-store-mode",
        kind: Kind::Word(&["read", "write"]),
        default: "read",
        about: "whether the store is read only, or is given what is made here, too",
    },
    Setting {
        name: "cache-store-region",
        kind: Kind::Text,
        default: "AWS_REGION, else us-east-1",
        about: "region of the store's bucket",
    },
    Setting {
        name: "cluster-args",
        kind: Kind::Text,
        default: "none",
        about: "arguments for the program that submits jobs, with spaces between them: `--account=sim --time=2:00:00`",
    },
    Setting {
        name: "cluster-array-limit",
        kind: Kind::Count,
        default: "as many as the cluster runs",
        about: "tasks of a build that run at a time, at most",
    },
    Setting {
        name: "cluster-dir",
        kind: Kind::Path,
        default: "one in the cache",
        about: "directory that all nodes see, for what tasks of a build are told and say",
    },
    Setting {
        name: "cluster-partition",
        kind: Kind::Text,
        default: "the cluster's",
        about: "partition or queue of the jobs",
    },
    Setting {
        name: "color",
        kind: Kind::Word(&["auto", "always", "never"]),
        default: "auto",
        about: "coloured words; `auto` follows NO_COLOR, CLICOLOR_FORCE and the terminal",
    },
    Setting {
        name: "compiled-dir",
        kind: Kind::Path,
        default: "simpack/compiled in the user's data directory",
        about: "where `simpack compile` keeps what it made; loaders of simulators look at the variable, not at the file",
    },
    Setting {
        name: "data-dir",
        kind: Kind::Path,
        default: "none",
        about: "directory whose manifests/ and templates/ go before the embedded ones; packages made with it name its digest",
    },
    Setting {
        name: "executor",
        kind: Kind::Word(&["local", "slurm", "gridengine"]),
        default: "local",
        about: "what runs the steps of `build`: this machine, or jobs of a cluster on nodes that share the cache",
    },
    Setting {
        name: "index-url",
        kind: Kind::Text,
        default: "pip's configuration",
        about: "package index to fetch from",
    },
    Setting {
        name: "install-from",
        kind: Kind::Text,
        default: "none",
        about: "what generated workflows install: `ADDRESS#COMMIT` of a git repository of simpack",
    },
    Setting { name: "jobs", kind: Kind::Count, default: "the machine's cores", about: "steps at a time" },
    Setting {
        name: "launcher",
        kind: Kind::Word(&["none", "sccache"]),
        default: "none",
        about: "what host compilers are called through: a cache of compilations, which changes no bytes",
    },
    LIMITS,
    Setting {
        name: "locked",
        kind: Kind::Switch,
        default: "false",
        about: "build and plan refuse to differ from simpack.lock",
    },
    Setting {
        name: "log-groups",
        kind: Kind::Word(&["auto", "github", "gitlab", "none"]),
        default: "auto",
        about: "folds of a build's log; `auto` follows GITHUB_ACTIONS and GITLAB_CI",
    },
    Setting { name: "offline", kind: Kind::Switch, default: "false", about: "use no network" },
    Setting {
        name: "progress",
        kind: Kind::Word(&["auto", "never"]),
        default: "auto",
        about: "progress lines; `auto` draws them on a terminal only",
    },
    Setting {
        name: "python",
        kind: Kind::Path,
        default: "python3 on PATH",
        about: "the Python whose pip says where to fetch from",
    },
    Setting { name: "quiet", kind: Kind::Switch, default: "false", about: "no notes and no progress" },
    Setting {
        name: "source-links",
        kind: Kind::Text,
        default: "none",
        about: "places outside of a source that its links may lead to: absolute paths with `:` between them",
    },
    Setting {
        name: "vendor-dir",
        kind: Kind::Path,
        default: "none",
        about: "directory that `simpack vendor` made: what a lock names is taken from there before any network",
    },
    Setting { name: "verbose", kind: Kind::Switch, default: "false", about: "more notes about the work" },
];

/// Those of them whose values are never shown.
pub const SECRETS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// Variables of others that simpack looks at, with what they do; sorted by name.
pub const ENVIRONMENT: [(&str, &str); 18] = [
    ("ALL_PROXY", "proxy for all addresses"),
    ("AWS_ACCESS_KEY_ID", "key for the object store of `cache-store`; requests are not signed without"),
    ("AWS_REGION", "region of that store where `cache-store-region` is not set"),
    ("AWS_SECRET_ACCESS_KEY", "what signs for that key"),
    ("AWS_SESSION_TOKEN", "token of that key, where it is for a session"),
    ("CLICOLOR_FORCE", "coloured words also off terminals, unless `0`"),
    ("CUDA_HOME", "where `--toolchain system` looks for nvcc first"),
    ("CUDA_PATH", "the same where CUDA_HOME is not set"),
    ("CXX", "what `--host system` looks at first"),
    ("GITHUB_ACTIONS", "log groups of GitHub when `true`"),
    ("GITLAB_CI", "log groups of GitLab when `true`"),
    ("HTTPS_PROXY", "proxy for https"),
    ("HTTP_PROXY", "proxy for http"),
    ("NO_COLOR", "no coloured words"),
    ("NO_PROXY", "hosts that need no proxy"),
    ("SIMPACK_CONFIG", "the file of settings, instead of simpack/config.toml in the user's directory"),
    ("SOURCE_DATE_EPOCH", "time stamp of everything, instead of 2020-01-01"),
    ("SSL_CERT_FILE", "certificates to trust"),
];

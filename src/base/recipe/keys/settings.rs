//! Keys of the driver, lints and package formats.

use schemars::JsonSchema;

use crate::elf::edit::PathTag;
use crate::recipe::model::{CondaProfile, Fallback, WheelExperiment};

/// How the host part finds the libraries of the driver.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Driver {
    /// Driver profiles, whose directories enter the search path of the libraries.
    #[schemars(extend("default" = ["conventional"]), example = ["conventional", "container", "wsl", "nixos"])]
    profiles: Option<Vec<String>>,
    /// The ELF tag of the search path.
    #[schemars(extend("default" = "runpath"), example = &"runpath")]
    tag: Option<PathTag>,
}

/// Levels of lints, and findings that are accepted.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Lint {
    /// Ids of lints that do not report.
    #[schemars(example = ["ptx-below-sass"])]
    allow: Option<Vec<String>>,
    /// Ids of lints that report for your information.
    #[schemars(example = ["ptx-below-sass"])]
    note: Option<Vec<String>>,
    /// Ids of lints that warn.
    #[schemars(example = ["build-path-leak"])]
    warn: Option<Vec<String>>,
    /// Ids of lints that stop the build.
    #[schemars(example = ["build-path-leak"])]
    deny: Option<Vec<String>>,
    /// Findings that are accepted.
    waivers: Option<Vec<WaiverKeys>>,
}

/// A finding that is accepted, and why.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WaiverKeys {
    /// Id of the lint.
    #[schemars(example = &"soname-policy")]
    id: String,
    /// Glob over the finding's subject, as the report shows it.
    #[schemars(example = &"mysim-core: lib/libold.so*")]
    subject: String,
    /// Why it is accepted. Reports repeat it.
    #[schemars(example = &"renamed in 2.0")]
    reason: String,
}

/// Settings of package formats.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Package {
    /// conda packages.
    conda: Option<Conda>,
    /// The package that `simpack generate nix` writes.
    nix: Option<NixKeys>,
    /// Wheels.
    wheel: Option<WheelKeys>,
}

/// The package of nix.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NixKeys {
    /// Who looks after it, by the names of nixpkgs' maintainers.
    #[schemars(example = ["somebody"])]
    maintainers: Option<Vec<String>>,
}

/// Wheels.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WheelKeys {
    /// What wheels do beyond what is agreed upon, and what may change with any release.
    #[schemars(example = ["variants"])]
    experimental: Option<Vec<WheelExperiment>>,
}

/// conda packages.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Conda {
    /// Name of the channel. Without the key: the simulator's name.
    #[schemars(example = &"mysim")]
    channel: Option<String>,
    /// Build number that is added to each package's own: raise it to replace packages of the same version.
    #[schemars(range(min = 0, max = 9999), extend("default" = 0), example = 1)]
    build_number: Option<u64>,
    /// What conda brings to a machine with a driver where it does not know the GPU's capability: the PTX of the lowest
    /// capability, the kernels of all targets (by the package `NAME-kernels-all`), or nothing, for the CPU. Libraries that
    /// ship cut exclude each other, so that `all` is refused for them. Of shaders no package manager knows which a device
    /// takes: without the key it brings those of the lowest environment, with `all` those of all, with `cpu` none.
    #[schemars(extend("default" = "ptx"), example = &"all")]
    fallback: Option<Fallback>,
    /// Whose conventions the recipe of `simpack generate conda` follows: those of a channel of one's own, with pinned
    /// compilers and the driver's directories in search paths, or conda-forge's, which pins compilers itself and leaves
    /// the driver to the loader.
    #[schemars(extend("default" = "channel"), example = &"conda-forge")]
    profile: Option<CondaProfile>,
    /// Accounts that look after generated recipes.
    #[schemars(example = ["somebody"])]
    maintainers: Option<Vec<String>>,
}

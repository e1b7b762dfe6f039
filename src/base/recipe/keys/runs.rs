//! Keys of what is run to test packages.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// The simulator's own smoke test.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SmokeTest {
    /// Program, relative to the prefix, and arguments of every run.
    #[schemars(example = ["bin/mysim", "run", "share/mysim/small.toml", "--json"])]
    command: Vec<String>,
    /// Further arguments for the CPU.
    #[schemars(example = ["--backend", "cpu"])]
    cpu: Option<Vec<String>>,
    /// Further arguments for one CUDA device and one target, which must run exactly that or fail. `{device}` and
    /// `{target}` are replaced.
    #[schemars(example = ["--backend", "cuda", "--device", "{device}", "--code", "{target}"])]
    cuda: Option<Vec<String>>,
    /// Further arguments for one Vulkan device, one target and one variant of the shaders, which must run exactly that or
    /// fail. `{device}`, `{target}` and `{variant}` are replaced; without `{variant}` it is one run a device.
    #[schemars(example = ["--device", "{device}", "--code", "{target}", "--variant", "{variant}"])]
    vulkan: Option<Vec<String>>,
    /// JSON pointers into what it prints: the same value everywhere. `equal` or `near` must be there.
    #[schemars(example = ["/digest"])]
    equal: Option<Vec<String>>,
    /// JSON pointers to numbers, each with the significant digits that must agree with the CPU's.
    #[schemars(example = BTreeMap::from([("/rate", 6)]))]
    near: Option<BTreeMap<String, u32>>,
    /// JSON pointer to a text that ends in the target that ran.
    #[schemars(example = &"/device_code")]
    code: Option<String>,
    /// JSON pointer to the seconds that the simulator itself measured.
    #[schemars(example = &"/run_seconds")]
    seconds: Option<String>,
    /// Seconds after which a run is ended.
    #[schemars(range(min = 1, max = 3600), extend("default" = 60), example = 120)]
    limit: Option<u32>,
}

/// One of upstream's own tests.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct UpstreamTest {
    /// Program and arguments: a path below the prefix, or the name of a program of the machine. `{prefix}`, `{source}` and `{work}`,
    /// an empty directory in which it is run, are replaced.
    #[schemars(example = ["python3.11", "-m", "mysim.tests"])]
    command: Vec<String>,
    /// Variables, with the same placeholders; nothing else of the environment is there.
    #[schemars(example = BTreeMap::from([("PYTHONPATH", "{prefix}/lib/python3.11/site-packages")]))]
    env: Option<BTreeMap<String, String>>,
    /// Texts that it prints when it passes, for programs that end with 0 whatever they find.
    #[schemars(example = ["all tests passed"])]
    prints: Option<Vec<String>>,
    /// Seconds after which it is ended.
    #[schemars(range(min = 1, max = 86400), extend("default" = 600), example = 120)]
    limit: Option<u32>,
}

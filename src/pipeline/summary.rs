//! What a build made: the packages, and how they came about.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::output::packages::Packed;
use crate::amount::count;
use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::Bundle;
use crate::engine::{BuildOutcome, LauncherUse, StepReport};
use crate::pack;
use crate::package::{BuiltPackage, Choice};
use crate::plan::BuildPlan;
use crate::process::IsolationKind;
use crate::recipe::{HostVariant, TestOutcome};
use crate::report::{Report, ReportJson, TextOptions, Verdict};

/// How a build prints a report: the time goes into the closing line.
pub(crate) const REPORT_WORDS: TextOptions<'static> = TextOptions { noun: "package", millis: None, all: false };

/// One row: a package file of the first format that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Package name.
    pub package: String,
    /// Version.
    pub version: String,
    /// What tells builds of a version apart: conda's build string.
    pub build: String,
    /// Where it runs, in the format's words: conda's `linux-64` or `noarch`.
    pub target: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// CUDA release of the device code, where the build made several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cuda: Option<CudaVersion>,
    /// Host variant; none of what there is once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variant: Option<HostVariant>,
    /// Device code inside, in words.
    pub device_code: String,
    /// Verdict of its bundle.
    pub verdict: String,
    /// Seconds that its steps took when they were compiled; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// The package files of a format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FormatRow {
    /// Its name, which is that of its directory below `dist/`, too.
    pub format: String,
    /// What it wrote.
    pub files: Vec<FileRow>,
}

/// A package file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileRow {
    /// Package, as the format calls it.
    pub package: String,
    /// Path below `dist/`.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256.
    pub sha256: String,
}

/// The JSON of a finished build.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Summary<'a> {
    /// Always 1.
    schema: u32,
    /// Simulator's name.
    simulator: &'a str,
    /// Its version.
    version: &'a str,
    /// The tag that ties kernels to core.
    kernel_abi: Option<&'a str>,
    /// How steps were isolated: as the least isolated one was, from the cache or not; absent in the first of these files.
    #[schemars(default)]
    sandbox: String,
    /// Steps that were made incrementally, in build trees of earlier builds; absent where every step is clean.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(default)]
    incremental: &'a [String],
    /// Package files of the first format.
    packages: Vec<Row>,
    /// The formats with all of their package files, in the order that was asked for.
    #[schemars(default)]
    formats: Vec<FormatRow>,
    /// What happened to the steps; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<&'a [StepReport]>,
    /// How often the launcher of host compilers (`--launcher`) had what it was to make; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    launcher: Option<LauncherUse>,
    /// The recipe's tests and how they ended; never in a file of `dist/`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(default)]
    tests: &'a [TestOutcome],
    /// What was found; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<ReportJson<'a>>,
    /// Seconds of the whole build; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

/// A finished build.
pub(crate) struct Built {
    pub simulator: String,
    pub version: String,
    pub kernel_abi: Option<String>,
    pub isolation: IsolationKind,
    pub incremental: Vec<String>,
    pub rows: Vec<Row>,
    pub formats: Vec<FormatRow>,
    pub steps: Vec<StepReport>,
    pub launched: Option<LauncherUse>,
    pub tests: Vec<TestOutcome>,
    pub report: Report,
    /// Seconds of the whole build.
    pub seconds: f64,
}

/// What a build said in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LastWords {
    /// The line that says what was built.
    pub headline: String,
    /// Packages of the first format.
    pub rows: Vec<Row>,
    /// All files of all formats.
    pub formats: Vec<FormatRow>,
    /// What was found.
    pub report: Report,
    /// How the steps were isolated: as the least isolated one was.
    pub isolation: IsolationKind,
    /// Steps of the plan.
    pub steps: usize,
    /// Those of them that were made incrementally.
    #[serde(default)]
    pub incremental: Vec<String>,
}

impl Built {
    /// What `dist/` says of itself: nothing that differs between two builds of the same.
    pub(super) fn mark(&self) -> Summary<'_> {
        Summary {
            schema: 1,
            simulator: &self.simulator,
            version: &self.version,
            kernel_abi: self.kernel_abi.as_deref(),
            sandbox: self.isolation.to_string(),
            incremental: &self.incremental,
            packages: self.rows.iter().map(|row| Row { seconds: None, ..row.clone() }).collect(),
            formats: self.formats.clone(),
            steps: None,
            launcher: None,
            tests: &[],
            report: None,
            seconds: None,
        }
    }

    /// All of it as JSON.
    pub(crate) fn summary(&self) -> Summary<'_> {
        Summary {
            packages: self.rows.clone(),
            steps: Some(&self.steps),
            launcher: self.launched,
            tests: &self.tests,
            report: Some(self.report.json()),
            seconds: Some(self.seconds),
            ..self.mark()
        }
    }

    /// All of it in words.
    pub(crate) fn words(&self, headline: String) -> LastWords {
        let (rows, formats, report) = (self.rows.clone(), self.formats.clone(), self.report.clone());
        let (steps, incremental) = (self.steps.len(), self.incremental.clone());
        LastWords { headline, rows, formats, report, isolation: self.isolation, steps, incremental }
    }

    /// How many steps were compiled.
    pub(crate) fn compiled(&self) -> usize {
        self.steps.iter().filter(|step| !step.cached).count()
    }
}

/// What each format wrote, with paths below `dist`.
pub(super) fn formats(packed: &[Packed], dist: &Path) -> Vec<FormatRow> {
    let file = |built: &BuiltPackage| FileRow {
        package: built.named.package.clone(),
        path: built.path.strip_prefix(dist).unwrap_or(&built.path).to_string_lossy().into_owned(),
        bytes: built.size,
        sha256: built.sha256.to_string(),
    };
    let format = |packed: &Packed| FormatRow {
        format: packed.format.to_string(),
        files: packed.built.iter().map(file).collect(),
    };
    packed.iter().map(format).collect()
}

/// One row per package file of the first format; a package without a bundle of its own (selector, metapackage) took no
/// steps and holds no code.
pub(super) fn rows(
    bundles: &[Bundle],
    packed: Vec<Packed>,
    report: &Report,
    plan: &BuildPlan,
    outcome: &BuildOutcome,
) -> Vec<Row> {
    let by_name: BTreeMap<_, &Bundle> = bundles.iter().map(|bundle| (pack::key(&bundle.manifest), bundle)).collect();
    let times: BTreeMap<&str, f64> = outcome.steps.iter().map(|step| (step.id.as_str(), step.seconds)).collect();
    let first = packed.into_iter().next().map(|packed| packed.built).unwrap_or_default();
    first
        .into_iter()
        .map(|built| {
            let packed = built.named;
            let key = packed.made_of.clone().map(|name| (name, packed.cuda, packed.host.clone()));
            let bundle = key.and_then(|key| by_name.get(&key));
            let cuda = packed.cuda.filter(|_| !plan.others.is_empty());
            let seconds = bundle.map_or(0.0, |bundle| {
                let target = bundle.manifest.target;
                let of = plan.steps.iter().filter(|step| match step.target() {
                    Some(made) => target == Some(made) && step.cuda == packed.cuda,
                    None => step.component == bundle.manifest.component && step.host == bundle.manifest.host,
                });
                of.filter_map(|step| times.get(step.id.as_str())).sum()
            });
            let code = bundle.and_then(|bundle| Some((bundle.manifest.target?, bundle.manifest.own_kernels().count())));
            let device_code = match (code, packed.selects) {
                (Some((KernelTarget::Cpu, _)), _) => "none".to_owned(),
                (Some((target, 0)), _) => format!("slice for {target}"),
                (Some((target, kernels)), _) => format!("{} {target}", count(kernels, "kernel")),
                (None, Some((target, choice))) => match choice {
                    Choice::Fitting => format!("none, selects {target}"),
                    Choice::Unknown => format!("none, selects {target} for unknown GPUs"),
                    Choice::NoCode => format!("none, selects {target} for GPUs without code"),
                },
                (None, None) => "none".to_owned(),
            };
            let device_code = match cuda.filter(|_| device_code != "none") {
                Some(cuda) => format!("{device_code}, CUDA {cuda}"),
                None => device_code,
            };
            let verdict = bundle.map_or(Verdict::Pass, |bundle| report.about(&bundle.manifest.package).verdict());
            Row {
                package: packed.package,
                version: packed.version,
                build: packed.build,
                target: packed.subdir,
                bytes: built.size,
                sha256: built.sha256.to_string(),
                cuda,
                variant: packed.host,
                device_code,
                verdict: verdict.to_string(),
                seconds: Some(seconds),
            }
        })
        .collect()
}

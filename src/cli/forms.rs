//! The JSON forms of all verbs.

use crate::abi::{BASELINE_SCHEMA, Baseline};
use crate::bundle::{BundleManifest, KERNELS_SCHEMA, KernelsList, MANIFEST_SCHEMA};
use crate::doctor::{DOCTOR_SCHEMA, DoctorJson};
use crate::error::ErrorJson;
use crate::layout::{STRUCTURES_SCHEMA, StructuresDump};
use crate::lock::{LOCK_EDITION, Lock};
use crate::ops::cache::{Collected, Stat, Verdict};
use crate::ops::check::Checked;
use crate::ops::compile::Compiled;
use crate::ops::compose::Composed;
use crate::ops::config::Listing;
use crate::ops::generate::Generated;
use crate::ops::lock::Answer;
use crate::ops::patch_source::PatchedSource;
use crate::ops::plan::{Comparison, Costs};
use crate::ops::publish::Published;
use crate::ops::rebuild::Rebuilt;
use crate::ops::schema::{Form, of};
use crate::ops::select::{SELECT_SCHEMA, Selection};
use crate::ops::vendor::VendorAnswer;
use crate::ops::verify::OriginReport;
use crate::ops::{abi, inspect, resolve, slice};
use crate::pipeline::{ShardSummary, Summary};
use crate::plan::{BuildPlan, DIVISION_SCHEMA, Division, PLAN_SCHEMA};
use crate::recipe::{KernelTableKeys, RecipeKeys, toml_schema};
use crate::report::{REPORT_SCHEMA, ReportJson};

/// All forms, sorted by name.
pub const FORMS: [Form; 35] = [
    Form {
        name: "abi",
        version: BASELINE_SCHEMA,
        about: "`simpack abi dump`: a recorded interface",
        schema: of::<Baseline>,
    },
    Form { name: "abi-diff", version: 1, about: "`simpack abi diff --json`", schema: of::<abi::DiffAnswer> },
    Form {
        name: "build",
        version: 1,
        about: "`simpack build --json`, `simpack merge --json` and dist/build.json",
        schema: of::<Summary>,
    },
    Form { name: "cache-gc", version: 1, about: "`simpack cache gc --json`", schema: of::<Collected> },
    Form { name: "cache-stat", version: 1, about: "`simpack cache stat --json`", schema: of::<Stat> },
    Form { name: "cache-verify", version: 1, about: "`simpack cache verify --json`", schema: of::<Verdict> },
    Form { name: "check", version: 1, about: "`simpack check --json`", schema: of::<Checked> },
    Form { name: "comparison", version: 1, about: "`simpack plan --compare --json`", schema: of::<Comparison> },
    Form { name: "compile", version: 1, about: "`simpack compile --json`", schema: of::<Compiled> },
    Form { name: "compose", version: 1, about: "`simpack compose --json`", schema: of::<Composed> },
    Form { name: "config", version: 1, about: "`simpack config --list --json`", schema: of::<Listing> },
    Form { name: "cost", version: 1, about: "`simpack plan --cost --json`", schema: of::<Costs> },
    Form {
        name: "division",
        version: DIVISION_SCHEMA,
        about: "`simpack plan --shards N --format json`",
        schema: of::<Division>,
    },
    Form { name: "doctor", version: DOCTOR_SCHEMA, about: "`simpack doctor --json`", schema: of::<DoctorJson> },
    Form {
        name: "error",
        version: 1,
        about: "what any verb prints under --json when it fails",
        schema: of::<ErrorJson>,
    },
    Form { name: "generate", version: 1, about: "`simpack generate TARGET --json`", schema: of::<Generated> },
    Form { name: "inspect", version: 1, about: "`simpack inspect --json`", schema: of::<inspect::Inspection> },
    Form {
        name: "kernel-table",
        version: 1,
        about: "kernel tables, as JSON; for editors",
        schema: toml_schema::<KernelTableKeys>,
    },
    Form {
        name: "kernels",
        version: KERNELS_SCHEMA,
        about: "kernels.json beside device code",
        schema: of::<KernelsList>,
    },
    Form { name: "lock", version: LOCK_EDITION, about: "simpack.lock, as JSON", schema: of::<Lock> },
    Form { name: "lock-result", version: 1, about: "`simpack lock --json`", schema: of::<Answer> },
    Form {
        name: "manifest",
        version: MANIFEST_SCHEMA,
        about: "simpack.json in every package",
        schema: of::<BundleManifest>,
    },
    Form {
        name: "origin",
        version: 1,
        about: "`simpack verify --provenance --json`, `--signature --json`",
        schema: of::<OriginReport>,
    },
    Form { name: "patch-source", version: 1, about: "`simpack patch-source --json`", schema: of::<PatchedSource> },
    Form { name: "plan", version: PLAN_SCHEMA, about: "`simpack plan --json`", schema: of::<BuildPlan> },
    Form { name: "publish", version: 1, about: "`simpack publish --json`", schema: of::<Published> },
    Form { name: "rebuild", version: 1, about: "`simpack rebuild --json`", schema: of::<Rebuilt> },
    Form { name: "recipe", version: 1, about: "simpack.toml, as JSON; for editors", schema: toml_schema::<RecipeKeys> },
    Form { name: "report", version: REPORT_SCHEMA, about: "`simpack verify --json`", schema: of::<ReportJson> },
    Form { name: "resolve", version: 1, about: "`simpack resolve --json`", schema: of::<resolve::Answers> },
    Form { name: "select", version: SELECT_SCHEMA, about: "`simpack select --json`", schema: of::<Selection> },
    Form { name: "shard", version: 1, about: "`simpack build --shard I/N --json`", schema: of::<ShardSummary> },
    Form { name: "slice", version: 1, about: "`simpack slice --json`", schema: of::<slice::SliceReport> },
    Form {
        name: "structures",
        version: STRUCTURES_SCHEMA,
        about: "structures of the host, as `command` in [kernels.NAME.structures] prints them",
        schema: of::<StructuresDump>,
    },
    Form { name: "vendor", version: 1, about: "`simpack vendor --json`", schema: of::<VendorAnswer> },
];

//! A pipeline of GitLab that builds a plan in parts: one job divides it, one job for each part builds, one merges.

use crate::error::{Error, Result};
use crate::generate::escape;
use crate::plan::Division;

/// Where the division lies between jobs: a hidden name, which is no part of a source.
const DIVISION: &str = ".simpack-division.json";

/// The pipeline for a division of the plan that `args` ask for: what stands behind `simpack plan` and `simpack build`.
///
/// # Errors
/// An argument holds what no command can hold.
pub fn pipeline(division: &Division, args: &[String]) -> Result<String> {
    let cannot = || Error::usage("an argument with a null byte cannot stand in a pipeline");
    let args: Vec<String> = args.iter().map(|arg| escape::shell(arg)).collect::<Option<_>>().ok_or_else(cannot)?;
    let args: String = args.iter().map(|arg| format!(" {arg}")).collect();
    let shards = division.shards.len();
    let line = |command: String| escape::yaml(&command).map(|text| format!("    - {text}\n")).ok_or_else(cannot);
    let divide = line(format!("simpack plan{args} --shards {shards} --format json > {DIVISION}"))?;
    let build = line(format!("simpack build{args} --shard \"$SHARD\" --division {DIVISION}"))?;
    let merge = line("simpack merge shards".to_owned())?;
    let verify = line("simpack verify dist".to_owned())?;
    let parts: Vec<String> = division.shards.iter().map(|part| format!("\"{}\"", part.shard)).collect();
    Ok(format!(
        "# Written by `simpack plan{args} --shards {shards} --format gitlab`: write it anew instead of changing it.

# What all jobs need, an image with simpack for instance: say it in a job of this name in the file that includes this one.
.simpack:
  interruptible: true

simpack-plan:
  extends: .simpack
  script:
{divide}  artifacts:
    paths: [{DIVISION}]
    expire_in: 1 week

simpack-shard:
  extends: .simpack
  needs: [simpack-plan]
  parallel:
    matrix:
      - SHARD: [{parts}]
  script:
{build}  artifacts:
    paths: [shards/]
    expire_in: 1 week

simpack-merge:
  extends: .simpack
  needs: [simpack-shard]
  script:
{merge}{verify}  artifacts:
    paths: [dist/]
",
        parts = parts.join(", ")
    ))
}

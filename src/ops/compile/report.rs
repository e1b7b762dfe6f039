//! What there is to say of a call: for `--json`, and in words.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, Version};
use crate::printable;

/// `simpack compile --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Compiled {
    /// Always 1.
    pub schema: u32,
    /// The user's directory of what was compiled.
    pub directory: String,
    /// Capabilities of the GPUs that were compiled for.
    pub gpus: Vec<Capability>,
    /// What was compiled, or is there.
    pub items: Vec<Item>,
    /// What was not compiled, and why.
    pub notes: Vec<String>,
}

/// One thing that is compiled on users' machines.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Item {
    /// Package that compiles it.
    pub package: String,
    /// Its simulator.
    pub simulator: String,
    /// The simulator's version.
    pub version: Version,
    /// What it is.
    pub what: What,
    /// Target of device code; name of a model.
    pub name: String,
    /// Its directory.
    pub path: String,
    /// What became of it.
    pub state: State,
    /// Compilers that made it.
    pub compilers: Vec<String>,
    /// Variables by which programs find it.
    pub sets: BTreeMap<String, String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Kernel groups of the package, for one GPU.
    Kernels,
    /// What the user wrote.
    Model,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was compiled by this call.
    Compiled,
    /// It is there, made from the same.
    Current,
    /// It would be compiled.
    Planned,
    /// It is not as it was made.
    Damaged,
    /// It was removed by this call.
    Removed,
}

impl Compiled {
    /// In words.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = self.items.iter().flat_map(Item::lines).collect();
        lines.extend(self.notes.iter().cloned());
        if self.items.is_empty() && self.notes.is_empty() {
            lines.push(format!("nothing is compiled in {}", self.directory));
        }
        lines.join("\n")
    }
}

impl Item {
    fn lines(&self) -> Vec<String> {
        let what = match self.what {
            What::Kernels => "kernels",
            What::Model => "model",
        };
        let how = match self.state {
            State::Compiled => format!("compiled in {:.1} s by {}", self.seconds, self.compilers.join(", ")),
            State::Current => "there already".to_owned(),
            State::Planned => format!("to be compiled by {}", self.compilers.join(", ")),
            State::Damaged => "damaged: compile it again".to_owned(),
            State::Removed => "removed".to_owned(),
        };
        let mut lines = vec![format!("{} {}  {what} {}: {how}", self.simulator, self.version, self.name)];
        if !matches!(self.state, State::Removed | State::Planned) {
            lines.push(format!("  in {}", self.path));
            let set = |(name, value): (&String, &String)| format!("  export {name}={}", printable::word(value));
            lines.extend(self.sets.iter().map(set));
        }
        lines
    }
}

//! `[test]`: upstream's own tests. A build runs them on what it staged, before anything is packed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Words in arguments and variables that are replaced, in braces: the staged prefix, the source tree, and an empty directory that
/// the test is run in.
pub const PLACES: [&str; 3] = ["prefix", "source", "work"];
/// A test of a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// Program and arguments; a program with a slash in it is one of the packages, any other the machine's.
    pub command: Vec<String>,
    /// Variables.
    pub env: BTreeMap<String, String>,
    /// Texts that it prints when it passes.
    pub prints: Vec<String>,
    /// Seconds after which it is ended.
    pub limit: u32,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestVerdict {
    /// It ended with 0, and printed what it must.
    Passed,
    /// It did not.
    Failed,
    /// This machine lacks what it needs.
    NotRun,
}

/// A test, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TestOutcome {
    /// Its name in the recipe.
    pub name: String,
    /// How it ended.
    pub verdict: TestVerdict,
    /// Why it did not pass; empty where it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The end of what it printed, where it did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// Milliseconds that it took.
    pub millis: u64,
}

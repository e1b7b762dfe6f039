//! Parts of a plan for machines that know nothing of one another: which steps each takes, and by what each knows that
//! the others had the same plan.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildPlan, Step, key_of};
use crate::fs::{Digest, DigestBuilder};

/// Version of the JSON of a division.
pub const DIVISION_SCHEMA: u32 = 1;

/// Parts that a plan can have: more machines than CI services give to one run.
pub const MOST_SHARDS: u32 = 4096;

/// One part of several: `2/8` is the second of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    of: u32,
    number: u32,
}

impl Shard {
    /// All parts of so many.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).map(move |number| Self { of, number })
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Its place among all, from 0.
    fn place(self) -> usize {
        self.number as usize - 1
    }

    /// A name for a directory: `2-of-8`.
    pub fn word(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.number, self.of))
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let whole = |text: &str| text.parse::<u32>().ok().filter(|number| (1..=MOST_SHARDS).contains(number));
        let found = text.split_once('/').and_then(|(number, of)| Some((whole(number)?, whole(of)?)));
        match found {
            Some((number, of)) if number <= of => Ok(Self { of, number }),
            Some((number, of)) => Err(format!("there is no part {number} of {of}: they count from 1 to {of}")),
            None => Err(format!("give a part and how many there are, such as 2/8; at most {MOST_SHARDS}")),
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// By what two machines know that they have the same plan; and what to look at when they have not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PlanIdentity {
    /// Digest over names and keys of all steps, without what only compilers can tell, and over the names of the bundles.
    pub digest: Digest,
    /// Version of the simpack that planned.
    pub simpack: String,
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: String,
    /// Digest over all files of the source.
    pub sources: Digest,
    /// Tools of all CUDA releases with version and, where they are pinned, digest.
    pub tools: BTreeMap<String, String>,
}

impl PlanIdentity {
    /// Of a whole plan; `sources` is the digest over all files of the source that count.
    pub fn new(plan: &BuildPlan, sources: Digest) -> Self {
        let start = DigestBuilder::default().field("simpack-plan 1");
        let digest = plan.steps.iter().fold(start, |digest, step| digest.field(&step.id).field(known(step).as_bytes()));
        let bundles = plan.bundles.iter().map(|bundle| plan.directory(bundle));
        let releases = plan.others.iter().map(|release| (release.cuda, &release.tools));
        let mut tools = BTreeMap::new();
        for (cuda, of) in std::iter::once((plan.cuda, &plan.tools)).chain(releases) {
            for (name, tool) in of {
                let digest = tool.sha256.map(|digest| format!(" ({})", digest.short(12))).unwrap_or_default();
                tools.insert(format!("{name} for CUDA {cuda}"), format!("{}{digest}", tool.version));
            }
        }
        Self {
            digest: bundles.fold(digest, |digest, name| digest.field(name)).finish(),
            simpack: env!("CARGO_PKG_VERSION").to_owned(),
            simulator: plan.simulator.clone(),
            version: plan.version.to_string(),
            sources,
            tools,
        }
    }

    /// In what a plan made elsewhere differs from this one, in words; empty when they are the same.
    pub fn differences(&self, there: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, there: &str, here: &str| {
            if there != here {
                found.push(format!("{what}: {there} there, {here} here"));
            }
        };
        compare("simpack", &there.simpack, &self.simpack);
        compare("simulator", &there.simulator, &self.simulator);
        compare("version", &there.version, &self.version);
        compare("source", &there.sources.short(12), &self.sources.short(12));
        let names: BTreeSet<&String> = self.tools.keys().chain(there.tools.keys()).collect();
        for name in names {
            let of = |tools: &BTreeMap<String, String>| tools.get(name).cloned().unwrap_or_else(|| "none".to_owned());
            compare(name, &of(&there.tools), &of(&self.tools));
        }
        if found.is_empty() && self != there {
            found.push("recipe, lock, capabilities, components or SOURCE_DATE_EPOCH differ".to_owned());
        }
        found
    }
}

/// What of a step's key is known before anything is compiled.
fn known(step: &Step) -> Digest {
    step.direct.unwrap_or_else(|| key_of(step.known_parts()))
}

/// What a step is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// Microseconds; whole numbers, so that every machine adds them up to the same.
    pub micros: u64,
    /// Steps of one family gain by running on one machine.
    pub family: Option<usize>,
    /// Its family runs on one machine whatever it takes: one of them takes what the others make.
    pub bound: bool,
}

/// A plan divided among machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Division {
    /// Always [`DIVISION_SCHEMA`].
    pub schema: u32,
    /// The plan.
    pub plan: PlanIdentity,
    /// Steps whose time was measured before; that of the others is expected by what they compile.
    pub measured: usize,
    /// The parts, in their order.
    pub shards: Vec<DividedShard>,
}

/// What one machine takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DividedShard {
    /// Which part.
    pub shard: Shard,
    /// Seconds that its steps are expected to take, one after the other.
    pub seconds: f64,
    /// Ids of its steps, in the plan's order.
    pub steps: Vec<String>,
}

impl Division {
    /// Divides a whole plan into `shards` parts; `weights` are those of its steps, `measured` of them from experience.
    pub fn new(plan: &BuildPlan, identity: PlanIdentity, (weights, measured): (&[Weight], usize), shards: u32) -> Self {
        let parts = divide(weights, shards as usize);
        let part = |(shard, indices): (Shard, Vec<usize>)| DividedShard {
            shard,
            seconds: indices.iter().map(|&index| weights[index].micros).sum::<u64>() as f64 / 1e6,
            steps: indices.into_iter().map(|index| plan.steps[index].id.clone()).collect(),
        };
        Self {
            schema: DIVISION_SCHEMA,
            plan: identity,
            measured,
            shards: Shard::all(shards).zip(parts).map(part).collect(),
        }
    }

    /// The steps of one part; none where it is divided into another number of parts.
    pub fn steps_of(&self, shard: Shard) -> Option<&[String]> {
        let is_so_many = self.shards.len() == shard.of as usize;
        let found = self.shards.get(shard.place()).filter(|found| is_so_many && found.shard == shard);
        found.map(|found| found.steps.as_slice())
    }
}

/// Pieces of families that a machine takes whole are at most this part of what each machine has to do.
const PIECES: u64 = 4;

/// Indices of the steps of each of `parts` parts, sorted: the longest first, each to the part that has least so far.
/// Families stay together as far as balance allows, and those that are bound always.
pub(super) fn divide(weights: &[Weight], parts: usize) -> Vec<Vec<usize>> {
    let total: u64 = weights.iter().map(|weight| weight.micros).fold(0, u64::saturating_add);
    let most = total / (parts.max(1) as u64).saturating_mul(PIECES);
    let mut pieces: Vec<(u64, Vec<usize>)> = Vec::new();
    let mut open: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, weight) in weights.iter().enumerate() {
        let last = weight.family.and_then(|family| open.get(&family).copied());
        let fits = |piece: &&mut (u64, _)| weight.bound || piece.0.saturating_add(weight.micros) <= most;
        match last.map(|last| &mut pieces[last]).filter(fits) {
            Some((micros, steps)) => {
                *micros += weight.micros;
                steps.push(index);
            }
            None => {
                open.extend(weight.family.map(|family| (family, pieces.len())));
                pieces.push((weight.micros, vec![index]));
            }
        }
    }
    pieces.sort_by_key(|(micros, steps)| (Reverse(*micros), steps[0]));
    let mut loads: BinaryHeap<Reverse<(u64, usize)>> = (0..parts).map(|part| Reverse((0, part))).collect();
    let mut found = vec![Vec::new(); parts];
    for (micros, steps) in pieces {
        let Some(Reverse((load, part))) = loads.pop() else { break };
        found[part].extend(steps);
        loads.push(Reverse((load.saturating_add(micros), part)));
    }
    found.iter_mut().for_each(|steps| steps.sort_unstable());
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_written_as_they_are_read() {
        for text in ["1/1", "2/8", "4096/4096"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        assert_eq!("2/8".parse::<Shard>().unwrap().word(), "2-of-8");
        for text in ["", "1", "0/4", "5/4", "1/0", "1/4097", "-1/4", "1/4/8", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    fn weight(micros: u64) -> Weight {
        Weight { micros, family: None, bound: false }
    }

    #[test]
    fn the_longest_come_first_and_families_stay_together_while_that_is_balanced() {
        let alone: Vec<Weight> = [10, 1, 1, 1, 7].map(weight).into();
        assert_eq!(divide(&alone, 2), [vec![0], vec![1, 2, 3, 4]]);
        let of = |family, micros| Weight { micros, family: Some(family), bound: false };
        // Eight units for two capabilities each: no unit is cut.
        let units: Vec<Weight> = (0..16).map(|index| of(index / 2, 1)).collect();
        for part in divide(&units, 2) {
            assert!(part.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2), "{part:?}");
        }
        // One unit for many capabilities is.
        let unit: Vec<Weight> = (0..16).map(|_| of(0, 1)).collect();
        assert_eq!(divide(&unit, 4).iter().map(Vec::len).collect::<Vec<_>>(), [4; 4]);
        // What one of them takes of the others is not.
        let mut embedded = unit.clone();
        embedded.iter_mut().for_each(|weight| weight.bound = true);
        embedded.extend([weight(1), weight(1)]);
        let found = divide(&embedded, 4);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [16, 1, 1, 0]);
        assert_eq!(divide(&[], 2), [Vec::<usize>::new(), Vec::new()]);
    }

    proptest! {
        #[test]
        fn every_step_is_in_one_part_and_no_part_is_far_above_the_mean(
            micros in proptest::collection::vec((0u64..1_000_000, proptest::option::of(0usize..6)), 0..200),
            parts in 1usize..12,
        ) {
            let weights: Vec<Weight> = micros.iter().map(|&(micros, family)| Weight { micros, family, bound: false }).collect();
            let found = divide(&weights, parts);
            let mut all: Vec<usize> = found.iter().flatten().copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..weights.len()).collect::<Vec<_>>());
            let total: u64 = weights.iter().map(|weight| weight.micros).sum();
            let longest = weights.iter().map(|weight| weight.micros).max().unwrap_or(0);
            // What list scheduling promises for pieces that are no longer than this.
            let piece = longest.max(total / (parts as u64 * PIECES));
            for part in &found {
                let load: u64 = part.iter().map(|&index| weights[index].micros).sum();
                prop_assert!(load <= total / parts as u64 + piece + 1);
            }
        }
    }
}

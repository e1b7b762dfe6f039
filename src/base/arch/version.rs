//! Versions as the world writes them (PEP 440): `3.8`, `12.5.4.2`, `1.0b1`, `8.2.2.post1`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most numbers between dots.
const MOST: usize = 6;

/// A version by PEP 440, in its normal form and without a local part: an epoch, numbers, and what comes before or
/// after the release of these numbers.
///
/// Missing numbers count as zero: `12.5` equals `12.5.0`, and each is printed as it was written.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    epoch: u64,
    numbers: [u64; MOST],
    /// How many of the numbers are written.
    count: u8,
    pre: Option<(Phase, u64)>,
    post: Option<u64>,
    dev: Option<u64>,
}

/// What comes before a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Alpha,
    Beta,
    Candidate,
}

const PHASES: [(&str, Phase); 3] = [("a", Phase::Alpha), ("b", Phase::Beta), ("rc", Phase::Candidate)];

impl Version {
    /// The release that consists of these numbers, at most six.
    fn of(epoch: u64, written: impl IntoIterator<Item = u64>) -> Self {
        let (mut numbers, mut count) = ([0; MOST], 0);
        for (slot, number) in numbers.iter_mut().zip(written) {
            *slot = number;
            count += 1;
        }
        Self { epoch, numbers, count, pre: None, post: None, dev: None }
    }

    /// The release of three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { epoch: 0, numbers: [major, minor, patch, 0, 0, 0], count: 3, pre: None, post: None, dev: None }
    }

    /// The number at a place, zero beyond the last.
    pub fn number(&self, place: usize) -> u64 {
        self.numbers.get(place).copied().unwrap_or(0)
    }

    /// Whether it comes before the release of its numbers.
    pub fn is_before_release(&self) -> bool {
        self.pre.is_some() || self.dev.is_some()
    }

    /// The first release in which the number at `place` is one higher, in as few numbers as say it: `2` or `1.3`.
    #[must_use]
    pub fn ended_by(&self, place: usize) -> Self {
        Self::of(self.epoch, (0..=place).map(|at| self.number(at).saturating_add(u64::from(at == place))))
    }

    /// The release in which the number at `place` is one higher and those after it are zero, in the three numbers
    /// that most packages have.
    #[must_use]
    pub fn raised(&self, place: usize) -> Self {
        let numbers = (0..3).map(|at| match at.cmp(&place) {
            Ordering::Less => self.number(at),
            Ordering::Equal => self.number(at).saturating_add(1),
            Ordering::Greater => 0,
        });
        Self::of(self.epoch, numbers)
    }

    /// What is compared, in this order: a `.dev` of the release itself comes before its `a1`, and everything before the
    /// release comes before that.
    fn key(&self) -> impl Ord + Hash {
        let phase = match (self.pre, self.post, self.dev) {
            (Some((phase, number)), ..) => (1, Some(phase), number),
            (None, None, Some(_)) => (0, None, 0),
            (None, ..) => (2, None, 0),
        };
        (self.epoch, self.numbers, phase, self.post, self.dev.is_none(), self.dev)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().take(self.count.into()).map(u64::to_string).collect();
        let mut text = if self.epoch > 0 { format!("{}!", self.epoch) } else { String::new() };
        text += &numbers.join(".");
        if let Some((phase, number)) = self.pre {
            let word = PHASES.iter().find(|(_, known)| *known == phase).map_or("", |(word, _)| word);
            text += &format!("{word}{number}");
        }
        text += &self.post.map(|number| format!(".post{number}")).unwrap_or_default();
        text += &self.dev.map(|number| format!(".dev{number}")).unwrap_or_default();
        f.pad(&text)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).ok_or_else(|| {
            let odd = match text.split_once('+') {
                Some((public, _)) if read(public).is_some() => {
                    return format!(
                        "`{text}` has a local part: write `{public}`, CUDA releases are told apart without it"
                    );
                }
                _ => format!("`{text}` is not a version such as 1.0.0, 3.8, 1.0b1 or 8.2.2.post1"),
            };
            let normal = normal(text).filter(|normal| read(normal).is_some());
            normal.map_or(odd.clone(), |normal| format!("{odd}: write `{normal}`"))
        })
    }
}

/// Takes the digits that `text` begins with. A number has no zero before it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let is_normal = digits == "0" || !digits.starts_with('0');
    Some((digits.parse().ok().filter(|_| is_normal)?, rest))
}

fn read(text: &str) -> Option<Version> {
    let (epoch, mut rest) = match text.split_once('!') {
        Some((epoch, rest)) => (number(epoch).filter(|(_, rest)| rest.is_empty())?.0, rest),
        None => (0, text),
    };
    let mut numbers = Vec::new();
    loop {
        let (next, after) = number(rest)?;
        numbers.push(next);
        rest = after;
        match rest.strip_prefix('.').filter(|after| after.starts_with(|c: char| c.is_ascii_digit())) {
            Some(after) if numbers.len() < MOST => rest = after,
            Some(_) => return None,
            None => break,
        }
    }
    let mut version = Version::of(epoch, numbers);
    if let Some((phase, after)) = PHASES.iter().find_map(|(word, phase)| Some((*phase, rest.strip_prefix(word)?))) {
        let (number, after) = number(after)?;
        (version.pre, rest) = (Some((phase, number)), after);
    }
    for (word, place) in [(".post", &mut version.post), (".dev", &mut version.dev)] {
        if let Some(after) = rest.strip_prefix(word) {
            let (number, after) = number(after)?;
            (*place, rest) = (Some(number), after);
        }
    }
    rest.is_empty().then_some(version)
}

/// What somebody meant who wrote `v1.0-beta.1`, by the rules by which PEP 440 makes versions normal.
fn normal(text: &str) -> Option<String> {
    const WORDS: [(&str, &str); 11] = [
        ("alpha", "a"),
        ("beta", "b"),
        ("preview", "rc"),
        ("post", ".post"),
        ("dev", ".dev"),
        ("rev", ".post"),
        ("pre", "rc"),
        ("rc", "rc"),
        ("a", "a"),
        ("b", "b"),
        ("c", "rc"),
    ];
    let text = text.trim().to_ascii_lowercase();
    let mut rest = text.strip_prefix('v').unwrap_or(&text);
    let mut normal = String::new();
    while !rest.is_empty() {
        let plain = rest.trim_start_matches(['.', '-', '_']);
        let digits = plain.find(|c: char| !c.is_ascii_digit()).unwrap_or(plain.len());
        if digits > 0 {
            // A number after a word belongs to it, whatever stands between.
            let is_first = normal.is_empty() || normal.ends_with(|c: char| c.is_ascii_alphabetic() || c == '!');
            normal += if is_first { "" } else { "." };
            normal += &plain[..digits].parse::<u64>().ok()?.to_string();
            rest = &plain[digits..];
        } else if let Some((word, by)) = WORDS.iter().find(|(word, _)| plain.starts_with(word)) {
            normal += by;
            rest = &plain[word.len()..];
            // A word without a number stands for its first.
            if !rest.trim_start_matches(['.', '-', '_']).starts_with(|c: char| c.is_ascii_digit()) {
                normal += "0";
            }
        } else if let Some(after) = plain.strip_prefix('!') {
            normal += "!";
            rest = after;
        } else {
            return None;
        }
    }
    Some(normal)
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl From<u32> for Version {
    fn from(number: u32) -> Self {
        Self::of(0, [number.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ascending, by PEP 440.
    const ORDER: [&str; 19] = [
        "0.9",
        "1.0.dev1",
        "1.0a1.dev2",
        "1.0a1",
        "1.0a1.post1.dev1",
        "1.0a1.post1",
        "1.0a2",
        "1.0b1",
        "1.0rc1.dev1",
        "1.0rc1",
        "1.0",
        "1.0.post1.dev1",
        "1.0.post1",
        "1.0.1",
        "1.2",
        "1.10",
        "8.2.2.post1",
        "12.5.4.2",
        "1!0.1",
    ];

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn texts_and_order_are_those_of_pep_440() {
        for pair in ORDER.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        for text in ORDER {
            assert_eq!(version(text).to_string(), text);
        }
        assert_eq!(version("12.5"), version("12.5.0.0"));
        assert_eq!(version("12.5.0").to_string(), "12.5.0");
    }

    #[test]
    fn odd_versions_are_refused_with_what_was_meant() {
        let refused = |text: &str| text.parse::<Version>().unwrap_err();
        for (odd, meant) in [
            ("v1.0", "1.0"),
            ("1.0-beta.1", "1.0b1"),
            ("1.0-RC2", "1.0rc2"),
            ("1.0.alpha", "1.0a0"),
            ("1.0_post3", "1.0.post3"),
            ("2024.05.01", "2024.5.1"),
            ("1.0dev", "1.0.dev0"),
        ] {
            assert!(refused(odd).ends_with(&format!("write `{meant}`")), "{odd}: {}", refused(odd));
        }
        assert!(refused("1.0+cu130").contains("write `1.0`"));
        for odd in
            ["", "1.", ".1", "1..2", "1.x", "1.0.0-", "99999999999999999999999", "1.2.3.4.5.6.7", &"1.".repeat(40)]
        {
            assert!(refused(odd).contains("is not a version"), "{odd}");
        }
    }

    #[test]
    fn raised_at_a_place() {
        assert_eq!(version("1.2.3").raised(0).to_string(), "2.0.0");
        assert_eq!(version("1.2.3").raised(1).to_string(), "1.3.0");
        assert_eq!(version("1.2rc1").raised(2).to_string(), "1.2.1");
        assert_eq!(version("8.2.2.post1").ended_by(0).to_string(), "9");
    }
}

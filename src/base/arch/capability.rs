//! A CUDA compute capability with its suffix: `9.0`, `9.0a`, `10.0f`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which devices code for a capability may run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// Plain: same major, equal or higher minor.
    Plain,
    /// `f`: the family only (CUDA 12.9 and later).
    Family,
    /// `a`: exactly this capability.
    Exact,
}

/// A compute capability. Ordered by major, minor, then plain before `f` before `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Capability {
    /// Number before the dot.
    pub major: u8,
    /// Number after the dot, one digit.
    pub minor: u8,
    /// `a`, `f` or nothing.
    pub suffix: Suffix,
}

impl Capability {
    /// A capability without suffix.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor, suffix: Suffix::Plain }
    }

    /// The same device without suffix.
    pub const fn plain(self) -> Self {
        Self { suffix: Suffix::Plain, ..self }
    }

    /// The compiler's number: 90 for `9.0`, 120 for `12.0`.
    pub const fn number(self) -> u32 {
        self.major as u32 * 10 + self.minor as u32
    }

    /// From the compiler's number: 90 is `9.0`, 120 is `12.0`.
    pub fn from_number(number: u32, suffix: Suffix) -> Option<Self> {
        Some(Self { major: u8::try_from(number / 10).ok()?, minor: (number % 10) as u8, suffix })
    }

    fn letter(self) -> &'static str {
        match self.suffix {
            Suffix::Plain => "",
            Suffix::Family => "f",
            Suffix::Exact => "a",
        }
    }

    /// Name of its machine code: `sm_90a`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.number(), self.letter())
    }

    /// Name of its virtual architecture: `compute_90a`.
    pub fn compute(self) -> String {
        format!("compute_{}{}", self.number(), self.letter())
    }

    /// Parses `sm_90a`, `compute_90a` or `90a`.
    pub fn from_arch(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let (digits, suffix) = split_suffix(text);
        if digits.len() < 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Self::from_number(digits.parse().ok()?, suffix)
    }

    /// What somebody meant who writes a capability as compilers do, or without its minor: `sm_90`, `compute_90a`, `90`,
    /// `9`.
    fn meant(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let bare = ["sm_", "compute_", "sm"].into_iter().find_map(|word| text.strip_prefix(word)).unwrap_or(&text);
        let (digits, suffix) = split_suffix(bare);
        let number: u32 = digits.parse().ok().filter(|_| digits.len() <= 3)?;
        // No compiler makes code for 1.x and 2.x any more: such a number is a major.
        Self::from_number(if number < 30 { number * 10 } else { number }, suffix).filter(|meant| meant.major > 0)
    }
}

fn split_suffix(text: &str) -> (&str, Suffix) {
    match text.as_bytes().last() {
        Some(b'a') => (&text[..text.len() - 1], Suffix::Exact),
        Some(b'f') => (&text[..text.len() - 1], Suffix::Family),
        _ => (text, Suffix::Plain),
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}{}", self.major, self.minor, self.letter())
    }
}

impl FromStr for Capability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let wrong = format!("`{text}` is not a compute capability such as 9.0, 9.0a or 10.0f");
            Self::meant(text).map_or(wrong.clone(), |meant| format!("{wrong}; did you mean `{meant}`?"))
        };
        let (digits, suffix) = split_suffix(text);
        let (major, minor) = digits.split_once('.').ok_or_else(wrong)?;
        let number = |part: &str, most: usize| {
            let fits = !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit());
            if fits { part.parse::<u8>().ok() } else { None }
        };
        match (number(major, 2), number(minor, 1)) {
            (Some(major), Some(minor)) if major > 0 => Ok(Self { major, minor, suffix }),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Capability {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_otherwise_is_understood() {
        let said = |text: &str| text.parse::<Capability>().unwrap_err();
        for (text, meant) in [
            ("8", "8.0"),
            ("sm_90", "9.0"),
            ("90a", "9.0a"),
            ("compute_100f", "10.0f"),
            ("12", "12.0"),
            ("SM_120", "12.0"),
        ] {
            assert!(said(text).ends_with(&format!("; did you mean `{meant}`?")), "{}", said(text));
        }
        for text in ["", "hopper", "9000", "0", "sm_", "-9", "9,0"] {
            assert!(!said(text).contains("did you mean"), "{}", said(text));
        }
    }

    #[test]
    fn parses_what_it_prints() {
        for text in ["5.0", "7.5", "9.0", "9.0a", "10.0f", "12.1"] {
            assert_eq!(text.parse::<Capability>().unwrap().to_string(), text);
        }
        for text in ["", "9", "9.", ".0", "9.0b", "9.00", "0.1", "90", "9.0aa", "-9.0", "9.0 "] {
            assert!(text.parse::<Capability>().is_err(), "{text}");
        }
    }

    #[test]
    fn compiler_names() {
        let capability: Capability = "12.0a".parse().unwrap();
        assert_eq!(capability.sm(), "sm_120a");
        assert_eq!(capability.compute(), "compute_120a");
        assert_eq!(Capability::from_arch("sm_120a"), Some(capability));
        assert_eq!(Capability::from_arch("compute_75"), Some(Capability::new(7, 5)));
        assert_eq!(Capability::from_arch("sm_"), None);
    }
}

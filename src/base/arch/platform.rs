//! The platform, and the versions of what it has: CUDA and glibc.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A CUDA release or a driver's CUDA version: `13.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct CudaVersion {
    /// Number before the dot.
    pub major: u32,
    /// Number after the dot.
    pub minor: u32,
}

/// A glibc version: `2.28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct GlibcVersion {
    /// Number before the dot.
    pub major: u32,
    /// Number after the dot.
    pub minor: u32,
}

fn numbers<const N: usize>(text: &str) -> Option<[u32; N]> {
    let mut result = [0; N];
    let mut parts = text.split('.');
    for slot in &mut result {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(result)
}

macro_rules! two_numbers {
    ($name:ident, $what:literal) => {
        impl $name {
            /// From its two numbers.
            pub const fn new(major: u32, minor: u32) -> Self {
                Self { major, minor }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.major, self.minor)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let [major, minor] = numbers(text).ok_or_else(|| format!(concat!("`{}` is not a ", $what), text))?;
                Ok(Self { major, minor })
            }
        }
    };
}

two_numbers!(CudaVersion, "CUDA version of two numbers such as 13.0");
two_numbers!(GlibcVersion, "glibc version of two numbers such as 2.28");

/// A platform in conda's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Platform {
    /// Linux on x86-64.
    #[serde(rename = "linux-64")]
    Linux64,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux64 => f.write_str("linux-64"),
        }
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "linux-64" => Ok(Self::Linux64),
            _ => Err(format!("unknown platform `{text}`")),
        }
    }
}

macro_rules! as_string {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_string!(CudaVersion, GlibcVersion);

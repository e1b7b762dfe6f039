//! Where device code stands in a file.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Where device code stands in a file. The pieces of a section share the names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CodePlace {
    /// Member of a static archive; none in any other file.
    pub member: Option<Arc<str>>,
    /// Section; none where the file, or the member, is the code itself.
    pub section: Option<Arc<str>>,
}

impl CodePlace {
    /// A member of a static archive.
    pub fn of_member(name: &str) -> Self {
        Self { member: Some(name.into()), section: None }
    }

    /// A section of what this place is.
    #[must_use]
    pub fn section(&self, name: &str) -> Self {
        Self { member: self.member.clone(), section: Some(name.into()) }
    }

    /// Whether the file is the code itself.
    pub fn is_file(&self) -> bool {
        self.member.is_none() && self.section.is_none()
    }

    /// The member's name; empty in a file that is no archive.
    pub fn member(&self) -> &str {
        self.member.as_deref().unwrap_or_default()
    }

    /// Bytes of its names.
    pub(super) fn len(&self) -> usize {
        self.member().len() + self.section.as_deref().map_or(0, str::len)
    }
}

/// `object.o: .nv_fatbin`; nothing for the file itself.
impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.member, &self.section) {
            (Some(member), Some(section)) => write!(f, "{member}: {section}"),
            (Some(name), None) | (None, Some(name)) => f.write_str(name),
            (None, None) => Ok(()),
        }
    }
}

impl Serialize for CodePlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

//! What packages of all formats say of themselves.

/// What a package says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// What it depends on, as it writes it.
    pub depends: Vec<String>,
}

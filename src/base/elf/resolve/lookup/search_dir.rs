//! A directory of a search list.

/// A directory of a search list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::elf::resolve) struct SearchDir {
    /// As written.
    pub(in crate::elf::resolve) entry: String,
    /// With tokens replaced and one slash at its end; empty for the current directory.
    pub(in crate::elf::resolve) path: String,
}

/// A directory with one slash at its end.
pub(in crate::elf::resolve) fn search_dir(entry: String, directory: &str) -> SearchDir {
    let path = match directory.trim_end_matches('/') {
        "" if directory.is_empty() => String::new(),
        bare => format!("{bare}/"),
    };
    SearchDir { entry, path }
}

/// The directory of an absolute path, as text.
pub(in crate::elf::resolve) fn directory_of(path: &str) -> String {
    match path.rfind('/') {
        None | Some(0) => "/".to_owned(),
        Some(at) => path[..at].to_owned(),
    }
}

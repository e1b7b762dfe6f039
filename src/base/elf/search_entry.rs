//! Where an entry of a search path leads, by its letters alone.

/// One entry of a search path, seen from the file that carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchEntry {
    /// This directory of the prefix; empty for the prefix itself.
    Prefix(String),
    /// Relative to the file, but above the prefix.
    Outside,
    /// Absolute.
    Absolute(String),
    /// Relative to whatever the current directory is; an empty entry is that directory itself.
    Relative,
}

/// `entry` as the loader sees it for a file in `directory` below the prefix.
pub fn search_entry(entry: &str, directory: &str) -> SearchEntry {
    let rest = entry.strip_prefix("$ORIGIN").or_else(|| entry.strip_prefix("${ORIGIN}"));
    let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return if entry.starts_with('/') { SearchEntry::Absolute(entry.to_owned()) } else { SearchEntry::Relative };
    };
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return SearchEntry::Outside;
        }
    }
    SearchEntry::Prefix(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_seen_from_their_file() {
        let prefix = |path: &str| SearchEntry::Prefix(path.to_owned());
        assert_eq!(search_entry("$ORIGIN", "lib"), prefix("lib"));
        assert_eq!(search_entry("${ORIGIN}/../lib/./", "bin"), prefix("lib"));
        assert_eq!(search_entry("$ORIGIN/..", "lib"), prefix(""));
        assert_eq!(search_entry("$ORIGIN/../..", "lib"), SearchEntry::Outside);
        assert_eq!(search_entry("/usr/lib/wsl/lib", "lib"), SearchEntry::Absolute("/usr/lib/wsl/lib".to_owned()));
        assert_eq!(search_entry("lib", "lib"), SearchEntry::Relative);
        assert_eq!(search_entry("", "lib"), SearchEntry::Relative);
        assert_eq!(search_entry("$ORIGINAL/lib", "lib"), SearchEntry::Relative);
    }
}

//! Which directories may stand in a search path.

/// Directories that the loader searches after every search path (ld.so(8), and the multiarch
/// directories of Debian and Ubuntu). In a RUNPATH they would come before the libraries of the prefix
/// that the process already uses, and shadow them.
pub const DEFAULT_DIRECTORIES: [&str; 6] =
    ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// The directories in order, without empty, default and repeated ones. Entries may hold several
/// directories, joined by colons as in the file.
pub fn search_path(directories: &[String]) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    for directory in directories.iter().flat_map(|entry| entry.split(':')) {
        let directory = plain(directory);
        // An empty entry means the current directory: anybody's.
        if directory.is_empty() || DEFAULT_DIRECTORIES.contains(&directory.as_str()) || path.contains(&directory) {
            continue;
        }
        path.push(directory);
    }
    path
}

/// The search path entry that leads from a file of a prefix to a directory of the same prefix, both
/// `/`-joined below it: from `bin/volley` to `lib` it is `$ORIGIN/../lib`.
pub fn origin_to(directory: &str, file: &str) -> String {
    let from: Vec<&str> = file.rsplit_once('/').map_or(Vec::new(), |(directory, _)| directory.split('/').collect());
    let to: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let parts: Vec<&str> = std::iter::once("$ORIGIN").chain(up).chain(to[common..].iter().copied()).collect();
    parts.join("/")
}

/// Without repeated, single-dot and closing slashes: `/usr//lib/./` is `/usr/lib`.
fn plain(directory: &str) -> String {
    let parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if directory.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(directories: &[&str]) -> Vec<String> {
        search_path(&directories.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn origin_leads_to_the_libraries() {
        assert_eq!(origin_to("lib", "bin/volley"), "$ORIGIN/../lib");
        assert_eq!(origin_to("lib", "lib/libvolley.so.1"), "$ORIGIN");
        assert_eq!(origin_to("lib", "lib/volley/plugins/a.so"), "$ORIGIN/../..");
        assert_eq!(origin_to("lib", "volley"), "$ORIGIN/lib");
    }

    #[test]
    fn default_directories_and_repetitions_go() {
        assert_eq!(
            path(&["$ORIGIN", "/usr/lib64", "/usr/lib/wsl/lib", "/usr//lib/./", "$ORIGIN/", "/lib/x86_64-linux-gnu/"]),
            ["$ORIGIN", "/usr/lib/wsl/lib"]
        );
        assert_eq!(path(&["$ORIGIN/../lib:$ORIGIN", "", "/run/opengl-driver/lib"]).len(), 3);
        assert!(path(&["/lib", "/usr/lib", "."]).is_empty());
    }
}

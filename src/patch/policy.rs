//! Which directories may stand in a search path.

use crate::manifest::Drivers;

/// The directories in order, without empty and repeated ones and those that the loader searches after
/// every search path: in a RUNPATH they would come before the libraries of the prefix that the process
/// already uses, and shadow them. Entries may hold several directories, joined by colons as in the file.
pub fn search_path(directories: &[String], drivers: &Drivers) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    for directory in directories.iter().flat_map(|entry| entry.split(':')) {
        let directory = plain(directory);
        // An empty entry means the current directory: anybody's.
        if directory.is_empty() || drivers.is_loader_default(&directory) || path.contains(&directory) {
            continue;
        }
        path.push(directory);
    }
    path
}

/// Why `directory` must not be put into a search path, and what to do; nothing when it may. What the
/// loader searches anyway may be asked for: [`search_path`] leaves it out.
pub fn objection(directory: &str, drivers: &Drivers) -> Option<(String, &'static str)> {
    let object = |reason: &str, hint| Some((format!("`{directory}` {reason}"), hint));
    // What a shell makes of "$ORIGIN/../lib" and "$ORIGIN".
    if directory.is_empty() || directory.starts_with("/..") {
        return object(
            "is no directory to search",
            "single quotes keep the shell from replacing $ORIGIN: '$ORIGIN/../lib'",
        );
    }
    let plain = plain(directory);
    if drivers.is_stubs(&plain) {
        return object(
            "holds link-time stubs of the driver, which stop every program",
            "name the library's own directory, or use `--driver-profile` for the driver's",
        );
    }
    if drivers.is_compat(&plain) {
        return object(
            "holds the forward compatibility driver, for data-centre GPUs with an older driver only",
            "`--allow-path DIR` accepts it for a machine that you know",
        );
    }
    if ["$ORIGIN", "${ORIGIN}"]
        .iter()
        .any(|origin| plain.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    {
        return None;
    }
    if !plain.starts_with('/') {
        return object("depends on the current directory", "begin with '$ORIGIN', the directory of the file itself");
    }
    let known = drivers.iter().flat_map(|profile| &profile.directories).any(|known| known.path == plain);
    if known || drivers.is_loader_default(&plain) {
        return None;
    }
    object(
        "is a directory of this machine, and of no other",
        "write it relative to the file ('$ORIGIN/../lib'), or accept it with `--allow-path DIR`",
    )
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
        search_path(&directories.iter().map(ToString::to_string).collect::<Vec<_>>(), &drivers())
    }

    fn drivers() -> Drivers {
        crate::manifest::Manifests::load(&crate::data::Data::at("no such directory")).unwrap().drivers
    }

    #[test]
    fn origin_leads_to_the_libraries() {
        assert_eq!(origin_to("lib", "bin/volley"), "$ORIGIN/../lib");
        assert_eq!(origin_to("lib", "lib/libvolley.so.1"), "$ORIGIN");
        assert_eq!(origin_to("lib", "lib/volley/plugins/a.so"), "$ORIGIN/../..");
        assert_eq!(origin_to("lib", "volley"), "$ORIGIN/lib");
    }

    #[test]
    fn what_breaks_elsewhere_is_objected_to() {
        let drivers = drivers();
        for (directory, word) in [
            ("", "no directory"),
            ("/../lib", "no directory"),
            ("$ORIGIN/stubs", "stubs"),
            ("/usr/local/cuda-13.0/lib64/stubs/", "stubs"),
            ("/usr/local/cuda-13.0/compat", "forward compatibility"),
            ("lib", "current directory"),
            ("$ORIGINAL/lib", "current directory"),
            ("/home/me/build/lib", "this machine"),
        ] {
            let (reason, _) = objection(directory, &drivers).unwrap_or_else(|| panic!("{directory} passes"));
            assert!(reason.contains(word), "{reason}");
        }
        for directory in ["$ORIGIN", "${ORIGIN}/../lib", "/usr/lib/wsl/lib/", "/usr/lib64", "/run/opengl-driver/lib"] {
            assert_eq!(objection(directory, &drivers), None);
        }
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

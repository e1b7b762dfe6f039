//! A module file of Lmod for what plain archives unpack: it finds its prefix from its own place.

use super::{Companion, Package};

/// The module file of a simulator, which comes with core.
pub(super) fn module(package: &Package) -> Companion {
    let (name, version) = (&package.manifest.simulator, package.version.to_string());
    let root = name.to_uppercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let mut lines = vec![
        format!("-- {name} {version}: `module use PREFIX/share/modulefiles`, then `module load {name}/{version}`."),
        "local prefix = string.match(myFileName(), \"^(.*)/share/modulefiles/\")".to_owned(),
        format!("help({})", quoted(&package.summary)),
        format!("whatis({})", quoted(&format!("Name: {name}"))),
        format!("whatis({})", quoted(&format!("Version: {version}"))),
        format!("whatis({})", quoted(&format!("Description: {}", package.summary))),
    ];
    lines.extend(package.homepage.iter().map(|page| format!("whatis({})", quoted(&format!("URL: {page}")))));
    lines.push(format!("setenv(\"{root}_ROOT\", prefix)"));
    for (variable, below) in [("PATH", "bin"), ("MANPATH", "share/man"), ("PKG_CONFIG_PATH", "lib/pkgconfig")] {
        lines.push(format!("prepend_path(\"{variable}\", pathJoin(prefix, \"{below}\"))"));
    }
    lines.push("prepend_path(\"CMAKE_PREFIX_PATH\", prefix)".to_owned());
    let text = lines.into_iter().map(|line| line + "\n").collect::<String>();
    Companion { path: format!("share/modulefiles/{name}/{version}.lua"), bytes: text.into_bytes() }
}

/// A text as Lua reads it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\{:03}", letter as u32 % 256)),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_no_string() {
        assert_eq!(quoted("a \"b\" \\ c\nd"), r#""a \"b\" \\ c\010d""#);
    }
}

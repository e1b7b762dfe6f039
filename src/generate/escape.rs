//! Escaping: any text as a value of each target, so that the target's own reader gives the text back.
//!
//! No function here refuses a text but for characters that the target cannot hold; these are `None`.

use crate::printable;

/// Whether a YAML reader takes the text for itself without quotes.
fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || "_/".contains(letter));
    let word = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./+-".contains(letter));
    // Words that YAML 1.1 or 1.2 take for a truth value, nothing, or a number.
    let taken = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    starts && word && !taken.contains(&text.to_ascii_lowercase().as_str())
}

/// A YAML scalar: plain where that is beyond doubt, else in double quotes.
pub fn yaml(text: &str) -> Option<String> {
    if is_plain(text) {
        return Some(text.to_owned());
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\0' => return None,
            // Not printable (YAML 1.2.2, 5.1), or taken for a line break by readers of YAML 1.1.
            '\u{1}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(letter))),
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    Some(quoted)
}

/// A YAML scalar of a recipe, whose reader replaces `${{ ... }}`: the expression's own start is written by one.
pub fn yaml_recipe(text: &str) -> Option<String> {
    yaml(&text.replace("${{", "${{ '$' }}{{"))
}

/// A YAML scalar of a workflow. GitHub replaces `${{ ... }}`; its strings stand in single quotes, too.
pub fn github_text(text: &str) -> Option<String> {
    yaml_recipe(text)
}

/// A text in a line or a table of Markdown: as code where its letters are plain, else with every sign escaped.
pub fn markdown(text: &str) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-: ".contains(letter);
    if !text.is_empty() && text.trim() == text && text.chars().all(plain) {
        return Some(format!("`{text}`"));
    }
    if text.chars().any(char::is_control) {
        return None;
    }
    let escaped = |letter: char| match letter.is_ascii_punctuation() {
        true => vec!['\\', letter],
        false => vec![letter],
    };
    Some(text.chars().flat_map(escaped).collect())
}

/// One word of a shell.
pub fn shell(text: &str) -> Option<String> {
    (!text.contains('\0')).then(|| printable::word(text).into_owned())
}

/// Placeholders that are variables of `host.sh`, with `_` for `-`.
pub const FILLED: [&str; 13] = [
    "{prefix}",
    "{dependencies}",
    "{against}",
    "{jobs}",
    "{source}",
    "{work}",
    "{cxx}",
    "{nvcc}",
    "{nvcc-ccbin}",
    "{cuda-root}",
    "{cuda-architectures}",
    "{cuda-gencode}",
    "{variant}",
];

/// One word of a shell in which [`FILLED`] are its variables.
pub fn shell_filled(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut rest = text;
    loop {
        let next = FILLED.iter().filter_map(|name| Some((rest.find(name)?, *name))).min();
        let (before, name) = next.map_or((rest, ""), |(at, name)| (&rest[..at], name));
        if !before.is_empty() || name.is_empty() && word.is_empty() {
            word.push_str(&shell(before)?);
        }
        if name.is_empty() {
            return Some(word);
        }
        word.push_str(&format!("\"${}\"", name.trim_matches(['{', '}']).replace('-', "_")));
        rest = &rest[before.len() + name.len()..];
    }
}

/// A string of nix, with its quotes.
pub fn nix_string(text: &str) -> Option<String> {
    let mut quoted = String::from("\"");
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\0' => return None,
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '$' if letters.peek() == Some(&'{') => quoted.push_str("\\$"),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    Some(quoted)
}

/// A quoted argument of CMake. A semicolon stays as it is: escaped, it would keep its backslash (cmake-language(7),
/// "Escape Sequences").
pub fn cmake(text: &str) -> Option<String> {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '\0' => return None,
            '"' | '\\' | '$' | '@' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    Some(quoted)
}

/// The value of a field of a `.pc` file: one line. A `#` begins a comment and a line that ends in a backslash goes on;
/// neither can be written. `${` names a variable, and the readers do not agree on `$$`: pkg-config makes one sign of it,
/// pkgconf leaves both; so the sign stands in a variable that the file defines, `dollar`.
pub fn pkg_config(text: &str) -> Option<String> {
    let wrong = text.contains(['\n', '\r', '\0', '#', '\\']);
    (!wrong && text.trim() == text).then(|| text.replace('$', "${dollar}"))
}

/// A string of Python, in double quotes.
pub fn python(text: &str) -> Option<String> {
    Some(python_in(text, '"'))
}

fn python_in(text: &str, quote: char) -> String {
    let mut quoted = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if letter == quote => {
                quoted.push('\\');
                quoted.push(letter);
            }
            // What a reader of lines might take for the end of one, and what no reader shows.
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push(quote);
    quoted
}

/// A string of an easyconfig, which is Python in single quotes. EasyBuild replaces `%(word)s`, but for one whose signs
/// are doubled.
pub fn easyconfig(text: &str) -> Option<String> {
    Some(python_in(&without_templates(text), '\''))
}

/// One word of a shell within a string of an easyconfig, without that one's quotes: `{prefix}` is the directory of the
/// installation.
pub fn easyconfig_shell(text: &str) -> Option<String> {
    let text = shell(&without_templates(text))?.replace("{prefix}", "%(installdir)s").replace("{jobs}", "1");
    let quoted = python_in(&text, '\'');
    Some(quoted[1..quoted.len() - 1].to_owned())
}

fn without_templates(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, signs) = rest.split_at(at);
        let after = signs.trim_start_matches('%');
        let count = signs.len() - after.len();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let word = after.strip_prefix('(').map(|it| it.trim_start_matches(is_word));
        let is_template = word.is_some_and(|it| it.starts_with(")s") && !after.starts_with("()"));
        found.push_str(before);
        found.push_str(&"%".repeat(if is_template { 2 * count } else { count }));
        rest = after;
    }
    found + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_and_all_else_is_quoted() {
        assert_eq!(yaml("volley-core").unwrap(), "volley-core");
        assert_eq!(yaml("1.0.0").unwrap(), "\"1.0.0\"");
        assert_eq!(yaml("No").unwrap(), "\"No\"");
        assert_eq!(yaml("").unwrap(), "\"\"");
        assert_eq!(yaml_recipe("a ${{ b }}").unwrap(), "\"a ${{ '$' }}{{ b }}\"");
        assert_eq!(shell("it's").unwrap(), "'it'\\''s'");
        assert_eq!(shell("").unwrap(), "''");
        assert_eq!(shell_filled("-I{prefix}/include -j {jobs}").unwrap(), "-I\"$prefix\"'/include -j '\"$jobs\"");
        assert_eq!(shell_filled("").unwrap(), "''");
        assert_eq!(shell_filled("{cuda-gencode}").unwrap(), "\"$cuda_gencode\"");
        assert_eq!(nix_string("${x} $y \"").unwrap(), "\"\\${x} $y \\\"\"");
        assert_eq!(pkg_config("a ${b}").unwrap(), "a ${dollar}{b}");
        assert_eq!(cmake("a;b").unwrap(), "\"a;b\"");
        for (refuses, text) in [(yaml as fn(&str) -> Option<String>, "\0"), (nix_string, "\0"), (pkg_config, "a#b")] {
            assert_eq!(refuses(text), None);
        }
    }
}

//! Text for terminals and logs: names of others may hold control characters, which a terminal obeys, and lines that a
//! continuous integration takes for commands.

use std::borrow::Cow;

/// What a terminal shows of a text: control characters but line ends and tabs are spelled out, as are marks that turn
/// the direction of writing, and no line is a command of a workflow (`::error`, `##[error]`).
pub fn text(text: &str) -> Cow<'_, str> {
    // Most text has no byte that such a letter is made of.
    let may_be_raw = text.bytes().any(|byte| byte >= 0x7f || (byte < b' ' && !matches!(byte, b'\n' | b'\t')));
    let is_raw = may_be_raw && text.chars().any(is_escaped);
    if !is_raw && !text.contains("##[") && !text.contains("##vso[") && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        shown.push_str(&indent.chars().map(spelled).collect::<String>());
        if is_command(line) {
            shown.push('\\');
        }
        let rest = rest.replace("##[", "##\\[").replace("##vso[", "##\\vso[");
        shown.push_str(&rest.chars().map(spelled).collect::<String>());
    }
    Cow::Owned(shown)
}

/// A word as a person types it into a POSIX shell.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-=:,%@".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', "'\\''"))),
    }
}

/// JSON that was printed, with the same value, in which no reader of logs finds a command and no terminal an escape.
pub fn json(json: &str) -> Cow<'_, str> {
    let is_raw = |letter: char| letter != '\n' && is_escaped(letter);
    // Most text has no byte that such a letter is made of.
    let may_be_raw = json.bytes().any(|byte| byte >= 0x7f || (byte < b' ' && byte != b'\n'));
    if !(may_be_raw && json.contains(is_raw)) && memchr::memmem::find(json.as_bytes(), b"##").is_none() {
        return Cow::Borrowed(json);
    }
    // Outside of strings none of these occur.
    let mut shown = String::with_capacity(json.len() + 16);
    for letter in json.replace("##", "#\\u0023").chars() {
        match is_raw(letter) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

fn is_escaped(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() && !matches!(letter, '\n' | '\t') || turns
}

fn spelled(letter: char) -> String {
    if is_escaped(letter) { letter.escape_unicode().collect() } else { letter.to_string() }
}

/// Runners look for commands behind leading blanks, too.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_and_workflows_get_no_orders() {
        for plain in ["", "a b\tc\nd\n", "a::b", "std::fs", "# heading", "äöü 数"] {
            assert!(matches!(text(plain), Cow::Borrowed(same) if same == plain), "{plain}");
        }
        for (hostile, shown) in [
            ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
            ("over\rwritten", "over\\u{d}written"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("lib\n::error::x", "lib\n\\::error::x"),
            ("lib\n  ::add-mask::x\n", "lib\n  \\::add-mask::x\n"),
            ("::warning file=a::b", "\\::warning file=a::b"),
            ("x ##[error]y", "x ##\\[error]y"),
            ("##vso[task.setvariable]", "##\\vso[task.setvariable]"),
        ] {
            assert_eq!(text(hostile), shown);
        }
    }

    proptest::proptest! {
        #[test]
        fn json_keeps_its_value(name in "\\PC*|.*|(##|\\[|vso|::|\\n){0,9}") {
            let printed = serde_json::to_string_pretty(&serde_json::json!({ "name": name })).unwrap();
            let shown = json(&printed);
            assert!(!shown.contains(|letter: char| letter != '\n' && is_escaped(letter)), "{shown}");
            assert!(!shown.contains("##["), "{shown}");
            let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(value["name"], name.as_str());
        }

        #[test]
        fn no_line_is_a_command(hostile in "(::|##\\[|##vso\\[|\\n|\\r| |a|#){0,12}|.*") {
            let shown = text(&hostile);
            assert!(!shown.lines().any(is_command) && !shown.contains("##[") && !shown.contains("##vso["), "{shown}");
            assert!(!shown.contains(is_escaped), "{shown}");
        }
    }
}

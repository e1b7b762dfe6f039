//! Colours of the words that tell what a line is.

use std::borrow::Cow;

/// Words that tell at the beginning of a line what it is, each with its colour.
const LABELS: [(&str, &str); 18] = [
    ("error:", "1;31"),
    ("deny", "1;31"),
    ("broken", "1;31"),
    ("warning:", "1;33"),
    ("warn", "1;33"),
    ("problem", "1;33"),
    ("incomplete", "1;35"),
    ("unknown", "1;35"),
    ("waived", "36"),
    ("accepted", "36"),
    ("note", "36"),
    ("hint:", "1;36"),
    ("= hint:", "1;36"),
    ("tip:", "1;36"),
    ("fix:", "1;32"),
    ("next:", "1;32"),
    ("-->", "1;34"),
    ("Usage:", "1"),
];

/// The text with its labels in colour, where colours are wanted. Nothing else is coloured, and a text reads the same
/// without.
pub(super) fn painted(text: &str, coloured: bool) -> Cow<'_, str> {
    if !coloured {
        return Cow::Borrowed(text);
    }
    let paint = |line: &str| -> String {
        let rest = line.trim_start();
        let (head, rest) = line.split_at(line.len() - rest.len());
        // A word of prose may begin a line: a label without a colon stands apart from what follows.
        let is_label = |label: &str| {
            let after = rest.strip_prefix(label)?;
            (label.ends_with([':', '>']) || after.starts_with("  ")).then_some(after)
        };
        let found = LABELS.iter().find_map(|(label, code)| Some((label, code, is_label(label)?)));
        match found {
            Some((label, code, after)) => format!("{head}\x1b[{code}m{label}\x1b[0m{after}"),
            // Headings of help.
            None if head.is_empty() && rest.ends_with(':') && rest.starts_with(char::is_uppercase) => {
                format!("\x1b[1m{rest}\x1b[0m")
            }
            None => line.to_owned(),
        }
    };
    let lines: Vec<String> = text.split('\n').map(paint).collect();
    Cow::Owned(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn labels_are_coloured_and_words_are_not() {
        let text = "deny  soname  core: x\n      fix: y\nnote that\nwarning about\n  --> a:1\nOptions:\n  z:";
        assert_eq!(painted(text, false), text);
        assert_eq!(
            painted(text, true),
            "\x1b[1;31mdeny\x1b[0m  soname  core: x\n      \x1b[1;32mfix:\x1b[0m y\nnote that\nwarning about\n  \
             \x1b[1;34m-->\x1b[0m a:1\n\x1b[1mOptions:\x1b[0m\n  z:"
        );
    }
}

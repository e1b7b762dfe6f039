//! Text in lines of a width, as people read it.

use std::sync::atomic::{AtomicUsize, Ordering};

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Widest line of prose, so that a text reads the same in a log and in a window.
pub const WIDTH: usize = 100;
/// Columns that a terminal is taken to have at least.
const LEAST: usize = 40;

/// Columns of the terminal; 0 where there is none.
static COLUMNS: AtomicUsize = AtomicUsize::new(0);

/// Says how many columns the terminal has: once, before anything is said.
pub fn set_columns(columns: usize) {
    COLUMNS.store(columns.max(LEAST), Ordering::Relaxed);
}

/// Columns of the terminal, if there is one: all of them are a table's.
pub fn terminal() -> Option<usize> {
    Some(COLUMNS.load(Ordering::Relaxed)).filter(|columns| *columns > 0)
}

/// Columns that a table may fill.
pub fn columns() -> usize {
    terminal().unwrap_or(WIDTH)
}

/// Columns that a line of prose may fill.
pub fn width() -> usize {
    columns().min(WIDTH)
}

/// Lines that are too long for the terminal on several, the others below the beginning of the first. Without a terminal
/// a line stays one, for programs that read it.
pub fn fitted(text: &str) -> String {
    if terminal().is_none() {
        return text.to_owned();
    }
    let fit = |line: &str| -> Vec<String> {
        if line.chars().count() <= columns() {
            return vec![line.to_owned()];
        }
        let rest = line.trim_start();
        let head = &line[..line.len() - rest.len()];
        wrap(head, head.chars().count() + 2, rest, columns())
    };
    text.lines().flat_map(fit).collect::<Vec<_>>().join("\n")
}

/// `text` in lines of at most `width` columns: `head` begins the first, `indent` spaces the others. Lines break at
/// spaces alone, and a word longer than a line stays whole, so that paths can be copied.
pub fn wrap(head: &str, indent: usize, text: &str, width: usize) -> Vec<String> {
    if text.is_empty() {
        return vec![head.trim_end().to_owned()];
    }
    let below = " ".repeat(indent);
    let options = Options::new(width)
        .initial_indent(head)
        .subsequent_indent(&below)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let mut lines: Vec<String> = textwrap::wrap(text, options).iter().map(|line| line.trim_end().to_owned()).collect();
    // Where the first word is too long for a line, nothing stands before it.
    if head.trim().is_empty() && lines.len() > 1 && lines[0].is_empty() {
        lines.remove(0);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_words_stay_whole() {
        let lines = wrap("fix: ", 5, "remove /a/path-that/is-longer/than-a-line and try again", 20);
        assert_eq!(lines, ["fix: remove", "     /a/path-that/is-longer/than-a-line", "     and try again"]);
        assert_eq!(wrap("head", 2, "", 20), ["head"]);
        assert_eq!(
            wrap("  ", 2, "/a/path-that/is-longer/than-a-line: x", 20),
            ["  /a/path-that/is-longer/than-a-line:", "  x"]
        );
    }
}

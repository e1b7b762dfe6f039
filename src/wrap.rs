//! Text in lines of a width, as people read it.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Widest line, so that a text reads the same in a log and in a window.
pub const WIDTH: usize = 100;

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
    textwrap::wrap(text, options).iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_words_stay_whole() {
        let lines = wrap("fix: ", 5, "remove /a/path-that/is-longer/than-a-line and try again", 20);
        assert_eq!(lines, ["fix: remove", "     /a/path-that/is-longer/than-a-line", "     and try again"]);
        assert_eq!(wrap("head", 2, "", 20), ["head"]);
    }
}

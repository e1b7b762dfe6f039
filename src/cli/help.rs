//! What stands below the options of a verb: prose that is wrapped once, to the width of the terminal, and examples, which
//! keep their lines. In man pages both become sections.

use clap::Command;
use clap::builder::Resettable;

use crate::wrap::{width, wrap};

/// A part of the text below the options.
enum Block<'a> {
    /// A paragraph, with its lines joined.
    Prose(String),
    /// A line that names what follows it: `Examples:`.
    Heading(&'a str),
    /// Lines that stay lines: commands, each with what it is for, and lists.
    Rows(Vec<&'a str>),
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            goes_on = false;
            continue;
        }
        let is_heading = line.ends_with(':') && line.split(' ').count() <= 2;
        match (line.starts_with(' '), blocks.last_mut()) {
            (true, Some(Block::Rows(rows))) => rows.push(line),
            (true, _) => blocks.push(Block::Rows(vec![line])),
            (false, Some(Block::Prose(prose))) if goes_on && !is_heading => {
                prose.push(' ');
                prose.push_str(line);
            }
            (false, _) if is_heading => blocks.push(Block::Heading(line)),
            (false, _) => blocks.push(Block::Prose(line.to_owned())),
        }
        goes_on = true;
    }
    blocks
}

/// The verbs with their texts as wide as the terminal.
pub(super) fn laid_out(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(in_lines(&text)),
        None => command,
    };
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, laid_out))
}

fn in_lines(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut heading = None;
    for block in blocks(text) {
        let lines = match block {
            Block::Heading(line) => {
                heading = Some(line);
                continue;
            }
            Block::Prose(prose) => wrap("", 0, &prose, width()),
            Block::Rows(rows) => rows.into_iter().flat_map(row).collect(),
        };
        parts.push(heading.take().into_iter().map(str::to_owned).chain(lines).collect::<Vec<_>>().join("\n"));
    }
    parts.join("\n\n")
}

/// A command, and what it is for beside it; below it where the terminal is too narrow.
fn row(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].rfind("   ").map(|at| indent + at + 3);
    match gap.map(|at| line.split_at(at)) {
        Some((command, about)) if line.chars().count() > width() => {
            let below = " ".repeat(indent + 4);
            let mut lines = vec![command.trim_end().to_owned()];
            lines.extend(wrap(&below, below.len(), about.trim_start(), width()));
            lines
        }
        _ => vec![line.to_owned()],
    }
}

/// The man page of a verb.
pub(super) fn man(verb: Command, title: &str) -> std::io::Result<Vec<u8>> {
    let text = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    let verb = verb.after_help(Resettable::Reset);
    let mut page = Vec::new();
    clap_mangen::Man::new(verb).title(title).render(&mut page)?;
    let mut more = String::new();
    let mut has_notes = false;
    for block in blocks(&text) {
        match block {
            Block::Heading(line) => more.push_str(&format!(".SH {}\n", line.trim_end_matches(':').to_uppercase())),
            Block::Prose(prose) => {
                let macro_line = if has_notes { ".PP\n" } else { ".SH NOTES\n" };
                has_notes = true;
                more.push_str(&format!("{macro_line}{}\n", escaped(&prose)));
            }
            Block::Rows(rows) => {
                let rows: Vec<String> = rows.into_iter().map(escaped).collect();
                more.push_str(&format!(".nf\n{}\n.fi\n", rows.join("\n")));
            }
        }
    }
    page.extend_from_slice(more.as_bytes());
    Ok(page)
}

/// A line that roff prints as it is: no request at its beginning, no escape in it.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "One line of prose\nand another.\nExit codes: 0 done,\n8 stale\n\nExamples:\n  simpack x   does x\n  y \\z";

    #[test]
    fn prose_is_joined_and_examples_stay() {
        let expected =
            "One line of prose and another. Exit codes: 0 done, 8 stale\n\nExamples:\n  simpack x   does x\n  y \\z";
        assert_eq!(in_lines(TEXT), expected);
    }

    #[test]
    fn a_man_page_keeps_examples_as_lines() {
        let page = man(Command::new("x").after_help(TEXT), "simpack-x").unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(".SH NOTES\nOne line of prose and another. Exit codes: 0 done, 8 stale\n"), "{page}");
        assert!(page.ends_with(".SH EXAMPLES\n.nf\n  simpack x   does x\n  y \\ez\n.fi\n"), "{page}");
    }
}

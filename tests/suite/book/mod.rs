//! The book below `docs/`: its reference is what the program says, its links lead somewhere, its commands exist.

mod keys;
mod links;
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use self::links::{Page, read};
use crate::support::files;

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

fn text(below: &str) -> String {
    fs_err::read_to_string(checkout(below)).unwrap()
}

/// `INSTA_UPDATE=always` writes them, as it does snapshots.
#[test]
fn reference_pages_are_what_the_program_says() {
    let update = std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always");
    for (path, text) in reference::pages() {
        let path = checkout("docs/src").join(path);
        if update {
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, &text).unwrap();
        }
        let written = fs_err::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{} is not current: run this test with INSTA_UPDATE=always", path.display());
    }
}

/// Pages by their path in the repository.
fn pages() -> BTreeMap<String, Page> {
    let book = files(&checkout("docs/src")).into_iter().filter(|file| file.ends_with(".md"));
    let book = book.map(|file| format!("docs/src/{file}"));
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(str::to_owned);
    book.chain(others).map(|path| (path.clone(), read(&text(&path)))).collect()
}

/// `docs/src/howto/../x.md` as `docs/src/x.md`; none for what leads out of the repository.
fn joined(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// mdBook warns of pages that the summary does not list, and renders links to other files of the repository as they are.
#[test]
fn the_summary_lists_every_page_once_and_figures_are_shown() {
    let pages = pages();
    let listed: Vec<String> =
        pages["docs/src/SUMMARY.md"].links.iter().map(|link| format!("docs/src/{link}")).collect();
    let unique: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let there: BTreeSet<&str> = pages.keys().map(String::as_str).filter(|page| page.starts_with("docs/")).collect();
    let there: BTreeSet<&str> = there.into_iter().filter(|page| *page != "docs/src/SUMMARY.md").collect();
    assert_eq!(there, unique);
    let shown = |figure: &str| pages.values().any(|page| page.links.iter().any(|link| link.ends_with(figure)));
    for figure in files(&checkout("docs/src")).into_iter().filter(|file| !file.ends_with(".md")) {
        assert!(shown(figure.rsplit('/').next().unwrap()), "{figure} is on no page");
        let drawing = text(&format!("docs/src/{figure}"));
        let titled = drawing.starts_with("<svg") && drawing.contains("<title>") && drawing.ends_with("</svg>\n");
        assert!(titled, "{figure} is not a drawing with a title");
    }
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut count = 0;
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains("://")) {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { Some(path.clone()) } else { joined(path, file) };
            let leaves = path.starts_with("docs/") && to.as_ref().is_some_and(|to| !to.starts_with("docs/src/"));
            let found = to.filter(|to| !leaves && checkout(to).exists());
            let has = |to: &String| {
                anchor.is_empty() || pages.get(to).is_some_and(|page| page.anchors.iter().any(|own| own == anchor))
            };
            if !found.as_ref().is_some_and(has) {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(count > 100, "only {count} links were found");
}

/// Words of a command line, as far as the shell does not take over; empty for one that does not start simpack.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), None, false);
    for letter in line.chars().chain([' ']) {
        match (letter, quoted) {
            ('\'' | '"', None) => (quoted, begun) = (Some(letter), true),
            (_, Some(quote)) if letter == quote => quoted = None,
            (' ', None) => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            ('|' | '>' | '&' | '#' | ';' | '<', None) => break,
            _ => word.push(letter),
        }
    }
    let variables = words.iter().take_while(|word| word.contains('=') && !word.starts_with('-')).count();
    words.drain(..variables);
    if words.first().is_some_and(|word| word == "simpack") { words } else { Vec::new() }
}

/// Every command that a page shows is one that the program takes.
#[test]
fn every_command_of_the_documents_exists() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, page) in pages() {
        if path.contains("reference/verbs") {
            continue;
        }
        let prompt = |line: &str| line.strip_prefix("$ ").map(str::to_owned);
        let typed = page.blocks.iter().flat_map(|(language, block)| match language.as_str() {
            "console" => block.lines().filter_map(prompt).collect::<Vec<_>>(),
            "sh" | "yaml" | "" => block
                .lines()
                .map(|line| line.trim_start_matches([' ', '-']).trim_start_matches("run: ").to_owned())
                .collect(),
            _ => Vec::new(),
        });
        let typed = typed.map(|line| (line, false));
        // In a sentence values may be left out or stand for others: `simpack build RECIPE`.
        let mentioned = page.words.iter().map(|word| (word.clone(), true));
        for (line, in_sentence) in typed.chain(mentioned) {
            let words = words(&line);
            let stands_for_another = |word: &String| word.starts_with(|letter: char| letter.is_uppercase());
            if words.len() < 2 || words.iter().take(3).any(stands_for_another) {
                continue;
            }
            count += 1;
            let Err(error) = simpack::cli::command().try_get_matches_from(&words) else { continue };
            let is_fine = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
                ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::InvalidValue
                | ErrorKind::TooFewValues
                | ErrorKind::WrongNumberOfValues
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                | ErrorKind::ValueValidation => in_sentence,
                _ => false,
            };
            if !is_fine {
                wrong.push(format!("{path}: {line}\n{error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

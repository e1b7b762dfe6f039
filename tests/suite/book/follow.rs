//! Tutorials and the README's session, followed word for word: what they tell people to write is written, what they tell them
//! to type is typed, and what they show is what comes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{CacheView, Ran, need, program, scratch, set_up, simpack_with};

/// One thing that a page asks for.
enum Act {
    /// Write a file.
    Write(String, String),
    /// Type a line, and see these.
    Type(String, Vec<String>),
}

/// What a page asks for: files are blocks below `<!-- file: PATH -->`, commands are lines of `console` blocks.
fn acts(page: &str) -> Vec<Act> {
    let mut found = Vec::new();
    let mut file = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->")) {
            file = Some(path.to_owned());
        }
        let Some(language) = line.strip_prefix("```").filter(|language| !language.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(path) = file.take() {
            found.push(Act::Write(path, block.join("\n") + "\n"));
        } else if language == "console" {
            for line in block {
                match (line.strip_prefix("$ "), found.last_mut()) {
                    (Some(command), _) => found.push(Act::Type(command.to_owned(), Vec::new())),
                    (None, Some(Act::Type(_, shown))) if line != "..." => shown.push(line.to_owned()),
                    _ => {}
                }
            }
        }
    }
    found
}

/// A line without what differs between runs: words that hold a digit, and the widths of columns.
fn likeness(line: &str) -> String {
    let word = |word: &str| {
        if word.contains(|letter: char| letter.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Follows a page from its beginning to the first command that `is_other_program` is true of; answers how many commands
/// were typed.
fn follow(page: &str, is_other_program: impl Fn(&str) -> bool) -> usize {
    let text = fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let (dir, view) = (scratch(), CacheView::new(&["zig"]));
    let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut typed = 0;
    for act in acts(&text) {
        match act {
            Act::Write(path, text) => {
                let path = dir.path().join(path);
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
                fs_err::write(path, text).unwrap();
            }
            Act::Type(line, _) if is_other_program(&line) => break,
            Act::Type(line, shown) => {
                let mut shell: Command = simpack_with(Path::new("/bin/bash"), dir.path(), &["-euc", &line]);
                let ran = Ran::of(shell.env("PATH", &path).env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
                let output = format!("{}\n{}", ran.stdout, ran.stderr);
                let likenesses: BTreeSet<String> = output.lines().map(likeness).collect();
                let untrue: Vec<_> = shown.iter().filter(|line| !likenesses.contains(&likeness(line))).collect();
                assert!(untrue.is_empty(), "{page}: `{line}` does not print\n{untrue:#?}\nbut\n{output}");
                typed += 1;
            }
        }
    }
    typed
}

#[test]
fn the_tutorial_of_loose_kernels_is_true() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    assert_eq!(follow("docs/src/tutorial/cubins.md", |_| false), 9);
}

#[test]
fn the_tutorial_of_slices_is_true() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    assert_eq!(follow("docs/src/tutorial/slices.md", |_| false), 5);
}

#[test]
fn the_session_of_the_readme_is_true() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    assert_eq!(follow("README.md", |line| line.starts_with("conda")), 3);
}

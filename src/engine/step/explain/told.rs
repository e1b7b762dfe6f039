//! What of a failed program's output is shown: why it failed, wherever in its output that stands. The whole output is in
//! the log.

use crate::error::Error;
use crate::process::Outcome;

/// Lines of a failed step's output that go into the error.
const TOLD_LINES: usize = 20;
/// Lines before the first error that go along.
const LEADING_LINES: usize = 6;
/// Lines that follow an error and belong to it: the source line, the place in it, a note.
const FOLLOWING_LINES: usize = 4;
/// Characters of a line that are shown: linkers and build systems print commands with every file in them.
const LONGEST: usize = 600;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Why something failed.
    Why,
    /// That something failed: a build system about a command, a compiler about its linker. Why stands elsewhere.
    That,
    /// Neither.
    Nothing,
}

/// What stands in lines by which compilers, linkers, build systems and scripts say why they fail.
const WHY: [&str; 26] = [
    "error:",
    "error #",
    "[fatal]",
    "fatal:",
    "cmake error",
    "undefined reference",
    "undefined symbol",
    "unresolved external symbol",
    "unresolved extern",
    "multiple definition of",
    "duplicate symbol",
    "relocation truncated",
    "can not be used when making",
    "cannot find -l",
    "file not recognized",
    "no space left",
    "nvcc fatal",
    "nvlink error",
    "nvlink fatal",
    "ptxas fatal",
    "*** ",
    ": not found",
    "command not found",
    "permission denied",
    "traceback (most recent call last)",
    "killed",
];

/// The same of lines that only say that something failed.
const THAT: [&str; 5] = [
    "ld returned",
    "linker command failed",
    "subcommand failed",
    "errors generated",
    "configuring incomplete, errors occurred",
];

/// What make says of itself when something failed.
const OF_MAKE: [&str; 2] = ["*** deleting", "*** waiting for unfinished jobs"];

fn says(line: &str) -> Says {
    let lower = line.to_lowercase();
    if is_warning(&lower) || OF_MAKE.iter().any(|words| lower.contains(words)) {
        return Says::Nothing;
    }
    // make: *** [Makefile:3: a.o] Error 1
    let is_of_make = lower.contains("*** [") && lower.contains("] error ");
    if is_of_make || line.starts_with(FAILED) || THAT.iter().any(|words| lower.contains(words)) {
        return Says::That;
    }
    match WHY.iter().any(|words| lower.contains(words)) {
        true => Says::Why,
        false => Says::Nothing,
    }
}

/// How ninja begins the line before what a failed command printed.
const FAILED: &str = "FAILED: ";

fn is_warning(lower: &str) -> bool {
    lower.contains("warning:") || lower.contains("cmake warning")
}

/// Whether a line leads to the error that follows: where it is included from, what it is instantiated for.
fn leads_to_error(line: &str) -> bool {
    let words = [
        "included from",
        "required from",
        "required by",
        "in instantiation of",
        "in function",
        "in member function",
        "in file",
    ];
    let lower = line.to_lowercase();
    words.iter().any(|words| lower.contains(words)) || lower.trim_start().starts_with("from ")
}

/// A note of a compiler, of which there may be a thousand.
fn is_note(line: &str) -> bool {
    line.contains(": note: ") || line.trim_start().starts_with("note:")
}

/// Adds what a program printed: from the first line on that says why, with those that lead to it; of many errors the first
/// whole and the others by their first lines. Without any such line what stands before the first that says that something
/// failed, and without that the ends of both streams.
pub(crate) fn told(error: Error, outcome: &Outcome) -> Error {
    let (err, out) = (outcome.stderr_text(), outcome.stdout_text());
    let streams: [Vec<&str>; 2] =
        [&err, &out].map(|text| text.lines().filter(|line| !line.trim().is_empty()).collect());
    let all: usize = streams.iter().map(Vec::len).sum();
    let has = |what: Says| streams.iter().filter(move |lines| lines.iter().any(|line| says(line) == what));
    let shown: Vec<&str> = if let Some(first) = has(Says::Why).next() {
        let others = has(Says::Why).skip(1).flat_map(|lines| whys(lines));
        let shown = of_errors(first);
        let room = TOLD_LINES.saturating_sub(shown.len());
        shown.into_iter().chain(others.take(room)).collect()
    } else if let Some(lines) = has(Says::That).next() {
        before_first(lines)
    } else {
        ends(&streams)
    };
    let more = all - shown.len().min(all);
    let error = shown.into_iter().fold(error, |error, line| error.detail(cut(line)));
    match more {
        0 => error,
        more => error.detail(format!("({more} more lines)")),
    }
}

fn whys<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    lines.iter().copied().filter(|line| says(line) == Says::Why).collect()
}

/// The errors of a stream that has some.
fn of_errors<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    // CMake's warnings have texts of several lines, in which any word may stand.
    let of_cmake = lines.iter().position(|line| line.starts_with("CMake Error"));
    let first = of_cmake.or_else(|| lines.iter().position(|line| says(line) == Says::Why)).unwrap_or_default();
    let is_short = first <= LEADING_LINES && !lines[..first].iter().any(|line| line.contains("arning"));
    let leading = lines[..first].iter().rev().take_while(|line| leads_to_error(line)).count();
    let begin = if is_short { 0 } else { first - leading.min(LEADING_LINES) };
    let rest = &lines[begin..];
    if rest.len() <= TOLD_LINES {
        return rest.to_vec();
    }
    let mut shown: Vec<&str> = lines[begin..first].to_vec();
    let (mut follows, mut seen) = (0, first);
    for (index, line) in lines.iter().enumerate().skip(first) {
        if shown.len() >= TOLD_LINES {
            break;
        }
        if says(line) == Says::Why {
            let leading = lines[seen..index].iter().rev().take_while(|line| leads_to_error(line)).count();
            shown.extend(&lines[index - leading.min(LEADING_LINES)..=index]);
            (follows, seen) = (0, index + 1);
        } else if follows < FOLLOWING_LINES && is_of_error(line) && is_near(lines, index) {
            shown.push(line);
            (follows, seen) = (follows + 1, index + 1);
        }
    }
    shown.truncate(TOLD_LINES);
    shown
}

/// Whether a line behind an error may belong to it.
fn is_of_error(line: &str) -> bool {
    !is_note(line) && !leads_to_error(line) && !is_warning(&line.to_lowercase())
}

/// Whether the line belongs to the error above it: between them stand no notes.
fn is_near(lines: &[&str], index: usize) -> bool {
    let above = lines[..index].iter().rev().take(FOLLOWING_LINES);
    let mut above = above.take_while(|line| !is_note(line));
    above.any(|line| says(line) == Says::Why)
}

/// What stands before the first line that says that something failed, and that line; of ninja, which says so first, what
/// follows.
fn before_first<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let first = lines.iter().position(|line| says(line) == Says::That).unwrap_or_default();
    if lines[first].starts_with(FAILED) {
        return lines[first..].iter().take(TOLD_LINES).copied().collect();
    }
    lines[(first + 1).saturating_sub(TOLD_LINES)..=first].to_vec()
}

/// The ends of both streams, where each has room for half.
fn ends<'t>(streams: &[Vec<&'t str>; 2]) -> Vec<&'t str> {
    let [err, out] = streams;
    let of_out = out.len().min(TOLD_LINES.saturating_sub(err.len()).max(TOLD_LINES / 2));
    let of_err = err.len().min(TOLD_LINES - of_out);
    [&err[err.len() - of_err..], &out[out.len() - of_out..]].concat()
}

/// A line, without the middle of a very long one.
fn cut(line: &str) -> String {
    let count = line.chars().count();
    if count <= LONGEST {
        return line.to_owned();
    }
    let half = LONGEST / 2;
    let (head, tail) = (line.chars().take(half), line.chars().skip(count - half));
    head.chain(" [...] ".chars()).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::*;

    fn shown(stderr: &str, stdout: &str) -> Vec<String> {
        let status = ExitStatus::from_raw(1 << 8);
        let (stderr, stdout) = (stderr.as_bytes().to_vec(), stdout.as_bytes().to_vec());
        let error = told(Error::build("it failed"), &Outcome { status, stdout, stderr, time: Duration::ZERO });
        error.details().iter().map(ToString::to_string).collect()
    }

    fn many(line: &str, count: usize) -> String {
        (0..count).map(|number| format!("{line} {number}\n")).collect()
    }

    #[track_caller]
    fn holds(shown: &[String], words: &[&str]) {
        for words in words {
            assert!(shown.iter().any(|line| line.contains(words)), "{words}: {shown:#?}");
        }
        assert!(shown.len() <= TOLD_LINES + 1, "{shown:#?}");
    }

    #[test]
    fn configuring_fails_after_many_warnings() {
        let warnings =
            "CMake Warning at CMakeLists.txt:3 (message):\n  no error: none of HDF5's is used\n\n".repeat(20);
        let error = "CMake Error at CMakeLists.txt:9 (message):\n  MPI is needed\n\n\n-- Configuring incomplete, errors occurred!\n";
        let shown = shown(&format!("{warnings}{error}"), &many("-- Looking for x - not found", 50));
        assert_eq!(shown[..2], ["CMake Error at CMakeLists.txt:9 (message):", "  MPI is needed"], "{shown:#?}");
    }

    #[test]
    fn a_job_of_ninja_fails_long_before_the_others_end() {
        let failed = "[3/200] Building CXX object a.o\nFAILED: a.o \n/usr/bin/c++ -O3 -c a.cc\na.cc: In function 'int f()':\na.cc:3:5: error: 'x' was not declared\n    3 |     x();\n      |     ^\n";
        let out = format!(
            "{}{failed}{}ninja: build stopped: subcommand failed.\n",
            many("[2/200] Building", 40),
            many("[4/200] Building b.o: warning: w", 80)
        );
        let seen = shown("", &out);
        assert_eq!(
            seen[..3],
            ["a.cc: In function 'int f()':", "a.cc:3:5: error: 'x' was not declared", "    3 |     x();"]
        );
        // A command of the project that says what is wrong in words of its own.
        let out = format!(
            "{}FAILED: gen.cc \n/usr/bin/gen a.mod\na.mod: line 7 is no NMODL\n{}ninja: build stopped: subcommand failed.\n",
            many("[2/9] Building", 30),
            many("[4/9] Building", 30)
        );
        holds(&shown("", &out), &["FAILED: gen.cc", "line 7 is no NMODL"]);
    }

    #[test]
    fn what_the_linker_misses_and_not_only_that_it_failed() {
        let commands = many("g++ -c x.cc", 30);
        let ld = "/usr/bin/ld: a.o: in function `f':\na.cc:(.text+0x5): undefined reference to `g'\ncollect2: error: ld returned 1 exit status\nmake: *** [Makefile:3: libsim.so] Error 1\n";
        holds(&shown(ld, &commands), &["undefined reference to `g'"]);
        let ld = format!(
            "{}/usr/bin/ld: a.o: relocation R_X86_64_32 against `.rodata' can not be used when making a shared object; recompile with -fPIC\ncollect2: error: ld returned 1 exit status\n",
            many("x.cc:1: warning: w", 40)
        );
        let seen = shown(&ld, "");
        assert!(seen[0].contains("R_X86_64_32"), "{seen:#?}");
        // Words that nobody here knows, before the line that says that it failed.
        let odd = format!(
            "{}/usr/bin/ld: final link is odd\ncollect2: error: ld returned 1 exit status\n",
            many("/usr/bin/ld: hm", 30)
        );
        holds(&shown(&odd, ""), &["final link is odd", "ld returned 1"]);
    }

    #[test]
    fn with_make_k_and_in_parallel_the_first_errors_are_shown() {
        let errors: String = (1..=30)
            .map(|number| format!("f{number}.c:1:9: error: expected ';'\n    1 | int a\n      |      ^\n{}make: *** [Makefile:2: f{number}.o] Error 1\n", many("x.c:1: warning: w", 5)))
            .collect();
        let shown = shown(&format!("{errors}make: Target 'all' not remade because of errors.\n"), &many("cc -c", 100));
        holds(&shown, &["f1.c:1:9: error", "    1 | int a", "f2.c:1:9: error", "more lines)"]);
        assert!(shown.iter().filter(|line| line.contains(": error: ")).count() >= 4, "{shown:#?}");
    }

    #[test]
    fn a_template_with_a_thousand_notes_shows_where_it_is_used_and_the_next_error() {
        let notes: String = (0..1000)
            .map(|number| format!("t.h:{number}:1: note: candidate: 'f<{number}>'\n  {number} | f();\n      | ^\n"))
            .collect();
        let text = format!(
            "{}In file included from a.cc:1:\nt.h: In instantiation of 'void h() [with T = X]':\na.cc:7:4:   required from here\nt.h:5:3: error: no matching function for call to 'f(X)'\n    5 |   f(x);\n      |   ^\n{notes}a.cc:9:1: error: expected '}}'\n    9 | end\n",
            many("b.h:1: warning: w", 20)
        );
        let shown = shown(&text, "");
        assert!(
            shown[0].contains("In file included") && shown[2].contains("a.cc:7:4:   required from here"),
            "{shown:#?}"
        );
        holds(&shown, &["no matching function", "    5 |   f(x);", "a.cc:9:1: error: expected", "more lines)"]);
    }

    #[test]
    fn errors_of_scripts_are_seen_on_both_streams() {
        // Why stands on one, that on the other.
        let out = format!("{}mesh.cc:2:1: error: no mesh\n{}", many("step", 50), many("done", 50));
        let seen = shown("make: *** [Makefile:9: all] Error 2\n", &out);
        holds(&seen, &["mesh.cc:2:1: error: no mesh"]);
        // No word that is known, on either.
        let seen = shown(
            &format!("{}the licence server said no\n", many("trace", 40)),
            &format!("{}giving up on mesh 7\n", many("step", 40)),
        );
        holds(&seen, &["the licence server said no", "giving up on mesh 7"]);
        let seen = shown("only this\n", &many("step", 100));
        holds(&seen, &["only this", "step 99"]);
        assert_eq!(seen.len(), TOLD_LINES + 1);
        holds(&shown("sh: 3: nvc++: command not found\n", &many("step", 100)), &["command not found"]);
        assert_eq!(shown("", ""), [""; 0]);
    }

    #[test]
    fn long_lines_lose_their_middle() {
        let seen = shown(&format!("error: {} the end", "x".repeat(5000)), "");
        assert!(seen[0].len() < 700 && seen[0].ends_with("the end") && seen[0].contains("[...]"));
    }
}

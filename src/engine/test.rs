//! Runs the tests of a recipe on a staged prefix, isolated as steps are.

use std::path::Path;
use std::time::Duration;

use super::step::sandbox::isolation::{SandboxMode, StepIsolation};
use crate::error::{Error, ErrorKind, Result};
use crate::fs;
use crate::process::{Call, Ended, interrupted};
use crate::recipe::{PLACES, Test, TestOutcome, TestVerdict};
use crate::ui::Ui;

/// Lines of a test's output that are told where it does not pass.
const TOLD: usize = 20;
/// Most bytes of one of these lines.
const LONGEST: usize = 500;
/// Where programs of the machine are looked for.
const PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Where tests run.
pub struct TestPlaces<'a> {
    /// The packages, as they are installed together. Tests only read it.
    pub prefix: &'a Path,
    /// The source tree. Tests only read it.
    pub source: &'a Path,
    /// A directory in which each test is given one of its own.
    pub work: &'a Path,
}

/// Runs tests one after the other. What they find is the answer.
///
/// # Errors
/// Isolation is required and there is none; or the run was interrupted.
pub fn run_tests(tests: &[Test], places: &TestPlaces<'_>, mode: SandboxMode, ui: &Ui) -> Result<Vec<TestOutcome>> {
    let _group = ui.group("tests");
    let real = |path: &Path| fs_err::canonicalize(path);
    let (prefix, source, work) = (real(places.prefix)?, real(places.source)?, real(places.work)?);
    let isolation = StepIsolation::with_programs(mode, Vec::new(), &source, &work)?;
    let mut found = Vec::new();
    for test in tests {
        let own = work.join(&test.name);
        fs_err::create_dir_all(own.join("run"))?;
        let outcome = run(test, &TestPlaces { prefix: &prefix, source: &source, work: &own }, &isolation)?;
        let how = match outcome.verdict {
            TestVerdict::Passed => "passed".to_owned(),
            TestVerdict::Failed | TestVerdict::NotRun => outcome.why.clone(),
        };
        ui.note(format!("  test       {}: {how} ({:.1} s)", test.name, outcome.millis as f64 / 1000.0));
        found.push(outcome);
    }
    Ok(found)
}

fn run(test: &Test, places: &TestPlaces<'_>, isolation: &StepIsolation) -> Result<TestOutcome> {
    let ended =
        |verdict, why: String| TestOutcome { name: test.name.clone(), verdict, why, printed: Vec::new(), millis: 0 };
    let run = places.work.join("run");
    let values = [fs::utf8(places.prefix)?, fs::utf8(places.source)?, fs::utf8(&run)?];
    let filled = |text: &String| {
        let words = PLACES.iter().zip(values);
        words.fold(text.clone(), |text, (word, value)| text.replace(&format!("{{{word}}}"), value))
    };
    let Some((first, arguments)) = test.command.split_first() else {
        return Err(Error::bug("a test without a command"));
    };
    let program = match first.contains('/') {
        true => Some(places.prefix.join(first)),
        false => PATH.iter().map(|dir| Path::new(dir).join(first)).find(|program| program.is_file()),
    };
    let Some(program) = program else {
        return Ok(ended(TestVerdict::NotRun, format!("this machine has no {first} in {}", PATH.join(", "))));
    };
    let home = places.work.join("home");
    fs_err::create_dir_all(&home)?;
    let mut call = Call::new(program).args(arguments.iter().map(filled)).dir(&run);
    call = call.env("PATH", PATH.join(":")).env("HOME", fs::utf8(&home)?).env("TZ", "UTC");
    for (name, value) in &test.env {
        call = call.env(name, filled(value));
    }
    let sandbox = isolation.sandbox(places.work, [places.prefix.to_owned(), places.source.to_owned()], [])?;
    // Without a sandbox there is no other /tmp.
    let temporary = sandbox.as_ref().map_or_else(|| home.clone(), |sandbox| sandbox.temporary.clone());
    let call = call.env("TMPDIR", fs::utf8(&temporary)?).within(sandbox);
    let watched = call.run_watched(Some(Duration::from_secs(test.limit.into())))?;
    if let Some(signal) = interrupted() {
        return Err(Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}")));
    }
    let printed = watched.outcome.all_text();
    let silent = test.prints.iter().find(|text| !printed.contains(text.as_str()));
    let (verdict, why) = match (watched.ended, silent) {
        (Ended::Itself, _) if !watched.outcome.status.success() => (TestVerdict::Failed, watched.outcome.how()),
        (Ended::Itself, Some(text)) => (TestVerdict::Failed, format!("it does not print \"{text}\"")),
        (Ended::Itself, None) => (TestVerdict::Passed, String::new()),
        _ => (TestVerdict::Failed, format!("it did not end within {} s", test.limit)),
    };
    let complaints = watched.outcome.stderr_text();
    let told = if complaints.trim().is_empty() { &printed } else { &complaints };
    let lines: Vec<&str> = told.lines().filter(|line| !line.trim().is_empty()).collect();
    let told = if verdict == TestVerdict::Passed { &[] } else { &lines[lines.len().saturating_sub(TOLD)..] };
    Ok(TestOutcome {
        printed: told.iter().map(|line| line.chars().take(LONGEST).collect()).collect(),
        millis: u64::try_from(watched.outcome.time.as_millis()).unwrap_or(u64::MAX),
        ..ended(verdict, why)
    })
}

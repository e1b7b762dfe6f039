//! The one place that writes to the terminal.

mod colour;
mod json;
mod running;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde::Serialize;

use self::colour::painted;
pub use self::running::RunningSteps;
use crate::amount::in_words;
use crate::config::Config;
use crate::data::DataOrigin;
use crate::error::Error;
use crate::printable;
use crate::wrap::{fitted, set_columns};

/// How to speak to the user. Cheap to clone; clones share the progress lines.
#[derive(Clone)]
pub struct Ui {
    quiet: bool,
    json: bool,
    bars: MultiProgress,
    interactive: bool,
    results: bool,
    verbose: bool,
    coloured: bool,
    coloured_results: bool,
    groups: Option<&'static str>,
    data: Option<DataOrigin>,
    lost: Arc<OnceLock<io::Error>>,
}

/// A result that was made with manifests and templates of the user's own, which it names.
#[derive(Serialize)]
struct WithData<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    data: &'a DataOrigin,
}

/// A fold of the log that is open until this value goes away.
#[must_use = "the group ends when this value goes away"]
pub struct Group<'a> {
    ui: &'a Ui,
    end: Option<End>,
}

/// How a fold ends.
enum End {
    Github,
    Gitlab(String),
}

/// `412 kB`, `1.3 MB`: decimal units, as package managers print them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..999_500 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// An estimate of the time that a transfer still takes, once there is enough to go by: a rate that falls to nothing
/// makes it grow without end.
fn time_left(elapsed: Duration, left: Duration) -> Option<String> {
    let is_believable = elapsed >= Duration::from_secs(2) && left <= elapsed.saturating_mul(30);
    (is_believable && left >= Duration::from_secs(1)).then(|| format!("about {} left", in_words(left)))
}

/// Finds out how many columns the terminal has that this process speaks to, if it does: once, before anything is said.
pub fn measure_terminal() {
    let columns = [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().find_map(|stream| {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the call writes a `winsize`, and this is one.
        let answer = unsafe { libc::ioctl(stream, libc::TIOCGWINSZ, &raw mut size) };
        (answer == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
    });
    if let Some(columns) = columns {
        set_columns(columns);
    }
}

/// Seconds since 1970, for GitLab's sections.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        match &self.end {
            Some(End::Github) => self.ui.err("::endgroup::"),
            Some(End::Gitlab(id)) => self.ui.err(&format!("\x1b[0Ksection_end:{}:{id}\r\x1b[0K", now())),
            None => {}
        }
    }
}

impl Ui {
    /// `json` keeps standard output for one JSON value; `quiet` drops notes and progress.
    pub fn new(json: bool, quiet: bool) -> Self {
        let interactive = !quiet && std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        if !interactive {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self {
            quiet,
            json,
            bars,
            interactive,
            results: true,
            verbose: false,
            coloured: false,
            coloured_results: false,
            groups: None,
            data: None,
            lost: Arc::default(),
        }
    }

    /// The same with the user's settings: `progress`, colours and log groups; `verbose` adds notes.
    #[must_use]
    pub fn with_settings(mut self, config: &Config, verbose: bool) -> Self {
        if config.text("progress") == Some("never") {
            self.bars.set_draw_target(ProgressDrawTarget::hidden());
            self.interactive = false;
        }
        self.verbose = verbose && !self.quiet;
        self.coloured = config.is_coloured(std::io::stderr().is_terminal());
        self.coloured_results = config.is_coloured(std::io::stdout().is_terminal());
        self.groups = config.log_groups().filter(|_| !self.quiet);
        self
    }

    /// The same with the user's own manifests and templates, if there are any: a warning says so, and every JSON object.
    #[must_use]
    pub fn with_data(mut self, data: Option<DataOrigin>) -> Self {
        if let Some(data) = &data {
            self.warning(format!("manifests and templates are those of {data}"));
        }
        self.data = data;
        self
    }

    /// The user's own manifests and templates, which every report names.
    pub fn data(&self) -> Option<&DataOrigin> {
        self.data.as_ref()
    }

    /// The same way to speak, for work inside other work: notes and progress, but no results.
    #[must_use]
    pub fn without_results(&self) -> Self {
        Self { results: false, ..self.clone() }
    }

    /// Says nothing, for work whose failure is told in other words.
    #[must_use]
    pub fn silent(&self) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        Self { quiet: true, verbose: false, interactive: false, results: false, bars, ..self.clone() }
    }

    /// The same way to speak, with the result as JSON.
    #[must_use]
    pub fn as_json(&self) -> Self {
        Self { json: true, ..self.clone() }
    }

    /// Whether the user wants to know more (`--verbose`).
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// A result in words, on standard output. Silent under `--json`.
    pub fn say(&self, text: impl AsRef<str>) {
        if !self.json && self.results {
            self.out(&painted(&fitted(&printable::text(text.as_ref())), self.coloured_results));
        }
    }

    /// Help that was asked for, on standard output.
    pub fn help(&self, text: &str) {
        self.out(&painted(&printable::text(text), self.coloured_results));
    }

    /// The result as JSON, on standard output, when it was asked for; answers whether it was.
    ///
    /// # Errors
    /// Standard output cannot be written, or the value is none that JSON can hold.
    pub fn json(&self, value: &impl Serialize) -> Result<bool, Error> {
        if self.json && self.results {
            let out = || io::stdout().lock();
            let written = self.bars.suspend(|| match self.data.as_ref().map(|data| WithData { result: value, data }) {
                // A list has no place for a name.
                Some(named) if serde_json::to_writer(io::sink(), &named).is_ok() => json::write(&named, out()),
                _ => json::write(value, out()),
            });
            match written {
                Err(error) if !error.is_io() => {
                    return Err(Error::bug("a result does not print as JSON").because(error));
                }
                written => self.note_lost(written.map_err(io::Error::from)),
            }
        }
        Ok(self.json)
    }

    /// Whether the result is wanted as JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Bytes as they are, on standard output (completions, man pages, printed files).
    pub fn out(&self, text: &str) {
        let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
        self.note_lost(self.bars.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.write_all(end)?;
            out.flush()
        }));
    }

    fn note_lost(&self, written: io::Result<()>) {
        // A closed pipe (`simpack ... | head`) is the reader's choice, not a failure. The first failure is told.
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let _ = self.lost.set(error);
        }
    }

    /// Whether all that was said on standard output has arrived there.
    ///
    /// # Errors
    /// Some was lost: the disk is full, for instance.
    pub fn written(&self) -> Result<(), Error> {
        match self.lost.get() {
            None => Ok(()),
            Some(error) => Err(Error::file("standard output", "what was to be said there could not be written")
                .because(io::Error::new(error.kind(), error.to_string()))),
        }
    }

    /// A note about the work, on standard error.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.err(&painted(&fitted(&printable::text(text.as_ref())), self.coloured));
        }
    }

    /// A note for those who want to know more (`--verbose`).
    pub fn detail(&self, text: impl AsRef<str>) {
        if self.verbose {
            self.err(&printable::text(text.as_ref()));
        }
    }

    /// Begins a fold of the log where GitHub or GitLab show it: what is said until the value goes away.
    pub fn group(&self, title: &str) -> Group<'_> {
        let id: String = title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let (begin, end) = match self.groups {
            Some("github") => (format!("::group::{title}"), End::Github),
            // GitLab hides what stands before the carriage return.
            Some("gitlab") => (format!("\x1b[0Ksection_start:{}:{id}\r\x1b[0K{title}", now()), End::Gitlab(id)),
            _ => return Group { ui: self, end: None },
        };
        self.err(&begin);
        Group { ui: self, end: Some(end) }
    }

    /// An error: message, cause, details, hints.
    pub fn error(&self, error: &Error) {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(source) = cause {
            let said = source.to_string();
            if !text.ends_with(&said) {
                text.push_str(&format!(": {said}"));
            }
            cause = source.source();
        }
        for detail in error.details() {
            text.push_str(&format!("\n  {}", detail.replace('\n', "\n  ")));
        }
        for hint in error.hints() {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        let text = format!("error: {}", printable::text(&text));
        self.err(&painted(&fitted(&text), self.coloured));
        // A reader of the JSON gets the failure in its form, too.
        let _ = self.json(&error.json());
    }

    /// What a user must know whatever else is kept quiet, on standard error.
    pub fn warning(&self, text: impl AsRef<str>) {
        let text = format!("warning: {}", printable::text(text.as_ref()));
        self.err(&painted(&fitted(&text), self.coloured));
    }

    /// A complaint about the command line, on standard error.
    pub fn complain(&self, text: &str) {
        self.err(&painted(&fitted(&printable::text(text)), self.coloured));
    }

    fn err(&self, text: &str) {
        self.bars.suspend(|| {
            let mut err = std::io::stderr().lock();
            let _ = writeln!(err, "{}", text.trim_end());
        });
    }

    /// A bar over bytes, with rate and time left.
    pub fn bytes(&self, label: &str, total: u64) -> ProgressBar {
        self.bar(
            total,
            &format!("  {label:<10} [{{bar:20}}] {{bytes}}/{{total_bytes}}  {{bytes_per_sec}}  {{left}}  {{msg}}"),
        )
    }

    /// A bar over items.
    pub fn steps(&self, label: &str, total: u64) -> ProgressBar {
        self.bar(total, &format!("  {label:<10} {{pos}}/{{len}}  {{wide_msg}}"))
    }

    fn bar(&self, total: u64, template: &str) -> ProgressBar {
        let style =
            ProgressStyle::with_template(template).expect("the templates above are valid").progress_chars("##-");
        let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&time_left(state.elapsed(), state.eta()).unwrap_or_default());
        };
        let style = style.with_key("left", left);
        let bar = self.bars.add(ProgressBar::new(total).with_style(style));
        if self.interactive {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        bar
    }

    /// Whether progress lines are drawn; without them long work prints plain notes instead.
    pub fn is_interactive(&self) -> bool {
        self.interactive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_believable_time_left_is_told() {
        let told = |elapsed: u64, left: u64| time_left(Duration::from_secs(elapsed), Duration::from_secs(left));
        assert_eq!(told(10, 95).as_deref(), Some("about 1 min 35 s left"));
        assert_eq!((told(1, 5), told(10, 0), told(60, 16 * 365 * 86_400)), (None, None, None));
        assert_eq!(told(60, u64::MAX), None);
    }

    #[test]
    fn sizes_are_decimal() {
        let sizes = [999, 1_499, 999_499, 999_500, 1_300_000].map(size);
        assert_eq!(sizes, ["999 B", "1 kB", "999 kB", "1.0 MB", "1.3 MB"]);
    }
}

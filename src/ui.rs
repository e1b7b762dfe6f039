//! The one place that writes to the terminal.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Error;

/// How to speak to the user. Cheap to clone; clones share the progress lines.
#[derive(Clone)]
pub struct Ui {
    quiet: bool,
    json: bool,
    bars: MultiProgress,
    interactive: bool,
}

impl Ui {
    /// `json` keeps standard output for one JSON value; `quiet` drops notes and progress.
    pub fn new(json: bool, quiet: bool) -> Self {
        let interactive = !quiet && std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        if !interactive {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { quiet, json, bars, interactive }
    }

    /// A result in words, on standard output. Silent under `--json`.
    pub fn say(&self, text: impl AsRef<str>) {
        if !self.json {
            self.out(text.as_ref());
        }
    }

    /// The result as JSON, on standard output, when it was asked for; answers whether it was.
    pub fn json(&self, value: &impl serde::Serialize) -> Result<bool, Error> {
        if self.json {
            let text = serde_json::to_string_pretty(value)
                .map_err(|error| Error::bug("a result does not print as JSON").because(error))?;
            self.out(&text);
        }
        Ok(self.json)
    }

    /// Bytes as they are, on standard output (completions, man pages, printed files).
    pub fn out(&self, text: &str) {
        self.bars.suspend(|| {
            let mut out = std::io::stdout().lock();
            // A closed pipe (`simpack ... | head`) is the reader's choice, not a failure.
            let _ = out.write_all(text.as_bytes());
            if !text.ends_with('\n') {
                let _ = out.write_all(b"\n");
            }
            let _ = out.flush();
        });
    }

    /// A note about the work, on standard error.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.err(text.as_ref());
        }
    }

    /// An error: message, cause, details, hints.
    pub fn error(&self, error: &Error) {
        let mut text = format!("error: {error}");
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
        self.err(&text);
    }

    /// A complaint about the command line, on standard error.
    pub fn complain(&self, text: &str) {
        self.err(text);
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
            &format!("  {label:<10} [{{bar:20}}] {{bytes}}/{{total_bytes}}  {{bytes_per_sec}}  {{eta}}  {{msg}}"),
        )
    }

    /// A bar over steps, with time left.
    pub fn steps(&self, label: &str, total: u64) -> ProgressBar {
        self.bar(total, &format!("  {label:<10} {{pos}}/{{len}}  {{wide_msg}}  about {{eta}} left"))
    }

    fn bar(&self, total: u64, template: &str) -> ProgressBar {
        let style =
            ProgressStyle::with_template(template).expect("the templates above are valid").progress_chars("##-");
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

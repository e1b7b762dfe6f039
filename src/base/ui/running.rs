//! The steps that run: which, for how long, and how many are done. On a terminal one line shows them, elsewhere a note
//! from time to time, so that no long step looks like a program that hangs.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::Ui;
use crate::amount::in_words;

/// How often the line on a terminal follows the clock.
const REDRAWN: Duration = Duration::from_millis(500);
/// How long a log without a terminal stays silent.
const SILENT: Duration = Duration::from_secs(60);

/// Steps of some work, as they are shown while it runs; what is shown goes with this value.
pub struct RunningSteps {
    state: Arc<Mutex<State>>,
    bar: ProgressBar,
    clock: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What is known of the steps.
struct State {
    total: usize,
    jobs: usize,
    /// Seconds that each unfinished step took the last time, as far as that is known.
    known: BTreeMap<usize, f64>,
    done: usize,
    running: BTreeMap<usize, (String, Instant)>,
    /// When something was said of it.
    said: Instant,
}

impl Ui {
    /// Shows `total` steps, of which `done` are finished and `jobs` run at a time. `known` are the seconds that steps took
    /// the last time: only from those the time that is left is estimated.
    pub fn running(
        &self,
        label: &str,
        (done, total): (usize, usize),
        jobs: usize,
        known: BTreeMap<usize, f64>,
    ) -> RunningSteps {
        let bar = self.steps(label, total as u64);
        bar.set_position(done as u64);
        let state = State { total, jobs: jobs.max(1), known, done, running: BTreeMap::new(), said: Instant::now() };
        let state = Arc::new(Mutex::new(state));
        let (stop, stopped) = channel();
        let (ui, label, shown, of_clock) = (self.clone(), label.to_owned(), bar.clone(), Arc::clone(&state));
        let tell = move || {
            let every = if ui.is_interactive() { REDRAWN } else { Duration::from_secs(1) };
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                let mut state = locked(&of_clock);
                if ui.is_interactive() {
                    shown.set_message(state.line(now));
                } else if now.duration_since(state.said) >= SILENT && !state.running.is_empty() {
                    state.said = now;
                    ui.note(format!("  {label:<10} {}/{}  {}", state.done, state.total, state.line(now)));
                }
            }
        };
        // Without a thread nothing is shown between two steps.
        let clock = std::thread::Builder::new().name("progress".to_owned()).spawn(tell).ok();
        RunningSteps { state, bar, clock: clock.map(|thread| (stop, thread)) }
    }
}

impl RunningSteps {
    /// A step starts.
    pub fn started(&self, index: usize, name: &str) {
        let mut state = locked(&self.state);
        state.running.insert(index, (name.to_owned(), Instant::now()));
        self.bar.set_message(state.line(Instant::now()));
    }

    /// A step does not run any more, whether it succeeded or not.
    pub fn ended(&self, index: usize) {
        locked(&self.state).running.remove(&index);
    }

    /// So many are done, `index` the last of them.
    pub fn done(&self, index: usize, done: usize) {
        let mut state = locked(&self.state);
        state.running.remove(&index);
        state.known.remove(&index);
        (state.done, state.said) = (done, Instant::now());
        self.bar.set_position(done as u64);
        self.bar.set_message(state.line(Instant::now()));
    }
}

impl Drop for RunningSteps {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.clock.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The running steps, the oldest first, each with its time.
    fn line(&self, now: Instant) -> String {
        let mut running: Vec<_> = self.running.values().map(|(name, since)| (*since, name)).collect();
        running.sort();
        let shown = running.into_iter().map(|(since, name)| format!("{name} {}", in_words(now.duration_since(since))));
        let mut parts: Vec<String> = shown.collect();
        // First, because narrow terminals show the beginning of the line.
        if let Some(left) = self.left(now) {
            parts.insert(0, format!("about {} left", in_words(left)));
        }
        parts.join(" | ")
    }

    /// The time that is left, when every step that is not done is known from last time and none takes longer than then.
    /// Whatever else could be said would be a guess that grows while people wait.
    fn left(&self, now: Instant) -> Option<Duration> {
        if self.known.len() != self.total.checked_sub(self.done)? {
            return None;
        }
        let mut rest = Vec::new();
        for (index, seconds) in &self.known {
            let spent = self.running.get(index).map_or(0.0, |(_, since)| now.duration_since(*since).as_secs_f64());
            rest.push((seconds - spent).max(0.0));
        }
        let (sum, longest) = (rest.iter().sum::<f64>(), rest.iter().copied().fold(0.0, f64::max));
        let left = Duration::try_from_secs_f64(longest.max(sum / self.jobs as f64)).ok()?;
        (left >= Duration::from_secs(1)).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(done: usize, total: usize, jobs: usize, known: &[(usize, f64)]) -> State {
        let known = known.iter().copied().collect();
        State { total, jobs, known, done, running: BTreeMap::new(), said: Instant::now() }
    }

    #[test]
    fn running_steps_are_shown_with_their_time_and_only_known_ones_with_what_is_left() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut first = state(0, 3, 2, &[]);
        first.running.insert(2, ("kernels/step.cu sm_90".to_owned(), after(70)));
        first.running.insert(0, ("host core".to_owned(), start));
        assert_eq!(first.line(after(75)), "host core 1 min 15 s | kernels/step.cu sm_90 5 s");
        // One unknown step is enough to say nothing.
        let mut known = state(1, 4, 2, &[(1, 10.0), (3, 4.0)]);
        assert_eq!(known.left(start), None);
        known.known.insert(2, 30.0);
        assert_eq!(known.left(start), Some(Duration::from_secs(30)), "the longest alone");
        known.running.insert(2, ("c".to_owned(), start));
        assert_eq!(known.left(after(20)), Some(Duration::from_secs(12)));
        // A step that takes longer than last time adds nothing, however long it takes.
        let mut last = state(3, 4, 2, &[(1, 10.0)]);
        last.running.insert(1, ("b".to_owned(), start));
        assert_eq!(last.line(after(7)), "about 3 s left | b 7 s");
        assert_eq!(last.line(after(100_000)), "b 27 h 46 min");
    }

    #[test]
    fn steps_that_end_are_not_shown_any_more() {
        let steps = Ui::new(false, true).running("build", (1, 3), 2, BTreeMap::new());
        steps.started(0, "one");
        steps.started(1, "two");
        steps.ended(0);
        steps.done(1, 2);
        assert_eq!(locked(&steps.state).line(Instant::now()), "");
        assert_eq!(locked(&steps.state).done, 2);
    }
}

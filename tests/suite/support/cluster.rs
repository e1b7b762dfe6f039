//! A real cluster on this machine, whatever schedules its jobs.

use std::process::Command;
use std::time::{Duration, Instant};

/// A cluster whose daemons end with the value.
pub trait Cluster {
    /// What `--executor` calls it.
    fn name(&self) -> &'static str;

    /// Lets a program submit to it.
    fn serve<'c>(&self, command: &'c mut Command) -> &'c mut Command;

    /// States of the tasks that are there now.
    fn tasks(&self) -> Vec<String>;

    /// What its daemons have logged.
    fn log(&self) -> String;

    /// Waits for something that comes true within a minute.
    #[track_caller]
    fn until(&self, what: &str, is_true: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_true() {
            assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

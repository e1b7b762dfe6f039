//! What a program and its descendants take, read while they run. The kernel hands that on to whoever waits for them, from
//! process to process; bubblewrap ends without having waited for its child, and then it is lost.

use std::path::PathBuf;
use std::time::Duration;

/// What was seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Bytes of memory that the largest process had at its peak.
    pub peak: u64,
    /// Processor time of all, of those that have ended, too, as far as a living one has waited for them.
    pub cpu: Duration,
}

impl Taken {
    /// The larger of both in each.
    pub(super) fn max(self, other: Self) -> Self {
        Self { peak: self.peak.max(other.peak), cpu: self.cpu.max(other.cpu) }
    }
}

/// What the descendants of the process `pid` have taken. What ends meanwhile, or cannot be read, counts as nothing; so does
/// all on a kernel that does not list children.
pub(super) fn taken(pid: u32) -> Taken {
    let mut sum = Taken::default();
    let mut waiting = children(pid);
    while let Some(pid) = waiting.pop() {
        let peak = std::fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|text| peak(&text));
        let cpu = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|text| ticks(&text));
        sum.peak = sum.peak.max(peak.unwrap_or(0));
        sum.cpu += Duration::from_secs_f64(cpu.unwrap_or(0) as f64 / ticks_per_second());
        waiting.extend(children(pid));
    }
    sum
}

/// Children of all threads.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| thread.path().join("children"));
    lists.flat_map(|list: PathBuf| numbers(&std::fs::read_to_string(list).unwrap_or_default())).collect()
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Bytes in the line `VmHWM:     1234 kB` of proc(5)'s `status`.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Time in user and kernel mode, its own and that of children it has waited for: fields 14 to 17 of proc(5)'s `stat`, whose
/// second one is a name in parentheses that may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields = rest.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok());
    fields.sum()
}

fn ticks_per_second() -> f64 {
    // SAFETY: a question about a constant of the system.
    match unsafe { libc::sysconf(libc::_SC_CLK_TCK) } {
        ticks if ticks > 0 => ticks as f64,
        _ => 100.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        assert_eq!(peak("Name:\tcicc\nVmHWM:\t  61536 kB\nVmRSS:\t 5 kB\n"), Some(61536 << 10));
        assert_eq!(peak("Name:\tkthreadd\n"), None);
        let stat = "12 (a) b) S 1 12 12 0 -1 4194560 1 2 0 0 7 8 30 40 20 0 1 0 99 1 1";
        assert_eq!(ticks(stat), Some(85));
        assert_eq!(ticks("12 (a"), None);
        assert_eq!(numbers("3 14 159 "), [3, 14, 159]);
    }
}

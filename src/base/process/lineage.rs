//! What a program and its descendants take, read while they run. The kernel hands that on to whoever waits for them, from
//! process to process; bubblewrap ends without having waited for its child, and then it is lost.

use std::io::Read;
use std::path::Path;
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

/// What the process `pid` and its descendants have taken, of which `known` bytes is the largest peak so far. What ends
/// meanwhile, or cannot be read, counts as nothing; so does all on a kernel that does not list children.
///
/// Asked for every few moments of every step, it must cost next to nothing: one call for each text, and a process
/// that holds less than half of what another one had is not asked for its peak.
pub(super) fn taken(pid: u32, known: u64) -> Taken {
    let mut sum = Taken::default();
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        let Some(now) = read(format!("/proc/{pid}/stat")).and_then(|text| Now::of(&text)) else { continue };
        sum.cpu += Duration::from_secs_f64(now.ticks as f64 / constant(libc::_SC_CLK_TCK, 100.0));
        let bytes = now.pages as f64 * constant(libc::_SC_PAGESIZE, 4096.0);
        if bytes * 2.0 > known.max(sum.peak) as f64 {
            let peak = read(format!("/proc/{pid}/status")).and_then(|text| peak(&text));
            sum.peak = sum.peak.max(peak.unwrap_or(0));
        }
        waiting.extend(children(pid, now.threads));
    }
    sum
}

/// Children of all threads; a process with one thread has no list but its own.
fn children(pid: u32, threads: u64) -> Vec<u32> {
    if threads == 1 {
        return read(format!("/proc/{pid}/task/{pid}/children")).map(|text| numbers(&text)).unwrap_or_default();
    }
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| read(thread.path().join("children")));
    lists.flat_map(|list| numbers(&list)).collect()
}

/// The beginning of one of the kernel's texts, which is all of it nearly always: they are short, and made when they are
/// read.
fn read(path: impl AsRef<Path>) -> Option<String> {
    let mut text = vec![0; 4096];
    let count = std::fs::File::open(path).ok()?.read(&mut text).ok()?;
    text.truncate(count);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Numbers with a space behind each: the last one of a text that was cut has none.
fn numbers(text: &str) -> Vec<u32> {
    let whole = text.rsplit_once(' ').map_or("", |(whole, _)| whole);
    whole.split(' ').filter_map(|word| word.parse().ok()).collect()
}

/// Bytes in the line `VmHWM:     1234 kB` of proc(5)'s `status`.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What a process is now.
#[derive(Debug, PartialEq, Eq)]
struct Now {
    /// Time in user and kernel mode, its own and that of children it has waited for.
    ticks: u64,
    threads: u64,
    /// Pages of memory that it holds.
    pages: u64,
}

impl Now {
    /// Fields 14 to 17, 20 and 24 of proc(5)'s `stat`, whose second one is a name in parentheses that may hold anything.
    fn of(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
        let ticks = field(14)? + field(15)? + field(16)? + field(17)?;
        Some(Self { ticks, threads: field(20)?, pages: field(24)? })
    }
}

/// A constant of the system.
fn constant(name: libc::c_int, usual: f64) -> f64 {
    // SAFETY: a question without pointers.
    match unsafe { libc::sysconf(name) } {
        value if value > 0 => value as f64,
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        assert_eq!(peak("Name:\tcicc\nVmHWM:\t  61536 kB\nVmRSS:\t 5 kB\n"), Some(61536 << 10));
        assert_eq!(peak("Name:\tkthreadd\n"), None);
        let stat = "12 (a) b) S 1 12 12 0 -1 4194560 1 2 0 0 7 8 30 40 20 0 3 0 99 4096 25 1";
        assert_eq!(Now::of(stat), Some(Now { ticks: 85, threads: 3, pages: 25 }));
        assert_eq!(Now::of("12 (a"), None);
        assert_eq!(numbers("3 14 159 "), [3, 14, 159]);
        assert_eq!(numbers("3 14 15"), [3, 14]);
        assert!(numbers("").is_empty());
    }
}

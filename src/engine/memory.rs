//! How much memory there is for steps: the machine's, and what control groups leave of it.

use std::path::{Path, PathBuf};

/// Bytes that programs can have now: the least of what the machine says and what each control group
/// above this process allows. `None` where nothing says.
pub(super) fn available() -> Option<u64> {
    available_in(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
}

fn available_in(proc: &Path, cgroups: &Path) -> Option<u64> {
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    let machine = read(proc.join("meminfo")).and_then(|text| of_meminfo(&text));
    let groups = read(proc.join("self/cgroup")).unwrap_or_default();
    let limits = levels(&groups, cgroups).into_iter().filter_map(|level| level.left());
    machine.into_iter().chain(limits).min()
}

/// `MemAvailable` of `/proc/meminfo` (proc(5)), in bytes; kernels before 3.14 lack it.
fn of_meminfo(text: &str) -> Option<u64> {
    let line = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    line("MemAvailable:").or_else(|| line("MemFree:"))
}

/// One control group: its directory, and which version's files are in it.
#[derive(Debug, PartialEq, Eq)]
struct Level {
    dir: PathBuf,
    v2: bool,
}

/// The groups that bound this process, from `/proc/self/cgroup` (cgroups(7)): its own and all above.
fn levels(text: &str, root: &Path) -> Vec<Level> {
    let mut levels = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (top, v2) = match (number, controllers) {
            // Alone, or beside version 1 as systemd mounts it.
            ("0", "") if root.join("unified").is_dir() => (root.join("unified"), true),
            ("0", "") => (root.to_owned(), true),
            (_, controllers) if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), false),
            _ => continue,
        };
        let below = Path::new(path.trim_start_matches('/'));
        // In a container the path may be the host's, and then only the top is there.
        levels.extend(below.ancestors().map(|above| Level { dir: top.join(above), v2 }));
    }
    levels
}

impl Level {
    /// Bytes between use and limit; none without a limit. Page cache that can go counts as free.
    fn left(&self) -> Option<u64> {
        let number =
            |name: &str| -> Option<u64> { std::fs::read_to_string(self.dir.join(name)).ok()?.trim().parse().ok() };
        let (limit, usage, cache) = match self.v2 {
            true => ("memory.max", "memory.current", "inactive_file "),
            false => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
        };
        // "max" is no number; version 1 writes its absence as almost 2^63.
        let limit = number(limit).filter(|limit| *limit < 1 << 60)?;
        let stat = std::fs::read_to_string(self.dir.join("memory.stat")).unwrap_or_default();
        let cache: u64 =
            stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok()).unwrap_or_default();
        Some(limit.saturating_sub(number(usage)?.saturating_sub(cache)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn the_least_of_machine_and_groups() {
        let dir = tempfile::tempdir().unwrap();
        let (proc, cgroups) = (dir.path().join("proc"), dir.path().join("cgroup"));
        let look = || available_in(&proc, &cgroups);
        assert_eq!(look(), None);
        write(&proc, &[("meminfo", "MemTotal:  100 kB\nMemFree:  3 kB\nMemAvailable:   9000 kB\n")]);
        assert_eq!(look(), Some(9000 << 10));
        // Version 2: the group above is the tighter one.
        write(&proc, &[("self/cgroup", "0::/user/build\n")]);
        write(
            &cgroups,
            &[
                ("user/build/memory.max", "max\n"),
                ("user/build/memory.current", "1\n"),
                ("user/memory.max", "5000000\n"),
                ("user/memory.current", "3000000\n"),
                ("user/memory.stat", "anon 5\ninactive_file 1000000\n"),
            ],
        );
        assert_eq!(look(), Some(3_000_000));
        // Version 1.
        write(&proc, &[("self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/job\n0::/\n")]);
        write(
            &cgroups,
            &[
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/memory.usage_in_bytes", "1\n"),
                ("memory/job/memory.limit_in_bytes", "2000000\n"),
                ("memory/job/memory.usage_in_bytes", "2500000\n"),
                ("memory/job/memory.stat", "inactive_file 0\ntotal_inactive_file 600000\n"),
            ],
        );
        assert_eq!(look(), Some(100_000));
    }

    #[test]
    fn this_machine_has_some() {
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
    }
}

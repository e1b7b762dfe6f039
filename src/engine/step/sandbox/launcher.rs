//! Host compilers through sccache: its server is started for one call of a step and ends with it, inside the sandbox of the
//! step, so that no compiler runs anywhere else. Nothing that it does changes bytes: it stands in no key.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::isolation::StepIsolation;
use super::toolset::temporary;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::{Call, Isolation};
use crate::toolchain::Launcher;

/// Starts the server in the process group of the call, which ends with it; asks for its counts; answers as the call did. A
/// signal is passed on as one, because it tells of a lack of memory.
const SCRIPT: &str = r#"stats=$1 log=$2
shift 2
rm -f "$SCCACHE_SERVER_UDS"
SCCACHE_START_SERVER=1 SCCACHE_NO_DAEMON=1 "$SIMPACK_LAUNCHER" >"$log" 2>&1 &
server=$!
while [ ! -S "$SCCACHE_SERVER_UDS" ]; do
    if ! kill -0 "$server" 2>/dev/null; then
        cat "$log" >&2
        echo "error: the server of sccache does not start" >&2
        exit 125
    fi
    sleep 0.01
done
"$@"
code=$?
"$SIMPACK_LAUNCHER" --show-stats --stats-format json >"$stats" 2>>"$log"
"$SIMPACK_LAUNCHER" --stop-server >>"$log" 2>&1 || kill "$server"
wait "$server"
[ "$code" -le 128 ] || kill "-$((code - 128))" $$
exit "$code"
"#;

/// Bytes of what the server says of its counts, at most: the step could have written them.
const MOST: u64 = 1 << 20;
/// Bytes of a Unix socket's path, at most (`sun_path` of unix(7), less its end).
const MOST_PATH: usize = 107;
/// Bytes that sccache keeps, in its own words.
const KEPT: &str = "10G";

/// How often the cache of host compilations helped in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LauncherUse {
    /// Compilations that host steps asked for.
    pub compilations: u64,
    /// Those that were found in sccache's cache.
    pub hits: u64,
    /// Those that were compiled, and put there.
    pub misses: u64,
    /// Those that it does not cache.
    pub not_cacheable: u64,
}

impl LauncherUse {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            compilations: self.compilations.saturating_add(other.compilations),
            hits: self.hits.saturating_add(other.hits),
            misses: self.misses.saturating_add(other.misses),
            not_cacheable: self.not_cacheable.saturating_add(other.not_cacheable),
        }
    }

    /// One line for people.
    pub fn words(&self) -> String {
        let share = (self.hits as f64 / self.compilations.max(1) as f64) * 100.0;
        format!("sccache: {} of {} host compilations from its cache ({share:.0} %)", self.hits, self.compilations)
    }
}

/// The launcher of one step.
pub(in crate::engine) struct Launching<'a> {
    launcher: &'a Launcher,
    work: &'a Path,
    socket: PathBuf,
}

impl<'a> Launching<'a> {
    /// That of a step in `work`, which is isolated by `by`.
    pub(in crate::engine) fn new(launcher: &'a Launcher, work: &'a Path, by: Option<&Isolation>) -> Self {
        // Where a step has a /tmp of its own, a short name is enough for any directory.
        let own = matches!(by, Some(Isolation::Bubblewrap(_) | Isolation::Namespaces { .. }));
        let dir = if own { PathBuf::from("/tmp") } else { temporary(work) };
        Self { launcher, work, socket: dir.join("sccache") }
    }

    /// Variables of client and server, whatever the build makes of its own.
    pub(in crate::engine) fn variables(&self) -> Result<BTreeMap<&'static str, String>> {
        Ok(BTreeMap::from([
            ("SIMPACK_LAUNCHER", fs::utf8(&self.launcher.program)?.to_owned()),
            ("SCCACHE_SERVER_UDS", fs::utf8(&self.socket)?.to_owned()),
            ("SCCACHE_DIR", fs::utf8(&self.launcher.cache)?.to_owned()),
            ("SCCACHE_CACHE_SIZE", KEPT.to_owned()),
            // Each step has a directory of its own, which compilers map away.
            ("SCCACHE_BASEDIRS", fs::utf8(self.work)?.to_owned()),
            // By preprocessing, each time: its other way remembers lists of headers with the directories of other steps.
            ("SCCACHE_DIRECT", "false".to_owned()),
            ("SCCACHE_IDLE_TIMEOUT", "0".to_owned()),
            // A server that is gone costs a compilation, not the build.
            ("SCCACHE_IGNORE_SERVER_IO_ERROR", "1".to_owned()),
        ]))
    }

    fn stats(&self) -> PathBuf {
        self.work.join("sccache.json")
    }

    /// The same call with a server beside it.
    pub(in crate::engine) fn around(&self, call: &Call) -> Result<Call> {
        if self.socket.as_os_str().len() > MOST_PATH {
            let long = format!("a socket of sccache would have a name of more than {MOST_PATH} bytes");
            return Err(Error::toolchain(long)
                .detail(self.socket.display().to_string())
                .hint("choose a shorter directory with --work, or leave `--launcher` out"));
        }
        let _ = std::fs::remove_file(self.stats());
        let log = self.work.join("sccache.log");
        let mut around = Call { program: PathBuf::from("/bin/sh"), args: Vec::new(), ..call.clone() };
        around.args.extend(["-c", SCRIPT, "sh", fs::utf8(&self.stats())?, fs::utf8(&log)?].map(str::to_owned));
        around.args.push(fs::utf8(&call.program)?.to_owned());
        around.args.extend(call.args.iter().cloned());
        for (name, value) in self.variables()? {
            around = around.env(name, value);
        }
        Ok(around)
    }

    /// What the server of the last call counted; nothing where it did not say.
    pub(in crate::engine) fn counted(&self) -> LauncherUse {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> Option<LauncherUse> {
        let mut text = Vec::new();
        fs::open(&self.stats()).ok()?.take(MOST).read_to_end(&mut text).ok()?;
        counts(&text)
    }
}

/// What `--show-stats --stats-format json` says.
#[derive(Deserialize)]
struct Shown {
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    requests_executed: u64,
    requests_not_cacheable: u64,
    cache_hits: ByLanguage,
    cache_misses: ByLanguage,
}

#[derive(Deserialize)]
struct ByLanguage {
    counts: BTreeMap<String, u64>,
}

impl ByLanguage {
    fn all(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

fn counts(text: &[u8]) -> Option<LauncherUse> {
    let Shown { stats } = serde_json::from_slice(text).ok()?;
    Some(LauncherUse {
        compilations: stats.requests_executed.saturating_add(stats.requests_not_cacheable),
        hits: stats.cache_hits.all(),
        misses: stats.cache_misses.all(),
        not_cacheable: stats.requests_not_cacheable,
    })
}

/// Tries whether a step of this machine can have a server of sccache, within its sandbox.
///
/// # Errors
/// It cannot, and why.
pub fn try_launcher(launcher: &Launcher, isolation: &StepIsolation, work: &Path) -> Result<()> {
    let scratch = crate::engine::step::scratch(&fs_err::canonicalize(work)?)?;
    fs_err::create_dir_all(temporary(scratch.path()))?;
    let sandbox = isolation.sandbox(scratch.path(), [launcher.program.clone()], [launcher.cache.clone()])?;
    let launching = Launching::new(launcher, scratch.path(), isolation.means());
    let home = fs::utf8(scratch.path())?;
    let call = Call::new("/bin/true").env("PATH", "/usr/bin:/bin").env("HOME", home).dir(scratch.path());
    let outcome = launching.around(&call.within(sandbox))?.run()?;
    if outcome.status.success() && launching.read().is_some() {
        return Ok(());
    }
    let error = Error::toolchain(format!("sccache {} does not run in a step of this machine", launcher.version))
        .detail(format!("steps are isolated by {}; {}", isolation.kind(), outcome.how()));
    let text = outcome.all_text();
    Err(text.lines().filter(|line| !line.trim().is_empty()).take(4).fold(error, Error::detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_server_are_read() {
        // What sccache 0.16.0 printed, shortened.
        let text = r#"{"stats":{"compile_requests":4,"requests_unsupported_compiler":0,"requests_not_compile":1,
            "requests_not_cacheable":1,"requests_executed":3,"cache_errors":{"counts":{},"adv_counts":{}},
            "cache_hits":{"counts":{"C/C++":2},"adv_counts":{"c++ [gcc]":2}},
            "cache_misses":{"counts":{"C/C++":1},"adv_counts":{"c++ [gcc]":1}}},"cache_location":"Local disk"}"#;
        let found = counts(text.as_bytes()).unwrap();
        assert_eq!(found, LauncherUse { compilations: 4, hits: 2, misses: 1, not_cacheable: 1 });
        assert_eq!(found.words(), "sccache: 2 of 4 host compilations from its cache (50 %)");
        assert_eq!(found.and(found).hits, 4);
        for text in ["", "{", "{\"stats\":{}}", &text.replace("\"C/C++\":2", "\"C/C++\":-2")] {
            assert_eq!(counts(text.as_bytes()), None, "{text}");
        }
    }
}

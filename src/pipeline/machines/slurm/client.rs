//! Slurm's own programs: what is submitted, what they answer, as values. Their `--json` changes from release to release;
//! columns that are asked for by name do not.

use std::collections::BTreeMap;
use std::path::Path;

use crate::amount;
use crate::error::{Error, Result};
use crate::process::Call;

/// Jobs of one run: they share a name, by which a later run finds them.
#[derive(Debug)]
pub(super) struct Client {
    name: String,
    partition: Option<String>,
    /// Arguments of the user for `sbatch`.
    args: Vec<String>,
}

/// What is submitted.
#[derive(Debug)]
pub(super) struct Submission<'a> {
    /// Numbers of the tasks, from 1.
    pub tasks: &'a [usize],
    /// How many of them run at a time; all when absent.
    pub at_a_time: Option<usize>,
    /// Processors of each.
    pub processors: usize,
    /// Bytes of each; what the cluster gives when absent.
    pub memory: Option<u64>,
    /// What a task calls, before its number and the name of its node.
    pub call: &'a Call,
    /// Directory that the tasks start in.
    pub dir: &'a Path,
    /// File of a task's output, with `%a` for its number.
    pub output: &'a str,
}

/// What Slurm says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Job of the array.
    pub job: u64,
    /// `PENDING`, `RUNNING`, `TIMEOUT` ...
    pub state: String,
    /// Node that it runs or ran on.
    pub node: Option<String>,
    /// Why it waits or failed.
    pub reason: String,
    /// Bytes that it was given, where that is known.
    pub memory: Option<u64>,
}

impl Seen {
    /// Whether it runs, or will without anybody's help.
    pub(super) fn is_alive(&self) -> bool {
        const ALIVE: [&str; 13] = [
            "PENDING",
            "CONFIGURING",
            "RUNNING",
            "COMPLETING",
            "SUSPENDED",
            "STOPPED",
            "SIGNALING",
            "STAGE_OUT",
            "RESIZING",
            "REQUEUED",
            "REQUEUE_FED",
            "RESV_DEL_HOLD",
            "SPECIAL_EXIT",
        ];
        ALIVE.contains(&self.state.as_str())
    }

    /// Whether it waits for a node.
    pub(super) fn is_pending(&self) -> bool {
        self.state == "PENDING"
    }
}

/// What a partition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Nodes that take jobs.
    pub count: usize,
    /// Processors of the smallest.
    pub processors: usize,
}

impl Client {
    pub(super) fn new(name: String, partition: Option<String>, args: Vec<String>) -> Self {
        Self { name, partition, args }
    }

    fn read(program: &str, args: Vec<String>) -> Result<String> {
        let call = Call::new(program).pass_all().args(args);
        call.read().map_err(|error| match which::which(program) {
            Ok(_) => error,
            Err(_) => Error::toolchain(format!("`--executor slurm` needs `{program}`, which is not on PATH"))
                .hint("run it on a login node of the cluster, or load its module"),
        })
    }

    /// Nodes of the partition that take jobs; none when nothing is known of any.
    pub(super) fn nodes(&self) -> Result<Option<Nodes>> {
        let mut args = vec!["-h".to_owned(), "-N".to_owned(), "-o".to_owned(), "%N|%P|%c|%t".to_owned()];
        args.extend(self.partition.iter().flat_map(|name| ["-p".to_owned(), name.clone()]));
        Ok(nodes(&Self::read("sinfo", args)?, self.partition.is_some()))
    }

    /// Submits an array; answers its job.
    pub(super) fn submit(&self, asked: &Submission<'_>) -> Result<u64> {
        let listed: Vec<String> = asked.tasks.iter().map(ToString::to_string).collect();
        let most = asked.at_a_time.map(|most| format!("%{most}")).unwrap_or_default();
        let dir = crate::fs::utf8(asked.dir)?;
        let mut args = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", self.name),
            format!("--array={}{most}", listed.join(",")),
            format!("--cpus-per-task={}", asked.processors),
            format!("--chdir={dir}"),
            format!("--output={}", asked.output),
            "--open-mode=append".to_owned(),
            "--requeue".to_owned(),
        ];
        args.extend(self.partition.iter().map(|name| format!("--partition={name}")));
        args.extend(self.args.iter().cloned());
        // Behind the user's own, which it is to replace. In megabytes, the unit that every release takes.
        args.extend(asked.memory.map(|bytes| format!("--mem={}M", bytes.div_ceil(1 << 20))));
        args.push(format!("--wrap=exec {} \"$SLURM_ARRAY_TASK_ID\" \"$SLURMD_NODENAME\"", asked.call.line()));
        let call = Call::new("sbatch").pass_all().args(args);
        let call = asked.call.env.iter().fold(call, |call, (name, value)| call.env(name, value));
        let answer = call.read().map_err(|error| {
            let error = Error::toolchain("Slurm does not take the job").because(error);
            error.hint("`--partition`, `--jobs` (processors of a task) and `--sbatch-arg` say what is asked for")
        })?;
        // `JOB` or `JOB;CLUSTER`.
        let job = answer.trim().split(';').next().and_then(|job| job.parse().ok());
        job.ok_or_else(|| Error::toolchain("sbatch answered no job").detail(answer.trim().to_owned()))
    }

    /// What Slurm knows of the tasks of this run, by their numbers: the last job of each.
    pub(super) fn seen(&self) -> Result<BTreeMap<usize, Seen>> {
        let args = ["-h", "-r", "--me", "-t", "all", "-n", &self.name, "-o", "%F|%K|%T|%N|%m|%r"];
        Ok(seen(&Self::read("squeue", args.map(str::to_owned).to_vec())?))
    }

    /// Ends jobs.
    pub(super) fn cancel(&self, jobs: impl IntoIterator<Item = u64>) -> Result<()> {
        let jobs: Vec<String> = jobs.into_iter().map(|job| job.to_string()).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        Self::read("scancel", jobs).map(drop)
    }
}

fn seen(text: &str) -> BTreeMap<usize, Seen> {
    let mut found: BTreeMap<usize, Seen> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.splitn(6, '|').map(str::trim);
        let mut next = || columns.next().unwrap_or_default();
        let (job, task, state, node, memory, reason) = (next(), next(), next(), next(), next(), next());
        let (Ok(job), Ok(task)) = (job.parse(), task.parse()) else { continue };
        if found.get(&task).is_some_and(|other| other.job > job) {
            continue;
        }
        // Of a job that waits this is why, or a list of nodes that it asked for.
        let node = Some(node).filter(|node| !node.is_empty() && !node.starts_with('('));
        found.insert(
            task,
            Seen {
                job,
                state: state.to_owned(),
                node: node.map(str::to_owned),
                reason: reason.to_owned(),
                memory: amount::bytes(memory).ok().flatten().filter(|bytes| *bytes > 0),
            },
        );
    }
    found
}

fn nodes(text: &str, is_chosen: bool) -> Option<Nodes> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('|').map(str::trim);
        let mut next = || columns.next().unwrap_or_default();
        let (name, partition, processors, state) = (next(), next(), next(), next());
        // A star behind a partition marks the default, one behind a state a node that does not answer.
        let is_meant = is_chosen || partition.ends_with('*');
        let takes_jobs = ["idle", "mix", "alloc", "comp"].iter().any(|word| state.starts_with(word));
        if let Ok(processors) = processors.trim_end_matches('+').parse()
            && is_meant
            && takes_jobs
            && !state.ends_with('*')
        {
            found.insert(name, processors);
        }
    }
    Some(Nodes { count: found.len(), processors: *found.values().min()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_job_of_each_task_counts() {
        // What squeue of Slurm 22.05 printed.
        let text = "3|1|COMPLETED|n1|1000M|None\n3|2|FAILED|n2|1000M|NonZeroExitCode\n4|2|PENDING||2G|Resources\n\
                    5|N/A|RUNNING|n1|0|None\nnothing\n";
        let found = seen(text);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!((found[&1].job, found[&1].node.as_deref(), found[&1].memory), (3, Some("n1"), Some(1000 << 20)));
        assert!(!found[&1].is_alive() && found[&2].is_alive() && found[&2].is_pending());
        assert_eq!((found[&2].job, found[&2].node.as_deref(), &*found[&2].reason), (4, None, "Resources"));
    }

    #[test]
    fn nodes_that_take_jobs_are_counted_once() {
        let text =
            "n1|main*|8|idle\nn1|other|8|idle\nn2|main*|4|mix\nn3|main*|2|drain\nn4|main*|2|idle*\nn5|other|1|idle\n";
        assert_eq!(nodes(text, false), Some(Nodes { count: 2, processors: 4 }));
        assert_eq!(nodes("n5|other|1|idle\n", true), Some(Nodes { count: 1, processors: 1 }));
        assert_eq!(nodes("n3|main*|2|down\n", false), None);
    }
}

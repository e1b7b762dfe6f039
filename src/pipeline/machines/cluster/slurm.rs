//! Slurm's own programs. Their `--json` changes from release to release; columns that are asked for by name do not.

use std::collections::BTreeMap;

use super::scheduler::{self, Arguments, Nodes, Run, Scheduler, Seen, State, Submission};
use crate::amount;
use crate::error::{Error, Result};
use crate::process::Call;

/// Its programs, for one run.
#[derive(Debug)]
pub(super) struct Slurm {
    run: Run,
}

impl Slurm {
    pub(super) fn new(run: Run) -> Self {
        Self { run }
    }
}

fn read(program: &str, args: Vec<String>) -> Result<String> {
    scheduler::read("slurm", program, args)
}

impl Scheduler for Slurm {
    fn nodes(&self) -> Result<Option<Nodes>> {
        let mut args = vec!["-h".to_owned(), "-N".to_owned(), "-o".to_owned(), "%N|%P|%c|%t".to_owned()];
        args.extend(self.run.partition.iter().flat_map(|name| ["-p".to_owned(), name.clone()]));
        Ok(nodes(&read("sinfo", args)?, self.run.partition.is_some()))
    }

    fn submit(&self, asked: &Submission<'_>) -> Result<u64> {
        let most = asked.at_a_time.map(|most| format!("%{most}")).unwrap_or_default();
        let dir = crate::fs::utf8(asked.dir)?;
        let mut args = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", self.run.name),
            format!("--array={}-{}{most}", asked.tasks.start(), asked.tasks.end()),
            format!("--cpus-per-task={}", asked.processors),
            format!("--chdir={dir}"),
            format!("--output={}", crate::fs::utf8(&(asked.output)("%a"))?),
            "--open-mode=append".to_owned(),
            "--requeue".to_owned(),
        ];
        args.extend(self.run.partition.iter().map(|name| format!("--partition={name}")));
        args.extend(self.run.args.iter().cloned());
        // Behind the user's own, which it is to replace. In megabytes, the unit that every release takes.
        args.extend(asked.memory.map(|bytes| format!("--mem={}M", bytes.div_ceil(1 << 20))));
        args.push(format!("--wrap=exec {} \"$SLURM_ARRAY_TASK_ID\" \"$SLURMD_NODENAME\"", asked.call.line()));
        let call = Call::new("sbatch").pass_all().args(args);
        let call = asked.call.env.iter().fold(call, |call, (name, value)| call.env(name, value));
        let answer = call.read().map_err(|error| {
            let error = Error::toolchain("Slurm does not take the job").because(error);
            error.hint("`--partition`, `--jobs` (processors of a task) and `--submit-arg` say what is asked for")
        })?;
        // `JOB` or `JOB;CLUSTER`.
        let job = answer.trim().split(';').next().and_then(|job| job.parse().ok());
        job.ok_or_else(|| Error::toolchain("sbatch answered no job").detail(answer.trim().to_owned()))
    }

    fn seen(&self) -> Result<BTreeMap<usize, Seen>> {
        let args = ["-h", "-r", "--me", "-t", "all", "-n", &self.run.name, "-o", "%F|%K|%T|%N|%m|%r"];
        Ok(seen(&read("squeue", args.map(str::to_owned).to_vec())?))
    }

    fn cancel(&self, jobs: &[u64]) -> Result<()> {
        match jobs {
            [] => Ok(()),
            _ => read("scancel", jobs.iter().map(ToString::to_string).collect()).map(drop),
        }
    }

    fn arguments(&self) -> &'static Arguments {
        &Arguments {
            without_node: "--submit-arg=--exclude=NODE",
            memory: "--submit-arg=--mem=SIZE",
            time: "--submit-arg=--time=HH:MM:SS",
            cancel: "scancel",
        }
    }
}

/// A state in Slurm's own word.
fn state(word: &str) -> State {
    match word {
        "PENDING" => State::Waits,
        "COMPLETING" => State::Leaves,
        "CONFIGURING" | "RUNNING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT" | "RESIZING" | "REQUEUED"
        | "REQUEUE_FED" | "RESV_DEL_HOLD" | "SPECIAL_EXIT" => State::Runs,
        "OUT_OF_MEMORY" => State::OutOfMemory,
        "NODE_FAIL" | "BOOT_FAIL" | "PREEMPTED" => State::LostNode,
        "TIMEOUT" | "DEADLINE" => State::OutOfTime,
        "CANCELLED" => State::Cancelled,
        _ => State::Ended,
    }
}

fn seen(text: &str) -> BTreeMap<usize, Seen> {
    let mut found: BTreeMap<usize, Seen> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.splitn(6, '|').map(str::trim);
        let mut next = || columns.next().unwrap_or_default();
        let (job, task, word, node, memory, reason) = (next(), next(), next(), next(), next(), next());
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
                state: state(word),
                word: word.to_owned(),
                node: node.map(str::to_owned),
                reason: if reason == "None" { String::new() } else { reason.to_owned() },
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

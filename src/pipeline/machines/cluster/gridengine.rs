//! Grid Engine's own programs (Sun's, Son of Grid Engine, Univa's): `qstat` in XML, `qacct` for tasks that are gone.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::scheduler::{self, Arguments, Nodes, Run, Scheduler, Seen, State, Submission};
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;

/// Its programs, for one run.
#[derive(Debug)]
pub(super) struct GridEngine {
    run: Run,
}

/// Why a task has ended, in the code that `qacct` calls `failed`: a limit of the queue or of the job was reached.
const OVER_A_LIMIT: &str = "37";

impl GridEngine {
    pub(super) fn new(run: Run) -> Self {
        Self { run }
    }

    /// The parallel environment that gives a task processors of one node; none for one processor, and where the user names one.
    fn environment(&self, processors: usize) -> Result<Option<String>> {
        if processors == 1 || self.run.args.iter().any(|arg| arg == "-pe") {
            return Ok(None);
        }
        let names = match &self.run.partition {
            Some(queue) => value(&read("qconf", &["-sq", queue])?, "pe_list").unwrap_or_default(),
            None => read("qconf", &["-spl"])?,
        };
        for name in names.split([' ', ',', '\n']).filter(|name| !name.is_empty() && *name != "NONE") {
            if value(&read("qconf", &["-sp", name])?, "allocation_rule").as_deref() == Some("$pe_slots") {
                return Ok(Some(name.to_owned()));
            }
        }
        Err(Error::toolchain("no parallel environment gives a task processors of one node").hint(
            "name one, `--submit-arg=-pe --submit-arg=NAME --submit-arg=PROCESSORS`, or let tasks have one: `--jobs 1`",
        ))
    }
}

fn read(program: &str, args: &[&str]) -> Result<String> {
    scheduler::read("gridengine", program, args.iter().map(|arg| (*arg).to_owned()).collect())
}

impl Scheduler for GridEngine {
    fn nodes(&self) -> Result<Option<Nodes>> {
        let mut args = vec!["-f", "-xml"];
        args.extend(self.run.partition.iter().flat_map(|queue| ["-q", queue]));
        nodes(&read("qstat", &args)?)
    }

    fn submit(&self, asked: &Submission<'_>) -> Result<u64> {
        let line = format!("exec {} \"$SGE_TASK_ID\" \"$HOSTNAME\"\n", asked.call.line());
        fs::write_atomic(asked.script, format!("#!/bin/sh\n{line}").as_bytes())?;
        let mut args = vec![
            "-terse".to_owned(),
            "-V".to_owned(),
            "-S".to_owned(),
            "/bin/sh".to_owned(),
            "-N".to_owned(),
            self.run.name.clone(),
            "-t".to_owned(),
            format!("{}-{}", asked.tasks.start(), asked.tasks.end()),
            "-wd".to_owned(),
            fs::utf8(asked.dir)?.to_owned(),
            "-j".to_owned(),
            "y".to_owned(),
            "-o".to_owned(),
            // Before the colon might stand a host.
            format!(":{}", fs::utf8(&(asked.output)("$TASK_ID"))?),
            "-r".to_owned(),
            "y".to_owned(),
        ];
        args.extend(asked.at_a_time.iter().flat_map(|most| ["-tc".to_owned(), most.to_string()]));
        args.extend(self.run.partition.iter().flat_map(|queue| ["-q".to_owned(), queue.clone()]));
        let environment = self.environment(asked.processors)?;
        args.extend(environment.into_iter().flat_map(|name| ["-pe".to_owned(), name, asked.processors.to_string()]));
        args.extend(self.run.args.iter().cloned());
        args.push(fs::utf8(asked.script)?.to_owned());
        let call = Call::new("qsub").pass_all().args(args);
        let call = asked.call.env.iter().fold(call, |call, (name, value)| call.env(name, value));
        let answer = call.read().map_err(|error| {
            let error = Error::toolchain("Grid Engine does not take the job").because(error);
            error.hint(
                "`--partition` (a queue), `--jobs` (processors of a task) and `--submit-arg` say what is asked for",
            )
        })?;
        // `JOB.FIRST-LAST:STEP`.
        let job = answer.trim().split('.').next().and_then(|job| job.parse().ok());
        job.ok_or_else(|| Error::toolchain("qsub answered no job").detail(answer.trim().to_owned()))
    }

    fn seen(&self) -> Result<BTreeMap<usize, Seen>> {
        let mut found = seen(&read("qstat", &["-xml", "-g", "d"])?, &self.run.name)?;
        for seen in found.values_mut().filter(|seen| seen.state == State::Broken) {
            let said = read("qstat", &["-j", &seen.job.to_string()]).unwrap_or_default();
            seen.reason = said.lines().find(|line| line.starts_with("error reason")).unwrap_or_default().to_owned();
        }
        Ok(found)
    }

    fn ended(&self, job: u64, task: usize) -> Option<Seen> {
        ended(&read("qacct", &["-j", &job.to_string(), "-t", &task.to_string()]).ok()?, job)
    }

    fn cancel(&self, jobs: &[u64]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        let jobs: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let result = read("qdel", &jobs.iter().map(String::as_str).collect::<Vec<_>>());
        match result {
            // It fails for those that ended meanwhile.
            Err(_) if self.seen()?.is_empty() => Ok(()),
            result => result.map(drop),
        }
    }

    fn arguments(&self) -> &'static Arguments {
        &Arguments {
            without_node: "--submit-arg=-l --submit-arg='h=!NODE'",
            memory: "--submit-arg=-l --submit-arg=h_vmem=SIZE",
            time: "--submit-arg=-l --submit-arg=h_rt=HH:MM:SS",
            cancel: "qdel",
        }
    }
}

fn document(text: &str) -> Result<Document<'_>> {
    Document::parse(text).map_err(|error| Error::toolchain("qstat did not answer in XML").because(error))
}

fn text<'x>(node: Node<'x, '_>, name: &str) -> &'x str {
    node.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text()).unwrap_or_default()
}

/// A state in the letters of Grid Engine.
fn state(letters: &str) -> State {
    let has = |letter| letters.contains(letter);
    match () {
        () if has('d') => State::Leaves,
        () if has('E') => State::Broken,
        () if has('w') => State::Waits,
        () => State::Runs,
    }
}

fn seen(xml: &str, name: &str) -> Result<BTreeMap<usize, Seen>> {
    let document = document(xml)?;
    let mut found: BTreeMap<usize, Seen> = BTreeMap::new();
    let jobs = document.descendants().filter(|node| node.has_tag_name("job_list") && text(*node, "JB_name") == name);
    for node in jobs {
        let (Ok(job), Ok(task)) = (text(node, "JB_job_number").parse(), text(node, "tasks").parse()) else { continue };
        if found.get(&task).is_some_and(|other| other.job > job) {
            continue;
        }
        let word = text(node, "state");
        let host = text(node, "queue_name").split_once('@').map(|(_, host)| host.to_owned());
        let reason = if word.contains('h') { "it is held".to_owned() } else { String::new() };
        found.insert(task, Seen { job, state: state(word), word: word.to_owned(), node: host, reason, memory: None });
    }
    Ok(found)
}

fn nodes(xml: &str) -> Result<Option<Nodes>> {
    let document = document(xml)?;
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for queue in document.descendants().filter(|node| node.has_tag_name("Queue-List")) {
        let (_, host) = text(queue, "name").split_once('@').unwrap_or_default();
        let slots = text(queue, "slots_total").parse().unwrap_or(0);
        // Any state is a reason to take no jobs: unknown, disabled, suspended, in error, overloaded.
        if slots > 0 && text(queue, "qtype").contains('B') && text(queue, "state").is_empty() {
            let known = found.entry(host).or_default();
            *known = slots.max(*known);
        }
    }
    let least = found.values().min().copied();
    Ok(least.map(|processors| Nodes { count: found.len(), processors }))
}

/// A value of what `qconf` and `qacct` print: names and values in two columns.
fn value(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    lines.filter(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned()).next_back()
}

fn ended(text: &str, job: u64) -> Option<Seen> {
    let failed = value(text, "failed")?;
    let exit = value(text, "exit_status").unwrap_or_default();
    let state = if failed.split(' ').next() == Some(OVER_A_LIMIT) { State::OutOfTime } else { State::Ended };
    let word = format!("failed {failed}, exit status {exit}");
    Some(Seen { job, state, word, node: value(text, "hostname"), reason: String::new(), memory: None })
}

//! A division before a cluster that does nothing but count: time is a number, and each node takes the next task when it is
//! free. `tests/bench/scale` prints what comes of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use super::{Weight, tasks};

/// What a cluster takes beside the steps, in seconds.
#[derive(Clone, Copy)]
struct Latency {
    /// From the submission to the start of the first tasks.
    first: f64,
    /// From the end of a task to the start of the next on its node.
    next: f64,
    /// What simpack takes in a task before its first step: the plan is made anew.
    task: f64,
}

/// Rounded up from what Slurm 22.05 with two nodes on one busy machine, and simpack without optimization, took at most: 0.4, 1.6
/// and 2.1 s (`tests/evidence/slurm-2026-11-23.log`).
const RECORDED: Latency = Latency { first: 2.0, next: 2.0, task: 2.2 };

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A factor around 1 whose logarithm has this deviation.
    fn factor(&mut self, sigma: f64) -> f64 {
        let (u, v) = (1.0 - self.next(), self.next());
        (sigma * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()).exp()
    }
}

/// Steps with what they are expected to take and what they take, in seconds.
type Steps = Vec<(f64, f64)>;

/// Units for ten capabilities each, as generated code has them: most take a second or two, some half a minute.
fn matrix(steps: usize, error: f64) -> Steps {
    let mut numbers = Numbers(1);
    let mut found = Vec::new();
    let mut unit = 0.0;
    for index in 0..steps {
        if index % 10 == 0 {
            unit = 2.0 * numbers.factor(0.9);
        }
        let expected: f64 = unit * (0.8 + 0.4 * numbers.next());
        found.push((expected, expected * numbers.factor(error)));
    }
    found
}

/// What came of a run.
struct Came {
    tasks: usize,
    makespan: f64,
    /// The longest step, or all work on all processors.
    bound: f64,
    /// Part of the nodes' time that is spent in compilers.
    busy: f64,
}

/// When the last of some work ends that `processors` take from a list, the longest first.
fn listed(mut work: Vec<f64>, processors: usize) -> f64 {
    work.sort_by(|a, b| b.total_cmp(a));
    let mut free: BinaryHeap<Reverse<u64>> = (0..processors).map(|_| Reverse(0)).collect();
    let mut end = 0;
    for seconds in work {
        let Some(Reverse(at)) = free.pop() else { break };
        let until = at + (seconds * 1e6) as u64;
        free.push(Reverse(until));
        end = end.max(until);
    }
    end as f64 / 1e6
}

fn simulate(steps: &Steps, family: usize, (nodes, processors): (usize, usize), latency: Latency) -> Came {
    let weight = |(index, (expected, _)): (usize, &(f64, f64))| Weight {
        micros: (expected * 1e6) as u64,
        family: (family > 1).then_some(index / family),
        bound: false,
    };
    let weights: Vec<Weight> = steps.iter().enumerate().map(weight).collect();
    let parts = tasks(&weights, None, (nodes, processors));
    let mut free: BinaryHeap<Reverse<u64>> = (0..nodes).map(|_| Reverse((latency.first * 1e6) as u64)).collect();
    let mut end = 0;
    for part in &parts {
        let Some(Reverse(at)) = free.pop() else { break };
        let work = latency.task + listed(part.iter().map(|&index| steps[index].1).collect(), processors);
        let until = at + (work * 1e6) as u64;
        end = end.max(until);
        free.push(Reverse(until + (latency.next * 1e6) as u64));
    }
    let work: f64 = steps.iter().map(|step| step.1).sum();
    let longest = steps.iter().map(|step| step.1).fold(0.0, f64::max);
    let (makespan, all) = (end as f64 / 1e6, (nodes * processors) as f64);
    Came { tasks: parts.len(), makespan, bound: longest.max(work / all), busy: work / all / makespan }
}

/// What is promised of 64 nodes, with what Slurm takes to start tasks.
#[test]
fn nodes_with_enough_to_do_are_in_compilers() {
    // 64 nodes with a little more than 500 s each.
    let steps = matrix(11_500, 0.0);
    let work: f64 = steps.iter().map(|step| step.1).sum();
    assert!((450.0..550.0).contains(&(work / 64.0)), "{work}");
    let came = simulate(&steps, 10, (64, 1), RECORDED);
    assert!(came.busy >= 0.95, "{} tasks, {:.3} busy", came.tasks, came.busy);
    assert!(came.makespan <= came.bound * 1.05, "{} s, {} s at least", came.makespan, came.bound);
    // What steps take is never known so well.
    let came = simulate(&matrix(50_000, 0.2), 10, (64, 1), RECORDED);
    assert!(came.makespan <= came.bound * 1.05, "{} s, {} s at least", came.makespan, came.bound);
}

/// Prints what comes of 1 to 1,024 nodes: `tests/bench/scale`, which names a file of seconds by `BENCH_STEPS`.
#[test]
#[ignore = "a measurement"]
fn scale() {
    let mut cases = vec![
        ("matrix of 50,000 steps, known".to_owned(), matrix(50_000, 0.0), 10),
        ("matrix of 50,000 steps, each off by 20 %".to_owned(), matrix(50_000, 0.2), 10),
    ];
    if let Some(file) = std::env::var_os("BENCH_STEPS") {
        let text = std::fs::read_to_string(file).unwrap();
        let seconds = text.lines().map(|line| line.parse::<f64>().unwrap());
        let steps: Steps = seconds.map(|seconds| (seconds, seconds)).collect();
        cases.push((format!("volley, {} steps as measured", steps.len()), steps, 1));
    }
    let mut out = std::io::stdout();
    for (name, steps, family) in cases {
        let work: f64 = steps.iter().map(|step| step.1).sum();
        writeln!(out, "\n{name}: {work:.0} s of work\n").unwrap();
        writeln!(out, "| nodes | tasks | makespan | lower bound | over | in compilers | division |").unwrap();
        writeln!(out, "|--:|--:|--:|--:|--:|--:|--:|").unwrap();
        for nodes in (0..=10).map(|power| 1_usize << power) {
            let began = std::time::Instant::now();
            let came = simulate(&steps, family, (nodes, 1), RECORDED);
            let took = began.elapsed().as_secs_f64();
            let Came { tasks, makespan, bound, busy } = came;
            let (over, busy) = ((makespan / bound - 1.0) * 100.0, busy * 100.0);
            writeln!(
                out,
                "| {nodes} | {tasks} | {makespan:.1} s | {bound:.1} s | {over:.1} % | {busy:.1} % | {took:.2} s |"
            )
            .unwrap();
        }
    }
}

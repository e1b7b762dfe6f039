//! Into how many tasks a plan is divided: enough that all nodes work to the end, few enough that starting them does not count.

use super::shard::{MOST_SHARDS, Weight, divide};

/// Microseconds of work that a task has at least, on each of its processors, while there is enough for all nodes: sixty
/// times what Slurm takes to start one.
const WORTH: u64 = 60_000_000;
/// Tasks of a node, one after the other: the later ones go to nodes that turn out to be faster.
const ROUNDS: usize = 4;
/// Tasks of an array that clusters take by default (`MaxArraySize` is 1001).
const MOST_TASKS: usize = 1000;

/// Indices of the steps of each task, none of which is empty. `slots` tasks of `processors` each run at a time.
pub fn tasks(weights: &[Weight], asked: Option<usize>, (slots, processors): (usize, usize)) -> Vec<Vec<usize>> {
    let tasks = asked.unwrap_or_else(|| worth(weights, slots.max(1), processors.max(1)));
    let tasks = tasks.clamp(1, weights.len().clamp(1, MOST_SHARDS as usize));
    divide(weights, tasks).into_iter().filter(|part| !part.is_empty()).collect()
}

/// How many tasks are worth starting.
fn worth(weights: &[Weight], slots: usize, processors: usize) -> usize {
    let total = weights.iter().map(|weight| weight.micros).fold(0, u64::saturating_add);
    let most = usize::try_from(total.div_ceil(WORTH * processors as u64)).unwrap_or(usize::MAX);
    if most < slots {
        return most.clamp(1, MOST_TASKS);
    }
    // All nodes alike: with one task more than a round has, all others would wait for it.
    let rounds = (most / slots).clamp(1, ROUNDS).min((MOST_TASKS / slots).max(1));
    (slots * rounds).min(MOST_TASKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize, seconds: f64) -> Vec<Weight> {
        vec![Weight { micros: (seconds * 1e6) as u64, family: None, bound: false }; count]
    }

    #[test]
    fn tasks_are_worth_starting_and_fill_all_nodes() {
        let many = |count, seconds, at| tasks(&steps(count, seconds), None, at).len();
        assert_eq!(many(10, 1.0, (64, 1)), 1, "ten seconds are not worth a second node");
        assert_eq!(many(100, 3.0, (64, 1)), 5);
        assert_eq!(many(3200, 10.0, (64, 1)), 256);
        assert_eq!(many(3200, 10.0, (64, 8)), 64, "tasks of eight processors do eight times as much");
        assert_eq!(many(30, 10.0, (2, 1)), 4);
        assert_eq!(many(50_000, 100.0, (1024, 1)), 1000);
        assert_eq!(many(3, 1000.0, (64, 1)), 3, "no task without a step");
        let all: usize = tasks(&steps(100, 3.0), Some(7), (64, 1)).iter().map(Vec::len).sum();
        assert_eq!((tasks(&steps(100, 3.0), Some(7), (64, 1)).len(), all), (7, 100));
    }
}

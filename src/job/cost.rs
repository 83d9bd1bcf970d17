//! What a run is expected to cost: the connections that it opens.
//!
//! Long runs start first, so that none of them is left over at the end, and shards get equal parts.

use super::runner::RunId;
use crate::experiment::Experiment;
use crate::sim::scenario::Scenario;

/// How many connections a run of `scenario` opens on average, retries aside; absent if that depends on the answers that
/// its clients get.
pub fn expected_connections(scenario: &Scenario) -> Option<f64> {
    let end = scenario.timing.window_end();
    scenario.clients.iter().map(|client| client.arrivals.expected_before(end)).sum()
}

/// The cost of a run of each cell: connections, or simulated seconds for all if a cell's connections are unknown. Never
/// zero.
pub fn costs(experiment: &Experiment) -> Vec<u64> {
    let of_cell = |cell| {
        let scenario = experiment.scenario(cell);
        (expected_connections(&scenario), scenario.timing.window_end().as_secs_f64())
    };
    let cells: Vec<(Option<f64>, f64)> = experiment.cells().iter().map(of_cell).collect();
    let all_known = cells.iter().all(|(connections, _)| connections.is_some());
    let cost =
        |(connections, seconds): (Option<f64>, f64)| connections.filter(|_| all_known).unwrap_or(seconds);
    // The cast saturates.
    cells.into_iter().map(|cell| (cost(cell).round() as u64).max(1)).collect()
}

/// `runs`, the longest first. Equal ones keep their order.
pub fn longest_first(experiment: &Experiment, mut runs: Vec<RunId>) -> Vec<RunId> {
    let costs = costs(experiment);
    runs.sort_by_key(|run| std::cmp::Reverse(costs[run.cell]));
    runs
}

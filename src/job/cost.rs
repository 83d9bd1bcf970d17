//! What a run is expected to cost: the connections that it opens.
//!
//! Long runs start first, so that none of them is left over at the end, and shards get equal parts.

use super::runner::RunId;
use crate::experiment::Experiment;
use crate::sim::scenario::Scenario;

/// How many connections a run of `scenario` opens on average, retries aside; absent if that depends on answers.
pub fn expected_connections(scenario: &Scenario) -> Option<f64> {
    let end = scenario.timing.window_end();
    scenario.clients.iter().map(|client| client.arrivals.expected_before(end)).sum()
}

/// The cost of a run of each cell, never zero: connections, or simulated seconds for all if those of any are unknown.
pub fn costs(experiment: &Experiment) -> Vec<u64> {
    let scenarios = || experiment.cells().iter().map(|cell| experiment.scenario(cell));
    let connections: Option<Vec<f64>> = scenarios().map(|scenario| expected_connections(&scenario)).collect();
    let seconds = || scenarios().map(|scenario| scenario.timing.window_end().as_secs_f64()).collect();
    // The cast saturates.
    connections.unwrap_or_else(seconds).into_iter().map(|cost| (cost.round() as u64).max(1)).collect()
}

/// `runs`, the longest first. Equal ones keep their order.
pub fn longest_first(experiment: &Experiment, mut runs: Vec<RunId>) -> Vec<RunId> {
    let costs = costs(experiment);
    runs.sort_by_key(|run| std::cmp::Reverse(costs[run.cell]));
    runs
}

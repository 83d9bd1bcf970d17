//! Tests of more than one room: the source itself, and whole runs.

mod clients;
mod determinism;
mod documents;
mod endings;
mod expectations;
mod extremes;
mod fuzz;
mod health;
mod next_hops;
mod operations;
mod printed;
mod random_worlds;
mod regions;
mod retransmission;
mod shares;
mod snapshot;
mod stationary;
mod tidy;
pub(crate) mod toy_policy;
mod worlds;

use crate::experiment::{Experiment, ExperimentError, Overrides, Source};
use crate::job::runner::{RunId, run_one};
use crate::sim::outcome::Outcome;

/// The experiment that `text` describes.
fn experiment(text: &str) -> Experiment {
    try_experiment(text).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The same, if it describes one.
fn try_experiment(text: &str) -> Result<Experiment, ExperimentError> {
    let source = Source { name: "test.toml".to_owned(), text: text.to_owned() };
    Experiment::parse(source, &Overrides::default())
}

/// The outcomes of every cell, replication by replication.
fn outcomes(experiment: &Experiment) -> Vec<Vec<Outcome>> {
    let runs = |cell: usize| {
        (0..experiment.replications())
            .map(move |replication| run_one(experiment, RunId { cell, replication }).unwrap())
    };
    experiment.cells().iter().map(|cell| runs(cell.index).collect()).collect()
}

/// The outcome of an experiment of one run.
fn outcome(text: &str) -> Outcome {
    let experiment = experiment(text);
    assert_eq!((experiment.cells().len(), experiment.replications()), (1, 1));
    outcomes(&experiment).remove(0).remove(0)
}

/// Asserts that a count of successes in `trials` trials is what probability `share` makes likely: within five
/// standard deviations (two in a million tests would fail by chance; the seeds are fixed).
#[track_caller]
fn assert_binomial(count: u64, trials: u64, share: f64, what: &str) {
    let (mean, n) = (trials as f64 * share, trials as f64);
    let tolerance = 5.0 * (n * share * (1.0 - share)).sqrt();
    assert!(
        (count as f64 - mean).abs() <= tolerance,
        "{what}: {count} of {trials}, expected {mean:.1} +- {tolerance:.1}"
    );
}

//! Cells whose runs remember that they began with all backends up: their failures and repairs forget more slowly than
//! warm-up and window last.

use super::expect::expect;
use crate::experiment::Experiment;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::tables::CellSummary;
use crate::sim::scenario::{Failures, Scenario, Timing};
use crate::time::SimDuration;

/// The share of the way from the beginning to the long run that a window may lack on average.
const SMALLEST_SHARE: f64 = 0.1;
/// Shares that differ by less are not mentioned.
const SMALLEST_DIFFERENCE: f64 = 0.002;
/// Scenarios with more states of health are not looked at: a run does not wait for that.
const STATES_MAX: usize = 2_000;
/// After so many time constants the beginning is forgotten but for 5 %.
const TIMES_TO_FORGET: f64 = 3.0;

/// A sentence for each cell whose world has not forgotten its beginning, with what was measured beside the long run of the
/// rules alone.
pub fn unforgotten(experiment: &Experiment, summaries: &[CellSummary]) -> Vec<String> {
    let cells = experiment.cells().iter().zip(summaries);
    let sentence = |(cell, summary)| {
        let scenario = experiment.scenario(cell);
        let (failures, share) = slowest(&scenario)?;
        let beside = beside(&scenario, summary)?;
        Some(sentence(&experiment.describe(cell), &scenario.timing, (failures, share), &beside))
    };
    cells.filter_map(sentence).collect()
}

/// The failures that forget most slowly, and the share of the way to the long run that the window lacks, if that is much.
fn slowest(scenario: &Scenario) -> Option<(&Failures, f64)> {
    let groups = scenario.groups.iter().filter_map(|group| group.server.failures.as_ref());
    let shares = groups.map(|failures| (failures, lacking(failures, &scenario.timing)));
    shares.filter(|(_, share)| *share > SMALLEST_SHARE).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The time constant with which the probability of being up nears its long run, in nanoseconds: exact for exponential times.
fn time_constant(failures: &Failures) -> f64 {
    let (up, down) = (failures.time_to_failure.mean(), failures.time_to_repair.mean());
    up * down / (up + down)
}

/// The mean over the window of exp(-t / time constant).
fn lacking(failures: &Failures, timing: &Timing) -> f64 {
    let constant = time_constant(failures);
    let [warmup, window] = [timing.warmup, timing.duration].map(|length| length.as_nanos() as f64 / constant);
    libm::exp(-warmup) * -libm::expm1(-window) / window
}

/// What the rules alone give in the long run beside what was measured, where these differ.
fn beside(scenario: &Scenario, summary: &CellSummary) -> Option<String> {
    let expectation = expect(scenario, STATES_MAX).ok()?;
    let text = |value: f64| Unit::Percent.text(value);
    let differs = |(metric, expected): (&'static Metric, Option<f64>)| {
        let found = summary.metrics.iter().find(|found| found.metric.name == metric.name)?;
        let (measured, expected) = (found.interval?.mean, expected?);
        ((measured - expected).abs() >= SMALLEST_DIFFERENCE).then(|| {
            format!(
                "{} is {} here, and {} in the long run by the rules alone",
                metric.name,
                text(measured),
                text(expected)
            )
        })
    };
    let found: Vec<String> = expectation.mean.as_metrics().into_iter().filter_map(differs).collect();
    (!found.is_empty()).then(|| found.join("; "))
}

fn sentence(name: &str, timing: &Timing, (failures, share): (&Failures, f64), beside: &str) -> String {
    let whole = |nanos: f64| SimDuration::from_secs((nanos / 1e9).ceil() as u64);
    format!(
        "{name} has not forgotten that runs begin with all backends up: repair takes {}, the warm-up {} and the window {}, \
         which lacks {} of the way to the long run; {beside}; a simulation.warmup of {} would forget it",
        whole(failures.time_to_repair.mean()),
        timing.warmup,
        timing.duration,
        Unit::Percent.text(share),
        whole(TIMES_TO_FORGET * time_constant(failures)),
    )
}

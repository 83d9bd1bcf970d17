//! Cells whose runs remember that they began with all backends up: their failures and repairs forget more slowly than
//! warm-up and window last.

use super::expect::expect;
use crate::experiment::Experiment;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::tables::CellSummary;
use crate::sim::scenario::{InitialHealth, Renewals, Scenario, Timing};
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
        let (renewals, share) = slowest(&scenario, &scenario.timing)?;
        let beside = beside(&scenario, summary)?;
        Some(sentence(&experiment.describe(cell), &scenario.timing, (renewals, share), &beside))
    };
    cells.filter_map(sentence).collect()
}

/// What fails at random and forgets most slowly how it began, and the share of the way to the long run that the window lacks, if
/// that is much. Worlds that begin in their long run have nothing to forget.
fn slowest<'a>(scenario: &'a Scenario, timing: &Timing) -> Option<(Renewals<'a>, f64)> {
    if scenario.initial_health == InitialHealth::Stationary {
        return None;
    }
    let shares = scenario.renewals().map(|renewals| (renewals, lacking(renewals, timing)));
    shares.filter(|(_, share)| *share > SMALLEST_SHARE).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// How long a warm-up must be so that the failures of `scenario` have forgotten that nothing had failed at first; nothing if
/// after `warmup` they have.
pub fn time_to_forget(scenario: &Scenario, warmup: SimDuration) -> Option<SimDuration> {
    let timing = Timing { warmup, ..scenario.timing };
    slowest(scenario, &timing).map(|(renewals, _)| needed(renewals))
}

fn needed(renewals: Renewals<'_>) -> SimDuration {
    whole_seconds(TIMES_TO_FORGET * time_constant(renewals))
}

fn whole_seconds(nanos: f64) -> SimDuration {
    SimDuration::from_secs((nanos / 1e9).ceil() as u64)
}

/// The time constant with which the probability of being up nears its long run, in nanoseconds: exact for exponential times.
fn time_constant(renewals: Renewals<'_>) -> f64 {
    renewals.availability() * renewals.down.mean()
}

/// The mean over the window of exp(-t / time constant).
fn lacking(renewals: Renewals<'_>, timing: &Timing) -> f64 {
    let constant = time_constant(renewals);
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

fn sentence(name: &str, timing: &Timing, (renewals, share): (Renewals<'_>, f64), beside: &str) -> String {
    format!(
        "{name} has not forgotten that runs begin with all backends up: repair takes {}, the warm-up {} and the window {}, \
         which lacks {} of the way to the long run; {beside}; a simulation.warmup of {} would forget it, and \
         simulation.initial_health = \"stationary\" begins in the long run",
        whole_seconds(renewals.down.mean()),
        timing.warmup,
        timing.duration,
        Unit::Percent.text(share),
        needed(renewals),
    )
}

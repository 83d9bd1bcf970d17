//! Where a simulation disagrees with what the rules alone give, where both speak of the same.

use crate::answers::compare::FAMILY_ERROR;
use crate::answers::expect::{caveats, expect};
use crate::experiment::Experiment;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::tables::CellSummary;
use crate::stats::{Estimate, Family, Interval};

/// Shares that differ by less than this are not mentioned: rare states and the time until a failure is detected, which
/// the expectation leaves out, move them that far.
const SMALLEST_DIFFERENCE: f64 = 0.002;
/// Scenarios with more states of health are not looked at: a run does not wait for that.
const STATES_MAX: usize = 2_000;

/// A simulated share beside the expected one.
struct Pair {
    metric: &'static Metric,
    place: String,
    simulated: Estimate,
    expected: f64,
}

/// A sentence for each share whose interval, corrected for all that is looked at, misses the expected one.
pub fn disagreements(experiment: &Experiment, summaries: &[CellSummary]) -> Vec<String> {
    let pairs = pairs(experiment, summaries);
    let error = Family::new(FAMILY_ERROR, pairs.len()).each();
    pairs.iter().filter_map(|pair| sentence(pair, error)).collect()
}

fn pairs(experiment: &Experiment, summaries: &[CellSummary]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (cell, summary) in experiment.cells().iter().zip(summaries) {
        let scenario = experiment.scenario(cell);
        if caveats(&scenario).iter().any(|caveat| caveat.forbids_comparison) {
            continue;
        }
        let Ok(expectation) = expect(&scenario, STATES_MAX) else { continue };
        for (metric, expected) in expectation.mean.as_metrics() {
            let found = summary.metrics.iter().find(|found| found.metric.name == metric.name);
            let interval = found.and_then(|found| found.interval);
            // What few replications have any of may be larger than its spread says.
            let is_possible = |found: &Interval| {
                found
                    .ends
                    .zip(expected)
                    .is_some_and(|((low, high), expected)| low <= expected && expected <= high)
            };
            let interval = interval.filter(|found| !is_possible(found));
            if let (Some(interval), Some(expected)) = (interval, expected) {
                let simulated = Estimate { n: interval.n, value: interval.mean, std_dev: interval.std_dev };
                pairs.push(Pair { metric, place: experiment.describe(cell), simulated, expected });
            }
        }
    }
    pairs
}

fn sentence(pair: &Pair, error: f64) -> Option<String> {
    let Pair { metric, place, simulated, expected } = pair;
    let (low, high) = simulated.ends(error)?;
    let agrees = low <= *expected && *expected <= high;
    if agrees || (simulated.value - expected).abs() < SMALLEST_DIFFERENCE {
        return None;
    }
    let text = |value: f64| Unit::Percent.text(value);
    Some(format!(
        "{} is {} ({} to {}) in {place}, and {} is expected from the rules alone; `zonesim expect` says what \
         that leaves out",
        metric.name,
        text(simulated.value),
        text(low),
        text(high),
        text(*expected)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(expected: f64, std_dev: f64) -> Pair {
        let simulated = Estimate { n: 10, value: 0.5, std_dev: Some(std_dev) };
        Pair {
            metric: Metric::named("cross_zone_connection_ratio"),
            place: "arm `x`".to_owned(),
            simulated,
            expected,
        }
    }

    #[test]
    fn only_shown_and_noticeable_differences_are_said() {
        assert_eq!(sentence(&pair(0.51, 0.1), 0.05), None, "within the interval");
        assert_eq!(sentence(&pair(0.501, 0.000_1), 0.05), None, "too small to matter");
        let said = sentence(&pair(0.6, 0.01), 0.05).unwrap();
        assert!(said.contains("50 %") && said.contains("60 %") && said.contains("arm `x`"), "{said}");
    }
}

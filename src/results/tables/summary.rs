//! Each metric over the replications of a cell.

use super::csv_file::Field;
use crate::metrics::{METRICS, Metric, Run};
use crate::results::steadiness::Doubt;
use crate::stats::{Confidence, Interval, Observation, Sample};

/// The columns of `summary.csv` after cell, arm and axes.
pub(super) const SUMMARY_COLUMNS: [&str; 8] =
    ["metric", "unit", "n", "mean", "std_dev", "ci_low", "ci_high", "confidence"];

/// The confidence of every interval.
const CONFIDENCE: Confidence = Confidence::P95;

/// A cell's metrics over its replications.
#[derive(Clone, Debug)]
pub struct CellSummary {
    /// The cell's number.
    pub cell: usize,
    /// How many replications it has.
    pub replications: usize,
    /// The beginning that its runs still show, if they do.
    pub doubt: Option<Doubt>,
    /// Every metric, in the order of [`METRICS`].
    pub metrics: Vec<MetricSummary>,
}

/// One metric over the replications of a cell.
#[derive(Clone, Copy, Debug)]
pub struct MetricSummary {
    /// Which metric.
    pub metric: &'static Metric,
    /// Its estimate; absent if no replication has a value.
    pub interval: Option<Interval>,
}

/// What the replications of a cell said so far of each metric.
#[derive(Debug, Default)]
pub(super) struct Observations {
    replications: Vec<Vec<Option<Observation>>>,
}

impl Observations {
    /// Adds one replication.
    pub(super) fn add(&mut self, run: &Run<'_>) {
        self.replications.push(METRICS.iter().map(|metric| metric.observe(run)).collect());
    }

    /// Each metric over all replications.
    pub(super) fn summarize(&self, cell: usize, doubt: Option<Doubt>) -> CellSummary {
        let metrics = METRICS.iter().enumerate().map(|(index, metric)| {
            let sample: Sample = self.replications.iter().filter_map(|found| found[index]).collect();
            let interval = sample.estimate().map(|estimate| Interval::of(estimate, CONFIDENCE));
            MetricSummary { metric, interval }
        });
        CellSummary { cell, replications: self.replications.len(), doubt, metrics: metrics.collect() }
    }
}

/// The fields of one row of `summary.csv` after cell, arm and axes.
pub(super) fn fields(summary: &MetricSummary) -> [Field<'static>; SUMMARY_COLUMNS.len()] {
    let interval = summary.interval;
    let ends = interval.and_then(|interval| interval.ends());
    [
        Field::Text(summary.metric.name),
        Field::Text(summary.metric.unit),
        Field::Count(interval.map_or(0, |interval| interval.n)),
        Field::Number(interval.map(|interval| interval.mean)),
        Field::Number(interval.and_then(|interval| interval.std_dev)),
        Field::Number(ends.map(|(low, _)| low)),
        Field::Number(ends.map(|(_, high)| high)),
        Field::Number(ends.map(|_| CONFIDENCE.into())),
    ]
}

//! Each metric over the replications of a cell.

use super::csv_file::Field;
use crate::sim::metric::{Formula, METRICS, Metric, Run};
use crate::stats::{Confidence, Interval, ratio_interval, student_interval};

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

/// What the replications of a cell gave so far: for each metric its values, or its parts and wholes.
#[derive(Debug, Default)]
pub(super) struct Observations {
    replications: Vec<Vec<Observation>>,
}

#[derive(Clone, Copy, Debug)]
enum Observation {
    Value(Option<f64>),
    Ratio { part: f64, whole: f64 },
}

impl Observations {
    /// Adds one replication.
    pub(super) fn add(&mut self, run: &Run<'_>) {
        let observe = |metric: &Metric| match metric.formula {
            Formula::Value(value) => Observation::Value(value(run)),
            Formula::Ratio { part, whole } => Observation::Ratio { part: part(run), whole: whole(run) },
        };
        self.replications.push(METRICS.iter().map(observe).collect());
    }

    /// Each metric over all replications.
    pub(super) fn summarize(&self, cell: usize) -> CellSummary {
        let metrics = METRICS.iter().enumerate().map(|(index, metric)| {
            let (mut values, mut parts, mut wholes) = (Vec::new(), Vec::new(), Vec::new());
            for replication in &self.replications {
                match replication[index] {
                    Observation::Value(value) => values.extend(value),
                    Observation::Ratio { part, whole } => {
                        parts.push(part);
                        wholes.push(whole);
                    }
                }
            }
            let interval = match metric.formula {
                Formula::Value(_) => student_interval(&values, CONFIDENCE),
                Formula::Ratio { .. } => ratio_interval(&parts, &wholes, CONFIDENCE),
            };
            MetricSummary { metric, interval }
        });
        CellSummary { cell, metrics: metrics.collect() }
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

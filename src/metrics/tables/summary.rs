//! Metrics over the replications of cells.

use super::Field;
use crate::metrics::{METRICS, Metric};
use crate::stats::{Confidence, Interval, Observation, Sample};

const CONFIDENCE: Confidence = Confidence::P95;

/// One metric over the replications of a cell.
#[derive(Clone, Copy, Debug)]
pub struct MetricSummary {
    /// Which metric.
    pub metric: &'static Metric,
    /// Its estimate; absent if no replication has a value.
    pub interval: Option<Interval>,
}

results_file! {
    SummaryRow in "summary.csv" each metric: "A metric of a cell over its replications.";
    of (metric: &'static Metric, found: Option<Interval>)
    text metric "the metric's name" = metric.name;
    text unit "its unit" = metric.unit;
    count n ["1"] "how many replications have a value" = found.map_or(0, |interval| interval.n);
    number mean ["of the metric"] "their mean" = found.map(|interval| interval.mean);
    number std_dev ["of the metric"] "their standard deviation" = found.and_then(|interval| interval.std_dev);
    signed ci_low ["of the metric"] "the lower end of the mean's confidence interval" = found.and_then(|interval| Some(interval.ends?.0));
    signed ci_high ["of the metric"] "its upper end; empty where nothing bounds it"
        = found.and_then(|interval| Some(interval.ends?.1)).filter(|high| high.is_finite());
    number confidence ["1"] "its confidence, 0 to 1" = found.and_then(|interval| interval.ends).map(|_| CONFIDENCE.into());
    count n_nonzero ["1"] "how many of the replications have a value other than 0" = found.map_or(0, |interval| interval.hit);
}

/// Each metric over the replications of a cell, of which `found` gives what each said of the metric with a number in
/// [`METRICS`]; whether health differs between them ([`Scenario::health_varies`](crate::sim::scenario::Scenario::health_varies)).
pub fn summarize(
    found: impl Fn(usize) -> Vec<Option<Observation>>,
    health_varies: bool,
) -> Vec<MetricSummary> {
    let one = |(index, metric): (usize, &'static Metric)| {
        let sample: Sample = found(index).into_iter().flatten().collect();
        MetricSummary { metric, interval: Interval::of(&sample, metric.nature(health_varies), CONFIDENCE) }
    };
    METRICS.iter().enumerate().map(one).collect()
}

impl SummaryRow {
    /// The ends of the interval; the upper one is infinite where nothing bounds it.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.ci_low.map(|low| (low, self.ci_high.unwrap_or(f64::INFINITY)))
    }
}

impl MetricSummary {
    /// The fields of its row after cell, arm and axes.
    pub fn fields(self) -> Vec<Field<'static>> {
        SummaryRow::fields(self.metric, self.interval)
    }
}

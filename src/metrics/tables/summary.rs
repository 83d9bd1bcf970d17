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
    of (metric: &'static Metric, found: Option<Interval>, ends: Option<(f64, f64)>)
    text metric "the metric's name" = metric.name;
    text unit "its unit" = metric.unit;
    count n ["1"] "how many replications have a value" = found.map_or(0, |interval| interval.n);
    number mean ["of the metric"] "their mean" = found.map(|interval| interval.mean);
    number std_dev ["of the metric"] "their standard deviation" = found.and_then(|interval| interval.std_dev);
    signed ci_low ["of the metric"] "the lower end of the mean's confidence interval" = ends.map(|(low, _)| low);
    signed ci_high ["of the metric"] "its upper end" = ends.map(|(_, high)| high);
    number confidence ["1"] "its confidence, 0 to 1" = ends.map(|_| CONFIDENCE.into());
}

/// Each metric over the replications of a cell, of which each said something of all, in the order of [`METRICS`].
pub fn summarize(replications: &[Vec<Option<Observation>>]) -> Vec<MetricSummary> {
    let one = |(index, metric): (usize, &'static Metric)| {
        let sample: Sample = replications.iter().filter_map(|found| found[index]).collect();
        let interval = if metric.comes_in_outages() {
            Interval::of_outages(&sample, CONFIDENCE)
        } else {
            sample.estimate().map(|estimate| Interval::of(estimate, CONFIDENCE))
        };
        MetricSummary { metric, interval }
    };
    METRICS.iter().enumerate().map(one).collect()
}

impl MetricSummary {
    /// The fields of its row after cell, arm and axes.
    pub fn fields(self) -> Vec<Field<'static>> {
        SummaryRow::fields(self.metric, self.interval, self.interval.and_then(|interval| interval.ends()))
    }
}

//! How many connections fail, and of what.

use super::metric;
use super::sheet::estimate;
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

const RATIO: &Metric = Metric::named("failure_ratio");

const CAUSES: [&Metric; 6] = [
    Metric::named("failed_no_backend"),
    Metric::named("failed_connect_timeout"),
    Metric::named("failed_refused"),
    Metric::named("failed_reset"),
    Metric::named("failed_request_timeout"),
    Metric::named("failed_queue_full"),
];

/// The most causes that are shown.
const MOST_CAUSES: usize = 3;

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let mut metrics = vec![RATIO];
    let causes = causes(results);
    // A single cause would draw the same picture twice.
    if causes.len() > 1 {
        metrics.extend(causes.into_iter().take(MOST_CAUSES));
    }
    metric::figure(results, "Failed connections", &metrics)
}

/// The causes that occur, the most frequent first.
fn causes(results: &Results) -> Vec<&'static Metric> {
    let total = |metric: &Metric| -> f64 {
        results.cells.iter().filter_map(|cell| estimate(results, cell, metric)).map(|cause| cause.value).sum()
    };
    let mut causes: Vec<&Metric> = CAUSES.into_iter().filter(|cause| total(cause) > 0.0).collect();
    causes.sort_by(|a, b| total(b).total_cmp(&total(a)));
    causes
}

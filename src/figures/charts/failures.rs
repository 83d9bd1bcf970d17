//! How many connections fail, and of what.

use super::axis::ValueAxis;
use super::metric::{self, Metric};
use crate::figures::figure::Figure;
use crate::metrics::unit::Unit;
use crate::results::Results;

const RATIO: Metric = Metric {
    name: "failure_ratio",
    title: "Failed connections",
    axis: ValueAxis { label: "Connections (%)", unit: Unit::Percent, base: 0.0, log: false },
    row: Some("Failed connections (%)"),
};

const CAUSES: [Metric; 6] = [
    cause("failed_no_backend", "No backend"),
    cause("failed_connect_timeout", "Connect timeout"),
    cause("failed_refused", "Refused"),
    cause("failed_reset", "Reset"),
    cause("failed_request_timeout", "Request timeout"),
    cause("failed_queue_full", "Queue full"),
];

/// The most causes that are shown.
const MOST_CAUSES: usize = 3;

const fn cause(name: &'static str, title: &'static str) -> Metric {
    let axis = ValueAxis { label: "Connections per run", unit: Unit::Number, base: 0.0, log: false };
    Metric { name, title, axis, row: None }
}

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
fn causes(results: &Results) -> Vec<Metric> {
    let total = |metric: &Metric| -> f64 {
        results.cells.iter().filter_map(|cell| metric.estimate(results, cell)).map(|cause| cause.value).sum()
    };
    let mut causes: Vec<Metric> = CAUSES.into_iter().filter(|cause| total(cause) > 0.0).collect();
    causes.sort_by(|a, b| total(b).total_cmp(&total(a)));
    causes
}

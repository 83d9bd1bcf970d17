//! How long connecting and requests take, in the middle and in the tail.

use super::metric;
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

const METRICS: [&Metric; 4] = [
    Metric::named("request_p50_ms"),
    Metric::named("request_p99_ms"),
    Metric::named("connect_p50_ms"),
    Metric::named("connect_p99_ms"),
];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Latency", &METRICS)
}

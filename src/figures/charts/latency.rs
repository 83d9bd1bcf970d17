//! How long connecting and requests take, in the middle and in the tail.

use super::axis::ValueAxis;
use super::metric::{self, Metric};
use crate::figures::figure::Figure;
use crate::metrics::unit::Unit;
use crate::results::Results;

const METRICS: [Metric; 4] = [
    latency("request_p50_ms", "Request, median", None),
    latency("request_p99_ms", "Request, 99 % quantile", Some("Request, 99 % (ms)")),
    latency("connect_p50_ms", "Connect, median", None),
    latency("connect_p99_ms", "Connect, 99 % quantile", Some("Connect, 99 % (ms)")),
];

const fn latency(name: &'static str, title: &'static str, row: Option<&'static str>) -> Metric {
    let axis = ValueAxis { label: "Latency (ms)", unit: Unit::Number, base: 0.0, log: true };
    Metric { name, title, axis, row }
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Latency", &METRICS)
}

//! How unevenly backends and zones are loaded.

use super::axis::ValueAxis;
use super::metric::{self, Metric};
use crate::figures::figure::Figure;
use crate::metrics::unit::Unit;
use crate::results::Results;

const METRICS: [Metric; 2] = [
    imbalance("backend_load_max_over_mean", "Most loaded backend", "Backend load, max/mean"),
    imbalance("zone_load_max_over_mean", "Most loaded zone", "Zone load, max/mean"),
];

const fn imbalance(name: &'static str, title: &'static str, row: &'static str) -> Metric {
    let axis = ValueAxis { label: "Load over mean load", unit: Unit::Number, base: 1.0, log: false };
    Metric { name, title, axis, row: Some(row) }
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Load imbalance", &METRICS)
}

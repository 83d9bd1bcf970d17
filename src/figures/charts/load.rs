//! How unevenly backends and zones are loaded.

use super::metric;
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

const METRICS: [&Metric; 2] =
    [Metric::named("backend_load_max_over_mean"), Metric::named("zone_load_max_over_mean")];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Load imbalance", &METRICS)
}

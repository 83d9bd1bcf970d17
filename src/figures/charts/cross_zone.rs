//! How many connections leave their zone.

use super::metric;
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

const METRICS: [&Metric; 1] = [Metric::named("cross_zone_connection_ratio")];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Connections that leave their zone,", &METRICS)
}

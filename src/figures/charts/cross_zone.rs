//! How many connections leave their zone.

use super::axis::ValueAxis;
use super::metric::{self, Metric};
use crate::figures::figure::Figure;
use crate::metrics::unit::Unit;
use crate::results::Results;

const METRICS: [Metric; 1] = [Metric {
    name: "cross_zone_connection_ratio",
    title: "Connections to another zone",
    axis: ValueAxis { label: "Connections (%)", unit: Unit::Percent, base: 0.0, log: false },
    row: Some("Cross-zone connections (%)"),
}];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    metric::figure(results, "Connections that leave their zone,", &METRICS)
}

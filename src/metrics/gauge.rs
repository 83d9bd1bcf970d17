//! How to read a metric: which way is good, how it is written, and of what it is a part.
//!
//! Each of [`METRICS`](super::METRICS) has its gauge here; a test sees to that.

use super::unit::Unit;

/// Which values of a metric are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Good {
    /// Low ones.
    Low,
    /// Neither: whether more is better depends on the question.
    Neither,
}

/// Of what a ratio is a part, by where a results folder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// The run's connections.
    Connections,
    /// Connections of clients that have a zone in the region.
    ZonalConnections,
    /// Bytes, both ways, of clients that have a zone in the region.
    ZonalBytes,
    /// Round trips that were measured.
    RoundTrips,
}

/// How to read one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// The metric's name.
    pub name: &'static str,
    /// Which values are good.
    pub good: Good,
    /// How values are written.
    pub unit: Unit,
    /// Of what it is a part; absent for values of their own.
    pub whole: Option<Whole>,
}

const fn gauge(name: &'static str, good: Good, unit: Unit, whole: Option<Whole>) -> Gauge {
    Gauge { name, good, unit, whole }
}

use Good::{Low, Neither};
use Unit::{Number, Percent, Usd};

const OF_ALL: Option<Whole> = Some(Whole::Connections);

/// Every metric. Counts of work done are neither good nor bad: arms meet the same arrivals, and what differs comes of
/// failures and retries. The price of processing falls when traffic is lost, so that less is not better.
pub const GAUGES: &[Gauge] = &[
    gauge("connections", Neither, Number, None),
    gauge("failed_connections", Low, Number, None),
    gauge("failure_ratio", Low, Percent, OF_ALL),
    gauge("failed_no_backend", Low, Number, None),
    gauge("failed_connect_timeout", Low, Number, None),
    gauge("failed_refused", Low, Number, None),
    gauge("failed_reset", Low, Number, None),
    gauge("failed_request_timeout", Low, Number, None),
    gauge("failed_queue_full", Low, Number, None),
    gauge("requests", Neither, Number, None),
    gauge("cross_zone_connection_ratio", Low, Percent, Some(Whole::ZonalConnections)),
    gauge("cross_zone_byte_ratio", Low, Percent, Some(Whole::ZonalBytes)),
    gauge("cross_zone_bytes", Low, Number, None),
    gauge("cross_zone_usd_per_month", Low, Usd, None),
    gauge("processing_usd_per_month", Neither, Usd, None),
    gauge("connect_p50_ms", Low, Number, None),
    gauge("connect_p99_ms", Low, Number, None),
    gauge("request_p50_ms", Low, Number, None),
    gauge("request_p99_ms", Low, Number, None),
    gauge("network_rtt_mean_ms", Low, Number, Some(Whole::RoundTrips)),
    gauge("backend_load_max_over_mean", Low, Number, None),
    gauge("zone_load_max_over_mean", Low, Number, None),
    gauge("peak_utilization", Low, Percent, None),
    gauge("spilled_connection_ratio", Neither, Percent, OF_ALL),
    gauge("unhealthy_connection_ratio", Low, Percent, OF_ALL),
    gauge("conntrack_peak_entries", Neither, Number, None),
    gauge("conntrack_lookups", Neither, Number, None),
    gauge("conntrack_hits", Neither, Number, None),
    gauge("diverted_connections", Low, Number, None),
    gauge("health_transitions", Neither, Number, None),
    gauge("failover_switches", Neither, Number, None),
    gauge("mean_backends", Neither, Number, None),
];

/// The metrics that a comparison shows if nobody names others: what users lose, what it costs, how long they wait, and
/// how hot the hottest zone gets.
pub const HEADLINES: [&str; 5] = [
    "failure_ratio",
    "cross_zone_connection_ratio",
    "cross_zone_usd_per_month",
    "request_p99_ms",
    "zone_load_max_over_mean",
];

impl Gauge {
    /// The gauge of the metric called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        GAUGES.iter().find(|gauge| gauge.name == name)
    }

    /// The gauge of a metric of a results folder; one that this version does not know is a plain number.
    pub fn of(name: &str) -> Self {
        let unknown = Self { name: "", good: Neither, unit: Number, whole: None };
        Self::find(name).copied().unwrap_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Formula, METRICS};

    #[test]
    fn every_metric_has_its_gauge_in_the_same_order() {
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(GAUGES.iter().map(|gauge| gauge.name).collect::<Vec<_>>(), names);
        for (metric, gauge) in METRICS.iter().zip(GAUGES) {
            let is_ratio = matches!(metric.formula, Formula::Ratio { .. });
            assert_eq!(is_ratio, gauge.whole.is_some(), "{}", metric.name);
            assert_eq!(metric.unit == "USD/month", gauge.unit == Usd, "{}", metric.name);
            assert!(gauge.unit != Percent || metric.unit == "1", "{}", metric.name);
        }
        assert!(HEADLINES.iter().all(|name| Gauge::find(name).is_some()));
    }
}

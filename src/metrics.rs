//! The scalar metrics of a run: names, units, definitions and how each is computed, in one table.
//!
//! Headers, summaries, thresholds and comparisons derive from [`METRICS`]; to add a metric is to add a row.

pub mod gauge;
pub mod unit;

use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::backend::Role;
use crate::lb::policy::PlacementOutcome;
use crate::sim::outcome::{BackendOutcome, FailureCause, Latency, Outcome, Traffic};
use crate::sim::scenario::Scenario;
use crate::stats::Observation;

/// A run with what it simulated: all that a metric may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What was simulated.
    pub scenario: &'a Scenario,
    /// What was found.
    pub outcome: &'a Outcome,
    /// Latencies over all places and zones, merged once for all metrics.
    pub latency: &'a Latency,
}

/// How a metric's value comes about.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// A value of its own; its mean over replications is the mean of the values.
    Value(fn(&Run<'_>) -> Option<f64>),
    /// A part of a whole; its mean over replications is the ratio of the means.
    Ratio {
        /// The part.
        part: fn(&Run<'_>) -> f64,
        /// The whole.
        whole: fn(&Run<'_>) -> f64,
    },
}

/// One scalar metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name: a column of `runs.csv`.
    pub name: &'static str,
    /// Its unit; `1` for shares and counts of nothing else.
    pub unit: &'static str,
    /// What it means.
    pub definition: &'static str,
    /// How it is computed.
    pub formula: Formula,
}

impl Metric {
    /// The metric called `name`, if there is one.
    pub fn find(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// What `run` says of it; absent where there is nothing to measure.
    pub fn observe(&self, run: &Run<'_>) -> Option<Observation> {
        match self.formula {
            Formula::Value(value) => value(run).map(Observation::Value),
            Formula::Ratio { part, whole } => Some(Observation::Ratio { part: part(run), whole: whole(run) }),
        }
    }

    /// Its value in `run`; absent where there is nothing to measure.
    pub fn value(&self, run: &Run<'_>) -> Option<f64> {
        match self.formula {
            Formula::Value(value) => value(run),
            Formula::Ratio { part, whole } => {
                let whole = whole(run);
                (whole > 0.0).then(|| part(run) / whole)
            }
        }
    }
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// A month of 730 hours, as cloud prices count it.
const MONTH_SECONDS: f64 = 730.0 * 3600.0;

macro_rules! metrics {
    ($($name:ident [$unit:literal] $definition:literal = $formula:expr;)+) => {
        /// Every metric, in the order of the columns of `runs.csv`.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: stringify!($name), unit: $unit, definition: $definition, formula: $formula,
        }),+];
    };
}

/// A metric that counts.
macro_rules! count {
    ($run:ident => $value:expr) => {
        Formula::Value(|$run| Some($value as f64))
    };
}

metrics! {
    connections ["connections"] "connections whose first packet was sent in the measured window"
        = count!(run => run.outcome.total().connections);
    failed_connections ["connections"] "connections that never completed all their requests"
        = count!(run => run.outcome.total().failed_connections);
    failure_ratio ["1"] "failed connections over connections"
        = Formula::Ratio {
            part: |run| run.outcome.total().failed_connections as f64,
            whole: |run| run.outcome.total().connections as f64,
        };
    failed_no_backend ["connections"] "failed: the load balancer forwarded no packet of it to any backend"
        = count!(run => run.outcome.failed(FailureCause::NoBackend));
    failed_connect_timeout ["connections"] "failed: no handshake within the connect timeout"
        = count!(run => run.outcome.failed(FailureCause::ConnectTimeout));
    failed_refused ["connections"] "failed: a backend answered the SYN with RST"
        = count!(run => run.outcome.failed(FailureCause::Refused));
    failed_reset ["connections"] "failed: a backend answered a later packet with RST, or reset the connection when it failed"
        = count!(run => run.outcome.failed(FailureCause::Reset));
    failed_request_timeout ["connections"] "failed: no response within the request timeout"
        = count!(run => run.outcome.failed(FailureCause::RequestTimeout));
    failed_queue_full ["connections"] "failed: the backend's queue was full"
        = count!(run => run.outcome.failed(FailureCause::QueueFull));
    requests ["requests"] "requests that got their response"
        = count!(run => run.outcome.total().requests);
    cross_zone_connection_ratio ["1"] "share of the connections of clients in the region's zones that reached a backend of another zone"
        = Formula::Ratio {
            part: |run| cross_zone(run).connections as f64,
            whole: |run| zonal(run).connections as f64,
        };
    cross_zone_byte_ratio ["1"] "share of the bytes, both ways, of clients in the region's zones that crossed zones"
        = Formula::Ratio {
            part: |run| bytes(&cross_zone(run)),
            whole: |run| bytes(&zonal(run)),
        };
    cross_zone_bytes ["bytes"] "bytes, both ways, that crossed zones"
        = count!(run => bytes(&cross_zone(run)));
    cross_zone_usd_per_month ["USD/month"] "price of the bytes that crossed zones, for a month of 730 h at the window's rate"
        = Formula::Value(|run| {
            Some(monthly(run, bytes(&cross_zone(run)), run.scenario.prices.inter_zone_per_gib.usd()))
        });
    processing_usd_per_month ["USD/month"] "price of the bytes from clients to backends, for a month of 730 h at the window's rate"
        = Formula::Value(|run| {
            let sent = run.outcome.total().request_bytes as f64;
            Some(monthly(run, sent, run.scenario.prices.processing_per_gib.usd()))
        });
    connect_p50_ms ["ms"] "median time from the first SYN to the handshake's end"
        = Formula::Value(|run| run.latency.connect.quantile(500).map(millis));
    connect_p99_ms ["ms"] "99th percentile of the time from the first SYN to the handshake's end"
        = Formula::Value(|run| run.latency.connect.quantile(990).map(millis));
    request_p50_ms ["ms"] "median time from a request to its whole response"
        = Formula::Value(|run| run.latency.request.quantile(500).map(millis));
    request_p99_ms ["ms"] "99th percentile of the time from a request to its whole response"
        = Formula::Value(|run| run.latency.request.quantile(990).map(millis));
    network_rtt_mean_ms ["ms"] "mean round trip of handshakes and requests"
        = Formula::Ratio {
            part: |run| run.latency.network_rtt.sum() / 1e6,
            whole: |run| run.latency.network_rtt.count() as f64,
        };
    backend_load_max_over_mean ["1"] "requests of the busiest backend over the mean of the backends that can serve"
        = Formula::Value(|run| {
            let multiples = load_multiples(run.scenario, run.outcome)?;
            let all_along = multiples.pairs().filter(|(id, _)| {
                configured_share(run.scenario, &run.outcome.backends[*id]) >= LEAST_SHARE
            });
            all_along.filter_map(|(_, multiple)| *multiple).reduce(f64::max)
        });
    zone_load_max_over_mean ["1"] "requests per backend that can serve of the busiest zone, over the mean of all backends that can serve"
        = Formula::Value(zone_load_max_over_mean);
    peak_utilization ["1"] "highest share of busy workers of any backend over one sample interval"
        = Formula::Value(|run| {
            run.outcome.backends.iter().filter_map(|backend| backend.peak_utilization).reduce(f64::max)
        });
    spilled_connection_ratio ["1"] "share of connections that left the choice of their zone because too few of its backends were eligible"
        = Formula::Ratio {
            part: |run| run.outcome.decided(PlacementOutcome::Spilled) as f64,
            whole: |run| run.outcome.total().connections as f64,
        };
    unhealthy_connection_ratio ["1"] "share of connections placed on a backend that the load balancer held unhealthy"
        = Formula::Ratio {
            part: |run| run.outcome.unhealthy_connections as f64,
            whole: |run| run.outcome.total().connections as f64,
        };
    conntrack_peak_entries ["entries"] "most entries of the connection tracking table at one time; entries that die idle are counted up to 1/128 of the timeout longer"
        = count!(run => run.outcome.conntrack_peak_entries);
    conntrack_lookups ["packets"] "packets looked up in the connection tracking table"
        = count!(run => run.outcome.conntrack_lookups);
    conntrack_hits ["packets"] "lookups that found a live entry"
        = count!(run => run.outcome.conntrack_hits);
    diverted_connections ["connections"] "connections of which a later packet was sent to another backend"
        = count!(run => run.outcome.diverted_connections);
    health_transitions ["transitions"] "changes of a backend's state of health as the load balancer sees it"
        = count!(run => run.outcome.health_transitions);
    failover_switches ["switches"] "changes of the role that serves"
        = count!(run => run.outcome.failover_switches);
    mean_backends ["backends"] "configured backends, on average over time"
        = Formula::Value(mean_backends);
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

fn bytes(traffic: &Traffic) -> f64 {
    (traffic.request_bytes + traffic.response_bytes) as f64
}

fn monthly(run: &Run<'_>, bytes: f64, per_gib: f64) -> f64 {
    bytes / GIB * per_gib * MONTH_SECONDS / run.scenario.timing.duration.as_secs_f64()
}

/// The traffic of clients that have a zone in the region.
fn zonal(run: &Run<'_>) -> Traffic {
    traffic_where(run, |client_zone, _| client_zone.is_some())
}

/// The part of it that reached a backend of another zone.
fn cross_zone(run: &Run<'_>) -> Traffic {
    traffic_where(run, |client_zone, backend_zone| {
        client_zone.is_some() && backend_zone.is_some() && client_zone != backend_zone
    })
}

fn traffic_where(run: &Run<'_>, keep: fn(Option<ZoneId>, Option<ZoneId>) -> bool) -> Traffic {
    let scenario = run.scenario;
    let zone_of = |client| scenario.places[scenario.clients[client].place].zone;
    let rows = run.outcome.traffic.pairs().flat_map(|(client, row)| {
        row.pairs().filter(move |(backend_zone, _)| keep(zone_of(client), *backend_zone))
    });
    rows.map(|(_, traffic)| traffic).sum()
}

/// Each backend's requests over the mean of the backends that can serve: those of the role that served most requests. A
/// backend that was configured for a part of the window counts as that part of a backend, and one that never was has none.
/// `None` if there were no requests.
pub fn load_multiples(scenario: &Scenario, outcome: &Outcome) -> Option<IdVec<BackendId, Option<f64>>> {
    let (_, mean) = serving(scenario, outcome)?;
    let multiple = |backend: &BackendOutcome| {
        let share = configured_share(scenario, backend);
        (share > 0.0).then(|| backend.traffic.requests as f64 / share / mean)
    };
    Some(outcome.backends.iter().map(multiple).collect())
}

/// Backends that were configured for less than this share of the window have too few requests to be the busiest.
const LEAST_SHARE: f64 = 0.1;

/// The share of the window for which a backend was configured.
fn configured_share(scenario: &Scenario, backend: &BackendOutcome) -> f64 {
    backend.configured_nanos as f64 / scenario.timing.duration.as_nanos() as f64
}

fn mean_backends(run: &Run<'_>) -> Option<f64> {
    Some(run.outcome.backends.iter().map(|backend| configured_share(run.scenario, backend)).sum())
}

/// The role that served most requests, and the mean requests of its backends.
fn serving(scenario: &Scenario, outcome: &Outcome) -> Option<(Role, f64)> {
    let of_role = |role: Role| {
        let members = scenario.backends.pairs().filter(move |(_, spec)| spec.role == role);
        members.fold((0.0, 0), |(count, requests), (id, _)| {
            let backend = &outcome.backends[id];
            (count + configured_share(scenario, backend), requests + backend.traffic.requests)
        })
    };
    let (primary, failover) = (of_role(Role::Primary), of_role(Role::Failover));
    let (role, (count, requests)) =
        if failover.1 > primary.1 { (Role::Failover, failover) } else { (Role::Primary, primary) };
    (requests > 0 && count > 0.0).then(|| (role, requests as f64 / count))
}

fn zone_load_max_over_mean(run: &Run<'_>) -> Option<f64> {
    let (role, mean) = serving(run.scenario, run.outcome)?;
    let mut zones: IdVec<ZoneId, (f64, u64)> = run.scenario.zones.iter().map(|_| (0.0, 0)).collect();
    for (id, spec) in run.scenario.backends.pairs().filter(|(_, spec)| spec.role == role) {
        let (backends, requests) = &mut zones[spec.zone];
        *backends += configured_share(run.scenario, &run.outcome.backends[id]);
        *requests += run.outcome.backends[id].traffic.requests;
    }
    let loads = zones.iter().filter(|(backends, _)| *backends > 0.0);
    loads.map(|(backends, requests)| *requests as f64 / backends / mean).reduce(f64::max)
}

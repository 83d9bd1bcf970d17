//! How metrics are computed of a run.

use super::{MeasuredRun, MetricWhole};
use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::backend::Role;
use crate::sim::outcome::{BackendOutcome, Outcome, Traffic};
use crate::sim::scenario::{Price, Scenario};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// A month of 730 hours, as cloud prices count it.
const MONTH_SECONDS: f64 = 730.0 * 3600.0;
/// Backends that were configured for less than this share of the window have too few requests to be the busiest.
const LEAST_SHARE: f64 = 0.1;

/// How much of `whole` there is in `run`.
pub(super) fn size(whole: MetricWhole, run: &MeasuredRun<'_>) -> f64 {
    match whole {
        MetricWhole::Connections => run.outcome.total().connections as f64,
        MetricWhole::ZonalConnections => zonal(run).connections as f64,
        MetricWhole::ZonalBytes => bytes(&zonal(run)),
        MetricWhole::RoundTrips => run.latency.network_rtt.count() as f64,
    }
}

pub(super) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

pub(super) fn bytes(traffic: &Traffic) -> f64 {
    (traffic.request_bytes + traffic.response_bytes) as f64
}

pub(super) fn usd_per_month(run: &MeasuredRun<'_>, bytes: f64, per_gib: Price) -> f64 {
    bytes / GIB * per_gib.usd() * MONTH_SECONDS / run.scenario.timing.duration.as_secs_f64()
}

/// The traffic of clients that have a zone in the region.
fn zonal(run: &MeasuredRun<'_>) -> Traffic {
    traffic_where(run, |client_zone, _| client_zone.is_some())
}

/// The part of it that reached a backend of another zone.
pub(super) fn cross_zone(run: &MeasuredRun<'_>) -> Traffic {
    traffic_where(run, |client_zone, backend_zone| {
        client_zone.is_some() && backend_zone.is_some() && client_zone != backend_zone
    })
}

fn traffic_where(run: &MeasuredRun<'_>, keep: fn(Option<ZoneId>, Option<ZoneId>) -> bool) -> Traffic {
    let scenario = run.scenario;
    let zone_of = |client| scenario.places[scenario.clients[client].place].zone;
    let rows = run.outcome.traffic.pairs().flat_map(|(client, row)| {
        row.pairs().filter(move |(backend_zone, _)| keep(zone_of(client), *backend_zone))
    });
    rows.map(|(_, traffic)| traffic).sum()
}

/// Each backend's requests over the mean of those in the role that served most. One that was configured for a part of the
/// window counts as that part of a backend, and one that never was has no value. `None` without requests.
pub fn load_multiples(scenario: &Scenario, outcome: &Outcome) -> Option<IdVec<BackendId, Option<f64>>> {
    let (_, mean) = serving(scenario, outcome)?;
    let multiple = |backend: &BackendOutcome| {
        let share = configured_share(scenario, backend);
        (share > 0.0).then(|| backend.traffic.requests as f64 / share / mean)
    };
    Some(outcome.backends.iter().map(multiple).collect())
}

/// The share of the window for which a backend was configured.
fn configured_share(scenario: &Scenario, backend: &BackendOutcome) -> f64 {
    backend.configured_nanos as f64 / scenario.timing.duration.as_nanos() as f64
}

pub(super) fn mean_backends(run: &MeasuredRun<'_>) -> Option<f64> {
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

pub(super) fn busiest_zone(run: &MeasuredRun<'_>) -> Option<f64> {
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

pub(super) fn busiest_backend(run: &MeasuredRun<'_>) -> Option<f64> {
    let multiples = load_multiples(run.scenario, run.outcome)?;
    let all_along = multiples
        .pairs()
        .filter(|(id, _)| configured_share(run.scenario, &run.outcome.backends[*id]) >= LEAST_SHARE);
    all_along.filter_map(|(_, multiple)| *multiple).reduce(f64::max)
}

pub(super) fn peak_utilization(run: &MeasuredRun<'_>) -> Option<f64> {
    run.outcome.backends.iter().filter_map(|backend| backend.peak_utilization).reduce(f64::max)
}

//! How metrics are computed of a run.

use super::{MeasuredRun, MetricWhole};
use crate::ids::{LaneId, ZoneId};
use crate::sim::outcome::Traffic;
use crate::sim::scenario::Price;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// A month of 730 hours, as cloud prices count it.
const MONTH_SECONDS: f64 = 730.0 * 3600.0;
const HOUR_NANOS: f64 = 3600.0 * 1e9;

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

/// What the bytes that crossed zones cost a month. `None` where no client has a zone in the region: what their traffic costs,
/// such as replies to the internet, is priced apart (COST-2), and not known here.
pub(super) fn cross_zone_usd(run: &MeasuredRun<'_>) -> Option<f64> {
    let scenario = run.scenario;
    let is_zonal = scenario.clients.iter().any(|client| scenario.places[client.place].zone.is_some());
    is_zonal.then(|| usd_per_month(run, bytes(&cross_zone(run)), scenario.prices.inter_zone_per_gib))
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
    let lanes = scenario.lanes();
    let zone_of = |lane: LaneId| scenario.places[scenario.clients[lanes[lane].0].place].zone;
    let rows = run.outcome.traffic.pairs().flat_map(|(lane, row)| {
        let client_zone = zone_of(lane);
        row.pairs().filter(move |(backend_zone, _)| keep(client_zone, *backend_zone))
    });
    rows.map(|(_, traffic)| traffic).sum()
}

/// The price of what crossed zones for each GiB that clients of the region's zones got.
pub(super) fn cross_zone_usd_per_completed_gib(run: &MeasuredRun<'_>) -> Option<f64> {
    let got = zonal(run).response_bytes as f64;
    let price = run.scenario.prices.inter_zone_per_gib.usd();
    (got > 0.0).then(|| bytes(&cross_zone(run)) * price / got)
}

pub(super) fn open_connections(run: &MeasuredRun<'_>) -> Option<f64> {
    Some(run.outcome.open_nanos as f64 / run.scenario.timing.duration.as_nanos() as f64)
}

pub(super) fn broken_per_connection_hour(run: &MeasuredRun<'_>) -> Option<f64> {
    let hours = run.outcome.open_nanos as f64 / HOUR_NANOS;
    (hours > 0.0).then(|| run.outcome.broken_open as f64 / hours)
}

pub(super) fn split_connections(run: &MeasuredRun<'_>) -> Option<f64> {
    let (split, all) = (run.outcome.split_connections, run.outcome.led_back_connections);
    (all > 0).then(|| split as f64 / all as f64)
}

pub(super) fn peak_utilization(run: &MeasuredRun<'_>) -> Option<f64> {
    run.outcome.backends.iter().filter_map(|backend| backend.peak_utilization).reduce(f64::max)
}

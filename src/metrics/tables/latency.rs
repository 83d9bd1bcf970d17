//! Latencies between zones.

use super::{Field, millis};
use crate::ids::{PlaceId, ZoneId};
use crate::metrics::MeasuredRun;
use crate::sim::outcome::Latency;
use crate::stats::Histogram;

results_file! {
    LatencyRow in "latency.csv" by replication each client_zone, backend_zone, kind: "Latencies of one kind between two zones in one run.";
    of (run: &MeasuredRun<'a>, place: Option<PlaceId>, zone: Option<ZoneId>, kind: &'static str, found: &Histogram)
    text client_zone "the zone of the clients, or `all`"
        = place.map_or("all", |place| &run.scenario.places[place].name);
    text backend_zone "the zone of the backends, or `all`"
        = zone.map_or("all", |zone| &run.scenario.zones[zone]);
    text kind "`network_rtt`, `connect` or `request`" = kind;
    count count ["1"] "observations" = found.count();
    number mean_ms ["ms"] "their mean" = found.mean().map(|nanos| nanos / 1e6);
    number p50_ms ["ms"] "the median" = millis(found.quantile(500));
    number p90_ms ["ms"] "the 90 % quantile" = millis(found.quantile(900));
    number p99_ms ["ms"] "the 99 % quantile" = millis(found.quantile(990));
    number p999_ms ["ms"] "the 99.9 % quantile" = millis(found.quantile(999));
    number max_ms ["ms"] "the largest" = millis(found.max());
}

impl LatencyRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let mut rows = Vec::new();
        let mut push = |place, zone, latency: &Latency| {
            let measured = latency.kinds().into_iter().filter(|(_, found)| found.count() > 0);
            rows.extend(measured.map(|(kind, found)| Self::fields(run, place, zone, kind, found)));
        };
        for (place, by_zone) in run.outcome.latency.pairs() {
            let mut from_place = Latency::default();
            for (zone, latency) in by_zone.pairs() {
                from_place.merge(latency);
                push(Some(place), Some(zone), latency);
            }
            push(Some(place), None, &from_place);
        }
        push(None, None, run.latency);
        rows
    }
}

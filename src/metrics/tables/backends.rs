//! What backends did.

use super::Field;
use crate::metrics::MeasuredRun;
use crate::metrics::load::{MeasuredLoad, backend_loads};
use crate::sim::outcome::{BackendOutcome, Traffic};
use crate::sim::scenario::{BackendSpec, Scenario};

/// A backend and what it did; nothing for the connections that reached none.
type Known<'a> = Option<(&'a BackendSpec, &'a BackendOutcome)>;

results_file! {
    BackendRow in "backends.csv" by replication each backend, group, zone: "What one backend did in one run, or what reached none.";
    of (world: &'a Scenario, known: Known<'a>, traffic: &Traffic, load: &MeasuredLoad)
    text backend "the backend; empty for connections that reached none"
        = known.map_or("", |(spec, _)| &spec.name);
    text group "its group" = known.map_or("", |(spec, _)| &world.groups[spec.group].name);
    text zone "its zone" = known.map_or("", |(spec, _)| &world.zones[spec.zone]);
    count connections ["connections"] "connections" = traffic.connections;
    count requests ["requests"] "requests that got their response" = traffic.requests;
    number load_multiple ["1"] "connections over its fair share, as if all were well" = load.multiple;
    number utilization ["1"] "busy over available worker time" = load.utilization;
    number peak_active ["connections"] "the most connections at once"
        = known.map(|(_, found)| found.peak_active as f64);
    number unhealthy_s ["s"] "seconds that the load balancer held it unhealthy"
        = known.map(|(_, found)| found.unhealthy_nanos as f64 / 1e9);
    count failed_connections ["connections"] "connections that failed" = traffic.failed_connections;
    number mean_queue_length ["requests"] "the mean number of requests that waited"
        = known.and_then(|(_, found)| found.mean_queue_length);
    number mean_wait_ms ["ms"] "the mean time that requests waited"
        = known.and_then(|(_, found)| found.mean_wait).map(|nanos| nanos / 1e6);
    number offered_load ["1"] "arriving work over available worker time" = load.offered;
    number available_s ["s"] "seconds that it served while configured"
        = known.map(|(_, found)| found.available_nanos as f64 / 1e9);
}

impl BackendRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let MeasuredRun { scenario, outcome, .. } = *run;
        let loads = backend_loads(run);
        let of_backends = outcome.backends.pairs().map(|(backend, found)| {
            let known = Some((&scenario.backends[backend], found));
            Self::fields(scenario, known, &found.traffic, &loads[backend])
        });
        let nowhere = (outcome.nowhere.connections > 0).then_some(&outcome.nowhere);
        let no_load = MeasuredLoad::default();
        of_backends.chain(nowhere.map(|traffic| Self::fields(scenario, None, traffic, &no_load))).collect()
    }
}

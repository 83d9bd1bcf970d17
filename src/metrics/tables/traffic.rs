//! What client groups sent to each zone.

use super::Field;
use crate::ids::{ClientId, ZoneId};
use crate::metrics::MeasuredRun;
use crate::sim::outcome::Traffic;

results_file! {
    TrafficRow in "traffic.csv" by replication each client, client_zone, backend_zone: "What one client group sent to one zone in one run.";
    of (run: &MeasuredRun<'a>, client: ClientId, zone: Option<ZoneId>, traffic: &Traffic)
    text client "the client group"
        = &run.scenario.clients[client].name;
    text client_zone "where it is: a zone, a kind or another region"
        = &run.scenario.places[run.scenario.clients[client].place].name;
    text backend_zone "the zone of the backends; empty where no backend was reached"
        = zone.map_or("", |zone| &run.scenario.zones[zone]);
    count connections ["connections"] "connections" = traffic.connections;
    count failed_connections ["connections"] "connections that failed" = traffic.failed_connections;
    count requests ["requests"] "requests that got their response" = traffic.requests;
    count request_bytes ["bytes"] "bytes from the clients" = traffic.request_bytes;
    count response_bytes ["bytes"] "bytes to the clients" = traffic.response_bytes;
}

impl TrafficRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let lanes = run.scenario.lanes();
        let pairs = lanes.iter().map(|(client, _)| *client).zip(&run.outcome.traffic);
        let all =
            pairs.flat_map(|(client, by_zone)| by_zone.pairs().map(move |(zone, it)| (client, zone, it)));
        // Connections that reached no backend have a row of their own, where there are any.
        let shown = all.filter(|(_, zone, traffic)| zone.is_some() || traffic.connections > 0);
        shown.map(|(client, zone, traffic)| Self::fields(run, client, zone, traffic)).collect()
    }
}

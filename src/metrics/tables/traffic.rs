//! What client groups sent to each zone.

use super::Field;
use crate::ids::{ClientId, RuleId, ZoneId};
use crate::metrics::MeasuredRun;
use crate::sim::outcome::{ByZone, Traffic};

results_file! {
    TrafficRow in "traffic.csv" by replication each client, rule, client_zone, backend_zone: "What one client group sent to one zone in one run.";
    of (run: &MeasuredRun<'a>, client: ClientId, rule: RuleId, zone: Option<ZoneId>, traffic: &Traffic)
    text client "the client group"
        = &run.scenario.clients[client].name;
    label rule "the forwarding rule; a column where there are several" = &run.scenario.rules[rule].name;
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
        let mut found: Vec<((ClientId, RuleId), ByZone<Traffic>)> = Vec::new();
        let lanes = run.scenario.lanes();
        for ((client, lane), by_zone) in lanes.iter().zip(&run.outcome.traffic) {
            match found.last_mut().filter(|(key, _)| *key == (*client, lane.rule)) {
                // Lanes of one rule that differ in their protocol.
                Some((_, sum)) => by_zone.pairs().for_each(|(zone, traffic)| *sum.at(zone) += traffic),
                None => found.push(((*client, lane.rule), by_zone.clone())),
            }
        }
        let mut rows = Vec::new();
        for ((client, rule), by_zone) in found {
            for (zone, traffic) in by_zone.pairs() {
                // Connections that reached no backend have a row of their own, where there are any.
                if zone.is_some() || traffic.connections > 0 {
                    rows.push(Self::fields(run, client, rule, zone, traffic));
                }
            }
        }
        rows
    }
}

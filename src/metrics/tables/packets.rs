//! Connections packet by packet.

use std::net::Ipv4Addr;

use super::Field;
use crate::sim::packets::TracedPacket;
use crate::sim::scenario::Scenario;
use crate::time::SimTime;

results_file! {
    PacketRow in "trace.csv" by replication: "One packet of a connection of a run.";
    of (world: &'a Scenario, packet: &TracedPacket)
    text time_s "simulated time (s) at which the client sends or receives it, to the nanosecond" = exact_seconds(packet.at);
    count connection ["connections"] "the number of the connection, from 1" = packet.connection as u64;
    text client "the client group" = &world.clients[packet.client].name;
    text address "the client's address" = Ipv4Addr::from(packet.source.ip).to_string();
    count port ["1"] "the client's port" = u64::from(packet.source.port);
    text packet "syn, syn-ack, request, response, ack, fin, rst, resend, unreachable, rejection, or timeout where none came"
        = packet.packet;
    number request ["1"] "which request of the connection it belongs to, from 1; empty before the first"
        = (packet.request > 0).then_some(f64::from(packet.request));
    text backend "the backend that it goes to or comes from"
        = packet.backend.map_or("", |backend| &world.backends[backend].name);
    text verdict "what the load balancer does with it: new, tracked, diverted, dropped; empty for answers" = packet.verdict;
    text outcome "the outcome of the placing decision behind that" = packet.outcome.map_or("", |outcome| outcome.name());
    text ended "how the connection ends with it: completed, replaced by a newer one, or why it failed" = packet.ended;
}

impl PacketRow {
    /// The fields of the row of `packet`.
    pub fn of<'a>(world: &'a Scenario, packet: &TracedPacket) -> Vec<Field<'a>> {
        Self::fields(world, packet)
    }
}

/// `time` in seconds, to the nanosecond.
fn exact_seconds(time: SimTime) -> String {
    let (seconds, nanos) = (time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000);
    let text = format!("{seconds}.{nanos:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

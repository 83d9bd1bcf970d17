//! The addresses of one client group, and what names its connections.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rand::Rng;

use super::ports::Ports;
use super::slots::Slots;
use crate::ids::ClientId;
use crate::random::{Purpose, RunSeed, Stream, StreamKey, below, open_unit};
use crate::sim::flow::{Flow, Flows, Mark};
use crate::sim::run_error::{RunError, RunResult};
use crate::sim::scenario::ClientGroup;
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, Arrivals, Backoff, ClosedLoop, TraceRow};

/// The ephemeral ports of a Linux client.
pub(super) const EPHEMERAL_PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// Ports of retries and replacements: apart, so that a retry in one arm shifts no port of another connection.
const LATER_PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// How many arrivals of a group are named at once, so that their tracking entries can be fetched together.
const NAMED_AT_ONCE: usize = 8;

/// What a key is made for, beside connections and their draws.
const RETRY: u64 = u64::MAX;
const REPLACEMENT: u64 = u64::MAX - 1;
const THINK: u64 = u64::MAX - 2;
const WAIT: u64 = u64::MAX - 3;

#[derive(Debug)]
pub(super) struct Senders {
    client: ClientId,
    arrivals: Arrivals,
    connections: StreamKey,
    opened: u64,
    choice: Stream,
    pub(super) coming: Vec<(SimTime, NewConnection)>,
    /// How many of `coming` have come.
    pub(super) come: usize,
    pub(super) ports: Ports,
    later_ports: Ports,
    retries: u8,
    backoff: Backoff,
    /// Connections that follow upon others, but not at once.
    pub(super) waiting: Slots<NewConnection>,
    pub(super) recorded: Option<Recorded>,
    pub(super) closed: Option<Closed>,
}

#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Each with the number of its client's address.
    pub(super) rows: Slots<(TraceRow, u32)>,
    addresses: BTreeMap<u64, u32>,
}

#[derive(Debug)]
pub(super) struct Closed {
    spec: ClosedLoop,
    pub(super) opened: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(in super::super) struct NewConnection {
    pub(in super::super) key: StreamKey,
    pub(in super::super) address: u32,
    pub(in super::super) port: u16,
    /// A client of a closed loop, a row of a trace, or else its address.
    pub(in super::super) number: u32,
    pub(in super::super) retries: u8,
    /// How many requests it makes, if that is not to be drawn.
    pub(in super::super) requests: Option<u32>,
}

impl NewConnection {
    /// The port of one whose address has a connection open on each: it fails at once.
    pub(in super::super) const NO_PORT: u16 = 0;
}

impl Senders {
    pub(super) fn new(client: ClientId, group: &ClientGroup, seed: RunSeed) -> Self {
        let addresses = group.addresses.get() as usize;
        let connections = seed.stream(Purpose::Connections, &group.name);
        let needs_later_ports = group.retries > 0 || group.max_age.is_some();
        let closed = match &group.arrivals {
            ArrivalSpec::Closed(spec) => {
                Some(Closed { opened: vec![0; spec.population.get() as usize], spec: spec.clone() })
            }
            _ => None,
        };
        Self {
            client,
            arrivals: group.arrivals.start(seed.stream(Purpose::Arrivals, &group.name).generator()),
            connections,
            opened: 0,
            coming: Vec::with_capacity(NAMED_AT_ONCE + 1),
            come: 0,
            choice: seed.stream(Purpose::Addresses, &group.name).generator(),
            ports: Ports::new(EPHEMERAL_PORTS, addresses),
            later_ports: Ports::new(LATER_PORTS, if needs_later_ports { addresses } else { 0 }),
            retries: group.retries,
            backoff: group.retry_backoff,
            waiting: Slots::default(),
            recorded: matches!(group.arrivals, ArrivalSpec::Trace(_)).then(Recorded::default),
            closed,
        }
    }

    /// Whether nobody needs to be told that a port is free.
    #[inline]
    pub(super) fn forgets_ports(&self) -> bool {
        !self.ports.are_known() && !self.later_ports.are_known()
    }

    #[inline]
    pub(super) fn free_port(&mut self, address: u32, port: u16) {
        let ports = if LATER_PORTS.contains(&port) { &mut self.later_ports } else { &mut self.ports };
        ports.release(address, port);
    }

    #[inline]
    fn name_next(&mut self, row: Option<TraceRow>, flows: &Flows<'_>) -> NewConnection {
        let key = self.connections.child(self.opened);
        self.opened += 1;
        let count = self.address_count();
        let (address, number, requests) = match (row, &mut self.recorded) {
            (Some(row), Some(recorded)) => {
                let address = recorded.address_of(row.client_id, count);
                (address, recorded.rows.put((row, address)), Some(1))
            }
            _ => {
                let address = below(self.choice.next_u64(), u64::from(count)) as u32;
                (address, address, None)
            }
        };
        let port = self.port(address, flows);
        NewConnection { key, address, port, number, requests, retries: self.retries }
    }

    /// The next connection of client `number` of a closed loop. Each client has one address.
    pub(super) fn turn(&mut self, number: u32, flows: &Flows<'_>) -> NewConnection {
        let key = self.turn_key(number);
        self.closed().opened[number as usize] += 1;
        let address = self.address(number);
        let port = self.port(address, flows);
        NewConnection { key, address, port, number, requests: None, retries: self.retries }
    }

    pub(super) fn think(&mut self, number: u32) -> SimDuration {
        let mut draws = self.turn_key(number).child(THINK).draws();
        self.closed().spec.think_time.sample(&mut draws)
    }

    /// The key of the next connection of client `number` of a closed loop: the same in every arm.
    fn turn_key(&mut self, number: u32) -> StreamKey {
        let opened = self.closed().opened[number as usize];
        self.connections.child(u64::from(number)).child(u64::from(opened))
    }

    fn closed(&mut self) -> &mut Closed {
        self.closed.as_mut().expect("only clients of a closed loop have turns")
    }

    /// Draws the next arrivals; tells when the first of them is, if it is before `end`.
    pub(super) fn draw_coming(&mut self, end: SimTime, flows: &Flows<'_>) -> RunResult<Option<SimTime>> {
        // The last one is only about to be opened: its port is in use, though no open connection says so yet.
        self.coming.drain(..self.come.saturating_sub(1));
        let last = self.coming.len();
        while self.coming.len() < last + NAMED_AT_ONCE {
            let arrival = self.arrivals.next().transpose().map_err(RunError::from)?;
            let Some(arrival) = arrival.filter(|arrival| arrival.at < end) else { break };
            let connection = self.name_next(arrival.trace, flows);
            self.coming.push((arrival.at, connection));
            if self.ports.are_known() {
                // Which ports are free by then is not known yet.
                break;
            }
        }
        self.coming.drain(..last);
        self.come = 0;
        Ok(self.coming.first().map(|(at, _)| *at))
    }

    /// Another try of a connection that has failed, and how long its client waits before it; its port is not known yet.
    pub(super) fn retry(&self, flow: &Flow) -> Option<(NewConnection, SimDuration)> {
        let retries = flow.retries_left.checked_sub(1)?;
        let requests = flow.marks.has(Mark::RequestsGiven).then_some(flow.requests);
        let again = NewConnection { retries, requests, ..self.after(flow, RETRY) };
        let chance = open_unit(again.key.child(WAIT).draws().next_u64());
        Some((again, self.backoff.wait(u32::from(self.retries - retries), chance)))
    }

    /// A connection that makes the requests that `flow` has not made; its port is not known yet.
    pub(super) fn replacement(&self, flow: &Flow) -> NewConnection {
        let requests = Some(flow.requests - flow.requests_sent);
        NewConnection { retries: self.retries, requests, ..self.after(flow, REPLACEMENT) }
    }

    /// A connection from where `flow` came from, with a key made for `purpose`; its port is not known yet.
    fn after(&self, flow: &Flow, purpose: u64) -> NewConnection {
        let (key, number) = (flow.key.child(purpose), flow.number);
        let address = self.address(number);
        NewConnection { key, address, port: 0, number, retries: self.retries, requests: None }
    }

    #[inline]
    pub(super) fn address(&self, number: u32) -> u32 {
        match (&self.recorded, &self.closed) {
            (None, None) => number,
            (Some(recorded), _) => recorded.rows[number].1,
            (None, Some(_)) => number % self.address_count(),
        }
    }

    #[inline]
    fn port(&mut self, address: u32, flows: &Flows<'_>) -> u16 {
        self.ports.take_fresh(address).unwrap_or_else(|| self.used_port(address, flows))
    }

    #[cold]
    fn used_port(&mut self, address: u32, flows: &Flows<'_>) -> u16 {
        if self.ports.must_know(address) {
            let open = flows.ports_in_use(self.client, EPHEMERAL_PORTS);
            let open = open.map(|(number, port)| (self.address(number), port));
            let coming = self.coming.iter().map(|(_, connection)| (connection.address, connection.port));
            let in_use = open.chain(coming).collect();
            self.ports.know(in_use);
        }
        self.ports.take(address).unwrap_or(NewConnection::NO_PORT)
    }

    pub(super) fn with_later_port(&mut self, connection: NewConnection, flows: &Flows<'_>) -> NewConnection {
        if self.later_ports.must_know(connection.address) {
            let open = flows.ports_in_use(self.client, LATER_PORTS);
            let in_use = open.map(|(number, port)| (self.address(number), port)).collect();
            self.later_ports.know(in_use);
        }
        let port = self.later_ports.take(connection.address).unwrap_or(NewConnection::NO_PORT);
        NewConnection { port, ..connection }
    }

    fn address_count(&self) -> u32 {
        self.ports.addresses()
    }
}

impl Recorded {
    /// Each client of the trace has an address of its own while there are any; then clients share them.
    fn address_of(&mut self, client_id: u64, count: u32) -> u32 {
        let next = self.addresses.len() as u32;
        if next < count {
            return *self.addresses.entry(client_id).or_insert(next);
        }
        self.addresses.get(&client_id).copied().unwrap_or_else(|| below(client_id, u64::from(count)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_a_trace_keep_their_address() {
        let mut recorded = Recorded::default();
        let mut addresses =
            |ids: &[u64]| ids.iter().map(|id| recorded.address_of(*id, 3)).collect::<Vec<u32>>();
        assert_eq!(addresses(&[70, 80, 70, 90, 80]), [0, 1, 0, 2, 1]);
        // There are no more addresses: others share them.
        assert_eq!(addresses(&[1, u64::MAX / 2, u64::MAX, 70, 1]), [0, 1, 2, 0, 0]);
    }
}

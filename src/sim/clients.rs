//! Client groups: when their connections begin, and from which addresses and ports.
//!
//! The engine asks for the next connection ([`Clients::take_next`]) and tells when one has ended ([`Clients::ended`]).
//! Whatever follows from that is for the group: another try, another turn of a closed loop, a free port.

mod ports;
mod slots;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;

use rand::Rng;

use super::flow::{Current, Draw, Flow, FlowState, Flows, Mark, Marks};
use super::run_error::RunError;
use super::scenario::{ClientGroup, Timing};
use crate::ids::{ClientId, Id, IdVec};
use crate::lb::packet::{Endpoint, FiveTuple, Packet, PacketKind, Protocol};
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::random::{Purpose, RunSeed, Stream, StreamKey, open_unit};
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, Arrivals, Backoff, ClosedLoop, TraceRow};
use ports::Ports;
use slots::Slots;

/// The ephemeral ports of a Linux client.
const EPHEMERAL_PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// Ports of connections that follow upon others, as retries do: these are apart, so that a retry in one arm shifts no port
/// of a later connection.
const LATER_PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// The address of the forwarding rule, 192.168.0.10:80, above all client addresses.
const SERVICE: Endpoint = Endpoint { ip: 0xC0A8_000A, port: 80 };
/// The first client address, 10.0.0.0.
const FIRST_ADDRESS: u32 = 0x0A00_0000;

/// How many arrivals of a group are named at once, so that their tracking entries can be fetched together.
const NAMED_AT_ONCE: usize = 8;

/// What a key is made for, beside connections and their draws.
const RETRY: u64 = u64::MAX;
const REPLACEMENT: u64 = u64::MAX - 1;
const THINK: u64 = u64::MAX - 2;
const WAIT: u64 = u64::MAX - 3;

/// The client groups of a run.
#[derive(Debug)]
pub(super) struct Clients {
    sources: IdVec<ClientId, Source>,
    groups: IdVec<ClientId, Senders>,
    /// Who opens a connection, and when. This is merged with the events, never queued with them.
    upcoming: BinaryHeap<Reverse<(SimTime, Opener)>>,
    timing: Timing,
    end: SimTime,
    /// Measured connections that are not over.
    measured: u64,
    /// Whether any client is itself a backend.
    are_backends: bool,
}

/// A client group and what of it opens a connection, in one word: they are sorted all the time. At equal times the first
/// group comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Opener(u64);

impl Opener {
    fn new(client: ClientId, turn: Turn) -> Self {
        let (kind, number) = match turn {
            Turn::Arrival => (0, 0),
            Turn::Client(number) => (1, number),
            Turn::Waiting(slot) => (2, slot),
        };
        Self((client.index() as u64) << 34 | kind << 32 | u64::from(number))
    }

    #[inline]
    fn client(self) -> ClientId {
        ClientId::from_index((self.0 >> 34) as usize)
    }

    #[inline]
    fn turn(self) -> Turn {
        let number = self.0 as u32;
        match self.0 >> 32 & 3 {
            0 => Turn::Arrival,
            1 => Turn::Client(number),
            _ => Turn::Waiting(number),
        }
    }
}

/// What opens a connection.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The next arrival of the group.
    Arrival,
    /// The client of a closed loop with this number, after it has thought.
    Client(u32),
    /// What waits in this slot.
    Waiting(u32),
}

/// What the packets of one client group have in common; apart from all else about it, because every packet needs it.
#[derive(Debug)]
struct Source {
    first_address: u32,
    protocol: Protocol,
    /// Whether a connection's number is that of its address: neither a client's of a closed loop nor a row's of a trace.
    numbers_are_addresses: bool,
    origin: TrafficOrigin,
}

/// One client group's addresses.
#[derive(Debug)]
struct Senders {
    name: String,
    arrivals: Arrivals,
    connections: StreamKey,
    opened: u64,
    choice: Stream,
    /// The arrivals that come next, with their times.
    coming: Vec<(SimTime, NewConnection)>,
    /// How many of them have come.
    come: usize,
    ports: Ports,
    later_ports: Ports,
    retries: u8,
    backoff: Backoff,
    /// Connections that follow upon others, but not at once.
    waiting: Slots<NewConnection>,
    recorded: Option<Recorded>,
    closed: Option<Closed>,
}

/// What a trace says of the connections that are open.
#[derive(Debug, Default)]
struct Recorded {
    /// Each with the number of its client's address.
    rows: Slots<(TraceRow, u32)>,
    /// The addresses of the clients that the trace named first.
    addresses: BTreeMap<u64, u32>,
}

/// The clients of a closed loop.
#[derive(Debug)]
struct Closed {
    spec: ClosedLoop,
    /// How many connections each of them has opened.
    opened: Vec<u32>,
}

/// What a new connection is.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewConnection {
    pub(super) key: StreamKey,
    pub(super) address: u32,
    pub(super) port: u16,
    /// What its group knows it by: a client of a closed loop, a row of a trace, or else its address.
    pub(super) number: u32,
    /// How often it is tried anew.
    pub(super) retries: u8,
    /// How many requests it makes, if that is not to be drawn.
    pub(super) requests: Option<u32>,
}

impl Clients {
    /// The groups of `clients`, which open connections until the measured window ends, once they [`begin`](Self::begin).
    pub(super) fn new(clients: &IdVec<ClientId, ClientGroup>, seed: RunSeed, timing: Timing) -> Self {
        let mut next_address = FIRST_ADDRESS;
        let mut source = |group: &ClientGroup| {
            let first_address = next_address;
            next_address += group.addresses.get();
            Source::new(group, first_address)
        };
        Self {
            sources: clients.iter().map(&mut source).collect(),
            groups: clients.iter().map(|group| Senders::new(group, seed)).collect(),
            upcoming: BinaryHeap::new(),
            timing,
            end: timing.window_end(),
            measured: 0,
            are_backends: clients.iter().any(|group| !group.own_backends.is_empty()),
        }
    }

    /// Every group plans its first connections.
    ///
    /// # Errors
    /// If a trace can't be read.
    pub(super) fn begin(&mut self, none: &Flows<'_>) -> Result<(), Box<RunError>> {
        for client in self.groups.ids() {
            let population = self.groups[client].closed.as_ref().map_or(0, |closed| closed.opened.len());
            for number in 0..population as u32 {
                let first = SimTime::ZERO + self.groups[client].think(number);
                self.plan(first, client, Turn::Client(number));
            }
            if let Some(first) = self.next_arrival(client, none)? {
                self.plan(first, client, Turn::Arrival);
            }
        }
        Ok(())
    }

    /// Whether any client is itself a backend.
    #[inline]
    pub(super) fn are_backends(&self) -> bool {
        self.are_backends
    }

    /// Whether measured connections are still under way.
    pub(super) fn are_waiting(&self) -> bool {
        self.measured > 0
    }

    /// When the next connection begins; never if there is none before the end.
    #[inline]
    pub(super) fn next_time(&self) -> SimTime {
        self.upcoming.peek().map_or(SimTime::NEVER, |Reverse((time, ..))| *time)
    }

    /// The next connection and its group. At equal times the first group comes first.
    ///
    /// # Errors
    /// If a group is out of ports, or a trace can't be read on.
    #[inline]
    pub(super) fn take_next(
        &mut self,
        flows: &Flows<'_>,
    ) -> Result<Option<(ClientId, NewConnection)>, Box<RunError>> {
        let Some(Reverse((_, opener))) = self.upcoming.peek().copied() else { return Ok(None) };
        let client = opener.client();
        let senders = &mut self.groups[client];
        let connection = match opener.turn() {
            Turn::Arrival => {
                let (_, connection) = senders.coming[senders.come];
                senders.come += 1;
                let next = match senders.coming.get(senders.come) {
                    Some((at, _)) => Some(*at),
                    None => self.next_arrival(client, flows)?,
                };
                let mut first = self.upcoming.peek_mut().expect("it was looked at");
                match next {
                    // Changing the first of them costs half of taking it out and putting another in.
                    Some(next) => first.0.0 = next,
                    None => drop(PeekMut::pop(first)),
                }
                return Ok(Some((client, connection)));
            }
            Turn::Client(number) => senders.turn(number, || flows.ports_in_use(client, EPHEMERAL_PORTS))?,
            Turn::Waiting(slot) => {
                let waiting = senders.waiting.take(slot);
                senders.with_later_port(waiting, || flows.ports_in_use(client, LATER_PORTS))?
            }
        };
        self.upcoming.pop();
        Ok(Some((client, connection)))
    }

    /// A client opens a connection.
    #[inline]
    pub(super) fn open<'f>(
        &mut self,
        now: SimTime,
        client: ClientId,
        new: NewConnection,
        flows: &'f mut Flows<'_>,
    ) -> Current<'f> {
        let NewConnection { key, port, number, retries, requests, .. } = new;
        let is_measured = self.timing.is_measured(now);
        self.measured += u64::from(is_measured);
        let mut marks = Marks::default();
        marks.set(Mark::Measured, is_measured);
        marks.set(Mark::RequestsGiven, requests.is_some());
        let group = flows.group(client);
        let mut flow = Flow {
            key,
            started: now,
            sent: now,
            trip: SimDuration::ZERO,
            number,
            incarnation: 0,
            requests_sent: 0,
            requests: 0,
            client,
            port,
            destination: 0,
            backend: None,
            state: FlowState::Connecting,
            outcome: PlacementOutcome::Dropped,
            syn_retries: 0,
            resends: 0,
            retries_left: retries,
            pending: 0,
            marks,
        };
        flow.requests = requests.unwrap_or_else(|| flow.draw(Draw::Requests, &group.connection.requests).0);
        flow.destination = flow.choose(Draw::Destination, group.destinations.get());
        flows.add(flow)
    }

    /// A packet of a connection.
    #[inline]
    pub(super) fn packet(&self, flow: &Flow, kind: PacketKind) -> Packet {
        let destination = Endpoint { ip: SERVICE.ip + u32::from(flow.destination), ..SERVICE };
        self.sources[flow.client].packet(self.address(flow), flow.port, destination, kind)
    }

    /// Packets of the connections that the group `client` opens next, as far as they are known, if they have just become
    /// known.
    pub(super) fn new_packets(&self, client: ClientId) -> impl Iterator<Item = Packet> {
        let senders = &self.groups[client];
        let new = if senders.come == 0 { senders.coming.as_slice() } else { &[] };
        new.iter().map(move |(_, NewConnection { address, port, .. })| {
            self.sources[client].packet(*address, *port, SERVICE, PacketKind::Syn)
        })
    }

    /// The number of a connection's client address in its group.
    #[inline]
    pub(super) fn address(&self, flow: &Flow) -> u32 {
        if self.sources[flow.client].numbers_are_addresses {
            return flow.number;
        }
        self.groups[flow.client].address(flow.number)
    }

    /// What was recorded of a connection, if it comes of a trace.
    #[inline]
    pub(super) fn recorded(&self, flow: &Flow) -> Option<&TraceRow> {
        if self.sources[flow.client].numbers_are_addresses {
            return None;
        }
        self.groups[flow.client].recorded.as_ref().map(|recorded| &recorded.rows[flow.number].0)
    }

    /// A connection is over: its port is free again, and unless another one goes on where it ends, its client is done.
    pub(super) fn ended(&mut self, now: SimTime, flow: &Flow, failed: bool) {
        self.measured -= u64::from(flow.is_measured());
        let senders = &mut self.groups[flow.client];
        if self.sources[flow.client].numbers_are_addresses && senders.forgets_ports() {
            return;
        }
        senders.free_port(senders.address(flow.number), flow.port);
        let goes_on = if failed { flow.retries_left > 0 } else { flow.requests_sent < flow.requests };
        if !goes_on {
            self.done(now, flow.client, flow.number, flow.started);
        }
    }

    /// A connection is not opened after all: its client is dead.
    pub(super) fn not_opened(&mut self, now: SimTime, client: ClientId, connection: NewConnection) {
        self.groups[client].free_port(connection.address, connection.port);
        self.done(now, client, connection.number, now);
    }

    /// Nothing follows upon a connection that began at `started`, of what `client` knows by `number`.
    #[inline]
    fn done(&mut self, now: SimTime, client: ClientId, number: u32, started: SimTime) {
        let senders = &mut self.groups[client];
        if let Some(recorded) = &mut senders.recorded {
            recorded.rows.take(number);
        }
        if senders.closed.is_some() {
            // Time passes even if neither connections nor thoughts take any.
            let next = (now + senders.think(number)).max(started + SimDuration::from_nanos(1));
            self.plan(next, client, Turn::Client(number));
        }
    }

    /// Another try of a connection that has failed, from another port of the same address: now, or, with a back-off,
    /// later.
    ///
    /// # Errors
    /// If its group is out of ports.
    pub(super) fn retry(
        &mut self,
        now: SimTime,
        flows: &Flows<'_>,
        flow: &Flow,
    ) -> Result<Option<NewConnection>, Box<RunError>> {
        let senders = &mut self.groups[flow.client];
        let Some(retries) = flow.retries_left.checked_sub(1) else { return Ok(None) };
        let requests = flow.marks.has(Mark::RequestsGiven).then_some(flow.requests);
        let again = NewConnection { retries, requests, ..senders.after(flow, RETRY) };
        let chance = open_unit(again.key.child(WAIT).draws().next_u64());
        let wait = senders.backoff.wait(u32::from(senders.retries - retries), chance);
        if wait.is_zero() {
            return senders.with_later_port(again, || flows.ports_in_use(flow.client, LATER_PORTS)).map(Some);
        }
        self.plan_later(now + wait, flow.client, again);
        Ok(None)
    }

    /// From `at` on, a new connection makes the requests that `flow`, which its client has closed, has not made.
    pub(super) fn go_on(&mut self, at: SimTime, flow: &Flow) {
        let senders = &self.groups[flow.client];
        let requests = Some(flow.requests - flow.requests_sent);
        let next = NewConnection { retries: senders.retries, requests, ..senders.after(flow, REPLACEMENT) };
        self.plan_later(at, flow.client, next);
    }

    fn plan_later(&mut self, at: SimTime, client: ClientId, connection: NewConnection) {
        let slot = self.groups[client].waiting.put(connection);
        self.plan(at, client, Turn::Waiting(slot));
    }

    /// Draws the next arrivals of a group; tells when the first of them is, if it is before the end.
    fn next_arrival(
        &mut self,
        client: ClientId,
        flows: &Flows<'_>,
    ) -> Result<Option<SimTime>, Box<RunError>> {
        let senders = &mut self.groups[client];
        // The last one is only about to be opened: its port is in use, though no open connection says so yet.
        senders.coming.drain(..senders.come.saturating_sub(1));
        let last = senders.coming.len();
        while senders.coming.len() < last + NAMED_AT_ONCE {
            let arrival = senders.arrivals.next().transpose().map_err(RunError::from)?;
            let Some(arrival) = arrival.filter(|arrival| arrival.at < self.end) else { break };
            let connection =
                senders.name_next(arrival.trace, || flows.ports_in_use(client, EPHEMERAL_PORTS))?;
            senders.coming.push((arrival.at, connection));
            if senders.ports.are_known() {
                // Which ports are free by then is not known yet.
                break;
            }
        }
        senders.coming.drain(..last);
        senders.come = 0;
        Ok(senders.coming.first().map(|(at, _)| *at))
    }

    /// Connections begin before the end, or not at all.
    fn plan(&mut self, at: SimTime, client: ClientId, turn: Turn) {
        if at < self.end {
            self.upcoming.push(Reverse((at, Opener::new(client, turn))));
        }
    }
}

impl Source {
    fn new(group: &ClientGroup, first_address: u32) -> Self {
        let has_numbers = matches!(group.arrivals, ArrivalSpec::Closed(_) | ArrivalSpec::Trace(_));
        Self {
            first_address,
            protocol: group.protocol,
            numbers_are_addresses: !has_numbers,
            origin: group.origin,
        }
    }

    #[inline]
    fn packet(&self, address: u32, port: u16, destination: Endpoint, kind: PacketKind) -> Packet {
        let source = Endpoint { ip: self.first_address + address, port };
        Packet {
            tuple: FiveTuple { source, destination, protocol: self.protocol },
            kind,
            origin: self.origin,
        }
    }
}

impl Senders {
    fn new(group: &ClientGroup, seed: RunSeed) -> Self {
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
            name: group.name.clone(),
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
    fn forgets_ports(&self) -> bool {
        !self.ports.are_known() && !self.later_ports.are_known()
    }

    #[inline]
    fn free_port(&mut self, address: u32, port: u16) {
        let ports = if LATER_PORTS.contains(&port) { &mut self.later_ports } else { &mut self.ports };
        ports.release(address, port);
    }

    /// Draws what names the next arrival, of which `row` was recorded.
    #[inline]
    fn name_next<I: Iterator<Item = (u32, u16)>>(
        &mut self,
        row: Option<TraceRow>,
        open: impl FnOnce() -> I,
    ) -> Result<NewConnection, Box<RunError>> {
        let key = self.connections.child(self.opened);
        self.opened += 1;
        let count = self.address_count();
        let (address, number, requests) = match (row, &mut self.recorded) {
            (Some(row), Some(recorded)) => {
                let address = recorded.address_of(row.client_id, count);
                (address, recorded.rows.put((row, address)), Some(1))
            }
            _ => {
                let address = choose(self.choice.next_u64(), count);
                (address, address, None)
            }
        };
        let port = self.port(address, open)?;
        Ok(NewConnection { key, address, port, number, requests, retries: self.retries })
    }

    /// The next connection of client `number` of a closed loop. Each client has one address.
    fn turn<I: Iterator<Item = (u32, u16)>>(
        &mut self,
        number: u32,
        open: impl FnOnce() -> I,
    ) -> Result<NewConnection, Box<RunError>> {
        let key = self.turn_key(number);
        self.closed().opened[number as usize] += 1;
        let address = self.address(number);
        let port = self.port(address, open)?;
        Ok(NewConnection { key, address, port, number, requests: None, retries: self.retries })
    }

    /// How long client `number` of a closed loop thinks before its next connection.
    fn think(&mut self, number: u32) -> SimDuration {
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

    /// A connection from where `flow` came from, with a key made for `purpose`; its port is not known yet.
    fn after(&self, flow: &Flow, purpose: u64) -> NewConnection {
        let (key, number) = (flow.key.child(purpose), flow.number);
        let address = self.address(number);
        NewConnection { key, address, port: 0, number, retries: self.retries, requests: None }
    }

    /// The number of the address of what the group knows by `number`.
    #[inline]
    fn address(&self, number: u32) -> u32 {
        match (&self.recorded, &self.closed) {
            (None, None) => number,
            (Some(recorded), _) => recorded.rows[number].1,
            (None, Some(_)) => number % self.address_count(),
        }
    }

    #[inline]
    fn port<I: Iterator<Item = (u32, u16)>>(
        &mut self,
        address: u32,
        open: impl FnOnce() -> I,
    ) -> Result<u16, Box<RunError>> {
        match self.ports.take_fresh(address) {
            Some(port) => Ok(port),
            None => self.used_port(address, open),
        }
    }

    #[cold]
    fn used_port<I: Iterator<Item = (u32, u16)>>(
        &mut self,
        address: u32,
        open: impl FnOnce() -> I,
    ) -> Result<u16, Box<RunError>> {
        if self.ports.must_know(address) {
            let open = open().map(|(number, port)| (self.address(number), port));
            let coming = self.coming.iter().map(|(_, connection)| (connection.address, connection.port));
            let in_use = open.chain(coming).collect();
            self.ports.know(in_use);
        }
        self.ports.take(address).ok_or_else(|| self.out_of_ports(EPHEMERAL_PORTS))
    }

    fn with_later_port<I: Iterator<Item = (u32, u16)>>(
        &mut self,
        connection: NewConnection,
        open: impl FnOnce() -> I,
    ) -> Result<NewConnection, Box<RunError>> {
        if self.later_ports.must_know(connection.address) {
            let in_use = open().map(|(number, port)| (self.address(number), port)).collect();
            self.later_ports.know(in_use);
        }
        let port = self.later_ports.take(connection.address);
        let port = port.ok_or_else(|| self.out_of_ports(LATER_PORTS))?;
        Ok(NewConnection { port, ..connection })
    }

    /// No real client could go on from here either.
    fn out_of_ports(&self, ports: RangeInclusive<u16>) -> Box<RunError> {
        let (group, addresses) = (self.name.clone(), self.address_count());
        Box::new(RunError::OutOfPorts { group, addresses, ports: ports.len() })
    }

    fn address_count(&self) -> u32 {
        self.ports.addresses()
    }
}

impl Recorded {
    /// The address of a client of the trace. Each has its own, one after the other, while there are any; then clients
    /// share them.
    fn address_of(&mut self, client_id: u64, count: u32) -> u32 {
        let next = self.addresses.len() as u32;
        if next < count {
            return *self.addresses.entry(client_id).or_insert(next);
        }
        self.addresses.get(&client_id).copied().unwrap_or_else(|| choose(client_id, count))
    }
}

/// One of `count` numbers from 0 on, each as likely as any other if `random` is.
fn choose(random: u64, count: u32) -> u32 {
    ((u128::from(random) * u128::from(count)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU16, NonZeroU32};

    use super::*;
    use crate::ids::PlaceId;
    use crate::lb::ratio::Ratio;
    use crate::workload::{ConnectionProfile, Rate};

    #[test]
    fn a_connection_that_is_about_to_open_keeps_its_port() {
        let group = ClientGroup {
            name: "web".to_owned(),
            place: PlaceId::from_index(0),
            origin: TrafficOrigin::Hybrid,
            protocol: Protocol::Tcp,
            fragmented: Ratio::new(0.0).unwrap(),
            destinations: NonZeroU16::MIN,
            addresses: NonZeroU32::MIN,
            own_backends: Vec::new(),
            arrivals: ArrivalSpec::Deterministic { rate: Rate::try_from(1000.0).unwrap() },
            connection: ConnectionProfile::default(),
            connect_timeout: SimDuration::from_secs(10),
            request_timeout: SimDuration::from_secs(30),
            retries: 0,
            retry_backoff: Backoff::default(),
            max_age: None,
        };
        let groups: IdVec<ClientId, ClientGroup> = [group].into_iter().collect();
        let (warmup, duration) = (SimDuration::ZERO, SimDuration::MAX);
        let timing = Timing { warmup, duration, sample_interval: duration };
        let mut clients = Clients::new(&groups, RunSeed::new(1, 0), timing);
        let none = Flows::new(&groups);
        clients.begin(&none).unwrap();
        // None is ever opened, so that all ports are free but those of the last one and of those to come; later ones end
        // at once, so that the ports go round.
        let mut next = |ends: bool| {
            let (client, connection) = clients.take_next(&none).unwrap().unwrap();
            if ends {
                clients.groups[client].free_port(connection.address, connection.port);
            }
            connection.port
        };
        let first: Vec<u16> = EPHEMERAL_PORTS.map(|_| next(false)).collect();
        let later: Vec<u16> = EPHEMERAL_PORTS.map(|_| next(true)).collect();
        assert!(first.is_sorted_by(|a, b| a < b), "all ports, each once");
        assert!(!later.contains(first.last().expect("there are ports")));
    }

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

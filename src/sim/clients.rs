//! Client groups: when their connections begin, and from which addresses and ports.
//!
//! The engine asks for the next connection ([`Clients::take_next`]) and tells when one has ended ([`Clients::ended`]).
//! Whatever follows from that is for the group: another try, another turn of a closed loop, a free port.

mod ports;
mod senders;
mod slots;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::flow::{Current, Draw, Flow, FlowState, Flows, Mark, Marks};
use super::run_error::RunResult;
use super::scenario::{ClientGroup, Lane, RuleSpec, Timing};
use crate::ids::{ClientId, Id, IdVec, RuleId};
use crate::lb::packet::{Endpoint, FiveTuple, Packet, PacketKind, Protocol};
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::random::RunSeed;
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, TraceRow};
pub(super) use senders::NewConnection;
use senders::{EPHEMERAL_PORTS, Senders};

/// The first client address, 10.0.0.0.
const FIRST_ADDRESS: u32 = 0x0A00_0000;

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
    are_backends: bool,
}

/// A client group and its turn, in one word because they are sorted all the time: the first group first.
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

#[derive(Clone, Copy, Debug)]
enum Turn {
    Arrival,
    /// The client of a closed loop with this number, after it has thought.
    Client(u32),
    Waiting(u32),
}

/// What the packets of one client group have in common; apart from all else about it, because every packet needs it.
#[derive(Debug)]
struct Source {
    first_address: u32,
    protocol: Protocol,
    /// The address of its rule, or the first of several destinations.
    destination: Endpoint,
    /// Whether a connection's number is that of its address: neither a client's of a closed loop nor a row's of a trace.
    numbers_are_addresses: bool,
    origin: TrafficOrigin,
    /// Where it has several.
    lanes: Option<Box<SourceLanes>>,
}

/// Where packets of a group go that has several lanes.
#[derive(Debug)]
struct SourceLanes {
    /// Each with its first destination.
    lanes: Vec<(Lane, Endpoint)>,
    /// How many destinations each has.
    destinations: u16,
}

impl Clients {
    pub(super) fn new(
        clients: &IdVec<ClientId, ClientGroup>,
        rules: &IdVec<RuleId, RuleSpec>,
        seed: RunSeed,
        timing: Timing,
    ) -> Self {
        let mut next_address = FIRST_ADDRESS;
        let source = |group: &ClientGroup| {
            let first_address = next_address;
            next_address += group.addresses.get();
            let has_numbers = matches!(group.arrivals, ArrivalSpec::Closed(_) | ArrivalSpec::Trace(_));
            let address = |lane: Lane| {
                let rule = &rules[lane.rule];
                let ip = group.next_hop.map_or(rule.address, |hop| hop.destination);
                (lane, Endpoint { ip, port: rule.port })
            };
            let lanes: Vec<(Lane, Endpoint)> = group.lanes.iter().map(address).collect();
            let (first, destination) = lanes[0];
            Source {
                first_address,
                protocol: first.protocol,
                destination,
                lanes: (lanes.len() > 1)
                    .then(|| Box::new(SourceLanes { lanes, destinations: group.destinations.get() })),
                numbers_are_addresses: !has_numbers,
                origin: group.origin,
            }
        };
        Self {
            sources: clients.iter().map(source).collect(),
            groups: clients.pairs().map(|(client, group)| Senders::new(client, group, seed)).collect(),
            upcoming: BinaryHeap::new(),
            timing,
            end: timing.window_end(),
            measured: 0,
            are_backends: clients.iter().any(|group| !group.own_backends.is_empty()),
        }
    }

    /// Every group plans its first connections.
    pub(super) fn begin(&mut self, none: &Flows<'_>) -> RunResult<()> {
        for client in self.groups.ids() {
            let population = self.groups[client].closed.as_ref().map_or(0, |closed| closed.opened.len());
            for number in 0..population as u32 {
                let first = SimTime::ZERO + self.groups[client].think(number);
                self.plan(first, client, Turn::Client(number));
            }
            if let Some(first) = self.groups[client].draw_coming(self.end, none)? {
                self.plan(first, client, Turn::Arrival);
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn are_backends(&self) -> bool {
        self.are_backends
    }

    pub(super) fn are_waiting(&self) -> bool {
        self.measured > 0
    }

    #[inline]
    pub(super) fn next_time(&self) -> SimTime {
        self.upcoming.peek().map_or(SimTime::NEVER, |Reverse((time, ..))| *time)
    }

    /// The next connection and its group. At equal times the first group comes first.
    #[inline(always)]
    pub(super) fn take_next(&mut self, flows: &Flows<'_>) -> RunResult<Option<(ClientId, NewConnection)>> {
        let Some(Reverse((_, opener))) = self.upcoming.peek().copied() else { return Ok(None) };
        let client = opener.client();
        let senders = &mut self.groups[client];
        let connection = match opener.turn() {
            Turn::Arrival => {
                let (_, connection) = senders.coming[senders.come];
                senders.come += 1;
                let next = match senders.coming.get(senders.come) {
                    Some((at, _)) => Some(*at),
                    None => senders.draw_coming(self.end, flows)?,
                };
                let mut first = self.upcoming.peek_mut().expect("it was looked at");
                match next {
                    // Changing the first of them costs half of taking it out and putting another in.
                    Some(next) => first.0.0 = next,
                    None => drop(PeekMut::pop(first)),
                }
                return Ok(Some((client, connection)));
            }
            Turn::Client(number) => senders.turn(number, flows),
            Turn::Waiting(slot) => {
                let waiting = senders.waiting.take(slot);
                senders.with_later_port(waiting, flows)
            }
        };
        self.upcoming.pop();
        Ok(Some((client, connection)))
    }

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
        let destinations = group.destinations.get() * group.lanes.count() as u16;
        flow.destination = flow.choose(Draw::Destination, destinations);
        flows.add(flow)
    }

    #[inline(always)]
    pub(super) fn packet(&self, flow: &Flow, kind: PacketKind) -> Packet {
        let source = &self.sources[flow.client];
        if source.lanes.is_some() {
            return self.packet_of_lane(flow, kind);
        }
        self.packet_of_one_lane(flow, kind)
    }

    /// The same where every group has one lane.
    #[inline(always)]
    pub(super) fn packet_of_one_lane(&self, flow: &Flow, kind: PacketKind) -> Packet {
        let source = &self.sources[flow.client];
        let ip = source.destination.ip + u32::from(flow.destination);
        source.packet(self.address(flow), flow.port, Endpoint { ip, ..source.destination }, kind)
    }

    /// Apart, so that the others cost no more for it.
    #[cold]
    fn packet_of_lane(&self, flow: &Flow, kind: PacketKind) -> Packet {
        let source = &self.sources[flow.client];
        let lanes = source.lanes.as_ref().expect("it was looked at");
        source.packet_of(lanes, flow, self.address(flow), kind)
    }

    /// Packets of the connections that a group opens next, as far as they have just become known.
    pub(super) fn new_packets(&self, client: ClientId) -> impl Iterator<Item = Packet> {
        let senders = &self.groups[client];
        let new = if senders.come == 0 { senders.coming.as_slice() } else { &[] };
        new.iter().map(move |(_, NewConnection { address, port, .. })| {
            let source = &self.sources[client];
            source.packet(*address, *port, source.destination, PacketKind::Syn)
        })
    }

    /// `count` packets to a rule of as many connections of a group with `addresses` addresses: its addresses in turn, each time
    /// from another port.
    pub(super) fn sample_packets(
        &self,
        (client, rule): (ClientId, RuleId),
        addresses: u32,
        count: u32,
    ) -> Vec<Packet> {
        let source = &self.sources[client];
        let lanes = source.lanes.iter().flat_map(|several| &several.lanes);
        let to_rule = lanes.into_iter().find(|(lane, _)| lane.rule == rule);
        let (protocol, destination) =
            to_rule.map_or((source.protocol, source.destination), |(lane, to)| (lane.protocol, *to));
        let packet = |number: u32| {
            let address = u64::from(number) * u64::from(addresses) / u64::from(count);
            let port = EPHEMERAL_PORTS.start() + (number % 1024) as u16;
            let packet = source.packet(address as u32, port, destination, PacketKind::Data);
            Packet { tuple: FiveTuple { protocol, ..packet.tuple }, ..packet }
        };
        (0..count).map(packet).collect()
    }

    #[inline]
    pub(super) fn address(&self, flow: &Flow) -> u32 {
        if self.sources[flow.client].numbers_are_addresses {
            return flow.number;
        }
        self.groups[flow.client].address(flow.number)
    }

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

    /// A try of a failed connection from another port of the same address: now, or after a back-off, but none after the end.
    pub(super) fn retry(&mut self, now: SimTime, flows: &Flows<'_>, flow: &Flow) -> Option<NewConnection> {
        let senders = &mut self.groups[flow.client];
        let (again, wait) = senders.retry(flow)?;
        if now >= self.end {
            return None;
        }
        if wait.is_zero() {
            return Some(senders.with_later_port(again, flows));
        }
        self.plan_later(now + wait, flow.client, again);
        None
    }

    /// From `at` on, a new connection makes the requests that `flow`, which its client has closed, has not made.
    pub(super) fn go_on(&mut self, at: SimTime, flow: &Flow) {
        self.plan_later(at, flow.client, self.groups[flow.client].replacement(flow));
    }

    fn plan_later(&mut self, at: SimTime, client: ClientId, connection: NewConnection) {
        let slot = self.groups[client].waiting.put(connection);
        self.plan(at, client, Turn::Waiting(slot));
    }

    /// Connections begin before the end, or not at all.
    fn plan(&mut self, at: SimTime, client: ClientId, turn: Turn) {
        if at < self.end {
            self.upcoming.push(Reverse((at, Opener::new(client, turn))));
        }
    }
}

impl Source {
    /// A packet of a group that has several lanes.
    fn packet_of(
        &self,
        SourceLanes { lanes, destinations }: &SourceLanes,
        flow: &Flow,
        address: u32,
        kind: PacketKind,
    ) -> Packet {
        let (lane, first) = lanes[usize::from(flow.destination / destinations)];
        let ip = first.ip + u32::from(flow.destination % destinations);
        let packet = self.packet(address, flow.port, Endpoint { ip, ..first }, kind);
        Packet { tuple: FiveTuple { protocol: lane.protocol, ..packet.tuple }, ..packet }
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

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU16, NonZeroU32};

    use super::*;
    use crate::ids::PlaceId;
    use crate::lb::ratio::Ratio;
    use crate::sim::retransmission::SynRetransmission;
    use crate::sim::scenario::Lanes;
    use crate::workload::{Backoff, ConnectionProfile, Rate};

    #[test]
    fn a_connection_that_is_about_to_open_keeps_its_port() {
        let group = ClientGroup {
            name: "web".to_owned(),
            place: PlaceId::from_index(0),
            origin: TrafficOrigin::Hybrid,
            lanes: Lanes::one(Lane { rule: RuleId::from_index(0), protocol: Protocol::Tcp }),
            next_hop: None,
            fragmented: Ratio::new(0.0).unwrap(),
            destinations: NonZeroU16::MIN,
            addresses: NonZeroU32::MIN,
            own_backends: Vec::new(),
            arrivals: ArrivalSpec::Deterministic { rate: Rate::try_from(1000.0).unwrap() },
            connection: ConnectionProfile::default(),
            connect_timeout: SimDuration::from_secs(10),
            syn_retransmission: SynRetransmission::default(),
            request_timeout: SimDuration::from_secs(30),
            retries: 0,
            retry_backoff: Backoff::default(),
            max_age: None,
        };
        let groups: IdVec<ClientId, ClientGroup> = [group].into_iter().collect();
        let (warmup, duration) = (SimDuration::ZERO, SimDuration::MAX);
        let timing = Timing { warmup, duration, sample_interval: duration };
        let rule = RuleSpec {
            name: String::new(),
            balancer: None,
            address: 1,
            port: 80,
            is_reached_from_elsewhere: true,
        };
        let rules = [rule].into_iter().collect();
        let mut clients = Clients::new(&groups, &rules, RunSeed::new(1, 0), timing);
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
}

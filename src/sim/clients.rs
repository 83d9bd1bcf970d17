//! Client groups: when their connections begin, and from which addresses and ports.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use rand::Rng;

use super::flow::{Flow, Flows};
use super::scenario::ClientGroup;
use crate::ids::{ClientId, IdVec};
use crate::lb::packet::Endpoint;
use crate::random::{Purpose, RunSeed, Stream, StreamKey};
use crate::time::SimTime;
use crate::workload::Arrivals;

/// The ephemeral ports of a Linux client.
const EPHEMERAL_PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// Ports of retries: others, so that a retry in one arm shifts no port of a later connection.
const RETRY_PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// The first client address, 10.0.0.0.
const FIRST_ADDRESS: u32 = 0x0A00_0000;

/// The client groups of a run.
#[derive(Debug)]
pub(super) struct Clients {
    groups: IdVec<ClientId, Senders>,
    /// Each group's next arrival. Arrivals are merged with the events, never queued with them.
    upcoming: BinaryHeap<Reverse<(SimTime, ClientId)>>,
    end: SimTime,
}

/// One client group's addresses.
#[derive(Debug)]
struct Senders {
    name: String,
    arrivals: Arrivals,
    connections: StreamKey,
    opened: u64,
    choice: Stream,
    /// The connection that comes next.
    next: NewConnection,
    first_address: u32,
    ports: Ports,
    retry_ports: Ports,
}

/// The ports of each address of a group, used in turn. Like a client's kernel it never gives a port that is in use: once
/// an address has used all of them, those in use are remembered.
#[derive(Debug)]
struct Ports {
    first: u16,
    count: u16,
    next: Vec<u16>,
    in_use: Option<BTreeSet<(u32, u16)>>,
}

impl Ports {
    fn new(ports: RangeInclusive<u16>, addresses: usize) -> Self {
        let count = ports.end() - ports.start() + 1;
        Self { first: *ports.start(), count, next: vec![0; addresses], in_use: None }
    }

    /// A free port of `address`, if there is one. `open` gives the addresses and ports in use; it is asked once at most.
    fn take(&mut self, address: u32, open: impl FnOnce() -> BTreeSet<(u32, u16)>) -> Option<u16> {
        if self.in_use.is_none() && self.next[address as usize] == self.count {
            self.in_use = Some(open());
        }
        for _ in 0..self.count {
            let next = &mut self.next[address as usize];
            if *next == self.count {
                *next = 0;
            }
            let port = self.first + *next;
            *next += 1;
            if self.in_use.as_mut().is_none_or(|in_use| in_use.insert((address, port))) {
                return Some(port);
            }
        }
        None
    }

    fn release(&mut self, address: u32, port: u16) {
        if let Some(in_use) = &mut self.in_use {
            in_use.remove(&(address, port));
        }
    }
}

/// What names a new connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewConnection {
    pub(super) key: StreamKey,
    pub(super) address: u32,
    pub(super) port: u16,
}

impl Clients {
    /// The groups of `clients`, which open connections before `end`.
    pub(super) fn new(clients: &IdVec<ClientId, ClientGroup>, seed: RunSeed, end: SimTime) -> Self {
        let mut next_address = FIRST_ADDRESS;
        let groups: IdVec<ClientId, Senders> = clients
            .iter()
            .map(|group| {
                let first_address = next_address;
                next_address += group.addresses.get();
                Senders::new(group, seed, first_address)
            })
            .collect();
        let mut clients = Self { groups, upcoming: BinaryHeap::new(), end };
        let none = Flows::default();
        clients.groups.ids().for_each(|client| clients.plan_next(client, &none));
        clients
    }

    /// When the next connection begins; never if there is none before the end.
    #[inline]
    pub(super) fn next_time(&self) -> SimTime {
        self.upcoming.peek().map_or(SimTime::NEVER, |Reverse((time, _))| *time)
    }

    /// The next connection's group and name. At equal times the first group comes first.
    pub(super) fn take_next(&mut self, flows: &Flows) -> Option<(ClientId, NewConnection)> {
        let Reverse((_, client)) = self.upcoming.pop()?;
        let connection = self.groups[client].next;
        self.plan_next(client, flows);
        Some((client, connection))
    }

    /// The source of the connection that the group `client` opens next.
    pub(super) fn next_source(&self, client: ClientId) -> Endpoint {
        let next = &self.groups[client].next;
        self.source(client, next.address, next.port)
    }

    /// The name of another try of connection `key`, from another port of the same address.
    pub(super) fn retry(&mut self, flows: &Flows, flow: &Flow) -> NewConnection {
        let senders = &mut self.groups[flow.client];
        let port = senders.retry_ports.take(flow.address, || flows.ports_in_use(flow.client, RETRY_PORTS));
        let port = port.unwrap_or_else(|| senders.out_of_ports(RETRY_PORTS));
        NewConnection { key: flow.key.child(u64::MAX), address: flow.address, port }
    }

    /// A connection is over: its port is free again.
    #[inline]
    pub(super) fn release(&mut self, flow: &Flow) {
        let senders = &mut self.groups[flow.client];
        let ports =
            if RETRY_PORTS.contains(&flow.port) { &mut senders.retry_ports } else { &mut senders.ports };
        ports.release(flow.address, flow.port);
    }

    /// The source of a connection's packets.
    #[inline]
    pub(super) fn source(&self, client: ClientId, address: u32, port: u16) -> Endpoint {
        Endpoint { ip: self.groups[client].first_address + address, port }
    }

    fn plan_next(&mut self, client: ClientId, flows: &Flows) {
        let time = self.groups[client].arrivals.next_time();
        if time < self.end {
            self.groups[client].name_next(|| flows.ports_in_use(client, EPHEMERAL_PORTS));
            self.upcoming.push(Reverse((time, client)));
        }
    }
}

impl Senders {
    fn new(group: &ClientGroup, seed: RunSeed, first_address: u32) -> Self {
        let addresses = group.addresses.get() as usize;
        let connections = seed.stream(Purpose::Connections, &group.name);
        Self {
            name: group.name.clone(),
            arrivals: group.arrivals.start(seed.stream(Purpose::Arrivals, &group.name).generator()),
            connections,
            opened: 0,
            next: NewConnection { key: connections, address: 0, port: 0 },
            choice: seed.stream(Purpose::Addresses, &group.name).generator(),
            first_address,
            ports: Ports::new(EPHEMERAL_PORTS, addresses),
            retry_ports: Ports::new(RETRY_PORTS, if group.retries > 0 { addresses } else { 0 }),
        }
    }

    /// Draws what names the next connection.
    fn name_next(&mut self, open: impl FnOnce() -> BTreeSet<(u32, u16)>) {
        let key = self.connections.child(self.opened);
        self.opened += 1;
        let address = self.choose_address();
        let port = self.ports.take(address, open).unwrap_or_else(|| self.out_of_ports(EPHEMERAL_PORTS));
        self.next = NewConnection { key, address, port };
    }

    /// No simulated client could go on from here either.
    fn out_of_ports(&self, ports: RangeInclusive<u16>) -> ! {
        panic!(
            "an address of the client group {:?} has a connection open on each of its {} ports; give the group more \
             addresses than {}, or shorter connections",
            self.name,
            ports.len(),
            self.ports.next.len()
        )
    }

    /// An address, each as likely as any other.
    fn choose_address(&mut self) -> u32 {
        let count = NonZeroU32::new(self.ports.next.len() as u32).expect("a group has an address");
        ((u128::from(self.choice.next_u64()) * u128::from(count.get())) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_used_in_turn_and_never_twice_at_once() {
        let mut ports = Ports::new(10..=13, 2);
        let take = |ports: &mut Ports| ports.take(1, || BTreeSet::from([(1, 10), (1, 12)]));
        assert_eq!([10, 11, 12, 13].map(|_| take(&mut ports)), [10, 11, 12, 13].map(Some));
        // All have been used: 10 and 12 still are.
        assert_eq!(take(&mut ports), Some(11));
        assert_eq!(take(&mut ports), Some(13));
        assert_eq!(take(&mut ports), None);
        ports.release(1, 12);
        assert_eq!(take(&mut ports), Some(12));
        assert_eq!(ports.take(0, BTreeSet::new), Some(10), "another address has its own");
    }
}

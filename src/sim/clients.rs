//! Client groups: when their connections begin, and from which addresses and ports.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use rand::Rng;

use super::scenario::ClientGroup;
use crate::ids::{ClientId, IdVec};
use crate::lb::packet::Endpoint;
use crate::random::{Purpose, RunSeed, Stream, StreamKey};
use crate::time::SimTime;
use crate::workload::Arrivals;

/// The ephemeral ports of a Linux client.
const EPHEMERAL_PORTS: std::ops::RangeInclusive<u16> = 32_768..=60_999;
/// Ports of retries: others, so that a retry in one arm shifts no port of a later connection.
const RETRY_PORTS: std::ops::RangeInclusive<u16> = 61_000..=65_535;
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
    arrivals: Arrivals,
    connections: StreamKey,
    opened: u64,
    choice: Stream,
    /// The connection that comes next.
    next: NewConnection,
    first_address: u32,
    ports: PortCursors,
    retry_ports: PortCursors,
}

/// The next port of each address, which uses its ports in turn, as a client's kernel never gives a port in use.
#[derive(Debug)]
struct PortCursors {
    first: u16,
    count: u16,
    next: Vec<u16>,
}

impl PortCursors {
    fn new(ports: std::ops::RangeInclusive<u16>, addresses: usize) -> Self {
        Self { first: *ports.start(), count: ports.end() - ports.start() + 1, next: vec![0; addresses] }
    }

    fn take(&mut self, address: u32) -> u16 {
        let next = &mut self.next[address as usize];
        let port = self.first + *next;
        *next = if *next + 1 == self.count { 0 } else { *next + 1 };
        port
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
        clients.groups.ids().for_each(|client| clients.plan_next(client));
        clients
    }

    /// When the next connection begins; never if there is none before the end.
    #[inline]
    pub(super) fn next_time(&self) -> SimTime {
        self.upcoming.peek().map_or(SimTime::NEVER, |Reverse((time, _))| *time)
    }

    /// The next connection's group and name. At equal times the first group comes first.
    pub(super) fn take_next(&mut self) -> Option<(ClientId, NewConnection)> {
        let Reverse((_, client)) = self.upcoming.pop()?;
        let connection = self.groups[client].next;
        self.plan_next(client);
        Some((client, connection))
    }

    /// The source of the connection that the group `client` opens next.
    pub(super) fn next_source(&self, client: ClientId) -> Endpoint {
        let next = &self.groups[client].next;
        self.source(client, next.address, next.port)
    }

    /// The name of another try of connection `key`, from another port of the same address.
    pub(super) fn retry(&mut self, client: ClientId, key: StreamKey, address: u32) -> NewConnection {
        let port = self.groups[client].retry_ports.take(address);
        NewConnection { key: key.child(u64::MAX), address, port }
    }

    /// The source of a connection's packets.
    #[inline]
    pub(super) fn source(&self, client: ClientId, address: u32, port: u16) -> Endpoint {
        Endpoint { ip: self.groups[client].first_address + address, port }
    }

    fn plan_next(&mut self, client: ClientId) {
        let time = self.groups[client].arrivals.next_time();
        if time < self.end {
            self.groups[client].name_next();
            self.upcoming.push(Reverse((time, client)));
        }
    }
}

impl Senders {
    fn new(group: &ClientGroup, seed: RunSeed, first_address: u32) -> Self {
        let addresses = group.addresses.get() as usize;
        let connections = seed.stream(Purpose::Connections, &group.name);
        Self {
            arrivals: group.arrivals.start(seed.stream(Purpose::Arrivals, &group.name).generator()),
            connections,
            opened: 0,
            next: NewConnection { key: connections, address: 0, port: 0 },
            choice: seed.stream(Purpose::Addresses, &group.name).generator(),
            first_address,
            ports: PortCursors::new(EPHEMERAL_PORTS, addresses),
            retry_ports: PortCursors::new(RETRY_PORTS, if group.retries > 0 { addresses } else { 0 }),
        }
    }

    /// Draws what names the next connection.
    fn name_next(&mut self) {
        let key = self.connections.child(self.opened);
        self.opened += 1;
        let address = self.choose_address();
        self.next = NewConnection { key, address, port: self.ports.take(address) };
    }

    /// An address, each as likely as any other.
    fn choose_address(&mut self) -> u32 {
        let count = NonZeroU32::new(self.ports.next.len() as u32).expect("a group has an address");
        ((u128::from(self.choice.next_u64()) * u128::from(count.get())) >> 64) as u32
    }
}

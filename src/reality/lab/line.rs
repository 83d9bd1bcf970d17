//! Distances: packets from clients to backends wait on a line as long as their round trip takes. The way back takes no time,
//! so that handshakes and requests take what the simulation has them take.
//!
//! nftables takes such packets for the load balancer's own, with the backend's zone in their header; this takes them from
//! there, and sends them again when their time has come. It needs no device, and no rights beyond the namespace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recv, sendto, socket_with,
};

use super::LabError;
use super::clock::Clock;
use super::network::{VIP, client_of};
use crate::ids::{ClientId, Id, ZoneId};
use crate::random::{Distribution, Purpose, RunSeed, Stream};
use crate::sim::scenario::Scenario;
use crate::time::{SimDuration, SimTime};

/// What is nearer than this on average is as near as everything in a laboratory is.
const NEAR: SimDuration = SimDuration::from_nanos(500_000);
/// What a round trip takes in any case, with the line's own work.
const OWN: SimDuration = SimDuration::from_nanos(200_000);
/// The longest packet.
const LONGEST: usize = 1 << 16;

/// The round trip between a client group and a zone, if they are so far from each other that it must be made.
pub(super) fn round_trip(
    scenario: &Scenario,
    client: ClientId,
    zone: ZoneId,
) -> Option<&Distribution<SimDuration>> {
    let trip = &scenario.round_trips[scenario.clients[client].place][zone];
    (trip.mean() >= NEAR.as_nanos() as f64).then_some(trip)
}

/// Whether anything is far from anything.
pub(super) fn has_distances(scenario: &Scenario) -> bool {
    let far = |client| scenario.backends.iter().any(|spec| round_trip(scenario, client, spec.zone).is_some());
    scenario.clients.ids().any(far)
}

/// The sockets that packets come from and go to, open before any comes.
pub(super) struct Line {
    taken: OwnedFd,
    sent: OwnedFd,
}

/// A packet on its way: when it is due, its number, and itself.
type Waiting = Reverse<(SimTime, u64, Vec<u8>)>;

impl Line {
    pub(super) fn open() -> Result<Self, LabError> {
        let open = |protocol| {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::INET, SocketType::RAW, flags, Some(protocol));
            socket.map_err(|error| LabError(format!("can't open a line for packets: {error}")))
        };
        Ok(Self { taken: open(ipproto::TCP)?, sent: open(ipproto::RAW)? })
    }

    /// Carries packets until the laboratory ends.
    pub(super) fn carry(self, scenario: &Scenario, seed: RunSeed, clock: Clock) -> Result<(), LabError> {
        // The kernel would add up to 50 µs to every wait.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut draws = seed.stream(Purpose::Connections, "line").generator();
        let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
        let mut number = 0;
        loop {
            while let Some(mut packet) = self.take()? {
                let wait = prepare(&mut packet, scenario, &mut draws);
                waiting.push(Reverse((clock.now() + wait, number, packet)));
                number += 1;
            }
            while let Some(Reverse((due, ..))) = waiting.peek()
                && *due <= clock.now()
            {
                let Some(Reverse((_, _, packet))) = waiting.pop() else { break };
                self.send(&packet)?;
            }
            let next = waiting.peek().map_or(SimTime::NEVER, |Reverse((due, ..))| *due);
            clock.wait(next, &mut [PollFd::new(&self.taken, PollFlags::IN)])?;
        }
    }

    fn take(&self) -> Result<Option<Vec<u8>>, LabError> {
        let mut buffer = [0; LONGEST];
        match recv(&self.taken, &mut buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => Ok(Some(buffer[..length].to_vec())),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(LabError(format!("can't take a packet from the line: {error}"))),
        }
    }

    fn send(&self, packet: &[u8]) -> Result<(), LabError> {
        match sendto(&self.sent, packet, SendFlags::empty(), &SocketAddrV4::new(VIP, 0)) {
            // What the kernel drops because of a fault is lost on its way.
            Ok(_) | Err(Errno::PERM) => Ok(()),
            Err(error) => Err(LabError(format!("can't send a packet of {} bytes on: {error}", packet.len()))),
        }
    }
}

/// Makes a packet what it was before nftables marked it; gives how long it is on its way.
fn prepare(packet: &mut [u8], scenario: &Scenario, draws: &mut Stream) -> SimDuration {
    let Some(&[_, marked, .., a, b, c, d, _, _, _, _]) = packet.first_chunk::<20>() else {
        return SimDuration::ZERO;
    };
    let zone = ZoneId::from_index(usize::from(marked >> 2).saturating_sub(1));
    packet[1] = 0;
    checksum(packet);
    let client = client_of(Ipv4Addr::new(a, b, c, d)).map(ClientId::from_index);
    let is_known = |client: &ClientId| client.index() < scenario.clients.len();
    let trip = client.filter(is_known).and_then(|client| round_trip(scenario, client, zone));
    trip.map_or(SimDuration::ZERO, |trip| trip.sample(draws).max(OWN) - OWN)
}

/// Writes the checksum of an IPv4 packet's TCP segment, which the kernel leaves to network cards that are not there (RFC 9293,
/// section 3.1). That of the IPv4 header it writes itself.
fn checksum(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 15) * 4;
    let Some(length) = packet.len().checked_sub(header).filter(|length| *length >= 20) else { return };
    packet[header + 16..header + 18].fill(0);
    let words = |bytes: &[u8]| -> u64 {
        let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
        bytes.chunks(2).map(word).sum()
    };
    // Addresses, protocol 6 and length stand before the segment.
    let mut sum = words(&packet[12..20]) + 6 + length as u64 + words(&packet[header..]);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let complement = !(sum as u16);
    packet[header + 16..header + 18].copy_from_slice(&complement.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Overrides;
    use crate::reality::lab::network::client_address;
    use crate::reality::scenarios::all;
    use crate::reality::world::World;

    fn distant() -> World {
        let scenario = all().into_iter().find(|scenario| scenario.name.contains("distances")).unwrap();
        World::read("distances", &scenario.text, &Overrides::default()).unwrap()
    }

    /// A packet of `client` to the backends of the zone with this number, with a segment of so many bytes.
    fn packet(client: usize, zone: u8, segment: u8) -> Vec<u8> {
        let mut packet = vec![0x45, (zone + 1) << 2, 0, 20 + segment, 0, 1, 0x40, 0, 64, 6, 0, 0];
        packet.extend(client_address(client, 7).octets());
        packet.extend(VIP.octets());
        packet.extend((0..segment).map(|byte| byte.wrapping_mul(37)));
        packet
    }

    #[test]
    fn packets_wait_as_long_as_their_round_trip_takes() {
        let scenario = distant().scenario;
        let mut draws = RunSeed::new(1, 0).stream(Purpose::Connections, "test").generator();
        let mut wait = |client, zone| prepare(&mut packet(client, zone, 33), &scenario, &mut draws);
        let group_of =
            |name: &str| scenario.clients.pairs().find(|(_, group)| group.name == name).unwrap().0.index();
        assert!(has_distances(&scenario));
        // The two places whose round trip is constant, in both directions; the rest is the laboratory's own.
        for (client, zone) in [("long-a", 2), ("long-c", 0)] {
            assert_eq!(wait(group_of(client), zone) + OWN, SimDuration::from_nanos(6_000_000));
        }
        let far: Vec<SimDuration> = (0..200).map(|_| wait(group_of("short-b"), 2)).collect();
        let mean = far.iter().map(|wait| wait.as_secs_f64()).sum::<f64>() / 200.0;
        assert!((0.0095..0.0108).contains(&mean), "{mean}");
        assert_eq!(wait(scenario.clients.len(), 0), SimDuration::ZERO, "nobody's");
    }

    #[test]
    fn what_is_near_takes_no_line() {
        let scenario = all().remove(0);
        let world = World::read("near", &scenario.text, &Overrides::default()).unwrap();
        assert!(!has_distances(&world.scenario));
    }

    #[test]
    fn checksums_are_those_of_the_protocol() {
        let scenario = distant().scenario;
        let mut draws = RunSeed::new(1, 0).stream(Purpose::Connections, "test").generator();
        for segment in [20, 33, 64] {
            let mut sent = packet(0, 1, segment);
            prepare(&mut sent, &scenario, &mut draws);
            assert_eq!(sent[1], 0, "the mark is gone");
            // With its checksum a segment and what stands before it add up to ones alone.
            let mut summed = [&sent[12..20], &[0, 6, 0, segment], &sent[20..]].concat();
            summed.resize(summed.len().next_multiple_of(2), 0);
            let sum: u32 = summed.chunks(2).map(|pair| u32::from(pair[0]) * 256 + u32::from(pair[1])).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{segment}");
        }
        for short in [0, 10, 20, 30] {
            // Nothing is written beyond its end.
            prepare(&mut packet(0, 1, 20)[..short].to_vec(), &scenario, &mut draws);
        }
    }
}

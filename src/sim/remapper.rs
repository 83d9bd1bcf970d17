//! Which clients get another backend when the backends that they may get change.
//!
//! The load balancer's own code is asked for a fixed sample of connections of each client group, as if nothing were
//! tracked: its addresses in turn, so that with an affinity for addresses each stands for as many clients.

use super::clients::Clients;
use super::history::Remapping;
use crate::ids::{BackendId, ClientId, RuleId};
use crate::lb::LoadBalancer;
use crate::lb::packet::Packet;

/// Sample connections of each client group: a share of a quarter is found to 5 % of all, twice its standard error.
pub(super) const SAMPLE: u32 = 256;

/// The sample of the clients at one place.
#[derive(Debug, Default)]
pub(super) struct Remapper {
    packets: Vec<Packet>,
    /// Which backend each of them gets; none before the measured window.
    backends: Vec<Option<BackendId>>,
}

impl Remapper {
    pub(super) fn add(&mut self, sends: (ClientId, RuleId), clients: &Clients, addresses: u32) {
        self.packets.extend(clients.sample_packets(sends, addresses, SAMPLE));
    }

    pub(super) fn begin(&mut self, balancer: &mut LoadBalancer) {
        self.backends = self.packets.iter().map(|packet| balancer.selection(packet)).collect();
    }

    /// Counts who has moved between two sets of backends, each in order of ids, into `found`.
    pub(super) fn compare(
        &mut self,
        (before, after): (&[BackendId], &[BackendId]),
        balancer: &mut LoadBalancer,
        found: &mut Remapping,
    ) {
        let is_in = |set: &[BackendId], backend: &BackendId| set.binary_search(backend).is_ok();
        for (packet, known) in self.packets.iter().zip(&mut self.backends) {
            let now = balancer.selection(packet);
            if let Some((old, new)) = std::mem::replace(known, now).zip(now) {
                let (moved, kept) = (old != new, is_in(after, &old));
                found.keys += 1;
                found.moved += u64::from(moved);
                found.kept += u64::from(kept);
                found.needless += u64::from(moved && kept && is_in(before, &new));
            }
        }
    }
}

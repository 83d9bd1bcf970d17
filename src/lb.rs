//! The load balancer, sans-IO: packet and time in, verdict out.
//!
//! It has no clock, queue, file, thread or generator of its own. A packet is routed in the order of ZON-5:
//! original eligible backends ([`eligibility`]), zonal affinity ([`zonal_affinity`]), consistent hashing, and
//! an entry in the tracking table. `explain`, the tests and the simulation all ask [`zonal_affinity::decide`].

pub mod backend;
mod conntrack;
pub mod eligibility;
pub mod health;
pub mod packet;
pub mod ratio;
mod selection;
pub mod zonal_affinity;

#[cfg(test)]
mod tests;

use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::time::{SimDuration, SimTime};
use backend::{Backend, Role, Roster};
use conntrack::ConnectionTable;
pub use conntrack::MAX_BACKENDS;
use packet::{FiveTuple, Packet};
use selection::Selectors;
use zonal_affinity::{Decision, Origin, Outcome, Policy, decide};

/// The idle timeout of tracking entries of an internal load balancer (CTE-7).
pub const IDLE_TIMEOUT: SimDuration = SimDuration::from_secs(600);

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To the backend of the connection's tracking entry.
    Tracked(BackendId),
    /// To a backend that was selected for it just now.
    Selected {
        /// The backend.
        backend: BackendId,
        /// The outcome of the decision that led to it.
        outcome: Outcome,
    },
    /// Nowhere.
    Dropped,
}

/// What the load balancer counted since the last [`LoadBalancer::restart_counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets looked up in the tracking table.
    pub lookups: u64,
    /// Lookups that found a live entry.
    pub hits: u64,
    /// Changes of a backend's state of health.
    pub health_transitions: u64,
    /// Changes of the role that serves.
    pub failover_switches: u64,
}

/// An internal passthrough load balancer.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    policy: Policy,
    roster: Roster,
    selectors: Selectors,
    table: ConnectionTable,
    /// The decision for each origin in the current state of health.
    decisions: Vec<Decision>,
    serving: Option<Role>,
    counters: Counters,
}

impl LoadBalancer {
    /// A load balancer over `backends` in a region of `zones` zones, each backend in health `healthy`.
    ///
    /// # Panics
    /// With more than [`MAX_BACKENDS`] backends.
    pub fn new(policy: Policy, zones: usize, backends: IdVec<BackendId, Backend>, healthy: bool) -> Self {
        assert!(backends.len() <= MAX_BACKENDS, "at most {MAX_BACKENDS} backends");
        let roster = Roster::new(zones, backends, |_| healthy);
        let selectors = Selectors::new(&roster);
        let mut balancer = Self {
            policy,
            roster,
            selectors,
            table: ConnectionTable::new(IDLE_TIMEOUT),
            decisions: Vec::new(),
            serving: None,
            counters: Counters::default(),
        };
        balancer.decide_anew();
        balancer.serving = balancer.decisions[0].kind.role();
        balancer
    }

    /// The backends with their health.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The most tracking entries at one time since the last [`restart_counters`](Self::restart_counters).
    pub fn peak_entries(&self) -> u64 {
        self.table.peak()
    }

    /// Counts anew from `now` on.
    pub fn restart_counters(&mut self, now: SimTime) {
        self.counters = Counters::default();
        self.table.restart_peak(now);
    }

    /// Asks the processor to fetch what routing a packet of `tuple` will need soon. Changes nothing.
    #[inline]
    pub fn prefetch(&mut self, tuple: &FiveTuple) {
        let key = self.table.key(tuple);
        self.table.prefetch(key);
    }

    /// Routes one packet at time `now` (CTE-2 for TCP in mode `PER_CONNECTION`: a SYN opens a connection
    /// whatever the table holds; any other packet follows its entry, or is placed like a new connection).
    ///
    /// Times must not run back from call to call.
    #[inline]
    pub fn route(&mut self, now: SimTime, packet: &Packet) -> Verdict {
        let key = self.table.key(&packet.tuple);
        if !packet.syn {
            self.counters.lookups += 1;
            if let Some(backend) = self.table.lookup(now, key) {
                self.counters.hits += 1;
                return Verdict::Tracked(backend);
            }
        }
        let decision = &self.decisions[origin_slot(packet.origin, self.roster.zones())];
        let chosen =
            decision.modified.and_then(|set| self.selectors.pick(set, packet.tuple.selection_hash()));
        let Some(backend) = chosen else {
            return Verdict::Dropped;
        };
        self.table.insert(now, key, backend);
        Verdict::Selected { backend, outcome: decision.outcome }
    }

    /// Holds `backend` `healthy` or not from now on; tells whether that is a change.
    ///
    /// Existing connections stay where they are: TCP persists on unhealthy backends by default (CTE-5).
    pub fn set_health(&mut self, backend: BackendId, healthy: bool) -> bool {
        if !self.roster.set_health(backend, healthy) {
            return false;
        }
        self.selectors.set_health(backend, &self.roster.backends()[backend], healthy);
        self.counters.health_transitions += 1;
        self.decide_anew();
        let serving = self.decisions[0].kind.role();
        if serving != self.serving {
            self.counters.failover_switches += u64::from(serving.is_some() && self.serving.is_some());
            self.serving = serving.or(self.serving);
        }
        true
    }

    /// The decision for new connections from `origin` in the current state of health.
    pub fn decision(&self, origin: Origin) -> &Decision {
        &self.decisions[origin_slot(origin, self.roster.zones())]
    }

    fn decide_anew(&mut self) {
        let Self { roster, policy, decisions, .. } = self;
        decisions.clear();
        decisions.extend(origins(roster.zones()).map(|origin| decide(roster, policy, origin)));
    }
}

/// Every origin in a region of `zones` zones, in the order of [`origin_slot`].
fn origins(zones: usize) -> impl Iterator<Item = Origin> {
    let outside = [Origin::Hybrid, Origin::OtherRegion];
    (0..zones).map(|zone| Origin::Zone(ZoneId::from_index(zone))).chain(outside)
}

#[inline]
fn origin_slot(origin: Origin, zones: usize) -> usize {
    match origin {
        Origin::Zone(zone) => zone.index(),
        Origin::Hybrid => zones,
        Origin::OtherRegion => zones + 1,
    }
}

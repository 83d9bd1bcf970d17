//! The load balancer, sans-IO: packet and time in, verdict out.
//!
//! It has no clock, queue, file, thread or generator of its own. A packet is routed in the order of ZON-5: the set of
//! backends that the policy chose for its origin ([`policy`], [`sets`]), consistent hashing ([`selection`]), and an entry
//! in the tracking table ([`tracking`]). The simulation, `explain`, `expect` and the tests all ask
//! [`policy::any::AnyPolicy::decide`].

pub mod affinity;
pub mod backend;
pub mod change;
mod conntrack;
pub mod health;
pub mod packet;
pub mod policy;
pub mod ratio;
pub mod roster;
pub mod selection;
pub mod sets;
pub mod tracking;
pub mod weight;
pub mod zonal_affinity;

#[cfg(test)]
mod tests;

use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::time::{SimDuration, SimTime};
use affinity::{Fields, SessionAffinity};
use backend::{Member, Role};
pub use conntrack::MAX_BACKENDS;
use conntrack::{ConnectionTable, Entry, TrackingKey};
use packet::{FiveTuple, Packet, PacketKind, Protocol};
use policy::any::AnyPolicy;
use policy::{Placement, PlacementOutcome, PolicyState, RoleSwitch, TrafficOrigin};
use roster::Roster;
use selection::{SelectionHash, Selectors};
use sets::SetSpec;
use tracking::{Tracker, TrackingPolicy};
use weight::WeightState;

/// Everything that a load balancer is configured with, beside its backends.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which backends a new connection may go to.
    pub policy: AnyPolicy,
    /// Which fields keep connections together.
    pub session_affinity: SessionAffinity,
    /// How connections are tracked.
    pub tracking: TrackingPolicy,
    /// The hash function that selects.
    pub hash: SelectionHash,
    /// Whether weights that backends report count.
    pub weighted: bool,
    /// How long existing connections of a removed backend live on (CTE-9).
    pub draining_timeout: SimDuration,
    /// How long existing connections of the old role live on after a switch, unless draining is disabled (CTE-8).
    pub failover_drain: SimDuration,
    /// Whether later fragments, which carry no ports, are dropped with affinity NONE: by target pools only (TPA-2).
    pub drop_portless_fragments: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: AnyPolicy::default(),
            session_affinity: SessionAffinity::None,
            tracking: TrackingPolicy::new(Tracker::Internal),
            hash: SelectionHash::Rendezvous,
            weighted: false,
            draining_timeout: SimDuration::ZERO,
            failover_drain: SimDuration::from_secs(600),
            drop_portless_fragments: false,
        }
    }
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To the backend of its tracking entry, with the outcome of the decision that placed the entry there.
    Tracked(BackendId, PlacementOutcome),
    /// To a backend that was selected for it just now, with the outcome of the decision that led to it.
    Selected(BackendId, PlacementOutcome),
    /// Nowhere.
    Dropped,
}

impl Verdict {
    /// Where it goes, and the outcome of the decision that led there.
    #[inline]
    pub fn selected(self) -> Option<(BackendId, PlacementOutcome)> {
        match self {
            Self::Tracked(backend, outcome) | Self::Selected(backend, outcome) => Some((backend, outcome)),
            Self::Dropped => None,
        }
    }
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

/// A passthrough load balancer.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    settings: Settings,
    roster: Roster,
    selectors: Selectors,
    /// What selection hashes are changed by, so that another key places the same connections otherwise.
    hash_key: u64,
    weights: IdVec<BackendId, WeightState>,
    last_valid_weights: IdVec<BackendId, f64>,
    table: ConnectionTable,
    /// What the policy chose for each origin in the current state of health.
    placements: Vec<Placement>,
    drops_everything: bool,
    /// When the policy chooses anew by itself.
    next_choice: SimTime,
    /// Whether several changes are being made, after which it decides once.
    changing: bool,
    serving: Option<Role>,
    /// When entries of backends outside the serving role end.
    failover_deadline: Option<SimTime>,
    /// Removed backends whose entries live on, and until when.
    draining: Vec<(BackendId, SimTime)>,
    next_deadline: SimTime,
    counters: Counters,
    /// How often it has decided.
    decided: u64,
}

impl LoadBalancer {
    /// A load balancer over `members` in a region of `zones` zones.
    ///
    /// # Panics
    /// With more than [`MAX_BACKENDS`] members.
    pub fn new(settings: Settings, zones: usize, members: IdVec<BackendId, Member>) -> Self {
        assert!(members.len() <= MAX_BACKENDS, "at most {MAX_BACKENDS} backends");
        let roster = Roster::new(zones, members);
        let mut balancer = Self {
            selectors: Selectors::new(&roster, settings.hash),
            hash_key: 0,
            weights: roster.all().iter().map(|_| WeightState::Unavailable).collect(),
            last_valid_weights: roster.all().iter().map(|_| 1.0).collect(),
            roster,
            table: ConnectionTable::new(settings.tracking.idle_timeout),
            settings,
            placements: Vec::new(),
            drops_everything: false,
            next_choice: SimTime::NEVER,
            changing: false,
            serving: None,
            failover_deadline: None,
            draining: Vec::new(),
            next_deadline: SimTime::NEVER,
            counters: Counters::default(),
            decided: 0,
        };
        balancer.decide_anew(SimTime::ZERO);
        balancer.serving = balancer.placements[0].serving;
        balancer.look_ahead();
        balancer
    }

    /// The same with another hash function of a family: the documents name none (HASH-2), so no result may hang on one.
    pub fn with_hash_key(mut self, key: u64) -> Self {
        self.hash_key = key;
        self
    }

    /// The backends with their health.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What it is configured with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How often it has decided where new connections go: after every change of health or configuration.
    pub fn decided(&self) -> u64 {
        self.decided
    }

    /// What it has decided last for new connections from `origin`.
    pub fn placement(&self, origin: TrafficOrigin) -> &Placement {
        &self.placements[origin_slot(origin, self.roster.zones())]
    }

    /// The sets that new connections from `origin` are shared out over.
    pub fn chosen_sets(&self, origin: TrafficOrigin) -> Vec<(SetSpec, f64)> {
        let shares = self.placement(origin).choice.shares().into_iter();
        shares.map(|(set, share)| (self.roster.specs()[set].clone(), share)).collect()
    }

    /// The backends that new connections from `origin` may get, in order of ids.
    pub fn reachable(&self, origin: TrafficOrigin) -> Vec<BackendId> {
        if self.drops_everything {
            return Vec::new();
        }
        let sets = self.placement(origin).choice.shares().into_iter();
        let mut reachable: Vec<BackendId> =
            sets.flat_map(|(set, _)| self.selectors.candidates(&self.roster, set)).collect();
        reachable.sort_unstable();
        reachable.dedup();
        reachable
    }

    /// The backend that `packet` would get if nothing were tracked. Neither tracks nor counts it.
    pub fn selection(&mut self, packet: &Packet) -> Option<BackendId> {
        if self.drops_everything {
            return None;
        }
        self.select(packet).selected().map(|(backend, _)| backend)
    }

    /// The backend of a new connection from `origin` whose fields hash to `hash`: for data planes that hash by themselves,
    /// and ask for what becomes of each hash. Neither tracks nor counts it.
    pub fn selection_of(&mut self, origin: TrafficOrigin, hash: u64) -> Option<BackendId> {
        if self.drops_everything {
            return None;
        }
        let choice = &self.placements[origin_slot(origin, self.roster.zones())].choice;
        choice.pick(hash).and_then(|set| self.selectors.pick(&self.roster, set, hash))
    }

    /// Whether packets of a connection whose entry points at `backend` follow it at time `now` (CTE-5, CTE-6, CTE-9): for
    /// data planes that keep the entries themselves. Times must not run back from call to call.
    pub fn follows(&mut self, now: SimTime, backend: BackendId, protocol: Protocol) -> bool {
        self.catch_up(now);
        if self.roster.member(backend).configured {
            return self.keeps(backend, protocol);
        }
        self.draining.iter().any(|(other, until)| *other == backend && *until > now)
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

    /// Whether [`prefetch`](Self::prefetch) pays: not while everything fits into a processor's cache.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.table.is_large()
    }

    /// Asks the processor to fetch what routing `packet` will need soon. Changes nothing.
    #[inline]
    pub fn prefetch(&mut self, packet: &Packet) {
        let fields = self.settings.tracking.fields(self.settings.session_affinity, packet.class());
        let key = self.table.key(fields, &packet.tuple);
        self.table.prefetch(key, packet.kind == PacketKind::Syn);
    }

    /// Routes one packet at time `now` (CTE-2). Times must not run back from call to call.
    #[inline(always)]
    pub fn route(&mut self, now: SimTime, packet: &Packet) -> Verdict {
        self.route_by(now, packet, ConnectionTable::key)
    }

    /// The same of an answer, which a route leads here: its entry is none of its connection's.
    #[inline(never)]
    pub fn route_answer(&mut self, now: SimTime, answer: &Packet) -> Verdict {
        self.route_by(now, answer, ConnectionTable::key_of_answer)
    }

    /// Routes a packet that `key` finds the entry of.
    #[inline(always)]
    fn route_by(
        &mut self,
        now: SimTime,
        packet: &Packet,
        key: impl Fn(&mut ConnectionTable, Fields, &FiveTuple) -> TrackingKey,
    ) -> Verdict {
        self.catch_up(now);
        if self.drops_everything {
            return Verdict::Dropped;
        }
        let Settings { session_affinity: affinity, tracking, .. } = self.settings;
        let protocol = packet.tuple.protocol;
        if !tracking.tracks(protocol, affinity) {
            return self.place(now, packet, None);
        }
        let key = key(&mut self.table, tracking.fields(affinity, packet.class()), &packet.tuple);
        if packet.kind != PacketKind::Syn || !tracking.syn_is_new(affinity) {
            self.counters.lookups += 1;
            if let Some(Entry { backend, outcome }) = self.table.lookup(now, key) {
                self.counters.hits += 1;
                if self.keeps(backend, protocol) {
                    return Verdict::Tracked(backend, outcome);
                }
            }
        }
        self.place(now, packet, Some(key))
    }

    /// Selects a backend for a packet that no entry places, and notes it under `key`.
    fn place(&mut self, now: SimTime, packet: &Packet, key: Option<TrackingKey>) -> Verdict {
        if self.drops(packet) {
            return Verdict::Dropped;
        }
        let verdict = self.select(packet);
        if let (Verdict::Selected(backend, outcome), Some(key)) = (verdict, key) {
            self.table.insert(now, key, Entry { backend, outcome });
        }
        verdict
    }

    #[inline(always)]
    fn select(&mut self, packet: &Packet) -> Verdict {
        let Placement { choice, outcome, .. } =
            &self.placements[origin_slot(packet.origin, self.roster.zones())];
        let fields = self.settings.session_affinity.fields(packet.class());
        let hash = fields.selection_hash(&packet.tuple) ^ self.hash_key;
        let Some(set) = choice.pick(hash) else { return Verdict::Dropped };
        let picked = self.selectors.pick(&self.roster, set, hash);
        picked.map_or(Verdict::Dropped, |backend| Verdict::Selected(backend, *outcome))
    }

    /// Whether a packet without an entry is dropped because it carries no ports.
    #[inline]
    fn drops(&self, packet: &Packet) -> bool {
        let settings = &self.settings;
        packet.kind == PacketKind::LaterFragment
            && settings.drop_portless_fragments
            && settings.session_affinity == SessionAffinity::None
    }

    /// Whether an entry keeps pointing at `backend` (CTE-5, CTE-6): not if the backend is unhealthy, the protocol does not
    /// persist, and some other backend is healthy. Entries of removed backends are kept while they drain.
    #[inline]
    fn keeps(&self, backend: BackendId, protocol: Protocol) -> bool {
        let member = self.roster.member(backend);
        member.healthy
            || !member.configured
            || self.settings.tracking.persists(protocol, self.settings.session_affinity)
            || !self.roster.any_healthy()
    }

    /// Holds `backend` `healthy` or not from `now` on; tells whether that is a change. Connections follow the tracking
    /// policy at their next packet; a target pool's instance loses its entries when it becomes unhealthy (TPA-5).
    pub fn set_health(&mut self, now: SimTime, backend: BackendId, healthy: bool) -> bool {
        if self.roster.is_healthy(backend) == healthy {
            return false;
        }
        if self.roster.member(backend).configured {
            self.counters.health_transitions += 1;
        }
        self.change(now, backend, |member| member.healthy = healthy);
        if !healthy && self.settings.tracking.ends_with_health() {
            self.table.retain(now, |other| other != backend);
        }
        true
    }

    /// Adds `backend`, held `healthy` or not.
    pub fn add(&mut self, now: SimTime, backend: BackendId, healthy: bool) {
        self.catch_up(now);
        self.draining.retain(|(other, _)| *other != backend);
        self.change(now, backend, |member| {
            member.configured = true;
            member.healthy = healthy;
        });
        self.weigh();
    }

    /// Removes `backend`. Its entries live on for the draining timeout (CTE-9), or end at once (target pools, TPA-5).
    pub fn remove(&mut self, now: SimTime, backend: BackendId) {
        self.change(now, backend, |member| member.configured = false);
        let at_once = self.settings.tracking.ends_with_health();
        let drain = if at_once { SimDuration::ZERO } else { self.settings.draining_timeout };
        self.draining.push((backend, now + drain));
        self.weigh();
        self.meet_deadlines(now);
    }

    /// Switches `backend` to another role in place.
    pub fn set_role(&mut self, now: SimTime, backend: BackendId, role: Role) {
        self.change(now, backend, |member| member.role = role);
    }

    /// Notes what `backend` reported of its weight. A backend without an available weight keeps its last one.
    pub fn set_weight(&mut self, backend: BackendId, state: WeightState) {
        if self.weights[backend] == state {
            return;
        }
        self.weights[backend] = state;
        if let WeightState::Valid(weight) = state {
            self.last_valid_weights[backend] = weight;
        }
        self.weigh();
    }

    /// Configures it anew. Entries stay, unless what they are found by changes: that empties the table (CTE-11).
    pub fn configure(&mut self, now: SimTime, settings: Settings) {
        self.catch_up(now);
        let old = std::mem::replace(&mut self.settings, settings);
        let Settings { tracking, hash, .. } = self.settings;
        let found_by = |settings: &Settings| (settings.session_affinity, settings.tracking.mode);
        if found_by(&old) != found_by(&self.settings) || old.tracking.idle_timeout != tracking.idle_timeout {
            self.table.reset(now, tracking.idle_timeout);
        }
        if old.hash != hash {
            self.selectors = Selectors::new(&self.roster, hash);
        }
        self.weigh();
        self.settle(now);
    }

    /// Makes several changes as one: what stands between them serves nobody.
    pub fn change_together(&mut self, now: SimTime, changes: impl FnOnce(&mut Self)) {
        self.catch_up(now);
        self.changing = true;
        changes(self);
        self.changing = false;
        self.settle(now);
    }

    fn change(&mut self, now: SimTime, backend: BackendId, change: impl FnOnce(&mut Member)) {
        self.catch_up(now);
        let moves = self.roster.change(backend, change);
        self.selectors.apply(&self.roster, backend, &moves);
        self.settle(now);
    }

    /// Decides anew after a change, unless others follow.
    fn settle(&mut self, now: SimTime) {
        if !self.changing {
            self.decide_anew(now);
            self.follow_serving_role(now);
            self.look_ahead();
        }
    }

    fn weigh(&mut self) {
        if self.settings.weighted {
            let configured = |id| self.roster.member(id).configured;
            let weights = weight::effective_weights(&self.weights, &self.last_valid_weights, configured);
            self.selectors.set_weights(&self.roster, weights);
        }
    }

    fn decide_anew(&mut self, now: SimTime) {
        let Self { roster, selectors, settings, placements, .. } = self;
        if settings.policy.prepare(now, roster) {
            selectors.follow_sets(roster);
        }
        let state = PolicyState { now, roster };
        self.decided += 1;
        placements.clear();
        placements.extend(origins(roster.zones()).map(|origin| settings.policy.decide(state, origin)));
        let policy = settings.policy.get();
        self.drops_everything = policy.drops_everything();
        self.next_choice = policy.next_change(now).filter(|time| *time > now).unwrap_or(SimTime::NEVER);
    }

    /// Notices when the other role serves, and lets the old one's entries end (CTE-8).
    fn follow_serving_role(&mut self, now: SimTime) {
        let serving = self.placements[0].serving;
        if serving.is_none() || serving == self.serving {
            return;
        }
        let switched = self.serving.is_some();
        self.serving = serving;
        self.counters.failover_switches += u64::from(switched);
        match self.settings.policy.get().on_role_switch() {
            RoleSwitch::Drain if switched => {
                self.failover_deadline = Some(now + self.settings.failover_drain);
                self.meet_deadlines(now);
            }
            RoleSwitch::End if switched => self.table.reset(now, self.settings.tracking.idle_timeout),
            RoleSwitch::Drain | RoleSwitch::End | RoleSwitch::Keep => {}
        }
    }

    /// Ends the entries whose time has come, before anything else happens.
    #[inline]
    fn catch_up(&mut self, now: SimTime) {
        if now >= self.next_deadline {
            self.meet_deadlines(now);
            if now >= self.next_choice {
                self.settle(now);
            }
        }
    }

    #[cold]
    fn meet_deadlines(&mut self, now: SimTime) {
        let gone: Vec<BackendId> =
            self.draining.iter().filter(|(_, until)| *until <= now).map(|(backend, _)| *backend).collect();
        self.draining.retain(|(_, until)| *until > now);
        let role = self.serving.filter(|_| self.failover_deadline.is_some_and(|deadline| deadline <= now));
        if !gone.is_empty() || role.is_some() {
            let Self { roster, table, .. } = self;
            let in_role = |id| {
                let member: &Member = roster.member(id);
                role.is_none_or(|role| member.role == role || !member.configured)
            };
            table.retain(now, |id| !gone.contains(&id) && in_role(id));
        }
        if role.is_some() {
            self.failover_deadline = None;
        }
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let drains = self.draining.iter().map(|(_, until)| *until);
        self.next_deadline = drains.chain(self.failover_deadline).fold(self.next_choice, SimTime::min);
    }
}

/// Every origin in a region of `zones` zones, in the order of [`origin_slot`].
fn origins(zones: usize) -> impl Iterator<Item = TrafficOrigin> {
    use TrafficOrigin::{Hybrid, Internet, OtherRegion, PrivateServiceConnect};
    let outside = [Hybrid, OtherRegion, PrivateServiceConnect, Internet];
    (0..zones).map(|zone| TrafficOrigin::Zone(ZoneId::from_index(zone))).chain(outside)
}

#[inline]
fn origin_slot(origin: TrafficOrigin, zones: usize) -> usize {
    match origin {
        TrafficOrigin::Zone(zone) => zone.index(),
        TrafficOrigin::Hybrid => zones,
        TrafficOrigin::OtherRegion => zones + 1,
        TrafficOrigin::PrivateServiceConnect => zones + 2,
        TrafficOrigin::Internet => zones + 3,
    }
}

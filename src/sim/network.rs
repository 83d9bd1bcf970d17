//! The way from clients to backends: the load balancer, and the links that packets cross.

use super::clients::Clients;
use super::flow::{Current, Draw, Mark};
use super::links::{Link, Links};
use super::scenario::Scenario;
use crate::ids::{BackendId, IdVec, PlaceId, ZoneId};
use crate::lb::packet::PacketKind;
use crate::lb::policy::PlacementOutcome;
use crate::lb::{LoadBalancer, Verdict};
use crate::time::{SimDuration, SimTime};

/// The load balancer and the links.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) balancer: LoadBalancer,
    pub(super) links: Links,
    /// Where each backend is; apart from all else about it, because every packet asks.
    zones: IdVec<BackendId, ZoneId>,
}

impl Network {
    /// The network of `scenario`, whose load balancer selects by `hash_key`.
    pub(super) fn new(scenario: &Scenario, hash_key: u64) -> Self {
        let healthy = scenario.health_check.initially_healthy;
        let members = scenario.members(|_| healthy);
        let balancer = LoadBalancer::new(scenario.balancer.clone(), scenario.zones.len(), members);
        Self {
            balancer: balancer.with_hash_key(hash_key),
            links: Links::new(scenario),
            zones: scenario.backends.iter().map(|spec| spec.zone).collect(),
        }
    }

    /// The link of a client's place with a backend.
    #[inline]
    fn link(&self, place: PlaceId, backend: BackendId) -> &Link {
        self.links.link(place, self.zones[backend])
    }

    /// Where a packet of `flow` goes now.
    #[inline(always)]
    pub(super) fn route(
        &mut self,
        now: SimTime,
        clients: &Clients,
        flow: &Current<'_>,
        kind: PacketKind,
    ) -> Verdict {
        if let Some(backend) = self.own_backend(clients, flow) {
            return Verdict::Tracked { backend, outcome: PlacementOutcome::OwnBackend };
        }
        self.balancer.route(now, &clients.packet(flow, kind))
    }

    /// Notes where the load balancer has placed a connection.
    #[inline]
    pub(super) fn place(&self, flow: &mut Current<'_>, backend: BackendId, outcome: PlacementOutcome) {
        flow.backend = Some(backend);
        flow.outcome = outcome;
        flow.marks.set(Mark::OnUnhealthy, !self.balancer.roster().is_healthy(backend));
    }

    /// Draws the round trip of the packet that `flow` sends to `backend`.
    #[inline]
    pub(super) fn draw_trip(
        &self,
        clients: &Clients,
        flow: &mut Current<'_>,
        backend: BackendId,
        what: Draw,
    ) -> SimDuration {
        let trip = if self.own_backend(clients, flow).is_some() {
            SimDuration::ZERO
        } else {
            let link = self.link(flow.group.place, backend);
            flow.draw(what, &link.round_trips) + link.delay
        };
        flow.trip = trip;
        trip
    }

    /// Whether a packet of `flow` is lost on its way to or from `backend`, or, of a SYN and its answer, one of the two.
    #[inline]
    pub(super) fn loses(
        &self,
        clients: &Clients,
        flow: &Current<'_>,
        backend: BackendId,
        what: Draw,
    ) -> bool {
        self.links.is_lossy() && self.loses_on_a_link(clients, flow, backend, what)
    }

    #[inline(never)]
    fn loses_on_a_link(&self, clients: &Clients, flow: &Current<'_>, backend: BackendId, what: Draw) -> bool {
        let passes = self.links.passes(flow.group.place, self.zones[backend]);
        let ways = if matches!(what, Draw::SynLoss) { 2 } else { 1 };
        passes < 1.0 && self.own_backend(clients, flow).is_none() && flow.unit(what) >= passes.powi(ways)
    }

    /// The backend that a connection's client is itself, as long as it is in the load balancer: what it sends there never
    /// leaves it (ELIG-14).
    #[inline]
    fn own_backend(&self, clients: &Clients, flow: &Current<'_>) -> Option<BackendId> {
        if clients.are_backends() { self.configured_self(clients, flow) } else { None }
    }

    #[inline(never)]
    fn configured_self(&self, clients: &Clients, flow: &Current<'_>) -> Option<BackendId> {
        let own = *flow.group.own_backends.get(clients.address(flow) as usize)?;
        self.balancer.roster().member(own).configured.then_some(own)
    }
}

//! What stands before the backends, and where packets go from there.

use super::balancers::Balancers;
use super::clients::Clients;
use super::flow::{Current, Draw, Mark};
use super::links::{Link, Links};
use super::machine::MachineState;
use super::machines::Machines;
use super::recorder::Recorder;
use super::scenario::{AnswerHop, Scenario};
use super::tracer::Tracer;
use crate::ids::{BackendId, BalancerId, IdVec, PlaceId, ZoneId};
use crate::lb::Verdict;
use crate::lb::packet::{Packet, PacketKind};
use crate::lb::policy::PlacementOutcome;
use crate::random::RunSeed;
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct FrontSide {
    pub(super) clients: Clients,
    pub(super) balancers: Balancers,
    pub(super) links: Links,
    /// Where each backend is; apart from all else about it, because every packet asks.
    zones: IdVec<BackendId, ZoneId>,
    /// What is measured: it is told, and never asked.
    pub(super) recorder: Recorder,
    /// Who follows connections, if anybody does.
    pub(super) tracer: Option<Tracer>,
    /// Whether packets may need more than one load balancer: there are several rules or balancers, clients may be backends,
    /// or are followed.
    looks_closely: bool,
}

impl FrontSide {
    pub(super) fn new(scenario: &Scenario, seed: RunSeed) -> Self {
        let clients = Clients::new(&scenario.clients, &scenario.rules, seed, scenario.timing);
        Self {
            tracer: None,
            looks_closely: clients.are_backends() || !scenario.is_plain(),
            clients,
            balancers: Balancers::new(scenario, seed),
            links: Links::new(scenario),
            zones: scenario.backends.iter().map(|spec| spec.zone).collect(),
            recorder: Recorder::new(scenario),
        }
    }

    #[inline]
    fn link(&self, place: PlaceId, backend: BackendId) -> &Link {
        self.links.link(place, self.zones[backend])
    }

    #[inline(always)]
    pub(super) fn place(&self, flow: &mut Current<'_>, backend: BackendId, outcome: PlacementOutcome) {
        flow.backend = Some(backend);
        flow.outcome = outcome;
        let is_healthy = match self.looks_closely {
            false => self.balancers.sole().roster().is_healthy(backend),
            true => self.is_held_healthy(flow, backend),
        };
        flow.marks.set(Mark::OnUnhealthy, !is_healthy);
    }

    #[inline(always)]
    pub(super) fn route(&mut self, now: SimTime, flow: &Current<'_>, kind: PacketKind) -> Verdict {
        if self.looks_closely {
            return self.route_closely(now, flow, kind);
        }
        self.balancers.sole_mut().route(now, &self.clients.packet_of_one_lane(flow, kind))
    }

    /// Whether the load balancer that the rule of `flow` leads to now holds `backend` healthy.
    #[cold]
    fn is_held_healthy(&self, flow: &Current<'_>, backend: BackendId) -> bool {
        let balancer = self.target_of(flow).map(|balancer| self.balancers.get(balancer));
        balancer.is_some_and(|balancer| balancer.roster().is_healthy(backend))
    }

    /// The load balancer that the rule of `flow` leads to now.
    fn target_of(&self, flow: &Current<'_>) -> Option<BalancerId> {
        self.balancers.target_from(flow.rule(), flow.group.origin)
    }

    #[cold]
    fn route_closely(&mut self, now: SimTime, flow: &Current<'_>, kind: PacketKind) -> Verdict {
        let packet = self.clients.packet(flow, kind);
        let verdict = match self.own_backend(flow) {
            Some(backend) => Verdict::Tracked(backend, PlacementOutcome::OwnBackend),
            None => match self.target_of(flow) {
                Some(balancer) => self.balancers.get_mut(balancer).route(now, &packet),
                None => Verdict::Dropped,
            },
        };
        if let Some(tracer) = &mut self.tracer {
            tracer.routed(now, flow, &packet, verdict);
        }
        verdict
    }

    /// Whether an answer to `flow` comes back: through the machine that let the connection through, or through its own next hop.
    #[inline]
    pub(super) fn comes_back(&mut self, now: SimTime, flow: &Current<'_>, machines: &Machines<'_>) -> bool {
        match flow.group.answer_hop() {
            None => true,
            Some(hop) => self.comes_through(now, flow, hop, machines),
        }
    }

    /// The same of one that has the next hop `hop`: the machine that it meets must know the connection.
    #[inline(never)]
    fn comes_through(
        &mut self,
        now: SimTime,
        flow: &Current<'_>,
        hop: AnswerHop,
        machines: &Machines<'_>,
    ) -> bool {
        let tuple = self.clients.packet(flow, PacketKind::Data).tuple.reversed();
        let answer = Packet { tuple, kind: PacketKind::Data, origin: hop.origin };
        let balancer = self.balancers.target_from(hop.rule, hop.origin);
        let verdict = balancer.map(|balancer| self.balancers.get_mut(balancer).route_answer(now, &answer));
        let Some((machine, _)) = verdict.and_then(Verdict::selected) else { return false };
        let is_split = machine != flow.reached();
        if flow.awaits_first_answer() {
            self.recorder.answered(flow, is_split);
        }
        !is_split || hop.is_session_synced && machines.machines[machine].state() == MachineState::Up
    }

    /// Follows connections from now on.
    pub(super) fn trace(&mut self, connections: usize) {
        self.tracer = Some(Tracer::new(connections));
        self.looks_closely = true;
    }

    #[inline]
    pub(super) fn draw_trip(&self, flow: &mut Current<'_>, backend: BackendId, what: Draw) -> SimDuration {
        let trip = if self.own_backend(flow).is_some() {
            SimDuration::ZERO
        } else {
            let link = self.link(flow.group.place, backend);
            flow.draw(what, &link.round_trips) + link.delay
        };
        flow.trip = trip;
        trip
    }

    /// Whether a packet of `flow` is lost on its way to or from `backend`.
    #[inline]
    pub(super) fn loses(&self, flow: &Current<'_>, backend: BackendId, what: Draw) -> bool {
        self.links.is_lossy() && self.loses_on_a_link(flow, backend, what)
    }

    #[inline(never)]
    fn loses_on_a_link(&self, flow: &Current<'_>, backend: BackendId, what: Draw) -> bool {
        let passes = self.links.passes(flow.group.place, self.zones[backend]);
        passes < 1.0 && self.own_backend(flow).is_none() && flow.unit(what) >= passes
    }

    /// The client's own backend, while the load balancer has it: what it sends there never leaves it (ELIG-14).
    #[inline]
    fn own_backend(&self, flow: &Current<'_>) -> Option<BackendId> {
        if self.clients.are_backends() { self.configured_self(flow) } else { None }
    }

    #[inline(never)]
    fn configured_self(&self, flow: &Current<'_>) -> Option<BackendId> {
        let own = *flow.group.own_backends.get(self.clients.address(flow) as usize)?;
        let balancer = self.target_of(flow)?;
        self.balancers.is_member(balancer, own).then_some(own)
    }
}

//! The life of a connection, step by step.
//!
//! TCP: SYN, SYN-ACK, then requests with their responses and pauses, then FIN. Other protocols: requests and responses
//! alone, each request a datagram of its own, perhaps in fragments. Only the client's packets pass the load balancer;
//! answers come directly (CTE-13). Half of a round trip is the way there, the rest the way back. What happens at the
//! backend stands in [`super::service`].
//!
//! A lost SYN is sent again after 1 s, 2 s, 4 s … (RFC 6298), a lost request or response of a TCP connection after 200 ms,
//! 400 ms, 800 ms … (the least timeout of Linux), and what the client sends again is routed anew. What meets a silent
//! backend is not sent again: no copy would be answered before the request times out, or the connection is lost with
//! the backend's memory. Other protocols send nothing again.

mod lifetime;

use rand::Rng;
use rand_xoshiro::SplitMix64;

use super::clients::NewConnection;
use super::event::{Event, FlowStep};
use super::flow::{Current, Flow, FlowState, Flows, Mark, Marks};
use super::machine::MachineState;
use super::outcome::FailureCause;
use super::simulation::Simulation;
use crate::ids::{BackendId, ClientId, FlowId};
use crate::lb::Verdict;
use crate::lb::packet::{PacketKind, Protocol};
use crate::lb::zonal_affinity::Outcome as DecisionOutcome;
use crate::random::{Distribution, Quantity, open_unit};
use crate::time::{SimDuration, SimTime};

/// The wait before the first repetition of a SYN; it doubles each time (RFC 6298).
const FIRST_SYN_TIMEOUT: SimDuration = SimDuration::from_secs(1);
/// The wait before the first repetition of other packets; it doubles each time. Round trips are shorter by far than what
/// would make it longer.
const FIRST_DATA_TIMEOUT: SimDuration = SimDuration::from_millis(200);

/// What a draw of a connection is for. Each has a stream of its own, so that every arm draws the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    Requests,
    SynTrip,
    RequestTrip,
    Service,
    Think,
    RequestBytes,
    ResponseBytes,
    Destination,
    Fragmented,
    SynLoss,
    RequestLoss,
    ResponseLoss,
}

/// What became of a packet of an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forwarded {
    /// It goes to the backend that accepted the connection.
    ToItsBackend(BackendId),
    /// It goes to another, and the connection is lost.
    Elsewhere,
    /// It goes nowhere.
    Dropped,
}

impl Flow {
    /// The backend that its packets have reached.
    #[inline]
    pub(super) fn reached(&self) -> BackendId {
        self.backend.expect("its packets have reached a backend")
    }

    /// From the backend to the client.
    pub(super) fn way_back(&self) -> SimDuration {
        self.trip - self.trip.half()
    }

    /// The number of the request's sending, among all of the connection.
    fn sending(&self) -> u32 {
        self.requests_sent << 5 | u32::from(self.resends.min(31))
    }

    /// The generator of the `number`-th draw of one kind.
    #[inline]
    fn draws(&self, what: Draw, number: u32) -> SplitMix64 {
        self.key.draws_of(u64::from(number) << 8 | what as u64)
    }

    /// A number from 0 to 1, neither included.
    fn unit(&self, what: Draw, number: u32) -> f64 {
        open_unit(self.draws(what, number).next_u64())
    }

    /// One of `count` numbers from 0 on, each as likely as any other.
    fn choose(&self, what: Draw, number: u32, count: u16) -> u16 {
        if count == 1 {
            return 0;
        }
        ((u128::from(self.draws(what, number).next_u64()) * u128::from(count)) >> 64) as u16
    }

    /// The `number`-th draw of one kind.
    #[inline]
    pub(super) fn draw<Q: Quantity>(&self, what: Draw, number: u32, law: &Distribution<Q>) -> Q {
        match law.constant_value() {
            Some(value) => value,
            None => law.sample_of(self.draws(what, number)),
        }
    }
}

impl Simulation<'_> {
    /// A client opens a connection.
    pub(super) fn open(&mut self, now: SimTime, flows: &mut Flows<'_>, client: ClientId, new: NewConnection) {
        let NewConnection { key, port, number, retries, requests, .. } = new;
        let mut marks = Marks::default();
        marks.set(Mark::Measured, self.recorder.opened(now));
        marks.set(Mark::RequestsGiven, requests.is_some());
        let group = &self.scenario.clients[client];
        let protocol = group.protocol;
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
            outcome: DecisionOutcome::Dropped,
            syn_retries: 0,
            resends: 0,
            retries_left: retries,
            pending: 0,
            marks,
        };
        let drawn = || flow.draw(Draw::Requests, 0, &group.connection.requests).0;
        flow.requests = requests.unwrap_or_else(drawn);
        flow.destination = flow.choose(Draw::Destination, 0, group.destinations.get());
        let mut flow = flows.add(flow);
        match protocol {
            Protocol::Tcp => self.send_syn(now, &mut flow),
            _ => self.send_request(now, &mut flow),
        }
    }

    /// The client sends a SYN, the first one or another.
    #[inline]
    pub(super) fn send_syn(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let verdict = self.route(now, flow, PacketKind::Syn);
        flow.sent = now;
        let Some((backend, outcome)) = verdict.selected() else { return self.await_syn_timer(now, flow) };
        self.place(flow, backend, outcome);
        let attempt = u32::from(flow.syn_retries);
        let trip = self.draw_trip(flow, backend, Draw::SynTrip, attempt);
        if self.loses(flow, backend, 2, Draw::SynLoss, attempt) {
            return self.await_syn_timer(now, flow);
        }
        let deadline = flow.connect_deadline();
        if now + trip > deadline {
            return self.fail_at(deadline, flow, FailureCause::ConnectTimeout);
        }
        let arrival = now + trip.half();
        if self.machines[backend].is_known(arrival) {
            self.syn_meets(now, flow, backend);
        } else {
            self.schedule(arrival, flow, FlowStep::SynArrives);
        }
    }

    /// A SYN reaches its backend.
    pub(super) fn syn_arrives(&mut self, now: SimTime, flow: &mut Current<'_>) {
        self.syn_meets(now, flow, flow.reached());
    }

    /// A SYN meets its backend as it is now. A SYN whose answer is on its way is not sent again.
    #[inline(always)]
    fn syn_meets(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        let machine = &self.machines[backend];
        let answer = flow.sent + flow.trip;
        match machine.state() {
            MachineState::Silent => self.await_syn_timer(now, flow),
            MachineState::Refusing => self.fail_at(answer, flow, FailureCause::Refused),
            MachineState::Up => {
                flow.incarnation = machine.incarnation();
                self.schedule(answer, flow, FlowStep::Established);
            }
        }
    }

    /// No answer will come: the client sends another SYN later, or gives up. (It is too late already if the SYN was longer
    /// on its way than the client waits.)
    fn await_syn_timer(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let deadline = flow.connect_deadline();
        let timer = (flow.sent + FIRST_SYN_TIMEOUT * (1 << flow.syn_retries.min(20))).max(now);
        if timer < deadline {
            flow.syn_retries += 1;
            self.schedule(timer, flow, FlowStep::SynTimer);
        } else {
            self.fail_at(deadline, flow, FailureCause::ConnectTimeout);
        }
    }

    /// The handshake is done: the client sends its first request.
    pub(super) fn established(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let backend = flow.reached();
        self.activate(now, flow, backend);
        self.recorder.connected(now, flow, backend);
        self.send_request(now, flow);
    }

    /// The client sends its next request.
    pub(super) fn send_request(&mut self, now: SimTime, flow: &mut Current<'_>) {
        flow.state = FlowState::Requesting;
        flow.sent = now;
        flow.requests_sent += 1;
        flow.resends = 0;
        let Some(backend) = self.route_request(now, flow) else { return };
        let bytes = match self.clients.recorded(flow) {
            Some(row) => row.request_bytes,
            None => {
                let law = &flow.group.connection.request_bytes;
                flow.draw(Draw::RequestBytes, flow.requests_sent, law).0
            }
        };
        self.recorder.requested(flow, backend, bytes);
        self.request_travels(now, flow, backend);
    }

    /// The client sends a request once more that was lost.
    pub(super) fn resend_request(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if let Some(backend) = self.route_request(now, flow) {
            self.request_travels(now, flow, backend);
        }
    }

    /// Routes a request and draws its round trip; gives its backend, if it goes to the connection's.
    #[inline(always)]
    fn route_request(&mut self, now: SimTime, flow: &mut Current<'_>) -> Option<BackendId> {
        let forwarded = match flow.group.protocol {
            Protocol::Tcp => self.forward(now, flow),
            _ => self.send_datagram(now, flow),
        };
        let backend = match forwarded {
            Forwarded::ToItsBackend(backend) => backend,
            Forwarded::Elsewhere => return None,
            Forwarded::Dropped => {
                self.await_request_timeout(flow);
                return None;
            }
        };
        self.draw_trip(flow, backend, Draw::RequestTrip, flow.requests_sent);
        Some(backend)
    }

    /// A request sets out to `backend`, and arrives or is lost.
    #[inline(always)]
    fn request_travels(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        if self.loses(flow, backend, 1, Draw::RequestLoss, flow.sending()) {
            return self.send_again(now, flow, FlowStep::Resend);
        }
        let arrival = now + flow.trip.half();
        if arrival > flow.request_deadline() {
            return self.await_request_timeout(flow);
        }
        // A request to a station with a queue must take its turn among the others.
        if self.stations[backend].is_unlimited() && self.machines[backend].is_known(arrival) {
            self.request_arrives(arrival, flow);
        } else {
            self.schedule(arrival, flow, FlowStep::RequestArrives);
        }
    }

    /// What was sent at `now` is lost: `step` sends it again, if the client waits that long.
    fn send_again(&mut self, now: SimTime, flow: &mut Current<'_>, step: FlowStep) {
        let again = now + FIRST_DATA_TIMEOUT * (1 << flow.resends.min(20));
        if flow.group.protocol != Protocol::Tcp || again >= flow.request_deadline() {
            return self.await_request_timeout(flow);
        }
        flow.resends += 1;
        self.schedule(again, flow, step);
    }

    /// A backend sends an answer, the first time or again. If it is lost, it is sent again as long as the client waits.
    pub(super) fn answer(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let backend = flow.reached();
        if self.machines[backend].incarnation() != flow.incarnation {
            return self.await_request_timeout(flow);
        }
        if !self.loses(flow, backend, 1, Draw::ResponseLoss, flow.sending()) {
            return self.deliver(now, flow);
        }
        self.send_again(now, flow, FlowStep::Answer);
    }

    /// Whether the network loses a packet of this connection, or one of `ways` packets there and back.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "to be parted")]
    fn loses(&self, flow: &Current<'_>, backend: BackendId, ways: i32, what: Draw, number: u32) -> bool {
        self.links.is_lossy() && self.loses_on_a_link(flow, backend, ways, what, number)
    }

    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "to be parted")]
    fn loses_on_a_link(
        &self,
        flow: &Current<'_>,
        backend: BackendId,
        ways: i32,
        what: Draw,
        number: u32,
    ) -> bool {
        let (place, zone) = (flow.group.place, self.recorder.zone(backend));
        let passes = self.links.passes(place, zone);
        passes < 1.0 && self.own_backend(flow).is_none() && flow.unit(what, number) >= passes.powi(ways)
    }

    /// Sends a request as a datagram, perhaps in fragments. It goes wherever the load balancer sends it; if its parts
    /// part, it is lost.
    fn send_datagram(&mut self, now: SimTime, flow: &mut Current<'_>) -> Forwarded {
        let fragmented = flow.group.fragmented.value() > flow.unit(Draw::Fragmented, flow.requests_sent);
        let kinds: &[PacketKind] = if fragmented && flow.group.protocol == Protocol::Udp {
            &[PacketKind::FirstFragment, PacketKind::LaterFragment]
        } else {
            &[PacketKind::Data]
        };
        let mut reached = None;
        let mut whole = true;
        for kind in kinds {
            match self.route(now, flow, *kind) {
                Verdict::Tracked { backend, outcome } | Verdict::Selected { backend, outcome } => {
                    whole &= reached.is_none_or(|other| other == backend);
                    reached = Some(backend);
                    self.move_to(now, flow, backend, outcome);
                }
                Verdict::Dropped => whole = false,
            }
        }
        reached.filter(|_| whole).map_or(Forwarded::Dropped, Forwarded::ToItsBackend)
    }

    /// Notes that a connection without handshake has reached `backend`.
    fn move_to(
        &mut self,
        now: SimTime,
        flow: &mut Current<'_>,
        backend: BackendId,
        outcome: DecisionOutcome,
    ) {
        let before = flow.backend;
        if before == Some(backend) {
            return;
        }
        if before.is_some() {
            self.recorder.diverted(flow);
            self.close(now, flow);
        }
        self.place(flow, backend, outcome);
        self.activate(now, flow, backend);
    }

    /// Routes a packet of an open TCP connection.
    #[inline(always)]
    fn forward(&mut self, now: SimTime, flow: &mut Current<'_>) -> Forwarded {
        match self.route(now, flow, PacketKind::Data).selected() {
            Some((backend, _)) if flow.backend == Some(backend) => Forwarded::ToItsBackend(backend),
            Some((backend, outcome)) => self.goes_astray(now, flow, backend, outcome),
            None => Forwarded::Dropped,
        }
    }

    /// A packet of an open TCP connection reaches another backend, which does not know it and answers with RST.
    #[cold]
    fn goes_astray(
        &mut self,
        now: SimTime,
        flow: &mut Current<'_>,
        backend: BackendId,
        outcome: DecisionOutcome,
    ) -> Forwarded {
        self.recorder.diverted(flow);
        self.close(now, flow);
        self.place(flow, backend, outcome);
        let trip = self.draw_trip(flow, backend, Draw::RequestTrip, flow.requests_sent);
        match self.machines[backend].state() {
            MachineState::Silent => self.await_request_timeout(flow),
            MachineState::Up | MachineState::Refusing => self.fail_at(now + trip, flow, FailureCause::Reset),
        }
        Forwarded::Elsewhere
    }

    /// Notes where the load balancer has placed a connection.
    #[inline]
    fn place(&mut self, flow: &mut Current<'_>, backend: BackendId, outcome: DecisionOutcome) {
        flow.backend = Some(backend);
        flow.outcome = outcome;
        flow.marks.set(Mark::OnUnhealthy, !self.balancer.roster().is_healthy(backend));
    }

    /// The client has a whole response: it closes, or thinks about the next request.
    pub(super) fn responded(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let backend = flow.reached();
        let profile = &flow.group.connection;
        let recorded = self.clients.recorded(flow).and_then(|row| row.response_bytes);
        let draw = || flow.draw(Draw::ResponseBytes, flow.requests_sent, &profile.response_bytes).0;
        self.recorder.responded(now, flow, backend, recorded.unwrap_or_else(draw));
        if flow.requests_sent == flow.requests {
            return self.served(now, flow);
        }
        let think = flow.draw(Draw::Think, flow.requests_sent, &profile.think_time);
        if self.is_too_old(now, flow) {
            return self.replace(now, flow, think);
        }
        if think.is_zero() {
            return self.send_request(now, flow);
        }
        self.pause(now, flow, now + think);
    }

    /// The backend goes down while it has a request of this connection.
    pub(super) fn interrupt(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        if flow.state != FlowState::Requesting || flow.backend != Some(backend) {
            return;
        }
        match self.machines[backend].state() {
            MachineState::Refusing => self.fail_at(now + flow.way_back(), flow, FailureCause::Reset),
            _ => self.await_request_timeout(flow),
        }
    }

    /// A connection fails.
    pub(super) fn fail(&mut self, now: SimTime, flow: &mut Current<'_>, cause: FailureCause) {
        let nowhere = flow.backend.is_none();
        self.end(now, flow, Some(if nowhere { FailureCause::NoBackend } else { cause }));
    }

    /// The client of a connection that has failed may try again.
    pub(super) fn try_again(&mut self, now: SimTime, flows: &mut Flows<'_>, id: FlowId) {
        let flow = &flows[id];
        let client = flow.client;
        if let Some(again) = self.clients.retry(now, flows, flow) {
            self.open(now, flows, client, again);
        }
    }

    fn end(&mut self, now: SimTime, flow: &mut Current<'_>, failure: Option<FailureCause>) {
        self.close(now, flow);
        flow.state = FlowState::Over;
        self.clients.ended(now, flow, failure.is_some());
        self.recorder.ended(now, flow, failure);
    }

    #[inline(always)]
    fn activate(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        flow.marks.set(Mark::Open, true);
        self.recorder.activated(now, flow.client, backend);
    }

    #[inline(always)]
    fn close(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if let (true, Some(backend)) = (flow.marks.has(Mark::Open), flow.backend) {
            flow.marks.set(Mark::Open, false);
            self.recorder.closed(now, flow.client, backend);
        }
    }

    pub(super) fn await_request_timeout(&mut self, flow: &mut Current<'_>) {
        let deadline = flow.request_deadline();
        self.fail_at(deadline, flow, FailureCause::RequestTimeout);
    }

    /// Nothing but its failure at `time` can happen to the connection any more.
    pub(super) fn fail_at(&mut self, time: SimTime, flow: &mut Current<'_>, cause: FailureCause) {
        flow.state = FlowState::Failing;
        self.schedule(time, flow, FlowStep::Fails(cause));
    }

    #[inline]
    pub(super) fn schedule(&mut self, time: SimTime, flow: &mut Current<'_>, step: FlowStep) {
        flow.pending += 1;
        self.queue.push(time, Event::Flow { flow: flow.id, step });
    }

    #[inline(always)]
    fn route(&mut self, now: SimTime, flow: &Current<'_>, kind: PacketKind) -> Verdict {
        if let Some(backend) = self.own_backend(flow) {
            return Verdict::Tracked { backend, outcome: DecisionOutcome::OwnBackend };
        }
        self.balancer.route(now, &self.clients.packet(flow, kind))
    }

    /// The backend that a connection's client is itself, as long as it is in the load balancer: what it sends there never
    /// leaves it (ELIG-14).
    #[inline]
    fn own_backend(&self, flow: &Current<'_>) -> Option<BackendId> {
        if self.clients.are_backends() { self.configured_self(flow) } else { None }
    }

    #[inline(never)]
    fn configured_self(&self, flow: &Current<'_>) -> Option<BackendId> {
        let own = *flow.group.own_backends.get(self.clients.address(flow) as usize)?;
        self.balancer.roster().member(own).configured.then_some(own)
    }

    /// Whether a client is itself a backend that does nothing any more.
    #[inline]
    pub(super) fn is_dead(&self, client: ClientId, address: u32) -> bool {
        if !self.clients.are_backends() {
            return false;
        }
        let own = self.scenario.clients[client].own_backends.get(address as usize);
        own.is_some_and(|own| self.machines[*own].state() == MachineState::Silent)
    }

    /// Draws the round trip of the packet that is being sent.
    #[inline]
    fn draw_trip(
        &mut self,
        flow: &mut Current<'_>,
        backend: BackendId,
        what: Draw,
        number: u32,
    ) -> SimDuration {
        let trip = if self.own_backend(flow).is_some() {
            SimDuration::ZERO
        } else {
            let place = flow.group.place;
            let link = self.links.link(place, self.recorder.zone(backend));
            flow.draw(what, number, &link.round_trips) + link.delay
        };
        flow.trip = trip;
        trip
    }
}

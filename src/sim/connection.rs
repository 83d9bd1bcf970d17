//! The life of a connection at its client, step by step.
//!
//! TCP: SYN, SYN-ACK, then requests with their responses and pauses, then FIN. Other protocols: requests and responses
//! alone, each request a datagram of its own, perhaps in fragments. Only the client's packets pass the load balancer;
//! answers come directly (CTE-13), unless a route leads them through a next hop of their own (REG-4). Half of a round trip
//! is the way there, the rest the way back. What happens at the
//! backend to what was [`Sent`] stands in [`super::service`].
//!
//! What nobody acknowledges is sent again ([`super::retransmission`]): it was lost or dropped, or it met a silent backend. A
//! client sends its SYN and its requests again, a backend its SYN-ACK and its responses. Each copy of the client's is routed
//! anew. So it finds a backend that has come back, which does not know
//! the connection and resets it, or another one, once the load balancer has noticed and diverts the connection, and that
//! one resets it too. A request that has reached a living backend is acknowledged: if that dies before it answers, the
//! client sends nothing, and waits until the request times out. Other protocols send nothing again.
//!
//! A connection is closed after its last request; one of a trace not before the duration that was recorded. As the
//! connection pools of HTTP clients and databases do, a client sends no request on a connection that is older than its
//! group's `max_age`: it closes it, after the response that it waits for, or when the next request is due. That request
//! and all later ones go over a new connection, which is one of its own, from another port.

use super::calendar::Calendar;
use super::clients::NewConnection;
use super::event::FlowStep;
use super::flow::{Current, Draw, Flow, FlowState, Mark};
use super::front::FrontSide;
use super::machines::Machines;
use super::outcome::FailureCause;
use super::retransmission::{HANDSHAKE, SYN_ACK_RETRIES};
use crate::ids::BackendId;
use crate::lb::packet::{PacketKind, Protocol};
use crate::time::SimTime;

/// What a client has sent that a backend will meet: the one that the connection's packets have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing, or what is lost or dropped.
    Nothing,
    /// A SYN that arrives at this time.
    Syn(SimTime),
    /// A request that arrives at this time.
    Request(SimTime),
    /// A request of a TCP connection that this backend does not know.
    Astray(BackendId),
    /// Such an acknowledgement of a response. The next request is due at this time.
    AstrayAcknowledgement(BackendId, SimTime),
}

impl FrontSide {
    pub(super) fn start(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        if flow.port == NewConnection::NO_PORT {
            flow.fail_at(calendar.now(), FailureCause::NoPort, calendar);
            return Sent::Nothing;
        }
        match flow.protocol() {
            Protocol::Tcp => self.send_syn(flow, calendar),
            _ => self.send_request(flow, calendar),
        }
    }

    #[inline]
    pub(super) fn send_syn(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let now = calendar.now();
        let verdict = self.route(now, flow, PacketKind::Syn);
        flow.sent = now;
        let Some((backend, outcome)) = verdict.selected() else {
            flow.await_syn_timer(calendar);
            return Sent::Nothing;
        };
        self.place(flow, backend, outcome);
        let trip = self.draw_trip(flow, backend, Draw::SynTrip);
        if self.loses(flow, backend, Draw::SynLoss) {
            flow.await_syn_timer(calendar);
            return Sent::Nothing;
        }
        let deadline = flow.connect_deadline();
        if now + trip > deadline {
            flow.fail_at(deadline, FailureCause::ConnectTimeout, calendar);
            return Sent::Nothing;
        }
        Sent::Syn(now + trip.half())
    }

    /// A SYN has had no answer for so long that the client sends another, or gives up.
    pub(super) fn syn_timer(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let deadline = flow.connect_deadline();
        if calendar.now() < deadline {
            return self.send_syn(flow, calendar);
        }
        flow.fail_at(deadline, FailureCause::ConnectTimeout, calendar);
        Sent::Nothing
    }

    /// A backend sends a SYN-ACK. If it is lost, the client sends its SYN again, and the backend its SYN-ACK, each by its own
    /// timer.
    pub(super) fn answer_syn(
        &mut self,
        flow: &mut Current<'_>,
        step: FlowStep,
        machines: &Machines<'_>,
        calendar: &mut Calendar,
    ) {
        let by_itself = step == FlowStep::SynAckTimer;
        flow.resends += u8::from(by_itself);
        let now = calendar.now();
        let draw = if by_itself { Draw::SynAckLossAgain } else { Draw::SynAckLoss };
        if self.comes_back(now, flow, machines) && !self.loses(flow, flow.reached(), draw) {
            let answer = now + flow.way_back();
            if answer <= flow.connect_deadline() {
                flow.schedule(answer, FlowStep::Established, calendar);
            }
            return;
        }
        // An answer to a later SYN changes nothing about the timer that runs.
        let runs = !by_itself && flow.marks.has(Mark::SynAckLost);
        flow.marks.set(Mark::SynAckLost, true);
        if !runs && flow.resends < SYN_ACK_RETRIES {
            flow.schedule(now + HANDSHAKE.wait(flow.resends), FlowStep::SynAckTimer, calendar);
        }
        if !by_itself {
            flow.await_syn_timer(calendar);
        }
    }

    pub(super) fn established(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let (backend, now) = (flow.reached(), calendar.now());
        self.activate(now, flow, backend);
        self.recorder.connected(now, flow, backend);
        self.send_request(flow, calendar)
    }

    pub(super) fn send_request(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        flow.state = FlowState::Requesting;
        flow.sent = calendar.now();
        flow.requests_sent += 1;
        flow.resends = 0;
        let backend = match self.route_request(flow, calendar) {
            Ok(backend) => backend,
            Err(sent) => {
                flow.marks.set(Mark::Uncounted, true);
                self.count_astray(flow, sent);
                return sent;
            }
        };
        self.count_request(flow, backend);
        self.request_travels(flow, backend, calendar)
    }

    /// A request that goes astray is carried to another backend, though nobody there takes it.
    #[cold]
    fn count_astray(&mut self, flow: &mut Current<'_>, sent: Sent) {
        if let Sent::Astray(backend) = sent
            && flow.marks.has(Mark::Uncounted)
        {
            flow.marks.set(Mark::Uncounted, false);
            let bytes = self.request_bytes(flow);
            self.recorder.carried(flow, backend, bytes);
        }
    }

    #[inline(always)]
    fn count_request(&mut self, flow: &Current<'_>, backend: BackendId) {
        let bytes = self.request_bytes(flow);
        self.recorder.requested(flow, backend, bytes);
    }

    #[inline(always)]
    fn request_bytes(&self, flow: &Current<'_>) -> u64 {
        match self.clients.recorded(flow) {
            Some(row) => row.request_bytes,
            None => flow.draw(Draw::RequestBytes, &flow.group.connection.request_bytes).0,
        }
    }

    pub(super) fn resend_request(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let backend = match self.route_request(flow, calendar) {
            Ok(backend) => backend,
            Err(sent) => {
                self.count_astray(flow, sent);
                return sent;
            }
        };
        if flow.marks.has(Mark::Uncounted) {
            flow.marks.set(Mark::Uncounted, false);
            self.count_request(flow, backend);
        }
        self.request_travels(flow, backend, calendar)
    }

    /// Routes a request: gives the connection's backend, with its round trip drawn, or else what became of it.
    #[inline(always)]
    fn route_request(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Result<BackendId, Sent> {
        let now = calendar.now();
        let forwarded = match flow.protocol() {
            Protocol::Tcp => self.forward(now, flow),
            _ => self.send_datagram(now, flow),
        };
        match forwarded {
            Ok(backend) => _ = self.draw_trip(flow, backend, Draw::RequestTrip),
            Err(Sent::Nothing) => flow.send_again(now, FlowStep::Resend, calendar),
            Err(_) => {}
        }
        forwarded
    }

    #[inline(always)]
    fn request_travels(
        &mut self,
        flow: &mut Current<'_>,
        backend: BackendId,
        calendar: &mut Calendar,
    ) -> Sent {
        if self.loses(flow, backend, Draw::RequestLoss) {
            flow.send_again(calendar.now(), FlowStep::Resend, calendar);
            return Sent::Nothing;
        }
        let arrival = calendar.now() + flow.trip.half();
        if arrival > flow.request_deadline() {
            flow.await_request_timeout(calendar);
            return Sent::Nothing;
        }
        Sent::Request(arrival)
    }

    /// A backend sends an answer. If it is lost, it is sent again while the client waits. Tells whether it is not lost.
    pub(super) fn answer(
        &mut self,
        flow: &mut Current<'_>,
        machines: &Machines<'_>,
        calendar: &mut Calendar,
    ) -> bool {
        let lost = !self.comes_back(calendar.now(), flow, machines)
            || self.loses(flow, flow.reached(), Draw::ResponseLoss);
        if lost {
            flow.send_again(calendar.now(), FlowStep::Answer, calendar);
        }
        !lost
    }

    /// A datagram goes wherever the load balancer sends it; if its fragments part, it is lost.
    fn send_datagram(&mut self, now: SimTime, flow: &mut Current<'_>) -> Result<BackendId, Sent> {
        let fragmented = flow.group.fragmented.value() > flow.unit(Draw::Fragmented);
        let kinds: &[PacketKind] = if fragmented && flow.protocol() == Protocol::Udp {
            &[PacketKind::FirstFragment, PacketKind::LaterFragment]
        } else {
            &[PacketKind::Data]
        };
        let mut reached = None;
        let mut whole = true;
        for kind in kinds {
            let Some((backend, outcome)) = self.route(now, flow, *kind).selected() else {
                whole = false;
                continue;
            };
            whole &= reached.is_none_or(|other| other == backend);
            reached = Some(backend);
            if flow.backend != Some(backend) {
                self.divert(now, flow);
                self.place(flow, backend, outcome);
                self.activate(now, flow, backend);
            }
        }
        reached.filter(|_| whole).ok_or(Sent::Nothing)
    }

    #[inline(always)]
    fn forward(&mut self, now: SimTime, flow: &mut Current<'_>) -> Result<BackendId, Sent> {
        match self.route(now, flow, PacketKind::Data).selected() {
            Some((backend, _)) if flow.backend == Some(backend) => Ok(backend),
            Some((elsewhere, _)) => {
                self.divert(now, flow);
                self.goes_astray(flow, elsewhere);
                Err(Sent::Astray(elsewhere))
            }
            None => Err(Sent::Nothing),
        }
    }

    /// The connection stays one of the backend that it was made with, which no packet reaches any more.
    #[cold]
    fn goes_astray(&mut self, flow: &mut Current<'_>, backend: BackendId) {
        flow.incarnation = Flow::NO_LIFE;
        self.draw_trip(flow, backend, Draw::RequestTrip);
    }

    pub(super) fn responded(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let now = calendar.now();
        let profile = &flow.group.connection;
        let recorded = self.clients.recorded(flow).and_then(|row| row.response_bytes);
        let bytes = recorded.unwrap_or_else(|| flow.draw(Draw::ResponseBytes, &profile.response_bytes).0);
        self.recorder.responded(now, flow, flow.reached(), bytes);
        let until = if flow.requests_sent == flow.requests {
            let recorded = self.clients.recorded(flow).and_then(|row| row.duration);
            recorded.map_or(now, |duration| flow.started + duration)
        } else {
            let think = flow.draw(Draw::Think, &profile.think_time);
            if is_too_old(now, flow) {
                self.leave(now, flow);
                self.clients.go_on(now + think, flow);
                return Sent::Nothing;
            }
            if think.is_zero() {
                return self.send_request(flow, calendar);
            }
            now + think
        };
        if until <= now {
            self.leave(now, flow);
            return Sent::Nothing;
        }
        flow.state = FlowState::Thinking;
        // The acknowledgement of a response passes the load balancer too. Nobody notices if it is dropped.
        if flow.protocol() == Protocol::Tcp
            && let Err(Sent::Astray(backend)) = self.forward(now, flow)
        {
            return Sent::AstrayAcknowledgement(backend, until);
        }
        flow.schedule(until, FlowStep::RequestDue, calendar);
        Sent::Nothing
    }

    pub(super) fn request_due(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Sent {
        let now = calendar.now();
        let is_done = flow.requests_sent == flow.requests;
        if !is_done && !is_too_old(now, flow) {
            return self.send_request(flow, calendar);
        }
        self.leave(now, flow);
        if !is_done {
            self.clients.go_on(now, flow);
        }
        Sent::Nothing
    }

    fn leave(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if flow.protocol() == Protocol::Tcp {
            // Its FIN is the last packet that keeps the tracking entry alive.
            let _ = self.route(now, flow, PacketKind::Data);
        }
        self.end(now, flow, None);
    }

    /// A request may have taken too long; tells whether it has. For a later one the event comes again.
    pub(super) fn request_timeout(&mut self, flow: &mut Current<'_>, calendar: &mut Calendar) -> bool {
        flow.marks.set(Mark::Timed, false);
        if flow.state != FlowState::Requesting {
            return false;
        }
        let too_long = calendar.now() >= flow.request_deadline();
        if too_long {
            self.fail(calendar.now(), flow, FailureCause::RequestTimeout);
        } else {
            flow.time_request(calendar);
        }
        too_long
    }

    pub(super) fn fail(&mut self, now: SimTime, flow: &mut Current<'_>, cause: FailureCause) {
        let nowhere = flow.backend.is_none() && cause != FailureCause::NoPort;
        self.end(now, flow, Some(if nowhere { FailureCause::NoBackend } else { cause }));
    }

    fn end(&mut self, now: SimTime, flow: &mut Current<'_>, failure: Option<FailureCause>) {
        self.close(now, flow);
        flow.state = FlowState::Over;
        self.clients.ended(now, flow, failure.is_some());
        self.recorder.ended(now, flow, failure);
    }

    fn divert(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if flow.backend.is_some() {
            // A connection that is astray already was diverted once.
            if flow.incarnation != Flow::NO_LIFE {
                self.recorder.diverted();
            }
            self.close(now, flow);
        }
    }

    #[inline(always)]
    fn activate(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        flow.marks.open();
        self.recorder.activated(now, flow.client, backend);
    }

    #[inline(always)]
    fn close(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if let (true, Some(backend)) = (flow.marks.has(Mark::Open), flow.backend) {
            flow.marks.set(Mark::Open, false);
            self.recorder.closed(now, flow.client, backend);
        }
    }
}

fn is_too_old(now: SimTime, flow: &Current<'_>) -> bool {
    flow.group.max_age.is_some_and(|max_age| now.since(flow.started) >= max_age)
}

//! Requests at a backend: they are admitted, wait, are served, and answered, as are probes that go through the queue.

use super::calendar::Calendar;
use super::connection::Sent;
use super::event::{BackendStep, FlowStep};
use super::flow::{Current, Draw, FlowState, Flows};
use super::machine::MachineState;
use super::machines::Machines;
use super::outcome::FailureCause;
use super::recorder::Recorder;
use super::station::{Admission, Job};
use crate::ids::BackendId;
use crate::lb::packet::Protocol;
use crate::time::SimTime;

impl Machines<'_> {
    /// What a client has just sent: it meets its backend at once where that is known to be then as it is now.
    #[inline(always)]
    pub(super) fn receive(&mut self, sent: Sent, flow: &mut Current<'_>, calendar: &mut Calendar) {
        match sent {
            Sent::Nothing => {}
            Sent::Syn(arrival) => {
                let backend = flow.reached();
                if self.machines[backend].is_known(arrival) {
                    self.syn_meets(flow, backend, calendar);
                } else {
                    flow.schedule(arrival, FlowStep::SynArrives, calendar);
                }
            }
            Sent::Request(arrival) => {
                let backend = flow.reached();
                // A request to a station with a queue must take its turn among the others.
                if self.stations[backend].is_unlimited() && self.machines[backend].is_known(arrival) {
                    self.request_arrives(arrival, flow, calendar);
                } else {
                    flow.schedule(arrival, FlowStep::RequestArrives, calendar);
                }
            }
            Sent::Astray(backend) => self.refuse(flow, backend, None, calendar),
            Sent::AstrayAcknowledgement(backend, next) => self.refuse(flow, backend, Some(next), calendar),
        }
    }

    /// A backend answers a packet of a connection that it does not know with RST. If it is silent, a request is sent again,
    /// an acknowledgement is not: the client sends its next request at time `next`.
    #[cold]
    fn refuse(
        &self,
        flow: &mut Current<'_>,
        backend: BackendId,
        next: Option<SimTime>,
        calendar: &mut Calendar,
    ) {
        let now = calendar.now();
        match (self.is_silent(backend), next) {
            (false, _) => flow.fail_at(now + flow.trip, FailureCause::Reset, calendar),
            (true, Some(next)) => flow.schedule(next, FlowStep::RequestDue, calendar),
            (true, None) => flow.send_again(now, FlowStep::Resend, calendar),
        }
    }

    pub(super) fn syn_arrives(&self, flow: &mut Current<'_>, calendar: &mut Calendar) {
        self.syn_meets(flow, flow.reached(), calendar);
    }

    /// A SYN meets its backend as it is now. A SYN whose answer is on its way is not sent again.
    #[inline(always)]
    fn syn_meets(&self, flow: &mut Current<'_>, backend: BackendId, calendar: &mut Calendar) {
        let machine = &self.machines[backend];
        let answer = flow.sent + flow.trip;
        match machine.state() {
            MachineState::Silent => flow.await_syn_timer(calendar),
            MachineState::Refusing => flow.fail_at(answer, FailureCause::Refused, calendar),
            MachineState::Up if self.is_closed(flow, backend) => {
                flow.fail_at(answer, FailureCause::Refused, calendar);
            }
            MachineState::Up => {
                flow.incarnation = machine.incarnation();
                if self.answers_get_lost {
                    // Whether the network loses the answer is decided then.
                    return flow.schedule(flow.sent + flow.trip.half(), FlowStep::SynAck, calendar);
                }
                flow.schedule(answer, FlowStep::Established, calendar);
            }
        }
    }

    pub(super) fn request_arrives(&mut self, at: SimTime, flow: &mut Current<'_>, calendar: &mut Calendar) {
        let backend = flow.reached();
        let machine = &self.machines[backend];
        let back = flow.way_back();
        match machine.state() {
            MachineState::Silent => {
                return flow.send_again(at - flow.trip.half(), FlowStep::Resend, calendar);
            }
            MachineState::Refusing if flow.protocol() == Protocol::Tcp => {
                return flow.fail_at(at + back, FailureCause::Reset, calendar);
            }
            // Other protocols hear that the port is unreachable.
            MachineState::Refusing => return flow.fail_at(at + back, FailureCause::Refused, calendar),
            MachineState::Up if flow.protocol() != Protocol::Tcp && self.is_closed(flow, backend) => {
                return flow.fail_at(at + back, FailureCause::Refused, calendar);
            }
            MachineState::Up if flow.protocol() != Protocol::Tcp => {
                flow.incarnation = machine.incarnation();
            }
            MachineState::Up if machine.incarnation() != flow.incarnation => {
                return flow.fail_at(at + back, FailureCause::Reset, calendar);
            }
            MachineState::Up => {}
        }
        match self.stations[backend].admit(at, Job::Request(flow.id)) {
            Admission::Starts => self.serve(at, flow, backend, calendar),
            Admission::Waits => {
                flow.pending += 1;
                flow.time_request(calendar);
            }
            Admission::Full => flow.fail_at(at + back, FailureCause::QueueFull, calendar),
        }
    }

    #[inline(always)]
    fn serve(&mut self, at: SimTime, flow: &mut Current<'_>, backend: BackendId, calendar: &mut Calendar) {
        let work = flow.draw(Draw::Service, self.stations[backend].service_time);
        let work = work.scaled(self.machines[backend].slowness(at));
        if self.stations[backend].is_sharing() {
            flow.pending += 1;
            flow.time_request(calendar);
            return self.share(backend, Job::Request(flow.id), work, calendar);
        }
        let done = at + work;
        self.machines[backend].watch(flow.id, flow.key, done);
        if self.stations[backend].is_unlimited() {
            self.respond(done, flow, calendar);
        } else {
            flow.schedule(done, FlowStep::ServiceEnds, calendar);
            if done > flow.request_deadline() {
                flow.time_request(calendar);
            }
        }
    }

    /// A worker is done with a request; gives its backend, if it is to take the next one.
    pub(super) fn service_ends(&self, flow: &mut Current<'_>, calendar: &mut Calendar) -> Option<BackendId> {
        let backend = flow.reached();
        if !self.knows(flow) {
            // The backend has failed since, or is another machine: its workers dropped everything.
            if flow.state == FlowState::Requesting {
                flow.await_request_timeout(calendar);
            }
            return None;
        }
        if flow.state == FlowState::Requesting {
            self.respond(calendar.now(), flow, calendar);
        }
        Some(backend)
    }

    pub(super) fn serve_next(&mut self, backend: BackendId, flows: &mut Flows<'_>, calendar: &mut Calendar) {
        let now = calendar.now();
        let Self { stations, probers, .. } = self;
        let next = stations[backend].take_next(now, |job| match job {
            Job::Request(id) => {
                let is_wanted = flows[id].state == FlowState::Requesting;
                if !is_wanted {
                    // Its client has given up meanwhile.
                    let _given_up = flows.named(id);
                    flows.release(id);
                }
                is_wanted
            }
            Job::Probe(probe) => probers[(probe.prober.judge, backend)].awaits(probe),
        });
        match next {
            Some(Job::Request(id)) => self.serve(now, &mut flows.named(id), backend, calendar),
            Some(Job::Probe(probe)) => self.serve_probe(backend, probe, calendar),
            None => {}
        }
    }

    pub(super) fn shared_ends(&mut self, backend: BackendId, flows: &mut Flows<'_>, calendar: &mut Calendar) {
        let (done, next) = self.stations[backend].take_shared(calendar.now());
        for job in done {
            match job {
                Job::Request(id) => {
                    let mut flow = flows.named(id);
                    if flow.state == FlowState::Requesting {
                        self.respond(calendar.now(), &mut flow, calendar);
                    }
                    flows.release(id);
                }
                Job::Probe(probe) => self.probe_answered(backend, probe, calendar),
            }
        }
        if let Some(end) = next {
            calendar.plan_step(end, backend, BackendStep::SharedEnds);
        }
    }

    /// Whether the machine that accepted the connection is still there, and was never down since.
    pub(super) fn knows(&self, flow: &Current<'_>) -> bool {
        self.machines[flow.reached()].incarnation() == flow.incarnation
    }

    /// A backend answers at time `done`. Whether the network loses the answer is decided then.
    fn respond(&self, done: SimTime, flow: &mut Current<'_>, calendar: &mut Calendar) {
        if self.answers_get_lost && done <= flow.request_deadline() {
            flow.resends = 0;
            return flow.schedule(done, FlowStep::Answer, calendar);
        }
        deliver(done, flow, calendar);
    }

    pub(super) fn replace(
        &mut self,
        backend: BackendId,
        flows: &mut Flows<'_>,
        calendar: &mut Calendar,
        recorder: &mut Recorder,
    ) {
        let (machine, now) = (&mut self.machines[backend], calendar.now());
        machine.replace(now);
        recorder.serves(now, backend, machine.state() == MachineState::Up);
        self.plan_renewal(backend, calendar);
        self.went_down(backend, flows, calendar);
    }

    /// Everything that a backend was doing is lost when it goes down.
    pub(super) fn went_down(&mut self, backend: BackendId, flows: &mut Flows<'_>, calendar: &mut Calendar) {
        for (id, key) in self.machines[backend].take_exposed() {
            // The slot may be another connection's by now.
            if flows[id].key == key {
                self.interrupt(&mut flows.at(id), backend, calendar);
            }
        }
        for job in self.stations[backend].stop(calendar.now()) {
            // A probe that is lost times out.
            if let Job::Request(id) = job {
                self.interrupt(&mut flows.named(id), backend, calendar);
                flows.release(id);
            }
        }
    }

    /// Clients of connections that were idle at machines that went down hear of it at once where the system lives on, and closes
    /// what its server had open. Of a silent machine nobody hears anything.
    pub(super) fn hang_up(&self, down: &[BackendId], flows: &mut Flows<'_>, calendar: &mut Calendar) {
        let mut refusing = down.to_vec();
        refusing.retain(|backend| self.machines[*backend].state() == MachineState::Refusing);
        if refusing.is_empty() {
            return;
        }
        refusing.sort_unstable();
        for id in flows.ids() {
            let flow = &flows[id];
            let Some(backend) = flow.backend.filter(|_| flow.state == FlowState::Thinking) else { continue };
            let is_known = self.machines[backend].incarnation().checked_sub(1) == Some(flow.incarnation);
            let goes_on = flow.requests_sent < flow.requests;
            if !is_known || !goes_on || refusing.binary_search(&backend).is_err() {
                continue;
            }
            let flow = &mut flows.at(id);
            if flow.protocol() == Protocol::Tcp {
                flow.fail_at(calendar.now() + flow.way_back(), FailureCause::Reset, calendar);
            }
        }
    }

    fn interrupt(&self, flow: &mut Current<'_>, backend: BackendId, calendar: &mut Calendar) {
        if flow.state != FlowState::Requesting || flow.backend != Some(backend) {
            return;
        }
        match self.machines[backend].state() {
            MachineState::Refusing => {
                flow.fail_at(calendar.now() + flow.way_back(), FailureCause::Reset, calendar);
            }
            _ => flow.await_request_timeout(calendar),
        }
    }
}

#[inline(always)]
pub(super) fn deliver(sent: SimTime, flow: &mut Current<'_>, calendar: &mut Calendar) {
    let response = sent + flow.way_back();
    if response <= flow.request_deadline() {
        flow.schedule(response, FlowStep::Response, calendar);
    } else {
        flow.time_request(calendar);
    }
}

//! What happens to a request at its backend: it is admitted, waits, is served, and answered. Probes that go through the
//! queue take the same way.

use super::connection::Draw;
use super::event::{BackendStep, Event, FlowStep};
use super::flow::{Current, FlowState, Flows, Mark};
use super::machine::MachineState;
use super::outcome::FailureCause;
use super::simulation::Simulation;
use super::station::{Admission, Job};
use crate::ids::BackendId;
use crate::lb::packet::Protocol;
use crate::time::{SimDuration, SimTime};

impl Simulation<'_> {
    /// A request reaches its backend at time `now`.
    pub(super) fn request_arrives(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let backend = flow.reached();
        let machine = &self.machines[backend];
        let back = flow.way_back();
        match machine.state() {
            MachineState::Silent => return self.await_request_timeout(flow),
            MachineState::Refusing if flow.group.protocol == Protocol::Tcp => {
                return self.fail_at(now + back, flow, FailureCause::Reset);
            }
            // Other protocols hear that the port is unreachable.
            MachineState::Refusing => {
                return self.fail_at(now + back, flow, FailureCause::Refused);
            }
            MachineState::Up if flow.group.protocol != Protocol::Tcp => {
                flow.incarnation = machine.incarnation();
            }
            MachineState::Up if machine.incarnation() != flow.incarnation => {
                return self.fail_at(now + back, flow, FailureCause::Reset);
            }
            MachineState::Up => {}
        }
        match self.stations[backend].admit(now, Job::Request(flow.id)) {
            Admission::Starts => self.serve(now, flow, backend),
            Admission::Waits => {
                flow.pending += 1;
                self.time_request(flow);
            }
            Admission::Full => self.fail_at(now + back, flow, FailureCause::QueueFull),
        }
    }

    /// A worker begins with a request at time `now`.
    #[inline(always)]
    fn serve(&mut self, now: SimTime, flow: &mut Current<'_>, backend: BackendId) {
        let work = flow.draw(Draw::Service, flow.requests_sent, self.stations[backend].service_time);
        let work = work.scaled(self.machines[backend].slowness(now));
        if self.stations[backend].is_sharing() {
            flow.pending += 1;
            self.time_request(flow);
            return self.share(now, backend, Job::Request(flow.id), work);
        }
        let done = now + work;
        self.machines[backend].watch(flow.id, flow.key, done);
        if self.stations[backend].is_unlimited() {
            self.respond(done, flow);
        } else {
            self.schedule(done, flow, FlowStep::ServiceEnds);
            if done > flow.request_deadline() {
                self.time_request(flow);
            }
        }
    }

    /// A worker is done with a request; gives its backend, if it is to take the next one.
    pub(super) fn service_ends(&mut self, now: SimTime, flow: &mut Current<'_>) -> Option<BackendId> {
        let backend = flow.reached();
        if self.machines[backend].incarnation() != flow.incarnation {
            // The backend has failed since, or is another machine: its workers dropped everything.
            if flow.state == FlowState::Requesting {
                self.await_request_timeout(flow);
            }
            return None;
        }
        if flow.state == FlowState::Requesting {
            self.respond(now, flow);
        }
        Some(backend)
    }

    /// A worker is done, and takes the next job.
    pub(super) fn serve_next(&mut self, now: SimTime, flows: &mut Flows<'_>, backend: BackendId) {
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
            Job::Probe(probe) => probers[backend].awaits(probe),
        });
        match next {
            Some(Job::Request(id)) => {
                self.serve(now, &mut flows.named(id), backend);
            }
            Some(Job::Probe(probe)) => self.serve_probe(now, backend, probe),
            None => {}
        }
    }

    /// A job shares a backend's workers from now on.
    pub(super) fn share(&mut self, now: SimTime, backend: BackendId, job: Job, work: SimDuration) {
        if let Some(end) = self.stations[backend].share(now, job, work) {
            self.queue.push(end, Event::Backend { backend, step: BackendStep::SharedEnds });
        }
    }

    /// Jobs that share a backend's workers may have ended.
    pub(super) fn shared_ends(&mut self, now: SimTime, flows: &mut Flows<'_>, backend: BackendId) {
        let (done, next) = self.stations[backend].take_shared(now);
        for job in done {
            match job {
                Job::Request(id) => {
                    let mut flow = flows.named(id);
                    if flow.state == FlowState::Requesting {
                        self.respond(now, &mut flow);
                    }
                    flows.release(id);
                }
                Job::Probe(probe) => self.probe_answered(now, backend, probe),
            }
        }
        if let Some(end) = next {
            self.queue.push(end, Event::Backend { backend, step: BackendStep::SharedEnds });
        }
    }

    /// A backend answers at time `done`. Whether the network loses the answer is decided then.
    fn respond(&mut self, done: SimTime, flow: &mut Current<'_>) {
        if self.links.is_ever_lossy() && done <= flow.request_deadline() {
            flow.resends = 0;
            return self.schedule(done, flow, FlowStep::Answer);
        }
        self.deliver(done, flow);
    }

    /// An answer sets out at time `sent`, and is not lost.
    #[inline(always)]
    pub(super) fn deliver(&mut self, sent: SimTime, flow: &mut Current<'_>) {
        let response = sent + flow.way_back();
        if response <= flow.request_deadline() {
            self.schedule(response, flow, FlowStep::Response);
        } else {
            self.time_request(flow);
        }
    }

    /// The request that is under way fails when it has taken too long.
    fn time_request(&mut self, flow: &mut Current<'_>) {
        if !flow.marks.has(Mark::Timed) {
            flow.marks.set(Mark::Timed, true);
            let deadline = flow.request_deadline();
            self.schedule(deadline, flow, FlowStep::RequestTimeout);
        }
    }

    /// A request may have taken too long. If it is a later one that has not, the event comes again.
    /// Tells whether it has.
    pub(super) fn request_timeout(&mut self, now: SimTime, flow: &mut Current<'_>) -> bool {
        flow.marks.set(Mark::Timed, false);
        if flow.state != FlowState::Requesting {
            // It was answered, or has failed.
            return false;
        }
        let too_long = now >= flow.request_deadline();
        if too_long {
            self.fail(now, flow, FailureCause::RequestTimeout);
        } else {
            self.time_request(flow);
        }
        too_long
    }

    /// Everything that a backend was doing is lost when it goes down.
    pub(super) fn went_down(&mut self, now: SimTime, flows: &mut Flows<'_>, backend: BackendId) {
        for (id, key) in self.machines[backend].take_exposed() {
            // The slot may be another connection's by now.
            if flows[id].key == key {
                self.interrupt(now, &mut flows.at(id), backend);
            }
        }
        for job in self.stations[backend].stop(now) {
            // A probe that is lost times out.
            if let Job::Request(id) = job {
                self.interrupt(now, &mut flows.named(id), backend);
                flows.release(id);
            }
        }
    }
}

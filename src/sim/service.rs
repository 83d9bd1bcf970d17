//! What happens to a request at its backend: it is admitted, waits, is served, and answered. Probes that go through the
//! queue take the same way.

use super::connection::Draw;
use super::event::{BackendStep, Event, FlowStep};
use super::flow::{FlowState, Mark};
use super::machine::MachineState;
use super::outcome::FailureCause;
use super::simulation::Simulation;
use super::station::{Admission, Job};
use crate::ids::{BackendId, FlowId};
use crate::lb::packet::Protocol;
use crate::time::{SimDuration, SimTime};

impl Simulation<'_> {
    /// A request reaches its backend at time `now`.
    pub(super) fn request_arrives(&mut self, now: SimTime, id: FlowId) {
        let backend = self.backend(id);
        let machine = &self.machines[backend];
        let back = self.flows[id].way_back();
        match machine.state() {
            MachineState::Silent => return self.await_request_timeout(id),
            MachineState::Refusing if self.protocol(id) == Protocol::Tcp => {
                return self.fail_at(now + back, id, FailureCause::Reset);
            }
            // Other protocols hear that the port is unreachable.
            MachineState::Refusing => {
                return self.fail_at(now + back, id, FailureCause::Refused);
            }
            MachineState::Up if self.protocol(id) != Protocol::Tcp => {
                self.flows[id].incarnation = machine.incarnation();
            }
            MachineState::Up if machine.incarnation() != self.flows[id].incarnation => {
                return self.fail_at(now + back, id, FailureCause::Reset);
            }
            MachineState::Up => {}
        }
        match self.stations[backend].admit(now, Job::Request(id)) {
            Admission::Starts => self.serve(now, id, backend),
            Admission::Waits => {
                self.flows[id].pending += 1;
                self.time_request(id);
            }
            Admission::Full => self.fail_at(now + back, id, FailureCause::QueueFull),
        }
    }

    /// A worker begins with a request at time `now`.
    #[inline]
    fn serve(&mut self, now: SimTime, id: FlowId, backend: BackendId) {
        let flow = &self.flows[id];
        let work = flow.draw(Draw::Service, flow.requests_sent, &self.stations[backend].service_time);
        let work = work.scaled(self.machines[backend].slowness(now));
        if self.stations[backend].is_sharing() {
            self.flows[id].pending += 1;
            self.time_request(id);
            return self.share(now, backend, Job::Request(id), work);
        }
        let done = now + work;
        self.machines[backend].watch(id, flow.key, done);
        if self.stations[backend].is_unlimited() {
            self.respond(done, id);
        } else {
            self.schedule(done, id, FlowStep::ServiceEnds);
            if done > self.request_deadline(id) {
                self.time_request(id);
            }
        }
    }

    /// A worker is done with a request.
    pub(super) fn service_ends(&mut self, now: SimTime, id: FlowId) {
        let backend = self.backend(id);
        if self.machines[backend].incarnation() != self.flows[id].incarnation {
            // The backend has failed since, or is another machine: its workers dropped everything.
            if self.flows[id].state == FlowState::Requesting {
                self.await_request_timeout(id);
            }
            return;
        }
        if self.flows[id].state == FlowState::Requesting {
            self.respond(now, id);
        }
        self.serve_next(now, backend);
    }

    /// A worker is done, and takes the next job.
    pub(super) fn serve_next(&mut self, now: SimTime, backend: BackendId) {
        let Self { stations, flows, probers, .. } = self;
        let next = stations[backend].take_next(now, |job| match job {
            Job::Request(flow) => {
                flows[flow].pending -= 1;
                let is_wanted = flows[flow].state == FlowState::Requesting;
                if !is_wanted {
                    // Its client has given up meanwhile.
                    flows.release(flow);
                }
                is_wanted
            }
            Job::Probe(probe) => probers[backend].awaits(probe),
        });
        match next {
            Some(Job::Request(flow)) => self.serve(now, flow, backend),
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
    pub(super) fn shared_ends(&mut self, now: SimTime, backend: BackendId) {
        let (done, next) = self.stations[backend].take_shared(now);
        for job in done {
            match job {
                Job::Request(flow) => {
                    self.flows[flow].pending -= 1;
                    if self.flows[flow].state == FlowState::Requesting {
                        self.respond(now, flow);
                    }
                    self.flows.release(flow);
                }
                Job::Probe(probe) => self.probe_answered(now, backend, probe),
            }
        }
        if let Some(end) = next {
            self.queue.push(end, Event::Backend { backend, step: BackendStep::SharedEnds });
        }
    }

    /// A backend answers at time `done`. Whether the network loses the answer is decided then.
    fn respond(&mut self, done: SimTime, id: FlowId) {
        if self.links.is_ever_lossy() && done <= self.request_deadline(id) {
            self.flows[id].resends = 0;
            return self.schedule(done, id, FlowStep::Answer);
        }
        self.deliver(done, id);
    }

    /// An answer sets out at time `sent`, and is not lost.
    #[inline(always)]
    pub(super) fn deliver(&mut self, sent: SimTime, id: FlowId) {
        let response = sent + self.flows[id].way_back();
        if response <= self.request_deadline(id) {
            self.schedule(response, id, FlowStep::Response);
        } else {
            self.time_request(id);
        }
    }

    /// The request that is under way fails when it has taken too long.
    fn time_request(&mut self, id: FlowId) {
        let flow = &mut self.flows[id];
        if !flow.marks.has(Mark::Timed) {
            flow.marks.set(Mark::Timed, true);
            let deadline = self.request_deadline(id);
            self.schedule(deadline, id, FlowStep::RequestTimeout);
        }
    }

    /// A request may have taken too long. If it is a later one that has not, the event comes again.
    pub(super) fn request_timeout(&mut self, now: SimTime, id: FlowId) {
        if now >= self.request_deadline(id) {
            self.fail(now, id, FailureCause::RequestTimeout);
        } else {
            self.time_request(id);
        }
    }

    /// Everything that a backend was doing is lost when it goes down.
    pub(super) fn went_down(&mut self, now: SimTime, backend: BackendId) {
        for (flow, key) in self.machines[backend].take_exposed() {
            // The slot may be another connection's by now.
            if self.flows[flow].key == key {
                self.interrupt(now, flow, backend);
            }
        }
        for job in self.stations[backend].stop(now) {
            // A probe that is lost times out.
            if let Job::Request(flow) = job {
                self.flows[flow].pending -= 1;
                self.interrupt(now, flow, backend);
                self.flows.release(flow);
            }
        }
    }
}

//! Health checks in the world: probes travel, find a backend as it is, and what is known of it changes.
//!
//! A probe that goes through the queue takes a worker as a request does, and times out there: overload is unhealthy.

use super::calendar::Calendar;
use super::event::BackendStep;
use super::flow::Flows;
use super::front::FrontSide;
use super::machine::{MachineState, ProbeMeets};
use super::machines::Machines;
use super::recorder::Recorder;
use super::scenario::InitialHealth;
use super::station::{Admission, Job, ProbeId};
use crate::ids::{BackendId, Id, PlaceId};
use crate::lb::weight::WeightState;
use crate::time::{SimDuration, SimTime};

impl Machines<'_> {
    /// Whether a backend is held healthy before its first probes. Without a health check it is always (TPA-4).
    pub(super) fn is_initially_healthy(&self, backend: BackendId) -> bool {
        self.scenario.health_check.initially_healthy || !self.checked[backend]
    }

    /// Whether a backend that is there from the beginning is held healthy before its first probes.
    pub(super) fn begins_healthy(&self, backend: BackendId) -> bool {
        match self.scenario.initial_health {
            InitialHealth::AllUp => self.is_initially_healthy(backend),
            InitialHealth::Stationary => {
                !self.checked[backend] || self.probe_meets(backend) == ProbeMeets::Success
            }
        }
    }

    /// The health check has noticed the state in which the world begins, as if that had lasted.
    pub(super) fn settle(&self, front: &mut FrontSide) {
        for (backend, machine) in self.machines.pairs() {
            front.recorder.serves(SimTime::ZERO, backend, machine.state() == MachineState::Up);
            front.balancer.set_health(SimTime::ZERO, backend, self.begins_healthy(backend));
        }
    }

    /// Begins to hold a configured backend `healthy` or not, and to check it where a health check judges it.
    pub(super) fn hold(
        &mut self,
        backend: BackendId,
        healthy: bool,
        calendar: &mut Calendar,
        recorder: &mut Recorder,
    ) {
        let now = calendar.now();
        recorder.held(now, backend, Some(healthy));
        if self.checked[backend] {
            for (prober, start) in self.probers[backend].check(now, healthy) {
                calendar.plan_step(start, backend, BackendStep::ProbeStarts { prober });
            }
        }
    }

    pub(super) fn probe_starts(
        &mut self,
        backend: BackendId,
        prober: u8,
        front: &FrontSide,
        calendar: &mut Calendar,
    ) {
        let (delay, passes) = self.probers_link(backend, front);
        let (arrival, next) = self.probers[backend].start(calendar.now(), prober, delay, passes);
        if self.probes_wait(backend) {
            // Before the next start, which may be at the same time.
            let timeout = self.probers[backend].timeout(prober);
            calendar.plan_step(timeout, backend, BackendStep::ProbeTimesOut { prober });
        }
        calendar.plan_step(next, backend, BackendStep::ProbeStarts { prober });
        self.probe_travels(backend, prober, arrival, calendar);
    }

    pub(super) fn probe_sends_again(
        &mut self,
        backend: BackendId,
        prober: u8,
        front: &FrontSide,
        calendar: &mut Calendar,
    ) {
        let (delay, passes) = self.probers_link(backend, front);
        let arrival = self.probers[backend].send(calendar.now(), prober, delay, passes);
        self.probe_travels(backend, prober, arrival, calendar);
    }

    /// What the network adds to a round trip between a backend and its probers, and the probability that a packet passes.
    fn probers_link(&self, backend: BackendId, front: &FrontSide) -> (SimDuration, f64) {
        let zone = self.scenario.backends[backend].zone;
        let place = PlaceId::from_index(zone.index());
        (front.links.link(place, zone).delay, front.links.passes(place, zone))
    }

    /// A probe's SYN is under way, and reaches its backend at time `arrival` if it is not lost.
    fn probe_travels(
        &mut self,
        backend: BackendId,
        prober: u8,
        arrival: Option<SimTime>,
        calendar: &mut Calendar,
    ) {
        match arrival {
            Some(arrival) if self.machines[backend].is_known(arrival) && !self.probes_wait(backend) => {
                match self.probe_meets(backend) {
                    ProbeMeets::Silence => self.probe_unanswered(backend, prober, calendar),
                    meets => self.probe_result(backend, prober, meets, calendar),
                }
            }
            Some(arrival) => calendar.plan_step(arrival, backend, BackendStep::ProbeArrives { prober }),
            None => self.probe_unanswered(backend, prober, calendar),
        }
    }

    fn probe_result(&self, backend: BackendId, prober: u8, meets: ProbeMeets, calendar: &mut Calendar) {
        let (end, success) = self.probers[backend].arrive(prober, meets);
        calendar.plan_step(end, backend, BackendStep::ProbeEnds { prober, success });
    }

    /// Nobody answers a probe's SYN: its prober sends another, unless none could be answered before the timeout either.
    fn probe_unanswered(&mut self, backend: BackendId, prober: u8, calendar: &mut Calendar) {
        let timeout = self.probers[backend].timeout(prober);
        let stays =
            self.probe_meets(backend) == ProbeMeets::Silence && self.machines[backend].is_known(timeout);
        match self.probers[backend].send_again(prober).filter(|_| !stays) {
            Some(again) => calendar.plan_step(again, backend, BackendStep::ProbeSendsAgain { prober }),
            // Its timeout is planned already.
            None if self.probes_wait(backend) => {}
            None => calendar.plan_step(timeout, backend, BackendStep::ProbeEnds { prober, success: false }),
        }
    }

    pub(super) fn probe_arrives(&mut self, backend: BackendId, prober: u8, calendar: &mut Calendar) {
        let mut meets = self.probe_meets(backend);
        let waits = self.probes_wait(backend);
        if meets == ProbeMeets::Silence {
            return self.probe_unanswered(backend, prober, calendar);
        }
        let is_served = meets != ProbeMeets::Refusal;
        // A machine whose serving alone has failed answers probes as if it were idle.
        if waits && is_served && self.machines[backend].state() == MachineState::Up {
            let probe = self.probers[backend].current(prober);
            match self.stations[backend].admit(calendar.now(), Job::Probe(probe)) {
                Admission::Starts => return self.serve_probe(backend, probe, calendar),
                Admission::Waits => return,
                Admission::Full => meets = ProbeMeets::Refusal,
            }
        }
        self.probe_result(backend, prober, meets, calendar);
    }

    pub(super) fn serve_probe(&mut self, backend: BackendId, probe: ProbeId, calendar: &mut Calendar) {
        let now = calendar.now();
        let work = self.probers[backend].work(probe, self.stations[backend].service_time);
        let work = work.scaled(self.machines[backend].slowness(now));
        if self.stations[backend].is_sharing() {
            return self.share(backend, Job::Probe(probe), work, calendar);
        }
        let (done, life) = (now + work, self.machines[backend].incarnation());
        self.probers[backend].serve(probe, done, life);
        calendar.plan_step(done, backend, BackendStep::ProbeServed { prober: probe.prober });
    }

    /// A worker is done now with a probe, and takes the next job, if the machine has not failed since.
    pub(super) fn probe_served(
        &mut self,
        backend: BackendId,
        prober: u8,
        flows: &mut Flows<'_>,
        calendar: &mut Calendar,
    ) {
        let (probe, life) = self.probers[backend].take_served(calendar.now(), prober);
        if self.machines[backend].incarnation() == life {
            self.probe_answered(backend, probe, calendar);
            self.serve_next(backend, flows, calendar);
        }
    }

    /// A worker is done with `probe`: the backend answers as it does now.
    pub(super) fn probe_answered(&self, backend: BackendId, probe: ProbeId, calendar: &mut Calendar) {
        let success = match self.probe_meets(backend) {
            // It times out.
            ProbeMeets::Silence => return,
            meets => meets == ProbeMeets::Success,
        };
        if let Some(end) = self.probers[backend].answer(calendar.now(), probe) {
            calendar.plan_step(end, backend, BackendStep::ProbeEnds { prober: probe.prober, success });
        }
    }

    fn probe_meets(&self, backend: BackendId) -> ProbeMeets {
        self.machines[backend].meets_probe(self.scenario.health_check.wants_reply)
    }

    pub(super) fn probe_ends(
        &mut self,
        backend: BackendId,
        (prober, success): (u8, bool),
        front: &mut FrontSide,
        calendar: &mut Calendar,
    ) {
        let changed = self.probers[backend].end(prober, success);
        if self.scenario.balancer.weighted {
            let reported = self.scenario.groups[self.scenario.backends[backend].group].weight;
            front.balancer.set_weight(backend, if success { reported } else { WeightState::Unavailable });
        }
        let Some(healthy) = changed else { return };
        let (now, delay) = (calendar.now(), self.scenario.health_check.propagation_delay);
        if delay.is_zero() {
            return self.health_applies(now, backend, healthy, front);
        }
        calendar.plan_step(now + delay, backend, BackendStep::HealthApplies { healthy });
    }

    pub(super) fn health_applies(
        &self,
        now: SimTime,
        backend: BackendId,
        healthy: bool,
        front: &mut FrontSide,
    ) {
        if self.probers[backend].checking && front.balancer.set_health(now, backend, healthy) {
            front.recorder.held(now, backend, Some(healthy));
        }
    }

    fn probes_wait(&self, backend: BackendId) -> bool {
        self.scenario.health_check.through_queue && !self.stations[backend].is_unlimited()
    }
}

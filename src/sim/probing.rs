//! Health checks in the world: probes travel, find a backend as it is, and what is known of it changes.
//!
//! A probe that goes through the queue takes a worker as a request does, and times out there: overload is unhealthy.

use super::balancers::Balancers;
use super::calendar::Calendar;
use super::event::{BackendStep, ProberId};
use super::flow::Flows;
use super::front::FrontSide;
use super::machine::{MachineState, ProbeMeets};
use super::machines::Machines;
use super::recorder::Recorder;
use super::scenario::InitialHealth;
use super::station::{Admission, Job, ProbeId};
use crate::ids::{BackendId, BalancerId, Id, JudgeId, PlaceId};
use crate::lb::weight::WeightState;
use crate::time::{SimDuration, SimTime};

impl Machines<'_> {
    /// Whether `backend` is held healthy before the first probes of `judge`. Without a health check it is always (TPA-4).
    pub(super) fn is_initially_healthy(&self, judge: Option<JudgeId>) -> bool {
        judge.is_none_or(|judge| self.scenario.judges[judge].check.initially_healthy)
    }

    /// Whether a load balancer holds a backend healthy that it gets now: as its health check knows it already, or as it
    /// begins.
    pub(super) fn begins_new(
        &self,
        balancers: &Balancers,
        (balancer, backend): (BalancerId, BackendId),
    ) -> bool {
        let judge = balancers.judge(balancer, backend);
        let known = judge.filter(|judge| is_shared(balancers, (*judge, balancer, backend)));
        let known = known.and_then(|judge| self.probers.verdict(judge, backend));
        known.unwrap_or_else(|| self.is_initially_healthy(judge))
    }

    /// Whether a backend that is there from the beginning is held healthy before its first probes.
    pub(super) fn begins_healthy(&self, judge: Option<JudgeId>, backend: BackendId) -> bool {
        match self.scenario.initial_health {
            InitialHealth::AllUp => self.is_initially_healthy(judge),
            InitialHealth::Stationary => {
                judge.is_none_or(|judge| self.probe_meets((judge, backend)) == ProbeMeets::Success)
            }
        }
    }

    /// The health checks have noticed the state in which the world begins, as if that had lasted.
    pub(super) fn settle(&self, front: &mut FrontSide) {
        for (backend, machine) in self.machines.pairs() {
            front.recorder.serves(SimTime::ZERO, backend, machine.state() == MachineState::Up);
            for balancer in front.balancers.ids() {
                let healthy = self.begins_healthy(front.balancers.judge(balancer, backend), backend);
                front.balancers.get_mut(balancer).set_health(SimTime::ZERO, backend, healthy);
            }
        }
    }

    /// A load balancer that has a backend begins to hold it `healthy` or not; where a health check judges it for that, it
    /// begins to.
    pub(super) fn hold(
        &mut self,
        (balancer, backend, healthy): (BalancerId, BackendId, bool),
        balancers: &Balancers,
        calendar: &mut Calendar,
        recorder: &mut Recorder,
    ) {
        let now = calendar.now();
        recorder.held(now, balancer, backend, Some(healthy));
        let Some(judge) = balancers.judge(balancer, backend) else { return };
        // What it knows for another load balancer stands.
        let is_known = is_shared(balancers, (judge, balancer, backend))
            && self.probers.verdict(judge, backend).is_some();
        if !is_known {
            recorder.judged(now, (judge, backend), Some(healthy));
            let set = self.probers.establish((judge, backend), self.scenario);
            for (prober, start) in set.check(now, healthy) {
                calendar.plan_step(start, backend, BackendStep::ProbeStarts { prober });
            }
        }
    }

    /// Health checks whose judgement of `backend` no load balancer asks for any more let it go.
    pub(super) fn let_go(
        &mut self,
        now: SimTime,
        backend: BackendId,
        balancers: &Balancers,
        recorder: &mut Recorder,
    ) {
        for (judge, set) in self.probers.of(backend) {
            if set.checking && balancers.judged_by(judge, backend).is_empty() {
                set.checking = false;
                recorder.judged(now, (judge, backend), None);
            }
        }
    }

    pub(super) fn probe_starts(
        &mut self,
        backend: BackendId,
        prober: ProberId,
        front: &FrontSide,
        calendar: &mut Calendar,
    ) {
        let (delay, passes) = self.probers_link(backend, front);
        let (arrival, next) =
            self.probers[(prober.judge, backend)].start(calendar.now(), prober, delay, passes);
        if self.probes_wait((prober.judge, backend)) {
            // Before the next start, which may be at the same time.
            let timeout = self.probers[(prober.judge, backend)].timeout(prober);
            calendar.plan_step(timeout, backend, BackendStep::ProbeTimesOut { prober });
        }
        calendar.plan_step(next, backend, BackendStep::ProbeStarts { prober });
        self.probe_travels(backend, prober, arrival, calendar);
    }

    pub(super) fn probe_sends_again(
        &mut self,
        backend: BackendId,
        prober: ProberId,
        front: &FrontSide,
        calendar: &mut Calendar,
    ) {
        let (delay, passes) = self.probers_link(backend, front);
        let arrival = self.probers[(prober.judge, backend)].send(calendar.now(), prober, delay, passes);
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
        prober: ProberId,
        arrival: Option<SimTime>,
        calendar: &mut Calendar,
    ) {
        match arrival {
            Some(arrival)
                if self.machines[backend].is_known(arrival) && !self.probes_wait((prober.judge, backend)) =>
            {
                match self.probe_meets((prober.judge, backend)) {
                    ProbeMeets::Silence => self.probe_unanswered(backend, prober, calendar),
                    meets => self.probe_result(backend, prober, meets, calendar),
                }
            }
            Some(arrival) => calendar.plan_step(arrival, backend, BackendStep::ProbeArrives { prober }),
            None => self.probe_unanswered(backend, prober, calendar),
        }
    }

    fn probe_result(&self, backend: BackendId, prober: ProberId, meets: ProbeMeets, calendar: &mut Calendar) {
        let (end, success) = self.probers[(prober.judge, backend)].arrive(prober, meets);
        calendar.plan_step(end, backend, BackendStep::ProbeEnds { prober, success });
    }

    /// Nobody answers a probe's SYN: its prober sends another, unless none could be answered before the timeout either.
    fn probe_unanswered(&mut self, backend: BackendId, prober: ProberId, calendar: &mut Calendar) {
        let timeout = self.probers[(prober.judge, backend)].timeout(prober);
        let stays = self.probe_meets((prober.judge, backend)) == ProbeMeets::Silence
            && self.machines[backend].is_known(timeout);
        match self.probers[(prober.judge, backend)].send_again(prober).filter(|_| !stays) {
            Some(again) => calendar.plan_step(again, backend, BackendStep::ProbeSendsAgain { prober }),
            // Its timeout is planned already.
            None if self.probes_wait((prober.judge, backend)) => {}
            None => calendar.plan_step(timeout, backend, BackendStep::ProbeEnds { prober, success: false }),
        }
    }

    pub(super) fn probe_arrives(&mut self, backend: BackendId, prober: ProberId, calendar: &mut Calendar) {
        let mut meets = self.probe_meets((prober.judge, backend));
        let waits = self.probes_wait((prober.judge, backend));
        if meets == ProbeMeets::Silence {
            return self.probe_unanswered(backend, prober, calendar);
        }
        let is_served = meets != ProbeMeets::Refusal;
        // A machine whose serving alone has failed answers probes as if it were idle.
        if waits && is_served && self.machines[backend].state() == MachineState::Up {
            let probe = self.probers[(prober.judge, backend)].current(prober);
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
        let work =
            self.probers[(probe.prober.judge, backend)].work(probe, self.stations[backend].service_time);
        let work = work.scaled(self.machines[backend].slowness(now));
        if self.stations[backend].is_sharing() {
            return self.share(backend, Job::Probe(probe), work, calendar);
        }
        let (done, life) = (now + work, self.machines[backend].incarnation());
        self.probers[(probe.prober.judge, backend)].serve(probe, done, life);
        calendar.plan_step(done, backend, BackendStep::ProbeServed { prober: probe.prober });
    }

    /// A worker is done now with a probe, and takes the next job, if the machine has not failed since.
    pub(super) fn probe_served(
        &mut self,
        backend: BackendId,
        prober: ProberId,
        flows: &mut Flows<'_>,
        calendar: &mut Calendar,
    ) {
        let (probe, life) = self.probers[(prober.judge, backend)].take_served(calendar.now(), prober);
        if self.machines[backend].incarnation() == life {
            self.probe_answered(backend, probe, calendar);
            self.serve_next(backend, flows, calendar);
        }
    }

    /// A worker is done with `probe`: the backend answers as it does now.
    pub(super) fn probe_answered(&self, backend: BackendId, probe: ProbeId, calendar: &mut Calendar) {
        let success = match self.probe_meets((probe.prober.judge, backend)) {
            // It times out.
            ProbeMeets::Silence => return,
            meets => meets == ProbeMeets::Success,
        };
        if let Some(end) = self.probers[(probe.prober.judge, backend)].answer(calendar.now(), probe) {
            calendar.plan_step(end, backend, BackendStep::ProbeEnds { prober: probe.prober, success });
        }
    }

    fn probe_meets(&self, (judge, backend): (JudgeId, BackendId)) -> ProbeMeets {
        let judge = &self.scenario.judges[judge];
        let meets = self.machines[backend].meets_probe(judge.check.wants_reply);
        let group = &self.scenario.groups[self.scenario.backends[backend].group];
        // Its system refuses where nobody listens.
        if meets == ProbeMeets::Silence || group.serves.has(judge.port) { meets } else { ProbeMeets::Refusal }
    }

    pub(super) fn probe_ends(
        &mut self,
        backend: BackendId,
        (prober, success): (ProberId, bool),
        front: &mut FrontSide,
        calendar: &mut Calendar,
    ) {
        let judge = prober.judge;
        let changed = self.probers[(judge, backend)].end(prober, success);
        if self.reports_weights {
            let reported = self.scenario.groups[self.scenario.backends[backend].group].weight;
            let state = if success { reported } else { WeightState::Unavailable };
            for (balancer, spec) in self.scenario.balancers.pairs() {
                if spec.settings.weighted && front.balancers.judge(balancer, backend) == Some(judge) {
                    front.balancers.get_mut(balancer).set_weight(backend, state);
                }
            }
        }
        let Some(healthy) = changed else { return };
        let (now, delay) = (calendar.now(), self.scenario.judges[judge].check.propagation_delay);
        if delay.is_zero() {
            return self.health_applies(now, backend, (judge, healthy), front);
        }
        calendar.plan_step(now + delay, backend, BackendStep::HealthApplies { judge, healthy });
    }

    pub(super) fn health_applies(
        &self,
        now: SimTime,
        backend: BackendId,
        (judge, healthy): (JudgeId, bool),
        front: &mut FrontSide,
    ) {
        if !self.probers[(judge, backend)].checking {
            return;
        }
        front.recorder.judged(now, (judge, backend), Some(healthy));
        for balancer in front.balancers.judged_by(judge, backend) {
            if front.balancers.get_mut(balancer).set_health(now, backend, healthy) {
                front.recorder.held(now, balancer, backend, Some(healthy));
            }
        }
    }

    fn probes_wait(&self, (judge, backend): (JudgeId, BackendId)) -> bool {
        self.scenario.judges[judge].check.through_queue && !self.stations[backend].is_unlimited()
    }
}

/// Whether `judge` judges a backend for another load balancer too.
fn is_shared(balancers: &Balancers, (judge, balancer, backend): (JudgeId, BalancerId, BackendId)) -> bool {
    balancers.judged_by(judge, backend).iter().any(|other| *other != balancer)
}

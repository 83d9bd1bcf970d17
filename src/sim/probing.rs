//! Health checks in the world: probes travel, find a backend as it is, and what is known of it changes.
//!
//! A probe that goes through the queue takes a worker for as long as a request does. One that waits too long times out: so
//! overload makes a backend unhealthy.

use super::calendar::Calendar;
use super::event::{BackendStep, Event};
use super::front::Front;
use super::machine::MachineState;
use super::machines::Machines;
use super::prober::ProberSet;
use super::recorder::Recorder;
use super::scenario::Scenario;
use super::station::{Admission, Job, ProbeId};
use crate::ids::{BackendId, Id, IdVec, PlaceId};
use crate::lb::weight::WeightState;
use crate::random::RunSeed;
use crate::time::SimTime;

#[derive(Debug)]
pub(super) struct Probing<'a> {
    scenario: &'a Scenario,
    pub(super) probers: IdVec<BackendId, ProberSet>,
    /// Whether a health check judges each backend, if it is configured.
    pub(super) checked: IdVec<BackendId, bool>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ProberId {
    pub(super) backend: BackendId,
    /// Its number among the backend's.
    pub(super) prober: u8,
}

impl<'a> Probing<'a> {
    /// Those of `scenario`, of which none probes yet.
    pub(super) fn new(scenario: &'a Scenario, seed: RunSeed) -> Self {
        let probers = scenario.backends.iter().map(|spec| {
            let round_trips = &scenario.round_trips[PlaceId::from_index(spec.zone.index())][spec.zone];
            ProberSet::new(scenario.health_check, round_trips.clone(), seed, &spec.name)
        });
        let checked = scenario.backends.iter().map(|spec| spec.checked);
        Self { scenario, probers: probers.collect(), checked: checked.collect() }
    }

    /// Whether a backend is held healthy before its first probes. Without a health check it is always (TPA-4).
    pub(super) fn is_initially_healthy(&self, backend: BackendId) -> bool {
        self.scenario.health_check.initially_healthy || !self.checked[backend]
    }

    /// Begins to hold a configured backend healthy or not, and to check it where a health check judges it.
    pub(super) fn hold(&mut self, backend: BackendId, calendar: &mut Calendar, recorder: &mut Recorder) {
        let now = calendar.now();
        recorder.held(now, backend, Some(self.is_initially_healthy(backend)));
        if self.checked[backend] {
            for (prober, start) in self.probers[backend].check(now) {
                let step = BackendStep::ProbeStarts { prober };
                calendar.plan(start, Event::Backend { backend, step });
            }
        }
    }

    pub(super) fn probe_starts(
        &mut self,
        ProberId { backend, prober }: ProberId,
        front: &Front,
        machines: &Machines<'_>,
        calendar: &mut Calendar,
    ) {
        let zone = self.scenario.backends[backend].zone;
        let place = PlaceId::from_index(zone.index());
        let (delay, passes) = (front.links.link(place, zone).delay, front.links.passes(place, zone));
        let now = calendar.now();
        let (arrival, next) = self.probers[backend].start(now, prober, delay, passes);
        let timeout = now + self.scenario.health_check.timeout;
        let waits = self.probes_wait(backend, machines);
        let mut plan = |time, step| calendar.plan(time, Event::Backend { backend, step });
        if waits {
            // Before the next start, which may be at the same time.
            plan(timeout, BackendStep::ProbeTimesOut { prober });
        }
        plan(next, BackendStep::ProbeStarts { prober });
        match arrival {
            Some(arrival) if machines.machines[backend].is_known(arrival) && !waits => {
                let state = machines.machines[backend].state_for_probes();
                let (end, success) = self.probers[backend].arrive(prober, state);
                plan(end, BackendStep::ProbeEnds { prober, success });
            }
            Some(arrival) => plan(arrival, BackendStep::ProbeArrives { prober }),
            None if waits => {}
            None => plan(timeout, BackendStep::ProbeEnds { prober, success: false }),
        }
    }

    pub(super) fn probe_arrives(
        &mut self,
        ProberId { backend, prober }: ProberId,
        machines: &mut Machines<'_>,
        calendar: &mut Calendar,
    ) {
        let machine = &machines.machines[backend];
        let mut state = machine.state_for_probes();
        let waits = self.probes_wait(backend, machines);
        if waits && state == MachineState::Silent {
            return;
        }
        // A machine whose serving alone has failed answers probes as if it were idle.
        if waits && state == MachineState::Up && machine.state() == MachineState::Up {
            let probe = self.probers[backend].current(prober);
            match machines.stations[backend].admit(calendar.now(), Job::Probe(probe)) {
                Admission::Starts => return self.serve_probe(backend, probe, machines, calendar),
                Admission::Waits => return,
                Admission::Full => state = MachineState::Refusing,
            }
        }
        let (end, success) = self.probers[backend].arrive(prober, state);
        let step = BackendStep::ProbeEnds { prober, success };
        calendar.plan(end, Event::Backend { backend, step });
    }

    pub(super) fn serve_probe(
        &mut self,
        backend: BackendId,
        probe: ProbeId,
        machines: &mut Machines<'_>,
        calendar: &mut Calendar,
    ) {
        let now = calendar.now();
        let work = self.probers[backend].work(probe, machines.stations[backend].service_time);
        let work = work.scaled(machines.machines[backend].slowness(now));
        if machines.stations[backend].is_sharing() {
            return machines.share(backend, Job::Probe(probe), work, calendar);
        }
        let (done, life) = (now + work, machines.machines[backend].incarnation());
        self.probers[backend].serve(probe, done, life);
        let step = BackendStep::ProbeServed { prober: probe.prober };
        calendar.plan(done, Event::Backend { backend, step });
    }

    /// A worker would be done now with a probe, if the machine has not failed since. Tells whether it is.
    pub(super) fn probe_served(
        &mut self,
        ProberId { backend, prober }: ProberId,
        machines: &Machines<'_>,
        calendar: &mut Calendar,
    ) -> bool {
        let (probe, life) = self.probers[backend].take_served(calendar.now(), prober);
        let is_done = machines.machines[backend].incarnation() == life;
        if is_done {
            self.probe_answered(backend, probe, calendar);
        }
        is_done
    }

    /// A backend answers a probe that went through its queue.
    pub(super) fn probe_answered(&self, backend: BackendId, probe: ProbeId, calendar: &mut Calendar) {
        if let Some(end) = self.probers[backend].answer(calendar.now(), probe) {
            let step = BackendStep::ProbeEnds { prober: probe.prober, success: true };
            calendar.plan(end, Event::Backend { backend, step });
        }
    }

    pub(super) fn probe_ends(
        &mut self,
        ProberId { backend, prober }: ProberId,
        success: bool,
        front: &mut Front,
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
        let step = BackendStep::HealthApplies { healthy };
        calendar.plan(now + delay, Event::Backend { backend, step });
    }

    /// The load balancer takes notice of a changed state of health, of a backend that is checked still.
    pub(super) fn health_applies(&self, now: SimTime, backend: BackendId, healthy: bool, front: &mut Front) {
        if self.probers[backend].checking && front.balancer.set_health(now, backend, healthy) {
            front.recorder.held(now, backend, Some(healthy));
        }
    }

    fn probes_wait(&self, backend: BackendId, machines: &Machines<'_>) -> bool {
        self.scenario.health_check.through_queue && !machines.stations[backend].is_unlimited()
    }
}

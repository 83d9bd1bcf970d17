//! Health checks in the world: probes travel, find a backend as it is, and what is known of it changes.
//!
//! A probe that goes through the queue takes a worker for as long as a request does. One that waits too long times out: so
//! overload makes a backend unhealthy.

use super::event::{BackendStep, Event};
use super::flow::Flows;
use super::machine::MachineState;
use super::simulation::Simulation;
use super::station::{Admission, Job, ProbeId};
use crate::ids::{BackendId, Id, PlaceId};
use crate::lb::weight::WeightState;
use crate::time::SimTime;

impl Simulation<'_> {
    /// A probe sets out.
    pub(super) fn probe_starts(&mut self, now: SimTime, backend: BackendId, prober: u8) {
        let zone = self.scenario.backends[backend].zone;
        let place = PlaceId::from_index(zone.index());
        let (delay, passes) = (self.links.link(place, zone).delay, self.links.passes(place, zone));
        let (arrival, next) = self.probers[backend].start(now, prober, delay, passes);
        let timeout = now + self.scenario.health_check.timeout;
        if self.probes_wait(backend) {
            // Before the next start, which may be at the same time.
            self.plan_probe(timeout, backend, BackendStep::ProbeTimesOut { prober });
        }
        self.plan_probe(next, backend, BackendStep::ProbeStarts { prober });
        match arrival {
            Some(arrival) if self.machines[backend].is_known(arrival) && !self.probes_wait(backend) => {
                self.probe_arrives(arrival, backend, prober);
            }
            Some(arrival) => self.plan_probe(arrival, backend, BackendStep::ProbeArrives { prober }),
            None if self.probes_wait(backend) => {}
            None => self.plan_probe(timeout, backend, BackendStep::ProbeEnds { prober, success: false }),
        }
    }

    /// A probe reaches its backend at time `now`.
    pub(super) fn probe_arrives(&mut self, now: SimTime, backend: BackendId, prober: u8) {
        let machine = &self.machines[backend];
        let state = machine.state_for_probes();
        let waits = self.probes_wait(backend);
        if waits && state == MachineState::Silent {
            return;
        }
        // A machine whose serving alone has failed answers probes as if it were idle.
        if waits && state == MachineState::Up && machine.state() == MachineState::Up {
            let probe = self.probers[backend].current(prober);
            match self.stations[backend].admit(now, Job::Probe(probe)) {
                Admission::Starts => return self.serve_probe(now, backend, probe),
                Admission::Waits => return,
                Admission::Full => {
                    let (end, _) = self.probers[backend].arrive(prober, MachineState::Refusing);
                    let step = BackendStep::ProbeEnds { prober, success: false };
                    return self.plan_probe(end, backend, step);
                }
            }
        }
        let (end, success) = self.probers[backend].arrive(prober, state);
        self.plan_probe(end, backend, BackendStep::ProbeEnds { prober, success });
    }

    /// A worker begins with a probe.
    pub(super) fn serve_probe(&mut self, now: SimTime, backend: BackendId, probe: ProbeId) {
        let service_time = self.stations[backend].service_time;
        let work = self.probers[backend].work(probe, service_time);
        let work = work.scaled(self.machines[backend].slowness(now));
        if self.stations[backend].is_sharing() {
            return self.share(now, backend, Job::Probe(probe), work);
        }
        let (done, life) = (now + work, self.machines[backend].incarnation());
        self.probers[backend].serve(probe, done, life);
        self.plan_probe(done, backend, BackendStep::ProbeServed { prober: probe.prober });
    }

    /// A worker would be done now with a probe of `prober`, if the machine has not failed since.
    pub(super) fn probe_served(
        &mut self,
        now: SimTime,
        flows: &mut Flows<'_>,
        backend: BackendId,
        prober: u8,
    ) {
        let (probe, life) = self.probers[backend].take_served(now, prober);
        if self.machines[backend].incarnation() == life {
            self.probe_answered(now, backend, probe);
            self.serve_next(now, flows, backend);
        }
    }

    /// A backend answers a probe that went through its queue.
    pub(super) fn probe_answered(&mut self, now: SimTime, backend: BackendId, probe: ProbeId) {
        if let Some(end) = self.probers[backend].answer(now, probe) {
            let step = BackendStep::ProbeEnds { prober: probe.prober, success: true };
            self.plan_probe(end, backend, step);
        }
    }

    /// A probe that went through the queue may have had no answer in time.
    pub(super) fn probe_times_out(&mut self, now: SimTime, backend: BackendId, prober: u8) {
        if self.probers[backend].is_awaiting(prober) {
            self.probe_ends(now, backend, prober, false);
        }
    }

    /// A probe's result is known.
    pub(super) fn probe_ends(&mut self, now: SimTime, backend: BackendId, prober: u8, success: bool) {
        let changed = self.probers[backend].end(prober, success);
        if self.scenario.balancer.weighted {
            let reported = self.scenario.groups[self.scenario.backends[backend].group].weight;
            self.balancer.set_weight(backend, if success { reported } else { WeightState::Unavailable });
        }
        let Some(healthy) = changed else { return };
        let delay = self.scenario.health_check.propagation_delay;
        if delay.is_zero() {
            self.apply_health(now, backend, healthy);
        } else {
            self.plan_probe(now + delay, backend, BackendStep::HealthApplies { healthy });
        }
    }

    /// The load balancer takes notice of a backend's state of health.
    pub(super) fn apply_health(&mut self, now: SimTime, backend: BackendId, healthy: bool) {
        if self.probers[backend].is_checking() && self.balancer.set_health(now, backend, healthy) {
            self.recorder.held(now, backend, Some(healthy));
        }
    }

    /// Whether probes of this backend wait for a worker.
    fn probes_wait(&self, backend: BackendId) -> bool {
        self.scenario.health_check.through_queue && !self.stations[backend].is_unlimited()
    }

    fn plan_probe(&mut self, time: SimTime, backend: BackendId, step: BackendStep) {
        self.queue.push(time, Event::Backend { backend, step });
    }
}

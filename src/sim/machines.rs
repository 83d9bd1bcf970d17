//! The backends: whether they run, and how they work off what reaches them.

use super::calendar::Calendar;
use super::event::{BackendStep, Event};
use super::machine::{Machine, MachineState};
use super::scenario::Scenario;
use super::station::{Job, Station};
use crate::ids::{BackendId, IdVec};
use crate::random::{Purpose, RunSeed};
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct Machines<'a> {
    pub(super) machines: IdVec<BackendId, Machine>,
    pub(super) stations: IdVec<BackendId, Station<'a>>,
    /// Whether the network ever loses packets, answers among them.
    pub(super) answers_get_lost: bool,
}

impl<'a> Machines<'a> {
    /// Those of `scenario`, on which faults begin and end at `edges`.
    pub(super) fn new(
        scenario: &'a Scenario,
        seed: RunSeed,
        mut edges: IdVec<BackendId, Vec<SimTime>>,
    ) -> Self {
        let machines = scenario.backends.pairs().map(|(id, spec)| {
            let server = &scenario.groups[spec.group].server;
            let stream = seed.stream(Purpose::Failures, &spec.name).generator();
            Machine::new(server.failures.clone(), server.slow_start, stream, std::mem::take(&mut edges[id]))
        });
        let stations = scenario.backends.iter().map(|spec| Station::new(&scenario.groups[spec.group].server));
        Self {
            machines: machines.collect(),
            stations: stations.collect(),
            answers_get_lost: scenario.loses_packets(),
        }
    }

    pub(super) fn is_silent(&self, backend: BackendId) -> bool {
        self.machines[backend].state() == MachineState::Silent
    }

    /// A job shares a backend's workers from now on.
    pub(super) fn share(&mut self, backend: BackendId, job: Job, work: SimDuration, calendar: &mut Calendar) {
        if let Some(end) = self.stations[backend].share(calendar.now(), job, work) {
            calendar.plan(end, Event::Backend { backend, step: BackendStep::SharedEnds });
        }
    }

    /// Plans when a backend fails or is repaired next by itself, if it ever is.
    pub(super) fn plan_renewal(&self, backend: BackendId, calendar: &mut Calendar) {
        if let Some(time) = self.machines[backend].next_renewal() {
            calendar.plan(time, Event::Backend { backend, step: BackendStep::Renewal });
        }
    }

    /// A backend fails by itself, or is repaired; tells whether clients find it down now and did not before.
    pub(super) fn renew(&mut self, backend: BackendId, calendar: &mut Calendar) -> bool {
        let (machine, now) = (&mut self.machines[backend], calendar.now());
        // Of a machine that was replaced the old renewal means nothing.
        if machine.next_renewal() != Some(now) {
            return false;
        }
        let went_down = machine.renew(now);
        self.plan_renewal(backend, calendar);
        went_down
    }
}

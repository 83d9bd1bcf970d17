//! What an operator does to the load balancer while it runs.

use super::event::{BackendStep, Event};
use super::scenario::Change;
use super::simulation::Simulation;
use crate::ids::BackendId;
use crate::time::SimTime;

impl Simulation<'_> {
    /// Applies operation `number`.
    pub(super) fn operate(&mut self, now: SimTime, number: usize) {
        for change in &self.scenario.operations[number].changes {
            match *change {
                Change::Configure(settings) => self.balancer.configure(now, settings),
                Change::Add(backend) => {
                    self.balancer.add(now, backend, self.is_initially_healthy(backend));
                    self.hold(now, backend);
                }
                Change::Remove(backend) => {
                    self.balancer.remove(now, backend);
                    self.probers[backend].stop_checking();
                    self.recorder.held(now, backend, None);
                }
                Change::SetRole(backend, role) => self.balancer.set_role(now, backend, role),
                Change::SetChecked(backend, checked) => self.set_checked(now, backend, checked),
            }
        }
    }

    /// Begins to hold a configured backend healthy or not, and to check it where a health check judges it.
    pub(super) fn hold(&mut self, now: SimTime, backend: BackendId) {
        self.recorder.held(now, backend, Some(self.is_initially_healthy(backend)));
        if self.checked[backend] {
            for (prober, start) in self.probers[backend].check(now) {
                self.queue.push(start, Event::Backend { backend, step: BackendStep::ProbeStarts { prober } });
            }
        }
    }

    /// Whether a backend is held healthy before its first probes. Without a health check it is always (TPA-4).
    fn is_initially_healthy(&self, backend: BackendId) -> bool {
        self.scenario.health_check.initially_healthy || !self.checked[backend]
    }

    fn set_checked(&mut self, now: SimTime, backend: BackendId, checked: bool) {
        self.checked[backend] = checked;
        if !checked {
            self.probers[backend].stop_checking();
        }
        if self.balancer.roster().member(backend).configured {
            self.balancer.set_health(now, backend, self.is_initially_healthy(backend));
            self.hold(now, backend);
        }
    }
}

//! What an operator does to the load balancer while it runs.

use super::event::{BackendStep, Event};
use super::scenario::Scenario;
use super::simulation::Simulation;
use crate::ids::{BackendId, IdVec};
use crate::lb::change::Change;
use crate::time::SimTime;

impl Simulation<'_> {
    /// Applies operation `number`.
    pub(super) fn operate(&mut self, now: SimTime, number: usize) {
        self.change(now, &self.scenario.operations[number].changes);
    }

    /// Makes `changes`. The load balancer takes them as one; then their probes and records follow.
    pub(super) fn change(&mut self, now: SimTime, changes: &[Change]) {
        let scenario = self.scenario;
        for change in changes {
            if let Change::SetChecked(backend, checked) = *change {
                self.checked[backend] = checked;
            }
        }
        let Self { balancer, checked, .. } = self;
        balancer.change_together(now, |balancer| {
            for change in changes {
                match *change {
                    Change::Configure(settings) => balancer.configure(now, settings),
                    Change::Add(backend) => {
                        balancer.add(now, backend, is_initially_healthy(scenario, checked, backend));
                    }
                    Change::Remove(backend) => balancer.remove(now, backend),
                    Change::SetRole(backend, role) => balancer.set_role(now, backend, role),
                    Change::SetChecked(backend, _) if balancer.roster().member(backend).configured => {
                        balancer.set_health(now, backend, is_initially_healthy(scenario, checked, backend));
                    }
                    Change::SetChecked(..) => {}
                }
            }
        });
        for change in changes {
            self.follow(now, change);
        }
    }

    /// What `change` means for the probes of its backend, and for the record of its health.
    fn follow(&mut self, now: SimTime, change: &Change) {
        match *change {
            Change::Add(backend) => self.hold(now, backend),
            Change::Remove(backend) => {
                self.probers[backend].stop_checking();
                self.recorder.held(now, backend, None);
            }
            Change::SetChecked(backend, checked) => {
                if !checked {
                    self.probers[backend].stop_checking();
                }
                if self.balancer.roster().member(backend).configured {
                    self.hold(now, backend);
                }
            }
            Change::Configure(_) | Change::SetRole(..) => {}
        }
    }

    /// Begins to hold a configured backend healthy or not, and to check it where a health check judges it.
    pub(super) fn hold(&mut self, now: SimTime, backend: BackendId) {
        self.recorder.held(now, backend, Some(is_initially_healthy(self.scenario, &self.checked, backend)));
        if self.checked[backend] {
            for (prober, start) in self.probers[backend].check(now) {
                self.queue.push(start, Event::Backend { backend, step: BackendStep::ProbeStarts { prober } });
            }
        }
    }
}

/// Whether a backend is held healthy before its first probes. Without a health check it is always (TPA-4).
fn is_initially_healthy(scenario: &Scenario, checked: &IdVec<BackendId, bool>, backend: BackendId) -> bool {
    scenario.health_check.initially_healthy || !checked[backend]
}

//! The backends: whether they run, and how they work off what reaches them.

use super::calendar::Calendar;
use super::event::BackendStep;
use super::flow::{Current, Flows};
use super::machine::{Machine, MachineState};
use super::prober::ProberSets;
use super::recorder::Recorder;
use super::scenario::{BackendSpec, FailureMode, RuleSpec, Scenario, ServedPorts};
use super::station::{Job, Station};
use crate::ids::{BackendId, IdVec, RuleId};
use crate::random::{Purpose, RunSeed};
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct Machines<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) machines: IdVec<BackendId, Machine>,
    pub(super) stations: IdVec<BackendId, Station<'a>>,
    pub(super) probers: ProberSets,
    /// Whether answers may get lost: on links, or at next hops of their own.
    pub(super) answers_get_lost: bool,
    /// For each rule, the machines that do not answer on its port; none where all answer on all.
    closed: Option<Box<IdVec<RuleId, IdVec<BackendId, bool>>>>,
    /// Whether any health check asks for a reply.
    probes_want_replies: bool,
    /// Whether any load balancer shares out by the weights that machines report.
    pub(super) reports_weights: bool,
}

impl<'a> Machines<'a> {
    pub(super) fn new(scenario: &'a Scenario, seed: RunSeed, edges: IdVec<BackendId, Vec<SimTime>>) -> Self {
        let server = |spec: &BackendSpec| &scenario.groups[spec.group].server;
        let specs = &scenario.backends;
        let machine = |(spec, edges): (&BackendSpec, _)| {
            let stream = seed.stream(Purpose::Failures, &spec.name).generator();
            Machine::new(server(spec), scenario.initial_health, stream, edges)
        };
        Self {
            scenario,
            machines: specs.iter().zip(edges).map(machine).collect(),
            stations: specs.iter().map(|spec| Station::new(server(spec))).collect(),
            probers: ProberSets::new(scenario, seed),
            answers_get_lost: scenario.loses_packets() || scenario.leads_answers(),
            closed: closed(scenario).map(Box::new),
            probes_want_replies: scenario.judges.iter().any(|judge| judge.check.wants_reply),
            reports_weights: scenario.balancers.iter().any(|balancer| balancer.settings.weighted),
        }
    }

    /// How a backend fails clients or the probes of some health check, if it does.
    pub(super) fn failure(&self, backend: BackendId) -> Option<FailureMode> {
        self.machines[backend].failure(self.probes_want_replies)
    }

    /// Whether nobody listens on the port of `flow`. A next hop forwards packets to all ports (NHOP-1).
    #[inline(always)]
    pub(super) fn is_closed(&self, flow: &Current<'_>, backend: BackendId) -> bool {
        let is_closed = |closed: &IdVec<RuleId, IdVec<BackendId, bool>>| closed[flow.rule()][backend];
        self.closed.as_ref().is_some_and(|closed| flow.group.next_hop.is_none() && is_closed(closed))
    }

    pub(super) fn is_silent(&self, backend: BackendId) -> bool {
        self.machines[backend].state() == MachineState::Silent
    }

    /// A job shares a backend's workers from now on.
    pub(super) fn share(&mut self, backend: BackendId, job: Job, work: SimDuration, calendar: &mut Calendar) {
        if let Some(end) = self.stations[backend].share(calendar.now(), job, work) {
            calendar.plan_step(end, backend, BackendStep::SharedEnds);
        }
    }

    pub(super) fn plan_renewal(&self, backend: BackendId, calendar: &mut Calendar) {
        if let Some(time) = self.machines[backend].next_renewal() {
            calendar.plan_step(time, backend, BackendStep::Renewal);
        }
    }

    /// A backend fails by itself, or is repaired. Of a machine that was replaced the old renewal means nothing.
    pub(super) fn renew(
        &mut self,
        backend: BackendId,
        flows: &mut Flows<'_>,
        calendar: &mut Calendar,
        recorder: &mut Recorder,
    ) {
        let (machine, now) = (&mut self.machines[backend], calendar.now());
        if machine.next_renewal() == Some(now) {
            let went_down = machine.renew(now);
            recorder.serves(now, backend, machine.state() == MachineState::Up);
            self.plan_renewal(backend, calendar);
            if went_down {
                self.went_down(backend, flows, calendar);
                self.hang_up(&[backend], flows, calendar);
            }
        }
    }
}

/// The machines that do not answer on the port of each rule, if there are any.
fn closed(scenario: &Scenario) -> Option<IdVec<RuleId, IdVec<BackendId, bool>>> {
    let serve_all = scenario.groups.iter().all(|group| group.serves == ServedPorts::All);
    let of_rule = |rule: &RuleSpec| {
        let is_closed = |spec: &BackendSpec| !scenario.groups[spec.group].serves.has(rule.port);
        scenario.backends.iter().map(is_closed).collect()
    };
    (!serve_all).then(|| scenario.rules.iter().map(of_rule).collect())
}

//! Takes down what happens: after every change of a machine, of health or of configuration it compares what is with what
//! was. Like the recorder it is told, and never asked; only rare events come here, never a connection's.

use super::clients::Clients;
use super::history::{Chronicle, Happening, HappeningKind, Subject, Trigger, Turnabout};
use super::machine::MachineState;
use super::machines::Machines;
use super::remapper::Remapper;
use super::scenario::{FailureMode, Timing};
use crate::ids::{BackendId, ClientId, IdVec, PlaceId};
use crate::lb::LoadBalancer;
use crate::lb::backend::Role;
use crate::lb::change::Change;
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::lb::roster::Roster;
use crate::lb::sets::SetSpec;
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct Historian {
    timing: Timing,
    /// How long after the end of a failure the load balancer may still come to notice it.
    memory: SimDuration,
    backends: IdVec<BackendId, KnownBackend>,
    views: Vec<View>,
    /// The role that served last, if any did.
    role: Option<Role>,
    /// The role that serves, if any does, and since when.
    serving: (Option<Role>, SimTime),
    /// How many decisions have been looked at.
    decided: u64,
    chronicle: Chronicle,
}

/// What was known of a backend at the last look.
#[derive(Debug, Default)]
struct KnownBackend {
    failure: Option<Failure>,
    /// Whether the load balancer holds it healthy; absent while it is not configured.
    held: Option<bool>,
}

/// The latest failure of a backend.
#[derive(Clone, Copy, Debug)]
struct Failure {
    mode: FailureMode,
    since: SimTime,
    until: Option<SimTime>,
}

/// What the load balancer does with the new connections from one place, at the last look.
#[derive(Debug)]
struct View {
    place: PlaceId,
    origin: TrafficOrigin,
    clients: Vec<ClientId>,
    outcome: PlacementOutcome,
    sets: Vec<(SetSpec, f64)>,
    /// The backends that they may get.
    reachable: Vec<BackendId>,
    /// Since when none of those works.
    out_since: Option<SimTime>,
    remapper: Remapper,
}

/// When and why something happens, and how long after that.
#[derive(Clone, Copy, Debug)]
struct Moment {
    now: SimTime,
    cause: Option<Trigger>,
    delay: Option<SimDuration>,
}

impl KnownBackend {
    fn is_failed(&self) -> bool {
        self.failure.is_some_and(|failure| failure.until.is_none())
    }
}

impl View {
    fn works(&self, machines: &Machines<'_>) -> bool {
        self.reachable.iter().any(|backend| machines.machines[*backend].state() == MachineState::Up)
    }
}

impl Historian {
    /// Knows the world as it begins.
    pub(super) fn new(clients: &Clients, balancer: &LoadBalancer, machines: &Machines<'_>) -> Self {
        let scenario = machines.scenario;
        let mut views: Vec<View> = Vec::new();
        // Clients that are backends call themselves: what happens to the others is none of their business.
        for (client, group) in scenario.clients.pairs().filter(|(_, group)| group.own_backends.is_empty()) {
            let is_same = |view: &View| (view.place, view.origin) == (group.place, group.origin);
            let position = views.iter().position(is_same).unwrap_or(views.len());
            if position == views.len() {
                views.push(View::new(group.place, group.origin, balancer, machines));
            }
            views[position].clients.push(client);
            views[position].remapper.add(client, clients, group.addresses.get());
        }
        let check = &scenario.health_check;
        let probes = check.check_interval * u64::from(check.thresholds.unhealthy);
        let held = |member: &crate::lb::backend::Member| member.configured.then_some(member.healthy);
        let since = SimTime::ZERO;
        let failure = |backend: BackendId| {
            let mode = machines.machines[backend].failure(check.wants_reply)?;
            Some(Failure { mode, since, until: None })
        };
        let known = balancer.roster().all().pairs();
        let serving = views.first().and_then(|view| balancer.placement(view.origin).serving);
        Self {
            timing: scenario.timing,
            memory: probes + check.timeout + check.propagation_delay,
            backends: known
                .map(|(backend, member)| KnownBackend { failure: failure(backend), held: held(member) })
                .collect(),
            views,
            role: serving,
            serving: (serving, SimTime::ZERO),
            decided: balancer.decided(),
            chronicle: Chronicle {
                outages: scenario.clients.iter().map(|_| Default::default()).collect(),
                ..Chronicle::default()
            },
        }
    }

    /// The window starts: from now on connections' backends are compared.
    pub(super) fn window_starts(&mut self, balancer: &mut LoadBalancer) {
        self.views.iter_mut().for_each(|view| view.remapper.begin(balancer));
    }

    /// An operation is about to be applied.
    pub(super) fn operates(&mut self, now: SimTime, number: u32) {
        let moment = Moment { now, cause: None, delay: None };
        self.note(moment, HappeningKind::Operation, Subject::Operation(number), None);
    }

    /// An autoscaler has added or removed backends.
    pub(super) fn scaled(&mut self, now: SimTime, changes: &[Change]) {
        let moment = Moment { now, cause: Some(Trigger::Autoscaler), delay: None };
        for change in changes {
            match *change {
                Change::Add(backend) => {
                    self.note(
                        moment,
                        HappeningKind::Operation,
                        Subject::Backend(backend),
                        Some(Turnabout::Added),
                    );
                }
                Change::Remove(backend) => {
                    self.note(
                        moment,
                        HappeningKind::Operation,
                        Subject::Backend(backend),
                        Some(Turnabout::Removed),
                    );
                }
                Change::Configure(_) | Change::SetRole(..) | Change::SetChecked(..) => {}
            }
        }
    }

    /// Whether the load balancer has decided anew since the last look.
    pub(super) fn is_behind(&self, balancer: &LoadBalancer) -> bool {
        self.decided != balancer.decided()
    }

    /// Takes down what has changed, and that it came of `cause`; of a machine that has, where none is given.
    pub(super) fn look(
        &mut self,
        now: SimTime,
        cause: Option<Trigger>,
        balancer: &mut LoadBalancer,
        machines: &Machines<'_>,
    ) {
        if now >= self.timing.window_end() {
            return;
        }
        let struck = self.follow_machines(now, machines);
        let mut moment = Moment {
            now,
            cause: cause.or(struck.map(Trigger::Backend)),
            delay: struck.map(|_| SimDuration::ZERO),
        };
        if self.is_behind(balancer) {
            self.decided = balancer.decided();
            moment.delay = self.follow_health(moment, balancer.roster()).or(moment.delay);
            self.follow_role(moment, balancer);
            self.follow_decisions(moment, balancer);
        }
        self.follow_service(moment, machines);
    }

    fn note(&mut self, moment: Moment, kind: HappeningKind, subject: Subject, turn: Option<Turnabout>) {
        let Moment { now, cause, delay } = moment;
        if self.timing.is_measured(now) {
            let delay = delay.map(SimDuration::as_nanos);
            self.chronicle.note(Happening { at: now.as_nanos(), kind, subject, cause, delay, turn });
        }
    }

    /// Notes the machines that have failed or recovered; gives the first of them.
    fn follow_machines(&mut self, now: SimTime, machines: &Machines<'_>) -> Option<BackendId> {
        let mut struck = None;
        for (backend, machine) in machines.machines.pairs() {
            let mode = machine.failure(machines.scenario.health_check.wants_reply);
            if self.backends[backend].is_failed() != mode.is_some() {
                struck = struck.or(Some(backend));
                self.turned(now, backend, mode);
            }
        }
        struck
    }

    /// A backend fails as `mode` says, or has recovered.
    fn turned(&mut self, now: SimTime, backend: BackendId, mode: Option<FailureMode>) {
        let KnownBackend { failure, held } = &mut self.backends[backend];
        let is_configured = held.is_some();
        let (kind, mode, delay) = match (mode, failure) {
            (Some(_), Some(failure)) if failure.until == Some(now) => {
                // One fault passed it to the next: it never recovered.
                failure.until = None;
                if is_configured && self.timing.is_measured(now) {
                    self.chronicle.take_back(
                        now.as_nanos(),
                        HappeningKind::Recovered,
                        Subject::Backend(backend),
                    );
                }
                return;
            }
            (Some(mode), failure) => {
                *failure = Some(Failure { mode, since: now, until: None });
                (HappeningKind::Failed, mode, None)
            }
            (None, Some(failure)) => {
                failure.until = Some(now);
                (HappeningKind::Recovered, failure.mode, Some(now.since(failure.since)))
            }
            (None, None) => return,
        };
        if is_configured {
            let moment = Moment { now, cause: Some(Trigger::Failure(mode)), delay };
            self.note(moment, kind, Subject::Backend(backend), None);
        }
    }

    /// Notes what the load balancer has noticed of a backend's health; gives how long that took it.
    fn follow_health(&mut self, moment: Moment, roster: &Roster) -> Option<SimDuration> {
        let mut delay = None;
        for (backend, member) in roster.all().pairs() {
            let held = member.configured.then_some(member.healthy);
            let before = std::mem::replace(&mut self.backends[backend].held, held);
            // What an operator sets, or the first state of a new backend, is not noticed by anybody.
            let is_noticed = moment.cause == Some(Trigger::Backend(backend));
            if let (Some(before), Some(healthy), true) = (before, held, is_noticed)
                && before != healthy
            {
                delay = if healthy {
                    self.noticed_healthy(moment.now, backend)
                } else {
                    self.noticed_unhealthy(moment.now, backend)
                };
            }
        }
        delay
    }

    fn noticed_unhealthy(&mut self, now: SimTime, backend: BackendId) -> Option<SimDuration> {
        let memory = self.memory;
        let failure = &mut self.backends[backend].failure;
        // Otherwise its probes failed for another reason: a link, a queue.
        *failure = failure.filter(|failure| failure.until.is_none_or(|until| now.since(until) <= memory));
        let (cause, delay) = failure.map(|it| (Trigger::Failure(it.mode), now.since(it.since))).unzip();
        if let Some(delay) = delay
            && self.timing.is_measured(now)
        {
            self.chronicle.detections.add(delay.as_nanos());
        }
        let moment = Moment { now, cause, delay };
        self.note(moment, HappeningKind::NoticedUnhealthy, Subject::Backend(backend), None);
        delay
    }

    fn noticed_healthy(&mut self, now: SimTime, backend: BackendId) -> Option<SimDuration> {
        let failure = &mut self.backends[backend].failure;
        let recovery = failure.take_if(|failure| failure.until.is_some());
        let recovery =
            recovery.and_then(|it| it.until.map(|until| (Trigger::Failure(it.mode), now.since(until))));
        let (cause, delay) = recovery.unzip();
        self.note(
            Moment { now, cause, delay },
            HappeningKind::NoticedHealthy,
            Subject::Backend(backend),
            None,
        );
        delay
    }

    fn follow_role(&mut self, moment: Moment, balancer: &LoadBalancer) {
        let Some(view) = self.views.first() else { return };
        let serving = balancer.placement(view.origin).serving;
        if serving == self.serving.0 {
            return;
        }
        self.count_role(moment.now);
        self.serving.0 = serving;
        let Some(role) = serving else { return };
        if let Some(before) = self.role.replace(role).filter(|before| *before != role) {
            let turn = Some(Turnabout::Role(before, role));
            self.note(moment, HappeningKind::Role, Subject::Role(role), turn);
        }
    }

    fn count_role(&mut self, now: SimTime) {
        let (serving, since) = &mut self.serving;
        if let Some(role) = *serving {
            self.chronicle.role_nanos[role as usize] += self.timing.measured_part(*since, now).as_nanos();
        }
        *since = now;
    }

    fn follow_decisions(&mut self, moment: Moment, balancer: &mut LoadBalancer) {
        let is_measured = self.timing.is_measured(moment.now);
        for position in 0..self.views.len() {
            let view = &mut self.views[position];
            let sets = balancer.chosen_sets(view.origin);
            let outcome = balancer.placement(view.origin).outcome;
            let reachable = balancer.reachable(view.origin);
            if reachable != view.reachable {
                let before = std::mem::replace(&mut view.reachable, reachable);
                let sets = (before.as_slice(), view.reachable.as_slice());
                view.remapper.compare(sets, balancer, &mut self.chronicle.remapping);
            }
            if (outcome, &sets) == (view.outcome, &view.sets) {
                continue;
            }
            view.sets = sets;
            let turn = Turnabout::Outcome(std::mem::replace(&mut view.outcome, outcome), outcome);
            let subject = Subject::Place(view.place);
            self.chronicle.decision_changes += u64::from(is_measured);
            self.note(moment, HappeningKind::Decision, subject, Some(turn));
        }
    }

    fn follow_service(&mut self, moment: Moment, machines: &Machines<'_>) {
        for position in 0..self.views.len() {
            let view = &mut self.views[position];
            let works = view.works(machines);
            match (view.out_since, works) {
                (None, false) => {
                    view.out_since = Some(moment.now);
                    self.note_clients(moment, HappeningKind::OutOfService, position);
                }
                (Some(since), true) => {
                    view.out_since = None;
                    self.count_outage(position, since, moment.now);
                    let moment = Moment { delay: Some(moment.now.since(since)), ..moment };
                    self.note_clients(moment, HappeningKind::InService, position);
                }
                _ => {}
            }
        }
    }

    fn note_clients(&mut self, moment: Moment, kind: HappeningKind, view: usize) {
        for position in 0..self.views[view].clients.len() {
            let client = self.views[view].clients[position];
            self.note(moment, kind, Subject::Clients(client), None);
        }
    }

    fn count_outage(&mut self, view: usize, since: SimTime, until: SimTime) {
        let nanos = self.timing.measured_part(since, until).as_nanos();
        if nanos > 0 {
            self.views[view].clients.iter().for_each(|client| self.chronicle.outages[*client].add(nanos));
        }
    }

    pub(super) fn finish(mut self, now: SimTime) -> Chronicle {
        self.count_role(now);
        for position in 0..self.views.len() {
            if let Some(since) = self.views[position].out_since {
                self.count_outage(position, since, now);
            }
        }
        self.chronicle
    }
}

impl View {
    fn new(place: PlaceId, origin: TrafficOrigin, balancer: &LoadBalancer, machines: &Machines<'_>) -> Self {
        let reachable = balancer.reachable(origin);
        let view = Self {
            place,
            origin,
            clients: Vec::new(),
            outcome: balancer.placement(origin).outcome,
            sets: balancer.chosen_sets(origin),
            out_since: None,
            reachable,
            remapper: Remapper::default(),
        };
        let out_since = (!view.works(machines)).then_some(SimTime::ZERO);
        Self { out_since, ..view }
    }
}

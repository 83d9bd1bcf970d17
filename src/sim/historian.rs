//! Takes down what happens: after every change of a machine, of health or of configuration it compares what is with what
//! was. Like the recorder it is told, and never asked; only rare events come here, never a connection's.

use super::balancers::Balancers;
use super::clients::Clients;
use super::history::{Chronicle, Happening, HappeningKind, Subject, Trigger, Turnabout};
use super::machine::MachineState;
use super::machines::Machines;
use super::remapper::Remapper;
use super::scenario::{FailureMode, Timing};
use crate::ids::{BackendId, BalancerId, ClientId, IdVec, JudgeId, PlaceId, RuleId};
use crate::lb::LoadBalancer;
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};
use crate::lb::health::HealthChecking;
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::lb::roster::Roster;
use crate::lb::sets::SetSpec;
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct Historian {
    timing: Timing,
    /// How long after the end of a failure load balancers may still come to notice it.
    memory: SimDuration,
    balancers: IdVec<BalancerId, KnownBalancer>,
    views: Vec<View>,
    /// How many decisions have been looked at.
    decided: u64,
    chronicle: Chronicle,
}

/// What was known of a load balancer at the last look.
#[derive(Debug)]
struct KnownBalancer {
    backends: IdVec<BackendId, KnownBackend>,
    /// From where its role is looked at: any origin has the same.
    origin: Option<TrafficOrigin>,
    /// The role that served last, if any did.
    role: Option<Role>,
    /// The role that serves, if any does, and since when.
    serving: (Option<Role>, SimTime),
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

/// What becomes of the new connections to a rule from one place, at the last look.
#[derive(Debug)]
struct View {
    rule: RuleId,
    /// Where the rule leads.
    balancer: Option<BalancerId>,
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

/// A backend fails or recovers: what is to be noted of it.
enum Turn {
    /// It recovered and fails again at the same time.
    Undone,
    Noted(HappeningKind, FailureMode, Option<SimDuration>),
}

impl KnownBackend {
    fn is_failed(&self) -> bool {
        self.failure.is_some_and(|failure| failure.until.is_none())
    }

    /// It fails as `mode` says from now on, or has recovered.
    fn turn(&mut self, now: SimTime, mode: Option<FailureMode>) -> Option<Turn> {
        match (mode, &mut self.failure) {
            (Some(_), Some(failure)) if failure.until == Some(now) => {
                failure.until = None;
                Some(Turn::Undone)
            }
            (Some(mode), failure) => {
                *failure = Some(Failure { mode, since: now, until: None });
                Some(Turn::Noted(HappeningKind::Failed, mode, None))
            }
            (None, Some(failure)) => {
                failure.until = Some(now);
                let lasted = now.since(failure.since);
                Some(Turn::Noted(HappeningKind::Recovered, failure.mode, Some(lasted)))
            }
            (None, None) => None,
        }
    }
}

impl View {
    fn works(&self, machines: &Machines<'_>) -> bool {
        self.reachable.iter().any(|backend| machines.machines[*backend].state() == MachineState::Up)
    }
}

impl Historian {
    /// Knows the world as it begins.
    pub(super) fn new(clients: &Clients, balancers: &Balancers, machines: &Machines<'_>) -> Self {
        let scenario = machines.scenario;
        let views = views(clients, balancers, machines);
        let memory = |check: &HealthChecking| {
            check.check_interval * u64::from(check.thresholds.unhealthy)
                + check.timeout
                + check.propagation_delay
        };
        let known = |(id, balancer): (BalancerId, &LoadBalancer)| {
            let origin = views.iter().find(|view| view.balancer == Some(id)).map(|view| view.origin);
            KnownBalancer::new(balancer, origin, machines)
        };
        Self {
            timing: scenario.timing,
            memory: scenario.judges.iter().map(|judge| memory(&judge.check)).max().unwrap_or_default(),
            balancers: balancers.iter().map(known).collect(),
            views,
            decided: balancers.decided(),
            chronicle: Chronicle {
                outages: scenario.clients.iter().map(|_| Default::default()).collect(),
                ..Chronicle::default()
            },
        }
    }

    /// The window starts: from now on connections' backends are compared.
    pub(super) fn window_starts(&mut self, balancers: &mut Balancers) {
        for view in &mut self.views {
            if let Some(balancer) = view.balancer {
                view.remapper.begin(balancers.get_mut(balancer));
            }
        }
    }

    /// An operation is about to be applied.
    pub(super) fn operates(&mut self, now: SimTime, number: u32) {
        let moment = Moment { now, cause: None, delay: None };
        self.note(moment, HappeningKind::Operation, Subject::Operation(number), None);
    }

    /// An autoscaler has added or removed backends.
    pub(super) fn scaled(&mut self, now: SimTime, changes: &[RegionChange]) {
        let moment = Moment { now, cause: Some(Trigger::Autoscaler), delay: None };
        let mut noted = Vec::new();
        for change in changes {
            let (backend, turn) = match *change {
                RegionChange::Balancer(_, Change::Add(backend)) => (backend, Turnabout::Added),
                RegionChange::Balancer(_, Change::Remove(backend)) => (backend, Turnabout::Removed),
                _ => continue,
            };
            // Whatever number of load balancers it joins or leaves.
            if !noted.contains(&backend) {
                noted.push(backend);
                self.note(moment, HappeningKind::Operation, Subject::Backend(backend), Some(turn));
            }
        }
    }

    /// Whether a load balancer has decided anew since the last look.
    pub(super) fn is_behind(&self, balancers: &Balancers) -> bool {
        self.decided != balancers.decided()
    }

    /// Takes down what has changed, and that it came of `cause`; of a machine that has, where none is given.
    pub(super) fn look(
        &mut self,
        now: SimTime,
        cause: Option<Trigger>,
        balancers: &mut Balancers,
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
        if self.is_behind(balancers) {
            self.decided = balancers.decided();
            for (id, balancer) in balancers.iter() {
                let judge = |backend| balancers.judge(id, backend);
                moment.delay = self.follow_health(moment, id, balancer.roster(), &judge).or(moment.delay);
            }
            for (id, balancer) in balancers.iter() {
                self.follow_role(moment, id, balancer);
            }
            self.follow_decisions(moment, balancers);
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
        for backend in machines.machines.ids() {
            let mode = machines.failure(backend);
            let first = self.balancers.iter().next();
            if first.is_some_and(|known| known.backends[backend].is_failed() != mode.is_some()) {
                struck = struck.or(Some(backend));
                self.turned(now, backend, mode);
            }
        }
        struck
    }

    /// A backend fails as `mode` says, or has recovered: it happens once, whatever number of load balancers have it.
    fn turned(&mut self, now: SimTime, backend: BackendId, mode: Option<FailureMode>) {
        let mut turn = None;
        let mut is_configured = false;
        for known in self.balancers.iter_mut() {
            let known = &mut known.backends[backend];
            is_configured |= known.held.is_some();
            turn = known.turn(now, mode);
        }
        match turn {
            // One fault passed it to the next: it never recovered.
            Some(Turn::Undone) if is_configured && self.timing.is_measured(now) => {
                let recovered = HappeningKind::Recovered;
                self.chronicle.take_back(now.as_nanos(), recovered, Subject::Backend(backend));
            }
            Some(Turn::Noted(kind, mode, delay)) if is_configured => {
                let moment = Moment { now, cause: Some(Trigger::Failure(mode)), delay };
                self.note(moment, kind, Subject::Backend(backend), None);
            }
            _ => {}
        }
    }

    /// Notes what a load balancer has noticed of backends' health; gives how long that took it.
    fn follow_health(
        &mut self,
        moment: Moment,
        id: BalancerId,
        roster: &Roster,
        judge: &dyn Fn(BackendId) -> Option<JudgeId>,
    ) -> Option<SimDuration> {
        let mut delay = None;
        for (backend, member) in roster.all().pairs() {
            let held = member.configured.then_some(member.healthy);
            let before = std::mem::replace(&mut self.balancers[id].backends[backend].held, held);
            // What an operator sets, or the first state of a new backend, is not noticed by anybody.
            let is_noticed = moment.cause == Some(Trigger::Backend(backend));
            if let (Some(before), Some(healthy), true) = (before, held, is_noticed)
                && before != healthy
            {
                delay = if healthy {
                    self.noticed_healthy(moment.now, (id, backend))
                } else {
                    self.noticed_unhealthy(moment.now, (id, backend), judge(backend))
                };
            }
        }
        delay
    }

    fn noticed_unhealthy(
        &mut self,
        now: SimTime,
        (id, backend): (BalancerId, BackendId),
        judge: Option<JudgeId>,
    ) -> Option<SimDuration> {
        let memory = self.memory;
        let failure = &mut self.balancers[id].backends[backend].failure;
        // Otherwise its probes failed for another reason: a link, a queue.
        *failure = failure.filter(|failure| failure.until.is_none_or(|until| now.since(until) <= memory));
        let (cause, delay) = failure.map(|it| (Trigger::Failure(it.mode), now.since(it.since))).unzip();
        if let Some(delay) = delay
            && self.timing.is_measured(now)
        {
            self.chronicle.detections.add(delay.as_nanos());
            if let Some(judge) = judge {
                self.chronicle.detected.entry((judge, backend)).or_default().add(delay.as_nanos());
            }
        }
        let moment = Moment { now, cause, delay };
        self.note(moment, HappeningKind::NoticedUnhealthy, Subject::Backend(backend), self.turn_of(id));
        delay
    }

    fn noticed_healthy(
        &mut self,
        now: SimTime,
        (id, backend): (BalancerId, BackendId),
    ) -> Option<SimDuration> {
        let failure = &mut self.balancers[id].backends[backend].failure;
        let recovery = failure.take_if(|failure| failure.until.is_some());
        let recovery =
            recovery.and_then(|it| it.until.map(|until| (Trigger::Failure(it.mode), now.since(until))));
        let (cause, delay) = recovery.unzip();
        let moment = Moment { now, cause, delay };
        self.note(moment, HappeningKind::NoticedHealthy, Subject::Backend(backend), self.turn_of(id));
        delay
    }

    /// Which load balancer has noticed something, where there are several.
    fn turn_of(&self, id: BalancerId) -> Option<Turnabout> {
        (self.balancers.len() > 1).then_some(Turnabout::Of(id))
    }

    fn follow_role(&mut self, moment: Moment, id: BalancerId, balancer: &LoadBalancer) {
        let Some(origin) = self.balancers[id].origin else { return };
        let serving = balancer.placement(origin).serving;
        if serving == self.balancers[id].serving.0 {
            return;
        }
        self.count_role(moment.now, id);
        let known = &mut self.balancers[id];
        known.serving.0 = serving;
        let Some(role) = serving else { return };
        if let Some(before) = known.role.replace(role).filter(|before| *before != role) {
            let turn = Some(Turnabout::Role(before, role));
            self.note(moment, HappeningKind::Role, Subject::Role(id, role), turn);
        }
    }

    fn count_role(&mut self, now: SimTime, id: BalancerId) {
        let (serving, since) = &mut self.balancers[id].serving;
        if let Some(role) = *serving {
            self.chronicle.role_nanos[role as usize] += self.timing.measured_part(*since, now).as_nanos();
        }
        *since = now;
    }

    fn follow_decisions(&mut self, moment: Moment, balancers: &mut Balancers) {
        let is_measured = self.timing.is_measured(moment.now);
        for position in 0..self.views.len() {
            let view = &mut self.views[position];
            let balancer = balancers.target_from(view.rule, view.origin);
            let is_led_elsewhere = std::mem::replace(&mut view.balancer, balancer) != balancer;
            let Placed { outcome, sets, reachable } = Placed::of(view.balancer, view.origin, balancers);
            if reachable != view.reachable || is_led_elsewhere {
                let before = std::mem::replace(&mut view.reachable, reachable);
                let sets = (before.as_slice(), view.reachable.as_slice());
                if let Some(balancer) = balancer {
                    let balancer = balancers.get_mut(balancer);
                    view.remapper.compare(sets, balancer, &mut self.chronicle.remapping);
                }
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
        for id in self.balancers.ids() {
            self.count_role(now, id);
        }
        for position in 0..self.views.len() {
            if let Some(since) = self.views[position].out_since {
                self.count_outage(position, since, now);
            }
        }
        self.chronicle
    }
}

impl View {
    fn new(
        (rule, place, origin): (RuleId, PlaceId, TrafficOrigin),
        balancers: &Balancers,
        machines: &Machines<'_>,
    ) -> Self {
        let balancer = balancers.target_from(rule, origin);
        let Placed { outcome, sets, reachable } = Placed::of(balancer, origin, balancers);
        let (clients, remapper) = (Vec::new(), Remapper::default());
        let view = Self {
            rule,
            balancer,
            place,
            origin,
            clients,
            outcome,
            sets,
            out_since: None,
            reachable,
            remapper,
        };
        let out_since = (!view.works(machines)).then_some(SimTime::ZERO);
        Self { out_since, ..view }
    }
}

/// What every place that clients send from sees of the rules that they send to.
fn views(clients: &Clients, balancers: &Balancers, machines: &Machines<'_>) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    // Clients that are backends call themselves: what happens to the others is none of their business.
    let groups = machines.scenario.clients.pairs();
    for (client, group) in groups.filter(|(_, group)| group.own_backends.is_empty()) {
        for rule in group.lanes.rules() {
            let key = (rule, group.place, group.origin);
            let is_same = |view: &View| (view.rule, view.place, view.origin) == key;
            let position = views.iter().position(is_same).unwrap_or(views.len());
            if position == views.len() {
                views.push(View::new(key, balancers, machines));
            }
            views[position].clients.push(client);
            views[position].remapper.add((client, rule), clients, group.addresses.get());
        }
    }
    views
}

/// Where new connections from one place go.
struct Placed {
    outcome: PlacementOutcome,
    sets: Vec<(SetSpec, f64)>,
    reachable: Vec<BackendId>,
}

impl Placed {
    fn of(balancer: Option<BalancerId>, origin: TrafficOrigin, balancers: &Balancers) -> Self {
        match balancer.map(|balancer| balancers.get(balancer)) {
            Some(balancer) => Self {
                outcome: balancer.placement(origin).outcome,
                sets: balancer.chosen_sets(origin),
                reachable: balancer.reachable(origin),
            },
            None => Self { outcome: PlacementOutcome::Dropped, sets: Vec::new(), reachable: Vec::new() },
        }
    }
}

impl KnownBalancer {
    fn new(balancer: &LoadBalancer, origin: Option<TrafficOrigin>, machines: &Machines<'_>) -> Self {
        let since = SimTime::ZERO;
        let backend = |(id, member): (BackendId, &crate::lb::backend::Member)| KnownBackend {
            failure: machines.failure(id).map(|mode| Failure { mode, since, until: None }),
            held: member.configured.then_some(member.healthy),
        };
        let serving = origin.and_then(|origin| balancer.placement(origin).serving);
        Self {
            backends: balancer.roster().all().pairs().map(backend).collect(),
            origin,
            role: serving,
            serving: (serving, SimTime::ZERO),
        }
    }
}

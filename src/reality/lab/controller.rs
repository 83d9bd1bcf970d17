//! The controller: it takes the results of probes, asks zonesim's own load balancer what follows, and tells the kernel. It
//! also does to the laboratory what the experiment says will happen, and writes down what does.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::client::ClientRecord;
use super::clock::Clock;
use super::data_plane::DataPlane;
use super::server::Order;
use super::{Event, LabError};
use crate::ids::{BackendId, BalancerId, ClientId, Id, IdVec, ZoneId};
use crate::lb::LoadBalancer;
use crate::lb::change::Change;
use crate::lb::health::JointHealth;
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::lb::sets::SetSpec;
use crate::random::RunSeed;
use crate::reality::observation::{ClientCounts, RunObservation};
use crate::reality::plan::{Deed, plan};
use crate::sim::scenario::{BackendFault, FailureMode, Scenario};
use crate::stats::Histogram;
use crate::time::{SimDuration, SimTime};

/// How often the controller looks at what only time changes: entries that end.
const LOOK: Duration = Duration::from_millis(20);

/// How long after the window the last connection may end.
const PATIENCE: SimDuration = SimDuration::from_secs(600);

pub(super) struct Controller<'a> {
    scenario: &'a Scenario,
    clock: Clock,
    data_plane: DataPlane,
    orders: Vec<UnixStream>,
    balancer: LoadBalancer,
    backends: IdVec<BackendId, Watched>,
    /// What is yet to happen, the latest first.
    deeds: Vec<(SimTime, Deed)>,
    /// Changes of health that have yet to take effect.
    coming: Vec<(SimTime, BackendId, bool)>,
    /// By zone: what was decided last for its new connections.
    decided: Vec<(PlacementOutcome, Vec<(SetSpec, f64)>)>,
    observation: RunObservation,
}

/// What the controller knows of a backend.
struct Watched {
    health: JointHealth,
    /// Whether probes count.
    checked: bool,
    held: Option<bool>,
    held_since: SimTime,
    /// How many faults keep it down.
    down: u32,
    failed: Option<SimTime>,
    recovered: Option<SimTime>,
}

impl<'a> Controller<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        seed: RunSeed,
        clock: Clock,
        data_plane: DataPlane,
        orders: Vec<UnixStream>,
    ) -> Self {
        let check = *scenario.first_check();
        let members = scenario.members(BalancerId::from_index(0), |_| check.initially_healthy);
        let balancer =
            LoadBalancer::new(scenario.first_balancer().settings.clone(), scenario.zones.len(), members);
        let watched = |spec: &crate::sim::scenario::Membership| Watched {
            health: JointHealth::new(check.probers, check.initially_healthy),
            checked: spec.judge.is_some() && spec.configured,
            held: spec.configured.then_some(check.initially_healthy || spec.judge.is_none()),
            held_since: SimTime::ZERO,
            down: 0,
            failed: None,
            recovered: None,
        };
        let mut deeds = plan(scenario, seed);
        deeds.reverse();
        let mut controller = Self {
            scenario,
            clock,
            data_plane,
            orders,
            balancer,
            backends: scenario.first_balancer().members.iter().map(watched).collect(),
            deeds,
            coming: Vec::new(),
            decided: Vec::new(),
            observation: RunObservation {
                clients: vec![ClientCounts::default(); scenario.clients.len()],
                connect_between: vec![
                    vec![Histogram::default(); scenario.zones.len()];
                    scenario.places.len()
                ],
                completed_by_backend: vec![0; scenario.backends.len()],
                ..RunObservation::default()
            },
        };
        controller.decided = controller.decisions();
        controller
    }

    /// Controls the laboratory until the last connection is over; gives what it showed.
    pub(super) fn run(mut self, told: &Receiver<Event>) -> Result<RunObservation, LabError> {
        let mut under_way = self.scenario.clients.len();
        self.data_plane.follow(SimTime::ZERO, &mut self.balancer)?;
        let last = self.scenario.timing.window_end() + PATIENCE;
        while under_way > 0 {
            if self.clock.now() > last {
                return Err(LabError("connections do not end".to_owned()));
            }
            self.act()?;
            self.data_plane.follow(self.clock.now(), &mut self.balancer)?;
            let next =
                self.deeds.last().map(|(at, _)| *at).into_iter().chain(self.coming.iter().map(|it| it.0));
            let wait = next.map(|at| self.clock.until(at)).fold(LOOK, Duration::min);
            match told.recv_timeout(wait) {
                Ok(Event::Probed { backend, prober, at, success }) => {
                    self.probed(backend, prober, at, success);
                }
                Ok(Event::Ended { client, record }) => {
                    under_way -= 1;
                    self.take(client, &record);
                }
                Ok(Event::Broken(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LabError("every part has ended".to_owned()));
                }
            }
        }
        let now = self.clock.now();
        for backend in self.scenario.backends.ids() {
            self.count_held(now, backend, None);
        }
        Ok(self.observation)
    }

    /// Does what is due.
    fn act(&mut self) -> Result<(), LabError> {
        let now = self.clock.now();
        while let Some((_, deed)) = self.deeds.pop_if(|(at, _)| *at <= now) {
            self.commit(now, &deed)?;
        }
        let mut due: Vec<_> = self.coming.extract_if(.., |(at, ..)| *at <= now).collect();
        due.sort_by_key(|(at, ..)| *at);
        for (_, backend, healthy) in due {
            self.hold(now, backend, healthy);
        }
        Ok(())
    }

    fn commit(&mut self, now: SimTime, deed: &Deed) -> Result<(), LabError> {
        match deed {
            Deed::Backends { backends, fault, begins } => self.strike(backends, *fault, *begins),
            Deed::Link { between, fault, begins } => {
                self.data_plane.link(self.scenario, *between, *fault, *begins)
            }
            Deed::Operation(number) => {
                let changes = self.scenario.operations[*number].changes.iter();
                let balancer = BalancerId::from_index(0);
                let changes: Vec<Change> =
                    changes.filter_map(|change| change.of(balancer)).cloned().collect();
                self.operate(now, &changes);
                Ok(())
            }
        }
    }

    fn strike(&mut self, backends: &[BackendId], fault: BackendFault, begins: bool) -> Result<(), LabError> {
        let goes_silent = fault == BackendFault::Fails(FailureMode::Silent);
        if fault == BackendFault::BlocksProbes {
            return self.data_plane.block_probes(backends, begins);
        }
        // Nobody must hear of the death of a silent one.
        if goes_silent && begins {
            self.data_plane.silence(backends, true)?;
        }
        let now = self.clock.now();
        for &backend in backends {
            let watched = &mut self.backends[backend];
            watched.down = if begins { watched.down + 1 } else { watched.down - 1 };
            if begins && watched.down == 1 {
                (watched.failed, watched.recovered) = (Some(now), None);
            }
            let is_back = !begins && watched.down == 0;
            if is_back {
                watched.recovered = Some(now);
            }
            if begins || is_back {
                self.order(backend, if begins { Order::Die } else { Order::Start })?;
            }
        }
        if goes_silent && !begins {
            // Until they listen they would refuse.
            std::thread::sleep(SETTLE);
            self.data_plane.silence(backends, false)?;
        }
        Ok(())
    }

    fn order(&mut self, backend: BackendId, order: Order) -> Result<(), LabError> {
        let sent = self.orders[backend.index()].write_all(&[order as u8]);
        sent.map_err(|error| LabError(format!("a backend takes no orders: {error}")))
    }

    fn operate(&mut self, now: SimTime, changes: &[Change]) {
        let initially_healthy = self.scenario.first_check().initially_healthy;
        self.balancer.change_together(now, |balancer| {
            for change in changes {
                match *change {
                    Change::Configure(ref settings) => balancer.configure(now, settings.clone()),
                    Change::Add(backend) => balancer.add(now, backend, initially_healthy),
                    Change::Remove(backend) => balancer.remove(now, backend),
                    Change::SetRole(backend, role) => balancer.set_role(now, backend, role),
                    // No laboratory takes an experiment with this.
                    Change::SetJudge(..) => {}
                }
            }
        });
        for change in changes {
            match *change {
                Change::Add(backend) => {
                    self.count_held(now, backend, Some(initially_healthy));
                    let health = JointHealth::new(self.scenario.first_check().probers, initially_healthy);
                    self.backends[backend].health = health;
                    self.backends[backend].checked = self.scenario.membership(backend).judge.is_some();
                }
                Change::Remove(backend) => {
                    self.count_held(now, backend, None);
                    self.backends[backend].checked = false;
                }
                _ => {}
            }
        }
        self.note_decisions(now, None);
    }

    fn probed(&mut self, backend: BackendId, prober: u8, at: SimTime, success: bool) {
        let check = *self.scenario.first_check();
        let watched = &mut self.backends[backend];
        let changed = watched.health.observe(prober, success, check.thresholds);
        if let Some(healthy) = changed.filter(|_| watched.checked) {
            self.coming.push((at + check.propagation_delay, backend, healthy));
        }
    }

    /// Holds `backend` healthy or not from now on.
    fn hold(&mut self, now: SimTime, backend: BackendId, healthy: bool) {
        if !self.backends[backend].checked || !self.balancer.set_health(now, backend, healthy) {
            return;
        }
        self.count_held(now, backend, Some(healthy));
        let is_measured = self.scenario.timing.is_measured(now);
        self.observation.health_transitions += u64::from(is_measured);
        let watched = &mut self.backends[backend];
        let since = if healthy { watched.recovered.take() } else { watched.failed };
        let delay = since.map(|since| now.since(since).as_secs_f64());
        if healthy && delay.is_some() {
            watched.failed = None;
        }
        let delays =
            if healthy { &mut self.observation.recoveries } else { &mut self.observation.detections };
        delays.extend(delay.filter(|_| is_measured));
        self.note_decisions(now, delay);
    }

    fn count_held(&mut self, now: SimTime, backend: BackendId, held: Option<bool>) {
        let watched = &mut self.backends[backend];
        if watched.held == Some(false) {
            let time: SimDuration = self.scenario.timing.measured_part(watched.held_since, now);
            self.observation.unhealthy_nanos += time.as_nanos();
        }
        watched.held = held;
        watched.held_since = now;
    }

    fn decisions(&self) -> Vec<(PlacementOutcome, Vec<(SetSpec, f64)>)> {
        let zones = self.scenario.zones.ids().map(TrafficOrigin::Zone);
        zones.map(|zone| (self.balancer.placement(zone).outcome, self.balancer.chosen_sets(zone))).collect()
    }

    fn note_decisions(&mut self, now: SimTime, delay: Option<f64>) {
        let decisions = self.decisions();
        for (zone, (new, old)) in decisions.iter().zip(&self.decided).enumerate() {
            if let (true, Some(delay)) = (new != old, delay.filter(|_| self.scenario.timing.is_measured(now)))
            {
                self.observation.decisions.push((zone, delay));
            }
        }
        self.decided = decisions;
    }

    fn take(&mut self, client: ClientId, record: &ClientRecord) {
        let own: Option<ZoneId> = self.scenario.places[self.scenario.clients[client].place].zone;
        let counts = &mut self.observation.clients[client.index()];
        for ((spec, completed), sum) in self
            .scenario
            .backends
            .iter()
            .zip(&record.completed)
            .zip(&mut self.observation.completed_by_backend)
        {
            *(if Some(spec.zone) == own { &mut counts.in_zone } else { &mut counts.across }) += completed;
            *sum += completed;
        }
        counts.failed = record.failed.iter().sum();
        self.observation.causes.iter_mut().zip(&record.failed).for_each(|(sum, count)| *sum += count);
        self.observation.failed_after.merge(&record.failed_after);
        let place = self.scenario.clients[client].place.index();
        for (spec, connect) in self.scenario.backends.iter().zip(&record.connect_to) {
            self.observation.connect_between[place][spec.zone.index()].merge(connect);
        }
        self.observation.connect.merge(&record.connect);
        self.observation.request.merge(&record.request);
    }
}

/// How long backends have to begin to listen.
const SETTLE: Duration = Duration::from_millis(5);

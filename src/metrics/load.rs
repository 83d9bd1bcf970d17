//! Load in absolute terms, the same for what was simulated and for what is expected: multiples of the fair share, offered
//! load, and utilization.
//!
//! A backend's fair share of connections is what it would get if all were well and every worker of the primaries got the
//! same. So a failover backend that takes over for three primaries like it stands at 3, and a zone beside a dead one, whose
//! clients stay there, at 1. Offered load is the work that arrives over the worker time of the backends that can serve it;
//! utilization is busy over available worker time. A dead backend's time is neither.

use super::MeasuredRun;
use crate::ids::{BackendId, BalancerId, IdVec, RuleId, ZoneId};
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};
use crate::sim::outcome::{BackendOutcome, WorkerTime};
use crate::sim::scenario::{Scenario, Workers};
use crate::time::SimTime;

/// Backends that were configured for less than this share of the window have too few requests to be the busiest.
const LEAST_PRESENCE: f64 = 0.1;

/// What share of all connections each backend would get if all were well.
#[derive(Clone, Debug, PartialEq)]
pub struct FairShares(IdVec<BackendId, f64>);

impl FairShares {
    /// The fair shares in `scenario`, where each backend is configured for a share `presence` of the time. Connections are
    /// shared out over the primaries by their workers, or equally if any backend has no limit of workers; a failover backend
    /// counts as if it were one more primary. Without primaries the others take their place. Of several load balancers each
    /// has its share `led` of all connections, and a machine its part of those of every one that ever has it.
    pub fn new(
        scenario: &Scenario,
        presence: impl Fn(BackendId) -> f64,
        led: &IdVec<BalancerId, f64>,
    ) -> Self {
        let workers = |backend| scenario.server(backend).workers;
        let unlimited = scenario.backends.ids().any(|backend| workers(backend) == Workers::Unlimited);
        let weight = |backend| match workers(backend) {
            Workers::Limited(workers) if !unlimited => f64::from(workers.get()),
            _ => 1.0,
        };
        let weights: IdVec<BackendId, f64> =
            scenario.backends.ids().map(|backend| weight(backend) * presence(backend)).collect();
        let mut shares: IdVec<BackendId, f64> = scenario.backends.iter().map(|_| 0.0).collect();
        for (balancer, led) in led.pairs().filter(|(_, led)| **led > 0.0) {
            let members = members(scenario, balancer);
            let of_role = |role: Role| -> f64 {
                members.pairs().filter(|(_, own)| **own == Some(role)).map(|(id, _)| weights[id]).sum()
            };
            let primaries = of_role(Role::Primary);
            let whole = if primaries > 0.0 { primaries } else { of_role(Role::Failover) };
            for (id, _) in members.pairs().filter(|(_, own)| own.is_some() && whole > 0.0) {
                shares[id] += led * (weights[id] / whole);
            }
        }
        Self(shares)
    }

    /// How many times their fair share `backends` got together, of which a share `got` of all connections was for them.
    /// Absent where they have none.
    pub fn multiple(&self, backends: impl Iterator<Item = BackendId>, got: f64) -> Option<f64> {
        let fair: f64 = backends.map(|backend| self.0[backend]).sum();
        (fair > 0.0).then(|| got / fair)
    }
}

/// The load of one backend, or of the backends of a zone and role, in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredLoad {
    /// How many backends were configured, on average over time.
    pub backends: f64,
    /// Connections that began in the window.
    pub connections: u64,
    /// Requests that were sent to them in the window.
    pub asked: u64,
    /// Their connections over their fair share of all; absent where nothing began, or they have no share.
    pub multiple: Option<f64>,
    /// Arriving work over available worker time; absent without a limit of workers, or where none served.
    pub offered: Option<f64>,
    /// Busy over available worker time; absent as `offered`.
    pub utilization: Option<f64>,
}

/// The load of each backend.
pub fn backend_loads(run: &MeasuredRun<'_>) -> IdVec<BackendId, MeasuredLoad> {
    let fair = fair_shares(run);
    run.scenario.backends.ids().map(|backend| load_of(run, &fair, &[backend])).collect()
}

/// The load of each role in each zone that has backends of it, then of each role in all zones.
pub fn zone_loads(run: &MeasuredRun<'_>) -> Vec<(Option<ZoneId>, Role, MeasuredLoad)> {
    let fair = fair_shares(run);
    let zones = run.scenario.zones.ids().map(Some).chain([None]);
    let places = zones.flat_map(|zone| [Role::Primary, Role::Failover].map(|role| (zone, role)));
    let load = |(zone, role): (Option<ZoneId>, Role)| {
        let members = run.scenario.backends.pairs().filter(|(id, spec)| {
            run.scenario.role(*id) == role
                && zone.is_none_or(|zone| spec.zone == zone)
                && presence(run, *id) > 0.0
        });
        let members: Vec<BackendId> = members.map(|(id, _)| id).collect();
        (!members.is_empty()).then(|| (zone, role, load_of(run, &fair, &members)))
    };
    places.filter_map(load).collect()
}

/// The highest of the backends' multiples.
pub(super) fn busiest_backend(run: &MeasuredRun<'_>) -> Option<f64> {
    let loads = backend_loads(run);
    let all_along = loads.pairs().filter(|(id, _)| presence(run, *id) >= LEAST_PRESENCE);
    all_along.filter_map(|(_, load)| load.multiple).reduce(f64::max)
}

/// The highest of the multiples of the zones' roles.
pub(super) fn busiest_zone(run: &MeasuredRun<'_>) -> Option<f64> {
    of_zones(run).filter_map(|load| load.multiple).reduce(f64::max)
}

/// The highest offered load of the zones' roles.
pub(super) fn highest_offered_load(run: &MeasuredRun<'_>) -> Option<f64> {
    of_zones(run).filter_map(|load| load.offered).reduce(f64::max)
}

/// Busy over available worker time of all backends.
pub(super) fn utilization(run: &MeasuredRun<'_>) -> Option<f64> {
    let backends: Vec<BackendId> = run.scenario.backends.ids().collect();
    worker_time(run, &backends).utilization()
}

pub(super) fn mean_backends(run: &MeasuredRun<'_>) -> Option<f64> {
    Some(run.scenario.backends.ids().map(|backend| presence(run, backend)).sum())
}

fn of_zones(run: &MeasuredRun<'_>) -> impl Iterator<Item = MeasuredLoad> {
    zone_loads(run).into_iter().filter(|(zone, ..)| zone.is_some()).map(|(.., load)| load)
}

/// The share of the window for which a backend was configured.
fn presence(run: &MeasuredRun<'_>, backend: BackendId) -> f64 {
    let configured = run.outcome.backends[backend].configured_nanos;
    configured as f64 / run.scenario.timing.duration.as_nanos() as f64
}

fn fair_shares(run: &MeasuredRun<'_>) -> FairShares {
    FairShares::new(run.scenario, |backend| presence(run, backend), &led(run))
}

/// What each backend is to a load balancer that it belongs to at some time; to one that a region has alone each is something.
fn members(scenario: &Scenario, balancer: BalancerId) -> IdVec<BackendId, Option<Role>> {
    let is_only = scenario.balancers.len() == 1;
    let mut found: IdVec<BackendId, Option<Role>> = scenario.balancers[balancer]
        .members
        .iter()
        .map(|member| (member.configured || is_only).then_some(member.role))
        .collect();
    let changes = scenario.operations.iter().flat_map(|operation| &operation.changes);
    for change in changes.filter_map(|change| change.of(balancer)) {
        if let Change::Add(backend) = change {
            let role = scenario.balancers[balancer].members[*backend].role;
            found[*backend].get_or_insert(role);
        }
    }
    found
}

/// The share of all connections that each load balancer was led: those of a rule that leads to several, one after the other,
/// in proportion to time.
fn led(run: &MeasuredRun<'_>) -> IdVec<BalancerId, f64> {
    let scenario = run.scenario;
    let mut led: IdVec<BalancerId, f64> = scenario.balancers.iter().map(|_| 0.0).collect();
    if scenario.balancers.len() == 1 {
        led.iter_mut().for_each(|only| *only = 1.0);
        return led;
    }
    let all = run.outcome.total().connections as f64;
    for ((_, lane), row) in scenario.lanes().iter().zip(&run.outcome.traffic) {
        let connections: u64 = row.pairs().map(|(_, traffic)| traffic.connections).sum();
        for (balancer, part) in parts(scenario, lane.rule) {
            led[balancer] += if all > 0.0 { connections as f64 * part / all } else { 0.0 };
        }
    }
    led
}

/// Where `rule` leads in the measured window, each with its part of the time.
fn parts(scenario: &Scenario, rule: RuleId) -> Vec<(BalancerId, f64)> {
    let (start, end) = (scenario.timing.window_start(), scenario.timing.window_end());
    let whole = scenario.timing.duration.as_nanos() as f64;
    let mut at = (scenario.rules[rule].balancer, SimTime::ZERO);
    let mut found = Vec::new();
    let mut until = |(balancer, since): (Option<BalancerId>, SimTime), time: SimTime| {
        let nanos = scenario.timing.measured_part(since, time).as_nanos();
        found.extend(balancer.filter(|_| nanos > 0).map(|balancer| (balancer, nanos as f64 / whole)));
    };
    for operation in scenario.operations.iter().filter(|operation| operation.at < end) {
        for change in &operation.changes {
            if let RegionChange::Retarget(other, balancer) = change
                && *other == rule
            {
                until(at, operation.at.max(start));
                at = (*balancer, operation.at);
            }
        }
    }
    until(at, end);
    found
}

/// The load of `backends` together.
pub fn joint_load(run: &MeasuredRun<'_>, backends: &[BackendId]) -> MeasuredLoad {
    load_of(run, &fair_shares(run), backends)
}

fn load_of(run: &MeasuredRun<'_>, fair: &FairShares, backends: &[BackendId]) -> MeasuredLoad {
    let found = || backends.iter().map(|backend| &run.outcome.backends[*backend]);
    let connections = found().map(|backend| backend.traffic.connections).sum();
    let all = run.outcome.total().connections;
    let multiple = |got| fair.multiple(backends.iter().copied(), got);
    let work = |(backend, found): (&BackendId, &BackendOutcome)| {
        found.asked as f64 * run.scenario.server(*backend).service_time.mean()
    };
    let work: f64 = backends.iter().zip(found()).map(work).sum();
    let time = worker_time(run, backends);
    MeasuredLoad {
        backends: backends.iter().map(|backend| presence(run, *backend)).sum(),
        connections,
        asked: found().map(|backend| backend.asked).sum(),
        multiple: if all > 0 { multiple(connections as f64 / all as f64) } else { None },
        offered: (time.offered > 0).then(|| work / time.offered as f64),
        utilization: time.utilization(),
    }
}

/// The worker time of `backends` together; none if one of them has no limit of workers.
fn worker_time(run: &MeasuredRun<'_>, backends: &[BackendId]) -> WorkerTime {
    let times = backends.iter().map(|backend| run.outcome.backends[*backend].worker_time);
    let limited: Option<Vec<WorkerTime>> = times.collect();
    limited.unwrap_or_default().into_iter().fold(WorkerTime::default(), |mut sum, time| {
        sum.add(time);
        sum
    })
}

//! Where new connections go in one situation, as rates, and what shares and loads follow.

use super::ZonePool;
use crate::answers::situation::{BalancerView, Situation};
use crate::ids::{BackendId, BalancerId, IdVec, SetId, ZoneId};
use crate::lb::backend::Role;
use crate::lb::policy::{PlacementOutcome, PolicyState};
use crate::lb::roster::Roster;
use crate::lb::weight::{WeightState, effective_weights};
use crate::metrics::Metric;
use crate::metrics::load::FairShares;
use crate::sim::scenario::{ClientGroup, Scenario, Workers};
use crate::time::SimTime;

/// What follows in a state of health, or in the long run. Shares are of connections, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// Of the connections of clients in the region's zones: those that cross zones. Absent without such clients.
    pub cross_zone: Option<f64>,
    /// Those that left their zone because too few of its backends were eligible.
    pub spilled: f64,
    /// Those placed on a backend that is held unhealthy.
    pub unhealthy: f64,
    /// Those placed on a backend that does not serve, whether that is noticed or not.
    pub dead: f64,
    /// Those dropped.
    pub dropped: f64,
    /// Connections of the busiest backend over its fair share. Absent if nothing is placed.
    pub hottest: Option<f64>,
    /// The same of the busiest zone and role.
    pub hottest_zone: Option<f64>,
    /// The highest offered load of a zone and role. Absent without a limit of workers, or where none serves.
    pub offered: Option<f64>,
    /// Of each pool the connections of one backend over its fair share: in a state of one that is held healthy, absent if
    /// none is.
    pub loads: Vec<Option<f64>>,
    /// The offered load of each pool.
    pub offered_loads: Vec<Option<f64>>,
}

impl Shares {
    /// The metrics of a run that say the same, each with what is expected of it.
    pub fn as_metrics(&self) -> [(&'static Metric, Option<f64>); 3] {
        const CROSS_ZONE: &Metric = Metric::named("cross_zone_connection_ratio");
        const SPILLED: &Metric = Metric::named("spilled_connection_ratio");
        const UNHEALTHY: &Metric = Metric::named("unhealthy_connection_ratio");
        [(CROSS_ZONE, self.cross_zone), (SPILLED, Some(self.spilled)), (UNHEALTHY, Some(self.unhealthy))]
    }

    /// The metrics of load of a run that say the same.
    pub fn load_metrics(&self) -> [(&'static Metric, Option<f64>); 3] {
        const HOTTEST: &Metric = Metric::named("backend_load_max_over_mean");
        const HOTTEST_ZONE: &Metric = Metric::named("zone_load_max_over_mean");
        const OFFERED: &Metric = Metric::named("zone_offered_load_max");
        [(HOTTEST, self.hottest), (HOTTEST_ZONE, self.hottest_zone), (OFFERED, self.offered)]
    }
}

impl Situation<'_> {
    /// Where connections go.
    pub(super) fn rates(&self) -> Rates {
        let zones = self.scenario.zones.len();
        let rosters: IdVec<BalancerId, Roster> =
            self.balancers.iter().map(|view| view.policy.roster(zones, view.members.clone())).collect();
        let weights: IdVec<BalancerId, _> = self.balancers.iter().map(|view| self.weights(view)).collect();
        let mut rates = Rates::none(self.scenario);
        for client in self.scenario.clients.iter() {
            // What has no rate, or never leaves its backend, is left out; the caveats say so.
            let Some(rate) = client.arrivals.mean_rate().filter(|_| client.own_backends.is_empty()) else {
                continue;
            };
            let rate = rate / client.lanes.count() as f64;
            for lane in client.lanes.iter() {
                let zone = self.scenario.places[client.place].zone;
                rates.connections += rate;
                rates.zonal += if zone.is_some() { rate } else { 0.0 };
                let Some(target) = self.target(lane.rule, client.origin) else {
                    rates.dropped += rate;
                    continue;
                };
                let (view, roster) = (&self.balancers[target], &rosters[target]);
                let placement = view.policy.decide(PolicyState { now: SimTime::ZERO, roster }, client.origin);
                rates.spilled += if placement.outcome == PlacementOutcome::Spilled { rate } else { 0.0 };
                let shares = placement.choice.shares();
                let placed = shares.iter().filter(|(set, _)| roster.size(*set) > 0);
                rates.dropped += rate * (1.0 - placed.map(|(_, share)| share).sum::<f64>());
                for (set, share) in shares {
                    for (backend, part) in parts(roster, set, &weights[target]) {
                        self.place(&mut rates, (client, view), (zone, backend), rate * share * part);
                    }
                }
            }
        }
        for (backend, capacity) in rates.capacity.pairs_mut() {
            let serves = if self.is_configured(backend) { self.serves[backend] } else { 0.0 };
            *capacity = match self.scenario.server(backend).workers {
                Workers::Limited(workers) => Some(f64::from(workers.get()) * serves),
                Workers::Unlimited => None,
            };
        }
        rates
    }

    /// Connections of `client` at this rate come from a zone, or elsewhere, to a backend.
    fn place(
        &self,
        rates: &mut Rates,
        (client, view): (&ClientGroup, &BalancerView),
        (zone, backend): (Option<ZoneId>, BackendId),
        rate: f64,
    ) {
        let member = &view.members[backend];
        let serves = self.serves[backend];
        rates.crossing += if zone.is_some_and(|zone| zone != member.zone) { rate } else { 0.0 };
        rates.unhealthy += if member.healthy { 0.0 } else { rate };
        rates.dead += rate * (1.0 - serves);
        rates.placed[backend] += rate;
        let service_s = self.scenario.server(backend).service_time.mean() / 1e9;
        let requests = rate * serves * client.connection.requests.mean();
        rates.work[backend] += requests * service_s * self.slowness[backend];
    }

    fn weights(&self, view: &BalancerView) -> IdVec<BackendId, f64> {
        if !view.weighted {
            return view.members.iter().map(|_| 1.0).collect();
        }
        let states: IdVec<BackendId, WeightState> =
            self.scenario.backends.iter().map(|spec| self.scenario.groups[spec.group].weight).collect();
        let valid = |state: &WeightState| if let WeightState::Valid(weight) = state { *weight } else { 1.0 };
        let last_valid = states.iter().map(valid).collect();
        effective_weights(&states, &last_valid, |backend| view.members[backend].configured)
    }

    /// The share of all connections that each load balancer is led.
    fn led(&self) -> IdVec<BalancerId, f64> {
        let mut led: IdVec<BalancerId, f64> = self.balancers.iter().map(|_| 0.0).collect();
        if self.balancers.len() == 1 {
            led.iter_mut().for_each(|only| *only = 1.0);
            return led;
        }
        let mut all = 0.0;
        for client in self.scenario.clients.iter() {
            let rate = client.arrivals.mean_rate().filter(|_| client.own_backends.is_empty()).unwrap_or(0.0);
            all += rate;
            for lane in client.lanes.iter() {
                if let Some(target) = self.target(lane.rule, client.origin) {
                    led[target] += rate / client.lanes.count() as f64;
                }
            }
        }
        led.iter_mut().filter(|_| all > 0.0).for_each(|led| *led /= all);
        led
    }
}

/// The members of `set`, each with its share of what goes to it: by weight among healthy ones, equal otherwise (O15).
fn parts(roster: &Roster, set: SetId, weights: &IdVec<BackendId, f64>) -> Vec<(BackendId, f64)> {
    let members: Vec<BackendId> = roster.members(set).collect();
    let all_healthy = members.iter().all(|backend| roster.is_healthy(*backend));
    let total: f64 = members.iter().map(|backend| weights[*backend]).sum();
    let weight = |backend| if all_healthy && total > 0.0 { weights[backend] } else { 1.0 };
    let total: f64 = members.iter().map(|backend| weight(*backend)).sum();
    members.iter().map(|backend| (*backend, weight(*backend) / total)).collect()
}

/// New connections a second, and what they bring.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    connections: f64,
    zonal: f64,
    crossing: f64,
    spilled: f64,
    unhealthy: f64,
    dead: f64,
    dropped: f64,
    placed: IdVec<BackendId, f64>,
    /// Worker time, in seconds a second, that arrives where somebody serves.
    work: IdVec<BackendId, f64>,
    /// Workers that serve; absent without a limit.
    capacity: IdVec<BackendId, Option<f64>>,
}

impl Rates {
    pub(super) fn none(scenario: &Scenario) -> Self {
        let zeros = || scenario.backends.iter().map(|_| 0.0).collect();
        let limited = |backend| scenario.server(backend).workers != Workers::Unlimited;
        Self {
            connections: 0.0,
            zonal: 0.0,
            crossing: 0.0,
            spilled: 0.0,
            unhealthy: 0.0,
            dead: 0.0,
            dropped: 0.0,
            placed: zeros(),
            work: zeros(),
            capacity: scenario.backends.ids().map(|backend| limited(backend).then_some(0.0)).collect(),
        }
    }

    /// Adds a `share` of `other`.
    pub(super) fn add(&mut self, other: &Self, share: f64) {
        let sums = [
            (&mut self.connections, other.connections),
            (&mut self.zonal, other.zonal),
            (&mut self.crossing, other.crossing),
            (&mut self.spilled, other.spilled),
            (&mut self.unhealthy, other.unhealthy),
            (&mut self.dead, other.dead),
            (&mut self.dropped, other.dropped),
        ];
        sums.into_iter().for_each(|(sum, value)| *sum += share * value);
        for (backend, placed) in self.placed.pairs_mut() {
            *placed += share * other.placed[backend];
            self.work[backend] += share * other.work[backend];
            let more = other.capacity[backend].map(|capacity| share * capacity);
            self.capacity[backend] = self.capacity[backend].zip(more).map(|(sum, more)| sum + more);
        }
    }

    /// In the long run the backends of a pool get the same.
    pub(super) fn even_out(&mut self, pools: &[ZonePool]) {
        for pool in pools {
            let total: f64 = pool.members.iter().map(|backend| self.placed[*backend]).sum();
            for backend in &pool.members {
                self.placed[*backend] = total / pool.members.len() as f64;
            }
        }
    }

    /// The shares and loads that follow; in a state where so many of each pool are `healthy`.
    pub(super) fn shares(
        &self,
        scenario: &Scenario,
        pools: &[ZonePool],
        healthy: Option<&[usize]>,
    ) -> Shares {
        let of_all = |part: f64| if self.connections > 0.0 { part / self.connections } else { 0.0 };
        let presence = |backend| f64::from(scenario.is_configured(backend));
        let fair = FairShares::new(scenario, presence, &Situation::new(scenario).led());
        let multiple = |members: &[BackendId]| {
            let placed: f64 = members.iter().map(|backend| self.placed[*backend]).sum();
            fair.multiple(members.iter().copied(), placed / self.connections)
                .filter(|_| self.connections > 0.0)
        };
        let shown = |index: usize| healthy.is_none_or(|healthy| healthy[index] > 0);
        let one = |(index, pool): (usize, &ZonePool)| multiple(&pool.members[..1]).filter(|_| shown(index));
        let zones = zones_and_roles(pools);
        let every = pools.iter().flat_map(|pool| &pool.members);
        Shares {
            cross_zone: (self.zonal > 0.0).then(|| self.crossing / self.zonal),
            spilled: of_all(self.spilled),
            unhealthy: of_all(self.unhealthy),
            dead: of_all(self.dead),
            dropped: of_all(self.dropped),
            hottest: every.filter_map(|backend| multiple(&[*backend])).reduce(f64::max),
            hottest_zone: zones.iter().filter_map(|(.., members)| multiple(members)).reduce(f64::max),
            offered: zones.iter().filter_map(|(.., members)| self.offered(members)).reduce(f64::max),
            loads: pools.iter().enumerate().map(one).collect(),
            offered_loads: pools.iter().map(|pool| self.offered(&pool.members)).collect(),
        }
    }

    /// The offered load of `members` together.
    pub(super) fn offered(&self, members: &[BackendId]) -> Option<f64> {
        let work: f64 = members.iter().map(|backend| self.work[*backend]).sum();
        let capacity: Option<f64> = members.iter().map(|backend| self.capacity[*backend]).sum();
        capacity.filter(|capacity| *capacity > 0.0).map(|capacity| work / capacity)
    }
}

/// The members of each zone and role.
fn zones_and_roles(pools: &[ZonePool]) -> Vec<(ZoneId, Role, Vec<BackendId>)> {
    let mut places: Vec<(ZoneId, Role, Vec<BackendId>)> = Vec::new();
    for pool in pools {
        match places.last_mut() {
            Some((zone, role, members)) if (*zone, *role) == (pool.zone, pool.role) => {
                members.extend(&pool.members);
            }
            _ => places.push((pool.zone, pool.role, pool.members.clone())),
        }
    }
    places
}

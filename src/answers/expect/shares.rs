//! Shares of connections and multiples of load in one state of health, and their mean over states.

use super::{State, ZonePool};
use crate::ids::{SetId, ZoneId};
use crate::lb::backend::Role;
use crate::lb::policy::{Placement, PlacementOutcome};
use crate::lb::roster::Roster;
use crate::metrics::Metric;
use crate::sim::scenario::ClientGroup;

/// What follows from a state of health. Shares are of connections, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// Of the connections of clients in the region's zones: those that cross zones. Absent without such clients.
    pub cross_zone: Option<f64>,
    /// Those that left their zone because too few of its backends were eligible.
    pub spilled: f64,
    /// Those placed on a backend that is held unhealthy.
    pub unhealthy: f64,
    /// Those dropped.
    pub dropped: f64,
    /// Requests to the busiest backend over the mean of all of the serving role. Absent if nothing is served.
    pub hottest: Option<f64>,
    /// Of each pool the requests to one healthy backend, over the same mean; absent if it has none.
    pub loads: Vec<Option<f64>>,
}

impl Shares {
    /// The metrics of a run that say the same, each with what is expected of it.
    pub fn as_metrics(&self) -> [(&'static Metric, Option<f64>); 3] {
        const CROSS_ZONE: &Metric = Metric::named("cross_zone_connection_ratio");
        const SPILLED: &Metric = Metric::named("spilled_connection_ratio");
        const UNHEALTHY: &Metric = Metric::named("unhealthy_connection_ratio");
        [(CROSS_ZONE, self.cross_zone), (SPILLED, Some(self.spilled)), (UNHEALTHY, Some(self.unhealthy))]
    }
}

/// Sums over client groups.
#[derive(Default)]
pub(super) struct Sum<'a> {
    pools: &'a [ZonePool],
    healthy: &'a [usize],
    connections: f64,
    zonal: f64,
    crossing: f64,
    spilled: f64,
    unhealthy: f64,
    dropped: f64,
    requests: f64,
    role: Option<Role>,
    /// Requests a second to one healthy and to one unhealthy backend of each pool.
    loads: Vec<(f64, f64)>,
}

impl<'a> Sum<'a> {
    pub(super) fn new(pools: &'a [ZonePool], healthy: &'a [usize]) -> Self {
        Self { pools, healthy, loads: vec![(0.0, 0.0); pools.len()], ..Self::default() }
    }

    /// Adds the connections of `client`, which is in `zone`, if it is in one.
    pub(super) fn add(
        &mut self,
        client: &ClientGroup,
        zone: Option<ZoneId>,
        placement: &Placement,
        roster: &Roster,
    ) {
        // What has no rate, or never leaves its backend, is left out; the caveats say so.
        let Some(rate) = client.arrivals.mean_rate().filter(|_| client.own_backends.is_empty()) else {
            return;
        };
        self.connections += rate;
        self.zonal += if zone.is_some() { rate } else { 0.0 };
        let away = placement.outcome == PlacementOutcome::Spilled;
        self.spilled += if away { rate } else { 0.0 };
        let shares = placement.choice.shares();
        if shares.is_empty() {
            self.dropped += rate;
        }
        for (set, share) in shares {
            let requests = client.connection.requests.mean();
            self.add_to(roster, set, zone, (rate * share, requests));
            self.role = placement.serving;
        }
    }

    /// Adds connections at a rate, with so many requests each, that go to the members of `set`.
    fn add_to(&mut self, roster: &Roster, set: SetId, zone: Option<ZoneId>, (rate, requests): (f64, f64)) {
        let counts = self.counts(roster, set);
        let size = roster.size(set);
        if size == 0 {
            self.dropped += rate;
            return;
        }
        let requests = rate * requests;
        self.requests += requests;
        for (index, (healthy, unhealthy)) in counts.into_iter().enumerate() {
            let each = |count: usize| count as f64 / size as f64;
            self.unhealthy += rate * each(unhealthy);
            if zone.is_some_and(|zone| zone != self.pools[index].zone) {
                self.crossing += rate * each(healthy + unhealthy);
            }
            let load = requests / size as f64;
            self.loads[index].0 += if healthy > 0 { load } else { 0.0 };
            self.loads[index].1 += if unhealthy > 0 { load } else { 0.0 };
        }
    }

    /// How many healthy and unhealthy members `set` has in each pool.
    fn counts(&self, roster: &Roster, set: SetId) -> Vec<(usize, usize)> {
        let mut counts = vec![(0, 0); self.pools.len()];
        for member in roster.members(set).map(|id| roster.member(id)) {
            let of_pool = |pool: &ZonePool| pool.zone == member.zone && pool.role == member.role;
            let index = self.pools.iter().position(of_pool).expect("every backend is of a pool");
            let (healthy, unhealthy) = &mut counts[index];
            *(if member.healthy { healthy } else { unhealthy }) += 1;
        }
        counts
    }

    pub(super) fn finish(self) -> Shares {
        let of_all = |part: f64| if self.connections > 0.0 { part / self.connections } else { 0.0 };
        let serving = self.pools.iter().filter(|pool| Some(pool.role) == self.role);
        let count: usize = serving.map(|pool| pool.size).sum();
        let mean = (self.requests > 0.0 && count > 0).then(|| self.requests / count as f64);
        let busiest =
            self.loads.iter().map(|(healthy, unhealthy)| healthy.max(*unhealthy)).fold(0.0, f64::max);
        let load = |(load, healthy): (&(f64, f64), &usize)| (*healthy > 0).then_some(load.0 / mean?);
        Shares {
            cross_zone: (self.zonal > 0.0).then(|| self.crossing / self.zonal),
            spilled: of_all(self.spilled),
            unhealthy: of_all(self.unhealthy),
            dropped: of_all(self.dropped),
            hottest: mean.map(|mean| busiest / mean),
            loads: self.loads.iter().zip(self.healthy).map(load).collect(),
        }
    }
}

/// The mean over `states`. What is absent in some states is the mean over the others.
pub fn mean(states: &[State]) -> Shares {
    let of = |value: &dyn Fn(&Shares) -> Option<f64>| {
        let present = states.iter().filter_map(|state| Some((state.probability, value(&state.shares)?)));
        let (weight, sum) =
            present.fold((0.0, 0.0), |(all, sum), (weight, value)| (all + weight, sum + weight * value));
        (weight > 0.0).then(|| sum / weight)
    };
    let always = |value: fn(&Shares) -> f64| of(&|shares| Some(value(shares))).unwrap_or(0.0);
    let pools = states.first().map_or(0, |state| state.shares.loads.len());
    Shares {
        cross_zone: of(&|shares| shares.cross_zone),
        spilled: always(|shares| shares.spilled),
        unhealthy: always(|shares| shares.unhealthy),
        dropped: always(|shares| shares.dropped),
        hottest: of(&|shares| shares.hottest),
        loads: (0..pools).map(|pool| of(&|shares| shares.loads[pool])).collect(),
    }
}

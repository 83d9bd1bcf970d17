//! What the rules alone say of a scenario, without simulating: shares of connections by state of health, and their mean.
//!
//! A state is the number of healthy backends of each zone and role: which of them are healthy does not matter to shares.
//! In each state the policy, which the engine asks too, gives every client group its backends, among which hashing spreads
//! connections evenly. Backends fail independently of each other, so that the numbers are sums of independent
//! up-or-down variables (binomial if all are alike), each up for mttf / (mttf + mttr) of the time. The time until a
//! failure is detected is left out. [`caveats()`] says what else does not hold.

mod caveats;
mod shares;

use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::lb::backend::{Member, Role};
use crate::lb::policy::PolicyState;
use crate::results::observed::QuestionError;
use crate::sim::scenario::{BackendSpec, FailureMode, Failures, Scenario};
use crate::time::SimTime;
pub use caveats::{Caveat, caveats};
pub use shares::{Shares, mean};

/// More states than anybody reads, and than are quickly computed.
pub const STATES_MAX: usize = 200_000;

/// The configured backends of one zone and role.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonePool {
    /// Their zone.
    pub zone: ZoneId,
    /// Their role.
    pub role: Role,
    /// How many they are.
    pub size: usize,
    /// The probability of each number of healthy ones, from 0 to `size`.
    pub probabilities: Vec<f64>,
}

/// One state of health.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The number of healthy backends of each pool.
    pub healthy: Vec<usize>,
    /// The long-run share of time in this state.
    pub probability: f64,
    /// What follows.
    pub shares: Shares,
}

/// What the rules say of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The pools, by zone and role.
    pub pools: Vec<ZonePool>,
    /// Every state, the first pool changing slowest, from all healthy to none.
    pub states: Vec<State>,
    /// The mean over states.
    pub mean: Shares,
}

/// What the rules say of `scenario` as it begins, if that has at most `most` states of health.
///
/// # Errors
/// If there are more.
pub fn expect(scenario: &Scenario, most: usize) -> Result<Expectation, QuestionError> {
    let pools = pools(scenario);
    let count = pools.iter().try_fold(1_usize, |count, pool| count.checked_mul(pool.size + 1));
    let Some(count) = count.filter(|count| *count <= most) else {
        return Err(QuestionError(format!(
            "there are more than {most} states of health (zones × roles × numbers of healthy backends); \
             try smaller groups"
        )));
    };
    let states: Vec<State> = (0..count).map(|number| state(scenario, &pools, number)).collect();
    let mean = mean(&states);
    Ok(Expectation { pools, states, mean })
}

/// The pools that are configured at the beginning.
fn pools(scenario: &Scenario) -> Vec<ZonePool> {
    let zones = (0..scenario.zones.len()).map(ZoneId::from_index);
    let places = zones.flat_map(|zone| [Role::Primary, Role::Failover].map(|role| (zone, role)));
    let pool = |(zone, role)| {
        let members: Vec<&BackendSpec> = scenario
            .backends
            .iter()
            .filter(|spec| spec.configured && spec.zone == zone && spec.role == role)
            .collect();
        let up = members.iter().map(|spec| availability(scenario, spec));
        (!members.is_empty()).then(|| ZonePool { zone, role, size: members.len(), probabilities: counts(up) })
    };
    places.filter_map(pool).collect()
}

/// The long-run share of time in which a backend is healthy: always if it is not checked, or no check sees its failures.
fn availability(scenario: &Scenario, spec: &BackendSpec) -> f64 {
    let seen = |failures: &&Failures| spec.checked && failures.mode != FailureMode::ServingOnly;
    let failures = scenario.groups[spec.group].server.failures.as_ref().filter(seen);
    failures.map_or(1.0, |failures| {
        let (up, down) = (failures.time_to_failure.mean(), failures.time_to_repair.mean());
        up / (up + down)
    })
}

/// The law of the number of successes of independent trials: binomial if all are alike.
fn counts(successes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut law = vec![1.0];
    for success in successes {
        law.push(0.0);
        for count in (0..law.len()).rev() {
            let one_more = if count > 0 { law[count - 1] * success } else { 0.0 };
            law[count] = law[count] * (1.0 - success) + one_more;
        }
    }
    law
}

/// The state with this number: 0 is all healthy.
fn state(scenario: &Scenario, pools: &[ZonePool], mut number: usize) -> State {
    let mut healthy = vec![0; pools.len()];
    for (index, pool) in pools.iter().enumerate().rev() {
        healthy[index] = pool.size - number % (pool.size + 1);
        number /= pool.size + 1;
    }
    let probability =
        pools.iter().zip(&healthy).map(|(pool, healthy)| pool.probabilities[*healthy]).product();
    let shares = shares(scenario, pools, &healthy);
    State { healthy, probability, shares }
}

fn shares(scenario: &Scenario, pools: &[ZonePool], healthy: &[usize]) -> Shares {
    let members = pools.iter().zip(healthy).flat_map(|(pool, healthy)| {
        (0..pool.size).map(move |index| Member {
            name: String::new(),
            zone: pool.zone,
            role: pool.role,
            configured: true,
            healthy: index < *healthy,
        })
    });
    let members: IdVec<BackendId, Member> = members.collect();
    let policy = &scenario.balancer.policy;
    let roster = policy.roster(scenario.zones.len(), members);
    let state = PolicyState { now: SimTime::ZERO, roster: &roster };
    let mut shares = shares::Sum::new(pools, healthy);
    for client in scenario.clients.iter() {
        let placement = policy.decide(state, client.origin);
        shares.add(client, scenario.places[client.place].zone, &placement, &roster);
    }
    shares.finish()
}

#[cfg(test)]
mod tests;

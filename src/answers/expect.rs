//! What the rules alone say of a scenario, without simulating: shares of connections and loads by state of health, and in
//! the long run.
//!
//! A state is the number of healthy backends of each pool: of backends of one zone and role that are alike, it does not
//! matter to shares which of them are healthy. States that health can't tell apart are one: a backend that no check judges
//! is always held healthy, and so is one whose failures its check does not see; what reaches it while it is dead is
//! counted all the same. In each state the policy, which the engine asks too, gives every client group its backends, among
//! which hashing spreads connections by weight. Backends fail independently of each other, so that the numbers are sums of
//! independent up-or-down variables (binomial if all are alike), each up for mttf / (mttf + mttr) of the time. The time
//! until a failure is detected is left out. [`caveats()`] says what else does not hold.

mod caveats;
mod phases;
mod rates;

use std::collections::BTreeMap;

use super::situation::Situation;
use crate::ids::{BackendId, ZoneId};
use crate::lb::backend::Role;
use crate::results::observed::QuestionError;
use crate::sim::scenario::{BalancerSpec, FailureMode, Failures, Scenario};
pub use caveats::{Caveat, caveats};
pub use phases::{FaultPhase, PhaseLoad, phases};
use rates::Rates;
pub use rates::Shares;

/// More states than anybody reads, and than are quickly computed.
pub const STATES_MAX: usize = 200_000;

/// Configured backends of one zone and role that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonePool {
    /// Their zone.
    pub zone: ZoneId,
    /// Their role.
    pub role: Role,
    /// Who they are.
    pub members: Vec<BackendId>,
    /// The probability of each number of members that are held healthy, from 0 to all.
    pub probabilities: Vec<f64>,
    /// Whether a check judges them, so that they can be held unhealthy.
    pub is_judged: bool,
    /// The probability that one that is held unhealthy, or healthy, serves.
    serves: [f64; 2],
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
    /// What follows in the long run.
    pub mean: Shares,
}

/// Numbers of healthy backends that are less probable are left out where there are too many states: all of them together are
/// less than rounding adds up to.
const NEGLIGIBLE: f64 = 1e-17;

/// What the rules say of `scenario` as it begins, if that has at most `most` states of health. Where it has more, those alone
/// count, and are listed, of which each pool has a number of healthy backends that is at all probable.
///
/// # Errors
/// If there are more of these too.
pub fn expect(scenario: &Scenario, most: usize) -> Result<Expectation, QuestionError> {
    expect_watched(scenario, most, |_| ())
}

/// The same; `watch` is told the share of states that are done, from 0 to 1, before each.
///
/// # Errors
/// As of [`expect`].
pub fn expect_watched(
    scenario: &Scenario,
    most: usize,
    mut watch: impl FnMut(f64),
) -> Result<Expectation, QuestionError> {
    let pools = pools(scenario);
    let all: Vec<Vec<usize>> = pools.iter().map(|pool| levels(pool, 0.0)).collect();
    let all = if count(&all).is_some_and(|count| count <= most) {
        all
    } else {
        pools.iter().map(|pool| levels(pool, NEGLIGIBLE)).collect()
    };
    let Some(count) = count(&all).filter(|count| *count <= most) else {
        return Err(QuestionError(format!(
            "there are more than {most} states of health (zones × roles × numbers of healthy backends); \
             try smaller groups"
        )));
    };
    let mut long_run = Rates::none(scenario);
    let mut states = Vec::with_capacity(count);
    for number in 0..count {
        watch(number as f64 / count as f64);
        let healthy = healthy_in(&all, number);
        let chances = pools.iter().zip(&healthy).map(|(pool, healthy)| pool.probabilities[*healthy]);
        let probability: f64 = chances.product();
        let rates = situation(scenario, &pools, &healthy).rates();
        long_run.add(&rates, probability);
        states.push(State { shares: rates.shares(scenario, &pools, Some(&healthy)), healthy, probability });
    }
    long_run.even_out(&pools);
    let mean = long_run.shares(scenario, &pools, None);
    Ok(Expectation { pools, states, mean })
}

impl Expectation {
    /// Whether states that are as good as impossible are not among [`states`](Self::states).
    pub fn has_left_out(&self) -> bool {
        let all: Vec<Vec<usize>> = self.pools.iter().map(|pool| levels(pool, 0.0)).collect();
        count(&all) != Some(self.states.len())
    }
}

/// The numbers of healthy backends of `pool` that are at least so probable, from all to none.
fn levels(pool: &ZonePool, least: f64) -> Vec<usize> {
    let all = pool.members.len();
    if pool.is_judged {
        (0..=all).rev().filter(|healthy| pool.probabilities[*healthy] >= least).collect()
    } else {
        vec![all]
    }
}

/// How many states there are of these numbers of each pool.
fn count(levels: &[Vec<usize>]) -> Option<usize> {
    levels.iter().try_fold(1_usize, |count, own| count.checked_mul(own.len()))
}

/// The pools that are configured at the beginning.
fn pools(scenario: &Scenario) -> Vec<ZonePool> {
    let mut pools: BTreeMap<(ZoneId, Role, usize), Vec<BackendId>> = BTreeMap::new();
    for (backend, spec) in scenario.backends.pairs() {
        if scenario.is_configured(backend) {
            let alike = scenario.backends.ids().position(|other| are_alike(scenario, backend, other));
            let role = scenario.role(backend);
            pools.entry((spec.zone, role, alike.unwrap_or_default())).or_default().push(backend);
        }
    }
    let pool = |((zone, role, _), members): ((ZoneId, Role, usize), Vec<BackendId>)| {
        let spec = &scenario.backends[members[0]];
        let failures = scenario.groups[spec.group].server.failures.as_ref();
        let unseen = failures.is_some_and(|failures| failures.mode == FailureMode::ServingOnly);
        let is_judged = scenario.is_judged(members[0]) && !unseen;
        let up = failures.map_or(1.0, availability);
        let held_healthy = if is_judged { up } else { 1.0 };
        let serves = match failures.map(|failures| failures.mode) {
            Some(FailureMode::UnhealthyOnly) => [1.0, 1.0],
            _ if is_judged => [0.0, 1.0],
            _ => [0.0, up],
        };
        let probabilities = counts(members.iter().map(|_| held_healthy));
        ZonePool { zone, role, members, probabilities, is_judged, serves }
    };
    pools.into_iter().map(pool).collect()
}

/// Whether two backends of one zone and role are interchangeable.
fn are_alike(scenario: &Scenario, one: BackendId, other: BackendId) -> bool {
    let [a, b] = [one, other].map(|backend| &scenario.groups[scenario.backends[backend].group]);
    let is_same_to = |balancer: &BalancerSpec| {
        let [one, other] = [one, other].map(|backend| balancer.members[backend]);
        (one.judge, one.configured) == (other.judge, other.configured)
            && (!balancer.settings.weighted || a.weight == b.weight)
    };
    a.server == b.server && scenario.balancers.iter().all(is_same_to)
}

/// The long-run share of time in which a backend has not failed.
fn availability(failures: &Failures) -> f64 {
    let (up, down) = (failures.time_to_failure.mean(), failures.time_to_repair.mean());
    up / (up + down)
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

/// How many are healthy of each pool in the state with this number: in 0 all are.
fn healthy_in(levels: &[Vec<usize>], mut number: usize) -> Vec<usize> {
    let mut healthy = vec![0; levels.len()];
    for (index, own) in levels.iter().enumerate().rev() {
        healthy[index] = own[number % own.len()];
        number /= own.len();
    }
    healthy
}

fn situation<'a>(scenario: &'a Scenario, pools: &[ZonePool], healthy: &[usize]) -> Situation<'a> {
    let mut situation = Situation::new(scenario);
    for (pool, healthy) in pools.iter().zip(healthy) {
        for (index, backend) in pool.members.iter().enumerate() {
            let is_healthy = index < *healthy;
            situation.set_health(*backend, is_healthy);
            situation.serves[*backend] = pool.serves[usize::from(is_healthy)];
        }
    }
    situation
}

#[cfg(test)]
mod tests;

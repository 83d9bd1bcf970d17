//! What of a scenario the expectation leaves out.

use crate::lb::weight::WeightState;
use crate::sim::scenario::{Failures, Scenario};
use crate::time::SimDuration;

/// A warm-up of fewer mean repair times than this still remembers that all backends began healthy.
const REPAIRS_TO_FORGET: f64 = 3.0;

/// Something that the expectation leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    /// What, in a sentence without a full stop.
    pub text: String,
    /// Whether a simulation's means are of something else, so that the two can't be compared.
    pub forbids_comparison: bool,
}

/// What the expectation leaves out of `scenario`.
pub fn caveats(scenario: &Scenario) -> Vec<Caveat> {
    let mut found = Vec::new();
    let mut add = |applies: bool, forbids_comparison: bool, text: String| {
        if applies {
            found.push(Caveat { text, forbids_comparison });
        }
    };
    let (faults, operations) = (scenario.faults.len(), scenario.operations.len());
    add(faults > 0, true, format!("the long-run mean is that without the {faults} scripted faults"));
    add(operations > 0, true, format!("states and mean are those before the {operations} operations"));
    let affinity = scenario.balancer.session_affinity;
    add(
        !affinity.is_five_tuple(),
        true,
        format!(
            "session affinity {} keeps a client's connections on one backend: shares hold over many client \
             addresses, and single backends get more or less",
            affinity.name()
        ),
    );
    add(has_weights(scenario), true, "weights are left out: all backends weigh the same here".to_owned());
    let failures: Vec<Failures> = scenario.groups.iter().filter_map(|group| group.server.failures).collect();
    add(
        !failures.is_empty(),
        false,
        "the time until a failure or a repair is detected is left out: health follows at once".to_owned(),
    );
    let repair = failures.iter().map(|failures| failures.time_to_repair.mean()).fold(0.0, f64::max);
    let repair = SimDuration::from_nanos(repair as u64).as_secs_f64();
    add(
        scenario.timing.warmup.as_secs_f64() < REPAIRS_TO_FORGET * repair,
        true,
        format!(
            "runs begin with all backends up, and the warm-up is shorter than {REPAIRS_TO_FORGET} mean times to repair: \
             the window sees fewer failures than the long run"
        ),
    );
    let retries = scenario.clients.iter().any(|client| client.retries > 0);
    add(
        retries && !failures.is_empty(),
        true,
        "retries are left out: they come when backends fail".to_owned(),
    );
    found
}

/// Whether some backend may weigh more than another.
fn has_weights(scenario: &Scenario) -> bool {
    let mut weights = scenario.groups.iter().map(|group| group.weight);
    let first = weights.next();
    scenario.balancer.weighted
        && (weights.any(|weight| Some(weight) != first) || matches!(first, Some(WeightState::Invalid)))
}

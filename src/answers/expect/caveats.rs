//! What of a scenario the expectation leaves out.

use crate::lb::weight::WeightState;
use crate::sim::scenario::{ClientGroup, Failures, Scenario};
use crate::time::SimDuration;
use crate::workload::ArrivalSpec;

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
    add_worlds(scenario, &mut add);
    let failures: Vec<&Failures> =
        scenario.groups.iter().filter_map(|group| group.server.failures.as_ref()).collect();
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

/// What a world has that no state of health knows of.
fn add_worlds(scenario: &Scenario, add: &mut impl FnMut(bool, bool, String)) {
    let autoscaled = scenario.groups.iter().any(|group| group.autoscaling.is_some());
    add(autoscaled, true, "groups that are autoscaled have their first size here".to_owned());
    let queued = scenario.health_check.through_queue;
    add(
        queued,
        true,
        "probes that wait in queues are left out: only failures make a backend unhealthy".to_owned(),
    );
    let traced = |client: &ClientGroup| matches!(client.arrivals, ArrivalSpec::Trace(_));
    add(scenario.clients.iter().any(traced), true, "traces count at their mean rate".to_owned());
    let unknown = |client: &ClientGroup| client.arrivals.mean_rate().is_none();
    add(
        scenario.clients.iter().any(unknown),
        true,
        "clients of a closed loop are left out: their rate depends on how long connections take".to_owned(),
    );
    let own = scenario.clients.iter().any(|client| !client.own_backends.is_empty());
    add(own, true, "clients that are backends are left out: they reach themselves".to_owned());
}

/// Whether some backend may weigh more than another.
fn has_weights(scenario: &Scenario) -> bool {
    let mut weights = scenario.groups.iter().map(|group| group.weight);
    let first = weights.next();
    scenario.balancer.weighted
        && (weights.any(|weight| Some(weight) != first) || matches!(first, Some(WeightState::Invalid)))
}

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
    let (faults, operations) = (scenario.faults.len(), scenario.operations.len());
    let affinity = scenario.balancer.session_affinity;
    let spread = format!(
        "session affinity {} keeps a client's connections on one backend: shares hold over many client addresses, and \
         single backends get more or less",
        affinity.name()
    );
    add(&mut found, faults > 0, &format!("the long-run mean is that without the {faults} scripted faults"));
    add(&mut found, operations > 0, &format!("states and mean are those before the {operations} operations"));
    add(&mut found, !affinity.is_five_tuple(), &spread);
    add(&mut found, has_weights(scenario), "weights are left out: all backends weigh the same here");
    add_worlds(scenario, &mut found);
    let failures: Vec<&Failures> =
        scenario.groups.iter().filter_map(|group| group.server.failures.as_ref()).collect();
    if !failures.is_empty() {
        let text = "the time until a failure or a repair is detected is left out: health follows at once";
        found.push(Caveat { text: text.to_owned(), forbids_comparison: false });
    }
    let repair = failures.iter().map(|failures| failures.time_to_repair.mean()).fold(0.0, f64::max);
    let repair = SimDuration::from_nanos(repair as u64).as_secs_f64();
    let short = format!(
        "runs begin with all backends up, and the warm-up is shorter than {REPAIRS_TO_FORGET} mean times to repair: \
         the window sees fewer failures than the long run"
    );
    add(&mut found, scenario.timing.warmup.as_secs_f64() < REPAIRS_TO_FORGET * repair, &short);
    let retries = scenario.clients.iter().any(|client| client.retries > 0) && !failures.is_empty();
    add(&mut found, retries, "retries are left out: they come when backends fail");
    found
}

/// Adds what keeps a simulation from being compared, if it `applies`.
fn add(found: &mut Vec<Caveat>, applies: bool, text: &str) {
    if applies {
        found.push(Caveat { text: text.to_owned(), forbids_comparison: true });
    }
}

/// Adds what a world has that no state of health knows of.
fn add_worlds(scenario: &Scenario, found: &mut Vec<Caveat>) {
    let has_client = |is_so: fn(&ClientGroup) -> bool| scenario.clients.iter().any(is_so);
    let autoscaled = scenario.groups.iter().any(|group| group.autoscaling.is_some());
    add(found, autoscaled, "groups that are autoscaled have their first size here");
    let queued = "probes that wait in queues are left out: only failures make a backend unhealthy";
    add(found, scenario.health_check.through_queue, queued);
    let traced = has_client(|client| matches!(client.arrivals, ArrivalSpec::Trace(_)));
    add(found, traced, "traces count at their mean rate");
    let closed = has_client(|client| client.arrivals.mean_rate().is_none());
    let unknown = "clients of a closed loop are left out: their rate depends on how long connections take";
    add(found, closed, unknown);
    let own = has_client(|client| !client.own_backends.is_empty());
    add(found, own, "clients that are backends are left out: they reach themselves");
}

/// Whether some backend may weigh more than another.
fn has_weights(scenario: &Scenario) -> bool {
    let mut weights = scenario.groups.iter().map(|group| group.weight);
    let first = weights.next();
    scenario.balancer.weighted
        && (weights.any(|weight| Some(weight) != first) || matches!(first, Some(WeightState::Invalid)))
}

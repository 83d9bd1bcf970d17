//! What of a scenario the expectation leaves out.

use crate::sim::scenario::{ClientGroup, Failures, InitialHealth, Scenario};
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
    let has_client = |is_so: fn(&ClientGroup) -> bool| scenario.clients.iter().any(is_so);
    let (faults, operations) = (scenario.faults.len(), scenario.operations.len());
    let affinity = scenario.first_balancer().settings.session_affinity;
    let spread = format!(
        "session affinity {} keeps a client's connections on one backend: shares hold over many client addresses, and \
         single backends get more or less",
        affinity.name()
    );
    let autoscaled = scenario.groups.iter().any(|group| group.autoscaling.is_some());
    let traced = has_client(|client| matches!(client.arrivals, ArrivalSpec::Trace(_)));
    let closed = has_client(|client| client.arrivals.mean_rate().is_none());
    let own = has_client(|client| !client.own_backends.is_empty());
    let failures: Vec<&Failures> =
        scenario.groups.iter().filter_map(|group| group.server.failures.as_ref()).collect();
    let detected = "the time until a failure or a repair is detected is left out: health follows at once";
    let repair = failures.iter().map(|failures| failures.time_to_repair.mean()).fold(0.0, f64::max);
    let repair = SimDuration::from_nanos(repair as u64).as_secs_f64();
    let short = format!(
        "runs begin with all backends up, and the warm-up is shorter than {REPAIRS_TO_FORGET} mean times to repair: \
         the window sees fewer failures than the long run"
    );
    let is_new = scenario.initial_health == InitialHealth::AllUp;
    let retries = has_client(|client| client.retries > 0) && !failures.is_empty();
    let answers = scenario.leads_answers();
    let all: [(bool, &str); 12] = [
        (faults > 0, &format!("the long-run mean is that without the {faults} scripted faults")),
        (operations > 0, &format!("states and mean are those before the {operations} operations")),
        (!affinity.is_five_tuple(), &spread),
        (autoscaled, "groups that are autoscaled have their first size here"),
        (
            scenario.first_check().through_queue,
            "probes that wait in queues are left out: only failures make a backend unhealthy",
        ),
        (traced, "traces count at their mean rate"),
        (closed, "clients of a closed loop are left out: their rate depends on how long connections take"),
        (own, "clients that are backends are left out: they reach themselves"),
        (answers, "answers that a next hop of their own drops are left out: every one is taken to come back"),
        (!failures.is_empty(), detected),
        (is_new && scenario.timing.warmup.as_secs_f64() < REPAIRS_TO_FORGET * repair, &short),
        (retries, "retries are left out: they come when backends fail"),
    ];
    let caveat = |text: &str| Caveat { text: text.to_owned(), forbids_comparison: text != detected };
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| caveat(text)).collect()
}

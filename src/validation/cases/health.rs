//! Backends that fail, and how long it takes until the load balancer knows.

use super::{OneZone, check, check_in, failed, group, mean, poisson};
use crate::lb::policy::PlacementOutcome;
use crate::sim::outcome::{FailureCause, Outcome};
use crate::validation::law::DurationLaw;
use crate::validation::theory::{self, Checking};
use crate::validation::{Case, Part};

const INSTANT: &str = "workers = \"unlimited\", service_time = { constant = \"1us\" }";

fn failures(up: &DurationLaw, down: &DurationLaw, mode: &str) -> String {
    format!(
        "failures = {{ time_to_failure = {}, time_to_repair = {}, mode = \"{mode}\" }}",
        up.toml, down.toml
    )
}

/// Shares of time, as Poisson arrivals see them.
pub(in super::super) fn availability() -> Vec<Case> {
    let even = (DurationLaw::exponential(100.0), DurationLaw::exponential(25.0));
    let skewed = (DurationLaw::weibull(80.0, 0.7), DurationLaw::lognormal(10.0, 1.2));
    let narrow = (DurationLaw::uniform(50.0, 150.0), DurationLaw::constant(25.0));
    let down = 1.0 - theory::availability(skewed.0.mean, skewed.1.mean);
    let unseen = theory::seen_unhealthy(100.0, 25.0, PROBING.0, PROBING.1, &theory::syn_times(PROBING.1));
    vec![
        refused(41, "One backend, exponential times up and down", &even),
        refused(42, "One backend, Weibull times up, lognormal times down", &skewed),
        refused(43, "One backend, uniform times up, constant times down", &narrow),
        spilled(44, "Spillover of four backends that refuse", &even, 0.2, "refuse"),
        spilled(45, "Spillover of four, Weibull times up, lognormal times down", &skewed, down, "refuse"),
        spilled(46, "Spillover of four backends that probes don't reach", &even, unseen, "unhealthy_only"),
    ]
}

/// A backend that is down refuses connections.
fn refused(seed: u32, name: &'static str, (up, down): &(DurationLaw, DurationLaw)) -> Case {
    let server = format!("{INSTANT}, {}", failures(up, down, "refuse"));
    let world = OneZone { warmup: 2000, duration: 60_000, ..OneZone::new(seed, poisson(0.5), server) };
    let exact = 1.0 - theory::availability(up.mean, down.mean);
    world.case(
        name,
        "alternating renewal, PASTA; Ross, 3.4",
        vec![check("share of refused connections", exact, 0.07, failed(FailureCause::Refused))],
    )
}

/// Seconds between probes, and until their timeout, where one result decides.
const PROBING: (f64, f64) = (5.0, 3.0);

/// A connection spills when fewer backends of its zone are healthy than the ratio asks for, where each is unhealthy a share
/// `unhealthy` of the time by itself. That of backends that refuse is the share of time that they are down, however long
/// ago the last probe was.
fn spilled(
    seed: u32,
    name: &'static str,
    (up, down): &(DurationLaw, DurationLaw),
    unhealthy: f64,
    mode: &str,
) -> Case {
    let own = format!("server = {{ {INSTANT}, {} }}", failures(up, down, mode));
    let backends = format!(
        "{{ group = \"ga\", zone = \"a\", size = 4, {own} }}, {{ group = \"gb\", zone = \"b\", size = 1 }}"
    );
    let world = OneZone {
        warmup: 1000,
        duration: 60_000,
        backends,
        check: format!(
            "check_interval = \"{}s\", timeout = \"{}s\", healthy_threshold = 1, unhealthy_threshold = 1",
            PROBING.0, PROBING.1
        ),
        more: "[[arms]]\nname = \"spill\"\n\
               set = { \"backend_service.zonal_affinity.spillover\" = \"SPILL_CROSS_ZONE\" }\n\
               sweep = { \"backend_service.zonal_affinity.spillover_ratio\" = [0.25, 0.5, 0.75, 1.0] }"
            .to_owned(),
        ..OneZone::new(seed, poisson(0.5), INSTANT.to_owned())
    };
    let share = |outcome: &Outcome| Part {
        part: outcome.decided(PlacementOutcome::Spilled) as f64,
        whole: outcome.started as f64,
    };
    let checks = (1..).zip([0.7, 0.22, 0.08, 0.035]).map(|(needed, bound)| {
        let quantity = format!("share spilled, {needed} of 4 needed");
        let exact = theory::fewer_up(needed as u32, 4, 1.0 - unhealthy);
        check_in(needed - 1, quantity, exact, bound, share)
    });
    let mut case = world.case(name, "binomial, PASTA", checks.collect());
    case.text = case.text.replace("zones = [\"a\"]", "zones = [\"a\", \"b\"]");
    case
}

/// How long it takes to learn of a change, and what that costs.
pub(in super::super) fn detection() -> Vec<Case> {
    use Change::{Recovery, Refusal, Revival, Silence};
    let checking = |interval: f64, timeout: f64, threshold: u32| Checking {
        interval,
        timeout,
        threshold,
        round_trip: 0.01,
        phase: 0.5,
    };
    let (fast, slow) = (checking(5.0, 5.0, 2), checking(10.0, 2.0, 3));
    let changes = [
        (fast, Silence),
        (fast, Refusal),
        (fast, Recovery),
        (slow, Silence),
        (slow, Refusal),
        (slow, Recovery),
        (fast, Revival),
        (slow, Revival),
    ];
    let alone =
        [51, 52, 53, 54, 55, 56, 47, 48].into_iter().zip(changes).map(|(seed, (checking, change))| {
            let name = match change {
                Silence => "Silent death",
                Refusal => "Refusal",
                Recovery => "Recovery from refusal",
                Revival => "Recovery from silence",
            };
            delay(seed, format!("{name}, {}", probes(checking)), checking, change)
        });
    let [first, last] = [0.25, 0.75].map(|phase| Checking { phase, ..fast });
    let several = [
        voted(57, "Silent death, any of three probers", "any", last, Silence),
        voted(58, "Recovery, any of three probers", "any", first, Recovery),
        voted(59, "Refusal, most of three probers", "majority", fast, Refusal),
    ];
    let windows = (61..).zip([checking(8.0, 8.0, 3), fast, checking(3.0, 3.0, 2)]);
    let lost = windows
        .flat_map(|(seed, checking)| [lost(seed, checking, Silence), lost(seed + 10, checking, Refusal)]);
    alone.chain(several).chain(lost).collect()
}

/// What happens to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Silence,
    Refusal,
    Recovery,
    Revival,
}

/// A health check in words.
fn probes(Checking { interval, timeout, threshold, .. }: Checking) -> String {
    let timeout = if timeout < interval { format!(" (timeout {timeout} s)") } else { String::new() };
    format!("probes of {interval} s{timeout} × {threshold}")
}

fn keys(checking: Checking, initial_state: &str) -> String {
    let Checking { interval, timeout, threshold, .. } = checking;
    format!(
        "check_interval = \"{interval}s\", timeout = \"{timeout}s\", healthy_threshold = {threshold}, \
         unhealthy_threshold = {threshold}, initial_state = \"{initial_state}\""
    )
}

/// The same with three probers, of which any that holds a backend healthy, or most, decide.
fn voted(seed: u32, name: &'static str, verdict: &str, checking: Checking, change: Change) -> Case {
    let mut case = delay(seed, name.to_owned(), checking, change);
    let probers = format!("health_check = {{ probers = {{ count = 3, verdict = \"{verdict}\" }}, ");
    case.text = case.text.replace("health_check = { ", &probers);
    case
}

/// From the change of 50 backends to when the load balancer knows, by how long it holds them unhealthy.
fn delay(seed: u32, name: String, checking: Checking, change: Change) -> Case {
    const AT: u32 = 100;
    const END: u32 = 200;
    let (initial_state, fault, exact) = match change {
        Change::Silence => ("HEALTHY", format!("at = \"{AT}s\"\nkind = \"silent\""), checking.silence()),
        Change::Refusal => ("HEALTHY", format!("at = \"{AT}s\"\nkind = \"refuse\""), checking.answer()),
        Change::Recovery => {
            ("UNHEALTHY", format!("at = \"0s\"\nduration = \"{AT}s\"\nkind = \"refuse\""), checking.answer())
        }
        Change::Revival => {
            ("UNHEALTHY", format!("at = \"0s\"\nduration = \"{AT}s\"\nkind = \"silent\""), checking.revival())
        }
    };
    let world = OneZone {
        warmup: 0,
        duration: END,
        backends: group(50),
        round_trip: DurationLaw::constant(checking.round_trip).toml,
        check: keys(checking, initial_state),
        more: format!("[[faults]]\ntarget = {{ group = \"ig\" }}\n{fault}"),
        ..OneZone::new(seed, poisson(1.0), INSTANT.to_owned())
    };
    let backend_delay = move |unhealthy_nanos: u64| {
        let unhealthy = unhealthy_nanos as f64 / 1e9;
        match change {
            Change::Recovery | Change::Revival => unhealthy - f64::from(AT),
            Change::Silence | Change::Refusal => f64::from(END - AT) - unhealthy,
        }
    };
    let delays = move |outcome: &Outcome| Part {
        part: outcome.backends.iter().map(|backend| backend_delay(backend.unhealthy_nanos)).sum(),
        whole: outcome.backends.len() as f64,
    };
    world.case(name, "HCK-10, random phase", vec![check("mean delay, s", exact, 0.04, delays)])
}

/// New connections that one of five backends loses before the load balancer knows that it is down. Clients send one SYN.
fn lost(seed: u32, checking: Checking, change: Change) -> Case {
    let (rate, backends) = (50.0, 5);
    let (what, kind, cause, window) = match change {
        Change::Silence => ("dies silently", "silent", FailureCause::ConnectTimeout, checking.silence()),
        _ => ("refuses", "refuse", FailureCause::Refused, checking.answer()),
    };
    // A SYN meets what comes to pass while it is under way, half a round trip.
    let window = window + checking.round_trip / 2.0;
    let world = OneZone {
        repetition: "replications = 200".to_owned(),
        warmup: 0,
        duration: 50,
        backends: group(backends),
        round_trip: DurationLaw::constant(checking.round_trip).toml,
        check: keys(checking, "HEALTHY"),
        client: "connect_timeout = \"900ms\"".to_owned(),
        more: format!("[[faults]]\nat = \"12s\"\ntarget = {{ backends = [\"ig-3\"] }}\nkind = \"{kind}\""),
        ..OneZone::new(seed, poisson(rate), INSTANT.to_owned())
    };
    let failed = move |outcome: &Outcome| mean(outcome.failed(cause) as f64);
    let checks = vec![check("lost connections", rate / f64::from(backends) * window, 0.08, failed)];
    world.case(format!("One of five {what}, {}", probes(checking)), "rate / N × window of HCK-10", checks)
}

//! Worlds that begin in their long run: nothing of the beginning is left to forget.

use super::{experiment, outcome, outcomes};
use crate::ids::{BackendId, Id};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::Renewals;
use crate::stats::{Estimate, Moments};

/// Times up and down of the mean lengths behind them, in minutes: all far longer than the ten minutes that are measured.
const LAWS: [(&str, &str); 10] = [
    ("{ exponential = { mean = \"4h\" } }", "{ exponential = { mean = \"2h\" } }"),
    ("{ exponential = { mean = \"30h\" } }", "{ exponential = { mean = \"90m\" } }"),
    ("{ weibull = { scale = \"3h\", shape = 0.7 } }", "{ lognormal = { median = \"1h\", sigma = 1.2 } }"),
    ("{ weibull = { scale = \"5h\", shape = 3.0 } }", "{ constant = \"2h\" }"),
    ("{ uniform = { low = \"1h\", high = \"9h\" } }", "{ uniform = { low = \"0s\", high = \"3h\" } }"),
    ("{ gamma = { mean = \"6h\", shape = 0.5 } }", "{ gamma = { mean = \"2h\", shape = 4.0 } }"),
    ("{ constant = \"3h\" }", "{ constant = \"1h\" }"),
    (
        "{ pareto = { scale = \"1h\", shape = 2.5 } }",
        "{ pareto = { scale = \"10m\", shape = 1.0, max = \"10h\" } }",
    ),
    ("{ lognormal = { median = \"2h\", sigma = 0.5 } }", "{ exponential = { mean = \"40m\" } }"),
    (
        "{ empirical = { points = [[\"1h\", 0.5], [\"6h\", 1.0]] } }",
        "{ empirical = { points = [[\"30m\", 0.0], [\"2h\", 1.0]] } }",
    ),
];

/// Ten minutes without a warm-up, with a seed. Machines fail by themselves, or zones by faults, at these times.
fn world(initial_health: &str, seed: usize, (up, down): (&str, &str), zones: bool) -> String {
    let replications = if zones { 250 } else { 30 };
    let (server, faults) = if zones {
        let fault = |zone: &str| {
            format!(
                "[[faults]]\ntarget = {{ zone = \"{zone}\" }}\nkind = \"unhealthy_only\"\n\
                 random = {{ time_between = {up}, duration = {down} }}\n"
            )
        };
        (String::new(), ["a", "b", "c"].map(fault).concat())
    } else {
        let failures =
            format!("{{ time_to_failure = {up}, time_to_repair = {down}, mode = \"unhealthy_only\" }}");
        (format!("failures = {failures}"), String::new())
    };
    let size = if zones { 1 } else { 10 };
    let groups =
        ["a", "b", "c"].map(|zone| format!("{{ group = \"g{zone}\", zone = \"{zone}\", size = {size} }}"));
    format!(
        r#"
        name = "stationary"
        [simulation]
        initial_health = "{initial_health}"
        seed = {seed}
        replications = {replications}
        warmup = "0s"
        duration = "10m"
        sample_interval = "10m"
        [region]
        name = "r"
        zones = ["a", "b", "c"]
        [backend_service]
        backends = [{}]
        [health_check]
        type = "HTTP"
        check_interval = "20s"
        healthy_threshold = 1
        unhealthy_threshold = 1
        [server]
        {server}
        [[clients]]
        name = "c"
        kind = "vm"
        zone = "a"
        arrivals = {{ poisson = {{ rate = 0.1 }} }}
        {faults}
        "#,
        groups.join(", ")
    )
}

/// The share of backend time in which a backend was held unhealthy, replication by replication, and that of the long run.
fn unhealthy(text: &str) -> (Moments, f64) {
    let experiment = experiment(text);
    let scenario = experiment.scenario(&experiment.cells()[0]);
    let long_run = scenario.renewals().next().map(Renewals::availability).expect("it fails at random");
    let share = |outcome: &Outcome| {
        let nanos: u64 = outcome.backends.iter().map(|backend| backend.unhealthy_nanos).sum();
        nanos as f64 / (600e9 * outcome.backends.len() as f64)
    };
    (outcomes(&experiment)[0].iter().map(share).collect(), 1.0 - long_run)
}

#[test]
fn twenty_worlds_are_unhealthy_as_long_as_in_the_long_run() {
    let mut deviations = Moments::default();
    for (number, law) in LAWS.into_iter().enumerate() {
        for zones in [false, true] {
            // Worlds of one seed would share their luck.
            let seed = 2 * number + usize::from(zones);
            let (shares, long_run) = unhealthy(&world("stationary", seed, law, zones));
            let estimate = Estimate::of_mean(&shares);
            let p = estimate.p_value(long_run).unwrap();
            assert!(p > 0.001, "{law:?}, zones {zones}: {} of {long_run}, p = {p}", estimate.value);
            deviations.add((estimate.value - long_run) / estimate.std_error().unwrap());
        }
    }
    // Together they lean to neither side.
    let p = Estimate::of_mean(&deviations).p_value(0.0).unwrap();
    assert!(deviations.count() == 20 && p > 0.01, "{}, p = {p}", deviations.mean());
    // All up at first, ten minutes see next to nothing of outages of hours.
    let (shares, long_run) = unhealthy(&world("all_up", 0, LAWS[0], false));
    assert!(shares.mean() < 0.3 * long_run, "{} of {long_run}", shares.mean());
}

#[test]
fn what_has_failed_before_the_beginning_is_known_and_serves_nobody() {
    // One of two backends is down from the beginning to the end, whichever it is.
    let text = |initial_health: &str| {
        format!(
            r#"
            name = "down"
            simulation = {{ initial_health = "{initial_health}", replications = 1, warmup = "0s", duration = "60s", sample_interval = "60s" }}
            region = {{ name = "r", zones = ["a"] }}
            server = {{ workers = "unlimited", service_time = {{ constant = "1ms" }} }}
            clients = [{{ name = "c", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 20.0 }} }}, connection = {{ requests = {{ constant = 1 }} }} }}]
            [backend_service]
            backends = [
                {{ group = "up", zone = "a", size = 1 }},
                {{ group = "down", zone = "a", size = 1, server = {{ failures = {{ time_to_failure = {{ constant = "1s" }}, time_to_repair = {{ constant = "1000h" }} }} }} }},
            ]
            "#
        )
    };
    let outcome = outcome(&text("stationary"));
    let [up, down] = [0, 1].map(|backend| &outcome.backends[BackendId::from_index(backend)]);
    assert_eq!((up.unhealthy_nanos, down.unhealthy_nanos), (0, 60_000_000_000));
    assert_eq!((down.traffic.connections, down.available_nanos), (0, 0));
    assert_eq!(outcome.total().failed_connections, 0);
    assert!(outcome.history.happenings.is_empty(), "nothing happens: {:?}", outcome.history.happenings);
    // Otherwise it fails after a second, and the check finds the other one healthy first.
    let outcome = super::outcome(&text("all_up"));
    assert!(outcome.total().failed_connections > 0 && !outcome.history.happenings.is_empty());
}

//! Worlds at the edge of sense: they may be slow or fail, but never run backwards, lose a connection, or mix two up.

use proptest::prelude::*;

use super::{experiment, outcome};
use crate::metrics::{MeasuredRun, Metric};
use crate::sim::outcome::{FailureCause, Outcome};

/// A world of two zones with round trips that may be longer than every timeout, and backends that fail all the time.
fn world(median: &str, sigma: f64, extra: &str) -> String {
    format!(
        r#"
        name = "extremes"
        simulation = {{ replications = 1, warmup = "5s", duration = "60s", sample_interval = "7s" }}
        region = {{ name = "r", zones = ["a", "b"] }}
        network = {{ same_zone_rtt = {{ lognormal = {{ median = "{median}", sigma = {sigma:?} }} }}, hybrid_rtt = {{ lognormal = {{ median = "{median}", sigma = {sigma:?} }} }} }}
        backend_service.backends = [{{ group = "ig", zones = ["a", "b"], size = 4 }}]
        health_check = {{ check_interval = "1s", timeout = "1s" }}
        [[clients]]
        name = "far"
        kind = "vpn"
        arrivals = {{ poisson = {{ rate = 20.0 }} }}
        connect_timeout = "9s"
        request_timeout = "4s"
        retries = 1
        [server]
        {extra}
        [server.failures]
        time_to_failure = {{ exponential = {{ mean = "5s" }} }}
        time_to_repair = {{ exponential = {{ mean = "3s" }} }}
        "#
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Time is asserted to run forward, and conservation to hold, in every run.
    #[test]
    fn round_trips_of_any_length_are_survived(
        median in prop::sample::select(vec!["0s", "1us", "1ms", "300ms", "1s", "2500ms", "10s", "100s"]),
        sigma in 0.0_f64..3.0,
        workers in prop::sample::select(vec!["workers = 1", "workers = \"unlimited\"", "workers = 3\nqueue_limit = 0"]),
        mode in prop::sample::select(vec!["silent", "refuse"]),
        seed in 0_u32..1000,
    ) {
        let law = if median == "0s" { "1ns" } else { median };
        let text = world(law, sigma, workers).replace("replications = 1", &format!("seed = {seed}, replications = 1"));
        let found = outcome(&format!("{text}mode = \"{mode}\"\n"));
        prop_assert!(found.started > 0);
    }
}

/// One address that opens more connections than it has ports, of which most are over: none is given a port in use.
#[test]
fn ports_in_use_are_never_given_again() {
    let text = |lifetime: &str| {
        format!(
            r#"
        name = "ports"
        simulation = {{ replications = 1, warmup = "0s", duration = "100s" }}
        region = {{ name = "r", zones = ["a"] }}
        server = {{ workers = "unlimited", service_time = {{ exponential = {{ mean = "{lifetime}" }} }} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 10 }}]
        health_check = {{ initial_state = "HEALTHY" }}
        faults = [{{ at = "60s", duration = "30s", target = {{ backends = ["ig-1"] }}, kind = "refuse" }}]
        [[clients]]
        name = "nat"
        kind = "vm"
        zone = "a"
        addresses = 1
        arrivals = {{ poisson = {{ rate = 800.0 }} }}
        connection = {{ requests = {{ constant = 1 }} }}
        request_timeout = "1h"
        "#
        )
    };
    // 80 000 connections on 28 232 ports, of which some 16 000 are open at a time.
    let found = outcome(&text("20s"));
    assert!(found.started > 75_000);
    assert_eq!(found.diverted_connections, 0);
    let reset = found.failed(FailureCause::Reset);
    // Only those that were in service on the failed backend, a tenth of 16 000.
    assert!((1200..2000).contains(&reset), "{reset} reset");
    assert_eq!(found.failed(FailureCause::NoPort), 0);
    // 60 000 would have to be open at a time: those that find no port fail.
    let crowded = outcome(&text("75s"));
    let no_port = crowded.failed(FailureCause::NoPort);
    assert!((10_000..20_000).contains(&no_port) && crowded.under_way_at_end <= 28_232, "{no_port}");
    assert_eq!((crowded.failed(FailureCause::NoBackend), crowded.nowhere.connections), (0, no_port));
}

fn metric(text: &str, name: &str) -> f64 {
    let experiment = experiment(text);
    let scenario = experiment.scenario(&experiment.cells()[0]);
    let outcome: Outcome = outcome(text);
    let latency = outcome.latency_overall();
    let run = MeasuredRun { scenario: &scenario, outcome: &outcome, latency: &latency };
    Metric::find(name).unwrap().value(&run).unwrap()
}

/// Idle failover backends do not count among those that can serve.
#[test]
fn loads_are_over_the_backends_that_can_serve() {
    let text = r#"
        name = "loads"
        simulation = { replications = 1, warmup = "10s", duration = "60s" }
        region = { name = "r", zones = ["a", "b"] }
        server = { workers = "unlimited", service_time = { constant = "1ms" } }
        backend_service.backends = [
            { group = "pa", zone = "a", size = 2 },
            { group = "pb", zone = "b", size = 2 },
            { group = "fa", zone = "a", size = 6, failover = true },
        ]
        backend_service.zonal_affinity = { spillover = "STAY_WITHIN_ZONE" }
        clients = [
            { name = "in-a", kind = "vm", zone = "a", arrivals = { deterministic = { rate = 75.0 } } },
            { name = "in-b", kind = "vm", zone = "b", arrivals = { deterministic = { rate = 25.0 } } },
        ]
    "#;
    // Zone a's two primaries take three quarters: 1.5 times the mean of the four.
    let load = metric(text, "zone_load_max_over_mean");
    assert!((load - 1.5).abs() < 0.05, "{load}");
    assert!(metric(text, "backend_load_max_over_mean") >= load);
}

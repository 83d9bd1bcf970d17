//! One small world for each kind of fault and server, with its summary as a snapshot.

use super::outcomes;
use crate::ids::{Id, LaneId, ZoneId};
use crate::lb::policy::PlacementOutcome;
use crate::metrics::{METRICS, MeasuredRun};

/// Three backends in each of two zones, 20 connections a second in each, with `tables` added.
fn world(tables: &str) -> String {
    format!(
        r#"
        name = "world"
        simulation = {{ replications = 1, warmup = "10s", duration = "2m", sample_interval = "30s" }}
        region = {{ name = "r", zones = ["a", "b"] }}
        clients = [
            {{ name = "ca", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 20.0 }} }}, request_timeout = "4s" }},
            {{ name = "cb", kind = "vm", zone = "b", arrivals = {{ poisson = {{ rate = 20.0 }} }}, request_timeout = "4s" }},
        ]
        {tables}
        [backend_service]
        backends = [{{ group = "ga", zone = "a", size = 3 }}, {{ group = "gb", zone = "b", size = 3 }}]
        zonal_affinity = {{ spillover = "SPILL_CROSS_ZONE", spillover_ratio = 0.5 }}
        "#
    )
}

const SERVER: &str = r#"server = { workers = 2, service_time = { exponential = { mean = "40ms" } } }"#;

/// What of the metrics is not 0 in a world with `tables`.
fn summary(tables: &str) -> String {
    let experiment = super::experiment(&world(tables));
    let outcome = &outcomes(&experiment)[0][0];
    let scenario = experiment.scenario(&experiment.cells()[0]);
    let latency = outcome.latency_overall();
    let run = MeasuredRun { scenario: &scenario, outcome, latency: &latency };
    let shown = ["failure_ratio", "request_p99_ms", "cross_zone_connection_ratio", "peak_utilization"];
    METRICS
        .iter()
        .filter(|metric| {
            let counts = metric.name.starts_with("failed_") || metric.name == "health_transitions";
            counts || shown.contains(&metric.name)
        })
        .filter_map(|metric| metric.value(&run).map(|value| (metric.name, value)))
        .filter(|(_, value)| *value != 0.0)
        .map(|(name, value)| format!(" {name} {value:.5}"))
        .collect()
}

#[test]
fn every_kind_of_fault() {
    let faults = [
        r#"kind = "silent""#,
        r#"kind = "refuse""#,
        r#"kind = "slow", factor = 4.0"#,
        r#"kind = "probe_block""#,
        r#"kind = "unhealthy_only""#,
        r#"kind = "serving_only""#,
        r#"kind = "silent", flapping = { period = "8s", active = "5s" }"#,
    ];
    let mut table = String::new();
    for fault in faults {
        let tables = format!(
            r#"{SERVER}
            faults = [{{ at = "30s", duration = "40s", target = {{ zone = "a", fraction = 0.67 }}, {fault} }}]"#
        );
        table += &format!("{fault}:{}\n", summary(&tables));
    }
    for fault in [
        r#"at = "30s", target = { group = "ga" }, kind = "rolling_restart""#,
        r#"at = "30s", target = { group = "ga" }, kind = "rolling_restart", grace = "12s", pause = "10s", restart = "5s""#,
        r#"target = { zone = "a" }, random = { time_between = { exponential = { mean = "20s" } }, duration = { exponential = { mean = "10s" } } }"#,
        r#"at = "30s", target = { link = ["a", "b"] }, kind = "link_loss", probability = 0.3"#,
        r#"at = "30s", target = { link = ["a", "a"] }, kind = "link_loss", probability = 0.1"#,
        r#"at = "30s", target = { link = ["a", "a"] }, kind = "link_delay", added_rtt = "20ms""#,
    ] {
        table += &format!("{fault}:{}\n", summary(&format!("{SERVER}\nfaults = [{{ {fault} }}]")));
    }
    let drains =
        r#"at = "30s", target = { group = "ga" }, kind = "rolling_restart", grace = "12s", restart = "5s""#;
    let tables = format!("{SERVER}\nhealth_check = {{ type = \"HTTP\" }}\nfaults = [{{ {drains} }}]");
    table += &format!("HTTP, {drains}:{}\n", summary(&tables));
    insta::assert_snapshot!(table);
}

#[test]
fn every_kind_of_server() {
    let mut table = String::new();
    let fault = r#"faults = [{ at = "30s", duration = "40s", target = { backends = ["ga-1", "ga-2"] } }]"#;
    for server in [
        r#"workers = 2"#,
        r#"workers = 2, discipline = "processor_sharing""#,
        r#"workers = 2, queue_limit = 4"#,
        r#"workers = 2, queue_limit = 4, discipline = "processor_sharing""#,
        r#"workers = "unlimited""#,
        r#"workers = 2, slow_start = { duration = "30s", factor = 5.0 }"#,
        r#"workers = 2, failures = { time_to_failure = { exponential = { mean = "1m" } }, time_to_repair = { exponential = { mean = "20s" } }, mode = "serving_only" }"#,
        r#"workers = 2, failures = { time_to_failure = { exponential = { mean = "1m" } }, time_to_repair = { exponential = { mean = "20s" } }, mode = "unhealthy_only" }"#,
    ] {
        for check in ["false", "true"] {
            let tables = format!(
                r#"server = {{ {server}, service_time = {{ exponential = {{ mean = "60ms" }} }} }}
                health_check = {{ check_interval = "2s", timeout = "1s", through_queue = {check} }}
                {fault}"#
            );
            table += &format!("{server}, through_queue {check}:{}\n", summary(&tables));
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_backend_that_calls_its_own_load_balancer_reaches_itself() {
    let text = world(SERVER).replacen(
        r#"clients = ["#,
        r#"faults = [
            { at = "0s", target = { backends = ["ga-1"] }, kind = "probe_block" },
            { at = "60s", target = { backends = ["ga-2"] }, kind = "refuse" },
            { at = "100s", target = { backends = ["ga-3"] }, kind = "silent" },
        ]
        clients = [{ name = "self", kind = "backend", group = "ga", arrivals = { deterministic = { rate = 6.0 } }, connection = { requests = { constant = 1 } } },"#,
        1,
    );
    let outcome = super::outcome(&text);
    let own = LaneId::from_index(0);
    let decided =
        PlacementOutcome::ALL.into_iter().zip(outcome.decisions[own]).filter(|(_, count)| *count > 0);
    let decided: Vec<_> = decided.collect();
    assert_eq!(decided.len(), 1);
    let (PlacementOutcome::OwnBackend, count) = decided[0] else {
        panic!("they reach themselves: {decided:?}")
    };
    // From 100 s on ga-3 is dead, and calls nobody.
    super::assert_binomial(6 * 120 - count, 6 * 30, 1.0 / 3.0, "calls that a dead machine did not make");
    let traffic = |zone: usize| outcome.traffic[own].zones[ZoneId::from_index(zone)];
    assert_eq!((traffic(0).connections, traffic(1).connections), (count, 0));
    // A third of them calls from ga-2, which answers nobody, itself included, for 70 of 120 seconds.
    super::assert_binomial(traffic(0).failed_connections, 6 * 70, 1.0 / 3.0, "refused by themselves");
}

#[test]
fn a_group_that_is_autoscaled_grows_with_its_load_and_shrinks_after_it() {
    // 40 requests of 40 ms each second keep 1.6 workers busy: at 40 % that takes two machines of two workers.
    let policy = r#"{ group = "ga", zone = "a", size = 3, autoscaling_policy = {
        min_num_replicas = 1, max_num_replicas = 9, cpu_utilization = { utilization_target = 0.4 },
        cool_down_period = "5s", boot_time = "10s", evaluation_interval = "5s", stabilization_period = "30s" } }"#;
    let text = world(SERVER)
        .replace(r#"{ group = "ga", zone = "a", size = 3 }, { group = "gb", zone = "b", size = 3 }"#, policy)
        .replace("duration = \"2m\"", "duration = \"4m\"")
        .replace(
            "[backend_service]",
            r#"faults = [{ at = "70s", duration = "60s", target = { group = "ga" }, kind = "slow", factor = 2.5 }]
            [backend_service]"#,
        );
    let outcome = super::outcome(&text);
    let healthy: Vec<f64> =
        outcome.timeline.zones.iter().map(|row| row[ZoneId::from_index(0)].healthy).collect();
    // Three requests a connection: 120 of 40 ms each second keep 4.8 workers busy, which at 40 % takes six machines; of
    // 100 ms each 15.
    let size = |sample: usize| healthy[sample];
    assert!((5.5..9.0).contains(&size(1)), "before: {healthy:?}");
    assert_eq!(size(3), 9.0, "at its most: {healthy:?}");
    assert!((5.5..9.0).contains(&size(7)), "after: {healthy:?}");
    assert!(outcome.backends.iter().all(|backend| backend.configured_nanos > 0), "all nine served");
}

#[test]
fn an_outage_of_a_second_loses_no_answer_for_good() {
    // The network is away for a second in ten, and a request takes half a second: an answer that is lost is sent again after
    // 0.2, 0.4 and 0.8 s, which is more than the outage, and less than the 4 s that clients wait.
    for workers in ["16", "\"unlimited\""] {
        let tables = format!(
            r#"server = {{ workers = {workers}, service_time = {{ constant = "500ms" }} }}
            faults = [{{
                at = "15s", target = {{ link = ["a", "a"] }}, kind = "link_loss", probability = 1.0,
                flapping = {{ period = "10s", active = "1s" }},
            }}]
            health_check = {{ initial_state = "HEALTHY", unhealthy_threshold = 10 }}"#
        );
        let outcome = super::outcome(&world(&tables).replace("rate = 20.0", "rate = 4.0"));
        assert_eq!(outcome.failures, [0; 7], "{workers} workers");
        let slowest = outcome.latency_overall().request.max().unwrap();
        assert!((900_000_000..2_500_000_000).contains(&slowest), "{workers} workers: {slowest} ns");
    }
}

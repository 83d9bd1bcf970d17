//! Random worlds, each put together from parts: whatever stands together in a file runs, loses no connection, and runs
//! the same again.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::{experiment, outcomes};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::Scenario;

const SERVICES: &[&str] = &[
    r#"zonal_affinity = { spillover = "SPILL_CROSS_ZONE", spillover_ratio = 0.5 }, allow_global_access = true"#,
    r#"zonal_affinity = { spillover = "STAY_WITHIN_ZONE" }, protocol = "UNSPECIFIED""#,
    r#"session_affinity = "CLIENT_IP", connection_tracking_policy = { tracking_mode = "PER_SESSION", idle_timeout = "700s" }, protocol = "UNSPECIFIED""#,
    r#"failover_policy = { failover_ratio = 0.7, drop_traffic_if_unhealthy = true, disable_connection_drain_on_failover = true }"#,
    r#"failover_policy = { failover_ratio = 0.3 }, connection_draining = { draining_timeout = "20s" }, connection_tracking_policy = { connection_persistence_on_unhealthy_backends = "ALWAYS_PERSIST" }"#,
    r#"connection_tracking_policy = { connection_persistence_on_unhealthy_backends = "NEVER_PERSIST" }, allow_global_access = true, protocol = "UNSPECIFIED""#,
    r#"load_balancing_scheme = "EXTERNAL", maglev_table_size = 251, session_affinity = "CLIENT_IP_PROTO""#,
];

const CHECKS: &[&str] = &[
    "",
    r#"check_interval = "2s", timeout = "1s", through_queue = true"#,
    r#"check_interval = "3s", probers = { count = 3, verdict = "majority" }, timeout = "3s", propagation_delay = "700ms""#,
    r#"type = "HTTP", check_interval = "2s", timeout = "2s""#,
    r#"type = "HTTP", initial_state = "HEALTHY", unhealthy_threshold = 1, through_queue = true, timeout = "5s""#,
];

const SERVERS: &[&str] = &[
    r#"workers = 2"#,
    r#"workers = "unlimited""#,
    r#"workers = 2, queue_limit = 3, discipline = "processor_sharing""#,
    r#"workers = 3, service_time = { lognormal = { median = "2s", sigma = 2.0 } }"#,
    r#"workers = 1, queue_limit = 0, slow_start = { duration = "10s", factor = 4.0 }"#,
    r#"workers = 3, failures = { time_to_failure = { exponential = { mean = "30s" } }, time_to_repair = { exponential = { mean = "10s" } }, mode = "serving_only" }"#,
    r#"workers = 2, discipline = "processor_sharing", failures = { time_to_failure = { weibull = { scale = "30s", shape = 2.0 } }, time_to_repair = { constant = "5s" }, mode = "refuse" }"#,
];

const CLIENTS: &[&str] = &[
    r#"{ name = "c1", kind = "vm", zone = "a", arrivals = { poisson = { rate = 15.0 } }, request_timeout = "3s" }"#,
    r#"{ name = "c2", kind = "vpn", arrivals = { mmpp = { rates = [1.0, 40.0], mean_dwell = "5s" } }, retries = 2, retry_backoff = { base = "300ms", jitter = 0.5 } }"#,
    r#"{ name = "c3", kind = "vm", region = "elsewhere", arrivals = { closed = { population = 20, think_time = { exponential = { mean = "1s" } } } }, addresses = 3 }"#,
    r#"{ name = "c4", kind = "vm", zone = "b", arrivals = { diurnal = { mean_rate = 10.0, peak_to_mean = 1.8, period = "40s" } }, max_age = "2s", connection = { requests = { geometric = { mean = 8.0 } }, think_time = { constant = "500ms" } } }"#,
    r#"{ name = "c5", kind = "backend", group = "ga", arrivals = { deterministic = { rate = 5.0 } } }"#,
    r#"{ name = "c7", kind = "vm", zone = "a", arrivals = { poisson = { rate = 0.5 } }, connection = { requests = { constant = 600 }, think_time = { constant = "20ms" } } }"#,
    r#"{ name = "c6", kind = "interconnect", arrivals = { poisson = { rate = 8.0 } }, connect_timeout = "800ms", retries = 1 }"#,
];

/// Only where the load balancer takes UDP.
const DATAGRAMS: &str = r#"{ name = "u", kind = "vm", zone = "b", protocol = "UDP", fragmented = 0.4, arrivals = { poisson = { rate = 10.0 } }, request_timeout = "2s" }"#;

const FAULTS: &[&str] = &[
    r#"{ at = "12s", duration = "10s", target = { zone = "a" } }"#,
    r#"{ at = "15s", duration = "20s", target = { group = "gb", fraction = 0.5 }, kind = "refuse" }"#,
    r#"{ at = "10s", target = { backends = ["ga-1", "gb-1"] }, kind = "slow", factor = 8.0 }"#,
    r#"{ at = "18s", duration = "9s", target = { group = "ga" }, kind = "probe_block", flapping = { period = "3s", active = "2s" } }"#,
    r#"{ at = "14s", duration = "9s", target = { group = "gb" }, kind = "serving_only" }"#,
    r#"{ at = "17s", duration = "9s", target = { zone = "b" }, kind = "unhealthy_only" }"#,
    r#"{ at = "11s", target = { link = ["a", "b"] }, kind = "link_loss", probability = 0.2 }"#,
    r#"{ at = "11s", target = { link = ["a", "a"] }, kind = "link_loss", probability = 0.2 }"#,
    r#"{ at = "16s", duration = "9s", target = { link = ["b", "b"] }, kind = "link_delay", added_rtt = "300ms" }"#,
    r#"{ at = "20s", target = { group = "gb" }, kind = "rolling_restart", batch = 2, grace = "2s", restart = "3s", pause = "1s" }"#,
    r#"{ target = { zone = "b" }, random = { time_between = { exponential = { mean = "15s" } }, duration = { exponential = { mean = "4s" } } } }"#,
];

const OPERATIONS: &[&str] = &[
    r#"{ at = "13s", do = "set_session_affinity", session_affinity = "CLIENT_IP" }"#,
    r#"{ at = "17s", do = "add_instances", group = "gb", count = 2 }"#,
    r#"{ at = "21s", do = "remove_instances", backends = ["gb-2"] }"#,
    r#"{ at = "25s", do = "set_backend_failover", group = "gb", failover = true }"#,
    r#"{ at = "31s", do = "set_backend_failover", group = "gb", failover = false }"#,
    r#"{ at = "28s", do = "drain", zone = "b" }"#,
];

#[derive(Debug)]
struct Parts {
    service: &'static str,
    check: &'static str,
    server: &'static str,
    clients: Vec<&'static str>,
    faults: Vec<&'static str>,
    operations: Vec<&'static str>,
    autoscaled: bool,
    seed: u32,
}

fn parts() -> impl Strategy<Value = Parts> {
    let clients = subsequence(CLIENTS, 1..=CLIENTS.len());
    let faults = subsequence(FAULTS, 0..=4);
    let operations = subsequence(OPERATIONS, 0..=3);
    let choices = (select(SERVICES), select(CHECKS), select(SERVERS), any::<bool>(), 0_u32..10_000);
    (choices, clients, faults, operations).prop_map(
        |((service, check, server, autoscaled, seed), clients, faults, operations)| Parts {
            service,
            check,
            server,
            clients,
            faults,
            operations,
            autoscaled: autoscaled && !server.contains("unlimited"),
            seed,
        },
    )
}

impl Parts {
    fn text(&self) -> String {
        let Self { service, check, server, seed, .. } = self;
        let law = r#", service_time = { gamma = { mean = "40ms", shape = 0.7 } }"#;
        let server = format!("{server}{}", if server.contains("service_time") { "" } else { law });
        let mut clients = self.clients.join(", ");
        if service.contains("UNSPECIFIED") {
            clients += &format!(", {DATAGRAMS}");
        }
        let rule = if service.contains("UNSPECIFIED") { "L3_DEFAULT" } else { "TCP" };
        let policy = if self.autoscaled {
            r#", autoscaling_policy = { min_num_replicas = 1, max_num_replicas = 6, boot_time = "1s", cool_down_period = "2s", evaluation_interval = "1s", stabilization_period = "0s" }"#
        } else {
            ""
        };
        format!(
            r#"
            name = "random"
            simulation = {{ seed = {seed}, replications = 1, warmup = "9s", duration = "1m", sample_interval = "7s" }}
            region = {{ name = "r", zones = ["a", "b"] }}
            server = {{ {server} }}
            health_check = {{ {check} }}
            clients = [{clients}]
            faults = [{}]
            operations = [{}]
            forwarding_rule = {{ ip_protocol = "{rule}" }}
            backend_service = {{ {service}, backends = [
                {{ group = "ga", zone = "a", size = 3{policy} }},
                {{ group = "gb", zone = "b", size = 3 }},
                {{ group = "gc", zones = ["a", "b"], size = 2, failover = true }},
            ] }}
            "#,
            self.faults.join(", "),
            self.operations.join(", ")
        )
    }
}

/// What holds in every run, beside the conservation that is asserted at the end of each.
fn assert_sound(scenario: &Scenario, outcome: &Outcome) {
    let window = scenario.timing.duration.as_nanos();
    for (id, backend) in outcome.backends.pairs() {
        assert!(backend.unhealthy_nanos <= backend.configured_nanos && backend.configured_nanos <= window);
        for share in [backend.utilization(), backend.peak_utilization].into_iter().flatten() {
            assert!((0.0..=1.0 + 1e-9).contains(&share), "{id:?} is busy {share}");
        }
        assert!(backend.mean_queue_length.is_none_or(|length| length >= 0.0));
        assert!(backend.mean_wait.is_none_or(|wait| wait >= 0.0));
    }
    for row in &outcome.timeline.zones {
        for (zone, sample) in row.pairs() {
            let members = scenario.backends.iter().filter(|spec| spec.zone == zone).count() as f64;
            assert!((0.0..=members).contains(&sample.healthy), "{zone:?} has {} healthy", sample.healthy);
        }
    }
    assert_eq!(outcome.timeline.traffic.len(), scenario.timing.samples());
    assert!(outcome.conntrack_hits <= outcome.conntrack_lookups);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn run_soundly_and_the_same_again(parts in parts()) {
        let text = parts.text();
        let experiment = experiment(&text);
        let first = outcomes(&experiment);
        assert_sound(&experiment.scenario(&experiment.cells()[0]), &first[0][0]);
        prop_assert!(first == outcomes(&experiment), "another run differs: {text}");
    }
}

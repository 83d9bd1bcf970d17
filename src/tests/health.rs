//! Worked cases H1 to H7: probes that travel, and the moment at which the load balancer learns.
//!
//! The first probe starts at a fixed time; a round trip takes a millisecond. The moment of a change is read off the
//! time that the backend was held unhealthy in the measured window.

use super::outcome;
use crate::ids::{BackendId, Id};

/// Seconds that the backend was held unhealthy in the first 100 s, given its check and faults `(at, duration, kind)`.
fn unhealthy_seconds(check: &str, initial_state: &str, faults: &[(f64, f64, &str)]) -> f64 {
    let faults: String = faults
        .iter()
        .map(|(at, duration, kind)| {
            format!(
                "[[faults]]\nat = \"{at}s\"\nduration = \"{duration}s\"\ntarget = {{ group = \"ig\" }}\nkind = \"{kind}\"\n"
            )
        })
        .collect();
    let text = format!(
        r#"
        name = "health"
        simulation = {{ replications = 1, warmup = "0s", duration = "100s", sample_interval = "100s" }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
        health_check = {{ {check}, initial_state = "{initial_state}", probers = {{ phase = "0s" }} }}
        clients = [{{ name = "c", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 1.0 }} }} }}]
        {faults}"#
    );
    outcome(&text).backends[BackendId::from_index(0)].unhealthy_nanos as f64 / 1e9
}

const DEFAULTS: &str = r#"check_interval = "5s", timeout = "5s""#;

#[test]
fn h1_silent_death_is_known_after_two_timeouts() {
    // Dies at 12; the probes of 15 and 20 fail at 20 and 25.
    assert_eq!(unhealthy_seconds(DEFAULTS, "HEALTHY", &[(12.0, 1000.0, "silent")]), 100.0 - 25.0);
}

#[test]
fn h2_refusal_is_known_a_round_trip_after_the_second_probe() {
    assert_eq!(unhealthy_seconds(DEFAULTS, "HEALTHY", &[(12.0, 1000.0, "refuse")]), 100.0 - 20.001);
}

#[test]
fn h3_recovery_is_known_after_two_successes() {
    // Unhealthy at 20.001; back at 41, the probes of 45 and 50 succeed: healthy at 50.001.
    let unhealthy = unhealthy_seconds(DEFAULTS, "HEALTHY", &[(12.0, 29.0, "refuse")]);
    assert!((unhealthy - (50.001 - 20.001)).abs() < 1e-9, "{unhealthy}");
}

#[test]
fn h4_probes_that_alternate_change_nothing() {
    // Probes start at 0, 5, 10 …: those at 5, 15, 25 … fail.
    let faults: Vec<(f64, f64, &str)> = (0..10).map(|n| (3.0 + 10.0 * f64::from(n), 4.0, "refuse")).collect();
    assert_eq!(unhealthy_seconds(DEFAULTS, "HEALTHY", &faults), 0.0);
    assert_eq!(unhealthy_seconds(DEFAULTS, "UNHEALTHY", &faults), 100.0);
}

#[test]
fn h5_one_failure_is_enough_with_threshold_one() {
    let check = r#"check_interval = "1s", timeout = "1s", healthy_threshold = 1, unhealthy_threshold = 1"#;
    assert_eq!(unhealthy_seconds(check, "HEALTHY", &[(3.5, 1000.0, "silent")]), 100.0 - 5.0);
}

#[test]
fn h6_three_failures_of_ten_seconds() {
    let check = r#"check_interval = "10s", timeout = "5s", healthy_threshold = 2, unhealthy_threshold = 3"#;
    assert_eq!(unhealthy_seconds(check, "HEALTHY", &[(10.001, 1000.0, "silent")]), 100.0 - 45.0);
}

#[test]
fn h7_a_new_backend_needs_its_successes() {
    let check = r#"check_interval = "5s", timeout = "5s", healthy_threshold = 3"#;
    assert_eq!(unhealthy_seconds(check, "UNHEALTHY", &[]), 10.001);
}

#[test]
fn a_probe_in_flight_at_the_moment_of_death_fails() {
    // The probe of 5 is half way at 5.0005. Death at 5.0004 meets it, death at 5.0006 comes after its answer.
    let check = r#"check_interval = "5s", timeout = "1s", unhealthy_threshold = 1"#;
    assert_eq!(unhealthy_seconds(check, "HEALTHY", &[(5.0004, 1000.0, "silent")]), 100.0 - 6.0);
    assert_eq!(unhealthy_seconds(check, "HEALTHY", &[(5.0006, 1000.0, "silent")]), 100.0 - 11.0);
}

#[test]
fn propagation_delay_comes_on_top() {
    let check = r#"check_interval = "5s", timeout = "5s", propagation_delay = "2500ms""#;
    assert_eq!(unhealthy_seconds(check, "HEALTHY", &[(12.0, 1000.0, "silent")]), 100.0 - 27.5);
}

/// Unhealthy seconds with probes that send their SYN again, and with such that do not.
fn with_and_without_a_second_syn(check: &str, faults: &[(f64, f64, &str)]) -> [f64; 2] {
    ["", ", probe_retransmission = false"]
        .map(|key| unhealthy_seconds(&format!("{check}{key}"), "HEALTHY", faults))
}

#[test]
fn o24_a_probe_sends_its_syn_again_within_its_timeout() {
    // Silent from 12: the probes of 15 and 20 fail at 20 and 25. Back at 41.5: the probe of 40 has sent SYNs at 40 and 41,
    // and the third, of 43, is answered. Without, the probes of 45 and 50 are the first to succeed.
    let [with, without] = with_and_without_a_second_syn(DEFAULTS, &[(12.0, 29.5, "silent")]);
    assert!((with - (45.001 - 25.0)).abs() < 1e-9, "{with}");
    assert!((without - (50.001 - 25.0)).abs() < 1e-9, "{without}");
    // Back at 43.5, after the last SYN before the timeout: nothing is gained.
    let [with, without] = with_and_without_a_second_syn(DEFAULTS, &[(12.0, 31.5, "silent")]);
    assert!((with - (50.001 - 25.0)).abs() < 1e-9 && with == without, "{with} {without}");
}

#[test]
fn a_silence_between_two_syns_of_a_probe_is_not_noticed() {
    let check = r#"check_interval = "5s", timeout = "2s", unhealthy_threshold = 1, healthy_threshold = 1"#;
    // The probe of 15 meets silence, its SYN of 16 does not.
    let [with, without] = with_and_without_a_second_syn(check, &[(14.9, 0.5, "silent")]);
    assert!(with == 0.0 && (without - (20.001 - 17.0)).abs() < 1e-9, "{with} {without}");
    // A second SYN that meets a refusal ends the probe at once; one at the timeout is not sent.
    let [with, without] =
        with_and_without_a_second_syn(check, &[(14.9, 0.6, "silent"), (15.5, 3.0, "refuse")]);
    assert!((with - (20.001 - 16.001)).abs() < 1e-9 && (without - (20.001 - 17.0)).abs() < 1e-9);
    let short = r#"check_interval = "5s", timeout = "1s", unhealthy_threshold = 1, healthy_threshold = 1"#;
    let [with, without] = with_and_without_a_second_syn(short, &[(14.9, 0.5, "silent")]);
    assert!(with == without && (with - (20.001 - 16.0)).abs() < 1e-9);
}

/// A fault of a server that goes on serving, with a check of this type.
fn unhealthy_seconds_of(r#type: &str, kind: &str) -> f64 {
    unhealthy_seconds(&format!("{DEFAULTS}, type = \"{type}\""), "HEALTHY", &[(12.0, 1000.0, kind)])
}

#[test]
fn hck_4_an_error_reply_fails_at_once_and_silence_after_the_timeout() {
    for reply in ["HTTP", "HTTPS", "HTTP2", "GRPC", "GRPC_WITH_TLS"] {
        assert_eq!(unhealthy_seconds_of(reply, "unhealthy_only"), 100.0 - 20.001, "{reply}");
        assert_eq!(unhealthy_seconds_of(reply, "probe_block"), 100.0 - 25.0, "a firewall answers nothing");
        assert_eq!(unhealthy_seconds_of(reply, "silent"), 100.0 - 25.0);
    }
    for handshake in ["TCP", "SSL"] {
        assert_eq!(unhealthy_seconds_of(handshake, "unhealthy_only"), 100.0 - 25.0, "{handshake}");
    }
}

/// Of 100 s, with a check of this type: the server drains from 12 to 32 and restarts until 50.
fn drains(r#type: &str, more: &str) -> f64 {
    let text = format!(
        r#"
        name = "drain"
        simulation = {{ replications = 1, warmup = "0s", duration = "100s", sample_interval = "100s" }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        server = {{ workers = 1, service_time = {{ constant = "2ms" }} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
        health_check = {{ {DEFAULTS}, type = "{type}", initial_state = "HEALTHY", probers = {{ phase = "0s" }}{more} }}
        clients = [{{ name = "c", kind = "vm", zone = "a", arrivals = {{ deterministic = {{ rate = 0.11 }} }} }}]
        faults = [{{ at = "12s", target = {{ group = "ig" }}, kind = "rolling_restart", grace = "20s", restart = "18s" }}]
        "#
    );
    outcome(&text).backends[BackendId::from_index(0)].unhealthy_nanos as f64 / 1e9
}

#[test]
fn reg_7_a_draining_server_answers_a_check_that_asks_for_a_reply_with_an_error() {
    // The probes of 15 and 20 get the error; those of 50 and 55 succeed.
    assert_eq!(drains("HTTP", ""), 55.001 - 20.001);
    // In the queue of an idle server the answer takes as long as a request.
    assert_eq!(drains("HTTP", ", through_queue = true"), 55.003 - 20.003);
    // A handshake succeeds while the port is open: the probes of 35 and 40 are refused.
    assert_eq!(drains("TCP", ""), 55.001 - 40.001);
}

/// A target pool that gets its health check at 12, while its only instance is down or not; with the state before probes.
fn checked_late(initial_state: &str, faults: &str) -> f64 {
    let text = format!(
        r#"
        name = "late"
        simulation = {{ replications = 1, warmup = "0s", duration = "100s", sample_interval = "100s" }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        forwarding_rule = {{ target = "www" }}
        target_pools = [{{ name = "www", instances = [{{ name = "w", zone = "a", size = 1 }}] }}]
        health_check = {{ {DEFAULTS}, unhealthy_threshold = 3, initial_state = "{initial_state}", probers = {{ phase = "0s" }} }}
        clients = [{{ name = "c", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 1.0 }} }} }}]
        operations = [{{ at = "12s", do = "add_health_check" }}]
        {faults}"#
    );
    outcome(&text).backends[BackendId::from_index(0)].unhealthy_nanos as f64 / 1e9
}

#[test]
fn tpa_4_instances_without_a_check_are_healthy_until_a_new_one_finds_otherwise() {
    for initial_state in ["HEALTHY", "UNHEALTHY"] {
        assert_eq!(checked_late(initial_state, ""), 0.0);
        // The first probe is that of 12; the third that is refused, that of 22.
        let refuses = r#"faults = [{ at = "5s", target = { group = "w" }, kind = "refuse" }]"#;
        assert_eq!(checked_late(initial_state, refuses), 100.0 - 22.001);
    }
}

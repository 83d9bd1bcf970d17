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

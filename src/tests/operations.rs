//! An operation is one change: the states between its parts serve nobody.

use super::outcome;
use crate::ids::{Id, LaneId, ZoneId};
use crate::lb::policy::PlacementOutcome;
use crate::sim::outcome::{FailureCause, Traffic};

/// Four primaries in each of two groups, three failover backends, failover below three quarters, and `operation` at 60 s.
/// The backends `down` are down from 10 s on.
fn service(down: &str, operation: &str) -> String {
    format!(
        r#"
        name = "operation"
        simulation = {{ replications = 1, warmup = "0s", duration = "120s", sample_interval = "60s" }}
        region = {{ name = "r", zones = ["a", "b"] }}
        clients = [{{ name = "c", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 20.0 }} }} }}]
        faults = [{{ at = "10s", target = {{ backends = [{down}] }}, kind = "refuse" }}]
        operations = [{{ at = "60s", {operation} }}]
        health_check = {{ initial_state = "HEALTHY" }}
        [backend_service]
        failover_policy = {{ failover_ratio = 0.75, disable_connection_drain_on_failover = true }}
        backends = [
            {{ group = "ga", zone = "a", size = 4 }},
            {{ group = "gb", zone = "b", size = 4 }},
            {{ group = "spare", zone = "b", size = 3, failover = true }},
        ]
        "#
    )
}

#[test]
fn a_ratio_met_before_and_after_an_operation_is_met_throughout() {
    // Six of eight primaries are healthy, and after the operation four of four; one by one it would be five of seven.
    for operation in [
        r#"do = "set_backend_failover", group = "gb", failover = true"#,
        r#"do = "remove_instances", group = "gb""#,
        r#"do = "remove_instances", backends = ["gb-1", "gb-2", "gb-3", "gb-4"]"#,
        r#"do = "drain", zone = "b""#,
    ] {
        for down in [r#""gb-1", "gb-2""#, r#""gb-3", "gb-4""#, r#""gb-1", "gb-4""#] {
            let outcome = outcome(&service(down, operation));
            assert_eq!(outcome.failover_switches, 0, "{operation}, {down} down");
        }
    }
}

#[test]
fn a_change_of_role_breaks_no_connection_of_the_role_that_serves_on() {
    let resets = |operation| outcome(&service(r#""gb-1", "gb-2""#, operation)).failed(FailureCause::Reset);
    let without = resets(r#"do = "set_zonal_affinity", spillover = "DISABLED""#);
    assert_eq!(resets(r#"do = "set_backend_failover", group = "gb", failover = true"#), without);
}

#[test]
fn a_service_that_swaps_its_last_backends_drops_nothing() {
    let text = service(r#""gb-1""#, r#"do = "set_backend_failover", group = "spare", failover = false"#);
    let outcome = outcome(&text);
    assert_eq!(outcome.decided(PlacementOutcome::Dropped), 0);
    assert_eq!(outcome.failover_switches, 0);
}

#[test]
fn a_connection_that_a_drain_resets_was_one_of_the_drained_backend() {
    // Connections of two requests 20 s apart; the other zone's backends go at 60 s, and their connections' second requests
    // are carried to those that stay.
    let text = r#"
        name = "drained"
        simulation = { replications = 1, warmup = "0s", duration = "120s", sample_interval = "60s" }
        region = { name = "r", zones = ["a", "b"] }
        server = { workers = "unlimited", service_time = { constant = "1ms" } }
        health_check = { initial_state = "HEALTHY" }
        operations = [{ at = "60s", do = "drain", zone = "b" }]
        [backend_service]
        backends = [{ group = "ga", zone = "a", size = 2 }, { group = "gb", zone = "b", size = 2 }]
        [[clients]]
        name = "c"
        kind = "vm"
        zone = "a"
        arrivals = { poisson = { rate = 20.0 } }
        connection = { requests = { constant = 2 }, think_time = { constant = "20s" }, request_bytes = { constant = 1000 }, response_bytes = { constant = 0 } }
    "#;
    let outcome = outcome(text);
    let client = LaneId::from_index(0);
    let [a, b]: [Traffic; 2] = [0, 1].map(|zone| outcome.traffic[client].zones[ZoneId::from_index(zone)]);
    let resets = outcome.failed(FailureCause::Reset);
    assert!(resets > 120 && outcome.diverted_connections == resets, "{resets}");
    assert_eq!((a.failed_connections, b.failed_connections), (0, resets));
    // Half of those of the first minute, which all crossed, and none later.
    super::assert_binomial(
        b.connections,
        a.connections + b.connections,
        0.25,
        "connections of the drained zone",
    );
    // Each request's bytes are where it was carried: those that went astray in the zone that stays.
    assert_eq!(b.request_bytes, 1000 * b.requests);
    // Up to those that are under way when the window ends.
    assert!(a.request_bytes.abs_diff(1000 * (a.requests + resets)) <= 2000, "{a:?}");
}

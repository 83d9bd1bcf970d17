//! What TCP sends again, and where that leads.

use super::outcome;
use crate::sim::outcome::{FailureCause, Outcome};

/// Two backends, connections of two requests 9 s apart, `service` and `tables` added. The first probes set out at 0 s, and
/// nobody gives up before 100 s.
fn world(service: &str, tables: &str) -> Outcome {
    let text = format!(
        r#"
        name = "again"
        simulation = {{ replications = 1, warmup = "10s", duration = "2m", sample_interval = "30s" }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        server = {{ workers = "unlimited", service_time = {{ constant = "1us" }} }}
        health_check = {{ initial_state = "HEALTHY", probers = {{ phase = "0s" }} }}
        clients = [{{
            name = "c", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 20.0 }} }},
            connect_timeout = "100s", request_timeout = "100s",
            connection = {{ requests = {{ constant = 2 }}, think_time = {{ constant = "9s" }}, request_bytes = {{ constant = 1000 }} }},
        }}]
        {tables}
        [backend_service]
        backends = [{{ group = "g", zone = "a", size = 2 }}]
        {service}
        "#
    );
    outcome(&text)
}

const NEVER: &str =
    r#"connection_tracking_policy = { connection_persistence_on_unhealthy_backends = "NEVER_PERSIST" }"#;

#[test]
fn a_request_to_a_silent_backend_is_reset_once_the_backend_is_back() {
    // Nothing is noticed: the next copy finds a machine that does not know the connection.
    let outcome = world("", r#"faults = [{ at = "61s", duration = "3s", target = { backends = ["g-1"] } }]"#);
    let failed = |cause| outcome.failed(cause);
    assert!(failed(FailureCause::Reset) > 50, "{}", failed(FailureCause::Reset));
    assert_eq!((failed(FailureCause::RequestTimeout), outcome.diverted_connections), (0, 0));
}

#[test]
fn a_request_to_a_silent_backend_is_diverted_where_entries_do_not_persist() {
    let faults = r#"faults = [{ at = "61s", target = { backends = ["g-1"] } }]"#;
    let outcome = world(NEVER, faults);
    assert_eq!(outcome.failed(FailureCause::RequestTimeout), 0);
    assert!(outcome.failed(FailureCause::Reset) > 50);
    assert_eq!(outcome.failed(FailureCause::Reset), outcome.diverted_connections);
    // Where they persist, no copy ever reaches another one.
    let outcome = world("", faults);
    assert!(outcome.failed(FailureCause::RequestTimeout) > 50);
    assert_eq!((outcome.failed(FailureCause::Reset), outcome.diverted_connections), (0, 0));
}

#[test]
fn a_request_that_is_diverted_to_a_silent_backend_is_sent_again() {
    // The first is held unhealthy from 75 on, the second is silent from 74 to 82 and not held unhealthy before 85.
    let outcome = world(
        NEVER,
        r#"faults = [
            { at = "61s", target = { backends = ["g-1"] } },
            { at = "74s", duration = "8s", target = { backends = ["g-2"] } },
        ]"#,
    );
    assert_eq!(outcome.failed(FailureCause::RequestTimeout), 0);
    let (resets, diverted) = (outcome.failed(FailureCause::Reset), outcome.diverted_connections);
    assert!(diverted > 50 && diverted <= resets, "each counts once: {diverted} of {resets}");
}

#[test]
fn a_request_that_the_load_balancer_drops_is_sent_again() {
    // With zonal affinity on, the integration drops every packet. No connection is lost, and each request counts once.
    let outcome = world(
        r#"network_security_integration = "IN_BAND""#,
        r#"operations = [
            { at = "60s", do = "set_zonal_affinity", spillover = "STAY_WITHIN_ZONE" },
            { at = "70s", do = "set_zonal_affinity", spillover = "DISABLED" },
        ]"#,
    );
    let total = outcome.total();
    assert_eq!(total.failed_connections, 0);
    // Up to those that are under way when the window begins and ends.
    assert!(total.request_bytes.abs_diff(1000 * total.requests) <= 2000, "{total:?}");
}

#[test]
fn other_protocols_send_nothing_again() {
    let service = format!("protocol = \"UDP\"\n{NEVER}");
    let outcome =
        world(&service, r#"faults = [{ at = "61s", duration = "1s", target = { backends = ["g-1"] } }]"#);
    // The datagrams of that second, and no more, are lost.
    assert!(outcome.failed(FailureCause::RequestTimeout) > 5);
    assert_eq!(outcome.failed(FailureCause::Reset), 0);
}

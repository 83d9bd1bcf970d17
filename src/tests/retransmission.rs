//! What TCP sends again, and where that leads.

use super::outcome;
use crate::sim::outcome::{FailureCause, Outcome};

/// Two backends, connections of two requests 9 s apart, `service` and `tables` added. The first probes set out at 0 s, and
/// nobody gives up before 100 s.
fn world(service: &str, tables: &str) -> Outcome {
    world_of("", service, tables)
}

/// The same with more keys of its clients.
fn world_of(client: &str, service: &str, tables: &str) -> Outcome {
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
            connect_timeout = "100s", request_timeout = "100s",{client}
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

#[test]
fn syns_go_again_at_the_times_of_their_stack() {
    // Nobody answers from 60 s to 66 s, and the health check does not notice.
    let faults = r#"faults = [{ at = "60s", duration = "6s", target = { zone = "a" } }]"#;
    let longest = |key: &str| world_of(key, "", faults).latency_overall().connect.max().unwrap() as f64 / 1e9;
    for (key, seconds) in [
        ("", 7.0),
        (r#" syn_retransmission = "linux","#, 7.0),
        (r#" syn_retransmission = ["1s", "5s"],"#, 6.0),
    ] {
        let found = longest(key);
        assert!((seconds..seconds + 0.01).contains(&found), "{key}: {found}");
    }
    // SYNs of 62 s to 63 s are answered at once by the fourth of Linux, and by the fourth of the others after 7 s.
    let mean = |key: &str| world_of(key, "", faults).latency_overall().connect.sum();
    assert!(mean(r#" syn_retransmission = "linux","#) < 0.8 * mean(""));
    // One more SYN after 1 s, and then none: those of the first 5 s are never answered.
    let outcome = world_of(r#" syn_retransmission = ["1s"],"#, "", faults);
    let lost = outcome.failed(FailureCause::ConnectTimeout);
    assert!((60..140).contains(&lost), "{lost} of 5 s at 20 a second");
}

#[test]
fn an_idle_connection_of_a_killed_server_hears_of_it_at_once() {
    // Idle for 9 s each: of those that are at 69 s nobody is left to find out after 70 s, where a sample begins.
    let resets_after_70 = |kind: &str| {
        let fault = format!(
            r#"faults = [{{ at = "69s", duration = "500ms", target = {{ zone = "a" }}, kind = "{kind}" }}]"#
        );
        let outcome = world("", &fault);
        let failed = |sample: usize| -> u64 {
            outcome.timeline.traffic[sample]
                .iter()
                .flat_map(|row| row.zones.iter())
                .map(|sample| sample.failed)
                .sum()
        };
        assert!(outcome.failed(FailureCause::Reset) > 100, "{kind}");
        (failed(1), failed(2))
    };
    let (at_once, later) = resets_after_70("refuse");
    assert!(at_once > 150 && later == 0, "{at_once}, {later}");
    // A machine that is silent tells nobody: its clients find out when they send their next request.
    let (at_once, later) = resets_after_70("silent");
    assert!(at_once < 40 && later > 120, "{at_once}, {later}");
}

#[test]
fn a_fault_after_the_window_meets_what_is_open_still() {
    let at = |at: &str| {
        world("", &format!(r#"faults = [{{ at = "{at}", target = {{ zone = "a" }}, kind = "refuse" }}]"#))
    };
    // The window ends at 130 s, and the last connection 9 s later.
    let late = at("131s");
    let resets = late.failed(FailureCause::Reset);
    assert!((120..200).contains(&resets), "{resets} of those that began from 122 s to 130 s, 20 a second");
    assert_eq!(late.broken(FailureCause::Reset), 0, "nothing of it happens in the window");
    assert_eq!(at("140s").total().failed_connections, 0);
}

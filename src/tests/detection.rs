//! What late detection costs: the window of cases H1 and H2, seen in lost connections.

use super::{assert_binomial, outcome};
use crate::sim::outcome::FailureCause;

const RATE: u64 = 2000;
const BACKENDS: u64 = 5;

/// Failed connections where one of five backends fails at 12 s and clients send one SYN only.
fn lost(kind: &str, cause: FailureCause) -> u64 {
    let text = format!(
        r#"
        name = "detection"
        simulation = {{ replications = 1, warmup = "0s", duration = "60s" }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        server = {{ workers = "unlimited", service_time = {{ constant = "1ms" }} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = {BACKENDS} }}]
        health_check = {{ initial_state = "HEALTHY", probers = {{ phase = "0s" }} }}
        [[clients]]
        name = "web"
        kind = "vm"
        zone = "a"
        addresses = 1000
        arrivals = {{ deterministic = {{ rate = {RATE}.0 }} }}
        connection = {{ requests = {{ constant = 1 }} }}
        connect_timeout = "900ms"
        [[faults]]
        at = "12s"
        target = {{ backends = ["ig-3"] }}
        kind = "{kind}"
        "#
    );
    let outcome = outcome(&text);
    // Connections whose request was on its way or in service at 12 s are lost too, for another cause.
    outcome.failed(cause)
}

#[test]
fn silent_death_loses_thirteen_seconds_of_one_fifth() {
    // From 12 s to 25 s; a SYN travels half a millisecond.
    let window = RATE * 13;
    let found = lost("silent", FailureCause::ConnectTimeout);
    assert_binomial(found, window, 1.0 / BACKENDS as f64, "connect timeouts");
}

#[test]
fn refusal_loses_eight_seconds_of_one_fifth() {
    // From 12 s to 20.001 s.
    let window = RATE * 8;
    let found = lost("refuse", FailureCause::Refused);
    assert_binomial(found, window, 1.0 / BACKENDS as f64, "refused");
}

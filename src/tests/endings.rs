//! Worlds end: what can't change what is measured costs nothing, and what can't end is an error.

use super::outcome;
use crate::ids::{Id, ZoneId};
use crate::lb::policy::TrafficOrigin;
use crate::random::{Distribution, RunSeed};
use crate::sim::Simulation;
use crate::sim::builder::GroupMember;
use crate::sim::outcome::{FailureCause, Outcome};
use crate::sim::scenario::{Group, Scenario};
use crate::time::SimDuration;
use crate::workload::{ArrivalSpec, Rate};

/// Backends that are checked every second, of which a fault strikes some before the window ends, and clients that wait for
/// `timeout`, with more keys of theirs.
fn world(timeout: &str, client: &str, tables: &str) -> String {
    format!(
        r#"
        name = "endings"
        simulation = {{ replications = 1, warmup = "10s", duration = "1m" }}
        region = {{ name = "r", zones = ["a", "b"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        health_check = {{ check_interval = "1s", timeout = "1s", initial_state = "HEALTHY" }}
        backend_service.backends = [{{ group = "g", zones = ["a", "b"], size = 6 }}]
        {tables}
        [[clients]]
        name = "patient"
        kind = "vm"
        zone = "a"
        arrivals = {{ poisson = {{ rate = 50.0 }} }}
        connect_timeout = "{timeout}"
        request_timeout = "{timeout}"
        {client}
        "#
    )
}

/// What is the same however long clients wait.
fn measured(outcome: &Outcome) -> (u64, u64, [u64; FailureCause::ALL.len()]) {
    (outcome.started, outcome.completed, outcome.failures)
}

#[test]
fn a_timeout_of_a_year_costs_nothing() {
    let silent =
        r#"faults = [{ at = "50s", target = { zone = "a" } }, { at = "50s", target = { zone = "b" } }]"#;
    let busy = r#"server = { workers = "unlimited", service_time = { constant = "5s" } }"#;
    let failing = r#"
        [server]
        workers = "unlimited"
        service_time = { exponential = { mean = "2s" } }
        failures = { time_to_failure = { exponential = { mean = "20s" } }, time_to_repair = { exponential = { mean = "5s" } } }
    "#;
    let lossy =
        r#"faults = [{ at = "65s", kind = "link_loss", probability = 1.0, target = { link = ["a", "a"] } }]"#;
    let autoscaled = format!("{silent}\n{busy}");
    for (client, tables) in [
        // SYNs and requests that nobody answers any more.
        ("", silent),
        ("syn_retransmission = \"linux\"", silent),
        ("syn_retransmission = [\"1s\"]", silent),
        // Requests in work whose backends die, once and again and again.
        ("", &autoscaled),
        ("", failing),
        // Datagrams that are lost.
        ("protocol = \"UDP\"", silent),
        // Nothing arrives, and no answer either.
        ("", lossy),
        // They think, and find nobody when they go on.
        ("connection = { requests = { constant = 3 }, think_time = { constant = \"20s\" } }", silent),
    ] {
        let tables = if client.contains("UDP") {
            format!("{tables}\nbackend_service.protocol = \"UDP\"")
        } else {
            tables.to_owned()
        };
        let [hour, year] = ["1h", "8760h"].map(|timeout| outcome(&world(timeout, client, &tables)));
        assert!(year.started > year.completed, "{client} {tables}: some fail");
        assert_eq!(measured(&hour), measured(&year), "{client} {tables}");
        let events = (hour.events, year.events);
        assert!(events.1 < events.0 + events.0 / 10, "{client} {tables}: {events:?} events");
    }
}

#[test]
fn a_recorded_connection_that_stays_open_for_a_year_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let of = |duration: &str| {
        let trace =
            format!("t_s,client_id,request_bytes,response_bytes,duration_s\n20,c,100,100,{duration}\n");
        let file = folder.path().join("trace.csv");
        std::fs::write(&file, trace).unwrap();
        let arrivals = format!("{{ trace = {{ file = {file:?} }} }}");
        outcome(&world("1h", "", "").replace("{ poisson = { rate = 50.0 } }", &arrivals))
    };
    let [hour, year] = ["3600", "31536000"].map(of);
    assert_eq!((measured(&hour), hour.completed), (measured(&year), 1));
    assert_eq!(hour.events, year.events);
}

/// Experiments can't ask for it but by draws that nobody will see, programs can.
#[test]
fn a_connection_that_time_can_not_hold_is_an_error_with_its_client_group() {
    let year = SimDuration::from_secs(365 * 86_400);
    let mut region = Scenario::builder(["a"]);
    let zone = ZoneId::from_index(0);
    region.group(Group::named("g"), [GroupMember::in_zone(zone)]);
    region.health_check.check_interval = year;
    let once = ArrivalSpec::Deterministic { rate: Rate::try_from(0.01).unwrap() };
    let clients = region.clients("eternal", (TrafficOrigin::Zone(zone), ""), once);
    clients.connection.requests = Distribution::constant(9.0);
    clients.connection.think_time = Distribution::constant(year * 100);
    let scenario = region.build().unwrap();
    let error = Simulation::new(&scenario, RunSeed::new(1, 0)).run().unwrap_err().to_string();
    assert!(error.contains("client group \"eternal\"") && error.contains("292 years"), "{error}");
}

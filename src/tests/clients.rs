//! What clients do beside opening connections: they wait for each other, try again later, and part with old connections.

use super::outcome;
use crate::sim::outcome::{Outcome, TrafficSample};

/// A world of one zone and one backend, a round trip of 1 ms away.
fn world(simulation: &str, server: &str, clients: &str) -> String {
    format!(
        r#"
        name = "clients"
        simulation = {{ warmup = "0s", {simulation} }}
        region = {{ name = "r", zones = ["a"] }}
        network = {{ same_zone_rtt = {{ constant = "1ms" }} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
        health_check = {{ initial_state = "HEALTHY" }}
        server = {{ {server} }}
        [[clients]]
        name = "c"
        kind = "vm"
        zone = "a"
        {clients}"#
    )
}

fn one_run(duration: &str, server: &str, clients: &str) -> Outcome {
    let simulation = format!("replications = 1, duration = \"{duration}\", sample_interval = \"1s\"");
    outcome(&world(&simulation, server, clients))
}

#[test]
fn clients_of_a_closed_loop_wait_for_their_connection() {
    // Each thinks for 1 s and is served for 98 ms, two round trips away: it opens one connection every 1.1 s, the first
    // at 1 s. There are workers for all ten.
    let outcome = one_run(
        "110s",
        "service_time = { constant = \"98ms\" }, workers = 10",
        "arrivals = { closed = { population = 10, think_time = { constant = \"1s\" } } }\n\
         connection = { requests = { constant = 1 } }",
    );
    assert_eq!((outcome.opened, outcome.completed), (1000, 1000));
    assert_eq!(outcome.backends.iter().next().unwrap().peak_active, 10);
}

#[test]
fn a_failed_connection_does_not_end_a_closed_loop() {
    // Refused a round trip after it began, tried once more at once, and then the client thinks.
    let outcome = one_run(
        "100s",
        "service_time = { constant = \"98ms\" }",
        "retries = 1\narrivals = { closed = { population = 3, think_time = { constant = \"998ms\" } } }\n\
         [[faults]]\nat = \"0s\"\nduration = \"1000s\"\ntarget = { group = \"ig\" }\nkind = \"refuse\"",
    );
    assert_eq!((outcome.opened, outcome.completed), (3 * 2 * 100, 0));
}

#[test]
fn connections_and_thoughts_of_no_time_do_not_stop_the_clock() {
    let text = world(
        "replications = 1, duration = \"1us\", sample_interval = \"1us\"",
        "service_time = { constant = \"0s\" }, workers = \"unlimited\"",
        "arrivals = { closed = { population = 2, think_time = { constant = \"0s\" } } }\n\
         connection = { requests = { constant = 1 } }",
    );
    assert_eq!(outcome(&text.replace("constant = \"1ms\"", "constant = \"0s\"")).opened, 2000);
}

/// The seconds in which connections failed, of one that is refused at 100 s and tried three times more.
fn failures(backoff: &str) -> Vec<(usize, u64)> {
    let outcome = one_run(
        "199s",
        "workers = 1",
        &format!(
            "arrivals = {{ deterministic = {{ rate = 0.01 }} }}\nretries = 3\n{backoff}\n\
             [[faults]]\nat = \"0s\"\nduration = \"1000s\"\ntarget = {{ group = \"ig\" }}\nkind = \"refuse\""
        ),
    );
    by_second(&outcome, |sample| sample.failed)
        .into_iter()
        .enumerate()
        .filter(|(_, failed)| *failed > 0)
        .collect()
}

/// What `count` gives for each second of the timeline.
fn by_second(outcome: &Outcome, count: impl Fn(&TrafficSample) -> u64) -> Vec<u64> {
    let seconds = outcome.timeline.traffic.iter();
    seconds
        .map(|places| places.iter().flat_map(|row| row.pairs()).map(|(_, sample)| count(sample)).sum())
        .collect()
}

#[test]
fn retries_wait_as_the_back_off_says() {
    assert_eq!(failures(""), [(100, 4)], "at once");
    assert_eq!(failures("retry_backoff = { base = \"0s\" }"), [(100, 4)]);
    // Waits of 1, 2 and 4 s, each after the millisecond of a refusal.
    assert_eq!(failures("retry_backoff = { base = \"1s\" }"), [(100, 1), (101, 1), (103, 1), (107, 1)]);
    let capped = failures("retry_backoff = { base = \"3s\", factor = 10.0, max = \"5s\" }");
    assert_eq!(capped, [(100, 1), (103, 1), (108, 1), (113, 1)]);
    // The third try would begin after the end.
    let late = failures("retry_backoff = { base = \"30s\", factor = 3.0, max = \"1h\" }");
    assert_eq!(late, [(100, 1), (130, 1)]);
}

#[test]
fn jitter_spreads_retries() {
    let clients = "arrivals = { deterministic = { rate = 100 } }\nretries = 1\n\
                   retry_backoff = { base = \"10s\", jitter = 0.5 }\n\
                   [[faults]]\nat = \"0s\"\nduration = \"50ms\"\ntarget = { group = \"ig\" }\nkind = \"refuse\"";
    let outcome = one_run("20s", "workers = \"unlimited\"", clients);
    // Four of 1999 connections are refused, and each is tried once more 5 to 10 s later.
    assert_eq!((outcome.opened, outcome.completed), (1999 + 4, 1999));
    let seconds = by_second(&outcome, |sample| sample.connections);
    let again: Vec<usize> = (0..20).filter(|second| seconds[*second] > 100).collect();
    assert!(again.len() > 1 && again.iter().all(|second| (5..=10).contains(second)), "{again:?}");
}

#[test]
fn old_connections_are_replaced() {
    let session = |max_age: &str, think: &str, service: &str| {
        let outcome = one_run(
            "150s",
            &format!("service_time = {{ constant = \"{service}\" }}, workers = 1"),
            &format!(
                "arrivals = {{ deterministic = {{ rate = 0.01 }} }}\n{max_age}\n\
                 connection = {{ requests = {{ constant = 40 }}, think_time = {{ constant = \"{think}\" }} }}"
            ),
        );
        (outcome.opened, outcome.completed, outcome.total().requests)
    };
    assert_eq!(session("", "1s", "0s"), (1, 1, 40));
    assert_eq!(session("max_age = \"1h\"", "1s", "0s"), (1, 1, 40));
    // A request every 1.001 s: the eleventh is due after 10.011 s, and goes over the next connection, and so on.
    assert_eq!(session("max_age = \"10s\"", "1s", "0s"), (4, 4, 40));
    // Nobody thinks: the third response comes after 12.004 s, and a new connection begins at once. The fifth would begin
    // at 148.016 s if the requests went on, and it does. By the end of the window, at 150 s, twelve are answered.
    assert_eq!(session("max_age = \"10s\"", "0s", "4s"), (5, 5, 12));
    // One request each.
    assert_eq!(session("max_age = \"1ms\"", "1s", "0s"), (40, 40, 40));
}

#[test]
fn a_retry_of_a_new_connection_makes_the_rest_of_the_requests() {
    // The connection of 110.011 s meets a backend that is silent, and so does its first retry, 1 ms later.
    let outcome = one_run(
        "150s",
        "service_time = { constant = \"0s\" }, workers = 1",
        "arrivals = { deterministic = { rate = 0.01 } }\nmax_age = \"10s\"\nretries = 5\nconnect_timeout = \"1ms\"\n\
         connection = { requests = { constant = 20 }, think_time = { constant = \"1s\" } }\n\
         [[faults]]\nat = \"110s\"\nduration = \"13ms\"\ntarget = { group = \"ig\" }",
    );
    assert_eq!((outcome.opened, outcome.completed, outcome.total().requests), (4, 2, 20));
}

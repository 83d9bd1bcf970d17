//! What is counted when: connections that outlive the window, and what breaks of them.

use super::{OneZone, check, mean, poisson};
use crate::sim::outcome::Outcome;
use crate::validation::{Case, Part};

const SERVICE_S: f64 = 0.001;
const SERVER: &str = "workers = \"unlimited\", service_time = { constant = \"1ms\" }";

/// Requests of a long connection, one a second.
const REQUESTS: f64 = 300.0;
/// From the handshake to the last response.
const LIFE_S: f64 = (REQUESTS - 1.0) + REQUESTS * SERVICE_S;
/// Connections a second.
const RATE: f64 = 0.5;

pub(in super::super) fn accounts() -> Vec<Case> {
    vec![long_lived(), struck_once(), struck_often()]
}

fn world(seed: u32, rate: f64, requests: u32, server: String) -> OneZone {
    OneZone {
        warmup: 400,
        connection: format!(
            "requests = {{ constant = {requests} }}, think_time = {{ constant = \"1s\" }}, \
             response_bytes = {{ constant = 1000 }}"
        ),
        ..OneZone::new(seed, poisson(rate), server)
    }
}

fn open_hours(outcome: &Outcome) -> f64 {
    outcome.open_nanos as f64 / 3.6e12
}

/// Half of the connections that are open in the window began before it: all of them count while it lasts.
fn long_lived() -> Case {
    let world = world(111, RATE, REQUESTS as u32, SERVER.to_owned());
    let seconds = f64::from(world.duration);
    let bytes = move |outcome: &Outcome| mean(outcome.total().response_bytes as f64 / seconds);
    let open = move |outcome: &Outcome| mean(open_hours(outcome) * 3600.0 / seconds);
    let ended = move |outcome: &Outcome| mean(outcome.ended as f64 / seconds);
    world.case(
        "M/G/∞ with connections of five minutes",
        "Poisson openings, Little's law",
        vec![
            check("response bytes a second", RATE * REQUESTS * 1000.0, 0.06, bytes),
            check("mean open connections", RATE * LIFE_S, 0.06, open),
            check("connections that end, a second", RATE, 0.07, ended),
        ],
    )
}

/// All that are open when the backend refuses once break with their next request, and no other.
fn struck_once() -> Case {
    let base = world(112, RATE, REQUESTS as u32, SERVER.to_owned());
    let world = OneZone {
        more: "[[faults]]\nat = \"500s\"\nduration = \"1s\"\ntarget = { zone = \"a\" }\nkind = \"refuse\"\n"
            .to_owned(),
        ..base
    };
    world.case(
        "A backend that refuses once",
        "Poisson openings, residual lives: M/G/∞ at one moment",
        vec![check("open connections that break", RATE * LIFE_S, 0.08, |outcome| {
            mean(outcome.broken_open as f64)
        })],
    )
}

/// A backend that fails by itself breaks each connection at its rate of failures. One is open for half a second longer, on
/// average, until its next request learns of it.
fn struck_often() -> Case {
    let up_s = 100.0;
    let failures = "failures = { time_to_failure = { exponential = { mean = \"100s\" } }, \
                    time_to_repair = { constant = \"1s\" }, mode = \"refuse\" }";
    let base = world(113, 0.05, 10_000, format!("{SERVER}, {failures}"));
    let world = OneZone { warmup: 2000, duration: 60_000, ..base };
    let exact = 3600.0 / (up_s + (1.0 + SERVICE_S) / 2.0);
    world.case(
        "A backend that fails by itself",
        "constant hazard of open connections",
        vec![check("broken connections per connection-hour", exact, 0.06, |outcome| Part {
            part: outcome.broken_open as f64,
            whole: open_hours(outcome),
        })],
    )
}

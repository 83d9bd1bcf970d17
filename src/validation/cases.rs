//! The cases: queues, balancing and health, the network, what is counted when, what happened.
//!
//! Worlds have one zone and begin empty; the warm-up is many times as long as they take to forget that.

mod accounts;
mod health;
mod history;
mod network;
mod queues;

use super::{Case, Check, Part};
use crate::experiment::Overrides;
use crate::sim::outcome::{FailureCause, Outcome};

/// Every case, in the order of results.
pub fn all() -> Vec<Case> {
    groups().into_iter().flat_map(|(_, cases)| cases).collect()
}

pub(super) fn groups() -> [(&'static str, Vec<Case>); 7] {
    [
        ("queues", queues::queues()),
        ("sharing", queues::sharing()),
        ("availability", health::availability()),
        ("detection", health::detection()),
        ("network", network::network()),
        ("accounts", accounts::accounts()),
        ("history", history::history()),
    ]
}

/// A world of one zone with one client group, `web`, whose connections make one request unless told otherwise.
#[derive(Clone, Debug)]
pub(super) struct OneZone {
    pub(super) seed: u32,
    /// The key of `[simulation]` that says how many replications there are.
    pub(super) repetition: String,
    /// Seconds, as the duration.
    pub(super) warmup: u32,
    pub(super) duration: u32,
    pub(super) round_trip: String,
    pub(super) backends: String,
    /// Keys of `[health_check]`.
    pub(super) check: String,
    /// Keys of `[server]`.
    pub(super) server: String,
    pub(super) arrivals: String,
    /// Keys of the connection.
    pub(super) connection: String,
    /// More keys of the client group.
    pub(super) client: String,
    /// More tables.
    pub(super) more: String,
}

impl OneZone {
    /// One backend that is healthy all the time, 1 µs away, of 20 replications.
    pub(super) fn new(seed: u32, arrivals: String, server: String) -> Self {
        Self {
            seed,
            repetition: "replications = 20".to_owned(),
            warmup: 30,
            duration: 600,
            round_trip: "{ constant = \"1us\" }".to_owned(),
            backends: group(1),
            check: "check_interval = \"300s\", timeout = \"1s\", initial_state = \"HEALTHY\"".to_owned(),
            server,
            arrivals,
            connection: "requests = { constant = 1 }".to_owned(),
            client: "request_timeout = \"24h\"".to_owned(),
            more: String::new(),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self { seed, repetition, warmup, duration, round_trip, backends, .. } = self;
        let Self { check, server, arrivals, connection, client, more, .. } = self;
        format!(
            r#"
            name = "validation"
            region = {{ name = "r", zones = ["a"] }}
            network = {{ same_zone_rtt = {round_trip} }}
            server = {{ {server} }}
            health_check = {{ {check} }}
            [simulation]
            seed = {seed}
            {repetition}
            warmup = "{warmup}s"
            duration = "{duration}s"
            sample_interval = "{duration}s"
            [backend_service]
            backends = [{backends}]
            [[clients]]
            name = "web"
            kind = "vm"
            zone = "a"
            addresses = 1000
            arrivals = {arrivals}
            connection = {{ {connection} }}
            {client}
            {more}
            "#
        )
    }

    fn case(&self, name: impl Into<String>, source: &'static str, checks: Vec<Check>) -> Case {
        Case { name: name.into(), source, text: self.text(), overrides: Overrides::default(), checks }
    }
}

fn group(size: u32) -> String {
    format!("{{ group = \"ig\", zone = \"a\", size = {size} }}")
}

pub(super) fn poisson(rate: f64) -> String {
    format!("{{ poisson = {{ rate = {rate:?} }} }}")
}

/// A check of `theory` by what `measure` takes from the first cell, with intervals no wider than `bound` to each side.
fn check(quantity: &str, theory: f64, bound: f64, measure: impl Fn(&Outcome) -> Part + 'static) -> Check {
    check_in(0, quantity.to_owned(), theory, bound, measure)
}

/// The same for cell number `cell`.
fn check_in(
    cell: usize,
    quantity: String,
    theory: f64,
    bound: f64,
    measure: impl Fn(&Outcome) -> Part + 'static,
) -> Check {
    Check { quantity, theory, bound, measure: Box::new(move |outcomes| measure(&outcomes[cell])) }
}

fn mean(value: f64) -> Part {
    Part { part: value, whole: 1.0 }
}

/// Milliseconds that requests waited, over all backends.
fn wait(outcome: &Outcome) -> Part {
    let served = outcome.backends.iter().map(|backend| backend.traffic.connections as f64);
    let waits = outcome.backends.iter().map(|backend| backend.mean_wait.unwrap_or(0.0) / 1e6);
    Part { part: waits.zip(served.clone()).map(|(wait, count)| wait * count).sum(), whole: served.sum() }
}

fn queue(outcome: &Outcome) -> Part {
    let queues = outcome.backends.iter().map(|backend| backend.mean_queue_length);
    Part { part: queues.map(Option::unwrap_or_default).sum(), whole: outcome.backends.len() as f64 }
}

fn failed(cause: FailureCause) -> impl Fn(&Outcome) -> Part {
    move |outcome| Part { part: outcome.failed(cause) as f64, whole: outcome.started as f64 }
}

//! Waits, queues and losses.

use super::{OneZone, check, failed, group, mean, poisson, queue, wait};
use crate::ids::{BackendId, Id};
use crate::sim::outcome::{BackendOutcome, FailureCause, Outcome};
use crate::validation::law::DurationLaw;
use crate::validation::theory;
use crate::validation::{Case, Check, Part};

/// A mean service of 10 ms.
const SERVICE: f64 = 0.01;

fn server(workers: u32, law: &DurationLaw, more: &str) -> String {
    limited(workers, 1_000_000, law) + more
}

/// Checks of a mean wait of `seconds` at stations that each get `rate` requests a second; queues follow by Little's law.
fn waits(seconds: f64, rate: f64, bound: f64) -> Vec<Check> {
    vec![
        check("mean wait, ms", seconds * 1e3, bound, wait),
        check("mean queue length", seconds * rate, bound, queue),
    ]
}

pub(in super::super) fn queues() -> Vec<Case> {
    let exponential = DurationLaw::exponential(SERVICE);
    let mm1 = OneZone { duration: 1200, ..OneZone::new(11, poisson(70.0), server(1, &exponential, "")) };
    let even = "{ deterministic = { rate = 80.0 } }".to_owned();
    let dm1 = OneZone::new(19, even, server(1, &exponential, ""));
    vec![
        mm1.case("M/M/1", "Kleinrock I, 3.2", waits(theory::mmc_wait(1, 70.0, SERVICE), 70.0, 0.04)),
        four_workers(12, "M/M/4", "Kleinrock I, 3.5", ""),
        mmck(),
        erlang_loss(),
        pollaczek_khinchine(21, "M/G/1, lognormal service", 60.0, &DurationLaw::lognormal(0.006, 1.0), 0.12),
        dm1.case("D/M/1", "Kleinrock I, 6.4", waits(theory::dm1_wait(80.0, SERVICE), 80.0, 0.04)),
        pollaczek_khinchine(22, "M/D/1", 80.0, &DurationLaw::constant(SERVICE), 0.03),
        splitting(),
        closed(),
        infinite(),
        sessions(),
    ]
}

/// With exponential work and processor sharing as many requests are present as in M/M/c: they wait beyond their work.
fn four_workers(seed: u32, name: &'static str, source: &'static str, discipline: &str) -> Case {
    let rate = 320.0;
    let server = server(4, &DurationLaw::exponential(SERVICE), discipline);
    let world = OneZone { duration: 400, ..OneZone::new(seed, poisson(rate), server) };
    let mut checks = waits(theory::mmc_wait(4, rate, SERVICE), rate, 0.05);
    checks.push(busy(rate * SERVICE / 4.0));
    world.case(name, source, checks)
}

fn busy(share: f64) -> Check {
    check("share of busy workers", share, 0.01, |outcome| {
        let shares = outcome.backends.iter().map(|backend| backend.utilization().unwrap_or(0.0));
        Part { part: shares.sum(), whole: outcome.backends.len() as f64 }
    })
}

fn mmck() -> Case {
    let (rate, law) = (180.0, DurationLaw::exponential(SERVICE));
    let loss = theory::mmck_loss(2, 3, rate * SERVICE);
    let world = OneZone { duration: 300, ..OneZone::new(13, poisson(rate), limited(2, 3, &law)) };
    let checks = vec![lost(loss), busy(rate * SERVICE * (1.0 - loss) / 2.0)];
    world.case("M/M/2/5", "birth and death; Kleinrock I, 3.1", checks)
}

/// Without a queue, losses do not depend on the law of service.
fn erlang_loss() -> Case {
    let (rate, law) = (300.0, DurationLaw::lognormal(0.006, 1.0));
    let world = OneZone { duration: 150, ..OneZone::new(14, poisson(rate), limited(5, 0, &law)) };
    let checks = vec![lost(theory::erlang_b(5, rate * law.mean))];
    world.case("M/G/5/5, lognormal service", "Erlang B; Kleinrock I, 3.7", checks)
}

fn limited(workers: u32, queue: u32, law: &DurationLaw) -> String {
    format!("workers = {workers}, queue_limit = {queue}, service_time = {}", law.toml)
}

fn lost(share: f64) -> Check {
    check("share of lost requests", share, 0.03, failed(FailureCause::QueueFull))
}

fn pollaczek_khinchine(seed: u32, name: &'static str, rate: f64, law: &DurationLaw, bound: f64) -> Case {
    let world = OneZone::new(seed, poisson(rate), server(1, law, ""));
    let exact = theory::pollaczek_khinchine(rate, law);
    world.case(name, "Pollaczek–Khinchine; Kleinrock I, 5.6", waits(exact, rate, bound))
}

/// A Poisson process that consistent hashing splits into equal parts is as many independent ones.
fn splitting() -> Case {
    let (backends, rate) = (8_u32, 70.0);
    let arrivals = poisson(rate * f64::from(backends));
    let law = DurationLaw::exponential(SERVICE);
    let world = OneZone {
        duration: 100,
        backends: group(backends),
        ..OneZone::new(15, arrivals, server(1, &law, ""))
    };
    let mut checks = waits(theory::mmc_wait(1, rate, SERVICE), rate, 0.04);
    let first = |outcome: &Outcome| {
        let first = &outcome.backends[BackendId::from_index(0)];
        Part { part: first.traffic.connections as f64, whole: outcome.started as f64 }
    };
    checks.push(check("share of the first backend", 1.0 / f64::from(backends), 0.02, first));
    let source = "Poisson splitting; Ross, Stochastic Processes, 2.3";
    world.case("8 backends behind affinity NONE, each M/M/1", source, checks)
}

/// Clients that wait for their connection, and think, before they open the next.
fn closed() -> Case {
    let (clients, think) = (20, 0.2);
    let thinking = DurationLaw::exponential(think).toml;
    let arrivals = format!("{{ closed = {{ population = {clients}, think_time = {thinking} }} }}");
    let world = OneZone::new(16, arrivals, server(1, &DurationLaw::exponential(SERVICE), ""));
    let exact = theory::repair_throughput(clients, think, SERVICE);
    let seconds = f64::from(world.duration);
    let served = move |outcome: &Outcome| mean(outcome.completed as f64 / seconds);
    let checks = vec![check("requests a second", exact, 0.01, served)];
    world.case("20 clients in a closed loop, M/M/1//20", "machine repair model; Kleinrock I, 3.8", checks)
}

/// Seconds there and back where nobody waits.
const ROUND_TRIP: f64 = 0.05;

/// A world where nobody waits; a connection is open from the end of its handshake to its last response.
fn unlimited(seed: u32, rate: f64, law: &DurationLaw) -> OneZone {
    let server = format!("workers = \"unlimited\", service_time = {}", law.toml);
    let round_trip = DurationLaw::constant(ROUND_TRIP).toml;
    OneZone { warmup: 300, round_trip, ..OneZone::new(seed, poisson(rate), server) }
}

fn open(exact: f64, bound: f64) -> Vec<Check> {
    vec![check("mean number of open connections", exact, bound, |outcome| {
        let sample = outcome.timeline.traffic[0].iter().flat_map(|row| row.pairs());
        mean(sample.map(|(_, sample)| sample.active).sum())
    })]
}

const INFINITE: &str = "Ross, Stochastic Processes, 2.3";

fn infinite() -> Case {
    let (rate, law) = (40.0, DurationLaw::lognormal(2.0, 1.0));
    let checks = open(rate * (law.mean + ROUND_TRIP), 0.02);
    unlimited(17, rate, &law).case("M/G/∞, lognormal service", INFINITE, checks)
}

/// The same of connections with a random number of requests and thoughts between them.
fn sessions() -> Case {
    let (rate, requests) = (20.0, 3.0);
    let (serve, think) = (DurationLaw::exponential(0.1), DurationLaw::lognormal(2.0, 1.0));
    let connection =
        format!("requests = {{ geometric = {{ mean = {requests:?} }} }}, think_time = {}", think.toml);
    let world = OneZone { connection, ..unlimited(18, rate, &serve) };
    let life = requests * (ROUND_TRIP + serve.mean) + (requests - 1.0) * think.mean;
    world.case("M/G/∞, connections of several requests", INFINITE, open(rate * life, 0.03))
}

/// Processor sharing, and Little's law where both disciplines meet.
pub(in super::super) fn sharing() -> Vec<Case> {
    let (exponential, skewed) = (DurationLaw::exponential(SERVICE), DurationLaw::lognormal(0.006, 1.0));
    let heavy = DurationLaw::pareto(0.002, 1.5, 1.0);
    vec![
        shared(31, "M/M/1, processor sharing", 70.0, &exponential, 0.05),
        shared(32, "M/G/1, processor sharing, lognormal work", 60.0, &skewed, 0.05),
        shared(33, "M/G/1, processor sharing, Pareto work", 120.0, &heavy, 0.1),
        four_workers(34, "M/M/4, processor sharing", "birth and death; Kleinrock I, 3.5", SHARING),
        little(),
        little_amid_failures(36, "A station that fails, and clients that give up", ""),
        little_amid_failures(37, "A station that fails, processor sharing", SHARING),
    ]
}

const SHARING: &str = ", discipline = \"processor_sharing\"";

fn shared(seed: u32, name: &'static str, rate: f64, law: &DurationLaw, bound: f64) -> Case {
    let world = OneZone::new(seed, poisson(rate), server(1, law, SHARING));
    let exact = theory::sharing_wait(rate, law.mean);
    world.case(name, "insensitivity; Kleinrock II, 4.4", waits(exact, rate, bound))
}

/// Little's law at stations of both disciplines, which probes load too.
fn little() -> Case {
    const STATIONS: [(&str, u32, &str); 4] = [
        ("one worker", 1, ""),
        ("three workers", 3, ""),
        ("one worker, shared", 1, SHARING),
        ("three workers, shared", 3, SHARING),
    ];
    let stations = STATIONS.iter().zip(1..).map(|((_, workers, discipline), number)| {
        let law = DurationLaw::lognormal(0.006 * f64::from(*workers), 1.0);
        format!(
            "{{ group = \"g{number}\", zone = \"a\", size = 1, server = {{ {} }} }}",
            server(*workers, &law, discipline)
        )
    });
    let (interval, duration) = (1, 200);
    let world = OneZone {
        duration,
        backends: stations.collect::<Vec<_>>().join(", "),
        check: format!(
            "check_interval = \"{interval}s\", timeout = \"1s\", unhealthy_threshold = 10, through_queue = true, \
             initial_state = \"HEALTHY\""
        ),
        ..OneZone::new(35, poisson(4.0 * 65.0), String::new())
    };
    let probes = f64::from(duration / interval);
    let checks = STATIONS.iter().enumerate().map(|(station, (what, ..))| {
        check(&format!("{what}, L / λW"), 1.0, 0.005, move |outcome| {
            let backend = &outcome.backends[BackendId::from_index(station)];
            queue_over_wait(backend, f64::from(duration), backend.traffic.connections as f64 + probes)
        })
    });
    let checks = checks.collect();
    world.case("Four stations with probes in their queues", "Little 1961", checks)
}

/// The mean queue of a station over the mean wait of its `jobs` in so many seconds times their rate.
fn queue_over_wait(backend: &BackendOutcome, seconds: f64, jobs: f64) -> Part {
    Part {
        part: backend.mean_queue_length.unwrap_or(0.0) * seconds,
        whole: backend.mean_wait.unwrap_or(0.0) / 1e9 * jobs,
    }
}

/// Little's law where jobs are given up, or dropped by a failure; of the connections those count that are not refused.
fn little_amid_failures(seed: u32, name: &'static str, discipline: &str) -> Case {
    let law = DurationLaw::exponential(SERVICE);
    let failures = format!(
        "failures = {{ time_to_failure = {}, time_to_repair = {}, mode = \"refuse\" }}",
        DurationLaw::exponential(1.0).toml,
        DurationLaw::exponential(0.1).toml
    );
    let world = OneZone {
        client: "request_timeout = \"100ms\"".to_owned(),
        ..OneZone::new(seed, poisson(90.0), format!("{}, {failures}", server(1, &law, discipline)))
    };
    let seconds = f64::from(world.duration);
    let ratio = move |outcome: &Outcome| {
        let jobs = outcome.started - outcome.failed(FailureCause::Refused);
        queue_over_wait(&outcome.backends[BackendId::from_index(0)], seconds, jobs as f64)
    };
    world.case(name, "Little 1961", vec![check("L / λW", 1.0, 0.005, ratio)])
}

//! What the benchmarks share: the light workload, the bare loop it is compared with, and how they are timed.

#![allow(dead_code, reason = "no benchmark uses all of it")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use cpu_time::ProcessTime;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use zonesim::experiment::{Experiment, Overrides, Source};
use zonesim::random::{RunSeed, exponential};
use zonesim::sim::Simulation;
use zonesim::sim::outcome::Outcome;
use zonesim::stats::Histogram;

/// Whether `cargo test` only wants to see it work.
pub(crate) fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

/// How often each of several things is timed, in turn, so that a noisy machine slows all of them alike.
pub(crate) fn rounds() -> usize {
    if is_test() { 1 } else { 5 }
}

/// The experiment in `text`.
pub(crate) fn parse(text: String) -> Experiment {
    let source = Source { name: "benchmark".to_owned(), text };
    Experiment::parse(source, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Runs the first cell's first replication.
pub(crate) fn simulate(experiment: &Experiment) -> Outcome {
    let scenario = experiment.scenario(&experiment.cells()[0]);
    Simulation::new(&scenario, RunSeed::new(experiment.seed(), 0))
        .run()
        .expect("the workload has ports enough")
}

/// The light workload: the whole model with little to do but routing, tracking, health, delay and statistics.
///
/// Backends with unlimited workers in zones, a client group in each zone, one request a connection, so that active
/// connections = mean service time x rate. Spill at 0.5, checks every 60 s, samples of an hour. The warm-up fills the
/// world, and its connections count too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Light {
    pub(crate) active: u32,
    pub(crate) zones: u32,
    pub(crate) backends_per_zone: u32,
    pub(crate) addresses: u32,
    pub(crate) mean_service_s: u32,
    pub(crate) warmup_s: u32,
    /// Connections in the measured window.
    pub(crate) measured: u32,
    /// One backend or another changes its health this often.
    pub(crate) seconds_between_flips: Option<f64>,
}

impl Light {
    /// 3 zones of 10 backends, three groups of 1 000 addresses, service of 60 s; 15 minutes of warm-up, longer than
    /// tracking entries live.
    pub(crate) fn new(active: u32) -> Self {
        Self {
            active,
            zones: 3,
            backends_per_zone: 10,
            addresses: 1000,
            mean_service_s: 60,
            warmup_s: if is_test() { 0 } else { 900 },
            // At least as many as in the warm-up, in which tables grow.
            measured: if is_test() { 10_000 } else { active.saturating_mul(15).max(3_000_000) },
            seconds_between_flips: None,
        }
    }

    /// Connections a second.
    pub(crate) fn rate(self) -> f64 {
        f64::from(self.active) / f64::from(self.mean_service_s)
    }

    pub(crate) fn experiment(self) -> Experiment {
        parse(self.text())
    }

    /// The experiment file.
    pub(crate) fn text(self) -> String {
        let zones: Vec<String> = (0..self.zones).map(|zone| format!("z{zone}")).collect();
        let failures = self.seconds_between_flips.map_or(String::new(), |gap| {
            // Of n backends each fails and is repaired once in 2 n gaps.
            let cycle = 2.0 * gap * f64::from(self.zones * self.backends_per_zone);
            let law = |mean: f64| format!("{{ exponential = {{ mean = \"{mean:.3}s\" }} }}");
            let (up, down) = (law(cycle * 0.75), law(cycle * 0.25));
            format!(", failures = {{ time_to_failure = {up}, time_to_repair = {down}, mode = \"unhealthy_only\" }}")
        });
        let groups = zones.iter().map(|zone| {
            let size = self.backends_per_zone;
            format!("[[backend_service.backends]]\ngroup = \"ig-{zone}\"\nzone = \"{zone}\"\nsize = {size}\n")
        });
        let clients = zones.iter().map(|zone| {
            format!(
                "[[clients]]\nname = \"web-{zone}\"\nkind = \"vm\"\nzone = \"{zone}\"\naddresses = {}\n\
                 arrivals.poisson.rate = {:?}\nconnection.requests.constant = 1\nrequest_timeout = \"100h\"\n",
                self.addresses,
                self.rate() / f64::from(self.zones)
            )
        });
        format!(
            "name = \"light\"\nsemantics.unlimited_backends = true\n\
             simulation = {{ replications = 1, warmup = \"{}s\", duration = \"{}us\", sample_interval = \"1h\" }}\n\
             region = {{ name = \"r\", zones = {zones:?} }}\n\
             server = {{ workers = \"unlimited\", service_time = {{ exponential = {{ mean = \"{}s\" }} }}{failures} }}\n\
             health_check = {{ check_interval = \"60s\", timeout = \"5s\" }}\n\
             [backend_service]\n\
             zonal_affinity = {{ spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }}\n\
             {}{}",
            self.warmup_s,
            (f64::from(self.measured) / self.rate() * 1e6) as u64,
            self.mean_service_s,
            groups.collect::<String>(),
            clients.collect::<String>(),
        )
    }
}

/// The connection model alone, on the heap of the standard library: Poisson arrivals pick one of 30 servers, hold it an
/// exponential time, and a histogram is recorded. Two events a connection, in entries of 24 bytes; `active` at a time from
/// the beginning. Gives the number of connections.
pub(crate) fn bare_loop(active: u32, connections: u64) -> u64 {
    const SERVICE_NANOS: f64 = 60e9;
    const ARRIVAL: u32 = u32::MAX;
    let gap = SERVICE_NANOS / f64::from(active);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut heap: BinaryHeap<Reverse<(u64, u64, u32)>> = BinaryHeap::new();
    let mut sequence = 0;
    let mut busy = [0_u32; 30];
    let mut histogram = Histogram::default();
    let mut push = |heap: &mut BinaryHeap<_>, time: u64, what: u32| {
        sequence += 1;
        heap.push(Reverse((time, sequence, what)));
    };
    for number in 0..active {
        let server = number % 30;
        busy[server as usize] += 1;
        push(&mut heap, (exponential(&mut random) * SERVICE_NANOS) as u64, server);
    }
    push(&mut heap, 0, ARRIVAL);
    let mut opened = 0;
    while let Some(Reverse((now, _, what))) = heap.pop() {
        if what != ARRIVAL {
            busy[what as usize] -= 1;
            continue;
        }
        if opened == connections {
            break;
        }
        opened += 1;
        let server = ((u128::from(random.next_u64()) * 30) >> 64) as u32;
        let service = (exponential(&mut random) * SERVICE_NANOS) as u64;
        busy[server as usize] += 1;
        histogram.record(service);
        push(&mut heap, now + service, server);
        push(&mut heap, now + (exponential(&mut random) * gap) as u64, ARRIVAL);
    }
    assert_eq!(histogram.count(), opened);
    opened
}

/// Something that is timed: it gives the number of things that it did.
pub(crate) type Timed<'a> = Box<dyn Fn() -> u64 + 'a>;

/// Times each of `all` in turn, round after round; gives the median of the things a second of each, in order.
///
/// Seconds are those of the processor, so that what else runs on the machine matters less.
pub(crate) fn rates(all: &[Timed<'_>]) -> Vec<f64> {
    rates_by(all, || {
        let start = ProcessTime::now();
        Box::new(move || start.elapsed())
    })
}

/// The same by another clock: `start` starts it, and what that gives tells the time since then.
pub(crate) fn rates_by(all: &[Timed<'_>], start: impl Fn() -> Box<dyn Fn() -> Duration>) -> Vec<f64> {
    let mut found = vec![Vec::new(); all.len()];
    for _ in 0..rounds() {
        for (timed, rates) in all.iter().zip(&mut found) {
            let elapsed = start();
            let count = timed();
            rates.push(count as f64 / elapsed().as_secs_f64());
        }
    }
    found.into_iter().map(median).collect()
}

/// The median of `values`, of which there is one at least.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// `number` in millions.
pub(crate) fn millions(number: f64) -> String {
    format!("{:.2}", number / 1e6)
}

/// A row of a Markdown table.
#[expect(clippy::print_stdout, reason = "a benchmark's result")]
pub(crate) fn row<const N: usize>(columns: [&str; N]) {
    println!("| {} |", columns.join(" | "));
}

/// The head of a Markdown table, below its title.
#[expect(clippy::print_stdout, reason = "a benchmark's result")]
pub(crate) fn table<const N: usize>(title: &str, columns: [&str; N]) {
    println!("\n## {title}\n");
    row(columns);
    row(columns.map(|_| "---"));
}

//! What the rules alone say, against what is simulated, in random worlds: `expect` and `run` speak of the same.

use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{experiment, outcomes};
use crate::answers::expect::expect;
use crate::metrics::MeasuredRun;
use crate::metrics::load::{FairShares, joint_load};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::Scenario;
use crate::stats::Estimate;

const WORLDS: u64 = 200;
const REPLICATIONS: u32 = 5;

/// All worlds and quantities together may be wrong by chance once in a thousand times.
const ERROR: f64 = 0.001;
/// Quantities of a world: three shares, and load and offered load of at most eight pools.
const QUANTITIES: f64 = 3.0 + 2.0 * 8.0;
/// What detection, which the expectation leaves out, may change: a second or two of each failure's hundred.
const DETECTION: f64 = 0.02;

/// What is expected to be below this share of what it can be at most comes of states that a few replications may not see.
const RARE: f64 = 0.1;
/// Replications of 150 s, over twice the time in which a backend that is up for 100 s and down for 60 s forgets its state.
const INDEPENDENT: f64 = REPLICATIONS as f64 * 150.0 / (2.0 * 37.5);

fn pick<'a>(generator: &mut impl Rng, choices: &[&'a str]) -> &'a str {
    choices[generator.random_range(0..choices.len())]
}

fn group(generator: &mut impl Rng, name: &str, zone: &str, weighted: bool) -> String {
    let (size, workers) = (generator.random_range(1..4_u32), generator.random_range(4..9_u32));
    let failover = pick(generator, &["", "", "", ", failover = true"]);
    let failing = |mode: &str| {
        format!(
            ", failures = {{ mode = \"{mode}\", time_to_failure = {{ exponential = {{ mean = \"100s\" }} }}, \
             time_to_repair = {{ exponential = {{ mean = \"60s\" }} }} }}"
        )
    };
    let failures = match generator.random_range(0..6_u32) {
        0 => failing("unhealthy_only"),
        1 => failing("serving_only"),
        2 => failing("silent"),
        _ => String::new(),
    };
    let weight =
        if weighted { format!(", weight = {}", generator.random_range(1..5_u32)) } else { String::new() };
    format!(
        "{{ group = \"{name}\", zone = \"{zone}\", size = {size}{failover}{weight}, \
         server = {{ workers = {workers}, service_time = {{ exponential = {{ mean = \"2ms\" }} }}{failures} }} }}"
    )
}

fn client(generator: &mut impl Rng, number: usize) -> String {
    let place = pick(
        generator,
        &[
            "kind = \"vm\", zone = \"a\"",
            "kind = \"vm\", zone = \"b\"",
            "kind = \"vm\", zone = \"c\"",
            "kind = \"vpn\"",
        ],
    );
    let rate = generator.random_range(4..13_u32);
    let requests = pick(generator, &["", ", connection = { requests = { constant = 1 } }"]);
    format!(
        "{{ name = \"c{number}\", {place}, addresses = 500, connect_timeout = \"2s\", request_timeout = \"2s\", \
         arrivals = {{ poisson = {{ rate = {rate}.0 }} }}{requests} }}"
    )
}

fn text(seed: u64) -> String {
    let generator = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let weighted = generator.random_range(0..4_u32) == 0;
    let policy = pick(
        generator,
        &[
            "spillover = \"DISABLED\"",
            "spillover = \"STAY_WITHIN_ZONE\"",
            "spillover = \"SPILL_CROSS_ZONE\"",
            "spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.6",
        ],
    );
    let failover = pick(generator, &["0.0", "0.5", "1.0"]);
    let weights = if weighted { "locality_lb_policy = \"WEIGHTED_GCP_RENDEZVOUS\"" } else { "" };
    let first = group(generator, "g0", "a", weighted).replace(", failover = true", "");
    let others = (1..generator.random_range(2..6_usize)).map(|number| {
        let zone = pick(generator, &["a", "b", "c"]);
        group(generator, &format!("g{number}"), zone, weighted)
    });
    let others: Vec<String> = others.collect();
    let clients: Vec<String> =
        (0..generator.random_range(1..4_usize)).map(|number| client(generator, number)).collect();
    format!(
        r#"
        name = "random"
        simulation = {{ seed = {seed}, replications = {REPLICATIONS}, warmup = "150s", duration = "150s", sample_interval = "150s" }}
        region = {{ name = "r", zones = ["a", "b", "c"] }}
        health_check = {{ type = "HTTP", check_interval = "1s", timeout = "1s", healthy_threshold = 1, unhealthy_threshold = 1 }}
        clients = [{}]
        [backend_service]
        {weights}
        zonal_affinity = {{ {policy} }}
        failover_policy = {{ failover_ratio = {failover} }}
        backends = [{first}, {}]
        "#,
        clients.join(", "),
        others.join(", ")
    )
}

/// Whether the mean of `values`, which can be `most` at most, is `expected`, within its interval and what detection may
/// change; of what is rare within five standard deviations.
fn agrees(values: &[f64], expected: f64, most: f64) -> bool {
    let simulated = Estimate::of_mean(&values.iter().copied().collect());
    let (low, high) =
        simulated.ends(ERROR / (WORLDS as f64 * QUANTITIES)).unwrap_or((simulated.value, simulated.value));
    let rare = expected < RARE * most;
    let unseen = if rare { 5.0 * (expected * (most - expected) / INDEPENDENT).sqrt() } else { 0.0 };
    let slack = DETECTION * expected.max(1.0) + unseen + 1e-9;
    (low - slack..=high + slack).contains(&expected)
}

fn check(scenario: &Scenario, found: &[Outcome], seed: u64) {
    let expectation = expect(scenario, 100_000).expect("few states");
    let latencies: Vec<_> = found.iter().map(Outcome::latency_overall).collect();
    let runs: Vec<MeasuredRun<'_>> = found
        .iter()
        .zip(&latencies)
        .map(|(outcome, latency)| MeasuredRun { scenario, outcome, latency })
        .collect();
    let whole = scenario.balancers.iter().map(|_| 1.0).collect();
    let fair = FairShares::new(scenario, |_| 1.0, &whole);
    for (metric, expected) in expectation.mean.as_metrics() {
        let Some(expected) = expected else { continue };
        let values: Vec<f64> = runs.iter().filter_map(|run| metric.value(run)).collect();
        assert!(agrees(&values, expected, 1.0), "seed {seed}: {}: {values:?}, {expected}", metric.name);
    }
    for (index, pool) in expectation.pools.iter().enumerate() {
        let most = fair.multiple(pool.members.iter().copied(), 1.0).expect("a pool has a share");
        let loads: Vec<_> = runs.iter().map(|run| joint_load(run, &pool.members)).collect();
        let multiples: Vec<f64> = loads.iter().filter_map(|load| load.multiple).collect();
        if let Some(expected) = expectation.mean.loads[index] {
            assert!(
                agrees(&multiples, expected, most),
                "seed {seed}: load of {pool:?}: {multiples:?}, {expected}"
            );
        }
        let offered: Vec<f64> = loads.iter().filter_map(|load| load.offered).collect();
        if let Some(expected) = expectation.mean.offered_loads[index]
            && offered.len() == runs.len()
            && expectation.mean.loads[index].is_some_and(|load| load >= RARE * most)
        {
            assert!(
                agrees(&offered, expected, expected),
                "seed {seed}: offered to {pool:?}: {offered:?}, {expected}"
            );
        }
    }
}

#[test]
fn expect_and_run_agree_in_two_hundred_random_worlds() {
    for seed in 0..WORLDS {
        let experiment = experiment(&text(seed));
        let cell = &experiment.cells()[0];
        check(&experiment.scenario(cell), &outcomes(&experiment)[0], seed);
    }
}

//! The same seed gives the same bytes, whatever the number of threads; another seed gives another workload.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{experiment, outcomes};
use crate::experiment::Experiment;
use crate::job::runner::{RunId, run_every};
use crate::metrics::MeasuredRun;
use crate::results::tables::Tables;
use crate::sim::outcome::Outcome;

const WORLD: &str = r#"
    name = "determinism"
    simulation = { replications = 3, warmup = "20s", duration = "2m", sample_interval = "15s" }
    region = { name = "r", zones = ["a", "b"] }
    server = { workers = 2, queue_limit = 8, service_time = { gamma = { mean = "30ms", shape = 0.5 } }, failures = { time_to_failure = { exponential = { mean = "1m" } }, time_to_repair = { lognormal = { median = "10s", sigma = 1.0 } } } }
    backend_service.backends = [{ group = "ig", zones = ["a", "b"], size = 5 }]
    [[clients]]
    name = "web-a"
    kind = "vm"
    zone = "a"
    arrivals = { poisson = { rate = 30.0 } }
    request_timeout = "2s"
    retries = 2
    [[clients]]
    name = "office"
    kind = "vpn"
    arrivals = { deterministic = { rate = 5.0 } }
    [[faults]]
    at = "1m"
    duration = "20s"
    target = { zone = "a", fraction = 0.5 }
    kind = "refuse"
    [[arms]]
    name = "disabled"
    [[arms]]
    name = "spill"
    set = { "backend_service.zonal_affinity.spillover" = "SPILL_CROSS_ZONE" }
    sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.0, 1.0] }
"#;

fn written(experiment: &Experiment, runs: &BTreeMap<RunId, Outcome>) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = Tables::create(folder.path(), experiment).unwrap();
    for (run, outcome) in runs {
        let cell = &experiment.cells()[run.cell];
        let (scenario, latency) = (experiment.scenario(cell), outcome.latency_overall());
        let found = MeasuredRun { scenario: &scenario, outcome, latency: &latency };
        tables.add(cell, run.replication, &found).unwrap();
    }
    tables.finish().unwrap();
    files(folder.path())
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn one_thread_two_threads_and_again() {
    let experiment = Arc::new(experiment(WORLD));
    let one = run_every(&experiment, 1).unwrap();
    let two = run_every(&experiment, 2).unwrap();
    let again = run_every(&experiment, 2).unwrap();
    assert!(one == two && two == again);
    let tables = written(&experiment, &one);
    assert_eq!(tables.len(), 10);
    assert_eq!(tables, written(&experiment, &two));
}

#[test]
fn a_journal_keeps_every_bit_of_an_outcome() {
    let experiment = experiment(WORLD);
    for outcome in outcomes(&experiment).into_iter().flatten() {
        let line = serde_json::to_string(&outcome).unwrap();
        assert!(serde_json::from_str::<Outcome>(&line).unwrap() == outcome);
    }
}

#[test]
fn every_arm_meets_the_same_arrivals_and_failures() {
    let experiment = experiment(WORLD);
    let cells = outcomes(&experiment);
    for replication in 0..3 {
        let first = &cells[0][replication];
        for cell in &cells[1..] {
            let unhealthy = |outcome: &Outcome| -> Vec<u64> {
                outcome.backends.iter().map(|backend| backend.unhealthy_nanos).collect()
            };
            assert_eq!(unhealthy(first), unhealthy(&cell[replication]));
        }
    }
    // Retries are connections of their own, and differ; the clients without retries open the same connections.
    let office = |outcome: &Outcome| {
        outcome.traffic.pairs().last().unwrap().1.pairs().map(|(_, t)| t.connections).sum()
    };
    let counts: Vec<u64> = cells.iter().map(|cell| office(&cell[0])).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn three_seeds_give_three_workloads() {
    let with_seed = |seed: u32| {
        let text = WORLD.replace("replications = 3", &format!("seed = {seed}, replications = 1"));
        outcomes(&experiment(&text))[0][0].clone()
    };
    let totals = [with_seed(1).total(), with_seed(2).total(), with_seed(3).total()];
    assert_ne!(totals[0], totals[1]);
    assert_ne!(totals[1], totals[2]);
    assert_ne!(totals[0], totals[2]);
}

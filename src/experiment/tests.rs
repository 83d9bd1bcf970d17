//! Whole experiment files: what they become, and what is said about wrong ones.

mod cells;
mod complete;
mod data;
mod errors;
mod guide;
mod keys;
mod mutations;
mod operations;
mod overrides;
mod pools;
mod precision;
mod refusals;
mod rendered;
mod routes;
mod warmup;

use std::sync::Arc;

use super::{Experiment, ExperimentError, Overrides, Source};
use crate::ids::BackendId;
use crate::sim::scenario::{FaultEffect, Scenario};

/// A small right experiment that the tests change.
const SMALL: &str = r#"name = "small"

[simulation]
seed = 7
replications = 2
warmup = "1m"
duration = "10m"

[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b"]

[network]
cross_zone_rtt = { lognormal = { median = "190us", sigma = 0.35 } }

[backend_service]
zonal_affinity = { spillover = "SPILL_CROSS_ZONE", spillover_ratio = 0.5 }

[[backend_service.backends]]
group = "ig-a"
zone = "us-central1-a"
size = 2

[[backend_service.backends]]
group = "ig-b"
zone = "us-central1-b"
size = 3
failover = true

[health_check]
check_interval = "5s"
timeout = "5s"

[server]
workers = 8
service_time = { exponential = { mean = "5ms" } }

[[clients]]
name = "web-a"
kind = "vm"
zone = "us-central1-a"
arrivals = { poisson = { rate = 20.0 } }

[[clients]]
name = "office"
kind = "vpn"
arrivals = { deterministic = { rate = 2 } }

[[faults]]
at = "5m"
target = { zone = "us-central1-a", fraction = 0.5 }

[[arms]]
name = "spill"
sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.25, 0.5] }

[[arms]]
name = "stay"
set = { "backend_service.zonal_affinity.spillover" = "STAY_WITHIN_ZONE" }

[sweep]
"clients.web-a.addresses" = [100, 200]

[[thresholds]]
metric = "failure_ratio"
arm = "stay"
max = 0.01
"#;

/// A small right experiment with target pools.
const POOLS: &str = r#"name = "pools"
[simulation]
replications = 1
warmup = "1m"
duration = "10m"

[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b"]

[forwarding_rule]
target = "www"
maglev_table_size = 251
[[target_pools]]
name = "www"
session_affinity = "CLIENT_IP"
failover_ratio = 0.5
backup_pool = "spare"
health_checks = ["default"]
# instances
[[target_pools.instances]]
name = "web"
zone = "us-central1-a"
size = 3

[[target_pools]]
name = "spare"
failover_ratio = 1.0
backup_pool = "third"
[[target_pools.instances]]
name = "reserve"
zones = ["us-central1-b", "us-central1-a"]
size = 2
[[target_pools]]
name = "third"
[[target_pools.instances]]
name = "idle"
zone = "us-central1-b"
size = 2
[[clients]]
name = "user"
kind = "internet"
arrivals = { poisson = { rate = 20.0 } }
[server]
workers = 8
"#;

fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    parse_with(text, &Overrides::default())
}

fn parse_with(text: &str, overrides: &Overrides) -> Result<Experiment, ExperimentError> {
    Experiment::parse(Source { name: "test.toml".to_owned(), text: text.to_owned() }, overrides)
}

/// [`SMALL`] with `new` in place of `old`, which it holds once.
fn changed(old: &str, new: &str) -> String {
    assert_eq!(SMALL.matches(old).count(), 1, "{old:?} stands once in the small experiment");
    SMALL.replace(old, new)
}

fn set(assignments: &[(&str, &str)]) -> Overrides {
    let set = assignments.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned()));
    Overrides { set: set.collect(), ..Overrides::default() }
}

/// What the first cell of `text` simulates.
fn scenario(text: &str) -> Arc<Scenario> {
    let experiment = parse(text).unwrap();
    experiment.scenario(&experiment.cells()[0])
}

/// The error of `text` with `overrides`, as plain text; it names the file, and the remedy.
fn refusal(text: &str, overrides: &Overrides) -> String {
    let error = match parse_with(text, overrides) {
        Ok(_) => panic!("this was taken for right:\n{text}\n{overrides:?}"),
        Err(error) => error.render(false),
    };
    assert!(
        error.starts_with("error: ") && error.contains("test.toml") && error.contains("help: "),
        "{error}"
    );
    error
}

/// The backends that fault `number` of `scenario` can strike.
fn targets(scenario: &Scenario, number: usize) -> &[BackendId] {
    match &scenario.faults[number].effect {
        FaultEffect::Backends { targets, .. } => targets,
        FaultEffect::Link { .. } => panic!("it strikes the network"),
    }
}

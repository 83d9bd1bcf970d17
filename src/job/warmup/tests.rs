//! Worlds of which the length of their beginning is known.

use super::*;
use crate::experiment::{Overrides, Source};
use crate::job::runner::run_one;
use crate::results::steadiness::{Doubt, Steadiness};

/// Connections that last two minutes on average and wait for nobody: as many are open after `t` as `1 - exp(-t / 2 min)` of
/// those that will be.
const LONG: &str = "workers = \"unlimited\", service_time = { exponential = { mean = \"2m\" } }";
/// Requests that are over at once.
const SHORT: &str = "workers = \"unlimited\", service_time = { exponential = { mean = \"20ms\" } }";
/// A queue that never ends growing.
const OVERLOADED: &str =
    "workers = 1, queue_limit = 1000000, service_time = { exponential = { mean = \"400ms\" } }";

fn experiment(simulation: &str, server: &str, more: &str) -> Experiment {
    let text = format!(
        r#"
        name = "warmup"
        simulation = {{ duration = "30m", sample_interval = "10s", {simulation} }}
        region = {{ name = "r", zones = ["a"] }}
        server = {{ {server} }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 2 }}]
        [[clients]]
        name = "web"
        kind = "vm"
        zone = "a"
        arrivals = {{ poisson = {{ rate = 6.0 }} }}
        connection = {{ requests = {{ constant = 1 }} }}
        request_timeout = "24h"
        {more}
        "#
    );
    let source = Source { name: "test.toml".to_owned(), text };
    Experiment::parse(source, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn found(experiment: &Experiment) -> Result<FoundWarmup, Unfit> {
    let pilot = experiment.pilot();
    let batches = |run| (run, Batches::of(&run_one(&pilot, run).unwrap().timeline, usize::MAX));
    find(experiment, &pilot_runs(experiment).into_iter().map(batches).collect())
}

fn auto(server: &str, more: &str) -> Experiment {
    experiment("warmup = \"auto\"", server, more)
}

/// What is doubted about each cell of an experiment with a fixed warm-up.
fn doubts(experiment: &Experiment) -> Vec<Option<Doubt>> {
    let cells = experiment.cells().iter().map(|cell| {
        let scenario = experiment.scenario(cell);
        let mut steadiness = Steadiness::new(&scenario);
        for replication in 0..experiment.replications() {
            steadiness.add(&run_one(experiment, RunId { cell: cell.index, replication }).unwrap().timeline);
        }
        steadiness.doubt(experiment.cells().len())
    });
    cells.collect()
}

#[test]
fn the_cell_that_takes_longest_decides_for_all() {
    let arms = format!(
        "[[arms]]\nname = \"short\"\n[[arms]]\nname = \"long\"\nset = {{ server = {{ {LONG} }} }}\n\
         [[faults]]\nat = \"29m\"\ntarget = {{ zone = \"a\" }}\n"
    );
    let experiment = auto(SHORT, &arms);
    let warmup = found(&experiment).unwrap();
    assert_eq!(warmup.cell, 1);
    // After 4 means 2 % are missing, as much as noise; and the fault of the end was not there.
    let secs = SimDuration::from_secs;
    assert!((secs(300)..=secs(900)).contains(&warmup.length), "{warmup:?}");
    assert_eq!(found(&experiment), Ok(warmup), "the same again");
    let settled = experiment.with_warmup(warmup.length);
    assert!(!settled.finds_warmup() && settled.document().contains("\"auto\""));
    assert_eq!(settled.fingerprint(), experiment.fingerprint());
    for cell in settled.cells() {
        let scenario = settled.scenario(cell);
        assert_eq!((scenario.timing.warmup, scenario.timing.duration), (warmup.length, secs(1800)));
        assert_eq!(scenario.faults.len(), 1);
    }
    assert!(experiment.pilot().scenario(&experiment.cells()[0]).faults.is_empty());
}

#[test]
fn a_world_that_has_no_beginning_loses_the_first_batch_only() {
    // Noise that MSER-5 would cut differs from pilot to pilot, nearly always.
    let of_seed = |seed| experiment(&format!("seed = {seed}, warmup = \"auto\""), SHORT, "");
    let found: Vec<SimDuration> = (1..=6).map(|seed| found(&of_seed(seed)).unwrap().length).collect();
    let first_alone = found.iter().filter(|length| **length == SimDuration::from_secs(50)).count();
    assert!(first_alone >= 5, "{found:?}");
}

#[test]
fn a_queue_that_never_ends_growing_is_too_short_a_run() {
    let error = found(&auto(OVERLOADED, "")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("still change in the second half of 30m; lengthen simulation.duration"),
        "{error}"
    );
}

#[test]
fn what_is_to_be_measured_may_not_come_before() {
    let fault = "[[faults]]\nat = \"2m\"\nduration = \"1m\"\ntarget = { zone = \"a\" }\n";
    let error = found(&auto(LONG, fault)).unwrap_err();
    assert!(
        error.to_string().contains("a fault or an operation of arm `base` comes at 2m, within it"),
        "{error}"
    );
}

#[test]
fn a_timeline_has_the_time_of_every_response_in_the_window() {
    let experiment = experiment("replications = 1, warmup = \"1m\"", SHORT, "");
    let outcome = run_one(&experiment, RunId { cell: 0, replication: 0 }).unwrap();
    let responses = &outcome.timeline.responses;
    assert_eq!(responses.len(), 180);
    let count: u64 = responses.iter().map(|sample| sample.count).sum();
    // Those that are under way at either end are of one side only.
    assert!(count.abs_diff(outcome.total().requests) <= 5, "{count} of {}", outcome.total().requests);
    let nanos: u128 = responses.iter().map(|sample| sample.nanos).sum();
    let mean = outcome.latency_overall().request.mean().unwrap();
    assert!((nanos as f64 / count as f64 / mean - 1.0).abs() < 0.01);
}

#[test]
fn pilots_share_no_randomness_with_measured_runs() {
    let experiment = auto(SHORT, "");
    let pilot = pilot_runs(&experiment)[0];
    let measured = RunId { cell: 0, replication: 0 };
    let opened = |run| run_one(&experiment.pilot(), run).unwrap().opened;
    assert_ne!(opened(pilot), opened(measured));
}

#[test]
fn a_warm_up_that_is_too_short_is_seen() {
    let doubt = doubts(&experiment("replications = 10, warmup = \"0s\"", LONG, ""))[0].unwrap();
    // On average over 30 min 1/15 of the connections are missing, and those that end at first are short ones.
    assert!((-0.15..=-0.04).contains(&doubt.share), "{doubt:?}");
    assert!(doubt.length >= SimDuration::from_secs(200), "{doubt:?}");
    // A fault later on is no excuse, and is not taken for the rest.
    let fault = "[[faults]]\nat = \"20m\"\nduration = \"9m\"\ntarget = { zone = \"a\" }\nkind = \"silent\"\n";
    assert!(doubts(&experiment("replications = 10, warmup = \"0s\"", LONG, fault))[0].is_some());
}

#[test]
fn steady_worlds_and_what_is_meant_to_change_are_not_doubted() {
    for seed in 0..8 {
        let long = experiment(&format!("replications = 5, seed = {seed}, warmup = \"20m\""), LONG, "");
        assert_eq!(doubts(&long), [None], "seed {seed}");
        let short = experiment(&format!("replications = 5, seed = {seed}, warmup = \"1m\""), SHORT, "");
        assert_eq!(doubts(&short), [None], "seed {seed}");
    }
    let warm = "replications = 5, warmup = \"1m\"";
    for fault in [
        "[[faults]]\nat = \"2m\"\nduration = \"10m\"\ntarget = { zone = \"a\" }\nkind = \"slow\"\nfactor = 50.0\n",
        "[[faults]]\nat = \"30s\"\nduration = \"10m\"\ntarget = { zone = \"a\" }\nkind = \"slow\"\nfactor = 50.0\n",
        "[[faults]]\nat = \"15m\"\nduration = \"10m\"\ntarget = { zone = \"a\" }\nkind = \"slow\"\nfactor = 50.0\n",
        "[[operations]]\nat = \"15m\"\ndo = \"remove_instances\"\ngroup = \"ig\"\ncount = 1\n",
    ] {
        assert_eq!(doubts(&experiment(warm, SHORT, fault)), [None], "{fault}");
    }
    // Traffic that swings by itself has no level to come to.
    let source = experiment(warm, SHORT, "").document().to_owned();
    let day = "{ diurnal = { mean_rate = 6.0, peak_to_mean = 2.0, period = \"2h\" } }";
    let text = source.replace("{ poisson = { rate = 6.0 } }", day);
    let source = Source { name: "test.toml".to_owned(), text };
    let day = Experiment::parse(source, &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert_eq!(doubts(&day), [None]);
}

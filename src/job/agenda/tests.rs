//! Agendas of whole experiments, where runs finish in any order.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use super::*;
use crate::experiment::{Overrides, Source};
use crate::job::runner::run_one;
use crate::random::{Purpose, RunSeed};

/// Two cells of which one is known sooner, and one of which nothing can be known.
fn experiment(precision: &str) -> Experiment {
    let text = format!(
        r#"
        name = "agenda"
        simulation = {{ warmup = "0s", duration = "20s", precision = {{ {precision} }} }}
        region = {{ name = "r", zones = ["a"] }}
        server = {{ workers = 1, queue_limit = 1, service_time = {{ exponential = {{ mean = "20ms" }} }} }}
        health_check = {{ initial_state = "HEALTHY" }}
        backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
        [[clients]]
        name = "web"
        kind = "vm"
        zone = "a"
        arrivals = {{ poisson = {{ rate = 40.0 }} }}
        connection = {{ requests = {{ constant = 1 }} }}
        [sweep]
        "clients.web.arrivals.poisson.rate" = [60.0, 10.0, 0.000001]
        "#
    );
    let source = Source { name: "test.toml".to_owned(), text };
    Experiment::parse(source, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Runs `agenda` to its end, where the runs that are there at a time finish in an order of chance.
fn run(experiment: &Experiment, mut agenda: Agenda, chance: u32) -> (Agenda, BTreeMap<RunId, Outcome>) {
    let mut rng = RunSeed::new(1, chance).stream(Purpose::Resampling, "order").generator();
    let mut waiting: Vec<RunId> = agenda.runs().iter().copied().collect();
    let mut outcomes = BTreeMap::new();
    while !waiting.is_empty() {
        waiting.shuffle(&mut rng);
        let id = waiting.pop().expect("there is one");
        let outcome = run_one(experiment, id).unwrap();
        let scenario = experiment.scenario(&experiment.cells()[id.cell]);
        let latency = outcome.latency_overall();
        waiting.extend(
            agenda.observe(id, &MeasuredRun { scenario: &scenario, outcome: &outcome, latency: &latency }),
        );
        outcomes.insert(id, outcome);
    }
    (agenda, outcomes)
}

fn standings(agenda: &Agenda) -> Vec<CellStanding> {
    agenda.standings().collect()
}

const FAILURES: &str = "metric = \"failure_ratio\", relative = 0.1, max_replications = 40";

#[test]
fn cells_stop_where_they_are_known_whatever_the_order() {
    let experiment = experiment(FAILURES);
    let (agenda, outcomes) = run(&experiment, Agenda::new(&experiment, None), 0);
    let found = standings(&agenda);
    let ends: Vec<Option<CellEnd>> = found.iter().map(|standing| standing.end).collect();
    assert_eq!(ends[..2], [Some(CellEnd::Reached), Some(CellEnd::Exhausted)]);
    assert_eq!(found[1].replications, 40);
    assert!((15..40).contains(&found[0].replications), "{found:?}");
    assert!(found[0].width.unwrap().is_enough() && !found[1].width.unwrap().is_enough());
    for chance in 1..4 {
        assert_eq!(standings(&run(&experiment, Agenda::new(&experiment, None), chance).0), found);
    }
    // An interrupted job comes to the same, wherever it was stopped.
    for kept in [0, 7, 15, 31, outcomes.len()] {
        let mut again = Agenda::new(&experiment, None);
        let kept: BTreeMap<RunId, Outcome> = outcomes.clone().into_iter().take(kept).collect();
        again.catch_up(&experiment, |id| Ok::<_, ()>(kept.get(&id).cloned())).unwrap();
        assert!(again.runs().is_subset(agenda.runs()));
        let missing: Vec<RunId> = again.runs().iter().filter(|id| !kept.contains_key(id)).copied().collect();
        assert_eq!(missing.is_empty(), kept.len() == outcomes.len());
    }
}

#[test]
fn a_cell_without_a_value_ends_after_the_first_look() {
    let experiment = experiment("metric = \"request_p99_ms\", absolute = 1.0");
    let (agenda, _) = run(&experiment, Agenda::new(&experiment, None), 0);
    let last = standings(&agenda)[2];
    assert_eq!((last.end, last.replications, last.width), (Some(CellEnd::Valueless), 15, None));
}

#[test]
fn equal_values_end_it_after_the_first_look() {
    let experiment = experiment("metric = \"spilled_connection_ratio\", relative = 0.1");
    let (agenda, _) = run(&experiment, Agenda::new(&experiment, None), 0);
    let found = standings(&agenda);
    assert!(found.iter().all(|standing| standing.end == Some(CellEnd::Reached) || standing.cell == 2));
    assert_eq!(found[0].replications, 15);
}

#[test]
fn shards_have_whole_cells_and_join_to_all() {
    let experiment = experiment(FAILURES);
    let (whole, _) = run(&experiment, Agenda::new(&experiment, None), 0);
    for count in [1, 2, 5] {
        let shards: Vec<Agenda> = (1..=count)
            .map(|number| Shard::new(number, count).unwrap())
            .map(|shard| run(&experiment, Agenda::new(&experiment, Some(shard)), 3).0)
            .collect();
        let joined = Agenda::joined(&shards);
        assert_eq!(standings(&joined), standings(&whole));
        assert_eq!(joined.runs(), whole.runs());
        assert_eq!(joined.most_runs(), 3 * 40);
    }
}

#[test]
fn a_fixed_number_of_replications_is_there_from_the_beginning() {
    let experiment = experiment(FAILURES);
    let text = experiment.document().to_owned();
    let source = Source { name: "test.toml".to_owned(), text };
    let overrides = Overrides { replications: Some(3), ..Overrides::default() };
    let experiment =
        Experiment::parse(source, &overrides).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let agenda = Agenda::new(&experiment, None);
    assert_eq!((agenda.runs().len(), agenda.most_runs(), agenda.most_of(2)), (9, 9, 3));
    assert_eq!(agenda.standings().count(), 0);
}

//! Tests of the worlds and of the verdict: they need no laboratory.

use std::num::NonZeroUsize;

use super::limits::beyond;
use super::observation::RunObservation;
use super::quantity::RealQuantity;
use super::scenarios::{Forwarding, RealScenario, all, smoke};
use super::verdict::{compare, judge};
use super::world::World;
use crate::experiment::Overrides;

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

fn world(scenario: &RealScenario, set: &[(&str, &str)]) -> World {
    let set = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    let world = World::read(&scenario.name, &scenario.text, &overrides);
    world.unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn every_scenario_is_a_world_that_a_laboratory_can_be() {
    let mut names = Vec::new();
    for scenario in all().into_iter().chain(smoke()) {
        let world = world(&scenario, &[]);
        assert_eq!(beyond(&world.scenario, scenario.forwarding), Vec::<String>::new(), "{}", scenario.name);
        assert!(!scenario.quantities.is_empty() && scenario.runs > 1, "{}", scenario.name);
        names.push(scenario.name);
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "names of their own");
}

/// The rows that disagree when runs of `real` are held against simulations of the first smoke scenario.
fn disagreeing(real: &[RunObservation]) -> Vec<String> {
    let scenario = &smoke()[0];
    let world = world(scenario, &[]);
    let simulated = world.simulate(300, TWO).unwrap();
    let mut findings = compare(scenario, &world.scenario, real, &simulated);
    judge(&mut findings);
    findings.into_iter().filter(|finding| !finding.agrees).map(|finding| finding.quantity).collect()
}

#[test]
fn a_model_agrees_with_itself_and_a_wrong_one_is_rejected() {
    let scenario = &smoke()[0];
    let runs = |set: &[(&str, &str)]| {
        let mut world = world(scenario, set);
        // Other runs than those that they are held against.
        world.seed += 1;
        world.simulate(6, TWO).unwrap()
    };
    assert_eq!(disagreeing(&runs(&[])), Vec::<String>::new());
    let slower = disagreeing(&runs(&[("health_check.unhealthy_threshold", "3")]));
    for quantity in [
        RealQuantity::Detections,
        RealQuantity::FirstDecision { place: 0 },
        RealQuantity::Failed("short".into()),
    ] {
        assert!(slower.contains(&quantity.name()), "{slower:?}");
    }
    let staying = [("backend_service.zonal_affinity", "{ spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\" }")];
    let staying = disagreeing(&runs(&staying));
    for quantity in [RealQuantity::Across, RealQuantity::FirstDecision { place: 0 }] {
        assert!(staying.contains(&quantity.name()), "{staying:?}");
    }
}

#[test]
fn clients_know_of_failures_when_they_time_out_or_are_reset() {
    let staying = [("backend_service.zonal_affinity", "{ spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\" }")];
    // A SYN that nobody answers, and a request to a backend that does not know the connection.
    for (scenario, set, seconds) in [(0, &staying[..], 4.5), (1, &[], 80e-6)] {
        let run = &world(&smoke()[scenario], set).simulate(1, TWO).unwrap()[0];
        let known = RealQuantity::FailuresKnown.values(run);
        let failed: u64 = run.clients.iter().map(|counts| counts.failed).sum();
        assert!(failed > 5 && known.len() as u64 == failed, "{failed} and {known:?}");
        assert!(known.iter().all(|after| (after / seconds - 1.0).abs() < 0.004), "{known:?}");
    }
}

#[test]
fn what_no_laboratory_can_be_is_named() {
    let text = |from: &str, to: &str| {
        let scenario = &smoke()[0];
        assert!(scenario.text.contains(from), "{from}");
        RealScenario { text: scenario.text.replace(from, to), ..scenario.clone() }
    };
    for (from, to, part) in [
        ("size = 4", "size = 40", "more than 60 backends"),
        ("duration = \"20s\"", "duration = \"20m\"", "15 minutes"),
        ("rate = 30.0", "rate = 300.0", "400 connections"),
        ("workers = \"unlimited\"", "workers = 4", "capacity"),
        ("kind = \"silent\"", "kind = \"slow\"\nfactor = 2.0", "kind that a laboratory can't make"),
        ("duration = \"8s\"", "duration = \"8s\"\nflapping = { period = \"4s\", active = \"1s\" }", ""),
        ("request_timeout = \"5s\"", "retries = 1", "neither retry"),
        ("request_timeout = \"5s\"", "syn_retransmission = [\"1s\"]", "rules of its own"),
        ("timeout = \"1s\"", "timeout = \"1s\", probe_retransmission = false", ""),
        ("[backend_service]", "[backend_service]\nprotocol = \"UDP\"", "speaks TCP"),
        ("addresses = 4000", "addresses = 5000", "4000 addresses"),
        (
            "{ poisson = { rate = 30.0 } }",
            "{ closed = { population = 3, think_time = { constant = \"1s\" } } }",
            "come at a rate",
        ),
    ] {
        let scenario = text(from, to);
        let found = beyond(&world(&scenario, &[]).scenario, Forwarding::Marks);
        assert_eq!(found.is_empty(), part.is_empty(), "{to}: {found:?}");
        assert!(part.is_empty() || found.iter().any(|words| words.contains(part)), "{to}: {found:?}");
    }
}

#[test]
fn the_committed_table_has_every_row_and_all_of_them_agree() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("results/reality.md");
    let committed = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = committed.lines().filter(|line| line.ends_with(" | yes |")).collect();
    let mut expected = 0;
    for scenario in all() {
        for quantity in &scenario.quantities {
            let begin = format!("| {} | {} |", scenario.name, quantity.name());
            let found = rows.iter().any(|row| row.starts_with(&begin));
            assert!(found, "results/reality.md is old; make it with `zonesim validate --real`: {begin}");
            expected += 1;
        }
    }
    assert_eq!(rows.len(), expected);
}

//! The guide in `docs/settings.md`: its examples are right, and it leaves out no open point and no verb.

use super::{POOLS, SMALL, changed, parse, scenario};
use crate::experiment::{Overrides, key, keys};

const GUIDE: &str = include_str!("../../../docs/settings.md");

/// The TOML of the guide, block by block.
fn blocks() -> Vec<&'static str> {
    let starts = GUIDE.split("```toml\n").skip(1);
    starts.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn examples_are_accepted() {
    let [clients, faults, service, pools, charts, simulation] = blocks()[..] else { panic!("six examples") };
    drop(parse(&format!("{SMALL}{charts}")).unwrap());
    let begin = SMALL.find("[simulation]").unwrap();
    let without = format!("{}{}", &SMALL[..begin], &SMALL[SMALL.find("[region]").unwrap()..]);
    let precise = parse(&format!("{without}{simulation}")).unwrap();
    assert!(precise.finds_warmup() && precise.precision().is_some());
    let base = SMALL[..SMALL.find("[[arms]]").unwrap()]
        .replace("duration = \"10m\"", "duration = \"30m\"")
        .replace("size = 2", "size = 4");
    assert_eq!(scenario(&format!("{service}{base}")).operations.len(), 9);
    assert_eq!(scenario(&format!("{base}{clients}")).clients.len(), 3);
    let start = base.find("[[faults]]").unwrap();
    assert_eq!(scenario(&format!("{faults}{}", &base[..start])).faults.len(), 11);
    assert_eq!(scenario(&format!("{pools}{POOLS}")).operations.len(), 5);
}

#[test]
fn every_arrival_process_has_an_example() {
    let examples: Vec<&str> = GUIDE
        .lines()
        .filter_map(|line| line.strip_prefix("| `{ ")?.split_once("` |"))
        .map(|(example, _)| example)
        .collect();
    let names = keys().filter_map(|row| row.path.strip_prefix("clients.<name>.arrivals."));
    let names: Vec<&str> = names.filter(|name| !name.contains('.')).collect();
    assert_eq!(examples.len(), names.len());
    for name in names {
        let example = examples.iter().find(|example| example.starts_with(&format!("{name} = ")));
        let text = changed("{ poisson = { rate = 20.0 } }", &format!("{{ {}", example.expect(name)));
        match name {
            "trace" => assert!(super::refusal(&text, &Overrides::default()).contains("names a file")),
            _ => drop(parse(&text).unwrap()),
        }
    }
}

#[test]
fn every_verb_has_an_example() {
    for verb in &key(&["operations", "0", "do"]).unwrap().choices {
        assert!(blocks().iter().any(|block| block.contains(&format!("do = \"{verb}\""))), "{verb}");
    }
}

#[test]
fn every_kind_of_fault_is_explained_and_has_an_example() {
    let faults = blocks()[1];
    for kind in &key(&["faults", "0", "kind"]).unwrap().choices {
        assert!(GUIDE.contains(&format!("`{kind}`")), "{kind} is explained");
        assert!(kind == "silent" || faults.contains(&format!("kind = \"{kind}\"")), "{kind} has an example");
    }
}

#[test]
fn every_open_point_has_its_row() {
    for number in 1..=22 {
        assert_eq!(GUIDE.matches(&format!("\n| O{number} |")).count(), 1, "O{number}");
    }
}

#[test]
fn keys_of_open_points_exist() {
    let experiment = parse(SMALL).unwrap();
    let all = experiment.document().to_owned();
    for (table, key, value) in [
        ("semantics", "failover_drain", "\"300s\""),
        ("semantics", "zonal_affinity_text", "\"PREVIEW_2025\""),
        ("semantics", "portless_fragments", "\"forward\""),
        ("health_check", "initial_state", "\"HEALTHY\""),
        ("health_check", "propagation_delay", "\"3s\""),
        ("health_check", "probers", "{ count = 3, verdict = \"majority\" }"),
        ("backend_service", "maglev_table_size", "251"),
        ("backend_service", "network_security_integration", "\"NONE\""),
    ] {
        assert!(GUIDE.contains(&format!("`{table}.{key}`")), "{table}.{key}");
        super::parse_with(&all, &super::set(&[(&format!("{table}.{key}"), value)])).unwrap();
    }
}

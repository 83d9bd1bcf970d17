//! The guide in `docs/settings.md`: its examples are right, and it leaves out no open point and no verb.

use super::{POOLS, SMALL, changed, parse, scenario};
use crate::experiment::{Overrides, key, keys};

const GUIDE: &str = include_str!("../../../docs/settings.md");
/// Of regions with several load balancers.
const REGIONS: &str = include_str!("../../../docs/regions.md");

/// The TOML of the guide, block by block.
fn blocks() -> Vec<&'static str> {
    blocks_of(GUIDE)
}

fn blocks_of(guide: &'static str) -> Vec<&'static str> {
    let starts = guide.split("```toml\n").skip(1);
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

/// The region of the guide.
pub(super) fn region() -> &'static str {
    blocks_of(REGIONS)[0]
}

/// What the guide adds to it for a route.
pub(super) fn route() -> &'static str {
    blocks_of(REGIONS)[2]
}

#[test]
fn the_region_is_what_it_says() {
    let [region, arms, route, operations] = blocks_of(REGIONS)[..] else { panic!("four examples") };
    let world = scenario(region);
    let names = |found: &[&str]| found.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let balancers: Vec<String> = world.balancers.iter().map(|balancer| balancer.name.clone()).collect();
    assert_eq!(balancers, names(&["web", "dns", "www"]), "what rules lead to");
    let rules: Vec<String> = world.rules.iter().map(|rule| rule.name.clone()).collect();
    assert_eq!(rules, names(&["web-tcp", "dns-udp", "www-tcp"]));
    let lanes: Vec<usize> = world.clients.iter().map(|client| client.lanes.count()).collect();
    assert_eq!(lanes, [2, 1], "each rule takes one of the protocols");
    let routed = scenario(&format!("{region}{route}"));
    let group = routed.clients.iter().last().unwrap();
    let hop = group.next_hop.unwrap();
    let name = |rule| routed.rules[rule].name.clone();
    assert_eq!(hop.destination, 0x0A01_0000);
    assert_eq!(group.lanes.rules().into_iter().map(name).collect::<Vec<_>>(), names(&["fw-in"]));
    assert_eq!(hop.answers.map(|hop| name(hop.rule)), Some("fw-out".to_owned()));
    let arms = parse(&format!("{region}{arms}")).unwrap();
    let targets: Vec<String> = arms
        .cells()
        .iter()
        .map(|cell| {
            let world = arms.scenario(cell);
            world.balancers[world.rules.iter().last().unwrap().balancer.unwrap()].name.clone()
        })
        .collect();
    assert_eq!(targets, names(&["www", "late"]));
    let written = operations.matches("{ at = ").count();
    let operated = scenario(&format!("{operations}{region}"));
    assert_eq!(operated.operations.len(), written);
    assert_eq!(operated.rules.len(), 4, "one comes later");
    assert_eq!(operated.backends.len(), world.backends.len() + 1, "and a machine");
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
        let mut blocks = blocks().into_iter().chain(blocks_of(REGIONS));
        assert!(blocks.any(|block| block.contains(&format!("do = \"{verb}\""))), "{verb}");
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

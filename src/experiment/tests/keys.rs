//! The table of keys, held to what the reader does: every row is true, and no key has none.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{POOLS, parse_with};
use crate::experiment::node::Node;
use crate::experiment::path::NamePath;
use crate::experiment::world::APART;
use crate::experiment::{Experiment, ExperimentError, KeyBound, KeyRow, Overrides, key, keys};
use crate::sim::scenario::Scenario;
use crate::time::SimDuration;

/// An experiment in which most keys can be set.
const BASE: &str = r#"name = "keys"
[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
[[network.links]]
between = ["us-central1-a", "us-central1-b"]
rtt = { constant = "1ms" }
[backend_service]
zonal_affinity = { spillover = "SPILL_CROSS_ZONE" }
backends = [{ group = "ig-a", zone = "us-central1-a" }, { group = "ig-b", zone = "us-central1-b" }]
[[clients]]
name = "web-a"
kind = "vm"
zone = "us-central1-a"
arrivals = { poisson = { rate = 20.0 } }
[[clients]]
name = "far"
kind = "vm"
region = "europe-west2"
arrivals = { poisson = { rate = 20.0 } }
[[clients]]
name = "own"
kind = "backend"
group = "ig-a"
arrivals = { poisson = { rate = 20.0 } }
[[faults]]
at = "5m"
target = { zone = "us-central1-a" }
[[arms]]
name = "spill"
[[thresholds]]
metric = "failure_ratio"
max = 0.01
"#;

/// What must be set before the keys at a path can be.
const CONTEXTS: &[(&str, &[(&str, &str)])] = &[
    (
        "backend_service.backends.<group>.weight",
        &[("backend_service.locality_lb_policy", "WEIGHTED_GCP_RENDEZVOUS"), ("health_check.type", "HTTP")],
    ),
    (
        "backend_service.backends.<group>.zones",
        &[
            ("backend_service.backends", "[{ group = \"ig-a\" }]"),
            ("clients", "[{ name = \"web-a\", kind = \"vpn\", arrivals = { poisson = { rate = 1.0 } } }]"),
        ],
    ),
    ("charts.<number>.facet", &[("sweep.\"clients.web-a.arrivals.poisson.rate\"", "[1.0, 2.0]")]),
    (
        "clients.<name>.fragmented",
        &[
            ("backend_service.protocol", "UNSPECIFIED"),
            ("forwarding_rule.ip_protocol", "UDP"),
            ("clients.web-a.protocol", "UDP"),
        ],
    ),
    ("clients.<name>.retry_backoff", &[("clients.web-a.retries", "1")]),
    ("faults.<number>.factor", &[("faults.0.kind", "slow")]),
    ("faults.<number>.added_rtt", LINK_DELAY),
    ("faults.<number>.target.link", LINK_DELAY),
    (
        "faults.<number>.probability",
        &[
            ("faults.0.kind", "link_loss"),
            ("faults.0.target", "{ link = [\"us-central1-a\", \"us-central1-b\"] }"),
        ],
    ),
    ("faults.<number>.batch", ROLLING),
    ("faults.<number>.pause", ROLLING),
    ("faults.<number>.grace", ROLLING),
    ("faults.<number>.restart", ROLLING),
    ("faults.<number>.random", &[("faults", "[{ target = { zone = \"us-central1-a\" } }]")]),
    ("faults.<number>.target.backends", &[("faults.0.target", "{}")]),
    ("faults.<number>.target.group", &[("faults.0.target", "{}")]),
    ("<distribution>.empirical.points", &[("network.other_region_rtt.empirical", "{}")]),
    ("simulation.precision.absolute", &[("simulation.precision", "{ metric = \"failure_ratio\" }")]),
    ("charts", &[("sweep.\"backend_service.zonal_affinity.spillover_ratio\"", "[0.25, 0.5]")]),
    ("charts.", &[("charts", "[{ metric = \"failure_ratio\", axis = \"spillover_ratio\" }]")]),
    (
        "sweep.<path>.",
        &[("sweep.\"backend_service.failover_policy.failover_ratio\"", "{ from = 0, to = 1, step = 0.1 }")],
    ),
    (
        "arms.<name>.sweep.<path>.",
        &[(
            "arms.spill.sweep.\"backend_service.failover_policy.failover_ratio\"",
            "{ from = 0, to = 1, step = 0.1 }",
        )],
    ),
    ("backend_service.health_check", &[("health_check.name", "http-80")]),
    ("forwarding_rules.<name>.target", &[("forwarding_rules.web-tcp.backend_service", "")]),
    ("forwarding_rules.<name>.port_range", POOL_RULE),
    ("instance_groups.<name>.zones", &[("instance_groups", "[{ name = \"ig-a\" }]")]),
    (
        "instance_groups.<name>.autoscaling_policy.",
        &[("instance_groups.ig-a.autoscaling_policy", "{ max_num_replicas = 10 }")],
    ),
    ("target_pools.<name>.instances.<name>.zones", &[("target_pools.www.instances", "[{ name = \"web\" }]")]),
];
const LINK_DELAY: &[(&str, &str)] = &[
    ("faults.0.kind", "link_delay"),
    ("faults.0.target", "{ link = [\"us-central1-a\", \"us-central1-b\"] }"),
    ("faults.0.added_rtt", "1ms"),
];
const POOL_RULE: &[(&str, &str)] =
    &[("forwarding_rules.web-tcp.backend_service", ""), ("forwarding_rules.web-tcp.target", "www")];
const ROLLING: &[(&str, &str)] = &[("faults.0.kind", "rolling_restart")];

/// Where a row is looked at in [`BASE`], or in [`POOLS`].
fn place(row: &KeyRow) -> String {
    let member = match row.path.as_str() {
        "clients.<name>.region" => "far",
        "clients.<name>.group" => "own",
        path if path.starts_with("health_checks.") => "http-80",
        path if path.starts_with("instances.") => "vm-7",
        path if path.starts_with("instance_groups.") => "ig-a",
        path if path.starts_with("network_endpoint_groups.") => "neg-a",
        path if path.starts_with("backend_services.") => "web",
        path if path.starts_with("forwarding_rules.") => "web-tcp",
        path if path.starts_with("routes.") => "firewalls",
        "clients.<name>.destination_range" => "spokes",
        _ => "web-a",
    };
    let distribution = if row.path.contains("geometric") {
        "clients.web-a.connection.requests"
    } else {
        "network.other_region_rtt"
    };
    let path = row.path.replace("<distribution>", distribution);
    let path = path
        .replace("target_pools.<name>", "target_pools.www")
        .replace("www.instances.<name>", "www.instances.web");
    let path = path.replace("arms.<name>", "arms.spill").replace("<name>", member).replace("<group>", "ig-a");
    path.replace("<path>", "\"backend_service.failover_policy.failover_ratio\"").replace("<number>", "0")
}

/// The experiment with `value` at the row's place, in a world where it can stand.
fn with(row: &KeyRow, value: Option<&str>) -> Result<Experiment, ExperimentError> {
    let mut set: Vec<(String, String)> = Vec::new();
    let contexts = CONTEXTS.iter().filter(|(path, _)| row.path.starts_with(path));
    set.extend(
        contexts
            .flat_map(|(_, settings)| *settings)
            .map(|(path, value)| (path.to_string(), value.to_string())),
    );
    let own = place(row);
    for above in keys().filter(|above| row.path.starts_with(&format!("{}.", above.path))) {
        let stands =
            ["backend_service", "region", "forwarding_rule", "network"].contains(&above.path.as_str());
        let place = place(above);
        if above.kind == "table"
            && !stands
            && set.iter().all(|(path, _)| !path.starts_with(&place))
            && own.starts_with(&place)
        {
            set.push((place, above.example.clone()));
        }
    }
    set.extend(value.map(|value| (own, value.to_owned())));
    let is_in = |table: &&str| row.path == **table || row.path.starts_with(&format!("{table}."));
    let text = if is_in(&"routes") || row.path == "clients.<name>.destination_range" {
        let web = "name = \"web-a\"\n";
        format!("{}{ROUTE}", REGION.replace(web, &format!("{web}to = \"web-tcp\"\n")))
    } else if APART.iter().any(is_in) || row.path == "clients.<name>.to" {
        REGION.to_owned()
    } else if ["target_pools", "forwarding_rule"].iter().any(is_in) {
        own_pools()
    } else {
        BASE.to_owned()
    };
    parse_with(&text, &Overrides { set, ..Overrides::default() })
}

/// A region in which most keys of resources that stand by themselves can be set.
const REGION: &str = r#"name = "keys"
[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b"]
[[health_checks]]
name = "http-80"
type = "HTTP"
[[health_checks]]
name = "legacy-80"
type = "LEGACY_HTTP"
[[instance_groups]]
name = "ig-a"
zone = "us-central1-a"
[[instances]]
name = "vm-7"
zone = "us-central1-b"
[[instances]]
name = "vm-8"
zone = "us-central1-a"
[[network_endpoint_groups]]
name = "neg-a"
zone = "us-central1-b"
[[backend_services]]
name = "web"
health_check = "http-80"
backends = [{ group = "ig-a" }]
[[target_pools]]
name = "www"
[[forwarding_rules]]
name = "web-tcp"
backend_service = "web"
[[clients]]
name = "web-a"
kind = "vm"
zone = "us-central1-a"
arrivals = { poisson = { rate = 20.0 } }
"#;

/// What it needs beside it for a route.
const ROUTE: &str = r#"
[[forwarding_rules]]
name = "fw-in"
backend_service = "web"
[[forwarding_rules]]
name = "fw-out"
backend_service = "web"
[[routes]]
name = "firewalls"
destination = "10.1.0.0/16"
next_hop = "fw-in"
return_next_hop = "fw-out"
[[clients]]
name = "spokes"
destination_range = "10.1.0.0/16"
kind = "vm"
zone = "us-central1-a"
arrivals = { poisson = { rate = 20.0 } }
"#;

/// [`POOLS`] with the names of the examples, and without what has a default.
fn own_pools() -> String {
    let text = [
        "maglev_table_size = 251\n",
        "session_affinity = \"CLIENT_IP\"\n",
        "size = 3\n",
        "health_checks = [\"default\"]\n",
    ];
    text.iter().fold(POOLS.replace("spare", "backup"), |pools, line| pools.replace(line, ""))
}

fn first(experiment: &Experiment) -> Arc<Scenario> {
    experiment.scenario(&experiment.cells()[0])
}

#[test]
fn every_row_says_what_its_key_does() {
    for row in keys() {
        assert!(!row.description.is_empty(), "{} has a description", row.path);
        let says_default = row.description.contains("Default:");
        assert!(!(says_default && row.default.is_some()), "{} has its default twice", row.path);
        let is_table =
            row.kind.ends_with("table") || row.path.ends_with("<path>") || row.path.starts_with("<dist");
        let is_known = row.is_required || row.default.is_some() || says_default || is_table;
        assert!(is_known || !row.operations.is_empty(), "{}: what holds without it?", row.path);
    }
    let paths: BTreeSet<&str> = keys().map(|row| row.path.as_str()).collect();
    assert_eq!(paths.len(), keys().count(), "every key stands once");
}

#[test]
fn defaults_are_what_holds_without_them() {
    for row in keys() {
        let Some(default) = row.default.as_ref().filter(|_| !row.path.starts_with("operations.")) else {
            continue;
        };
        let (explicit, silent) = (with(row, Some(default)), with(row, None));
        let explicit = explicit.unwrap_or_else(|error| panic!("{} = {default}: {error}", row.path));
        let silent = silent.unwrap_or_else(|error| panic!("without {}: {error}", row.path));
        assert!(first(&explicit) == first(&silent), "{} = {default} changes the scenario", row.path);
        let whole = |experiment: &Experiment| {
            (experiment.seed(), experiment.replications(), format!("{:?}", experiment.precision()))
        };
        assert_eq!(whole(&explicit), whole(&silent), "{} = {default}", row.path);
    }
}

#[test]
fn examples_are_accepted_where_they_stand() {
    let mut wrong = Vec::new();
    for row in keys() {
        // Files that are not there, a product that is not simulated, values beside a range, operations, each of which needs a
        // story.
        let stories = ["file", "empirical", "trace", "ha_policy", "set.<path>", "<path>.values"];
        // The API takes no capacity of these services, and a region makes them as it does.
        let is_refused = row.path == "backend_services.<name>.backends.<group>.capacity_scaler";
        let is_story = stories.iter().any(|end| row.path.ends_with(end));
        if row.path.starts_with("operations.") || is_story || is_refused {
            continue;
        }
        if let Err(error) = with(row, Some(&row.example)) {
            wrong.push(format!("{} = {}: {error}", row.path, row.example));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The value nearest to `bound` that is out of range, `sign` being the direction there.
fn outside(row: &KeyRow, bound: &KeyBound, sign: i64) -> String {
    let value = match (bound.value.parse::<f64>(), row.kind.contains("whole")) {
        _ if !bound.is_included => bound.value.clone(),
        (Ok(bound), true) => (bound as i64 + sign).to_string(),
        (Ok(bound), false) if sign < 0 => format!("{:?}", bound.next_down()),
        (Ok(bound), false) => format!("{:?}", bound.next_up()),
        (Err(_), _) => {
            let bound: SimDuration = bound.value.parse().unwrap();
            SimDuration::from_nanos(bound.as_nanos().saturating_add_signed(sign)).to_string()
        }
    };
    if row.kind.starts_with("list") { format!("[{value}, 5.0]") } else { value }
}

#[test]
fn values_just_out_of_range_are_refused() {
    let mut wrong = Vec::new();
    for row in keys() {
        let ends = [(&row.least, -1), (&row.most, 1)];
        for (bound, sign) in ends.into_iter().filter_map(|(bound, sign)| Some((bound.as_ref()?, sign))) {
            let value = outside(row, bound, sign);
            let error = with(row, Some(&value)).err().map(|error| error.to_string()).unwrap_or_default();
            let name = row.path.rsplit('.').next().unwrap();
            if !error.contains(name) {
                wrong.push(format!("{} = {value} is refused: {error}", row.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_the_keys_that_the_reader_knows() {
    let mut wrong = Vec::new();
    for table in keys().filter(|row| row.kind.ends_with("table") || row.is_distribution()) {
        let list = table.kind.starts_with("list");
        let begin = match (table.is_distribution(), list) {
            (true, _) => "<distribution>.".to_owned(),
            (_, true) => keys()
                .find_map(|row| {
                    let rest = row.path.strip_prefix(&format!("{}.<", table.path))?;
                    Some(format!("{}.<{}.", table.path, rest.split_once('>')?.0.to_owned() + ">"))
                })
                .unwrap(),
            _ => format!("{}.", table.path),
        };
        let own: BTreeSet<&str> = keys()
            .filter_map(|row| row.path.strip_prefix(&begin))
            .filter(|name| !name.contains('.'))
            .collect();
        // The keys of operations depend on what they do, and those of axes and sets are paths.
        if own.is_empty() || own.contains("<path>") || table.path.starts_with("operations") {
            continue;
        }
        let error = with(table, Some(if list { "[{ zzzzzzzz = 1 }]" } else { "{ zzzzzzzz = 1 }" }))
            .unwrap_err()
            .to_string();
        let help = error.lines().rfind(|line| line.contains("help: ")).unwrap_or_else(|| panic!("{error}"));
        let known: BTreeSet<&str> = help.rsplit(": ").next().unwrap().split(", ").collect();
        if own != known {
            wrong.push(format!("{}: {own:?}, {error}", table.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The paths of all keys of a table, with names for members, where they can be set so.
fn paths(node: Node<'_>, path: &[String], found: &mut Vec<Vec<String>>) {
    for (name, value) in node.entries() {
        let path = [path, &[name.to_owned()]].concat();
        found.push(path.clone());
        paths(value, &path, found);
        for (index, member) in value.members().into_iter().flatten().enumerate() {
            paths(member, &[&path[..], &[index.to_string()]].concat(), found);
        }
    }
}

#[test]
fn every_key_of_every_experiment_has_its_row() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(files.len() > 5);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let document = toml_edit::Document::parse(text.as_str()).unwrap();
        let mut found = Vec::new();
        paths(Node::Table(document.as_table()), &[], &mut found);
        for path in found {
            let is_value_of_set =
                path[0] == "arms" && path.get(2).is_some_and(|key| key == "set") && path.len() > 4;
            assert!(is_value_of_set || key(&path).is_some(), "{}: {path:?}", file.display());
            // A path among the keys leads to a key itself.
            let named = path.last().filter(|name| name.contains('.')).and_then(|name| NamePath::parse(name));
            let named = named.filter(|_| ["arms", "sweep"].contains(&path[0].as_str()));
            assert!(named.is_none_or(|named| key(named.parts()).is_some()), "{}: {path:?}", file.display());
        }
    }
}

/// Whether a key, or the end of a path, is called so.
fn is_called(name: &str) -> bool {
    let end = format!(".{name}");
    keys().any(|row| row.path == name || row.path.ends_with(&end))
}

/// What stands in the code spans of the pages as a key and its value, or as a key below its table.
#[test]
fn pages_name_keys_of_the_table() {
    let tables: BTreeSet<&str> = keys().filter_map(|row| row.path.split('.').next()).collect();
    let pages = [include_str!("../../../README.md"), include_str!("../../../docs/settings.md")];
    let spans =
        pages.iter().flat_map(|page| page.lines()).flat_map(|line| line.split('`').skip(1).step_by(2));
    let mut wrong = Vec::new();
    let mut seen = 0;
    for span in spans {
        let name = span.split(" = ").next().unwrap_or_default().trim_start_matches("{ ");
        let is_path =
            name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '.') && !name.is_empty();
        let is_below_a_table = name.split_once('.').is_some_and(|(table, _)| tables.contains(table));
        if is_path && (span.contains(" = ") || is_below_a_table) {
            seen += 1;
            wrong.extend(
                (!is_called(name) && key(&name.split('.').collect::<Vec<_>>()).is_none()).then_some(span),
            );
        }
    }
    assert!(wrong.is_empty() && seen > 30, "{seen} seen, not in the table: {wrong:?}");
}

#[test]
fn what_holds_for_the_whole_experiment_is_no_axis_at_any_depth() {
    for path in
        ["name", "thresholds.0.max", "charts.0.axis", "simulation", "simulation.precision.relative", "sweep"]
    {
        let set = vec![(format!("arms.spill.set.\"{path}\""), "1".to_owned())];
        let error = parse_with(BASE, &Overrides { set, ..Overrides::default() }).unwrap_err().to_string();
        assert!(error.contains("holds for the whole experiment"), "{path}: {error}");
    }
}

//! Shares that follow exactly from the rules: who gets how many connections, and how many cross zones.

use super::{assert_binomial, experiment, outcomes};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::Scenario;

const HEAD: &str = r#"
    name = "shares"
    region = { name = "r", zones = ["a", "b", "c"] }
    network = { same_zone_rtt = { constant = "1ms" }, cross_zone_rtt = { constant = "1ms" } }
    server = { workers = "unlimited", service_time = { constant = "1ms" } }
    health_check = { check_interval = "1s", timeout = "1s", initial_state = "HEALTHY" }
"#;

const ARMS: &str = r#"
    [[arms]]
    name = "disabled"
    [[arms]]
    name = "stay"
    set = { "backend_service.zonal_affinity.spillover" = "STAY_WITHIN_ZONE" }
    [[arms]]
    name = "spill"
    set = { "backend_service.zonal_affinity.spillover" = "SPILL_CROSS_ZONE" }
    sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.0, 0.25, 0.5, 0.75, 1.0] }
"#;

fn client(zone: &str, rate: f64) -> String {
    format!(
        r#"
        [[clients]]
        name = "web-{zone}"
        kind = "vm"
        zone = "{zone}"
        addresses = 500
        arrivals = {{ poisson = {{ rate = {rate:?} }} }}
        connection = {{ requests = {{ constant = 1 }} }}
        connect_timeout = "1s"
        "#
    )
}

fn groups(sizes: [usize; 3]) -> String {
    ["a", "b", "c"]
        .iter()
        .zip(sizes)
        .map(|(zone, size)| {
            format!("[[backend_service.backends]]\ngroup = \"{zone}\"\nzone = \"{zone}\"\nsize = {size}\n")
        })
        .collect()
}

/// Connections that went to a backend of another zone.
fn crossing(scenario: &Scenario, outcome: &Outcome) -> u64 {
    let rows = outcome.traffic.pairs().flat_map(|(client, row)| {
        let home = scenario.places[scenario.clients[scenario.lanes()[client].0].place].zone;
        row.pairs().filter(move |(zone, _)| *zone != home)
    });
    rows.map(|(_, traffic)| traffic.connections).sum()
}

/// The table of expected shares, cell by cell. A cell: load of one healthy backend of zone a / of one of b or c, over the
/// mean of all twelve; the share that crosses zones, in per cent; the share sent to unhealthy backends, in per cent.
/// Columns: 4, 3, 2, 1 and 0 healthy backends in zone a. The exact values are fractions; these are rounded.
const EXPECTED: &str = "
disabled   | 1.000 1.000 66.67 0 | 1.091 1.091 66.67 0 | 1.200 1.200 66.67 0 | 1.333 1.333 66.67 0 | - 1.500 66.67 0
stay       | 1.000 1.000  0.00 0 | 1.333 1.000  0.00 0 | 2.000 1.000  0.00 0 | 4.000 1.000  0.00 0 | - 1.000  0.00 33.33
spill 0    | 1.000 1.000  0.00 0 | 1.333 1.000  0.00 0 | 2.000 1.000  0.00 0 | 4.000 1.000  0.00 0 | - 1.500 33.33 0
spill 0.25 | 1.000 1.000  0.00 0 | 1.333 1.000  0.00 0 | 2.000 1.000  0.00 0 | 4.000 1.000  0.00 0 | - 1.500 33.33 0
spill 0.5  | 1.000 1.000  0.00 0 | 1.333 1.000  0.00 0 | 2.000 1.000  0.00 0 | 0.444 1.444 29.63 0 | - 1.500 33.33 0
spill 0.75 | 1.000 1.000  0.00 0 | 1.333 1.000  0.00 0 | 0.400 1.400 26.67 0 | 0.444 1.444 29.63 0 | - 1.500 33.33 0
spill 1    | 1.000 1.000  0.00 0 | 0.364 1.364 24.24 0 | 0.400 1.400 26.67 0 | 0.444 1.444 29.63 0 | - 1.500 33.33 0
";

#[test]
fn section_10_three_zones_of_four_backends() {
    let rows: Vec<Vec<&str>> =
        EXPECTED.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').collect()).collect();
    for down in 0..=4 {
        let dead: Vec<String> = (1..=down).map(|member| format!("\"a-{member}\"")).collect();
        let fault = match down {
            0 => String::new(),
            _ => format!("[[faults]]\nat = \"0s\"\ntarget = {{ backends = [{}] }}\n", dead.join(", ")),
        };
        let clients: String = ["a", "b", "c"].iter().map(|zone| client(zone, 100.0)).collect();
        let simulation = r#"simulation = { replications = 1, warmup = "10s", duration = "100s" }"#;
        let experiment =
            experiment(&[simulation, HEAD, &groups([4, 4, 4]), &clients, &fault, ARMS].join("\n"));
        for (cell, outcomes) in experiment.cells().iter().zip(outcomes(&experiment)) {
            let row = &rows[cell.index];
            let numbers: Vec<&str> = row[down + 1].split_whitespace().collect();
            let what = format!("{} with {down} down in zone a", row[0].trim());
            check_cell(&experiment.scenario(cell), &outcomes[0], &numbers, down, &what);
        }
    }
}

fn check_cell(scenario: &Scenario, outcome: &Outcome, expected: &[&str], down: usize, what: &str) {
    let total = outcome.total().connections;
    let share = |per_cent: &str| match per_cent {
        "33.33" => 1.0 / 3.0,
        "66.67" => 2.0 / 3.0,
        _ => per_cent.parse::<f64>().unwrap() / 100.0,
    };
    assert_binomial(crossing(scenario, outcome), total, share(expected[2]), &format!("{what}: crossing"));
    assert_binomial(
        outcome.unhealthy_connections,
        total,
        share(expected[3]),
        &format!("{what}: to unhealthy"),
    );
    for (id, spec) in scenario.backends.pairs() {
        let healthy = !(1..=down).any(|member| spec.name == format!("a-{member}"));
        let multiple = if spec.name.starts_with('a') { expected[0] } else { expected[1] };
        if healthy {
            // Rounded to three digits, so the share is off by up to 0.0005 / 12; that is far below the noise.
            let share = multiple.parse::<f64>().unwrap() / 12.0;
            let connections = outcome.backends[id].traffic.connections;
            assert_binomial(connections, total, share, &format!("{what}: {}", spec.name));
        }
    }
}

#[test]
fn section_10_uneven_zones() {
    let clients = [client("a", 180.0), client("b", 75.0), client("c", 45.0)].concat();
    let simulation = r#"simulation = { replications = 1, warmup = "10s", duration = "100s" }"#;
    let experiment = experiment(&[simulation, HEAD, &groups([2, 3, 5]), &clients, ARMS].join("\n"));
    for (cell, outcomes) in experiment.cells().iter().zip(outcomes(&experiment)) {
        let (scenario, outcome) = (experiment.scenario(cell), &outcomes[0]);
        let total = outcome.total().connections;
        let disabled = cell.arm == "disabled";
        let crossing_share = 0.6 * 0.8 + 0.25 * 0.7 + 0.15 * 0.5;
        assert!((crossing_share - 0.73_f64).abs() < 1e-12);
        let expected = if disabled { crossing_share } else { 0.0 };
        assert_binomial(crossing(&scenario, outcome), total, expected, &cell.arm);
        for (id, spec) in scenario.backends.pairs() {
            let of_zone = match (disabled, &spec.name[..1]) {
                (true, _) => 1.0,
                (false, "a") => 3.0,
                (false, "b") => 0.25 / 3.0 * 10.0,
                (false, _) => 0.3,
            };
            let connections = outcome.backends[id].traffic.connections;
            assert_binomial(connections, total, of_zone / 10.0, &format!("{} {}", cell.arm, spec.name));
        }
    }
}

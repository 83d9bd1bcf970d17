//! `zonesim expect`: shares that follow from the rules, and what they leave out.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::compare::four_a_zone;
use crate::{SMALL, assert_status, stderr, stdout, zonesim};

fn ask(text: &str, args: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file.toml"), text).unwrap();
    zonesim(folder.path(), &[&["expect", "file.toml"], args].concat())
}

#[test]
fn every_state_and_the_mean_are_those_of_the_rules() {
    // Two zones of two backends, up 60 / 75 = 0.8 of the time; all clients in zone a.
    let output = ask(SMALL, &["--format", "json"]);
    assert_status(&output, 0);
    let cells: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(cells.as_array().unwrap().len(), 4);
    for cell in cells.as_array().unwrap() {
        assert_eq!(cell["states"].as_array().unwrap().len(), 9);
        let total: f64 =
            cell["states"].as_array().unwrap().iter().map(|s| s["probability"].as_f64().unwrap()).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }
    let mean = |cell: usize, name: &str| cells[cell]["mean"][name].as_f64().unwrap();
    // Ratio 0.0 spills when both of zone a are down (0.04) unless all four are (0.0016: all are in zone a, unhealthy).
    assert!((mean(1, "spilled_connection_ratio") - (0.04 - 0.0016)).abs() < 1e-12);
    assert!((mean(1, "cross_zone_connection_ratio") - 0.0384).abs() < 1e-12);
    // Ratio 1.0 spills when one is down too (0.32): to that one's partner and what is up in zone b.
    let by_b = 0.64 * 2.0 / 3.0 + 0.32 / 2.0;
    assert!((mean(3, "cross_zone_connection_ratio") - (0.32 * by_b + 0.0384)).abs() < 1e-12);
    assert!(mean(2, "cross_zone_connection_ratio") < mean(3, "cross_zone_connection_ratio"));
}

#[test]
fn formats_agree_and_the_table_says_what_is_left_out() {
    let csv = stdout(&ask(SMALL, &["--format", "csv", "--arm", "spill"]));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3 * (9 + 1));
    assert_eq!(
        (rows[0]["kind"].as_str(), rows[0]["cross_zone_connection_ratio"].as_str()),
        ("mean", "0.0384")
    );
    let table = stdout(&ask(SMALL, &[]));
    for part in ["Long-run mean", "spill 0.0 … spill 0.5 (2 cells)", "2 + 2", "41 %", "detected is left out"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    let faulty = stdout(&ask(&four_a_zone(), &["--set", "backend_service.session_affinity=CLIENT_IP"]));
    assert!(faulty.contains("1 scripted faults") && faulty.contains("CLIENT_IP"), "{faulty}");
    for (args, part) in [
        (&["--arm", "spil"][..], "did you mean \"spill\"?"),
        (&["--set", "clients.web-b.addresses=5"], "web-a"),
    ] {
        let output = ask(SMALL, args);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn a_run_says_where_it_disagrees_with_the_rules() {
    let run = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file.toml"), text).unwrap();
        let output = zonesim(folder.path(), &["run", "file.toml", "--no-charts", "--replications", "10"]);
        assert_status(&output, 0);
        stderr(&output)
    };
    let note = "is expected from the rules alone";
    // Nothing fails: half of the connections cross, or none.
    let steady: String =
        SMALL.lines().filter(|line| !line.starts_with("failures")).collect::<Vec<_>>().join("\n");
    assert!(!run(&steady).contains(note), "{}", run(&steady));
    // Checks every five minutes miss what is down for a quarter of one.
    let warm = SMALL.replacen("warmup = \"10s\"", "warmup = \"60s\"", 1);
    let blind = format!(
        "{warm}\n[health_check]\ncheck_interval = \"300s\"\ntimeout = \"1s\"\ninitial_state = \"HEALTHY\"\n"
    );
    let said = run(&blind);
    assert!(said.contains(note) && said.contains("spilled_connection_ratio is 0 %"), "{said}");
    // Where the two don't speak of the same, nothing is said.
    assert!(!run(&blind.replacen("\"60s\"", "\"20s\"", 1)).contains(note));
}

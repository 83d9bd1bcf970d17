//! What is counted, and when.

use std::path::Path;

use super::{case, column, mean, run_case};
use crate::{assert_status, stderr, stdout, zonesim};

const MONTH_S: f64 = 730.0 * 3600.0;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

#[test]
fn bytes_and_dollars_do_not_depend_on_when_connections_began() {
    // 40 clients ask for 1 MB and 2 KiB each second and 6 ms: the mean service time, and round trips.
    let folder = case("long-lived-connections");
    let rate = 40.0 / (1.0 + 0.005 + 0.0002) * (1e6 + 2048.0);
    let expected = rate * MONTH_S / GIB * 0.01;
    for setting in [None, Some("clients.pool.connection.requests.constant=600"), Some("simulation.warmup=0s")]
    {
        let more = setting.map_or(Vec::new(), |setting| vec!["--set", setting]);
        let output = run_case(folder.path(), "long-lived-connections", &more);
        let found = mean(folder.path(), "cross_zone_usd_per_month");
        // Requests of the first and the last second may be in or out.
        assert!((found / expected - 1.0).abs() < 0.005, "{setting:?}: {found}, {expected} expected");
        let began = mean(folder.path(), "connections") > 0.0;
        assert_eq!(
            stderr(&output).contains("no connection began in the measured window"),
            !began,
            "{setting:?}"
        );
        assert!(began || stderr(&output).contains("of the 40 that were open on average"));
    }
}

#[test]
fn runs_and_timeline_agree_on_what_breaks() {
    let folder = case("connections-broken-in-the-window");
    run_case(folder.path(), "connections-broken-in-the-window", &[]);
    let broken = mean(folder.path(), "broken_connections");
    // A Poisson number of mean 610 is open at the drain; half of them are on zone b. Three replications.
    assert!((broken - 305.0).abs() < 4.0 * (305.0_f64 / 3.0).sqrt(), "{broken}");
    let per_s = column(folder.path(), "timeline.csv", "failed_per_s");
    let of_timeline: f64 = per_s.iter().map(|rate| rate * 10.0).sum();
    assert!((of_timeline - broken).abs() < 1e-4 * broken, "{of_timeline} and {broken}");
    let by_cause = ["no_backend", "connect_timeout", "refused", "reset", "request_timeout", "queue_full"];
    let causes: f64 = by_cause.iter().map(|cause| mean(folder.path(), &format!("broken_{cause}"))).sum();
    assert!((causes - broken).abs() < 1e-9, "{causes}");
    // Those that begin in the window and break later in it are fewer, and have an account of their own.
    assert!(mean(folder.path(), "failed_connections") < broken / 4.0);
}

/// The rows of `zones.csv` for one zone: the mean of a column over replications.
fn zone(folder: &Path, zone: &str, role: &str, column: &str) -> f64 {
    let mut reader = csv::Reader::from_path(folder.join("out/zones.csv")).expect("the file is there");
    let header = reader.headers().expect("a header").clone();
    let at = |name: &str| header.iter().position(|column| column == name).expect("the column is there");
    let rows = reader.records().map(|row| row.expect("a row"));
    let values: Vec<f64> = rows
        .filter(|row| &row[at("zone")] == zone && &row[at("role")] == role)
        .map(|row| row[at(column)].parse().unwrap_or(f64::NAN))
        .collect();
    assert!(!values.is_empty(), "{zone} {role}");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_backup_that_takes_over_carries_what_all_primaries_carried() {
    let folder = case("overload-of-the-backup");
    run_case(folder.path(), "overload-of-the-backup", &[]);
    assert!((zone(folder.path(), "b", "failover", "load_multiple") - 3.0).abs() < 1e-9);
    // 100 connections a second of 3 requests of 10 ms for 4 workers.
    let offered = zone(folder.path(), "b", "failover", "offered_load");
    assert!((offered - 0.75).abs() < 0.01, "{offered}");
    let utilization = zone(folder.path(), "b", "failover", "utilization");
    assert!((utilization - 0.75).abs() < 0.01, "{utilization}");
    // Before: the same work on three.
    let healthy = zonesim(
        folder.path(),
        &[
            "run",
            "overload-of-the-backup.toml",
            "--out",
            "out",
            "--no-charts",
            "--force",
            "--set",
            "faults=[]",
        ],
    );
    assert_status(&healthy, 0);
    let before = zone(folder.path(), "a", "primary", "utilization");
    assert!((before - 0.25).abs() < 0.01, "{before}");
}

#[test]
fn a_zone_beside_a_dead_one_carries_its_own_share() {
    let folder = case("load-of-a-zone-beside-a-dead-one");
    run_case(folder.path(), "load-of-a-zone-beside-a-dead-one", &[]);
    let alive = zone(folder.path(), "us-central1-b", "primary", "load_multiple");
    // Half of some 36 000 connections.
    assert!((alive - 1.0).abs() < 4.0 / 36_000_f64.sqrt(), "{alive}");
    assert!(zone(folder.path(), "us-central1-a", "primary", "utilization").is_nan(), "none serves there");
    let output =
        zonesim(folder.path(), &["expect", "load-of-a-zone-beside-a-dead-one.toml", "--format", "json"]);
    assert_status(&output, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(json[0]["mean"]["zone_load_max_over_mean"], 1.0, "{json}");
}

#[test]
fn weights_by_capacity_are_better() {
    let folder = case("load-of-weighted-backends");
    run_case(folder.path(), "load-of-weighted-backends", &[]);
    let output = zonesim(
        folder.path(),
        &["compare", "out", "--metric", "backend_load_max_over_mean", "--format", "json"],
    );
    assert_status(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("\"better\"") && !text.contains("\"worse\""), "{text}");
}

#[test]
fn overload_is_announced_before_anything_is_simulated() {
    let name = "overload-of-the-backup.toml";
    let folder = case("overload-of-the-backup");
    let busy = ["--set", "clients.c.arrivals.poisson.rate=150"];
    // 450 requests a second of 10 ms: three backups' worth of 4 workers is 37.5 %, and one is 112.5 %.
    for command in
        [&["run", name, "--dry-run"][..], &["run", name, "--out", "out", "--no-charts"], &["expect", name]]
    {
        let output = zonesim(folder.path(), &[command, &busy[..]].concat());
        assert_status(&output, 0);
        let (said, all) = (stderr(&output), stderr(&output) + &stdout(&output));
        for part in ["37.5 % → 0 %", "0 % → 112 %"] {
            assert!(all.contains(part), "{command:?}: {part}: {all}");
        }
        for part in
            ["offered load of b (failover) is above 100 %", "a connection of c makes 3 requests by default"]
        {
            assert!(said.contains(part), "{command:?}: {part}: {said}");
        }
    }
    assert_status(&zonesim(folder.path(), &["report", "out"]), 0);
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).expect("the page is there");
    for part in ["<h2>Offered load</h2>", "0 % → 112 %", "Warning: the offered load of b (failover)"] {
        assert!(page.contains(part), "{part}");
    }
    // Nothing is said of what is well.
    let calm = zonesim(
        folder.path(),
        &["run", name, "--dry-run", "--set", "clients.c.connection.requests.constant=1"],
    );
    assert!(
        !stderr(&calm).contains("above 100 %") && !stderr(&calm).contains("by default"),
        "{}",
        stderr(&calm)
    );
}

#[test]
fn what_no_check_sees_is_expected_all_the_same() {
    let folder = case("failures-that-no-check-sees");
    let output = zonesim(folder.path(), &["expect", "failures-that-no-check-sees.toml", "--format", "json"]);
    assert_status(&output, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    // Each node is dead half of the time, and nobody knows.
    assert_eq!(json[0]["mean"]["dead_connection_ratio"], 0.5, "{json}");
    assert_eq!(json[0]["mean"]["unhealthy_connection_ratio"], 0.0);
    assert_eq!(json[0]["states"].as_array().map(Vec::len), Some(1), "health can't tell states apart");
    run_case(folder.path(), "failures-that-no-check-sees", &[]);
    let failed = mean(folder.path(), "failure_ratio");
    // Of 200 minutes some ten cycles of two nodes, in five runs; what a failure breaks of those that were fine comes on top.
    assert!((failed - 0.5).abs() < 0.15, "{failed}");
}

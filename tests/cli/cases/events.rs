//! What happened when, and what followed from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{case, mean, run_case};
use crate::run::{rows, tables};
use crate::{assert_status, stderr, zonesim};

type Row = BTreeMap<String, String>;

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// The rows of `file` in the results of `folder` where these columns have these values.
fn rows_where(folder: &Path, file: &str, wanted: &[(&str, &str)]) -> Vec<Row> {
    let mut found = rows(&folder.join("out"), file);
    found.retain(|row| wanted.iter().all(|(column, value)| row[*column] == *value));
    found
}

/// The mean of a metric over the replications of an arm.
fn mean_of(folder: &Path, arm: &str, metric: &str) -> f64 {
    let runs = rows_where(folder, "runs.csv", &[("arm", arm)]);
    runs.iter().map(|row| number(row, metric)).sum::<f64>() / runs.len() as f64
}

/// Nine digits of a number of seconds within some hours.
const ROUNDING: f64 = 2e-5;

#[test]
fn hck_10_deaths_and_recoveries_are_noticed_when_the_law_says() {
    let name = "failures-that-are-noticed";
    let folder = case(name);
    run_case(folder.path(), name, &[]);
    let events = rows(&folder.path().join("out"), "events.csv");
    // What the probes of each backend have not told the load balancer yet.
    let mut latest: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    let (mut deaths, mut recoveries) = (Vec::new(), 0);
    for row in &events {
        let (of, time) = ([row["replication"].as_str(), row["subject"].as_str()], number(row, "time_s"));
        match row["event"].as_str() {
            "failed" | "recovered" => _ = latest.insert(of, time),
            "noticed_unhealthy" => {
                let delay = number(row, "delay_s");
                assert!(delay > 10.0 && delay <= 15.001, "{row:?}");
                assert!(latest.get(&of).is_none_or(|at| (time - at - delay).abs() < ROUNDING), "{row:?}");
                deaths.push(delay);
            }
            "noticed_healthy" => {
                let delay = number(row, "delay_s");
                // A probe under way sends SYNs up to 3 s after its start: back later than that, the next one is the first.
                assert!(delay > 2.0 && delay <= 7.001, "{row:?}");
                assert!(latest.get(&of).is_none_or(|at| (time - at - delay).abs() < ROUNDING), "{row:?}");
                recoveries += 1;
            }
            "decision" => assert!(row["detail"].contains(" → "), "{row:?}"),
            other => panic!("nothing else happens: {other}"),
        }
    }
    // Six backends, four hours, a failure every 22 minutes on average.
    assert!(deaths.len() > 30 && recoveries > 30, "{} {recoveries}", deaths.len());
    let longest = deaths.iter().copied().fold(0.0, f64::max);
    let runs = rows(&folder.path().join("out"), "runs.csv");
    let most = runs.iter().map(|row| number(row, "detection_max_seconds")).fold(0.0, f64::max);
    assert!((most - longest).abs() < ROUNDING, "{most} {longest}");
    let decided = events.iter().filter(|row| row["event"] == "decision").count() as f64;
    assert!((mean(folder.path(), "decision_changes") * runs.len() as f64 - decided).abs() < 1e-6);
    assert!(decided > 10.0, "one backend of three makes a's clients spill");
    assert!(events.iter().all(|row| row["event"] != "decision" || row["subject"] == "a"), "and nobody else");
}

#[test]
fn time_without_service_is_that_of_the_policy() {
    let name = "outage-of-a-zone";
    let folder = case(name);
    run_case(folder.path(), name, &[]);
    let outage = |arm: &str| mean_of(folder.path(), arm, "outage_seconds");
    assert!((outage("stay") - 200.0).abs() < ROUNDING, "{}", outage("stay"));
    assert!((10.0..15.001).contains(&outage("spill")), "{}", outage("spill"));
    assert!(outage("disabled") < ROUNDING);
    let ended = rows_where(folder.path(), "events.csv", &[("event", "in_service"), ("arm", "stay")]);
    assert_eq!(ended.len(), 2, "one in each replication: {ended:?}");
    for row in &ended {
        assert_eq!((row["subject"].as_str(), row["cause"].as_str()), ("ca", "ga-1"));
        assert_eq!((number(row, "time_s"), number(row, "delay_s")), (300.0, 200.0));
    }
    // The spilling clients are served again when the last of the two is noticed.
    for row in rows_where(folder.path(), "events.csv", &[("event", "in_service"), ("arm", "spill")]) {
        let same = [("event", "decision"), ("arm", "spill"), ("replication", row["replication"].as_str())];
        let spilled = rows_where(folder.path(), "events.csv", &same);
        let times: Vec<&str> = spilled.iter().map(|row| row["time_s"].as_str()).collect();
        assert!(times.contains(&row["time_s"].as_str()), "{row:?} {spilled:?}");
    }
}

#[test]
fn clients_move_as_the_hash_function_says() {
    let name = "clients-that-move";
    let folder = case(name);
    run_case(folder.path(), name, &[]);
    let moved = |arm: &str| mean_of(folder.path(), arm, "remapped_client_ratio");
    let needless = |arm: &str| mean_of(folder.path(), arm, "needless_remap_ratio");
    // 256 clients in each of 40 replications; who moves there moves back.
    let keys = 256.0 * 40.0;
    let tolerance = |share: f64| 5.0 * (share * (1.0 - share) / keys).sqrt();
    assert!((moved("rendezvous") - 0.1).abs() < tolerance(0.1), "{}", moved("rendezvous"));
    assert!(needless("rendezvous") < 1e-12, "HASH-1: only its own, or to the new one");
    for arm in ["maglev", "five-tuple"] {
        assert!((moved(arm) - 0.102).abs() < tolerance(0.102), "{arm}: {}", moved(arm));
        // HASH-6 has 0.26 % as the mean over names; these are one set of names.
        assert!((0.0005..0.008).contains(&needless(arm)), "{arm}: {}", needless(arm));
    }
}

#[test]
fn roles_and_operations_stand_in_the_history() {
    let name = "failover-and-back";
    let folder = case(name);
    run_case(folder.path(), name, &[]);
    for replication in ["0", "1"] {
        let of = |event| {
            rows_where(folder.path(), "events.csv", &[("event", event), ("replication", replication)])
        };
        let roles = of("role");
        let subjects: Vec<&str> = roles.iter().map(|row| row["subject"].as_str()).collect();
        assert_eq!(subjects, ["failover", "primary"]);
        assert_eq!(roles[0]["detail"], "primary → failover");
        // Refusal is known with the second probe: after (5 s, 10 s].
        let delay = number(&roles[0], "delay_s");
        assert!(delay > 5.0 && delay <= 10.001, "{delay}");
        let served = number(&roles[1], "time_s") - number(&roles[0], "time_s");
        let runs = rows_where(folder.path(), "runs.csv", &[("replication", replication)]);
        assert!((number(&runs[0], "failover_seconds") - served).abs() < ROUNDING);
        assert!((number(&runs[0], "primary_seconds") + served - 600.0).abs() < ROUNDING);
        let operations = of("operation");
        assert_eq!(operations.len(), 1);
        assert_eq!(operations[0]["subject"], "set_failover_policy failover_ratio = 0.5");
        assert_eq!(operations[0]["time_s"], "540");
    }
    assert_eq!(mean(folder.path(), "idle_backends"), 0.0, "each served at some time");
}

#[test]
fn a_restart_is_one_failure_for_each_backend() {
    let name = "failover-and-back";
    let folder = case(name);
    let file = folder.path().join(format!("{name}.toml"));
    let text = fs::read_to_string(&file).unwrap();
    let restarted = text.replace("duration = \"5m\"\n", "").replace(
        "kind = \"refuse\"",
        "kind = \"rolling_restart\"\ngrace = \"20s\"\npause = \"10s\"\nrestart = \"5s\"",
    );
    fs::write(&file, restarted).unwrap();
    // A check that asks for a reply sees the grace too, and the restart that follows it is the same failure.
    for (check, length) in [("TCP", "5"), ("HTTP", "25")] {
        let set = format!("health_check.type={check}");
        run_case(folder.path(), name, &["--set", &set]);
        for event in ["failed", "recovered"] {
            let found = rows_where(folder.path(), "events.csv", &[("event", event), ("replication", "0")]);
            let subjects: Vec<&str> = found.iter().map(|row| row["subject"].as_str()).collect();
            assert_eq!(subjects, ["main-1", "main-2"], "{event}");
            assert!(event == "failed" || found.iter().all(|row| row["delay_s"] == length), "{found:?}");
        }
    }
}

#[test]
fn events_beyond_the_most_are_counted_and_announced() {
    let name = "failures-without-end";
    let folder = case(name);
    let output = run_case(folder.path(), name, &[]);
    let kept = rows(&folder.path().join("out"), "events.csv").len();
    assert_eq!(kept, 2 * 10_000);
    let manifest = fs::read_to_string(folder.path().join("out/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let left_out = manifest["events_left_out"][0]["events"].as_u64().unwrap();
    // Five backends turn every second for an hour.
    assert!(left_out >= 2 * (5 * 3599 - 10_000), "{left_out}");
    let said = format!("events.csv has the first 10000 events of each run: {left_out} of");
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
}

#[test]
fn a_trace_shows_every_failure_and_changes_nothing_else() {
    let name = "outage-of-a-zone";
    let folder = case(name);
    run_case(folder.path(), name, &["--set", "simulation.duration=5m"]);
    let without = tables(&folder.path().join("out"));
    run_case(folder.path(), name, &["--set", "simulation.duration=5m", "--trace", "1000000"]);
    assert_eq!(without, tables(&folder.path().join("out")));
    for arm in ["disabled", "stay", "spill"] {
        let packets = rows_where(folder.path(), "trace.csv", &[("arm", arm)]);
        let runs = rows_where(folder.path(), "runs.csv", &[("arm", arm), ("replication", "0")]);
        let ended = |how: &str| packets.iter().filter(|row| row["ended"] == how).count() as f64;
        let numbers: BTreeSet<&str> = packets.iter().map(|row| row["connection"].as_str()).collect();
        assert_eq!(numbers.len() as f64, number(&runs[0], "connections"), "{arm}");
        let causes = ["no_backend", "connect_timeout", "refused", "reset", "request_timeout", "queue_full"];
        for cause in causes {
            assert_eq!(ended(cause), number(&runs[0], &format!("failed_{cause}")), "{arm}: {cause}");
        }
        let over: f64 = causes.iter().map(|cause| ended(cause)).sum::<f64>() + ended("completed");
        assert_eq!(over, numbers.len() as f64, "{arm}: each ends once");
    }
    let lost = rows_where(folder.path(), "trace.csv", &[("arm", "stay"), ("ended", "connect_timeout")]);
    assert!(lost.iter().all(|row| row["client"] == "ca" && row["backend"].starts_with("ga-")), "{lost:?}");
    assert!(!lost.is_empty());
}

#[test]
fn a_trace_is_of_so_many_connections_and_of_a_whole_run() {
    let name = "outage-of-a-zone";
    let folder = case(name);
    run_case(folder.path(), name, &["--trace", "5"]);
    for arm in ["disabled", "stay", "spill"] {
        let packets = rows_where(folder.path(), "trace.csv", &[("arm", arm)]);
        let numbers: BTreeSet<&str> = packets.iter().map(|row| row["connection"].as_str()).collect();
        assert_eq!(numbers, BTreeSet::from(["1", "2", "3", "4", "5"]), "{arm}");
        assert!(packets.iter().all(|row| number(row, "time_s") >= 60.0), "the warm-up is not measured");
        let first: Vec<&str> = packets
            .iter()
            .filter(|row| row["connection"] == "1")
            .map(|row| row["packet"].as_str())
            .take(4)
            .collect();
        assert_eq!(first, ["syn", "syn-ack", "request", "response"]);
    }
    // A later job without one leaves no old one behind.
    run_case(folder.path(), name, &[]);
    assert!(!folder.path().join("out/trace.csv").exists());
    let file = format!("{name}.toml");
    for more in [["--trace", "0"], ["--shard", "1/2"]] {
        let output = zonesim(folder.path(), &[&["run", file.as_str(), "--trace", "1"], &more[..]].concat());
        assert_status(&output, 2);
    }
}

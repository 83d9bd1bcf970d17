//! Intervals, verdicts and recommendations that say no more than the replications do, and commands that end.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::{case, column, run_case};
use crate::compare::{four_a_zone, results_of};
use crate::crash::signal;
use crate::{assert_status, command, stderr, stdout, zonesim};

#[test]
fn a_limit_just_beside_an_estimate_is_answered() {
    let folder = results_of(&four_a_zone());
    let connections = mean_of(folder.path(), "disabled", "connections");
    // The smaller the gap, the more replications would decide: up to more than can be counted.
    for gap in ["0.3", "0.03", "0.003", "0.0003", "0.00001", "0"] {
        let limit = format!("connections<={}", connections - gap.parse::<f64>().unwrap());
        let args = ["recommend", "out", "--objective", "failure_ratio", "--subject-to", &limit];
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 3);
        assert!(stdout(&output).contains("replications would decide"), "{limit}: {}", stdout(&output));
    }
}

/// The mean of `metric` in the cell of `arm`, from the runs themselves.
fn mean_of(folder: &Path, arm: &str, metric: &str) -> f64 {
    let values = column(folder, "runs.csv", metric);
    let mut reader = csv::Reader::from_path(folder.join("out/runs.csv")).unwrap();
    let is_of = |row: Result<csv::StringRecord, csv::Error>| row.unwrap().iter().nth(1) == Some(arm);
    let own: Vec<f64> =
        reader.records().map(is_of).zip(values).filter(|(own, _)| *own).map(|(_, value)| value).collect();
    own.iter().sum::<f64>() / own.len() as f64
}

/// Waits for `child`, which has been told to end.
fn ended(child: &mut Child) -> Option<i32> {
    // A hundred times what it may take, so that a slow machine does not matter.
    for _ in 0..10_000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the signal does not end it");
}

#[test]
fn a_signal_ends_a_command_that_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["-TERM", "-INT"] {
        // Reading a pipe into which nobody writes takes for ever.
        let fifo = folder.path().join(format!("pipe{name}.toml"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut child = command(folder.path(), &["expect", fifo.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Opening the pipe waits for the command to open it, after it has begun to listen.
        let _writer = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        signal(&child, name);
        assert_eq!(ended(&mut child), Some(130), "{name}");
    }
}

/// Of `metric` in the cells of summary.csv: what stands in `field`.
fn summary(folder: &Path, metric: &str, field: &str) -> Vec<f64> {
    let values = column(folder, "summary.csv", field);
    let mut reader = csv::Reader::from_path(folder.join("out/summary.csv")).unwrap();
    let place = reader.headers().unwrap().iter().position(|name| name == "metric").unwrap();
    let rows = reader.records().map(|row| &row.unwrap()[place] == metric);
    rows.zip(values).filter(|(own, _)| *own).map(|(_, value)| value).collect()
}

#[test]
fn outages_that_no_replication_saw_are_not_excluded() {
    let folder = case("rare-outages");
    let said = stderr(&run_case(folder.path(), "rare-outages", &["--seed", "5"]));
    // Each of ten replications of 5 minutes is hit with probability 8 %: none is, by chance.
    assert_eq!(summary(folder.path(), "failure_ratio", "mean")[0], 0.0);
    let high = summary(folder.path(), "failure_ratio", "ci_high");
    assert!((high[0] - (1.0 - 0.05_f64.powf(0.1))).abs() < 1e-9, "{high:?}");
    assert!(said.contains("at most 25.9 %"), "{said}");
    let args = ["recommend", "out", "--objective", "cross_zone_usd_per_month"];
    let output = zonesim(folder.path(), &[&args[..], &["--subject-to", "failure_ratio<=1%"]].concat());
    assert_status(&output, 3);
    let text = stdout(&output);
    assert!(text.contains("no cell keeps to all constraints"), "{text}");
    assert!(
        text.contains("stay: not known; about 358 more replications would show it if there are none"),
        "{text}"
    );
}

#[test]
fn a_rare_event_that_is_not_seen_is_not_known_precisely() {
    let folder = case("precision-of-a-rare-event");
    let rare = "clients.x.arrivals.poisson.rate=3";
    let few = "simulation.precision.max_replications=20";
    let said = stderr(&run_case(folder.path(), "precision-of-a-rare-event", &["--set", rare, "--set", few]));
    assert!(said.contains("the precision is not reached"), "{said}");
    assert!(said.contains("base  0 % (at most 13.9 %)"), "{said}");
    assert_eq!(column(folder.path(), "runs.csv", "failure_ratio").len(), 20);
}

#[test]
fn estimates_differ_by_what_their_difference_says() {
    let folder = case("unequal-replications");
    // Cells end at different numbers of replications.
    run_case(folder.path(), "unequal-replications", &["--seed", "14"]);
    let counts = summary(folder.path(), "failure_ratio", "n");
    assert!(counts[0] != counts[1], "{counts:?}");
    let args = ["recommend", "out", "--objective", "failure_ratio", "--format", "json"];
    let output = zonesim(folder.path(), &args);
    assert_status(&output, 0);
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let found = &answer["sections"][0]["candidates"];
    let number = |index: usize, key: &str| found[index][key].as_f64().unwrap();
    assert!(number(1, "behind") >= 0.0, "the best is the first: {found}");
    let gap = number(1, "objective") - number(0, "objective");
    assert!((gap - number(1, "behind")).abs() < 1e-12, "{found}");
}

#[test]
fn a_world_that_remembers_its_start_says_so() {
    let folder = case("warmup-that-does-not-see-health");
    let name = "warmup-that-does-not-see-health";
    let said = stderr(&run_case(folder.path(), name, &[]));
    let warning = said.lines().find(|line| line.contains("has not forgotten that runs begin")).unwrap();
    assert!(warning.starts_with("warning: ") && warning.contains("repair takes 2h"), "{warning}");
    assert!(
        warning.contains("cross_zone_connection_ratio is 9.") && warning.contains("24.4 % in the long run"),
        "{warning}"
    );
    // With a warm-up that is long enough there is nothing to say.
    let long = run_case(folder.path(), name, &["--set", "simulation.warmup=8h", "--replications", "2"]);
    assert!(!stderr(&long).contains("has not forgotten"), "{}", stderr(&long));
}

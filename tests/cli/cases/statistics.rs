//! Intervals, verdicts and recommendations that say no more than the replications do, and commands that end.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::column;
use crate::compare::{four_a_zone, results_of};
use crate::crash::signal;
use crate::{assert_status, command, stdout, zonesim};

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

//! `precision`: cells get as many replications as it takes, and every way there gives the same bytes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::crash::{signal, wait_for_runs};
use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

/// Cells that differ in how many replications they take: the queue of the one is known sooner.
fn precise(keys: &str) -> String {
    let text = SMALL.replacen("replications = 2", &format!("precision = {{ {keys} }}"), 1);
    format!("{text}\n[sweep]\n\"server.workers\" = [2, 4]\n")
}

const LOAD: &str = "metric = \"peak_utilization\", relative = 0.1, confidence = 0.9, max_replications = 60";

fn manifest(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap()
}

/// How many runs each cell of a folder has.
fn counts(folder: &Path) -> Vec<usize> {
    let cells =
        rows(folder, "runs.csv").iter().map(|row| row["cell"].parse().unwrap()).collect::<Vec<usize>>();
    let number = cells.iter().max().unwrap() + 1;
    (0..number).map(|cell| cells.iter().filter(|other| **other == cell).count()).collect()
}

#[test]
fn every_way_to_a_precision_gives_the_same_bytes() {
    let folder = folder_with(&precise(LOAD));
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "small.toml", "--no-charts", "--out", out], more].concat();
        zonesim(folder.path(), &args)
    };
    let first = run("one", &["--jobs", "1"]);
    assert_status(&first, 0);
    let whole = folder.path().join("one");
    let found = counts(&whole);
    assert!(found.iter().all(|count| (15..=60).contains(count)), "{found:?}");
    assert!(found.iter().any(|count| *count != found[0]), "cells differ: {found:?}");
    let range =
        format!("means over {} to {} replications", found.iter().min().unwrap(), found.iter().max().unwrap());
    assert!(stderr(&first).contains(&range), "{}", stderr(&first));
    for jobs in ["2", "5"] {
        assert_status(&run(jobs, &["--jobs", jobs]), 0);
        assert_eq!(tables(&folder.path().join(jobs)), tables(&whole), "on {jobs} threads");
    }

    let entry = &manifest(&whole)["precision"];
    assert_eq!((&entry["metric"], &entry["relative"]), (&"peak_utilization".into(), &0.1.into()));
    assert_eq!(entry["fewest_replications"].as_u64(), found.iter().min().map(|count| *count as u64));
    assert_eq!(manifest(&whole)["replications"].as_u64(), found.iter().max().map(|count| *count as u64));
    assert_eq!(manifest(&whole)["finished_runs"].as_u64(), Some(found.iter().sum::<usize>() as u64));
    // What is in the folder runs to the same again, and everything that reads it can.
    assert_status(
        &zonesim(folder.path(), &["run", "one/experiment.toml", "--no-charts", "--out", "again"]),
        0,
    );
    assert_eq!(tables(&folder.path().join("again")), tables(&whole));
    for args in [
        &["compare", "one"][..],
        &["recommend", "one", "--objective", "cross_zone_usd_per_month"],
        &["plot", "one"],
        &["report", "one"],
    ] {
        assert_status(&zonesim(folder.path(), args), 0);
    }
    let page = fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("until cells were known well enough"));

    // Shards hold whole cells; some have nothing to do.
    for count in [3, 10] {
        let mut shards = Vec::new();
        for number in 1..=count {
            let out = format!("{number}-of-{count}");
            assert_status(&run(&out, &["--shard", &format!("{number}/{count}")]), 0);
            shards.push(out);
        }
        let merged = format!("merged-{count}");
        let all: Vec<&str> = shards.iter().map(String::as_str).collect();
        let output =
            zonesim(folder.path(), &[&["merge", "--no-charts", "--out", &merged], &all[..]].concat());
        assert_status(&output, 0);
        let merged = folder.path().join(merged);
        assert_eq!(tables(&merged), tables(&whole));
        assert_eq!(manifest(&merged)["precision"], manifest(&whole)["precision"]);
        assert_eq!(manifest(&merged)["finished_runs"], manifest(&whole)["finished_runs"]);
    }
}

#[test]
fn a_killed_job_is_resumed_to_the_same_bytes() {
    let folder = folder_with(&precise(LOAD).replacen("\"60s\"", "\"4m\"", 1));
    let args = |out| ["run", "small.toml", "--jobs", "2", "--no-charts", "--out", out];
    assert_status(&zonesim(folder.path(), &args("whole")), 0);
    for (out, runs) in [("early", 5), ("middle", 40), ("late", 115)] {
        let killed = folder.path().join(out);
        let mut child = command(folder.path(), &args(out)).stderr(Stdio::null()).spawn().unwrap();
        wait_for_runs(&mut child, &killed, runs);
        signal(&child, "-KILL");
        child.wait().unwrap();
        assert_status(&zonesim(folder.path(), &[&args(out)[..], &["--resume"]].concat()), 0);
        assert_eq!(tables(&killed), tables(&folder.path().join("whole")), "{out}");
    }
    // A merge of a shard that was stopped asks for the rest.
    let shard = ["run", "small.toml", "--jobs", "1", "--shard", "1/1", "--out", "shard"];
    let mut child = command(folder.path(), &shard).stderr(Stdio::null()).spawn().unwrap();
    wait_for_runs(&mut child, &folder.path().join("shard"), 5);
    signal(&child, "-KILL");
    child.wait().unwrap();
    let output = zonesim(folder.path(), &["merge", "shard", "--out", "merged"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("run it again with --resume"), "{}", stderr(&output));
}

#[test]
fn cells_that_do_not_get_there_are_named_and_that_is_no_error() {
    let folder = folder_with(&precise("metric = \"failure_ratio\", relative = 0.01, max_replications = 17"));
    let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts"]);
    assert_status(&output, 0);
    let text = stderr(&output);
    assert!(text.contains("warning: failure_ratio of arm `disabled` with workers = 2"), "{text}");
    assert!(text.contains("after 17 replications") && text.contains("max_replications"), "{text}");
    let results = folder.path().join("results/small");
    assert_eq!(counts(&results), [17; 8]);
    let missed = manifest(&results)["precision"]["not_reached"].clone();
    assert_eq!(missed.as_array().unwrap().len(), 8);
    assert!(missed[0]["half_width"].as_f64() > missed[0]["allowed_half_width"].as_f64(), "{missed}");
}

#[test]
fn replications_on_the_command_line_win_over_a_precision() {
    let folder = folder_with(&precise(LOAD));
    let output =
        zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--replications", "3", "--out", "out"]);
    assert_status(&output, 0);
    let results = folder.path().join("out");
    assert_eq!(counts(&results), [3; 8]);
    let kept = fs::read_to_string(results.join("experiment.toml")).unwrap();
    assert!(kept.contains("replications = 3") && !kept.contains("precision"), "{kept}");
    assert_eq!(manifest(&results).get("precision"), None);
}

#[test]
fn a_dry_run_says_how_many_runs_there_are_at_most() {
    let folder = folder_with(&precise(LOAD));
    let output = zonesim(folder.path(), &["run", "small.toml", "--dry-run"]);
    assert_status(&output, 0);
    let text = stderr(&output);
    assert!(text.contains("replications: 15 to 60") && text.contains("runs: at most 480"), "{text}");
    assert!(text.contains("peak_utilization within ±10 %"), "{text}");
    // 40 a second for 70 s, in at most 60 runs a cell.
    assert_eq!(stdout(&output).matches("168000").count(), 8, "{}", stdout(&output));
}

//! `zonesim run`: what it writes, and that the same seed gives the same bytes on every way there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

const TABLES: [&str; 7] = [
    "backends.csv",
    "decisions.csv",
    "latency.csv",
    "runs.csv",
    "summary.csv",
    "timeline.csv",
    "traffic.csv",
];

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), text).unwrap();
    folder
}

fn tables(folder: &Path) -> BTreeMap<String, String> {
    TABLES.iter().map(|name| ((*name).to_owned(), fs::read_to_string(folder.join(name)).unwrap())).collect()
}

/// The rows of a CSV file as maps from column to field.
fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join(name)).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn count(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

#[test]
fn results_are_the_same_whatever_the_threads_and_the_time() {
    let folder = folder_with(SMALL);
    let mut found = Vec::new();
    for (jobs, out) in [("1", "one"), ("2", "two"), ("2", "again"), ("5", "five")] {
        let output =
            zonesim(folder.path(), &["run", "small.toml", "--jobs", jobs, "--out", out, "--no-charts"]);
        assert_status(&output, 0);
        assert_eq!(stdout(&output), "", "no data goes to standard output");
        found.push(tables(&folder.path().join(out)));
    }
    assert!(found.iter().all(|tables| *tables == found[0]));
}

#[test]
fn the_folder_is_complete_and_adds_up() {
    let folder = folder_with(SMALL);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--set", "clients.web-a.addresses=7"]), 0);
    let results = folder.path().join("results/small");
    let runs = rows(&results, "runs.csv");
    assert_eq!(runs.len(), 4 * 2);
    for run in &runs {
        let of_run = |name: &str, column: &str| -> u64 {
            let same = |row: &&BTreeMap<String, String>| {
                row["cell"] == run["cell"] && row["replication"] == run["replication"]
            };
            rows(&results, name).iter().filter(same).map(|row| count(row, column)).sum()
        };
        for name in ["traffic.csv", "backends.csv", "decisions.csv"] {
            assert_eq!(of_run(name, "connections"), count(run, "connections"), "{name}");
        }
        for name in ["traffic.csv", "backends.csv"] {
            assert_eq!(of_run(name, "failed_connections"), count(run, "failed_connections"), "{name}");
            assert_eq!(of_run(name, "requests"), count(run, "requests"), "{name}");
        }
        let causes = run.keys().filter(|name| name.starts_with("failed_") && *name != "failed_connections");
        assert_eq!(causes.map(|cause| count(run, cause)).sum::<u64>(), count(run, "failed_connections"));
        assert_eq!(
            run["spillover_ratio"].is_empty(),
            run["arm"] == "disabled",
            "an axis that an arm lacks is empty"
        );
    }
    assert!(runs.iter().any(|run| count(run, "failed_connections") > 0), "the test sees failures");

    let experiment = fs::read_to_string(results.join("experiment.toml")).unwrap();
    assert!(experiment.contains("# A comment that stays.") && experiment.contains("addresses = 7"));
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(results.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["finished_runs"], 8);
    assert_eq!(manifest["complete"], true);

    // The experiment as run gives the same results again, and plot draws the same charts from the files alone.
    assert_status(
        &zonesim(folder.path(), &["run", "results/small/experiment.toml", "--out", "again", "--no-charts"]),
        0,
    );
    assert_eq!(tables(&results), tables(&folder.path().join("again")));
    let charts = |folder: &Path| -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(folder.join("charts")).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect()
    };
    let drawn = charts(&results);
    for name in ["cross_zone_vs_spillover_ratio", "latency_vs_spillover_ratio", "failures_vs_spillover_ratio"]
    {
        assert!(drawn.contains_key(&format!("{name}.png")), "{name}");
    }
    for name in ["load_vs_spillover_ratio", "traffic_matrix", "tradeoff", "timeline"] {
        assert!(drawn.contains_key(&format!("{name}.png")), "{name}");
    }
    assert_status(&zonesim(folder.path(), &["plot", "again"]), 0);
    assert_eq!(drawn, charts(&folder.path().join("again")));
}

#[test]
fn seed_and_replications_reach_the_runs() {
    let folder = folder_with(SMALL);
    let run = |args: &[&str], out: &str| {
        let all = [&["run", "small.toml", "--no-charts", "--out", out], args].concat();
        assert_status(&zonesim(folder.path(), &all), 0);
        rows(&folder.path().join(out), "runs.csv")
    };
    let first = run(&["--seed", "1"], "one");
    let second = run(&["--seed", "2", "--replications", "3"], "two");
    assert_eq!((first.len(), second.len()), (8, 12));
    assert_eq!((first[0]["seed"].as_str(), second[0]["seed"].as_str()), ("1", "2"));
    assert_ne!(first[0]["connections"], second[0]["connections"]);
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let folder = folder_with(SMALL);
    let output = zonesim(folder.path(), &["run", "small.toml", "--dry-run"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("4 cells") && text.contains("8 runs"), "{text}");
    // 40 a second for 70 s, in 8 runs.
    assert!(text.contains("22400"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_missed_threshold_is_status_3_with_all_results() {
    for (bound, status) in [("max = 1.0", 0), ("max = 0.000001", 3), ("min = 0.9", 3)] {
        let text = format!("{SMALL}\n[[thresholds]]\nmetric = \"failure_ratio\"\narm = \"spill\"\n{bound}\n");
        let folder = folder_with(&text);
        let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts"]);
        assert_status(&output, status);
        assert_eq!(stderr(&output).contains("failure_ratio"), status == 3, "{}", stderr(&output));
        assert_eq!(rows(&folder.path().join("results/small"), "runs.csv").len(), 8);
    }
}

#[test]
fn quiet_says_nothing() {
    let folder = folder_with(SMALL);
    let output = zonesim(folder.path(), &["run", "small.toml", "--quiet", "--no-charts"]);
    assert_status(&output, 0);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let folder = folder_with(SMALL);
    fs::write(folder.path().join("taken"), "a file").unwrap();
    let output = zonesim(folder.path(), &["run", "small.toml", "--out", "taken"]);
    assert_status(&output, 1);
    assert!(stderr(&output).contains("taken"), "{}", stderr(&output));
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_resume_completes_it() {
    // Long enough that the signal comes in the middle: 200 runs.
    let folder = folder_with(&SMALL.replacen("replications = 2", "replications = 50", 1));
    let args = ["run", "small.toml", "--jobs", "1", "--no-charts", "--out"];
    let stopped = folder.path().join("stopped");
    let child =
        command(folder.path(), &[&args[..], &["stopped"]].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = stopped.join(".zonesim-journal");
    let finished = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while finished() < 5 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_status(&output, 130);
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
    let kept = rows(&stopped, "runs.csv").len();
    assert!((4..200).contains(&kept), "{kept} runs were kept");

    assert_status(&zonesim(folder.path(), &[&args[..], &["stopped", "--resume"]].concat()), 0);
    assert_status(&zonesim(folder.path(), &[&args[..], &["whole"]].concat()), 0);
    assert_eq!(tables(&stopped), tables(&folder.path().join("whole")));
    assert!(!journal.exists(), "a finished job leaves no journal");

    let again = zonesim(folder.path(), &[&args[..], &["stopped", "--resume"]].concat());
    assert_status(&again, 1);
    assert!(stderr(&again).contains("no unfinished job"), "{}", stderr(&again));
}

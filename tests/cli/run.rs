//! `zonesim run`: what it writes, and that the same seed gives the same bytes on every way there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

const TABLES: [&str; 8] = [
    "backends.csv",
    "decisions.csv",
    "events.csv",
    "latency.csv",
    "runs.csv",
    "summary.csv",
    "timeline.csv",
    "traffic.csv",
];

pub(crate) fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), text).unwrap();
    folder
}

pub(crate) fn tables(folder: &Path) -> BTreeMap<String, String> {
    TABLES.iter().map(|name| ((*name).to_owned(), fs::read_to_string(folder.join(name)).unwrap())).collect()
}

/// The rows of a CSV file as maps from column to field.
pub(crate) fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
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
fn an_allocator_of_the_users_own_changes_nothing() {
    let folder = folder_with(SMALL);
    let run = |out: &str, tunables: &str| {
        let mut run = command(folder.path(), &["run", "small.toml", "--no-charts", "--out", out]);
        if tunables.is_empty() {
            run.env_remove("GLIBC_TUNABLES");
        } else {
            run.env("GLIBC_TUNABLES", tunables);
        }
        assert_status(&run.output().unwrap(), 0);
        tables(&folder.path().join(out))
    };
    assert_eq!(run("large-pages", ""), run("small-pages", "glibc.malloc.hugetlb=0"));
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
    assert_eq!(stdout(&output).lines().count(), 5, "a header and four cells");
    // 40 a second for 70 s, in 2 runs a cell.
    assert_eq!(stdout(&output).matches("5600").count(), 4);
    let total = stderr(&output);
    assert!(total.contains("runs: 8") && total.contains("22400"), "{total}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_missed_threshold_is_status_3_with_all_results() {
    for (bound, status) in [("max = 1.0", 0), ("max = 0.000001", 3), ("min = 0.9", 3)] {
        let text = format!("{SMALL}\n[[thresholds]]\nmetric = \"failure_ratio\"\narm = \"spill\"\n{bound}\n");
        let folder = folder_with(&text);
        let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts"]);
        assert_status(&output, status);
        let text = stderr(&output);
        // Every cell of the arm that it judges, with its bound, its mean and the verdict in words.
        for ratio in ["0.0", "0.5", "1.0"] {
            let row = text.lines().find(|line| line.contains(&format!("spill, spillover_ratio = {ratio}")));
            let row = row.unwrap_or_else(|| panic!("{ratio} is missing: {text}"));
            assert!(row.starts_with("failure_ratio ") && row.contains(" to "), "{row}");
            let verdict = if status == 0 { "passed" } else { "missed" };
            assert!(row.contains(&format!("  {verdict}")), "{row}");
        }
        let count = if status == 0 {
            "thresholds: 3 passed, 0 missed"
        } else {
            "threshold missed: 0 passed, 3 missed"
        };
        assert!(text.contains(count), "{text}");
        let quiet = zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--quiet"]);
        assert_status(&quiet, status);
        assert_eq!(stderr(&quiet).contains("failure_ratio"), status == 3, "quiet shows misses only");
        assert_eq!(rows(&folder.path().join("results/small"), "runs.csv").len(), 8);
        let again = zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--resume"]);
        assert_status(&again, status);
        assert!(
            stderr(&again).contains(count) && stderr(&again).contains("is complete"),
            "{}",
            stderr(&again)
        );
    }
}

#[test]
fn a_run_ends_with_the_headlines_of_every_cell() {
    let folder = folder_with(SMALL);
    let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts"]);
    assert_status(&output, 0);
    let text = stderr(&output);
    for part in ["failures", "cross-zone", "USD a month", "hottest zone", "means over 2 replications", " ± "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // With two backends a zone, ratios of 0.0 and 0.5 are the same policy.
    assert!(text.contains("spill 0.0 … 0.5 (2 cells)") && text.contains("disabled"), "{text}");
}

#[test]
fn clients_without_free_ports_are_counted_and_announced() {
    let folder = tempfile::tempdir().unwrap();
    let crowded =
        SMALL.replace("rate = 40.0 } }", "rate = 2000.0 } }\naddresses = 1\nrequest_timeout = \"1h\"");
    let slow =
        crowded.replace("mean = \"20ms\"", "mean = \"1h\"").replace("workers = 4", "workers = \"unlimited\"");
    fs::write(folder.path().join("file.toml"), slow).unwrap();
    let output = zonesim(folder.path(), &["run", "file.toml", "--no-charts", "--out", "out"]);
    assert_status(&output, 0);
    let text = stderr(&output);
    assert!(
        text.contains("warning: ") && text.contains("(failed_no_port); give the client groups more"),
        "{text}"
    );
    let runs = rows(&folder.path().join("out"), "runs.csv");
    assert!(runs.iter().all(|run| count(run, "failed_no_port") > 10_000), "{runs:?}");
    assert!(!text.contains("fault of zonesim") && !text.contains("panicked"), "{text}");
}

#[test]
fn quiet_says_nothing() {
    let folder = folder_with(SMALL);
    let output = zonesim(folder.path(), &["run", "small.toml", "--quiet", "--no-charts"]);
    assert_status(&output, 0);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
}

#[test]
fn a_new_run_of_the_same_experiment_leaves_no_old_charts() {
    let folder = folder_with(SMALL);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--out", "out"]), 0);
    assert_status(&zonesim(folder.path(), &["plot", "out", "--format", "svg"]), 0);
    let old = ["png", "svg"]
        .map(|end| folder.path().join(format!("out/charts/cross_zone_vs_spillover_ratio.{end}")));
    assert!(old.iter().all(|chart| chart.exists()));
    let args = ["run", "small.toml", "--out", "out", "--format", "svg"];
    assert_status(&zonesim(folder.path(), &args), 0);
    assert_eq!(old.map(|chart| chart.exists()), [false, true]);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--out", "out", "--no-charts"]), 0);
    assert!(!folder.path().join("out/charts").exists());
}

#[test]
fn charts_are_drawn_from_what_a_folder_holds() {
    let folder = folder_with(SMALL);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--out", "out"]), 0);
    let charts = folder.path().join("out/charts");
    for name in ["latency.csv", "backends.csv", "timeline.csv"] {
        fs::remove_file(folder.path().join("out").join(name)).unwrap();
    }
    fs::remove_dir_all(&charts).unwrap();
    let output = zonesim(folder.path(), &["plot", "out"]);
    assert_status(&output, 0);
    assert!(stderr(&output).contains("timeline.csv is not there"), "{}", stderr(&output));
    assert!(charts.join("tradeoff.png").exists() && !charts.join("timeline.png").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = folder_with(SMALL);
    for args in [&["explain", "small.toml"][..], &["run", "small.toml", "--no-charts"], &["run", "none.toml"]]
    {
        let mut child =
            command(folder.path(), args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2)), "{args:?}: {code:?}");
    }
}

/// Every experiment says its question and its command; its committed results are of that very file, and complete.
#[test]
fn committed_results_are_complete_and_of_the_committed_experiments() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("results/README.md")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(root.join("experiments")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# ") && text.lines().next().unwrap().ends_with('?'), "{name} asks nothing");
        assert!(text.contains(&format!("\nname = \"{name}\"\n")), "{name} is called otherwise inside");
        if name == "quickstart" {
            continue;
        }
        assert!(
            text.contains(&format!("\n#   zonesim run experiments/{name}.toml\n")),
            "{name} has no command"
        );
        assert!(readme.contains(&format!("`{name}`")), "{name} is not listed");
        let folder = root.join("results").join(name);
        // Where its data files are is not where those of the original are.
        let kept = fs::read_to_string(folder.join("experiment.toml")).unwrap();
        let is_same = |line: &&str| !line.starts_with("data_folder = ");
        assert!(kept.lines().filter(is_same).eq(text.lines()), "{name} has changed");
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["complete"], true, "{name}");
        let found = rows(&folder, "runs.csv").len() as u64;
        assert_eq!(Some(found), manifest["finished_runs"].as_u64(), "{name}");
        count += 1;
    }
    assert!(count > 0);
}

//! `zonesim run --shard` and `zonesim merge`: the shards of a job make the folder of a whole one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::crash::{JOURNAL, signal, wait_for_runs};
use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

/// Everything that the system of a cluster may say.
pub(crate) const VARIABLES: [&str; 9] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "CLOUD_RUN_TASK_INDEX",
    "CLOUD_RUN_TASK_COUNT",
    "BATCH_TASK_INDEX",
    "BATCH_TASK_COUNT",
    "JOB_COMPLETION_INDEX",
];

/// `SMALL` with a shared axis, so that cells cost differently, and a threshold.
fn unequal() -> String {
    format!(
        "{SMALL}\n[sweep]\n\"clients.web-a.arrivals.poisson.rate\" = [5.0, 60.0, 20.0]\n\
         [[thresholds]]\nmetric = \"failure_ratio\"\nmax = 1.0\n"
    )
}

/// Runs every one of `count` shards in `folder`.
fn run_shards(folder: &Path, count: u32) -> Vec<String> {
    let shards = (1..=count).map(|number| {
        let output = zonesim(folder, &["run", "small.toml", "--shard", &format!("{number}/{count}")]);
        assert_status(&output, 0);
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(&format!("shard {number}/{count}")), "{}", stderr(&output));
        format!("results/small.shard-{number}-of-{count}")
    });
    shards.collect()
}

fn merge(folder: &Path, shards: &[&str], out: &str) -> std::process::Output {
    zonesim(folder, &[&["merge"], shards, &["--out", out]].concat())
}

fn charts(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("charts")).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn manifest(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn shards_merge_into_the_folder_of_a_whole_job() {
    let folder = folder_with(&unequal());
    let whole = zonesim(folder.path(), &["run", "small.toml", "--out", "whole"]);
    assert_status(&whole, 0);
    // More shards than runs too: some have nothing to do.
    for count in [1, 3, 30] {
        let shards = run_shards(folder.path(), count);
        let found: Vec<usize> =
            shards.iter().map(|shard| rows(&folder.path().join(shard), "runs.csv").len()).collect();
        assert_eq!(found.iter().sum::<usize>(), 24, "{found:?}");
        assert!(!folder.path().join(&shards[0]).join("charts").exists());
        // In any order.
        let mut shards: Vec<&str> = shards.iter().map(String::as_str).collect();
        shards.reverse();
        let out = format!("merged-{count}");
        let output = merge(folder.path(), &shards, &out);
        assert_status(&output, 0);
        let (merged, whole_folder) = (folder.path().join(&out), folder.path().join("whole"));
        assert_eq!(tables(&merged), tables(&whole_folder));
        assert_eq!(charts(&merged), charts(&whole_folder));
        let text = |folder: &Path| fs::read_to_string(folder.join("experiment.toml")).unwrap();
        assert_eq!(text(&merged), text(&whole_folder));
        assert_eq!(stderr(&output), stderr(&whole).replace("results in whole", &format!("results in {out}")));
        let (a, b) = (manifest(&merged), manifest(&whole_folder));
        for key in ["complete", "finished_runs", "events", "connections", "experiment_hash", "shard"] {
            assert_eq!(a[key], b[key], "{key}");
        }
        assert_status(&zonesim(folder.path(), &["compare", &out]), 0);
        let again = merge(folder.path(), &shards, &out);
        assert_status(&again, 2);
        assert!(stderr(&again).contains("not empty"), "{}", stderr(&again));
    }
}

#[test]
fn a_missed_threshold_is_status_3_of_the_merge_alone() {
    let text = unequal().replace("max = 1.0", "max = 0.000001");
    let folder = folder_with(&text);
    let shards = run_shards(folder.path(), 2);
    let output = merge(folder.path(), &[&shards[0], &shards[1]], "merged");
    assert_status(&output, 3);
    assert!(stderr(&output).contains("threshold missed"), "{}", stderr(&output));
}

#[test]
fn long_runs_go_first_and_results_are_in_order() {
    let folder = folder_with(&unequal());
    let output =
        zonesim(folder.path(), &["run", "small.toml", "--shard", "1/1", "--jobs", "1", "--out", "all"]);
    assert_status(&output, 0);
    let journal = fs::read_to_string(folder.path().join("all").join(JOURNAL)).unwrap();
    let cell = |line: &str| -> u64 {
        serde_json::from_str::<serde_json::Value>(&line[17..]).unwrap()["cell"].as_u64().unwrap()
    };
    let rates: Vec<u64> = journal.lines().skip(1).map(|line| [5, 60, 20][cell(line) as usize % 3]).collect();
    assert_eq!(rates, [[60; 8], [20; 8], [5; 8]].concat());
    let cells: Vec<u64> =
        rows(&folder.path().join("all"), "runs.csv").iter().map(|row| row["cell"].parse().unwrap()).collect();
    assert!(cells.is_sorted() && cells.len() == 24, "{cells:?}");
}

#[test]
fn a_shard_can_be_killed_resumed_and_started_again() {
    let long = SMALL.replacen("replications = 2", "replications = 10", 1).replacen("\"60s\"", "\"10m\"", 1);
    let folder = folder_with(&long);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--out", "whole", "--no-charts"]), 0);
    let args = ["run", "small.toml", "--shard", "2/2", "--jobs", "1", "--resume", "--out", "two"];
    // There is nothing yet, and it begins all the same.
    let mut child = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    wait_for_runs(&mut child, &folder.path().join("two"), 3);
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--shard", "1/2", "--out", "one"]), 0);
    let alone = zonesim(folder.path(), &["compare", "one"]);
    assert_status(&alone, 1);
    assert!(stderr(&alone).contains("this is one shard"), "{}", stderr(&alone));
    let unfinished = merge(folder.path(), &["one", "two"], "merged");
    assert_status(&unfinished, 2);
    assert!(stderr(&unfinished).contains("shard 2/2 in two has finished"), "{}", stderr(&unfinished));
    assert!(!folder.path().join("merged").exists());
    assert_status(&zonesim(folder.path(), &args), 0);
    let two = tables(&folder.path().join("two"));
    // A cluster may start it again, with or without --resume.
    for again in [&args[..], &["run", "small.toml", "--shard", "2/2", "--out", "two"]] {
        let output = zonesim(folder.path(), again);
        assert_status(&output, 0);
        assert!(stderr(&output).contains("two is complete"), "{}", stderr(&output));
        assert_eq!(tables(&folder.path().join("two")), two);
    }
    let other = zonesim(folder.path(), &["run", "small.toml", "--shard", "1/2", "--resume", "--out", "two"]);
    assert_status(&other, 2);
    assert!(stderr(&other).contains("another experiment, data file, seed, shard"), "{}", stderr(&other));
    // A merge that was stopped is done again.
    for moment in 0..40 {
        let mut child = command(folder.path(), &["merge", "one", "two", "--out", "merged"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(moment));
        let _ = child.kill();
        if child.wait().unwrap().success() {
            fs::remove_dir_all(folder.path().join("merged")).unwrap();
        }
    }
    assert_status(&merge(folder.path(), &["one", "two"], "merged"), 0);
    assert_eq!(tables(&folder.path().join("merged")), tables(&folder.path().join("whole")));
}

#[test]
fn what_does_not_belong_together_is_not_merged() {
    let folder = folder_with(SMALL);
    let run = |out: &str, args: &[&str]| {
        assert_status(
            &zonesim(folder.path(), &[&["run", "small.toml", "--no-charts", "--out", out], args].concat()),
            0,
        );
    };
    run("one", &["--shard", "1/3"]);
    run("two", &["--shard", "2/3"]);
    run("three", &["--shard", "3/3"]);
    run("half", &["--shard", "1/2"]);
    run("seed", &["--shard", "3/3", "--seed", "7"]);
    run("other", &["--shard", "3/3", "--set", "server.workers=5"]);
    run("whole", &[]);
    let version = folder.path().join("version");
    fs::create_dir(&version).unwrap();
    fs::write(version.join(".zonesim-journal"), "as an older version wrote it").unwrap();
    for (shards, message) in [
        (&["one", "two"][..], "missing: shard 3/3"),
        (&["two"], "missing: shard 1/3, 3/3"),
        (&["one", "two", "three", "one"], "shard 1/3 is there twice: one and one"),
        (&["one", "two", "half"], "half is one of 2 shards, but one one of 3"),
        (&["one", "two", "seed"], "seed has seed 7, but one has 42"),
        (&["one", "two", "other"], "other is of another experiment, or of other data, than one"),
        (&["one", "two", "whole"], "whole holds no shard"),
        (&["one", "two", "version"], "version holds no shard, or none of which this version can read"),
        (&["one", "two", "nowhere"], "there is no folder nowhere"),
    ] {
        let output = merge(folder.path(), shards, "merged");
        assert_status(&output, 2);
        assert!(stderr(&output).contains(message), "{message}: {}", stderr(&output));
        assert!(!folder.path().join("merged").exists());
    }
    let taken = merge(folder.path(), &["one", "two", "three"], "whole");
    assert_status(&taken, 2);
    assert!(stderr(&taken).contains("whole is not empty"), "{}", stderr(&taken));
    let text = fs::read_to_string(folder.path().join("one/experiment.toml")).unwrap();
    fs::write(folder.path().join("one/experiment.toml"), text.replace("workers = 4", "workers = 3")).unwrap();
    let changed = merge(folder.path(), &["one", "two", "three"], "merged");
    assert_status(&changed, 2);
    assert!(stderr(&changed).contains("has changed"), "{}", stderr(&changed));
}

#[test]
fn auto_asks_the_environment() {
    let folder = folder_with(SMALL);
    let run = |shard: &str, variables: &[(&str, &str)]| {
        let mut command = command(folder.path(), &["run", "small.toml", "--shard", shard]);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let slurm =
        [("SLURM_ARRAY_TASK_ID", "2"), ("SLURM_ARRAY_TASK_COUNT", "2"), ("SLURM_ARRAY_TASK_MIN", "1")];
    assert_status(&run("auto", &slurm), 0);
    assert_status(&run("auto/2", &[("JOB_COMPLETION_INDEX", "0")]), 0);
    let shards = ["results/small.shard-1-of-2", "results/small.shard-2-of-2"];
    assert_status(&merge(folder.path(), &shards, "merged"), 0);
    for (shard, message) in [("auto", "finds none of"), ("3/2", "no shard 3 of 2"), ("x", "write I/N")] {
        let output = run(shard, &[]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    let output = zonesim(folder.path(), &["run", "small.toml", "--shard", "1/3", "--dry-run"]);
    assert_status(&output, 0);
    assert!(stderr(&output).contains("runs: 3,"), "{}", stderr(&output));
}

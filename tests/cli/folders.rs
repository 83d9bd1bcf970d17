//! Results folders: what was computed is kept, and what is not of zonesim is not touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::crash::{JOURNAL, wait_for_runs};
use crate::run::{folder_with, tables};
use crate::{SMALL, assert_status, command, stderr, zonesim};

/// Everything in a folder and below, with what it holds.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let below = contents(&entry.path());
            found.insert(format!("{name}/"), Vec::new());
            found.extend(below.into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn run(folder: &Path, more: &[&str]) -> Output {
    zonesim(folder, &[&["run", "small.toml", "--no-charts", "--out", "out"], more].concat())
}

/// Runs, and asserts that it is refused with `part` in the message and all three ways out, and that nothing has changed.
#[track_caller]
fn assert_refused(folder: &Path, more: &[&str], part: &str) {
    let before = contents(folder);
    let output = run(folder, more);
    assert_status(&output, 2);
    let text = stderr(&output);
    for part in [part, "another --out", "--force"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(contents(folder) == before, "something has changed");
}

#[test]
fn what_zonesim_did_not_write_is_not_touched() {
    let folder = folder_with(SMALL);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    // An empty folder is free.
    assert_status(&run(folder.path(), &[]), 0);
    let results = tables(&out);
    for name in ["holiday.png", "charts/holiday.png", "notes/a.txt", ".hidden", "runs.csv.bak"] {
        let path = out.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "of somebody else").unwrap();
        let part = name.split("/a").next().unwrap();
        assert_refused(folder.path(), &[], part);
        assert_refused(folder.path(), &["--resume", "--seed", "7"], "another seed");
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_dir(path.parent().unwrap());
    }
    // The same experiment may be run again, and a new version of the folder replaces the old one whole.
    fs::write(out.join("runs.csv"), "edited").unwrap();
    assert_status(&run(folder.path(), &[]), 0);
    assert_eq!(tables(&out), results);
    // A folder that only looks like results has no manifest.
    fs::remove_file(out.join("manifest.json")).unwrap();
    assert_refused(folder.path(), &[], "which no job of zonesim has left there");
}

#[test]
fn results_of_another_experiment_are_moved_aside_by_force_alone() {
    let folder = folder_with(SMALL);
    assert_status(&run(folder.path(), &[]), 0);
    let first = contents(&folder.path().join("out"));
    for more in
        [&["--seed", "7"][..], &["--replications", "3"], &["--set", "server.workers=5"], &["--shard", "1/2"]]
    {
        assert_refused(folder.path(), more, "another experiment");
    }
    // The same effective experiment, written otherwise.
    let text = SMALL.replace("workers = 4", "workers = 4 # enough").replace("[server]", "\n\n[server]");
    fs::write(folder.path().join("small.toml"), text).unwrap();
    assert_status(&run(folder.path(), &[]), 0);
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    assert_status(&run(folder.path(), &["--set", "simulation.seed=42"]), 0);
    for (seed, aside) in [("7", "out.1"), ("8", "out.2")] {
        let output = run(folder.path(), &["--seed", seed, "--force"]);
        assert_status(&output, 0);
        assert!(
            stderr(&output).contains(&format!("what was in this folder is in {aside} now")),
            "{}",
            stderr(&output)
        );
    }
    let kept = contents(&folder.path().join("out.1"));
    assert!(first.iter().all(|(name, bytes)| !name.ends_with(".csv") || kept[name] == *bytes));
    assert_status(&run(folder.path(), &["--force", "--resume"]), 2);
    // A folder that is free is not moved.
    let fresh = zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "fresh", "--force"]);
    assert_status(&fresh, 0);
    assert!(!folder.path().join("fresh.1").exists());
}

#[test]
fn unfinished_work_is_kept_and_can_be_carried_elsewhere() {
    let folder = folder_with(
        &SMALL.replacen("replications = 2", "replications = 20", 1).replacen("\"60s\"", "\"5m\"", 1),
    );
    let out = folder.path().join("out");
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "whole"]), 0);
    let args = ["run", "small.toml", "--no-charts", "--jobs", "1", "--out", "out"];
    let mut child = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    wait_for_runs(&mut child, &out, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_refused(folder.path(), &[], "--resume");
    assert_refused(folder.path(), &["--resume", "--seed", "7"], "of another experiment");
    let copied = folder.path().join("copied");
    fs::create_dir_all(copied.join(".zonesim-journal")).unwrap();
    for name in contents(&out).keys().filter(|name| !name.ends_with('/')) {
        fs::copy(out.join(name), copied.join(name)).unwrap();
    }
    let elsewhere =
        zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "copied", "--resume"]);
    assert_status(&elsewhere, 0);
    assert_eq!(tables(&copied), tables(&folder.path().join("whole")));
    assert_status(&run(folder.path(), &["--force"]), 0);
    assert!(folder.path().join("out.1").join(JOURNAL).exists());
}

#[test]
fn a_run_that_fails_or_is_stopped_has_destroyed_nothing() {
    let folder = folder_with(
        &SMALL.replacen("replications = 2", "replications = 20", 1).replacen("\"60s\"", "\"5m\"", 1),
    );
    let out = folder.path().join("out");
    assert_status(&run(folder.path(), &[]), 0);
    let results = tables(&out);
    for by in ["-INT", "-KILL"] {
        let args = ["run", "small.toml", "--no-charts", "--jobs", "1", "--out", "out"];
        let mut child = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
        wait_for_runs(&mut child, &out, 3);
        crate::crash::signal(&child, by);
        child.wait().unwrap();
        assert_eq!(tables(&out), results, "{by}");
        assert_status(&run(folder.path(), &["--resume"]), 0);
        assert_eq!(tables(&out), results, "{by}");
    }
}

#[test]
fn an_experiment_in_its_own_results_folder_is_not_rewritten() {
    let folder = folder_with(SMALL);
    let alone = folder.path().join("alone");
    fs::create_dir(&alone).unwrap();
    fs::write(alone.join("experiment.toml"), SMALL).unwrap();
    let in_place = |dir: &str, more: &[&str]| {
        let file = format!("{dir}/experiment.toml");
        zonesim(folder.path(), &[&["run", &file, "--no-charts", "--out", dir], more].concat())
    };
    assert_status(&in_place("alone", &[]), 2);
    assert_eq!(contents(&alone).len(), 1);
    assert_status(&run(folder.path(), &["--seed", "3"]), 0);
    let out = folder.path().join("out");
    let before = contents(&out);
    assert_status(&in_place("out", &["--seed", "4"]), 2);
    assert!(contents(&out) == before);
    assert_status(&in_place("out", &[]), 0);
    assert_eq!(fs::read(out.join("experiment.toml")).unwrap(), before["experiment.toml"]);
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = folder_with(SMALL);
    let [out, target] = ["out", "target"].map(|name| folder.path().join(name));
    fs::create_dir(&target).unwrap();
    fs::write(target.join("runs.csv"), "of somebody else").unwrap();
    for name in ["runs.csv", "charts", ".zonesim-journal", "manifest.json"] {
        fs::create_dir(&out).unwrap();
        symlink(if name == "runs.csv" { target.join(name) } else { target.clone() }, out.join(name)).unwrap();
        let output = run(folder.path(), &[]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
        fs::remove_dir_all(&out).unwrap();
    }
    // One that takes the place of a file that zonesim wrote is not one of its files.
    assert_status(&run(folder.path(), &[]), 0);
    fs::remove_file(out.join("runs.csv")).unwrap();
    symlink(target.join("runs.csv"), out.join("runs.csv")).unwrap();
    assert_refused(folder.path(), &[], "runs.csv");
    fs::remove_file(out.join("runs.csv")).unwrap();
    symlink(&target, out.join("charts")).unwrap();
    assert_status(&zonesim(folder.path(), &["plot", "out"]), 1);
    assert_eq!(contents(&target).len(), 1);
    assert_eq!(fs::read_to_string(target.join("runs.csv")).unwrap(), "of somebody else");
}

#[test]
fn plots_and_reports_belong_to_the_folder() {
    let folder = folder_with(SMALL);
    assert_status(&run(folder.path(), &[]), 0);
    assert_status(&zonesim(folder.path(), &["plot", "out", "--format", "both"]), 0);
    assert_status(&zonesim(folder.path(), &["report", "out"]), 0);
    assert_status(&run(folder.path(), &["--trace", "10"]), 0);
    let out = folder.path().join("out");
    assert!(
        !out.join("charts").exists() && !out.join("report.html").exists() && out.join("trace.csv").exists()
    );
    assert_status(&run(folder.path(), &[]), 0);
    assert!(!out.join("trace.csv").exists());
}

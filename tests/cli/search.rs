//! `zonesim run --search`: boundaries and best values, in the folder that a plain run would have written.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::crash::{signal, wait_for_runs};
use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

/// Two arms without axes: their clients open as many connections as the rate says, in 60 s.
fn two_arms() -> String {
    let text = &SMALL[..SMALL.find("sweep = {").unwrap()];
    text.replacen("replications = 2", "replications = 4", 1)
}

const RATE: &str = "clients.web-a.arrivals.poisson.rate=10..60";

fn search(folder: &Path, out: &str, more: &[&str]) -> Output {
    let args = ["run", "small.toml", "--search", RATE, "--no-charts", "--out", out];
    zonesim(folder, &[&args[..], more].concat())
}

const BOUNDARY: [&str; 4] = ["--resolution", "2", "--subject-to", "connections<=2000"];

/// The row of `line` in a table of answers, cut at its columns.
fn row(text: &str, line: &str) -> Vec<String> {
    let row = text.lines().find(|row| row.starts_with(line)).unwrap_or_else(|| panic!("{line}: {text}"));
    row.split("  ").map(str::trim).filter(|field| !field.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_boundary_is_found_and_the_folder_is_that_of_a_plain_run() {
    let folder = folder_with(&two_arms());
    let output = search(folder.path(), "out", &BOUNDARY);
    assert_status(&output, 0);
    let answer = stdout(&output);
    assert!(answer.starts_with("small: where connections <= 2k is kept, along clients.web-a"), "{answer}");
    for arm in ["disabled", "spill"] {
        // 60 s at 32 a second are 1920, give or take 22 over four replications; at 34 they are 2040.
        let fields = row(&answer, arm);
        let last: f64 = fields[1].strip_prefix("up to ").unwrap().parse().unwrap();
        assert!((28.0..=32.0).contains(&last), "{fields:?}");
        assert_eq!(fields[2], format!("{last} to {}", last + 2.0));
        assert!(fields[3].parse::<usize>().unwrap() <= 7, "both ends and five middles of 26: {fields:?}");
        assert_eq!((fields[4].as_str(), fields[6].as_str()), (last.to_string().as_str(), "kept"));
        assert!(fields[5].starts_with("1.") && fields[5].contains("at most "), "{fields:?}");
    }
    // The same answer and the same bytes on one thread.
    let single = search(folder.path(), "single", &[&BOUNDARY[..], &["--jobs", "1"]].concat());
    assert_eq!(stdout(&single), answer);
    let out = tables(&folder.path().join("out"));
    assert_eq!(tables(&folder.path().join("single")), out);
    // What was tried is an axis of a plain experiment.
    let plain = ["run", "out/experiment.toml", "--no-charts", "--out", "plain"];
    assert_status(&zonesim(folder.path(), &plain), 0);
    assert_eq!(tables(&folder.path().join("plain")), out);
    let runs = rows(&folder.path().join("out"), "runs.csv");
    let rates: Vec<f64> =
        runs.iter().filter(|run| run["arm"] == "spill").map(|run| run["rate"].parse().unwrap()).collect();
    assert!(rates.is_sorted() && rates.len() >= 4 * 4, "{rates:?}");
    for ask in [&["compare", "out"][..], &["report", "out"], &["plot", "out"]] {
        assert_status(&zonesim(folder.path(), ask), 0);
    }
    assert!(!folder.path().join("out/.zonesim-journal").exists());
}

#[test]
fn a_range_without_a_boundary_is_said_to_have_none() {
    let folder = folder_with(&two_arms());
    let ask = |limit: &str, status: i32, part: &str| {
        let output = search(folder.path(), "out", &["--resolution", "2", "--subject-to", limit, "--force"]);
        assert_status(&output, status);
        assert!(stdout(&output).contains(part), "{}", stdout(&output));
    };
    ask("connections<=1e6", 0, "disabled: feasible at both ends of the range");
    ask("connections<=1", 3, "spill: shown to be feasible at neither end");
    ask("connections>=1200", 0, "from 2");
}

#[test]
fn the_best_is_sought_in_the_direction_that_the_metric_or_the_user_says() {
    let folder = folder_with(&two_arms());
    let ask = |more: &[&str]| {
        let output = search(folder.path(), "out", &[&["--resolution", "5", "--force"], more].concat());
        assert_status(&output, 0);
        stdout(&output)
    };
    let most = ask(&["--objective", "connections", "--maximize", "--search-arms", "spill"]);
    assert_eq!(row(&most, "spill ")[1..3], ["60", "55 to 60"]);
    assert!(most.contains("the best lies at the end of the range"), "{most}");
    let runs = rows(&folder.path().join("out"), "runs.csv");
    let others: Vec<&str> =
        runs.iter().filter(|run| run["arm"] == "disabled").map(|run| run["rate"].as_str()).collect();
    assert_eq!(others, [""; 4], "the other arm was run once, to compare");
    assert_eq!(row(&ask(&["--objective", "failed_connections"]), "spill ").len(), 5);
}

#[test]
fn a_search_that_was_killed_goes_on_the_same_way() {
    let folder = folder_with(&two_arms().replacen("replications = 4", "replications = 40", 1));
    let whole = search(folder.path(), "whole", &BOUNDARY);
    assert_status(&whole, 0);
    let start = |more: &[&str]| {
        let args = ["run", "small.toml", "--search", RATE, "--no-charts", "--out", "killed", "--jobs", "1"];
        let all = [&args[..], &BOUNDARY, more].concat();
        command(folder.path(), &all).stderr(Stdio::piped()).spawn().unwrap()
    };
    let killed = folder.path().join("killed");
    let mut child = start(&[]);
    wait_for_runs(&mut child, &killed, 50);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_status(&output, 130);
    assert!(stderr(&output).contains("the same command with --resume"), "{}", stderr(&output));
    let mut child = start(&["--resume"]);
    wait_for_runs(&mut child, &killed, 170);
    child.kill().unwrap();
    child.wait().unwrap();
    let other =
        search(folder.path(), "killed", &["--resolution", "2", "--subject-to", "requests<=9", "--resume"]);
    assert_status(&other, 2);
    assert!(stderr(&other).contains("another experiment"), "another question: {}", stderr(&other));
    let resumed = search(folder.path(), "killed", &[&BOUNDARY[..], &["--resume"]].concat());
    assert_status(&resumed, 0);
    assert_eq!(stdout(&resumed), stdout(&whole));
    assert_eq!(tables(&folder.path().join("killed")), tables(&folder.path().join("whole")));
    let manifest = || fs::read(folder.path().join("killed/manifest.json")).unwrap();
    let before = manifest();
    let again = search(folder.path(), "killed", &[&BOUNDARY[..], &["--resume"]].concat());
    assert_status(&again, 0);
    assert_eq!(stdout(&again), stdout(&whole), "a finished search answers from what is there");
    assert!(stderr(&again).contains("is complete"), "{}", stderr(&again));
    assert_eq!(manifest(), before, "and simulates nothing");
}

#[test]
fn a_dry_run_says_how_many_steps_there_are_at_most() {
    let folder = folder_with(SMALL);
    let output = search(folder.path(), "out", &[&BOUNDARY[..], &["--dry-run"]].concat());
    assert_status(&output, 0);
    // One line without the other axis, and three with it.
    assert_eq!(stdout(&output).lines().count(), 5, "{}", stdout(&output));
    assert!(stdout(&output).contains("spill 0.5\tclients.web-a.arrivals.poisson.rate\t10\t60\t26\t7"));
    // Of seven steps in `disabled`, and of up to 21 values in each of three lines of `spill`.
    assert!(stderr(&output).contains("cells at most: 70, replications: 2"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn impossible_searches_are_wrong_usage_and_write_nothing() {
    let folder = folder_with(&two_arms());
    let limit = ["--subject-to", "connections<=2000"];
    for (range, step, more, part) in [
        ("server.workers=1..8", "1", &[][..], "--subject-to"),
        ("server.workers", "1", &limit[..], "PATH=LOW..HIGH"),
        ("server.workers=1", "1", &limit, "PATH=LOW..HIGH"),
        ("server.workers=8..1", "1", &limit, "LOW below HIGH"),
        ("server.workers=1..8", "9", &limit, "one value only"),
        ("server.workers=1..8", "0.5", &limit, "server.workers"),
        ("server.workers=0..8", "1", &limit, "server.workers"),
        ("server.worker=1..8", "1", &limit, "workers"),
        ("backend_service.zonal_affinity.spillover=1..2", "1", &limit, "spillover"),
        ("server.workers=1..8", "1", &["--subject-to", "connection<=5"], "did you mean \"connections\""),
        ("server.workers=1..8", "1", &["--subject-to", "connections=5"], "METRIC<=VALUE"),
        ("server.workers=1..8", "1", &["--objective", "connections"], "--minimize or --maximize"),
        (
            "server.workers=1..8",
            "1",
            &["--objective", "requests", "--subject-to", "requests<=1"],
            "cannot be used",
        ),
        (
            "server.workers=1..8",
            "1",
            &["--subject-to", "requests<=1", "--search-arms", "spil"],
            "did you mean \"spill\"",
        ),
        ("server.workers=1..8", "1", &["--subject-to", "requests<=1", "--shard", "1/2"], "cannot be used"),
        (
            "server.workers=1..8",
            "1",
            &["--subject-to", "requests<=1", "--replications", "1"],
            "--replications",
        ),
    ] {
        let args = ["run", "small.toml", "--search", range, "--resolution", step, "--out", "out"];
        let output = zonesim(folder.path(), &[&args[..], more].concat());
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{range} {more:?}: {part}: {}", stderr(&output));
        assert_eq!(
            (stdout(&output).as_str(), fs::read_dir(folder.path()).unwrap().count()),
            ("", 1),
            "{range}"
        );
    }
    let output = zonesim(folder.path(), &["run", "small.toml", "--search", RATE]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("--resolution"), "{}", stderr(&output));
}

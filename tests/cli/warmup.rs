//! `warmup = "auto"`: pilots find it, everything says it, and every way there gives the same bytes.

use std::fs;
use std::process::Stdio;

use crate::crash::{signal, wait_for_runs};
use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, zonesim};

/// Two arms, of which one keeps connections for a minute; enough samples to judge.
fn automatic() -> String {
    let text = SMALL
        .replacen(
            "warmup = \"10s\"\nduration = \"60s\"",
            "warmup = \"auto\"\nduration = \"10m\"\nsample_interval = \"5s\"",
            1,
        )
        .replacen("workers = 4", "workers = \"unlimited\"", 1)
        .replacen(
            "{ poisson = { rate = 40.0 } }",
            "{ poisson = { rate = 8.0 } }\nrequest_timeout = \"24h\"",
            1,
        );
    let start = text.find("failures = ").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let arms = text.find("[[arms]]").unwrap();
    format!(
        "{}{}[[arms]]\nname = \"short\"\n[[arms]]\nname = \"long\"\nset = {{ \"server.service_time\" = {{ exponential = {{ \
         mean = \"10s\" }} }} }}\n",
        &text[..start],
        &text[end..arms]
    )
}

#[test]
fn every_way_to_a_warm_up_gives_the_same_bytes() {
    let folder = folder_with(&automatic());
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "small.toml", "--no-charts", "--out", out], more].concat();
        zonesim(folder.path(), &args)
    };
    let first = run("whole", &["--jobs", "1"]);
    assert_status(&first, 0);
    let said = stderr(&first);
    assert!(said.contains("pilot runs that find the warm-up: 10"), "{said}");
    assert!(said.contains("found by MSER-5 in 5 pilot runs") && said.contains("take longest): "), "{said}");
    let whole = folder.path().join("whole");
    let read = |out: &str| -> serde_json::Value {
        let path = folder.path().join(out).join("manifest.json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let found = read("whole")["warmup"].clone();
    let seconds = found["seconds"].as_f64().unwrap();
    assert!((50.0..=300.0).contains(&seconds), "{found}");
    assert_eq!(found["rule"], "MSER-5");
    assert!((found["deleted_share"].as_f64().unwrap() - seconds / (seconds + 600.0)).abs() < 1e-12);
    // The window begins after it, in every arm.
    let starts: Vec<f64> =
        rows(&whole, "timeline.csv").iter().map(|row| row["time_s"].parse().unwrap()).collect();
    assert_eq!(starts.iter().copied().fold(f64::INFINITY, f64::min), seconds);

    assert_status(&run("threads", &["--jobs", "3"]), 0);
    assert_eq!(tables(&folder.path().join("threads")), tables(&whole));
    let other = run("seed", &["--seed", "5"]);
    assert_status(&other, 0);
    assert_ne!(tables(&folder.path().join("seed")), tables(&whole));
    // The folder's own experiment looks for it again, and finds the same.
    assert_status(
        &zonesim(folder.path(), &["run", "whole/experiment.toml", "--no-charts", "--out", "again"]),
        0,
    );
    assert_eq!(tables(&folder.path().join("again")), tables(&whole));

    let shards: Vec<String> = (1..=5).map(|number| format!("shard-{number}")).collect();
    for (out, number) in shards.iter().zip(1..) {
        assert_status(&run(out, &["--shard", &format!("{number}/5")]), 0);
    }
    let all: Vec<&str> = shards.iter().map(String::as_str).collect();
    let args = [&["merge", "--no-charts", "--out", "merged"], &all[..]].concat();
    assert_status(&zonesim(folder.path(), &args), 0);
    assert_eq!(tables(&folder.path().join("merged")), tables(&whole));
    assert_eq!(read("merged")["warmup"], found);

    assert_status(&zonesim(folder.path(), &["report", "whole"]), 0);
    let page = fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("<dt>warm-up</dt>") && page.contains("found by MSER-5"));
    for command in [&["plot", "whole"][..], &["expect", "small.toml"], &["explain", "small.toml"]] {
        assert_status(&zonesim(folder.path(), command), 0);
    }
}

#[test]
fn a_job_killed_before_or_after_its_pilots_is_resumed() {
    let folder = folder_with(&automatic().replacen("replications = 2", "replications = 8", 1));
    let args = |out| ["run", "small.toml", "--jobs", "1", "--no-charts", "--out", out];
    assert_status(&zonesim(folder.path(), &args("whole")), 0);
    // The first line is the header, the second the warm-up.
    for (out, lines) in [("before", 0), ("between", 1), ("after", 4)] {
        let killed = folder.path().join(out);
        let mut child = command(folder.path(), &args(out)).stderr(Stdio::null()).spawn().unwrap();
        wait_for_runs(&mut child, &killed, lines);
        signal(&child, "-KILL");
        child.wait().unwrap();
        let output = zonesim(folder.path(), &[&args(out)[..], &["--resume"]].concat());
        assert_status(&output, 0);
        let again = stderr(&output).contains("pilot runs that find the warm-up");
        assert_eq!(again, lines == 0, "{out}: {}", stderr(&output));
        assert_eq!(tables(&killed), tables(&folder.path().join("whole")), "{out}");
    }
}

#[test]
fn a_run_without_an_end_of_its_beginning_fails_and_says_why() {
    let text = automatic().replacen("workers = \"unlimited\"", "workers = 1\nqueue_limit = 1000000", 1);
    let folder = folder_with(&text.replacen("mean = \"10s\"", "mean = \"2s\"", 1));
    let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts"]);
    assert_status(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("too short to find a warm-up") && said.contains("simulation.duration"), "{said}");
}

#[test]
fn a_fixed_warm_up_that_is_too_short_is_a_warning() {
    let text =
        automatic().replacen("\"auto\"", "\"0s\"", 1).replacen("replications = 2", "replications = 8", 1);
    let folder = folder_with(&text.replacen("mean = \"10s\"", "mean = \"60s\"", 1));
    let output = zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "out"]);
    assert_status(&output, 0);
    let said = stderr(&output);
    assert!(said.contains("warning: the warm-up looks too short for arm `long`"), "{said}");
    assert!(!said.contains("too short for arm `short`"), "{said}");
    let manifest = fs::read_to_string(folder.path().join("out/manifest.json")).unwrap();
    assert!(manifest.contains("\"short_warmup\"") && manifest.contains("open_connections"), "{manifest}");
    assert_status(&zonesim(folder.path(), &["report", "out"]), 0);
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("the warm-up looks too short for arm"));
}

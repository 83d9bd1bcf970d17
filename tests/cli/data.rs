//! Experiments with data files, and impossible traffic: what a user is told, and what a job holds on to.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::crash::{signal, wait_for_runs};
use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

const SIZES: &str = "bytes,cdf\n1000,50\n3000,100\n";
const TRACE: &str =
    "t_s,client_id,request_bytes,response_bytes,duration_s\n0.5,a,10,20,\n12,b,10,,1.5\n70,a,10,20,2\n";

/// [`SMALL`] with `arrivals` and other `keys` for its clients.
fn with(arrivals: &str, keys: &str) -> String {
    let from = "arrivals = { poisson = { rate = 40.0 } }";
    assert!(SMALL.contains(from));
    SMALL.replace(from, &format!("arrivals = {arrivals}\n{keys}"))
}

fn with_files() -> String {
    with(
        "{ trace = { file = \"trace.csv\" } }",
        "connection.response_bytes = { empirical = { file = \"sizes.txt\" } }",
    )
}

fn fill(folder: &Path, experiment: &str, sizes: &str, trace: &str) {
    fs::write(folder.join("small.toml"), experiment).unwrap();
    fs::write(folder.join("sizes.txt"), sizes).unwrap();
    fs::write(folder.join("trace.csv"), trace).unwrap();
}

/// Asserts that both commands refuse the experiment with one message that shows its line, `parts` and how to mend it.
#[track_caller]
fn assert_refused(folder: &Path, parts: &[&str]) {
    for name in ["run", "explain"] {
        let output = zonesim(folder, &[name, "small.toml"]);
        assert_status(&output, 2);
        let message = stderr(&output);
        assert_eq!((stdout(&output).as_str(), message.matches("error:").count()), ("", 1), "{message}");
        for part in ["--> small.toml:", "= help: "].iter().chain(parts) {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
    assert!(!folder.join("results").exists(), "nothing is written");
}

#[test]
fn broken_files_are_shown_with_their_line() {
    for (sizes, trace, parts) in [
        (
            SIZES,
            TRACE.replace("70,", "11.9,"),
            &["trace.csv:4: the time 11.9 comes after 12", "sort the rows"][..],
        ),
        (
            SIZES,
            TRACE.replace("12,b,10,,", "12,b,10,"),
            &["trace.csv:3: the row has 4 field(s)", "write one for each"],
        ),
        (
            SIZES,
            TRACE.replace("12,b,10", "12,b,ten"),
            &["trace.csv:3: request_bytes: \"ten\"", "whole number"],
        ),
        (SIZES, TRACE.replace("0.5,", "-0.5,"), &["trace.csv:2: t_s: \"-0.5\" is negative"]),
        (SIZES, TRACE.replace(",2\n", ",-2\n"), &["trace.csv:4: duration_s: \"-2\" is negative"]),
        (
            SIZES,
            TRACE.replace("client_id", "client"),
            &["trace.csv:1: \"client\" is no column", "did you mean `client_id`?"],
        ),
        (SIZES, String::new(), &["trace.csv is empty", "write a first line"]),
        (
            "1000,50\n3000,40\n4000,100\n",
            TRACE.to_owned(),
            &["sizes.txt:2: the share 40 comes after 50", "never falls"],
        ),
        (
            "1000,50\n300,100\n",
            TRACE.to_owned(),
            &["sizes.txt:2: the value 300 comes after 1000", "sort the points"],
        ),
        ("1000,50\n3000,99\n", TRACE.to_owned(), &["sizes.txt: the shares end at 99", "let the last one be"]),
        ("1000,0.5\n-1,1\n", TRACE.to_owned(), &["sizes.txt:2: the value -1 is impossible", "finite value"]),
        ("1000,50,7\n", TRACE.to_owned(), &["sizes.txt:1: the row has 3 column(s)", "write two"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), &with_files(), sizes, &trace);
        assert_refused(folder.path(), parts);
    }
}

#[test]
fn files_that_are_not_there_are_named() {
    for name in ["trace.csv", "sizes.txt"] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), &with_files(), SIZES, TRACE);
        fs::remove_file(folder.path().join(name)).unwrap();
        assert_refused(folder.path(), &[name, "can't be read", "name a file that is there"]);
    }
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &with_files().replace("trace.csv", "traces.csv"), SIZES, TRACE);
    assert_refused(folder.path(), &["traces.csv can't be read", "did you mean `trace.csv`?"]);
}

#[test]
fn impossible_traffic_is_refused() {
    let poisson = "{ poisson = { rate = 40.0 } }";
    let carries = |law: &str| with(poisson, &format!("connection.think_time = {law}"));
    for (text, parts) in [
        (carries("{ exponential = { mean = \"-5ms\" } }"), &["\"-5ms\" is negative"][..]),
        (carries("{ pareto = { scale = \"1ms\", shape = 0.0 } }"), &["pareto needs", "above 0"]),
        (carries("{ pareto = { scale = \"1ms\", shape = -1.5 } }"), &["pareto needs", "above 0"]),
        (with("{ poisson = { rate = -1.0 } }", ""), &["-1 is not a rate", "above 0"]),
        (with("{ mmpp = { rates = [1, 2] } }", ""), &["has no `mean_dwell`", "add mean_dwell = \"10s\""]),
        (
            with("{ closed = { population = 2 } }", ""),
            &["has no `think_time`", "add think_time = { exponential"],
        ),
        (with("{ trace = {} }", ""), &["has no `file`", "add file = "]),
        (with("{ poison = { rate = 1.0 } }", ""), &["did you mean `poisson`?"]),
        (with("{ mmpp = { rates = [1, -2], mean_dwell = \"1s\" } }", ""), &["-2 is not a rate"]),
        (with("{ mmpp = { rates = [1, 2], mean_dwell = \"0s\" } }", ""), &["can't be 0s"]),
        (
            with("{ diurnal = { mean_rate = 1, peak_to_mean = 3.0, period = \"1d\" } }", ""),
            &["3 is no ratio", "1.0 (constant) to 2.0"],
        ),
        (
            with("{ closed = { population = 0, think_time = { constant = \"1s\" } } }", ""),
            &["0 is not a population"],
        ),
        (with(poisson, "retries = \"unlimited\""), &["retries` can't be \"unlimited\"", "from 0 to 100"]),
        (with(poisson, "retries = 101"), &["retries` can't be 101", "from 0 to 100"]),
        (with(poisson, "retries = -1"), &["retries` can't be -1", "from 0 to 100"]),
        (with(poisson, "retry_backoff = { base = \"20s\" }"), &["can't be 20s", "a max of at least 20s"]),
        (with(poisson, "retry_backoff = { factor = 0.5 }"), &["0.5 is no factor", "1.0"]),
        (with(poisson, "retry_backoff = { jitter = 2 }"), &["2 is no part of a wait", "0.0"]),
        (with(poisson, "retry_backoff = { bas = \"1s\" }"), &["did you mean `base`?"]),
        (with(poisson, "max_age = \"0s\""), &["max_age`: 0s is out of range", "above 0s"]),
        (with(poisson, "max_age = 60"), &["max_age` can't be 60", "unit"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.toml"), text).unwrap();
        assert_refused(folder.path(), parts);
    }
}

#[test]
fn a_job_is_not_resumed_with_other_data() {
    let text = with_files().replacen("replications = 2", "replications = 10000", 1);
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &text, SIZES, TRACE);
    let args = ["run", "small.toml", "--jobs", "1", "--no-charts", "--out", "out"];
    let mut child = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    wait_for_runs(&mut child, &folder.path().join("out"), 2);
    signal(&child, "-KILL");
    child.wait().unwrap();
    for (sizes, trace) in
        [(SIZES, TRACE.replace("a,10", "a,11")), (&SIZES.replace("3000", "3001"), TRACE.to_owned())]
    {
        fill(folder.path(), &text, sizes, &trace);
        let output = zonesim(folder.path(), &[&args[..], &["--resume"]].concat());
        assert_status(&output, 2);
        assert!(stderr(&output).contains("is of another experiment, data file, seed"), "{}", stderr(&output));
    }
}

#[test]
fn a_results_folder_can_be_run_again() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &with_files(), SIZES, TRACE);
    let run = |file: &str, out: &str| {
        assert_status(&zonesim(folder.path(), &["run", file, "--no-charts", "--out", out]), 0);
        fs::read_to_string(folder.path().join(out).join("runs.csv")).unwrap()
    };
    let first = run("small.toml", "results/one");
    assert_eq!(run("results/one/experiment.toml", "elsewhere/in/two"), first);
    assert_eq!(run("elsewhere/in/two/experiment.toml", "results/one"), first);
    let again =
        zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "results/one", "--resume"]);
    assert_status(&again, 0);
}

#[test]
fn a_dry_run_does_not_guess_what_a_closed_loop_opens() {
    let folder = tempfile::tempdir().unwrap();
    let closed = with("{ closed = { population = 5, think_time = { constant = \"1s\" } } }", "");
    fs::write(folder.path().join("small.toml"), closed).unwrap();
    let output = zonesim(folder.path(), &["run", "small.toml", "--dry-run"]);
    assert_status(&output, 0);
    assert!(stdout(&output).lines().skip(1).all(|line| line.ends_with("\tunknown")), "{}", stdout(&output));
    assert!(stderr(&output).contains("expected connections: unknown"), "{}", stderr(&output));
}

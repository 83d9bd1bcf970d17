//! Laboratories on the kernel's own network: whatever ends them, they leave nothing behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::crash::signal;
use crate::{assert_status, command, stderr, zonesim};

/// A world that takes some seconds in a laboratory.
const WORLD: &str = r#"name = "little"
[simulation]
replications = 2
warmup = "1s"
duration = "3s"
sample_interval = "1s"
[region]
name = "r"
zones = ["a", "b"]
[backend_service]
backends = [{ group = "ig-a", zone = "a", size = 2 }, { group = "ig-b", zone = "b", size = 2 }]
[server]
workers = "unlimited"
service_time = { constant = "1ms" }
[[clients]]
name = "web"
kind = "vm"
zone = "a"
arrivals = { poisson = { rate = 20.0 } }
connection = { requests = { constant = 2 }, think_time = { constant = "100ms" } }
[[faults]]
at = "2s"
duration = "500ms"
kind = "refuse"
target = { zone = "b" }
"#;

/// What stands in the environment of a command and of all that it starts, to find them by.
const MARK: &str = "ZONESIM_TEST_OF_LABORATORIES";

/// The processes that have `mark` in their environment, those of laboratories first.
fn marked(mark: &str) -> Vec<(u32, bool)> {
    let wanted = format!("{MARK}={mark}");
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let found = processes.filter_map(|process: u32| {
        let read = |file: &str| fs::read(format!("/proc/{process}/{file}")).ok();
        let environment = read("environ")?;
        let is_marked = environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        let words = read("cmdline")?;
        let is_lab = words.split(|byte| *byte == 0).any(|word| word == b"laboratory")
            && !words.starts_with(b"unshare");
        is_marked.then_some((process, is_lab))
    });
    found.collect()
}

fn await_laboratories(child: &mut Child, mark: &str, count: usize) -> Option<u32> {
    loop {
        let labs: Vec<u32> = marked(mark).into_iter().filter(|(_, is_lab)| *is_lab).map(|it| it.0).collect();
        if labs.len() >= count {
            return Some(labs[0]);
        }
        // Without nftables or namespaces there is none.
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_nothing_is_left(mark: &str) {
    for _ in 0..500 {
        if marked(mark).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("left behind: {:?}", marked(mark));
}

/// The names of the machine's own interfaces.
fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap();
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

fn start(folder: &Path, mark: &str) -> Child {
    let args =
        ["validate", "--real", "little.toml", "--runs", "2", "--laboratories", "2", "--out", "table.md"];
    let mut command = command(folder, &args);
    command.env(MARK, mark).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn laboratories_leave_nothing_behind() {
    let before = interfaces();
    for (name, is_kill) in
        [("success", false), ("failure", false), ("-INT", true), ("-TERM", true), ("-KILL", true)]
    {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("little.toml"), WORLD).unwrap();
        let mark = format!("{name}-{}", std::process::id());
        let mut child = start(folder.path(), &mark);
        let Some(laboratory) = await_laboratories(&mut child, &mark, 2) else {
            let output = child.wait_with_output().unwrap();
            assert!(stderr(&output).contains("SKIPPED"), "{}", stderr(&output));
            assert_status(&output, 0);
            return;
        };
        if is_kill {
            signal(&child, name);
        } else if name == "failure" {
            let killed = std::process::Command::new("kill").args(["-KILL", &laboratory.to_string()]).status();
            assert!(killed.unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        let is_written = folder.path().join("table.md").exists();
        match name {
            "success" => assert!(is_written, "{}", stderr(&output)),
            "failure" => assert_status(&output, 1),
            "-KILL" => assert_eq!(output.status.code(), None),
            "-TERM" => assert_status(&output, 143),
            _ => assert_status(&output, 130),
        }
        assert!(is_written == (name == "success"), "{name}: {}", stderr(&output));
        assert_nothing_is_left(&mark);
        assert_eq!(interfaces(), before, "{name}");
    }
}

#[test]
fn every_cell_that_a_laboratory_can_be_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let arms = "[[arms]]\nname = \"plain\"\n[[arms]]\nname = \"queues\"\nset = { \"server.workers\" = 4 }\n\
                [sweep]\n\"server.service_time.constant\" = [\"1ms\", \"2ms\"]\n";
    fs::write(folder.path().join("cells.toml"), format!("{WORLD}{arms}")).unwrap();
    let compared = |more: &[&str]| {
        let args = ["validate", "--real", "cells.toml", "--runs", "2", "--out", "table.md"];
        zonesim(folder.path(), &[&args, more].concat())
    };
    let output = compared(&[]);
    let said = stderr(&output);
    if said.contains("SKIPPED") {
        return;
    }
    assert!(said.contains("arm `queues` with constant = 1ms and one more: group ig-a"), "{said}");
    assert!(said.contains("4 runs on the kernel's network: about a minute"), "{said}");
    let table = fs::read_to_string(folder.path().join("table.md")).unwrap();
    for time in ["1ms", "2ms"] {
        let row = format!("| little: arm `plain` with constant = {time} | mean request, ms | 2 |");
        assert!(table.contains(&row), "{table}");
    }
    assert!(!table.contains("queues"), "{table}");
    let output = compared(&["--only", "= 2ms"]);
    assert!(stderr(&output).contains("2 runs on"), "{}", stderr(&output));
    let output = compared(&["--simulate-with", "sweep={}"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("neither arms nor axes"), "{}", stderr(&output));
}

#[test]
fn what_no_laboratory_can_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("large.toml"), WORLD.replace("size = 2", "size = 50")).unwrap();
    let output = zonesim(folder.path(), &["validate", "--real", "large.toml"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("more than 60 backends"), "{}", stderr(&output));
    for (args, part) in [
        (vec!["validate", "--smoke"], "--real"),
        (vec!["validate", "--real", "large.toml", "--smoke"], "scenarios of its own"),
        (vec!["validate", "--real", "--only", "nothing is called so"], "no scenario's name"),
        (vec!["validate", "--real", "--coverage"], "cannot be used with"),
    ] {
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{args:?}: {}", stderr(&output));
    }
    assert!(!folder.path().join("results/reality.md").exists());
}

//! Wrong usage and wrong experiment files: exit status 2, one clear message, nothing written.

use std::fs;

use crate::{SMALL, assert_status, stderr, stdout, zonesim};

/// Files that are wrong, with parts of the message that each must get.
fn bad_files() -> Vec<(&'static str, String, &'static [&'static str])> {
    let change = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        SMALL.replacen(from, to, 1)
    };
    vec![
        (
            "unknown key",
            change("replications", "replication"),
            &["replication", "did you mean", "replications"],
        ),
        (
            "ratio out of range",
            change("[0.0, 0.5, 1.0]", "[0.0, 1.2]"),
            &["1.2", "0.0 to 1.0", "spillover_ratio"],
        ),
        ("no unit", change("\"60s\"", "\"60\""), &["\"60\"", "unit", "duration"]),
        ("number for a duration", change("\"60s\"", "60"), &["60", "unit"]),
        (
            "no such zone",
            change("zone = \"us-central1-b\"", "zone = \"us-central1-d\""),
            &["us-central1-d", "us-central1-"],
        ),
        (
            "two load balancers",
            format!("{SMALL}\n[forwarding_rule]\ntarget = \"www\"\n[[target_pools]]\nname = \"www\"\n"),
            &["backend_service"],
        ),
        ("no clients", SMALL[..SMALL.find("[[clients]]").unwrap()].to_owned(), &["clients"]),
        ("empty sweep", change("[0.0, 0.5, 1.0]", "[]"), &["sweep"]),
        (
            "axis that leads nowhere",
            change("zonal_affinity.spillover_ratio", "zonal_affinity.spill_ratio"),
            &["spill_ratio", "spillover_ratio"],
        ),
        (
            "timeout above interval",
            format!("{SMALL}\n[health_check]\ncheck_interval = \"5s\"\ntimeout = \"6s\"\n"),
            &["timeout", "6s", "5s"],
        ),
        ("not TOML", change("name = \"small\"", "name = small"), &["small"]),
        ("impossible distribution", change("mean = \"20ms\"", "mean = \"0s\""), &["mean", "above 0"]),
        (
            "no such metric",
            format!("{SMALL}\n[[thresholds]]\nmetric = \"failure_rate\"\nmax = 0.1\n"),
            &["failure_ratio"],
        ),
    ]
}

#[test]
fn bad_files_get_one_message_and_leave_nothing_behind() {
    for (what, text, parts) in bad_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bad.toml"), text).unwrap();
        for command in ["run", "explain"] {
            let output = zonesim(folder.path(), &[command, "bad.toml"]);
            assert_status(&output, 2);
            let message = stderr(&output);
            assert_eq!(stdout(&output), "", "{what}");
            assert!(message.starts_with("error"), "{what}: {message}");
            assert_eq!(message.matches("error").count(), 1, "{what}: {message}");
            assert!(message.contains("--> bad.toml"), "{what} is placed: {message}");
            assert!(message.contains("help"), "{what} is mended: {message}");
            assert!(!message.contains("panicked"), "{what}: {message}");
            for part in parts {
                assert!(message.contains(part), "{what}: {part:?} is not in {message}");
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{what}: nothing is written");
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = zonesim(folder.path(), &["run", "nowhere.toml"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("nowhere.toml"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn wrong_settings_on_the_command_line_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    for (set, part) in [
        ("clients.web-b.addresses=5", "web-a"),
        ("simulation.durations=5s", "duration"),
        ("simulation.duration=soon", "duration"),
        ("server.workers=0", "workers"),
        ("nothing", "PATH=VALUE"),
    ] {
        let output = zonesim(folder.path(), &["run", "small.toml", "--set", set, "--out", "out"]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{set}: {}", stderr(&output));
    }
    for args in [&["run", "small.toml", "--jobs", "0"][..], &["runs"], &["run", "--no-such-flag"], &["plot"]]
    {
        assert_status(&zonesim(folder.path(), args), 2);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}

#[test]
fn help_begins_with_examples_and_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&[][..], &["--help"]] {
        let output = zonesim(folder.path(), args);
        assert_status(&output, 0);
        assert_eq!(stderr(&output), "");
        let text = stdout(&output);
        let examples = text.find("Examples:").expect("there are examples");
        assert!(examples < text.find("Usage:").expect("there is usage"));
    }
    assert_status(&zonesim(folder.path(), &["--version"]), 0);
}

#[test]
fn colour_comes_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for (color, coloured) in [("always", true), ("never", false), ("auto", false)] {
        let output = zonesim(folder.path(), &["run", "nowhere.toml", "--color", color]);
        assert_eq!(stderr(&output).contains('\u{1b}'), coloured, "{color}");
    }
}

#[test]
fn validate_needs_a_file_to_write() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (out, part) in [(".", "name a file"), ("file/table.md", "can't create")] {
        let output = zonesim(folder.path(), &["validate", "--out", out]);
        assert_status(&output, 1);
        assert!(stderr(&output).contains(part), "{out}: {}", stderr(&output));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}

//! Crash safety: what is finished is kept, whatever ends a job, and `--resume` finishes it to the same bytes.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, zonesim};

/// Waits until `child` has `count` runs in the journal of `folder`.
pub(crate) fn wait_for_runs(child: &mut Child, folder: &Path, count: usize) {
    let journal = folder.join(".zonesim-journal");
    while fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) <= count {
        assert_eq!(child.try_wait().unwrap(), None, "it goes on until it is stopped");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn an_interrupted_job_keeps_what_is_finished_and_can_be_resumed() {
    // Runs of some 0.1 s, 40 of them, so that a signal after the third comes long before the last.
    let long = SMALL.replacen("replications = 2", "replications = 10", 1).replacen("\"60s\"", "\"20m\"", 1);
    let folder = folder_with(&long);
    let args = |out| ["run", "small.toml", "--jobs", "1", "--no-charts", "--out", out];
    assert_status(&zonesim(folder.path(), &args("whole")), 0);
    for (name, by, status) in [("interrupted", "-INT", Some(130)), ("killed", "-KILL", None)] {
        let stopped = folder.path().join(name);
        let mut child = command(folder.path(), &args(name)).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_runs(&mut child, &stopped, 3);
        signal(&child, by);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), status, "{}", stderr(&output));
        if by == "-INT" {
            assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
            let kept = rows(&stopped, "runs.csv").len();
            assert!((3..40).contains(&kept), "{kept} runs were kept");
        }
        let resume = [&args(name)[..], &["--resume"]].concat();
        assert_status(&zonesim(folder.path(), &resume), 0);
        assert_eq!(tables(&stopped), tables(&folder.path().join("whole")), "{name}");
        assert!(!stopped.join(".zonesim-journal").exists(), "a finished job leaves no journal");
        // Resuming a complete job has nothing to do.
        assert_status(&zonesim(folder.path(), &resume), 0);
    }
    for (out, seed) in [("killed", "7"), ("nowhere", "42")] {
        let other = zonesim(folder.path(), &[&args(out)[..], &["--resume", "--seed", seed]].concat());
        assert_status(&other, 1);
        assert!(stderr(&other).contains("no unfinished job"), "{}", stderr(&other));
    }
    assert!(!folder.path().join("nowhere").exists());
}

/// Numbers that are the same every time, by a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Complete lines in the journal of `folder`: its header, and a run each.
fn journal_lines(folder: &Path) -> usize {
    let journal = fs::read(folder.join(".zonesim-journal")).unwrap_or_default();
    journal.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn a_job_killed_at_any_moment_loses_only_runs_in_flight() {
    const RUNS: usize = 40;
    let long = SMALL.replacen("replications = 2", "replications = 10", 1).replacen("\"60s\"", "\"5m\"", 1);
    let folder = folder_with(&long);
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "small.toml", "--jobs", "2", "--no-charts", "--out", out], more].concat();
        command(folder.path(), &args)
    };
    assert_status(&run("whole", &[]).output().unwrap(), 0);
    let whole = tables(&folder.path().join("whole"));
    let mut numbers = Numbers(42);
    for moment in 0..10 {
        let out = format!("killed-{moment}");
        let killed = folder.path().join(&out);
        // From a journal without a line to one that holds every run.
        let lines = numbers.below(RUNS + 2);
        let mut child = run(&out, &[]).stderr(Stdio::null()).spawn().unwrap();
        while (journal_lines(&killed) < lines || !killed.join(".zonesim-journal").exists())
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = child.kill();
        let was_killed = child.wait().unwrap().code().is_none();
        let kept = journal_lines(&killed);
        assert!(kept >= lines || !was_killed, "{kept} of {lines} lines are left");
        if was_killed && moment % 2 == 1 {
            // As after a failure of the machine: the end of the journal never reached the disk.
            let journal = fs::OpenOptions::new().write(true).open(killed.join(".zonesim-journal")).unwrap();
            let length = journal.metadata().unwrap().len();
            journal.set_len(length.saturating_sub(numbers.below(5000) as u64)).unwrap();
        }
        let output = run(&out, &["--resume"]).output().unwrap();
        assert_status(&output, 0);
        assert_eq!(tables(&killed), whole, "killed after {kept} lines");
        assert!(!killed.join(".zonesim-journal").exists(), "a finished job leaves no journal");
    }
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = folder_with(&SMALL.replacen("replications = 2", "replications = 100000", 1));
    let args = ["run", "small.toml", "--jobs", "1", "--no-charts", "--out", "out"];
    let mut first = command(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    wait_for_runs(&mut first, &folder.path().join("out"), 1);
    for more in [&[][..], &["--resume"]] {
        let second = zonesim(folder.path(), &[&args[..], more].concat());
        assert_status(&second, 1);
        assert!(stderr(&second).contains("another zonesim is writing to out"), "{}", stderr(&second));
    }
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let folder = folder_with(SMALL);
    fs::write(folder.path().join("taken"), "a file").unwrap();
    let output = zonesim(folder.path(), &["run", "small.toml", "--out", "taken"]);
    assert_status(&output, 1);
    assert!(stderr(&output).contains("taken"), "{}", stderr(&output));
}

/// What is written to `/dev/full` meets a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_keeps_what_is_finished() {
    let folder = folder_with(SMALL);
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "small.toml", "--jobs", "1", "--no-charts", "--out", out], more].concat();
        zonesim(folder.path(), &args)
    };
    assert_status(&run("whole", &[]), 0);
    for name in ["timeline.csv", "runs.csv", ".zonesim-journal"] {
        let out = folder.path().join(name.trim_start_matches('.'));
        fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink("/dev/full", out.join(name)).unwrap();
        let out_name = out.file_name().unwrap().to_str().unwrap();
        let output = run(out_name, &[]);
        assert_status(&output, 1);
        let text = stderr(&output);
        assert!(text.contains(name) && text.contains("No space left on device"), "{text}");
        fs::remove_file(out.join(name)).unwrap();
        if name == ".zonesim-journal" {
            continue;
        }
        assert!(text.contains("--resume"), "{text}");
        assert_eq!(journal_lines(&out), 1 + 8, "every run was finished");
        assert_status(&run(out_name, &["--resume"]), 0);
        assert_eq!(tables(&out), tables(&folder.path().join("whole")));
    }
}

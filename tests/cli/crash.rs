//! Crash safety: what is finished is kept, whatever ends a job, and `--resume` finishes it to the same bytes.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::run::{folder_with, rows, tables};
use crate::{SMALL, assert_status, command, stderr, zonesim};

/// The journal in a results folder.
pub(crate) const JOURNAL: &str = ".zonesim-journal/journal.jsonl";

/// Waits until `child` has `count` runs in the journal of `folder`.
pub(crate) fn wait_for_runs(child: &mut Child, folder: &Path, count: usize) {
    let journal = folder.join(JOURNAL);
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
    let other = zonesim(folder.path(), &[&args("killed")[..], &["--resume", "--seed", "7"]].concat());
    assert_status(&other, 2);
    assert!(stderr(&other).contains("of another seed"), "{}", stderr(&other));
    // Without a journal it begins.
    assert_status(&zonesim(folder.path(), &[&args("nowhere")[..], &["--resume"]].concat()), 0);
    assert_eq!(tables(&folder.path().join("nowhere")), tables(&folder.path().join("whole")));
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
    let journal = fs::read(folder.join(JOURNAL)).unwrap_or_default();
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
        while (journal_lines(&killed) < lines || !killed.join(JOURNAL).exists())
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
            let journal = fs::OpenOptions::new().write(true).open(killed.join(JOURNAL)).unwrap();
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
    let folder = folder_with(&SMALL.replacen("replications = 2", "replications = 10000", 1));
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

/// A limit of file sizes is a disk that is full for large files.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_keeps_what_is_finished() {
    let folder = folder_with(SMALL);
    let args = "run small.toml --jobs 1 --no-charts --out out";
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "whole"]), 0);
    let whole = tables(&folder.path().join("whole"));
    // In blocks of 512 bytes: first the journal can't be written, then runs.csv or another table.
    let mut names = std::collections::BTreeSet::new();
    for blocks in [0, 2, 16, 60, 100, 150, 200, 300] {
        let command = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {args}");
        let output = std::process::Command::new("sh")
            .args(["-c", &command, env!("CARGO_BIN_EXE_zonesim")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let out = folder.path().join("out");
        if output.status.success() {
            break;
        }
        assert_status(&output, 1);
        let text = stderr(&output);
        let name = ["journal.jsonl", ".csv", ".toml", ".json"].into_iter().find(|name| text.contains(name));
        names.extend(name);
        assert!(name.is_some() && text.contains("File too large"), "{text}");
        if journal_lines(&out) > 1 {
            assert!(text.contains("--resume"), "{text}");
            let resumed =
                zonesim(folder.path(), &[&args.split(' ').collect::<Vec<_>>()[..], &["--resume"]].concat());
            assert_status(&resumed, 0);
            assert_eq!(tables(&out), whole, "{blocks} blocks");
            fs::remove_dir_all(&out).unwrap();
        } else {
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "nothing is left of what had not begun");
        }
    }
    assert!(names.len() > 1, "{names:?}");
}

/// How a job can be asked for, beside what all of them have.
const MODES: [(&str, &[&str]); 5] = [
    ("plain", &[]),
    (
        "search",
        &[
            "--search",
            "clients.web-a.arrivals.poisson.rate=10..60",
            "--resolution",
            "10",
            "--subject-to",
            "connections<=2000",
        ],
    ),
    (
        "precision",
        &[
            "--set",
            "simulation.precision={ metric = \"connections\", relative = 0.02, max_replications = 20 }",
        ],
    ),
    ("warmup", &["--set", "simulation.warmup=\"auto\"", "--set", "simulation.sample_interval=\"1s\""]),
    ("shard", &["--shard", "1/1"]),
];

/// Kills every kind of job at random moments, `ZONESIM_KILLS` of them in all, and resumes each until it is done.
#[test]
fn any_kind_of_job_killed_at_random_moments_comes_to_the_same_bytes() {
    let kills: usize =
        std::env::var("ZONESIM_KILLS").map_or(15, |text| text.parse().expect("a number of kills"));
    let folder = folder_with(&SMALL.replacen("replications = 2", "replications = 4", 1));
    let run = |out: &str, mode: &[&str], more: &[&str]| {
        let args = [&["run", "small.toml", "--jobs", "2", "--no-charts", "--out", out], mode, more].concat();
        command(folder.path(), &args)
    };
    let (mut numbers, mut killed) = (Numbers(7), std::collections::BTreeMap::new());
    for (mode, args) in MODES {
        #[allow(clippy::disallowed_methods, reason = "processes run in real time")]
        let begun = std::time::Instant::now();
        let output = run(mode, args, &[]).output().unwrap();
        assert_status(&output, 0);
        let takes = begun.elapsed().as_micros() as usize;
        let whole = tables(&folder.path().join(mode));
        for moment in 0..kills / MODES.len() {
            let out = format!("{mode}-{moment}");
            let mut was_killed = 0;
            // A job is killed once or twice on its way.
            for attempt in 0..=numbers.below(2) {
                let more: &[&str] = if attempt == 0 { &[] } else { &["--resume"] };
                let mut child =
                    run(&out, args, more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                std::thread::sleep(Duration::from_micros(numbers.below(takes * 11 / 10) as u64));
                let _ = child.kill();
                was_killed += usize::from(child.wait().unwrap().code().is_none());
            }
            assert_status(&run(&out, args, &["--resume"]).output().unwrap(), 0);
            assert!(tables(&folder.path().join(&out)) == whole, "{out} differs");
            *killed.entry(mode).or_insert(0) += was_killed;
            if mode == "shard" {
                let merged = format!("merged-{moment}");
                let merge = |wait: Option<u64>| {
                    let mut child = command(folder.path(), &["merge", &out, "--no-charts", "--out", &merged])
                        .stderr(Stdio::null())
                        .spawn()
                        .unwrap();
                    let Some(wait) = wait else { return child.wait().unwrap().code() };
                    std::thread::sleep(Duration::from_micros(wait));
                    let _ = child.kill();
                    child.wait().unwrap().code()
                };
                match merge(Some(numbers.below(60_000) as u64)) {
                    None => {
                        *killed.entry("merge").or_insert(0) += 1;
                        assert!(matches!(merge(None), Some(0 | 2)), "a merge that was stopped is done again");
                    }
                    done => assert_eq!(done, Some(0)),
                }
                assert!(tables(&folder.path().join(&merged)) == whole, "{merged} differs");
            }
            let _ = fs::remove_dir_all(folder.path().join(&out));
        }
    }
    // Not through the test harness, which would keep it to itself.
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "jobs killed at random moments: {killed:?}");
    assert!(killed.values().sum::<usize>() > 0);
}

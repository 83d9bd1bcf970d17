//! The built command, as a user meets it: exit statuses, what stands on which stream, and what is written.

mod cases;
mod compare;
mod crash;
mod data;
mod deploy;
mod expect;
mod explain;
mod folders;
mod precision;
#[cfg(target_os = "linux")]
mod reality;
mod recommend;
mod report;
mod run;
mod search;
mod shard;
mod surroundings;
mod usage;
mod warmup;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `zonesim` with `args` in `folder`.
fn zonesim(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command can be started")
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonesim"));
    command.current_dir(folder).args(args).env_remove("NO_COLOR");
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is UTF-8")
}

#[track_caller]
fn assert_status(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}\n{}", stdout(output), stderr(output));
}

/// A small experiment: two arms, a ratio axis, failures.
const SMALL: &str = r#"# A comment that stays.
name = "small"

[simulation]
replications = 2
warmup = "10s"
duration = "60s"

[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b"]

[[backend_service.backends]]
group = "ig-a"
zone = "us-central1-a"
size = 2
[[backend_service.backends]]
group = "ig-b"
zone = "us-central1-b"
size = 2

[server]
workers = 4
service_time = { exponential = { mean = "20ms" } }
failures = { time_to_failure = { exponential = { mean = "1m" } }, time_to_repair = { exponential = { mean = "15s" } } }

[[clients]]
name = "web-a"
kind = "vm"
zone = "us-central1-a"
arrivals = { poisson = { rate = 40.0 } }

[[arms]]
name = "disabled"
[[arms]]
name = "spill"
set = { "backend_service.zonal_affinity.spillover" = "ZONAL_AFFINITY_SPILL_CROSS_ZONE" }
sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.0, 0.5, 1.0] }
"#;

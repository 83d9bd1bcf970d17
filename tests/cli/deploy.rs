//! What the manifests in `deploy/` start does what their pages say. (`.ci/slurm` runs those for Slurm for real.)

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{folder_with, tables};
use crate::shard::VARIABLES;
use crate::{SMALL, assert_status, command, zonesim};

/// The list after `key: [` in a manifest, as far as these files need YAML.
fn list(manifest: &str, key: &str) -> Vec<String> {
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: [")));
    let list = line.unwrap_or_else(|| panic!("no {key}")).strip_suffix(']').unwrap();
    list.split(", ").map(|item| item.trim_matches('\'').to_owned()).collect()
}

/// The manifest of `system`, which must say `text`.
fn manifest(system: &str, name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(system).join(name);
    let manifest = fs::read_to_string(path).unwrap();
    assert!(manifest.contains(text), "{system}/{name} does not say {text}");
    manifest
}

#[test]
fn the_commands_of_manifests_make_the_results_of_a_plain_run() {
    let systems = [
        ("kubernetes", "completions: 4\n", "JOB_COMPLETION_INDEX", None),
        ("cloud-run", "taskCount: 4\n", "CLOUD_RUN_TASK_INDEX", Some("CLOUD_RUN_TASK_COUNT")),
    ];
    for (system, count, index_variable, count_variable) in systems {
        let folder = folder_with(SMALL);
        let args = list(&manifest(system, "shards.yaml", count), "args");
        for index in 0..4 {
            let local = |arg: &String| {
                if arg.ends_with("experiment.toml") { "small.toml".to_owned() } else { arg.clone() }
            };
            let args: Vec<String> = args.iter().map(local).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut task = command(folder.path(), &args);
            for name in VARIABLES {
                task.env_remove(name);
            }
            task.env(index_variable, index.to_string());
            count_variable.map(|name| task.env(name, "4"));
            assert_status(&task.output().unwrap(), 0);
        }
        let shell = list(&manifest(system, "merge.yaml", "value: quickstart"), "command");
        let script = shell[2].replace("cd /work && ", "");
        let binary = Path::new(env!("CARGO_BIN_EXE_zonesim")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut merge = Command::new(&shell[0]);
        merge.args([&shell[1], &script]).current_dir(folder.path()).env("PATH", path).env("NAME", "small");
        assert_status(&merge.output().unwrap(), 0);
        assert_status(&zonesim(folder.path(), &["run", "small.toml", "--out", "plain", "--no-charts"]), 0);
        assert_eq!(tables(&folder.path().join("results/small")), tables(&folder.path().join("plain")));
    }
}

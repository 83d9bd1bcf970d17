//! `manifest.json`: what made a results folder. The only file with times of the real clock.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::journal::experiment_hash;
use super::tables::WriteError;
use crate::experiment::Experiment;

/// The manifest's name in a results folder.
pub const NAME: &str = "manifest.json";

/// What made a results folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of zonesim.
    pub zonesim: String,
    /// The experiment's name.
    pub experiment: String,
    /// Fingerprint of the experiment as run.
    pub experiment_hash: String,
    /// The seed.
    pub seed: u64,
    /// How many cells it has.
    pub cells: usize,
    /// Replications of each cell.
    pub replications: u32,
    /// Runs that are finished: cells times replications if the job is complete.
    pub finished_runs: u64,
    /// Whether every run is finished.
    pub complete: bool,
    /// Events of all runs.
    pub events: u64,
    /// Connections of all runs, warm-up included.
    pub connections: u64,
    /// Threads that simulated.
    pub jobs: usize,
    /// Seconds that the job took, without runs that an earlier, interrupted job had finished.
    pub wall_time_s: f64,
    /// Events a second that this job simulated, over all threads.
    pub events_per_s: f64,
    /// Connections a second that this job simulated, over all threads.
    pub connections_per_s: f64,
}

/// Counts of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobCounts {
    /// Finished runs.
    pub runs: u64,
    /// Their events.
    pub events: u64,
    /// Their connections.
    pub connections: u64,
}

impl Manifest {
    /// The manifest of a job on `jobs` threads that ended after `wall_time` with `total` counts in its folder, of
    /// which it made `fresh` itself.
    pub fn new(
        experiment: &Experiment,
        jobs: usize,
        wall_time: Duration,
        total: JobCounts,
        fresh: JobCounts,
    ) -> Self {
        let seconds = wall_time.as_secs_f64();
        let replications = experiment.replications();
        Self {
            zonesim: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: experiment.name().to_owned(),
            experiment_hash: experiment_hash(experiment),
            seed: experiment.seed(),
            cells: experiment.cells().len(),
            replications,
            finished_runs: total.runs,
            complete: total.runs == experiment.cells().len() as u64 * u64::from(replications),
            events: total.events,
            connections: total.connections,
            jobs,
            wall_time_s: seconds,
            events_per_s: fresh.events as f64 / seconds,
            connections_per_s: fresh.connections as f64 / seconds,
        }
    }

    /// The manifest in `folder`, if there is a readable one.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(NAME)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes it into `folder`.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, folder: &Path) -> Result<(), WriteError> {
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        write_file(folder, NAME, &text)
    }
}

/// Writes a text file into `folder`.
///
/// # Errors
/// If it can't be written.
pub fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), WriteError> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|source| WriteError { path, source })
}

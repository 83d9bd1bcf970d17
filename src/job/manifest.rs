//! `manifest.json`: what made a results folder. The only file with times of the real clock.

mod entries;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use super::journal::{JobCounts, experiment_hash};
use super::shard::Shard;
use super::warmup::FoundWarmup;
use crate::answers::offered::OfferedLoads;
use crate::answers::unforgotten::unforgotten;
use crate::experiment::{Cell, Experiment};
use crate::results::disk::{open_regular, write_whole};
use crate::results::error::WriteError;
use crate::results::tables::CellSummary;
pub use entries::{
    AskedFault, LeftOutEvents, NotReached, OutOfPorts, PrecisionEntry, QuietCell, ShortWarmup, WarmupEntry,
};

/// The manifest's name in a results folder.
pub const NAME: &str = "manifest.json";
/// Longer than any manifest, in bytes.
const LENGTH_MAX: u64 = 1 << 30;

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
    /// What was searched, and in which experiment, if a search made this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Which shard of the experiment this is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// How many cells it has.
    pub cells: usize,
    /// Replications of each cell; the most of any cell if they are run for a precision.
    pub replications: u32,
    /// The precision that cells are run for, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionEntry>,
    /// The warm-up that pilot runs found, if they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<WarmupEntry>,
    /// The cells whose measured runs still show their beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_warmup: Vec<ShortWarmup>,
    /// The cells in whose measured window no connection began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nothing_began: Vec<QuietCell>,
    /// The cells whose runs had more events than `events.csv` takes of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events_left_out: Vec<LeftOutEvents>,
    /// The load that is offered to each zone as the experiment begins and around its faults, from the rules alone.
    #[serde(flatten)]
    pub offered: OfferedLoads,
    /// The cells of which connections failed because their clients had no free port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_ports: Vec<OutOfPorts>,
    /// Sentences about cells whose runs have not forgotten how they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unforgotten: Vec<String>,
    /// The faults that every measured window has because they were asked to happen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_for: Vec<AskedFault>,
    /// Runs that are finished: all of them if the job is complete.
    pub finished_runs: u64,
    /// Whether every run of the job is finished.
    pub complete: bool,
    /// Events of all runs.
    pub events: u64,
    /// Connections of all runs, warm-up included.
    pub connections: u64,
    /// The files of the folder that zonesim wrote, this one among them: no other is ever replaced or removed.
    #[serde(default)]
    pub files: Vec<String>,
    /// Threads that simulated.
    pub jobs: usize,
    /// Seconds that the job took, without runs that an earlier, interrupted job had finished.
    pub wall_time_s: f64,
    /// Events a second that this job simulated, over all threads.
    pub events_per_s: f64,
    /// Connections a second that this job simulated, over all threads.
    pub connections_per_s: f64,
}

/// A job that has ended.
pub(super) struct EndedJob<'a> {
    pub(super) shard: Option<Shard>,
    pub(super) search: Option<String>,
    pub(super) agenda: &'a Agenda,
    pub(super) warmup: Option<FoundWarmup>,
    /// Threads that simulated.
    pub(super) jobs: usize,
    pub(super) wall_time: Duration,
    pub(super) finished_runs: u64,
    /// What all of them did.
    pub(super) total: JobCounts,
    /// What it simulated itself: not what an earlier, interrupted job had finished.
    pub(super) fresh: JobCounts,
}

impl Manifest {
    /// The manifest of a job that has ended, and whose cells came to `summaries`.
    pub(super) fn new(experiment: &Experiment, job: &EndedJob<'_>, summaries: &[CellSummary]) -> Self {
        let short = summaries.iter().filter_map(|summary| ShortWarmup::of(experiment, summary));
        let offered = OfferedLoads::of(experiment, &experiment.cells().iter().collect::<Vec<&Cell>>());
        let quiet = summaries.iter().filter_map(|summary| QuietCell::of(experiment, summary));
        let seconds = job.wall_time.as_secs_f64();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let most = job.agenda.standings().map(|standing| standing.replications).max();
        Self {
            zonesim: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: experiment.name().to_owned(),
            experiment_hash: experiment_hash(experiment),
            seed: experiment.seed(),
            search: job.search.clone(),
            shard: job.shard,
            cells: experiment.cells().len(),
            replications: most.unwrap_or(experiment.replications()),
            precision: PrecisionEntry::of(experiment, job.agenda),
            warmup: job.warmup.map(|found| WarmupEntry::of(experiment, &found)),
            short_warmup: short.collect(),
            nothing_began: quiet.collect(),
            offered,
            out_of_ports: summaries
                .iter()
                .filter_map(|summary| OutOfPorts::of(experiment, summary))
                .collect(),
            unforgotten: unforgotten(experiment, summaries),
            events_left_out: summaries
                .iter()
                .filter_map(|summary| LeftOutEvents::of(experiment, summary))
                .collect(),
            asked_for: AskedFault::all(experiment),
            finished_runs: job.finished_runs,
            complete: job.finished_runs == job.agenda.runs().len() as u64,
            events: job.total.events,
            connections: job.total.connections,
            files: Vec::new(),
            jobs: job.jobs,
            wall_time_s: seconds,
            events_per_s: rate(job.fresh.events),
            connections_per_s: rate(job.fresh.connections),
        }
    }

    /// What whoever reads the results must know: a line each.
    pub fn warnings(&self) -> Vec<String> {
        let short: Vec<String> = self.short_warmup.iter().map(ShortWarmup::text).collect();
        let imprecise: Vec<String> = self.precision.iter().flat_map(PrecisionEntry::warnings).collect();
        let quiet: Vec<String> = self.nothing_began.iter().map(QuietCell::text).collect();
        let left_out: Vec<String> = self.events_left_out.iter().map(LeftOutEvents::text).collect();
        let unforgotten = self.unforgotten.clone();
        let asked = self.conditions();
        let out_of_ports: Vec<String> = self.out_of_ports.iter().map(OutOfPorts::text).collect();
        [asked, quiet, out_of_ports, short, unforgotten, imprecise, left_out]
            .into_iter()
            .flat_map(|lines| cut(lines, "cells"))
            .collect()
    }

    /// Of what the means of the folder are, if not of all windows: a line each.
    pub fn conditions(&self) -> Vec<String> {
        cut(self.asked_for.iter().map(AskedFault::text).collect(), "cells")
    }

    /// Warnings of what is offered too much, which whoever runs the job hears before it.
    pub fn overload(&self) -> Vec<String> {
        cut(self.offered.warnings.clone(), "warnings of overload")
    }

    /// The manifest in `folder`, if there is a readable one.
    pub fn read(folder: &Path) -> Option<Self> {
        let file = open_regular(&folder.join(NAME)).ok()?;
        let mut text = String::new();
        file.take(LENGTH_MAX).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Adds to the manifest in `folder`, if there is one, files in it that were written after the job.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn enlist(folder: &Path, files: &[PathBuf]) -> Result<(), WriteError> {
        let Some(mut manifest) = Self::read(folder) else { return Ok(()) };
        let inside = files.iter().filter_map(|file| file.strip_prefix(folder).ok()?.to_str());
        let mut all: BTreeSet<String> = manifest.files.iter().cloned().collect();
        all.extend(inside.map(|name| name.replace(std::path::MAIN_SEPARATOR, "/")));
        if all.len() == manifest.files.len() {
            return Ok(());
        }
        manifest.files = all.into_iter().collect();
        manifest.write(folder)
    }

    /// Writes it into `folder`, durably.
    pub(super) fn write(&self, folder: &Path) -> Result<(), WriteError> {
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        write_whole(&folder.join(NAME), text.as_bytes())
    }
}

/// The most lines of warnings of one kind.
const LINES_SHOWN: usize = 5;

/// `lines` about `what`, of which those beyond the most are only counted.
fn cut(mut lines: Vec<String>, what: &str) -> Vec<String> {
    if lines.len() > LINES_SHOWN {
        let more = lines.len() - LINES_SHOWN;
        lines.truncate(LINES_SHOWN);
        lines.push(format!("… and {more} more {what}; {NAME} has all"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_warnings_are_cut() {
        let lines = |count: usize| cut((0..count).map(|line| line.to_string()).collect(), "cells");
        assert_eq!(lines(5), ["0", "1", "2", "3", "4"]);
        assert_eq!(lines(9)[5], "… and 4 more cells; manifest.json has all");
    }
}

//! The warm-up that pilot runs find where the file says `"auto"`.
//!
//! Pilots run without the faults and operations whose times the file gives, and MSER-5 ([`mser`]) judges where their
//! beginning is forgotten ([`steadiness`](crate::results::steadiness)).
//!
//! All cells share one warm-up, the longest that any of them takes, so that they stay paired. The first batch is deleted in
//! any case. Pilots have random numbers of their own, so that no measured run decides what is cut of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::runner::RunId;
use crate::experiment::{Cell, Experiment};
use crate::results::steadiness::{Batches, Series, averaged, difference};
use crate::stats::{MSER_BATCH, mser};
use crate::time::{SimDuration, SimTime};

/// How many pilot runs of each cell there are.
pub const PILOTS: u32 = 5;
/// Pilots are replications from this number on, which no measured run has.
const FIRST_PILOT: u32 = 4_000_000_000;
/// What is cut must differ from the rest in all pilots alike, with this p-value: otherwise it is noise, of which the longest
/// over many cells would be long.
const NOISE_ERROR: f64 = 0.01;
/// The warm-up that pilots found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundWarmup {
    /// How long it is.
    pub length: SimDuration,
    /// The cell that takes longest.
    pub cell: usize,
    /// Which of its series.
    pub series: Series,
}

/// Why pilots find no warm-up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWarmup {
    /// A run is too short to forget its beginning.
    #[error(
        "the run is too short to find a warm-up: {series} of {cell} still change in the second half of {duration}; lengthen \
         simulation.duration, or give simulation.warmup as a duration"
    )]
    TooShort {
        /// The cell in words.
        cell: String,
        /// What still changes.
        series: Series,
        /// The length of the run.
        duration: SimDuration,
    },
    /// Something that is to be measured comes before the warm-up ends.
    #[error(
        "the warm-up takes {length}, but a fault or an operation of {cell} comes at {at}, within it; write later times, or \
         give simulation.warmup as a duration"
    )]
    Late {
        /// The warm-up that was found.
        length: SimDuration,
        /// The cell in words.
        cell: String,
        /// When it comes.
        at: SimDuration,
    },
}

/// The pilot runs of `experiment`.
pub fn pilot_runs(experiment: &Experiment) -> Vec<RunId> {
    let cells = experiment.cells().iter().map(|cell| cell.index);
    let pilots =
        |cell| (FIRST_PILOT..FIRST_PILOT + PILOTS).map(move |replication| RunId { cell, replication });
    cells.flat_map(pilots).collect()
}

/// The warm-up of `experiment`, of whose pilot runs these are the series.
///
/// # Errors
/// If a cell still changes when half of its pilots have passed, or the warm-up would swallow what is to be measured.
pub fn find(experiment: &Experiment, pilots: &BTreeMap<RunId, Batches>) -> Result<FoundWarmup, NoWarmup> {
    let mut longest: Option<FoundWarmup> = None;
    for cell in experiment.cells() {
        let found = of_cell(experiment, cell, pilots)?;
        // The first of equal ones.
        if longest.is_none_or(|longest| longest.length < found.length) {
            longest = Some(found);
        }
    }
    let longest = longest.expect("an experiment has a cell");
    for cell in experiment.cells() {
        let at = experiment.scenario(cell).first_event().map(|at| at - SimTime::ZERO);
        if let Some(at) = at.filter(|at| *at < longest.length) {
            let cell = experiment.describe(cell);
            return Err(NoWarmup::Late { length: longest.length, cell, at });
        }
    }
    Ok(longest)
}

fn of_cell(
    experiment: &Experiment,
    cell: &Cell,
    pilots: &BTreeMap<RunId, Batches>,
) -> Result<FoundWarmup, NoWarmup> {
    let timing = experiment.scenario(cell).timing;
    let [first, last] = [0, u32::MAX].map(|replication| RunId { cell: cell.index, replication });
    let runs: Vec<Batches> = pilots.range(first..=last).map(|(_, batches)| batches.clone()).collect();
    let batch = timing.sample_interval * MSER_BATCH as u64;
    let mut longest = FoundWarmup { length: batch, cell: cell.index, series: Series::OpenConnections };
    for series in Series::ALL {
        let Some(means) = averaged(&runs, series) else { continue };
        let cut = mser(&means);
        let (first, rest) = (0..cut.deleted, cut.deleted..means.len());
        let p = difference(&runs, series, first, rest).and_then(|found| found.p_value(0.0));
        if cut.deleted == 0 || p.is_none_or(|p| p >= NOISE_ERROR) {
            continue;
        }
        if cut.is_at_limit {
            let (cell, duration) = (experiment.describe(cell), timing.duration);
            return Err(NoWarmup::TooShort { cell, series, duration });
        }
        let length = batch * cut.deleted as u64;
        if length > longest.length {
            longest = FoundWarmup { length, cell: cell.index, series };
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests;

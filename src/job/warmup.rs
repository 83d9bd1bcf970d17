//! The warm-up that pilot runs find where the file says `"auto"`.
//!
//! Pilots run without the faults and operations whose times the file gives, and MSER-5 ([`mser`]) judges where their
//! beginning is forgotten ([`steadiness`](crate::results::steadiness)). Of failures that forget more slowly than pilots last,
//! pilots can't tell: there the law of their times does, as if it were exponential ([`time_to_forget`]).
//!
//! All cells share one warm-up, the longest that any of them takes, so that they stay paired. The first batch is deleted in
//! any case. Pilots have random numbers of their own, so that no measured run decides what is cut of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::runner::RunId;
use crate::answers::unforgotten::time_to_forget;
use crate::experiment::{Cell, Experiment};
use crate::results::steadiness::{Batches, Series, averaged, difference};
use crate::stats::{MSER_BATCH, mser};
use crate::time::{SimDuration, SimTime};
use crate::unfit::Unfit;

/// How many pilot runs of each cell there are.
pub const PILOTS: u32 = 5;
/// Pilots are replications from this number on, which no measured run has.
const FIRST_PILOT: u32 = 4_000_000_000;
/// What is cut must differ from the rest in all pilots alike, with this p-value: otherwise it is noise, of which the longest
/// over many cells would be long.
const NOISE_ERROR: f64 = 0.01;
/// A warm-up takes at most so many times as long as what is measured.
const MOST_WINDOWS: u64 = 5;

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
pub fn find(experiment: &Experiment, pilots: &BTreeMap<RunId, Batches>) -> Result<FoundWarmup, Unfit> {
    let found = experiment.cells().iter().map(|cell| of_cell(experiment, cell, pilots));
    let found: Vec<FoundWarmup> = found.collect::<Result<_, _>>()?;
    // `max_by_key` gives the last of equal ones: in reverse, that is the first cell.
    let longest = found.into_iter().rev().max_by_key(|found| found.length);
    let longest = longest.expect("an experiment has a cell");
    for cell in experiment.cells() {
        let at = experiment.scenario(cell).first_event().map(|at| at - SimTime::ZERO);
        if let Some(at) = at.filter(|at| *at < longest.length) {
            return Err(Unfit(format!(
                "the warm-up takes {}, but a fault or an operation of {} comes at {at}, within it; write later times, or \
                 give simulation.warmup as a duration",
                longest.length,
                experiment.describe(cell)
            )));
        }
    }
    Ok(longest)
}

fn of_cell(
    experiment: &Experiment,
    cell: &Cell,
    pilots: &BTreeMap<RunId, Batches>,
) -> Result<FoundWarmup, Unfit> {
    let scenario = experiment.scenario(cell);
    let timing = scenario.timing;
    let [first, last] = [0, u32::MAX].map(|replication| RunId { cell: cell.index, replication });
    let runs: Vec<Batches> = pilots.range(first..=last).map(|(_, batches)| batches.clone()).collect();
    let batch = timing.sample_interval * MSER_BATCH as u64;
    let mut longest = FoundWarmup { length: batch, cell: cell.index, series: Series::OpenConnections };
    for series in runs.iter().take(1).flat_map(Batches::series) {
        let Some(means) = averaged(&runs, series) else { continue };
        let cut = mser(&means);
        let (first, rest) = (0..cut.deleted, cut.deleted..means.len());
        let p = difference(&runs, series, first, rest).and_then(|found| found.p_value(0.0));
        if cut.deleted == 0 || p.is_none_or(|p| p >= NOISE_ERROR) {
            continue;
        }
        let (series, zone) = series;
        if cut.is_at_limit
            && series == Series::HealthyBackends
            && time_to_forget(&scenario, longest.length).is_some()
        {
            continue;
        }
        if cut.is_at_limit {
            let zones: Vec<&String> = scenario.zones.iter().collect();
            let of_zone = if series == Series::HealthyBackends {
                format!(" of zone {}", zones[zone])
            } else {
                String::new()
            };
            return Err(Unfit(format!(
                "the run is too short to find a warm-up: {series}{of_zone} of {} still change in the second half of {}; lengthen \
                 simulation.duration, or give simulation.warmup as a duration",
                experiment.describe(cell),
                timing.duration
            )));
        }
        let length = batch * cut.deleted as u64;
        if length > longest.length {
            longest = FoundWarmup { length, cell: cell.index, series };
        }
    }
    let Some(length) = time_to_forget(&scenario, longest.length) else { return Ok(longest) };
    let most = timing.duration * MOST_WINDOWS;
    if length > most {
        return Err(Unfit(format!(
            "{} takes {length} to forget that all its backends were up at first, more than {MOST_WINDOWS} times what is \
             measured; write simulation.initial_health = \"stationary\", which begins in the long run, or give \
             simulation.warmup as a duration",
            experiment.describe(cell)
        )));
    }
    Ok(FoundWarmup { length, cell: cell.index, series: Series::HealthyBackends })
}

#[cfg(test)]
mod tests;

//! The warm-up: found by pilot runs where the file says `"auto"`, and doubted where a series still shows its beginning.
//!
//! Worlds begin empty and with all backends up. MSER-5 ([`mser`]) judges where that is forgotten, by two series of a cell,
//! each averaged over replications: open connections, and the time that requests take. What is meant to change is left
//! out: pilots run without the faults and operations whose times the file gives, and of measured runs only what comes
//! before them counts.
//!
//! What is cut must differ from the rest in every run alike: MSER-5 often cuts a steady series too, by its noise.
//!
//! All cells share one warm-up, the longest that any of them takes, so that they stay paired. The first batch is deleted in
//! any case. Pilots have random numbers of their own, so that no measured run decides what is cut of itself.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::runner::RunId;
use super::{Cell, Experiment};
use crate::sim::outcome::Timeline;
use crate::sim::scenario::{FaultSchedule, Scenario};
use crate::stats::{Estimate, MSER_BATCH, MSER_BATCHES_MIN, Moments, Sample, mser};
use crate::time::{SimDuration, SimTime};
use crate::workload::ArrivalSpec;

/// How many pilot runs of each cell there are.
pub const PILOTS: u32 = 5;
/// Pilots are replications from this number on, which no measured run has.
const FIRST_PILOT: u32 = 4_000_000_000;
/// What is cut must differ from the rest in all pilots alike, with this p-value: otherwise it is noise, of which the longest
/// over many cells would be long.
const NOISE_ERROR: f64 = 0.01;
/// A beginning is shown by measured runs if it differs from the rest with this p-value, corrected for all that is judged.
const DOUBT_ERROR: f64 = 0.001;
/// A beginning that changes the mean by a smaller share does no harm.
const HARMFUL_SHARE: f64 = 0.01;

/// What is looked at to tell the beginning of a run from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Series {
    /// The mean number of open connections.
    OpenConnections,
    /// The mean time from request to response.
    RequestTime,
}

impl Series {
    const ALL: [Self; 2] = [Self::OpenConnections, Self::RequestTime];
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenConnections => "open connections",
            Self::RequestTime => "request times",
        })
    }
}

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

/// The series of one run, in batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batches {
    /// The mean number of open connections.
    open: Vec<f64>,
    /// Responses, and the nanoseconds that they took together.
    responses: Vec<(f64, f64)>,
}

impl Batches {
    /// The series of `timeline`; of its first `samples` samples. What does not fill a batch is left out.
    pub fn of(timeline: &Timeline, samples: usize) -> Self {
        let open: Vec<f64> = timeline
            .traffic
            .iter()
            .map(|row| row.iter().flat_map(|zones| zones.pairs()).map(|(_, sample)| sample.active).sum())
            .collect();
        let batch = |samples: &[f64]| samples.iter().sum::<f64>() / MSER_BATCH as f64;
        let open = open[..samples.min(open.len())].chunks_exact(MSER_BATCH).map(batch).collect();
        let responses = &timeline.responses[..samples.min(timeline.responses.len())];
        let sums = responses.chunks_exact(MSER_BATCH).map(|batch| {
            batch
                .iter()
                .fold((0.0, 0.0), |(count, nanos), it| (count + it.count as f64, nanos + it.nanos as f64))
        });
        Self { open, responses: sums.collect() }
    }

    fn len(&self) -> usize {
        self.open.len()
    }

    /// The part of `series` in batch `batch`, and its whole.
    fn part(&self, series: Series, batch: usize) -> (f64, f64) {
        match series {
            Series::OpenConnections => (self.open[batch], 1.0),
            Series::RequestTime => {
                let (count, nanos) = self.responses.get(batch).copied().unwrap_or_default();
                (nanos, count)
            }
        }
    }

    /// The mean of `series` over the batches `range`; absent if there is nothing in them.
    fn mean(&self, series: Series, range: std::ops::Range<usize>) -> Option<f64> {
        let (parts, wholes) = range.map(|batch| self.part(series, batch)).unzip();
        Sample::ratios(parts, wholes).estimate().map(|estimate| estimate.value)
    }
}

/// `series`, averaged over `runs`. A batch without a value has that of its neighbour, which changes nothing; absent if no
/// batch has one.
fn averaged(runs: &[Batches], series: Series) -> Option<Vec<f64>> {
    let count = runs.iter().map(Batches::len).min()?;
    let mean = |batch: usize| {
        let (parts, wholes) = runs.iter().map(|run| run.part(series, batch)).unzip();
        Sample::ratios(parts, wholes).estimate().map(|estimate| estimate.value)
    };
    let found: Vec<Option<f64>> = (0..count).map(mean).collect();
    let mut last = found.iter().copied().flatten().next()?;
    let filled = found.into_iter().map(|value| {
        last = value.unwrap_or(last);
        last
    });
    Some(filled.collect())
}

/// How the mean over `first` differs from that over `rest` in each run, of those that have both.
fn difference(
    runs: &[Batches],
    series: Series,
    first: std::ops::Range<usize>,
    rest: std::ops::Range<usize>,
) -> Option<Estimate> {
    let of = |run: &Batches| Some(run.mean(series, first.clone())? - run.mean(series, rest.clone())?);
    let differences: Moments = runs.iter().filter_map(of).collect();
    (differences.count() > 1).then(|| Estimate::of_mean(&differences))
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
        let at = first_event(&experiment.scenario(cell)).map(|at| at - SimTime::ZERO);
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

/// When the first fault or operation comes of which the file gives the time.
fn first_event(scenario: &Scenario) -> Option<SimTime> {
    let faults = scenario.faults.iter().filter_map(|fault| match fault.schedule {
        FaultSchedule::Once { at, .. }
        | FaultSchedule::Flapping { at, .. }
        | FaultSchedule::Rolling { at, .. } => Some(at),
        FaultSchedule::Random { .. } => None,
    });
    faults.chain(scenario.operations.iter().map(|operation| operation.at)).min()
}

/// Takes from `scenario` what the file says will happen, and when.
pub(super) fn undisturbed(mut scenario: Scenario) -> Scenario {
    scenario.faults.retain(|fault| matches!(fault.schedule, FaultSchedule::Random { .. }));
    scenario.operations.clear();
    scenario
}

/// A beginning that the measured runs of a cell still show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// What shows it.
    pub series: Series,
    /// How long it lasts in the measured window.
    pub length: SimDuration,
    /// How much it changes the mean, as a share of the mean without it.
    pub share: f64,
}

/// Judges whether the measured runs of a cell still show their beginning.
#[derive(Clone, Debug)]
pub struct Steadiness {
    /// How many samples of a run come before what is meant to change; 0 if nothing can be judged.
    samples: usize,
    batch: SimDuration,
    runs: Vec<Batches>,
}

impl Steadiness {
    /// Nothing seen yet of `scenario`.
    pub fn new(scenario: &Scenario) -> Self {
        let timing = scenario.timing;
        let start = timing.window_start();
        let changes_by_itself = scenario
            .clients
            .iter()
            .any(|client| matches!(client.arrivals, ArrivalSpec::Diurnal(_) | ArrivalSpec::Trace(_)));
        let undisturbed = match first_event(scenario) {
            _ if changes_by_itself => SimDuration::ZERO,
            None => timing.duration,
            Some(at) if at <= start => SimDuration::ZERO,
            Some(at) => (at - start).min(timing.duration),
        };
        let samples = (undisturbed.as_nanos() / timing.sample_interval.as_nanos()) as usize;
        let samples = if samples < MSER_BATCH * MSER_BATCHES_MIN { 0 } else { samples };
        Self { samples, batch: timing.sample_interval * MSER_BATCH as u64, runs: Vec::new() }
    }

    /// Adds a replication.
    pub fn add(&mut self, timeline: &Timeline) {
        if self.samples > 0 {
            self.runs.push(Batches::of(timeline, self.samples));
        }
    }

    /// The beginning that shows most, if one does; one of `cells` cells that are judged.
    pub fn doubt(&self, cells: usize) -> Option<Doubt> {
        let error = DOUBT_ERROR / (cells * Series::ALL.len()) as f64;
        let doubts = Series::ALL.into_iter().filter_map(|series| self.doubt_of(series, error));
        doubts.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs()))
    }

    fn doubt_of(&self, series: Series, error: f64) -> Option<Doubt> {
        let means = averaged(&self.runs, series)?;
        let (cut, all) = (mser(&means).deleted, means.len());
        if cut == 0 {
            return None;
        }
        // Noise that MSER takes for a beginning differs from run to run; a beginning does not.
        let p = difference(&self.runs, series, 0..cut, cut..all)?.p_value(0.0)?;
        let mean = |from: usize| means[from..].iter().sum::<f64>() / (all - from) as f64;
        let share = mean(0) / mean(cut) - 1.0;
        let shows = p < error && share.abs() > HARMFUL_SHARE;
        shows.then_some(Doubt { series, length: self.batch * cut as u64, share })
    }
}

#[cfg(test)]
mod tests;

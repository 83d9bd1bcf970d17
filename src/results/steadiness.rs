//! Whether a run still shows its beginning.
//!
//! Worlds begin empty and with all backends up. MSER-5 ([`mser`]) judges where that is forgotten, by series of a cell, each
//! averaged over replications: open connections, the time that requests take, and for a warm-up that is to be found the healthy
//! backends of each zone. What is meant to change is left out: of measured runs only what comes before the faults and operations
//! whose times the file gives counts.
//!
//! What is cut must differ from the rest in every run alike: MSER-5 often cuts a steady series too, by its noise.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{Id, IdVec, ZoneId};
use crate::sim::outcome::{ByZone, Responses, Timeline, TrafficSample};
use crate::sim::scenario::Scenario;
use crate::stats::{Estimate, MSER_BATCH, MSER_BATCHES_MIN, Moments, Sample, mser};
use crate::time::SimDuration;
use crate::workload::ArrivalSpec;

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
    /// The mean number of backends of a zone that are held healthy.
    HealthyBackends,
}

impl Series {
    /// Those of which each run has one.
    const OF_TRAFFIC: [Self; 2] = [Self::OpenConnections, Self::RequestTime];
}

/// One of the series of a run: of those of which each zone has one, that of this zone.
pub type ZoneSeries = (Series, usize);

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenConnections => "open connections",
            Self::RequestTime => "request times",
            Self::HealthyBackends => "healthy backends",
        })
    }
}

/// The series of one run, in batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batches {
    open: Vec<f64>,
    /// Responses, and the nanoseconds that they took together.
    responses: Vec<(f64, f64)>,
    /// Healthy backends, zone by zone.
    healthy: Vec<Vec<f64>>,
}

impl Batches {
    /// The series of `timeline`; of its first `samples` samples. What does not fill a batch is left out.
    pub fn of(timeline: &Timeline, samples: usize) -> Self {
        let active = |row: &IdVec<_, ByZone<TrafficSample>>| -> f64 {
            row.iter().flat_map(|zones| zones.pairs()).map(|(_, sample)| sample.active).sum()
        };
        let means = |samples: Vec<f64>| -> Vec<f64> {
            let batches = samples.chunks_exact(MSER_BATCH);
            batches.map(|batch| batch.iter().sum::<f64>() / MSER_BATCH as f64).collect()
        };
        let open = means(timeline.traffic.iter().take(samples).map(active).collect());
        let zones = timeline.zones.first().map_or(0, IdVec::len);
        let healthy = (0..zones).map(ZoneId::from_index).map(|zone| {
            means(timeline.zones.iter().take(samples).map(|sample| sample[zone].healthy).collect())
        });
        let responses = &timeline.responses[..samples.min(timeline.responses.len())];
        let sums = responses.chunks_exact(MSER_BATCH).map(|batch| {
            let sum = |of: fn(&Responses) -> f64| batch.iter().map(of).sum();
            (sum(|sample| sample.count as f64), sum(|sample| sample.nanos as f64))
        });
        Self { open, responses: sums.collect(), healthy: healthy.collect() }
    }

    /// How many batches there are.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Its series.
    pub fn series(&self) -> impl Iterator<Item = ZoneSeries> + use<> {
        let healthy = (0..self.healthy.len()).map(|zone| (Series::HealthyBackends, zone));
        Series::OF_TRAFFIC.into_iter().map(|series| (series, 0)).chain(healthy)
    }

    /// The part of `series` in batch `batch`, and its whole.
    fn part(&self, (series, zone): ZoneSeries, batch: usize) -> (f64, f64) {
        match series {
            Series::OpenConnections => (self.open[batch], 1.0),
            Series::HealthyBackends => (self.healthy[zone][batch], 1.0),
            Series::RequestTime => {
                let (count, nanos) = self.responses.get(batch).copied().unwrap_or_default();
                (nanos, count)
            }
        }
    }

    /// The mean of `series` over the batches `range`; absent if there is nothing in them.
    fn mean(&self, series: ZoneSeries, range: std::ops::Range<usize>) -> Option<f64> {
        ratio(range.map(|batch| self.part(series, batch)))
    }
}

fn ratio(parts: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (parts, wholes) = parts.unzip();
    Sample::ratios(parts, wholes).estimate().map(|estimate| estimate.value)
}

/// `series`, averaged over `runs`. A batch without a value has its neighbour's; absent if no batch has one.
pub fn averaged(runs: &[Batches], series: ZoneSeries) -> Option<Vec<f64>> {
    let count = runs.iter().map(Batches::count).min()?;
    let mean = |batch| ratio(runs.iter().map(|run| run.part(series, batch)));
    let found: Vec<Option<f64>> = (0..count).map(mean).collect();
    let mut last = found.iter().copied().flatten().next()?;
    let filled = found.into_iter().map(|value| {
        last = value.unwrap_or(last);
        last
    });
    Some(filled.collect())
}

/// How the mean over `first` differs from that over `rest` in each run, of those that have both.
pub fn difference(
    runs: &[Batches],
    series: ZoneSeries,
    first: std::ops::Range<usize>,
    rest: std::ops::Range<usize>,
) -> Option<Estimate> {
    let of = |run: &Batches| Some(run.mean(series, first.clone())? - run.mean(series, rest.clone())?);
    let differences: Moments = runs.iter().filter_map(of).collect();
    (differences.count() > 1).then(|| Estimate::of_mean(&differences))
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
        let by_itself =
            |arrivals: &ArrivalSpec| matches!(arrivals, ArrivalSpec::Diurnal(_) | ArrivalSpec::Trace(_));
        let changes_by_itself = scenario.clients.iter().any(|client| by_itself(&client.arrivals));
        let end = scenario.first_event().unwrap_or(timing.window_end()).clamp(start, timing.window_end());
        let undisturbed = if changes_by_itself { SimDuration::ZERO } else { end - start };
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
        let error = DOUBT_ERROR / (cells * Series::OF_TRAFFIC.len()) as f64;
        let doubts = Series::OF_TRAFFIC.into_iter().filter_map(|series| self.doubt_of(series, error));
        doubts.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs()))
    }

    fn doubt_of(&self, series: Series, error: f64) -> Option<Doubt> {
        let of_run = (series, 0);
        let means = averaged(&self.runs, of_run)?;
        let (cut, all) = (mser(&means).deleted, means.len());
        if cut == 0 {
            return None;
        }
        // Noise that MSER takes for a beginning differs from run to run; a beginning does not.
        let p = difference(&self.runs, of_run, 0..cut, cut..all)?.p_value(0.0)?;
        let mean = |from: usize| means[from..].iter().sum::<f64>() / (all - from) as f64;
        let share = mean(0) / mean(cut) - 1.0;
        let shows = p < error && share.abs() > HARMFUL_SHARE;
        shows.then_some(Doubt { series, length: self.batch * cut as u64, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_five_samples_and_a_gap_has_its_neighbours_value() {
        use crate::sim::outcome::Responses;
        let of = |counts: &[u64]| Timeline {
            responses: counts
                .iter()
                .map(|count| Responses { count: *count, nanos: u128::from(count * 10) })
                .collect(),
            traffic: counts.iter().map(|_| Default::default()).collect(),
            ..Timeline::default()
        };
        let batches = Batches::of(&of(&[0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 9]), usize::MAX);
        assert_eq!(batches.responses, [(0.0, 0.0), (6.0, 60.0), (0.0, 0.0)]);
        assert_eq!(averaged(std::slice::from_ref(&batches), (Series::RequestTime, 0)), Some(vec![10.0; 3]));
        assert_eq!(averaged(&[Batches::of(&of(&[0; 10]), 9)], (Series::RequestTime, 0)), None);
        assert_eq!(Batches::of(&of(&[1; 10]), 9).count(), 1);
    }
}

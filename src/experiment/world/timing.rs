//! `[simulation]`: when the world is measured, and how often.

use serde::Deserialize;

use super::super::bounded::{Span, Whole};
use super::super::path::KeyPath;
use super::super::problem::Problem;
use crate::sim::scenario::Timing;
use crate::time::SimDuration;

/// The most samples of a timeline.
const SAMPLES_MAX: u64 = 100_000;

/// `[simulation]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct Simulation {
    /// The root of all randomness. Default: 42.
    pub seed: u64,
    /// How often each cell is run. Default: 10.
    pub replications: Whole<1, 1_000_000>,
    /// Not measured. Default: 2 min.
    warmup: SimDuration,
    /// Measured. Default: 30 min.
    duration: Span,
    /// Resolution of the timeline. Default: 10 s.
    sample_interval: Span,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            seed: 42,
            replications: Whole::new(10),
            warmup: SimDuration::from_secs(120),
            duration: Span::from_secs(1800),
            sample_interval: Span::from_secs(10),
        }
    }
}

impl Simulation {
    /// When the world is measured.
    pub(super) fn timing(&self) -> Result<Timing, Problem> {
        let Self { warmup, duration, sample_interval, .. } = *self;
        let path = |key| KeyPath::to("simulation").key(key);
        if warmup > Span::LONGEST {
            let help = format!("write at most \"{}\" (ten years)", Span::LONGEST);
            return Err(Problem::that(path("warmup"), format_args!("can't be {warmup}"), help));
        }
        let (duration, sample_interval) = (duration.get(), sample_interval.get());
        let samples = duration.as_nanos().div_ceil(sample_interval.as_nanos());
        if samples > SAMPLES_MAX {
            let what = format!("is {sample_interval}, which cuts {duration} into {samples} samples");
            let least = SimDuration::from_nanos(duration.as_nanos().div_ceil(SAMPLES_MAX));
            let help = format!("write at least \"{least}\", for at most {SAMPLES_MAX} samples");
            return Err(Problem::that(path("sample_interval"), what, help));
        }
        Ok(Timing { warmup, duration, sample_interval })
    }
}

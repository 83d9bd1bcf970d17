//! Poisson arrivals at a rate that swings with the hours: m (1 + a sin(2πt / period)), where a = peak / mean - 1.
//!
//! It starts at its mean and rises; the peak comes after a quarter of the period, the quietest moment after three
//! quarters. Drawn by thinning a Poisson process of the peak rate (Lewis and Shedler 1979), which is exact.

use std::f64::consts::TAU;

use rand::Rng;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Rate, later};
use crate::random::{Stream, exponential, open_unit};
use crate::time::{SimDuration, SimTime};
use crate::unfit::number;

/// A swinging rate as configured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Diurnal {
    /// The mean rate of every whole period.
    pub mean_rate: Rate,
    /// The highest rate over the mean.
    pub peak_to_mean: PeakToMean,
    /// From one peak to the next; above zero.
    #[schemars(extend("x-above" = "0s", "examples" = ["1m"]))]
    pub period: SimDuration,
}

impl<'de> Deserialize<'de> for Diurnal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The method that is derived for it reads the keys one by one.
        let diurnal = Self::deserialize(deserializer)?;
        if diurnal.period.is_zero() {
            Err(D::Error::custom(
                "a period can't be 0s; write the time from one peak to the next, such as \"24h\"",
            ))
        } else {
            Ok(diurnal)
        }
    }
}

number! {
    /// The highest rate of a sine over its mean: from 1, where the rate is constant, to 2, where it sinks to 0.
    #[schemars(extend("minimum" = 1, "maximum" = 2, "examples" = [1.5]))]
    PeakToMean: |value| (1.0..=2.0).contains(&value),
    "{value} is no ratio of a sine's peak to its mean; write 1.0 (constant) to 2.0 (down to nothing)"
}

impl Diurnal {
    /// How far the rate swings, of its mean.
    fn amplitude(self) -> f64 {
        self.peak_to_mean.0 - 1.0
    }

    pub(super) fn expected_before(self, end: SimTime) -> f64 {
        let swing = (1.0 - libm::cos(TAU * self.phase(end))) * self.period.as_secs_f64() / TAU;
        self.mean_rate.per_second() * (end.as_secs_f64() + self.amplitude() * swing)
    }

    /// How much of its period has passed at `at`, in 0..1.
    #[inline]
    fn phase(self, at: SimTime) -> f64 {
        let period = self.period.as_nanos();
        (at.as_nanos() % period) as f64 / period as f64
    }
}

#[derive(Debug)]
pub(super) struct DiurnalArrivals {
    diurnal: Diurnal,
    mean_candidate_gap: f64,
    last_candidate: SimTime,
}

impl DiurnalArrivals {
    pub(super) fn new(diurnal: Diurnal) -> Self {
        let mean_candidate_gap = diurnal.mean_rate.mean_gap() / diurnal.peak_to_mean.0;
        Self { diurnal, mean_candidate_gap, last_candidate: SimTime::ZERO }
    }

    pub(super) fn next_time(&mut self, stream: &mut Stream) -> SimTime {
        let amplitude = self.diurnal.amplitude();
        loop {
            self.last_candidate = later(self.last_candidate, self.mean_candidate_gap * exponential(stream));
            let level = open_unit(stream.next_u64()) * self.diurnal.peak_to_mean.0;
            // At least `1 - amplitude` is reached at any time, whatever the sine.
            if level <= 1.0 - amplitude
                || level <= 1.0 + amplitude * libm::sin(TAU * self.diurnal.phase(self.last_candidate))
                || self.last_candidate == SimTime::NEVER
            {
                return self.last_candidate;
            }
        }
    }
}

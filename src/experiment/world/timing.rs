//! `[simulation]`: when the world is measured, and how often.

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use crate::experiment::bounded::{Span, Whole, scalar};
use crate::experiment::path::KeyPath;
use crate::experiment::precision::WrittenPrecision;
use crate::experiment::problem::{Problem, refuse};
use crate::sim::scenario::{InitialHealth, Renewals, Scenario, Timing};
use crate::stats::{MSER_BATCH, MSER_BATCHES_MIN};
use crate::time::SimDuration;

const SAMPLES_MAX: u64 = 100_000;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct SimulationTable {
    /// The root of all randomness.
    #[schemars(extend("x-whole" = true))]
    pub seed: u64,
    /// How often each cell is run. Default: 10, without a precision.
    #[schemars(extend("x-whole" = true))]
    pub replications: Option<Whole<1, 1_000_000, 10>>,
    /// Instead: until a metric is known so well. Default: none.
    #[schemars(extend("x-whole" = true, "examples" = [{ "metric": "failure_ratio", "relative": 0.05 }]))]
    pub precision: Option<WrittenPrecision>,
    /// Not measured.
    pub warmup: Warmup,
    /// Measured.
    duration: Span,
    /// Resolution of the timeline.
    sample_interval: Span,
    /// In which state machines, faults at random times and health begin. `all_up`: nothing has failed, and health is
    /// `health_check.initial_state`. `stationary`: each is up or down as in the long run, for what is left of that time, and the
    /// health check has noticed it.
    pub initial_health: InitialHealth,
    /// The memory that a run may be expected to take, in GiB.
    #[schemars(extend("x-whole" = true))]
    pub max_memory_gib: Whole<1, 65_536, 8>,
    /// The room that journal and results may be expected to take on the disk, in GiB.
    #[schemars(extend("x-whole" = true))]
    pub max_results_gib: Whole<1, 1_048_576, 50>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(with = "SimDuration", extend("x-or" = Self::AUTO, "x-most" = Span::LONGEST))]
pub(in super::super) enum Warmup {
    /// As long as pilot runs find it must be.
    Auto,
    /// So long.
    #[serde(untagged)]
    Fixed(SimDuration),
}

impl Warmup {
    pub(in super::super) const AUTO: &str = "auto";
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a duration with a unit, such as \"2m\", or \"auto\"";
        match scalar(deserializer, expected)? {
            Unexpected::Str(Self::AUTO) => Ok(Self::Auto),
            Unexpected::Str(text) => text.parse().map(Self::Fixed).map_err(D::Error::custom),
            other => Err(D::Error::invalid_type(other, &expected)),
        }
    }
}

impl Default for SimulationTable {
    fn default() -> Self {
        let Timing { warmup, duration, sample_interval } = Timing::default();
        Self {
            seed: 42,
            replications: None,
            precision: None,
            warmup: Warmup::Fixed(warmup),
            duration: Span::known(duration),
            sample_interval: Span::known(sample_interval),
            initial_health: InitialHealth::default(),
            max_memory_gib: Whole::default(),
            max_results_gib: Whole::default(),
        }
    }
}

impl SimulationTable {
    pub(super) fn timing(&self) -> Result<Timing, Problem> {
        let Self { duration, sample_interval, .. } = *self;
        // Until pilots have found it, there is none: what must come before the end of the window comes before it then.
        let warmup = if let Warmup::Fixed(length) = self.warmup { length } else { SimDuration::ZERO };
        let path = |key| KeyPath::to("simulation").key(key);
        if warmup > Span::LONGEST {
            let help = format!("write at most \"{}\" (ten years)", Span::LONGEST);
            return refuse(path("warmup"), format_args!("can't be {warmup}"), help);
        }
        let (duration, sample_interval) = (duration.get(), sample_interval.get());
        let samples = duration.as_nanos().div_ceil(sample_interval.as_nanos());
        if samples > SAMPLES_MAX {
            let what = format!("is {sample_interval}, which cuts {duration} into {samples} samples");
            let least = SimDuration::from_nanos(duration.as_nanos().div_ceil(SAMPLES_MAX));
            let help = format!("write at least \"{least}\", for at most {SAMPLES_MAX} samples");
            return refuse(path("sample_interval"), what, help);
        }
        let least = (MSER_BATCH * MSER_BATCHES_MIN) as u64;
        if self.warmup == Warmup::Auto && duration.as_nanos() / sample_interval.as_nanos() < least {
            let few = format!("which makes too few samples of {duration} to find a warm-up in them");
            let most = SimDuration::from_nanos(duration.as_nanos() / least);
            let enough = format!("write at most \"{most}\", for at least {least} samples");
            let help = enough + ", or give `warmup` as a duration";
            return refuse(path("sample_interval"), format_args!("is {sample_interval}, {few}"), help);
        }
        Ok(Timing { warmup, duration, sample_interval })
    }
}

/// Checks that what is to begin in its long run has one.
pub(super) fn has_a_long_run(scenario: &Scenario) -> Result<(), Problem> {
    let endless = |renewals: Renewals<'_>| !(renewals.up.mean() + renewals.down.mean()).is_finite();
    if scenario.initial_health == InitialHealth::AllUp || !scenario.renewals().any(endless) {
        return Ok(());
    }
    let what = "can't be \"stationary\": a time to failure, to repair, or between faults has no finite mean, and so no long run";
    let help = "give Pareto times a shape above 1 or a max, or write \"all_up\"";
    refuse(KeyPath::to("simulation").key("initial_health"), what, help)
}

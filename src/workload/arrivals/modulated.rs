//! Poisson arrivals at a rate that jumps between states (a Markov-modulated Poisson process).
//!
//! A state lasts an exponential time; the next one is any other, each as likely. The first is drawn as if the process
//! had always run: a state's share of the time is its mean dwell time over the sum of all. Both clocks are memoryless,
//! so a gap that outlasts its state is drawn anew at the new rate, which is exact.

use std::fmt;
use std::sync::Arc;

use rand::Rng;
use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Load, Rate, later};
use crate::random::{Stream, exponential, open_unit};
use crate::time::{SimDuration, SimTime};
use crate::unfit::Unfit;

const STATES_MAX: usize = 1000;
/// The most changes of state from one connection to the next, on average.
const CHANGES_MAX: f64 = 1e6;

/// A rate that jumps, as configured.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenModulation")]
#[schemars(with = "WrittenModulation")]
pub struct Modulation {
    states: Arc<[State]>,
    mean_rate: f64,
}

impl Modulation {
    /// The same with `load` times its rates.
    pub(super) fn at_load(&self, load: Load) -> Result<Self, Unfit> {
        let scaled = |state: &State| match state.mean_gap {
            None => Ok(*state),
            Some(gap) => {
                load.of(Rate(1e9 / gap)).map(|rate| State { mean_gap: Some(rate.mean_gap()), ..*state })
            }
        };
        let states = self.states.iter().map(scaled).collect::<Result<Arc<[State]>, _>>()?;
        let mean_rate = self.mean_rate * load.factor();
        let cycle: f64 = states.iter().map(|state| state.mean_dwell).sum();
        if mean_rate * cycle / 1e9 * CHANGES_MAX < states.len() as f64 {
            let what = format!("makes {mean_rate} connections per second of {} on average", self.mean_rate);
            return Err(Unfit(format!(
                "{what}, and the rate changes a million times between two; write a larger load"
            )));
        }
        Ok(Self { states, mean_rate })
    }
}

/// A level of the rate, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// Absent at rate 0.
    mean_gap: Option<f64>,
    mean_dwell: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenModulation {
    /// The rate of each state, at least two.
    #[schemars(inner(range(min = 0)), extend("x-unit" = "connections/s", "examples" = [[5.0, 50.0]]))]
    rates: Vec<f64>,
    /// How long states last on average: all alike, or one after the other.
    mean_dwell: MeanDwell,
}

/// How long states last: all alike, or one after the other.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
enum MeanDwell {
    All(SimDuration),
    Each(Vec<SimDuration>),
}

impl<'de> Deserialize<'de> for MeanDwell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = MeanDwell;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"10s\", or a list with one for each rate")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MeanDwell, E> {
                text.parse().map(MeanDwell::All).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MeanDwell, A::Error> {
                let mut each = Vec::new();
                while let Some(dwell) = list.next_element()? {
                    each.push(dwell);
                }
                Ok(MeanDwell::Each(each))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl TryFrom<WrittenModulation> for Modulation {
    type Error = Unfit;
    fn try_from(WrittenModulation { rates, mean_dwell }: WrittenModulation) -> Result<Self, Unfit> {
        let unfit = |text: String| Err(Unfit(text));
        let count = rates.len();
        if !(2..=STATES_MAX).contains(&count) {
            return unfit(format!(
                "there are {count} rates; write at least 2 and at most {STATES_MAX}, or poisson for a single one"
            ));
        }
        if let Some(wrong) = rates.iter().find(|rate| !(0.0..=Rate::MAX).contains(*rate)) {
            return unfit(format!(
                "{wrong} is not a rate; write connections per second, 0 or more and at most 1e9"
            ));
        }
        if rates.iter().all(|rate| *rate == 0.0) {
            return unfit("all rates are 0; let one of them be above 0".to_owned());
        }
        let dwells = match mean_dwell {
            MeanDwell::All(dwell) => vec![dwell; count],
            MeanDwell::Each(dwells) => dwells,
        };
        if dwells.len() != count {
            let dwells = dwells.len();
            return unfit(format!(
                "there are {count} rates and {dwells} dwell times; write one dwell time for each rate, or one for all"
            ));
        }
        if dwells.iter().any(|dwell| dwell.is_zero()) {
            return unfit("a mean dwell time can't be 0s; write a duration above 0s".to_owned());
        }
        let cycle: f64 = dwells.iter().map(|dwell| dwell.as_secs_f64()).sum();
        let in_cycle: f64 = rates.iter().zip(&dwells).map(|(rate, dwell)| rate * dwell.as_secs_f64()).sum();
        let mean_rate = in_cycle / cycle;
        if in_cycle * CHANGES_MAX < count as f64 {
            return unfit(format!(
                "the rate changes a million times from one connection to the next; write poisson with rate = {mean_rate}"
            ));
        }
        let states = rates.iter().zip(&dwells).map(|(rate, dwell)| State {
            mean_gap: (*rate > 0.0).then(|| 1e9 / rate),
            mean_dwell: dwell.as_nanos() as f64,
        });
        Ok(Self { states: states.collect(), mean_rate })
    }
}

impl Modulation {
    pub(super) fn mean_rate(&self) -> f64 {
        self.mean_rate
    }
}

#[derive(Debug)]
pub(super) struct ModulatedArrivals {
    states: Arc<[State]>,
    state: usize,
    until: SimTime,
    now: SimTime,
}

impl ModulatedArrivals {
    pub(super) fn new(modulation: &Modulation, stream: &mut Stream) -> Self {
        let states = Arc::clone(&modulation.states);
        let cycle: f64 = states.iter().map(|state| state.mean_dwell).sum();
        let mut point = open_unit(stream.next_u64()) * cycle;
        let state = states.iter().position(|state| {
            point -= state.mean_dwell;
            point < 0.0
        });
        // Rounding may leave a rest behind the last one.
        let state = state.unwrap_or(states.len() - 1);
        let mut arrivals = Self { states, state, until: SimTime::ZERO, now: SimTime::ZERO };
        arrivals.dwell(stream);
        arrivals
    }

    pub(super) fn next_time(&mut self, stream: &mut Stream) -> SimTime {
        loop {
            let gap = self.states[self.state].mean_gap.map(|gap| gap * exponential(stream));
            let next = gap.map_or(SimTime::NEVER, |gap| later(self.now, gap));
            self.now = next.min(self.until);
            if next < self.until || self.until == SimTime::NEVER {
                return self.now;
            }
            // Of the other states, which are counted from the one after this.
            let others = self.states.len() - 1;
            let step = 1 + (open_unit(stream.next_u64()) * others as f64) as usize;
            self.state = (self.state + step.min(others)) % self.states.len();
            self.dwell(stream);
        }
    }

    /// Draws how long the state lasts that begins now.
    fn dwell(&mut self, stream: &mut Stream) {
        self.until = later(self.now, self.states[self.state].mean_dwell * exponential(stream));
    }
}

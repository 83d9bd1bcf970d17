//! Closed loops: a fixed population of clients, each of which thinks, opens a connection, and waits for its end.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Load;
use crate::random::Distribution;
use crate::time::SimDuration;
use crate::unfit::Unfit;

/// A closed loop as configured.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedLoop {
    /// How many clients there are.
    pub population: Population,
    /// From the end of a client's connection to its next one.
    #[schemars(extend("examples" = [{ "exponential": { "mean": "5s" } }]))]
    pub think_time: Distribution<SimDuration>,
}

/// A number of clients: at least one, at most ten million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(extend("minimum" = 1, "maximum" = Self::MAX, "examples" = [500]))]
pub struct Population(u32);

impl Population {
    const MAX: u32 = 10_000_000;

    /// How many clients.
    pub fn get(self) -> u32 {
        self.0
    }

    /// `load` times as many clients.
    pub(super) fn at_load(self, load: Load) -> Result<Self, Unfit> {
        let count = f64::from(self.0) * load.factor();
        let whole = count.round();
        if (count - whole).abs() > whole.max(1.0) * f64::EPSILON * 4.0 {
            return Err(Unfit(format!(
                "makes {count} clients of a population of {}; write a load that leads to a whole number of them",
                self.0
            )));
        }
        let wrong = |_| {
            let most = Self::MAX;
            Unfit(format!(
                "makes {whole} clients of a population of {}; write a load that leads to 1 to {most}",
                self.0
            ))
        };
        Self::try_from(whole as i64).map_err(wrong)
    }
}

impl TryFrom<i64> for Population {
    type Error = Unfit;
    fn try_from(value: i64) -> Result<Self, Unfit> {
        let count = u32::try_from(value).ok().filter(|count| (1..=Self::MAX).contains(count));
        let text = || format!("{value} is not a population; write a whole number from 1 to {}", Self::MAX);
        count.map(Self).ok_or_else(|| Unfit(text()))
    }
}

//! Thresholds: what a metric's mean over replications must keep to.

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use super::Cell;
use super::arm::{Arm, check_name};
use super::bounded::scalar;
use super::path::KeyPath;
use super::problem::{self, Problem, refuse};
use crate::metrics::Metric;
use crate::time::SimDuration;
use crate::unfit::Unfit;

/// A bound on the mean of a metric.
#[derive(Clone, Debug)]
pub struct Threshold {
    /// The metric.
    pub metric: &'static Metric,
    /// The arm whose cells are judged; every cell if absent.
    pub arm: Option<String>,
    /// What passes.
    pub limits: Limits,
}

/// From where to where a mean passes; both ends do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The least that passes.
    pub min: Option<f64>,
    /// The most that passes.
    pub max: Option<f64>,
}

impl Threshold {
    /// Whether it judges `cell`.
    pub fn applies_to(&self, cell: &Cell) -> bool {
        self.arm.as_ref().is_none_or(|arm| *arm == cell.arm)
    }
}

impl Limits {
    /// Whether `mean` passes. Where there is none nothing was measured, and that does not pass.
    pub fn hold(self, mean: Option<f64>) -> bool {
        let within = |mean| self.min.is_none_or(|min| min <= mean) && self.max.is_none_or(|max| mean <= max);
        mean.is_some_and(within)
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenThreshold {
    /// The metric whose mean is judged.
    #[schemars(example = &"failure_ratio")]
    metric: String,
    /// The arm whose cells are judged. Default: all of them.
    #[schemars(example = &"spill")]
    arm: Option<String>,
    /// The least that passes: a number, or a text as in `--subject-to`, "99%" or "20ms". Default: no bound; one of `min` and `max` is needed.
    #[schemars(example = 0.0)]
    min: Option<WrittenLimit>,
    /// The most that passes: a number, or such a text. Default: no bound.
    #[schemars(example = 0.001)]
    max: Option<WrittenLimit>,
}

/// A limit as it is written: a number in the metric's unit, or a text with a unit of its own.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(with = "f64", extend("x-or" = "0.1%"))]
enum WrittenLimit {
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for WrittenLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a number, a share such as \"0.1%\" or a time such as \"20ms\"";
        match scalar(deserializer, expected)? {
            Unexpected::Float(number) => Ok(Self::Number(number)),
            Unexpected::Signed(number) => Ok(Self::Number(number as f64)),
            Unexpected::Str(text) => Ok(Self::Text(text.to_owned())),
            other => Err(D::Error::invalid_type(other, &expected)),
        }
    }
}

impl WrittenLimit {
    /// In the unit of `metric`.
    fn of(&self, metric: &Metric, path: &KeyPath) -> Result<f64, Problem> {
        match self {
            Self::Number(number) if number.is_finite() => Ok(*number),
            Self::Number(number) => {
                refuse(path.clone(), format_args!("can't be {number}"), "write a finite number")
            }
            Self::Text(text) => {
                limit_of(metric, text).map_err(|error| Problem::because(path.clone(), &error))
            }
        }
    }
}

/// The number that `text` writes, in the unit of `metric`: `0.001` and `0.1 %` of a share, `20`, `20ms` and `0.02s` of a
/// metric in milliseconds.
///
/// # Errors
/// If it is no number, or one of another unit.
pub fn limit_of(metric: &Metric, text: &str) -> Result<f64, Unfit> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(plain) = number(text) {
        return Ok(plain);
    }
    let per_second = match metric.unit {
        "ms" => Some(1e3),
        "s" => Some(1.0),
        _ => None,
    };
    let time = text.parse::<SimDuration>().ok().map(|time| time.as_nanos() as f64 / 1e9);
    let share = text.strip_suffix('%').and_then(number).map(|percent| percent / 100.0);
    match (per_second, time, share) {
        (Some(scale), Some(time), _) => Ok(time * scale),
        (None, _, Some(share)) if metric.unit == "1" => Ok(share),
        (Some(_), ..) => Err(Unfit(format!(
            "{text:?} is no limit of a time; write a number of {0}, or one with a unit such as \"20ms\"",
            metric.unit
        ))),
        (None, ..) if metric.unit == "1" => {
            Err(Unfit(format!("{text:?} is no limit; write a number such as 0.001, or \"0.1%\"")))
        }
        (None, ..) => Err(Unfit(format!("{text:?} is no limit; write a number of {}", metric.unit))),
    }
}

pub(super) fn thresholds(written: &[WrittenThreshold], arms: &[Arm]) -> Result<Vec<Threshold>, Problem> {
    let threshold = |(index, written)| threshold(written, arms, KeyPath::to("thresholds").member(index));
    written.iter().enumerate().map(threshold).collect()
}

fn threshold(written: &WrittenThreshold, arms: &[Arm], path: KeyPath) -> Result<Threshold, Problem> {
    let WrittenThreshold { metric, arm, min, max } = written.clone();
    arm.iter().try_for_each(|name| check_name(arms, name, path.key("arm")))?;
    let metric = problem::metric(&metric, path.key("metric"))?;
    let limit = |key: &str, written: Option<WrittenLimit>| {
        written.map(|written| written.of(metric, &path.key(key))).transpose()
    };
    match (limit("min", min)?, limit("max", max)?) {
        (None, None) => {
            refuse(path, "has neither `min` nor `max`", "add one of the two, such as max = 0.001")
        }
        (Some(min), Some(max)) if min > max => {
            refuse(path.key("min"), format!("is {min}, above `max` = {max}"), "swap the two")
        }
        (min, max) => Ok(Threshold { metric, arm, limits: Limits { min, max } }),
    }
}

//! Thresholds: what a metric's mean over replications must keep to.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Cell;
use super::arm::{Arm, check_name};
use super::path::KeyPath;
use super::problem::{self, Problem, refuse};
use crate::metrics::Metric;

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
    /// The least that passes. Default: no bound; one of `min` and `max` is needed.
    #[schemars(example = 0.0)]
    min: Option<f64>,
    /// The most that passes. Default: no bound.
    #[schemars(example = 0.001)]
    max: Option<f64>,
}

pub(super) fn thresholds(written: &[WrittenThreshold], arms: &[Arm]) -> Result<Vec<Threshold>, Problem> {
    let threshold = |(index, written)| threshold(written, arms, KeyPath::to("thresholds").member(index));
    written.iter().enumerate().map(threshold).collect()
}

fn threshold(written: &WrittenThreshold, arms: &[Arm], path: KeyPath) -> Result<Threshold, Problem> {
    let WrittenThreshold { metric, arm, min, max } = written.clone();
    arm.iter().try_for_each(|name| check_name(arms, name, path.key("arm")))?;
    for (key, bound) in [("min", min), ("max", max)] {
        if let Some(bound) = bound.filter(|bound| !bound.is_finite()) {
            return refuse(path.key(key), format_args!("can't be {bound}"), "write a finite number");
        }
    }
    match (min, max) {
        (None, None) => {
            refuse(path, "has neither `min` nor `max`", "add one of the two, such as max = 0.001")
        }
        (Some(min), Some(max)) if min > max => {
            refuse(path.key("min"), format!("is {min}, above `max` = {max}"), "swap the two")
        }
        _ => {
            let metric = problem::metric(&metric, path.key("metric"))?;
            Ok(Threshold { metric, arm, limits: Limits { min, max } })
        }
    }
}

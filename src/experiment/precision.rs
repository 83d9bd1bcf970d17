//! `precision`: how well a metric of each cell must be known before its replications are enough.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::bounded::Whole;
use super::path::KeyPath;
use super::problem::{Problem, metric, refuse};
use crate::metrics::Metric;
use crate::stats::{Confidence, SequentialRule, Tolerance};

/// The precision that each cell is run for.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    /// The metric that must be known so well.
    pub metric: &'static Metric,
    /// When it is.
    pub rule: SequentialRule,
    /// A cell that has had so many replications gets no more. At least [`SequentialRule::FIRST`].
    pub max_replications: u32,
}

/// As in: `failure_ratio within ±5 %`.
impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.metric.name;
        match self.rule.tolerance {
            Tolerance::Relative(share) => write!(f, "{name} within ±{} %", percent(share)),
            Tolerance::Absolute(most) => write!(f, "{name} within ±{most}"),
        }
    }
}

/// A share in per cent, without the digits that binary fractions add.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

const FIRST: u32 = SequentialRule::FIRST as u32;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenPrecision {
    /// The metric that must be known so well.
    #[schemars(example = &"failure_ratio")]
    metric: String,
    /// Half the confidence interval, as a share of the mean. Default: none; it or `absolute` is needed.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1), example = 0.05)]
    relative: Option<f64>,
    /// Half the confidence interval, in the unit of the metric. Default: none.
    #[schemars(extend("exclusiveMinimum" = 0), example = 0.001)]
    absolute: Option<f64>,
    /// The confidence of the interval.
    #[serde(default = "confidence")]
    confidence: Confidence,
    /// A cell that has had so many replications gets no more.
    #[serde(default)]
    max_replications: Whole<FIRST, 1_000_000, 1000>,
}

fn confidence() -> Confidence {
    Confidence::P95
}

pub(super) fn precision(written: &WrittenPrecision, path: &KeyPath) -> Result<Precision, Problem> {
    let tolerance = match (written.relative, written.absolute) {
        (Some(share), None) if 0.0 < share && share < 1.0 => Tolerance::Relative(share),
        (Some(share), None) => {
            let help = "write a share strictly between 0 and 1, such as 0.05 for 5 %";
            return refuse(path.key("relative"), format_args!("can't be {share}"), help);
        }
        (None, Some(most)) if most > 0.0 && most.is_finite() => Tolerance::Absolute(most),
        (None, Some(most)) => {
            let help = "write a number above 0, in the unit of the metric";
            return refuse(path.key("absolute"), format_args!("can't be {most}"), help);
        }
        (Some(_), Some(_)) => {
            return refuse(path.clone(), "has both `relative` and `absolute`", "keep one of them");
        }
        (None, None) => {
            let what = "has neither `relative` nor `absolute`";
            return refuse(path.clone(), what, "add one of the two, such as relative = 0.05");
        }
    };
    let metric = metric(&written.metric, path.key("metric"))?;
    Ok(Precision {
        metric,
        rule: SequentialRule { tolerance, confidence: written.confidence },
        max_replications: written.max_replications.get(),
    })
}

//! Constraints: what a cell must keep to.

use std::fmt;
use std::str::FromStr;

use crate::metrics::Metric;
use crate::results::observed::QuestionError;

/// A bound on a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The metric's name.
    pub metric: String,
    /// Whether the limit is the most; else it is the least.
    pub at_most: bool,
    /// The limit, in the metric's unit.
    pub limit: f64,
}

/// How a cell stands to a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintStanding {
    /// It keeps to it, with confidence.
    Kept,
    /// It breaks it, with confidence.
    Broken,
    /// The replications do not decide.
    Undecided,
    /// The metric has no value, or fewer than two replications.
    Missing,
}

impl ConstraintStanding {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::Missing => "missing",
        }
    }
}

impl Constraint {
    /// How an interval from `low` to `high` stands to it.
    pub(super) fn standing(&self, (low, high): (f64, f64)) -> ConstraintStanding {
        // A least is a most of the negated values.
        let (low, high, limit) =
            if self.at_most { (low, high, self.limit) } else { (-high, -low, -self.limit) };
        if high <= limit {
            ConstraintStanding::Kept
        } else if low > limit {
            ConstraintStanding::Broken
        } else {
            ConstraintStanding::Undecided
        }
    }
}

impl FromStr for Constraint {
    type Err = QuestionError;
    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let wrong =
            || QuestionError(format!("{text:?} is no constraint; write METRIC<=VALUE or METRIC>=VALUE"));
        let (metric, at_most, value) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((metric, value)), None) => (metric, true, value),
            (None, Some((metric, value))) => (metric, false, value),
            _ => return Err(wrong()),
        };
        let (value, scale) = match value.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (value.trim(), 1.0),
        };
        let limit = value.parse::<f64>().ok().filter(|limit| limit.is_finite()).ok_or_else(wrong)? / scale;
        Ok(Self { metric: metric.trim().to_owned(), at_most, limit })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = Metric::of(&self.metric).format.text(self.limit);
        write!(f, "{} {} {limit}", self.metric, if self.at_most { "<=" } else { ">=" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_read_in_both_directions_and_in_percent() {
        let read = |text: &str| text.parse::<Constraint>();
        let constraint = read("failure_ratio <= 0.1 %").unwrap();
        assert_eq!((constraint.at_most, constraint.limit), (true, 0.001));
        assert_eq!(constraint.to_string(), "failure_ratio <= 0.1 %");
        assert!(!read("requests>=5e3").unwrap().at_most);
        for text in ["failure_ratio", "failure_ratio<0.1", "failure_ratio<=", "x<=NaN", "a<=1>=0"] {
            assert!(read(text).unwrap_err().to_string().contains("METRIC<=VALUE"), "{text}");
        }
    }

    #[test]
    fn a_bound_within_the_limit_is_kept_and_equality_counts() {
        let most: Constraint = "x<=2".parse().unwrap();
        let standings = [(1.0, 2.0), (1.0, 2.1), (2.1, 3.0)].map(|ends| most.standing(ends));
        assert_eq!(
            standings,
            [ConstraintStanding::Kept, ConstraintStanding::Undecided, ConstraintStanding::Broken]
        );
        let least: Constraint = "x>=2".parse().unwrap();
        let standings = [(2.0, 3.0), (1.9, 3.0), (1.0, 1.9)].map(|ends| least.standing(ends));
        assert_eq!(
            standings,
            [ConstraintStanding::Kept, ConstraintStanding::Undecided, ConstraintStanding::Broken]
        );
    }
}

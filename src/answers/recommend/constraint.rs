//! Constraints: what a cell must keep to.

use std::fmt;
use std::str::FromStr;

use crate::experiment::limit_of;
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
    /// Whether it does not keep to it at the limit itself.
    pub is_strict: bool,
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
        let keeps = |value: f64| value < limit || (value == limit && !self.is_strict);
        match (keeps(low), keeps(high)) {
            (_, true) => ConstraintStanding::Kept,
            (false, _) => ConstraintStanding::Broken,
            (true, false) => ConstraintStanding::Undecided,
        }
    }

    fn sign(&self) -> &'static str {
        match (self.at_most, self.is_strict) {
            (true, false) => "<=",
            (true, true) => "<",
            (false, false) => ">=",
            (false, true) => ">",
        }
    }

    /// What its limit is, as answers name it.
    pub fn bound(&self) -> &'static str {
        match (self.at_most, self.is_strict) {
            (true, false) => "at_most",
            (true, true) => "below",
            (false, false) => "at_least",
            (false, true) => "above",
        }
    }
}

impl FromStr for Constraint {
    type Err = QuestionError;
    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let form = "METRIC<=VALUE, METRIC>=VALUE, METRIC<VALUE or METRIC>VALUE";
        let wrong = || QuestionError(format!("{text:?} is no constraint; write {form}"));
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (metric, rest) = (text[..at].trim(), &text[at + 1..]);
        let (value, is_strict) = rest.strip_prefix('=').map_or((rest, true), |value| (value, false));
        if metric.is_empty()
            || metric.contains('=')
            || value.trim().is_empty()
            || value.contains(['<', '>', '='])
        {
            return Err(wrong());
        }
        let limit = limit_of(Metric::of(metric), value);
        let limit = limit.map_err(|error| QuestionError(format!("{text:?} is no constraint: {error}")))?;
        Ok(Self { metric: metric.to_owned(), at_most: text[at..].starts_with('<'), limit, is_strict })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = Metric::of(&self.metric).format.text(self.limit);
        write!(f, "{} {} {limit}", self.metric, self.sign())
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
        for (text, limit, shown) in [
            ("failure_ratio<0.1%", 0.001, "failure_ratio < 0.1 %"),
            ("requests > 5", 5.0, "requests > 5"),
            ("request_p99_ms<=20ms", 20.0, "request_p99_ms <= 20"),
            ("request_p99_ms<=0.02 s", 20.0, "request_p99_ms <= 20"),
            ("request_p99_ms<=20", 20.0, "request_p99_ms <= 20"),
            ("backend_load_max_over_mean<=110%", 1.1, "backend_load_max_over_mean <= 1.1"),
        ] {
            let constraint = read(text).unwrap();
            assert_eq!((constraint.limit, constraint.to_string().as_str()), (limit, shown), "{text}");
        }
        for text in ["failure_ratio", "failure_ratio<=", "a<=1>=0", "a=<1", "a<<1", "<=1"] {
            assert!(read(text).unwrap_err().to_string().contains("METRIC<=VALUE"), "{text}");
        }
        for (text, help) in [
            ("x<=NaN", "write a number"),
            ("failure_ratio<=20ms", "0.1%"),
            ("request_p99_ms<=5%", "20ms"),
            ("request_p99_ms<=20 minuten", "20ms"),
            ("cross_zone_usd_per_month<=5%", "USD"),
        ] {
            assert!(read(text).unwrap_err().to_string().contains(help), "{text}");
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

    #[test]
    fn equality_does_not_keep_a_strict_limit() {
        for (text, ends, standing) in [
            ("x<2", (1.0, 2.0), ConstraintStanding::Undecided),
            ("x<2", (1.0, 1.9), ConstraintStanding::Kept),
            ("x<2", (2.0, 2.0), ConstraintStanding::Broken),
            ("x>2", (2.0, 3.0), ConstraintStanding::Undecided),
            ("x>2", (2.0, 2.0), ConstraintStanding::Broken),
        ] {
            assert_eq!(text.parse::<Constraint>().unwrap().standing(ends), standing, "{text} {ends:?}");
        }
    }
}

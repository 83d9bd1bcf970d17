//! One candidate: its objective, and how it stands to each constraint.

use super::{Constraint, ConstraintStanding};
use crate::results::observed::Observed;
use crate::stats::{Estimate, Nature, Sample};

/// A share that is all but all.
const LARGEST: f64 = 1.0 - 1e-9;

/// Cells that are the same, as a candidate.
#[derive(Clone, Debug)]
pub struct RankedCandidate {
    /// The positions of its cells in the results; at least one.
    pub cells: Vec<usize>,
    /// The estimate of the objective.
    pub objective: Option<f64>,
    /// One for each constraint.
    pub checks: Vec<Check>,
    /// How far it is from the recommended one.
    pub behind: Option<Rank>,
}

/// How a candidate stands to one constraint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// The estimate.
    pub value: Option<f64>,
    /// The ends of its interval at the corrected confidence.
    pub ends: Option<(f64, f64)>,
    /// What they say.
    pub standing: ConstraintStanding,
    /// How many more replications would decide with 80 % probability, if it is undecided and the estimate is right.
    pub more_replications: Option<u64>,
}

/// The objective against that of the recommended candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// This one's minus the recommended one's, paired by replication.
    pub difference: f64,
    /// Its interval, which holds together with those of any two candidates.
    pub ends: Option<(f64, f64)>,
    /// Whether the difference is shown.
    pub told_apart: bool,
}

impl RankedCandidate {
    /// The candidate `cells` with what its replications say of the objective, each of whose bounds misses with probability
    /// `error`.
    pub(super) fn new(
        observed: &Observed,
        cells: Vec<usize>,
        objective: Option<Estimate>,
        constraints: &[(usize, &Constraint)],
        error: f64,
    ) -> Self {
        let cell = &observed.cells()[cells[0]];
        let checks = constraints.iter().map(|(metric, constraint)| {
            let found =
                check(&observed.sample(cell, *metric), observed.nature(cell, *metric), constraint, error);
            found.in_replications(observed.replications_each())
        });
        Self {
            objective: objective.map(|estimate| estimate.value),
            checks: checks.collect(),
            cells,
            behind: None,
        }
    }
}

impl Check {
    /// With its number of replications if each observation takes so many of them.
    pub(crate) fn in_replications(self, each: u64) -> Self {
        Self { more_replications: self.more_replications.map(|more| more.saturating_mul(each)), ..self }
    }
}

/// What `checks` come to: all kept, some broken, some without a value, or neither.
pub fn standing(checks: &[Check]) -> ConstraintStanding {
    let any = |standing: &ConstraintStanding| checks.iter().any(|check| check.standing == *standing);
    let worst = [ConstraintStanding::Broken, ConstraintStanding::Missing, ConstraintStanding::Undecided];
    worst.into_iter().find(any).unwrap_or(ConstraintStanding::Kept)
}

/// How many more replications would decide all of `checks` that are undecided. Absent if none is, or if no number would.
pub fn more_replications(checks: &[Check]) -> Option<u64> {
    let undecided = checks.iter().filter(|check| check.standing == ConstraintStanding::Undecided);
    undecided.map(|check| check.more_replications).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// How a cell stands to `constraint` by the [bounds](Nature::bounds) of a metric of this `nature`, which miss with probability
/// `error`.
pub(crate) fn check(sample: &Sample, nature: Nature, constraint: &Constraint, error: f64) -> Check {
    let missing =
        Check { value: None, ends: None, standing: ConstraintStanding::Missing, more_replications: None };
    let Some(estimate) = sample.estimate() else { return missing };
    let Some(ends) = nature.bounds(sample, error) else {
        return Check { value: Some(estimate.value), ..missing };
    };
    let standing = constraint.standing(ends);
    let needed = || {
        if nature.is_bounded_by_count(sample) {
            needed_of_rare(&estimate, (ends.1, constraint.limit))
        } else {
            estimate.replications_to_reach(constraint.limit, error)
        }
    };
    let more_replications = match standing {
        ConstraintStanding::Undecided => needed().map(|needed| needed.saturating_sub(estimate.n).max(1)),
        ConstraintStanding::Kept | ConstraintStanding::Broken | ConstraintStanding::Missing => None,
    };
    Check { value: Some(estimate.value), ends: Some(ends), standing, more_replications }
}

/// How many replications in all would bring `bound` of a rare share down to `limit`, if the estimate stays: what lies
/// between the two falls about as their number grows. `None` if the limit is not above the estimate.
fn needed_of_rare(estimate: &Estimate, (bound, limit): (f64, f64)) -> Option<u64> {
    let room = limit - estimate.value;
    if room <= 0.0 || bound.is_infinite() {
        return None;
    }
    // None of n keeps to 1 - error^(1/n), of which logarithms are exact.
    let [beyond, room] = if estimate.value == 0.0 {
        [bound, limit].map(|share| -libm::log1p(-share.min(LARGEST)))
    } else {
        [bound - estimate.value, room]
    };
    Some((estimate.n as f64 * beyond / room).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Range;

    const SHARE: Nature = Nature { range: Range::Share, is_ruled: false };

    #[test]
    fn nothing_seen_in_few_replications_keeps_to_no_narrow_limit() {
        let of = |count: usize, limit: &str| {
            let sample = Sample::ratios(vec![0.0; count], vec![1e6; count]);
            check(&sample, SHARE, &limit.parse().unwrap(), 0.05)
        };
        // None of n is 1 - 0.05^(1/n) at most: 25.9 % with 10, and 1 % with 299, however many connections there are.
        let few = of(10, "failure_ratio<=1%");
        assert_eq!((few.standing, few.more_replications), (ConstraintStanding::Undecided, Some(289)));
        assert!((few.ends.unwrap().1 - 0.2589).abs() < 1e-4);
        assert_eq!(of(298, "failure_ratio<=1%").standing, ConstraintStanding::Undecided);
        assert_eq!(of(299, "failure_ratio<=1%").standing, ConstraintStanding::Kept);
        // No number of replications shows that something never happens.
        assert_eq!(of(10, "failure_ratio<=0").more_replications, None);
    }

    #[test]
    fn one_outage_says_little_of_the_next() {
        let of = |share: f64| {
            let mut parts = vec![0.0; 20];
            parts[7] = share * 1000.0;
            let sample = Sample::ratios(parts, vec![1000.0; 20]);
            check(&sample, SHARE, &"failure_ratio<=5%".parse().unwrap(), 0.05)
        };
        let small = of(0.001);
        assert_eq!(small.standing, ConstraintStanding::Undecided);
        assert!(small.more_replications.is_some() && small.ends.unwrap().0 >= 0.0, "{small:?}");
    }
}

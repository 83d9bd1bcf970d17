//! One candidate: its objective, and how it stands to each constraint.

use super::{Constraint, ConstraintStanding};
use crate::answers::compare::draws;
use crate::results::observed::Observed;
use crate::stats::Paired;

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
    /// One-sided bounds, each at the corrected confidence.
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
    /// Its interval, corrected for all candidates.
    pub ends: Option<(f64, f64)>,
    /// Whether the difference is shown.
    pub told_apart: bool,
}

impl RankedCandidate {
    /// The candidate `cells`, each of whose bounds misses with probability `error`.
    pub(super) fn new(
        observed: &Observed,
        cells: Vec<usize>,
        objective: usize,
        constraints: &[(usize, &Constraint)],
        error: f64,
    ) -> Self {
        let cell = &observed.cells()[cells[0]];
        let estimate = observed.sample(cell, objective).estimate();
        let checks = constraints.iter().map(|(metric, constraint)| {
            let stream = format!("{} {}", constraint.metric, cell.number);
            check(&Paired::alone(observed.sample(cell, *metric)), constraint, error, &stream)
        });
        Self {
            objective: estimate.map(|estimate| estimate.value),
            checks: checks.collect(),
            cells,
            behind: None,
        }
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

/// How a cell stands to `constraint`, if each bound misses with probability `error`; a bootstrap draws from `stream`.
pub(crate) fn check(sample: &Paired, constraint: &Constraint, error: f64, stream: &str) -> Check {
    let missing =
        Check { value: None, ends: None, standing: ConstraintStanding::Missing, more_replications: None };
    let Some(test) = sample.test() else { return missing };
    let estimate = test.difference;
    // A two-sided interval with twice the error has one-sided bounds with the error.
    let Some(student) = estimate.ends(2.0 * error) else {
        return Check { value: Some(estimate.value), ..missing };
    };
    let resampled =
        if test.needs_bootstrap() { sample.bootstrap_interval(2.0 * error, draws(stream)) } else { None };
    // Where Student's t can't be trusted, neither bound may be the only one.
    let ends = resampled.map_or(student, |(low, high)| (student.0.min(low), student.1.max(high)));
    let nothing = sample.bound_of_nothing(error);
    let ends = nothing.map_or(ends, |bound| (ends.0, ends.1.max(bound)));
    let standing = constraint.standing(ends);
    let needed = || match nothing {
        // That bound falls as the number of tries grows.
        Some(bound) => {
            (constraint.limit > 0.0).then(|| (estimate.n as f64 * bound / constraint.limit).ceil() as u64)
        }
        None => estimate.replications_to_reach(constraint.limit, 2.0 * error),
    };
    let more_replications = match standing {
        ConstraintStanding::Undecided => needed().map(|needed| needed.saturating_sub(estimate.n).max(1)),
        ConstraintStanding::Kept | ConstraintStanding::Broken | ConstraintStanding::Missing => None,
    };
    Check { value: Some(estimate.value), ends: Some(ends), standing, more_replications }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Sample;

    #[test]
    fn nothing_seen_in_few_tries_keeps_to_no_narrow_limit() {
        let of = |connections: f64, limit: &str| {
            let sample = Sample::ratios(vec![0.0; 10], vec![connections; 10]);
            check(&Paired::alone(sample), &limit.parse().unwrap(), 0.05, "nothing")
        };
        // The rule of three: none of 1000 is 0.3 % at most, and 3000 tries take 20 more replications.
        let few = of(100.0, "failure_ratio<=0.1%");
        assert_eq!((few.standing, few.more_replications), (ConstraintStanding::Undecided, Some(20)));
        assert!((few.ends.unwrap().1 - 0.003).abs() < 1e-4);
        assert_eq!(of(1000.0, "failure_ratio<=0.1%").standing, ConstraintStanding::Kept);
        // No number of tries shows that something never happens.
        assert_eq!(of(1000.0, "failure_ratio<=0").more_replications, None);
    }
}

//! One candidate: its objective, and how it stands to each constraint.

use super::{Constraint, Standing};
use crate::report::compare::draws;
use crate::report::observed::Observed;
use crate::stats::Paired;

/// Cells that are the same, as a candidate.
#[derive(Clone, Debug)]
pub struct Candidate {
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
    pub standing: Standing,
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

impl Candidate {
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

    /// Whether it keeps to every constraint with confidence.
    pub fn is_feasible(&self) -> bool {
        self.checks.iter().all(|check| check.standing == Standing::Kept)
    }

    /// Whether it breaks some constraint with confidence.
    pub fn is_infeasible(&self) -> bool {
        self.checks.iter().any(|check| check.standing == Standing::Broken)
    }

    /// How many more replications would decide all that is undecided. Absent if nothing is, or if no number would.
    pub fn more_replications(&self) -> Option<u64> {
        let undecided = || self.checks.iter().filter(|check| check.standing == Standing::Undecided);
        let all = undecided().all(|check| check.more_replications.is_some());
        if all { undecided().filter_map(|check| check.more_replications).max() } else { None }
    }
}

/// How a cell with this `sample` stands to `constraint`, if each bound misses with probability `error`; a bootstrap draws from
/// the stream called `stream`.
pub(in crate::report) fn check(sample: &Paired, constraint: &Constraint, error: f64, stream: &str) -> Check {
    let missing = Check { value: None, ends: None, standing: Standing::Missing, more_replications: None };
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
    let standing = constraint.standing(ends);
    let needed = || estimate.replications_to_reach(constraint.limit, 2.0 * error);
    let more_replications = match standing {
        Standing::Undecided => needed().map(|needed| needed.saturating_sub(estimate.n).max(1)),
        Standing::Kept | Standing::Broken | Standing::Missing => None,
    };
    Check { value: Some(estimate.value), ends: Some(ends), standing, more_replications }
}

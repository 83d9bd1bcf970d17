//! The cell of a results folder that is best and keeps to constraints with confidence.
//!
//! A constraint is kept if the confidence bound lies within the limit, not if the estimate does. All that is said of one
//! circumstance is right together with 95 % confidence: half of the error is that of the intervals of each constraint
//! and candidate, because the best is chosen among them; the other half that of the differences of any two candidates, because
//! the data choose the leader.

mod candidate;
mod constraint;

use super::circumstance::Circumstance;
use super::compare::FAMILY_ERROR;
use super::gather::grouped;
use crate::results::ResultCell;
use crate::results::observed::{Observed, QuestionError};
use crate::stats::Family;
pub(super) use candidate::check;
pub use candidate::{Check, Rank, RankedCandidate, more_replications, standing};
pub use constraint::{Constraint, ConstraintStanding};

/// What is sought: a metric that is to be low, or high, and what must be kept to.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RecommendRequest {
    pub objective: String,
    pub maximize: bool,
    pub constraints: Vec<Constraint>,
}

/// One answer for cells that differ in what can be chosen.
#[derive(Clone, Debug)]
pub struct Section {
    /// The axes that are circumstances, by name, with their values; empty if there are none.
    pub values: Vec<(String, String)>,
    /// The candidates, best objective first; those without a value last.
    pub candidates: Vec<RankedCandidate>,
    /// The recommended one, by position; nothing if none keeps to all constraints with confidence.
    pub recommended: Option<usize>,
    /// Which constraints keep a candidate with a better objective from being recommended, by position.
    pub binding: Vec<usize>,
}

/// Recommends a cell for every circumstance.
///
/// # Errors
/// If the request names what the folder does not have, or there are fewer than two replications.
pub fn recommend(observed: &Observed, request: &RecommendRequest) -> Result<Vec<Section>, QuestionError> {
    let objective = observed.metric(&request.objective)?;
    let constraints = request
        .constraints
        .iter()
        .map(|constraint| Ok((observed.metric(&constraint.metric)?, constraint)))
        .collect::<Result<Vec<_>, QuestionError>>()?;
    for metric in constraints.iter().map(|(metric, _)| *metric).chain([objective]) {
        if let Some(obstacle) = observed.obstacle(metric) {
            return Err(QuestionError(obstacle));
        }
    }
    super::compare::require_replications(observed)?;
    let cells = observed.cells();
    let section = |circumstance: Circumstance| {
        let same = grouped(circumstance.cells, |a, b| observed.all_identical(&cells[*a], &cells[*b]));
        let (bounds, differences) = families(same.len(), constraints.len());
        // The replications that all of them have: the estimates are to differ by what the differences say.
        let representatives: Vec<&ResultCell> = same.iter().map(|same| &cells[same[0]]).collect();
        let samples = observed.aligned(&representatives, objective).samples;
        let candidates = same.into_iter().zip(samples).map(|(cells, sample)| {
            RankedCandidate::new(observed, cells, sample.estimate(), &constraints, bounds.each())
        });
        let section = rank(observed, request, objective, candidates.collect(), differences);
        Section { values: circumstance.values, ..section }
    };
    Ok(Circumstance::all(observed.results()).into_iter().map(section).collect())
}

/// The claims about the bounds of so many candidates, and those about their differences. Where there are none of the one, the
/// other has all of the error.
fn families(candidates: usize, constraints: usize) -> (Family, Family) {
    let both = constraints > 0 && candidates > 1;
    let error = if both { FAMILY_ERROR / 2.0 } else { FAMILY_ERROR };
    (Family::new(error, candidates * constraints), Family::of_pairs(error, candidates))
}

/// The section of a circumstance of which these are the candidates.
fn rank(
    observed: &Observed,
    request: &RecommendRequest,
    objective: usize,
    mut candidates: Vec<RankedCandidate>,
    differences: Family,
) -> Section {
    let key = |candidate: &RankedCandidate| {
        candidate.objective.map_or(f64::INFINITY, |value| if request.maximize { -value } else { value })
    };
    candidates.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let is_feasible = |candidate: &RankedCandidate| {
        candidate.objective.is_some() && standing(&candidate.checks) == ConstraintStanding::Kept
    };
    let recommended = candidates.iter().position(is_feasible);
    let better = &candidates[..recommended.unwrap_or(candidates.len())];
    let breaks =
        |index: &usize| better.iter().any(|one| one.checks[*index].standing != ConstraintStanding::Kept);
    let binding = (0..request.constraints.len()).filter(breaks).collect();
    if let Some(best) = recommended {
        follow(observed, objective, &mut candidates, best, differences);
    }
    Section { values: Vec::new(), candidates, recommended, binding }
}

/// Sets all others against the best, pair by pair; what is said of them is among the claims of `family`.
fn follow(
    observed: &Observed,
    objective: usize,
    candidates: &mut [RankedCandidate],
    best: usize,
    family: Family,
) {
    let cells = observed.cells();
    let representatives: Vec<&ResultCell> =
        candidates.iter().map(|candidate| &cells[candidate.cells[0]]).collect();
    let aligned = observed.aligned(&representatives, objective);
    for (index, candidate) in candidates.iter_mut().enumerate().filter(|(index, _)| *index != best) {
        let own = || observed.paired(representatives[best], representatives[index], objective);
        let pairs = aligned.paired(best, index).unwrap_or_else(own);
        let test = observed.test(&pairs, representatives[best], representatives[index], objective);
        candidate.behind = test.map(|test| Rank {
            difference: test.difference.estimate.value,
            ends: test.ends(family.each()),
            told_apart: test.p_value().is_some_and(|p| family.shows(p)),
        });
    }
}

impl Section {
    /// Whether the recommended candidate is the best of all, as far as the replications tell: none is better by its estimate,
    /// and all others are told apart.
    pub fn is_best_of_all(&self) -> bool {
        let told = |candidate: &RankedCandidate| candidate.behind.is_some_and(|rank| rank.told_apart);
        self.recommended == Some(0) && self.candidates[1..].iter().all(told)
    }

    /// What became of the candidate at position `index`.
    pub fn standing(&self, index: usize) -> &'static str {
        let candidate = &self.candidates[index];
        match standing(&candidate.checks) {
            _ if self.recommended == Some(index) => "recommended",
            _ if candidate.objective.is_none() => "missing",
            ConstraintStanding::Kept => "feasible",
            ConstraintStanding::Broken => "infeasible",
            other => other.name(),
        }
    }
}

#[cfg(test)]
mod tests;

//! The cell of a results folder that is best and keeps to constraints with confidence.
//!
//! A constraint is kept if the confidence bound lies within the limit, not if the estimate does. The bounds are one-sided and
//! hold together: the error is shared out equally over all constraints and candidates (Bonferroni), because the best is
//! chosen among them.

mod candidate;
mod constraint;

use super::compare::FAMILY_ERROR;
use super::gather::grouped;
use crate::results::observed::{Observed, QuestionError};
use crate::results::{ResultCell, Results};
use crate::stats::holm;
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

/// One answer for cells that differ in their own axes only.
#[derive(Clone, Debug)]
pub struct Section {
    /// The values of the shared axes, by name; empty if there are none.
    pub values: Vec<(String, String)>,
    /// The candidates, best objective first; those without a value last.
    pub candidates: Vec<RankedCandidate>,
    /// The recommended one, by position; nothing if none keeps to all constraints with confidence.
    pub recommended: Option<usize>,
    /// Which constraints keep a candidate with a better objective from being recommended, by position.
    pub binding: Vec<usize>,
}

/// Recommends a cell for every combination of values of the axes that all arms share: those are the circumstances, and
/// the rest is what can be chosen.
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
    let sections = blocks(observed.results());
    let cells = observed.cells();
    let section = |(values, block): Block| {
        let same = grouped(block, |a, b| observed.all_identical(&cells[*a], &cells[*b]));
        let error = FAMILY_ERROR / (same.len() * constraints.len().max(1)) as f64;
        // The replications that all of them have: the estimates are to differ by what the differences say.
        let representatives: Vec<&ResultCell> = same.iter().map(|same| &cells[same[0]]).collect();
        let samples = observed.aligned(&representatives, objective).samples;
        let candidates = same.into_iter().zip(samples).map(|(cells, sample)| {
            RankedCandidate::new(observed, cells, sample.estimate(), &constraints, error)
        });
        rank(observed, request, objective, values, candidates.collect())
    };
    Ok(sections.into_iter().map(section).collect())
}

/// A block's shared axes with their values, and its cells.
type Block = (Vec<(String, String)>, Vec<usize>);

/// The cells by their values of the axes that all arms have, if there are several arms.
fn blocks(results: &Results) -> Vec<Block> {
    let everywhere = |axis: &usize| results.cells.iter().all(|cell| !cell.values[*axis].is_empty());
    let shared: Vec<usize> =
        (0..results.axes.len()).filter(|axis| results.arms.len() > 1 && everywhere(axis)).collect();
    let values = |position: usize| -> Vec<(String, String)> {
        let values = &results.cells[position].values;
        shared.iter().map(|axis| (results.axes[*axis].clone(), values[*axis].clone())).collect()
    };
    let blocks = grouped(0..results.cells.len(), |a, b| values(*a) == values(*b));
    blocks.into_iter().map(|cells| (values(cells[0]), cells)).collect()
}

fn rank(
    observed: &Observed,
    request: &RecommendRequest,
    objective: usize,
    values: Vec<(String, String)>,
    mut candidates: Vec<RankedCandidate>,
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
        follow(observed, objective, &mut candidates, best);
    }
    Section { values, candidates, recommended, binding }
}

/// Ranks what comes after the best by paired tests against it, corrected for all of them.
fn follow(observed: &Observed, objective: usize, candidates: &mut [RankedCandidate], best: usize) {
    let cells = observed.cells();
    let others: Vec<usize> = (0..candidates.len()).filter(|index| *index != best).collect();
    let representatives: Vec<&ResultCell> =
        candidates.iter().map(|candidate| &cells[candidate.cells[0]]).collect();
    let aligned = observed.aligned(&representatives, objective);
    let test = |index: &usize| {
        let own = || observed.paired(representatives[best], representatives[*index], objective);
        aligned.paired(best, *index).unwrap_or_else(own).test()
    };
    let tests: Vec<_> = others.iter().map(test).collect();
    let p_values: Vec<f64> =
        tests.iter().map(|test| test.and_then(|test| test.difference.p_value(0.0)).unwrap_or(1.0)).collect();
    let judged = holm(&p_values, FAMILY_ERROR);
    for ((index, test), judged) in others.into_iter().zip(tests).zip(judged) {
        let Some(test) = test else { continue };
        candidates[index].behind = Some(Rank {
            difference: test.difference.value,
            ends: test.difference.ends(judged.error),
            told_apart: judged.rejected,
        });
    }
}

impl Section {
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

//! The best cell of a metric, and those that the replications do not tell apart from it.

use super::{ComparedPolicy, FAMILY_ERROR};
use crate::metrics::Good;
use crate::results::ResultCell;
use crate::results::observed::Observed;
use crate::stats::{Sample, holm};

/// The best of the policies that are compared with the same cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// The position of the cell that they are compared with.
    pub baseline: usize,
    /// The policy with the best estimate, by position in the comparison.
    pub policy: usize,
    /// Policies that may be as good: Holm-corrected paired tests against the best do not show them to be worse.
    pub rivals: Vec<usize>,
}

/// The best of every block of `policies`; none if no direction is good.
pub(super) fn best(observed: &Observed, policies: &[ComparedPolicy], metric: usize, good: Good) -> Vec<Best> {
    if good == Good::Neither {
        return Vec::new();
    }
    let mut baselines: Vec<usize> = policies.iter().map(|policy| policy.baseline).collect();
    baselines.sort_unstable();
    baselines.dedup();
    baselines.into_iter().filter_map(|baseline| best_of(observed, policies, baseline, metric)).collect()
}

/// The policy with the lowest estimate among those against `baseline`, and its rivals. The first of equals wins.
fn best_of(observed: &Observed, policies: &[ComparedPolicy], baseline: usize, metric: usize) -> Option<Best> {
    let cell = |index: usize| &observed.cells()[policies[index].cells[0]];
    let block = (0..policies.len()).filter(|index| policies[*index].baseline == baseline);
    let block: Vec<usize> = block.collect();
    let representatives: Vec<&ResultCell> = block.iter().copied().map(cell).collect();
    let samples = observed.aligned(&representatives, metric).samples;
    let estimate = |(sample, index): (&Sample, usize)| Some((sample.estimate()?.value, index));
    let estimates: Vec<(f64, usize)> = samples.iter().zip(block).filter_map(estimate).collect();
    let (_, policy) = estimates.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let others = estimates.iter().map(|(_, index)| *index).filter(|index| *index != policy);
    let rivals = not_told_apart(others.collect(), |index| {
        let test = observed.paired(cell(policy), cell(index), metric).test();
        // Without a test, a policy is not told apart from the best.
        test.and_then(|test| test.difference.p_value(0.0)).unwrap_or(1.0)
    });
    Some(Best { baseline, policy, rivals })
}

/// Those of `others` that tests with these p-values, corrected for each other, do not reject.
pub(in crate::answers) fn not_told_apart(
    others: Vec<usize>,
    p_value: impl FnMut(usize) -> f64,
) -> Vec<usize> {
    let p_values: Vec<f64> = others.iter().copied().map(p_value).collect();
    let judged = holm(&p_values, FAMILY_ERROR);
    others.into_iter().zip(judged).filter(|(_, judged)| !judged.rejected).map(|(index, _)| index).collect()
}

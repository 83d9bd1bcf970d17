//! The best cell of a metric, and those that the replications do not tell apart from it.

use super::ComparedPolicy;
use crate::metrics::Good;
use crate::results::ResultCell;
use crate::results::observed::Observed;
use crate::stats::{Family, Sample};

/// The best of the policies of one circumstance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// The position of the circumstance.
    pub circumstance: usize,
    /// The policy with the best estimate, by position in the comparison.
    pub policy: usize,
    /// Policies that may be as good: their difference from the best is not shown.
    pub rivals: Vec<usize>,
}

/// The best of every circumstance of `policies`, each with the family of its claims; none if no direction is good.
pub(super) fn best(
    observed: &Observed,
    policies: &[ComparedPolicy],
    metric: usize,
    good: Good,
    families: &[Family],
) -> Vec<Best> {
    if good == Good::Neither {
        return Vec::new();
    }
    let one =
        |(circumstance, family): (usize, &Family)| best_of(observed, policies, circumstance, metric, *family);
    families.iter().enumerate().filter_map(one).collect()
}

/// The policy with the lowest estimate in a circumstance, and its rivals. The first of equals wins.
fn best_of(
    observed: &Observed,
    policies: &[ComparedPolicy],
    circumstance: usize,
    metric: usize,
    family: Family,
) -> Option<Best> {
    let own = (0..policies.len()).filter(|index| policies[*index].circumstance == circumstance);
    let own: Vec<usize> = own.collect();
    let cells: Vec<&ResultCell> =
        own.iter().map(|index| &observed.cells()[policies[*index].cells[0]]).collect();
    let aligned = observed.aligned(&cells, metric);
    let estimate = |(place, sample): (usize, &Sample)| Some((sample.estimate()?.value, place));
    let estimates: Vec<(f64, usize)> = aligned.samples.iter().enumerate().filter_map(estimate).collect();
    let (_, best) = estimates.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_rival = |place: &usize| {
        let pairs = aligned
            .paired(best, *place)
            .unwrap_or_else(|| observed.paired(cells[best], cells[*place], metric));
        let test = observed.test(&pairs, cells[best], cells[*place], metric);
        // Without a test, a policy is not told apart from the best.
        !test.and_then(|test| test.p_value()).is_some_and(|p| family.shows(p))
    };
    let rivals = estimates.iter().map(|(_, place)| *place).filter(|place| *place != best).filter(is_rival);
    Some(Best { circumstance, policy: own[best], rivals: rivals.map(|place| own[place]).collect() })
}

//! Paired comparisons of the cells of a results folder under common random numbers.
//!
//! Every cell is compared with the baseline's cell of the same shared-axis values, replication by replication: all arms
//! met the same arrivals, failures and noise, so that most of the noise cancels. All that is said of a circumstance is right
//! together with 95 % confidence: the differences of any two of its policies, in every metric shown, are one family. Cells
//! that are identical in every metric and replication are one policy.

pub mod baseline;
mod best;
mod effect;
pub mod records;

use super::circumstance::Circumstance;
use super::gather::{distinct, grouped};
use crate::metrics::{Good, Metric};
use crate::results::observed::{Observed, QuestionError};
use crate::stats::Family;
use baseline::Baseline;
pub use best::Best;
pub use effect::Effect;

/// The probability that any claim about a circumstance is wrong.
pub const FAMILY_ERROR: f64 = 0.05;

/// All comparisons of a folder.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What the others are compared with.
    pub baseline: Baseline,
    /// Cells by their positions in the results, those that are the same policy together; in file order.
    pub policies: Vec<ComparedPolicy>,
    /// What was found, metric by metric.
    pub metrics: Vec<MetricRows>,
    /// The circumstances, each with the family of what is said of it.
    pub circumstances: Vec<(Circumstance, Family)>,
    /// What could not be compared, and why.
    pub notes: Vec<String>,
}

/// Cells with the same value of every metric in every replication, compared with the same cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedPolicy {
    /// The positions of its cells in the results; at least one.
    pub cells: Vec<usize>,
    /// The position of the baseline's cell.
    pub baseline: usize,
    /// The position of its circumstance.
    pub circumstance: usize,
}

impl ComparedPolicy {
    /// Whether it is the baseline itself.
    pub fn is_baseline(&self) -> bool {
        self.cells.contains(&self.baseline)
    }
}

/// One metric of every policy.
#[derive(Clone, Debug)]
pub struct MetricRows {
    /// Its name.
    pub name: String,
    /// How to read it.
    pub metric: &'static Metric,
    /// One row for each of [`Comparison::policies`].
    pub rows: Vec<ComparedRow>,
    /// The best policy of each circumstance. Empty if no direction is good.
    pub best: Vec<Best>,
}

/// One metric of one policy against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// Replications in which both have a value.
    pub n: usize,
    /// The policy's estimate over these.
    pub value: Option<f64>,
    /// The baseline's over the same.
    pub baseline: Option<f64>,
    /// The difference; absent where nothing is to be tested.
    pub effect: Option<Effect>,
    /// What it comes to.
    pub verdict: ComparisonVerdict,
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "most names say it")]
pub enum ComparisonVerdict {
    Baseline,
    /// The same value in every replication, to the last digit.
    Identical,
    Better,
    Worse,
    // Of a metric that is neither good nor bad.
    Higher,
    Lower,
    /// The replications do not show a difference. That is not equality.
    NotShown,
    /// Fewer than two replications have a value of both.
    Missing,
}

impl ComparisonVerdict {
    /// A sign that says it without colour, the verdict in words, and its name in records.
    pub fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Baseline => ("*", "baseline", "baseline"),
            Self::Identical => ("=", "identical, exactly", "identical"),
            Self::Better => ("+", "better", "better"),
            Self::Worse => ("-", "worse", "worse"),
            Self::Higher => (">", "higher", "higher"),
            Self::Lower => ("<", "lower", "lower"),
            Self::NotShown => ("?", "no difference shown", "no_difference_shown"),
            Self::Missing => (" ", "missing", "missing"),
        }
    }

    fn of(effect: &Effect, good: Good) -> Self {
        match (effect.is_shown, good, effect.difference > 0.0) {
            (false, ..) => Self::NotShown,
            (true, Good::Low, true) => Self::Worse,
            (true, Good::Low, false) => Self::Better,
            (true, Good::Neither, true) => Self::Higher,
            (true, Good::Neither, false) => Self::Lower,
        }
    }
}

/// Compares all cells with those of `baseline`: an arm, with values of its own axes after commas; by default `disabled`,
/// `base`, or the first arm. `names` are of metrics; by default the [headlines](Metric::headlines) that the folder has.
///
/// # Errors
/// If the folder does not have what is named, or there are fewer than two replications.
pub fn compare(
    observed: &Observed,
    baseline: Option<&str>,
    names: &[String],
) -> Result<Comparison, QuestionError> {
    let (columns, mut notes) = metrics(observed, names)?;
    require_replications(observed)?;
    let baseline = Baseline::find(observed.results(), baseline)?;
    let counterparts = baseline.counterparts(observed.results());
    let alone = counterparts.iter().filter(|counterpart| counterpart.is_none()).count();
    if alone > 0 {
        notes.push(format!(
            "{alone} cells are not compared: the baseline has no cell with their values of the axes"
        ));
    }
    let circumstances = Circumstance::all(observed.results());
    let policies = policies(observed, &counterparts, &circumstances);
    let family = |(index, circumstance): (usize, &Circumstance)| {
        let own: Vec<&ComparedPolicy> =
            policies.iter().filter(|policy| policy.circumstance == index).collect();
        // A baseline that does not have the axes of its circumstances is compared with all of them.
        let is_elsewhere = own.iter().any(|policy| !circumstance.cells.contains(&policy.baseline));
        Family::of_pairs_in(FAMILY_ERROR, own.len() + usize::from(is_elsewhere), columns.len())
    };
    let families: Vec<Family> = circumstances.iter().enumerate().map(family).collect();
    let rows = |column: usize| {
        let name = observed.results().metrics[column].clone();
        let metric = Metric::of(&name);
        let row = |policy: &ComparedPolicy| row(observed, policy, column, families[policy.circumstance]);
        let best = best::best(observed, &policies, column, metric.good, &families);
        MetricRows { name, metric, rows: policies.iter().map(row).collect(), best }
    };
    let metrics = columns.iter().copied().map(rows).collect();
    let circumstances = circumstances.into_iter().zip(families).collect();
    Ok(Comparison { baseline, policies, metrics, circumstances, notes })
}

/// The columns of the metrics called `names`, and what keeps some of them from being compared.
fn metrics(observed: &Observed, names: &[String]) -> Result<(Vec<usize>, Vec<String>), QuestionError> {
    let columns = if names.is_empty() {
        Metric::headlines().filter_map(|metric| observed.metric(metric.name).ok()).collect()
    } else {
        distinct(names.iter().map(|name| observed.metric(name)).collect::<Result<Vec<_>, _>>()?)
    };
    let notes = columns.iter().filter_map(|column| observed.obstacle(*column)).collect();
    Ok((columns, notes))
}

/// Checks that some cell has two replications: with fewer, nothing tells a difference from chance.
pub fn require_replications(observed: &Observed) -> Result<(), QuestionError> {
    if observed.cells().iter().any(|cell| cell.replications >= 2) {
        return Ok(());
    }
    Err(QuestionError(
        "every cell has only one replication; run with --replications 10 or more, so that a difference can be told from \
         chance"
            .to_owned(),
    ))
}

/// Cells that are compared with the same one and are identical, in the order of their first cells.
fn policies(
    observed: &Observed,
    counterparts: &[Option<usize>],
    circumstances: &[Circumstance],
) -> Vec<ComparedPolicy> {
    let cells = observed.cells();
    let mut of_cells = vec![0; cells.len()];
    for (index, circumstance) in circumstances.iter().enumerate() {
        circumstance.cells.iter().for_each(|cell| of_cells[*cell] = index);
    }
    let compared =
        (0..cells.len()).filter_map(|position| Some((position, counterparts[position]?, of_cells[position])));
    let groups = grouped(compared, |(a, baseline, circumstance), (b, other, its)| {
        baseline == other && circumstance == its && observed.all_identical(&cells[*a], &cells[*b])
    });
    let policy = |group: Vec<(usize, usize, usize)>| ComparedPolicy {
        baseline: group[0].1,
        circumstance: group[0].2,
        cells: group.into_iter().map(|(position, ..)| position).collect(),
    };
    groups.into_iter().map(policy).collect()
}

/// The row of a policy, with what is one of the claims of `family`.
fn row(observed: &Observed, policy: &ComparedPolicy, metric: usize, family: Family) -> ComparedRow {
    let cells = observed.cells();
    let (cell, baseline) = (&cells[policy.cells[0]], &cells[policy.baseline]);
    let paired = observed.paired(baseline, cell, metric);
    let (baseline_value, value) = paired.estimates();
    let test = || observed.test(&paired, baseline, cell, metric);
    let (effect, verdict) = match value {
        None => (None, ComparisonVerdict::Missing),
        Some(_) if paired.len() < 2 => (None, ComparisonVerdict::Missing),
        Some(_) if policy.is_baseline() => (None, ComparisonVerdict::Baseline),
        Some(_) if observed.identical(baseline, cell, metric) => (None, ComparisonVerdict::Identical),
        Some(_) => {
            let effect = test().and_then(|test| Effect::of(&test, family, observed.replications_each()));
            let good = Metric::of(&observed.results().metrics[metric]).good;
            let verdict = effect
                .as_ref()
                .map_or(ComparisonVerdict::Missing, |effect| ComparisonVerdict::of(effect, good));
            (effect, verdict)
        }
    };
    ComparedRow { n: paired.len(), value, baseline: baseline_value, effect, verdict }
}

#[cfg(test)]
mod tests;

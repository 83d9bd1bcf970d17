//! Paired comparisons of the cells of a results folder under common random numbers.
//!
//! Every cell is compared with the baseline's cell of the same shared-axis values, replication by replication: all arms
//! met the same arrivals, failures and noise, so that most of the noise cancels. Verdicts and intervals are corrected for
//! everything that is compared at once (Holm). Cells that are identical in every metric and replication are one policy
//! and are tested once.

pub mod baseline;
mod best;
mod effect;
pub mod records;

use super::gather::{distinct, grouped};
use crate::metrics::{Good, Metric};
use crate::results::observed::{Observed, QuestionError};
use crate::stats::holm;
use baseline::Baseline;
pub use best::Best;
pub(super) use best::not_told_apart;
pub(super) use effect::draws;
pub use effect::{BOOTSTRAP_SEED, Effect};

/// The probability that any difference at all is found where there is none.
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
    /// How many tests were corrected for.
    pub tests: usize,
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
    /// The best policy of each block of cells that are compared with the same one. Empty if no direction is good.
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
        match (effect.is_shown(), good, effect.difference > 0.0) {
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
    let policies = policies(observed, &counterparts);
    let mut metrics: Vec<MetricRows> = columns
        .into_iter()
        .map(|column| {
            let name = observed.results().metrics[column].clone();
            let metric = Metric::of(&name);
            let rows = policies.iter().map(|policy| row(observed, policy, column)).collect();
            let best = best::best(observed, &policies, column, metric.good);
            MetricRows { name, metric, rows, best }
        })
        .collect();
    let tests = judge(&mut metrics);
    Ok(Comparison { baseline, policies, metrics, tests, notes })
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
fn policies(observed: &Observed, counterparts: &[Option<usize>]) -> Vec<ComparedPolicy> {
    let cells = observed.cells();
    let compared = (0..cells.len()).filter_map(|position| Some((position, counterparts[position]?)));
    let groups = grouped(compared, |(a, baseline), (b, other)| {
        baseline == other && observed.all_identical(&cells[*a], &cells[*b])
    });
    let policy = |group: Vec<(usize, usize)>| ComparedPolicy {
        baseline: group[0].1,
        cells: group.into_iter().map(|(position, _)| position).collect(),
    };
    groups.into_iter().map(policy).collect()
}

/// The row of a policy; its verdict on a difference is still to be corrected.
fn row(observed: &Observed, policy: &ComparedPolicy, metric: usize) -> ComparedRow {
    let cells = observed.cells();
    let (cell, baseline) = (&cells[policy.cells[0]], &cells[policy.baseline]);
    let paired = observed.paired(baseline, cell, metric);
    let (baseline_value, value) = paired.estimates();
    let name = &observed.results().metrics[metric];
    let effect = || Effect::of(&paired, &format!("{name} {} {}", baseline.number, cell.number));
    let (effect, verdict) = match value {
        None => (None, ComparisonVerdict::Missing),
        Some(_) if paired.len() < 2 => (None, ComparisonVerdict::Missing),
        Some(_) if policy.is_baseline() => (None, ComparisonVerdict::Baseline),
        Some(_) if observed.identical(baseline, cell, metric) => (None, ComparisonVerdict::Identical),
        Some(_) => effect()
            .map_or((None, ComparisonVerdict::Missing), |effect| (Some(effect), ComparisonVerdict::NotShown)),
    };
    ComparedRow { n: paired.len(), value, baseline: baseline_value, effect, verdict }
}

/// Corrects all effects for each other and gives every row its verdict; tells how many tests there were.
fn judge(metrics: &mut [MetricRows]) -> usize {
    let p_values: Vec<f64> = metrics
        .iter()
        .flat_map(|metric| &metric.rows)
        .filter_map(|row| Some(row.effect.as_ref()?.p))
        .collect();
    let mut judged = holm(&p_values, FAMILY_ERROR).into_iter();
    for metric in metrics {
        for row in &mut metric.rows {
            if let Some(effect) = &mut row.effect {
                effect.correct(&judged.next().expect("one judgement for every effect"));
                row.verdict = ComparisonVerdict::of(effect, metric.metric.good);
            }
        }
    }
    p_values.len()
}

#[cfg(test)]
mod tests;

//! A comparison as records: one for each metric and cell.

use super::{Comparison, ComparisonVerdict, MetricRows};
use crate::results::observed::Observed;
use crate::results::record::Record;

/// One record for each metric and cell. Cells of one policy have the same numbers, and `same_as` names their first.
pub fn records(observed: &Observed, comparison: &Comparison) -> Vec<Record> {
    let mut records = Vec::new();
    for metric in &comparison.metrics {
        for (index, policy) in comparison.policies.iter().enumerate() {
            for cell in &policy.cells {
                records.push(record(observed, comparison, metric, index, *cell));
            }
        }
    }
    records
}

fn record(
    observed: &Observed,
    comparison: &Comparison,
    metric: &MetricRows,
    index: usize,
    position: usize,
) -> Record {
    let cells = observed.cells();
    let (policy, row) = (&comparison.policies[index], &metric.rows[index]);
    let first = policy.cells[0];
    let mut record = Record::default();
    record.put("metric", metric.name.as_str());
    record.put_cell(observed.results(), &cells[position]);
    record.put("baseline_cell", cells[policy.baseline].number);
    record.put("same_as", (position != first).then(|| cells[first].number));
    record.put("n", row.n);
    record.put("baseline_value", row.baseline);
    record.put("value", row.value);
    let effect = row.effect.as_ref();
    let is_baseline = position == policy.baseline;
    let verdict = match row.verdict {
        // A cell that equals the baseline's is not the baseline.
        ComparisonVerdict::Baseline if !is_baseline => ComparisonVerdict::Identical,
        verdict => verdict,
    };
    let identical = verdict == ComparisonVerdict::Identical;
    record.put("difference", effect.map(|effect| effect.difference).or(identical.then_some(0.0)));
    record.put_ends("ci", effect.map(|effect| effect.ends));
    record.put_ends("corrected_ci", effect.map(|effect| effect.corrected_ends));
    record.put("p", effect.map(|effect| effect.p));
    record.put("corrected_p", effect.map(|effect| effect.corrected_p));
    record.put("variance_ratio", effect.and_then(|effect| effect.variance_ratio));
    record.put("verdict", verdict.texts().2);
    record.put("more_replications", effect.and_then(|effect| effect.more_replications));
    record.put("claims", comparison.circumstances[policy.circumstance].1.claims());
    let of_circumstance = metric.best.iter().find(|best| best.circumstance == policy.circumstance);
    let standing = of_circumstance.map(|best| match best {
        best if best.policy == index => "best",
        best if best.rivals.contains(&index) => "may_be_as_good",
        _ => "not_best",
    });
    record.put("standing", standing);
    record
}

//! A comparison as tables: one for each metric, one row for each policy.

use super::baseline_text;
use crate::answers::compare::{
    ComparedPolicy, ComparedRow, Comparison, ComparisonVerdict, Effect, MetricRows,
};
use crate::cli::table::{Table, cells_text, family_text, interval, needed_text, p_text, range_text, signed};
use crate::metrics::Good;
use crate::metrics::unit::Unit;
use crate::results::observed::Observed;

/// A variance ratio above which more digits say nothing.
const HUGE: f64 = 9999.0;

pub(super) fn render(observed: &Observed, comparison: &Comparison) -> String {
    let replications = range_text(observed.cells().iter().map(|cell| cell.replications));
    let mut text = format!(
        "{}: {} cells against {}, paired by replication; {replications} replications each\n\n",
        observed.results().description.name,
        observed.cells().len(),
        baseline_text(observed, comparison),
    );
    for metric in &comparison.metrics {
        text += &section(observed, comparison, metric);
        text.push('\n');
    }
    text + &legend(comparison)
}

fn section(observed: &Observed, comparison: &Comparison, metric: &MetricRows) -> String {
    let definition = metric.metric.definition;
    let good = if metric.metric.good == Good::Low { " (low is good)" } else { "" };
    let mut table = Table::new(&["", "cell", "value", "difference", "interval", "p", "CRN", "verdict"]);
    for (policy, row) in comparison.policies.iter().zip(&metric.rows) {
        table.row(fields(observed, metric, policy, row));
    }
    let table = table.render("  ", &[false, false, true, true, false, true, true, false]);
    let best = best_text(observed, comparison, metric);
    format!("{}: {definition}{good}\n{table}{best}", metric.name)
}

fn fields(
    observed: &Observed,
    metric: &MetricRows,
    policy: &ComparedPolicy,
    row: &ComparedRow,
) -> [String; 8] {
    let unit = metric.metric.format;
    let effect = row.effect.as_ref();
    let of = |text: fn(Unit, &Effect) -> String| effect.map(|effect| text(unit, effect)).unwrap_or_default();
    [
        row.verdict.texts().0.to_owned(),
        cells_text(observed.results(), &policy.cells),
        row.value.map_or_else(|| "–".to_owned(), |value| unit.text(value)),
        of(|unit, effect| signed(unit, effect.difference)),
        of(|unit, effect| interval(unit, effect.corrected_ends)),
        of(|_, effect| p_text(effect.corrected_p)),
        of(|_, effect| effect.variance_ratio.map_or_else(|| "–".to_owned(), factor)),
        verdict(policy, row),
    ]
}

fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio > HUGE => format!(">×{HUGE}"),
        ratio if ratio < 10.0 => format!("×{ratio:.1}"),
        ratio => format!("×{ratio:.0}"),
    }
}

fn verdict(policy: &ComparedPolicy, row: &ComparedRow) -> String {
    let (_, words, _) = row.verdict.texts();
    match row.verdict {
        ComparisonVerdict::Baseline if policy.cells.len() > 1 => {
            format!("{words}; the others are identical, exactly")
        }
        ComparisonVerdict::Missing => format!("{words}: {} replications have a value of both", row.n),
        _ => words.to_owned() + &needed_text(row).unwrap_or_default(),
    }
}

/// The best of each circumstance, and those that may be as good.
fn best_text(observed: &Observed, comparison: &Comparison, metric: &MetricRows) -> String {
    let name = |index: usize| cells_text(observed.results(), &comparison.policies[index].cells);
    let mut text = String::new();
    for best in &metric.best {
        let values = &comparison.circumstances[best.circumstance].0.values;
        let values: String = values.iter().map(|(axis, value)| format!(" with {axis} = {value}")).collect();
        text += &format!("  best{values}: {}", name(best.policy));
        if !best.rivals.is_empty() {
            let rivals: Vec<String> = best.rivals.iter().map(|rival| name(*rival)).collect();
            text += &format!("; not told apart from it: {}", rivals.join(", "));
        }
        text.push('\n');
    }
    text
}

fn legend(comparison: &Comparison) -> String {
    format!(
        "* baseline  + better  - worse  > higher  < lower  = identical in every replication  ? no difference shown\n\
         Differences are cell minus baseline; ratios are ratios of means (delta method).\n{}\n\
         CRN: as many times more replications would have been needed without common random numbers.\n",
        family_text(comparison)
    )
}

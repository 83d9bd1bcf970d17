//! What the thresholds say of each cell that they judge.

use crate::answers::thresholds::{Judged, cell_text, count_text, shown};
use crate::cli::console::Console;
use crate::cli::table::Table;
use crate::experiment::{Cell, Experiment};
use crate::results::tables::CellSummary;

/// The most passes in the table.
const PASSES_SHOWN: usize = 12;

/// Each threshold with each cell that it judges, in file order.
pub(super) fn judged(experiment: &Experiment, summaries: &[CellSummary]) -> Vec<Judged> {
    let mut all = Vec::new();
    for threshold in experiment.thresholds() {
        let cells = experiment.cells().iter().zip(summaries);
        for (cell, summary) in cells.filter(|(cell, _)| threshold.applies_to(cell)) {
            let found = summary.metrics.iter().find(|found| found.metric.name == threshold.metric.name);
            let interval = found.and_then(|found| found.interval);
            all.push(Judged {
                metric: threshold.metric.name.to_owned(),
                cell: name(experiment, cell),
                limits: threshold.limits,
                mean: interval.map(|interval| interval.mean),
                ends: interval.and_then(|interval| interval.ends()),
            });
        }
    }
    all
}

fn name(experiment: &Experiment, cell: &Cell) -> String {
    let axes = experiment.axes().iter().map(|axis| axis.column.as_str());
    cell_text(&cell.arm, axes.zip(&cell.values).filter_map(|(axis, value)| Some((axis, value.as_ref()?))))
}

/// Says what was judged: who wants quiet sees the misses only.
pub(super) fn show(judged: &[Judged], console: &Console) {
    let most = if console.is_quiet() { 0 } else { PASSES_SHOWN };
    let (rows, left_out) = shown(judged, most);
    if !rows.is_empty() {
        console.insist(table(&rows).trim_end());
    }
    if left_out > 0 {
        console.note(&format!("… and {left_out} more that passed; zonesim report shows all"));
    }
    let count = count_text(judged);
    if judged.iter().all(Judged::is_held) {
        console.note(&format!("thresholds: {count}"));
    } else {
        console.warn(&format!("threshold missed: {count}"));
    }
}

fn table(rows: &[&Judged]) -> String {
    let mut table = Table::new(&["threshold", "cell", "bound", "mean (interval)", "verdict"]);
    for row in rows {
        table.row([
            row.metric.clone(),
            row.cell.clone(),
            row.bound_text(),
            row.mean_text(),
            row.verdict().to_owned(),
        ]);
    }
    table.render("", &[])
}

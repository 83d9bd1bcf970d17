//! What the thresholds say of each cell that they judge.

use crate::answers::thresholds::{JudgedThreshold, count_text, shown};
use crate::cli::console::Console;
use crate::cli::table::Table;

/// The most passes in the table.
const PASSES_SHOWN: usize = 12;

/// Says what was judged: who wants quiet sees the misses only.
pub(super) fn show(judged: &[JudgedThreshold], console: &Console) {
    let most = if console.is_quiet() { 0 } else { PASSES_SHOWN };
    let (rows, left_out) = shown(judged, most);
    if !rows.is_empty() {
        console.insist(table(&rows).trim_end());
    }
    if left_out > 0 {
        console.note(&format!("… and {left_out} more that passed; zonesim report shows all"));
    }
    let count = count_text(judged);
    if judged.iter().all(JudgedThreshold::is_held) {
        console.note(&format!("thresholds: {count}"));
    } else {
        console.warn(&format!("threshold missed: {count}"));
    }
}

fn table(rows: &[&JudgedThreshold]) -> String {
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

//! What the thresholds say of each cell that they judge.

use super::tables::{HtmlTable, note};
use crate::answers::thresholds::{JudgedThreshold, count_text, judged, shown};
use crate::figures::markup::escaped;
use crate::results::Results;

/// The most passes that are in view before somebody asks for all.
const PASSES_SHOWN: usize = 12;

/// The table; nothing if there are no thresholds.
pub(super) fn html(results: &Results) -> Option<String> {
    let judged = judged(results);
    if judged.is_empty() {
        return None;
    }
    let (rows, left_out) = shown(&judged, PASSES_SHOWN);
    let mut text = note(&format!(
        "{}. JudgedThreshold is the mean over replications; “barely” means that its interval reaches over the bound.",
        count_text(&judged)
    ));
    text += &table(&rows);
    if left_out > 0 {
        let (all, _) = shown(&judged, usize::MAX);
        let rest = &all[rows.len()..];
        text += &format!(
            "<details>\n<summary>{left_out} more that passed</summary>\n{}</details>\n",
            table(rest)
        );
    }
    Some(text)
}

fn table(rows: &[&JudgedThreshold]) -> String {
    let mut table = HtmlTable::new(&["cell", "threshold", "mean (interval)", "verdict"]);
    for row in rows {
        let class = if row.is_held() { "better" } else { "worse" };
        let verdict = format!("<span class=\"{class}\">{}</span>", escaped(row.verdict()));
        let threshold = format!("{} {}", row.metric, row.bound_text());
        table.row(&row.cell, &[threshold, row.mean_text()], Some(verdict));
    }
    table.end()
}

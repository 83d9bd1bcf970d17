//! Numbers and names of cells as people write them, in the terminal and on a page.

use crate::answers::compare::{ComparedRow, Comparison, ComparisonVerdict, FAMILY_ERROR};
use crate::metrics::unit::Unit;
use crate::results::{ResultCell, Results};

/// `value` with its sign; a difference of percentages is in points.
pub fn signed(unit: Unit, value: f64) -> String {
    let text = unit.text(value);
    let text = if unit == Unit::Percent { text.replace(" %", " pp") } else { text };
    if value > 0.0 { format!("+{text}") } else { text }
}

/// An interval of differences.
pub fn interval(unit: Unit, (low, high): (f64, f64)) -> String {
    format!("{} to {}", signed(unit, low), signed(unit, high))
}

/// How many the smallest and the largest of `counts` are: `5`, or `2 to 5`.
pub fn range_text(counts: impl Iterator<Item = usize> + Clone) -> String {
    match (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0)) {
        (fewest, most) if fewest == most => most.to_string(),
        (fewest, most) => format!("{fewest} to {most}"),
    }
}

/// What would make a verdict of none; nothing if there is one, or if no number of replications would.
pub fn needed_text(row: &ComparedRow) -> Option<String> {
    let more =
        row.effect.as_ref().filter(|_| row.verdict == ComparisonVerdict::NotShown)?.more_replications?;
    Some(format!(
        "; about {} more replications would show it if it is as large as it looks",
        count_text(more)
    ))
}

/// What the confidence of a comparison covers, in two sentences.
pub fn family_text(comparison: &Comparison) -> String {
    let claims = range_text(comparison.circumstances.iter().map(|(_, family)| family.claims()));
    let several = if comparison.circumstances.len() > 1 { " of one circumstance" } else { "" };
    format!(
        "Intervals, p and verdicts{several} hold together with {} confidence: for the differences of any two policies in \
         every metric here ({claims} claims). Intervals are Student's, wider where differences are skewed.",
        Unit::Percent.text(1.0 - FAMILY_ERROR)
    )
}

/// `text` with a capital at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A p-value.
pub fn p_text(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// A count, or that it is more than anybody wants.
pub fn count_text(count: u64) -> String {
    if count > 100_000 { "more than 100000".to_owned() } else { count.to_string() }
}

/// The cells at these positions in few words: `spill 0.3 … 0.5`, with arms and axis values.
pub fn cells_text(results: &Results, cells: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in cells.chunk_by(|a, b| b - a == 1 && results.cells[*a].arm == results.cells[*b].arm) {
        let ends = [run[0], run[run.len() - 1]].map(|at| &results.cells[at]);
        let values = ends.map(|cell| values_text(cell, " "));
        parts.push(run_text(&results.arms[ends[0].arm], &values, run.len()));
    }
    parts.join(", ")
}

/// So many cells of an arm, of which the first and the last have these values.
pub fn run_text(arm: &str, [first, last]: &[String; 2], count: usize) -> String {
    match count {
        1 => format!("{arm} {first}").trim_end().to_owned(),
        count => format!("{arm} {first} … {last} ({count} cells)"),
    }
}

/// A value, and in parentheses the ends of its interval, if one is known. Nothing bounds it above where that end is infinite.
pub fn with_ends(unit: Unit, value: f64, ends: Option<(f64, f64)>) -> String {
    let ends = ends.map(|(low, high)| match (low, high.is_finite()) {
        (low, true) => format!(" ({} to {})", unit.text(low), unit.text(high)),
        (0.0, false) => " (no bound)".to_owned(),
        (low, false) => format!(" (at least {})", unit.text(low)),
    });
    format!("{}{}", unit.text(value), ends.unwrap_or_default())
}

/// The values of the axes that `cell` has, with `separator` between them.
pub fn values_text(cell: &ResultCell, separator: &str) -> String {
    let values: Vec<&str> =
        cell.values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    values.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign_and_percentages_differ_by_points() {
        assert_eq!(signed(Unit::Percent, 0.015), "+1.5 pp");
        assert_eq!(signed(Unit::Usd, -2.0), "−$2");
        assert_eq!(signed(Unit::Number, 0.0), "0");
        assert_eq!(with_ends(Unit::Number, 2.0, Some((1.0, 3.0))), "2 (1 to 3)");
        assert_eq!(with_ends(Unit::Number, 0.0, Some((0.0, f64::INFINITY))), "0 (no bound)");
        assert_eq!(with_ends(Unit::Number, 4.0, Some((3.0, f64::INFINITY))), "4 (at least 3)");
        assert_eq!((p_text(0.000_2), p_text(0.05)), ("<0.001".to_owned(), "0.050".to_owned()));
    }
}

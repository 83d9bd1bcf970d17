//! Tables for the terminal: columns in line, numbers and names as people write them.

use crate::report::figure::unit::Unit;
use crate::report::results::{Cell, Results};

/// A table whose columns are as wide as their widest field.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this header.
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|name| (*name).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(fields.into_iter().collect());
    }

    /// The rows, each after `indent` and with no blanks at its end. Columns with `right` set stand to the right.
    pub(super) fn render(&self, indent: &str, right: &[bool]) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|field| width_of(field)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, field) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column] - width_of(field));
                let to_right = right.get(column).copied().unwrap_or(false);
                line += &if to_right { format!("{pad}{field}") } else { format!("{field}{pad}") };
                line += "  ";
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// `value` with its sign; a difference of percentages is in points.
pub(super) fn signed(unit: Unit, value: f64) -> String {
    let text = unit.text(value);
    let text = if unit == Unit::Percent { text.replace(" %", " pp") } else { text };
    if value > 0.0 { format!("+{text}") } else { text }
}

/// A p-value.
pub(super) fn p_text(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// A count, or that it is more than anybody wants.
pub(super) fn count_text(count: u64) -> String {
    if count > 100_000 { "more than 100000".to_owned() } else { count.to_string() }
}

/// The cells at these positions in few words: `spill 0.3 … 0.5`, with arms and axis values.
pub(super) fn cells_text(results: &Results, cells: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in cells.chunk_by(|a, b| b - a == 1 && results.cells[*a].arm == results.cells[*b].arm) {
        let (first, last) = (&results.cells[run[0]], &results.cells[run[run.len() - 1]]);
        let arm = &results.arms[first.arm];
        let values = values_text(first);
        parts.push(match run.len() {
            1 => format!("{arm} {values}").trim_end().to_owned(),
            count => format!("{arm} {values} … {} ({count} cells)", values_text(last)),
        });
    }
    parts.join(", ")
}

fn values_text(cell: &Cell) -> String {
    let values: Vec<&str> =
        cell.values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    values.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_line_and_lines_end_with_text() {
        let mut table = Table::new(&["a", "value", ""]);
        table.row(["longer".to_owned(), "−1.5 %".to_owned(), String::new()]);
        assert_eq!(table.render("  ", &[false, true]), "  a        value\n  longer  −1.5 %\n");
    }

    #[test]
    fn differences_have_a_sign_and_percentages_differ_by_points() {
        assert_eq!(signed(Unit::Percent, 0.015), "+1.5 pp");
        assert_eq!(signed(Unit::Usd, -2.0), "−$2");
        assert_eq!(signed(Unit::Number, 0.0), "0");
        assert_eq!((p_text(0.000_2), p_text(0.05)), ("<0.001".to_owned(), "0.050".to_owned()));
    }
}

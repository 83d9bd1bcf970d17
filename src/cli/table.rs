//! Tables for the terminal: columns in line.

pub(super) use crate::figures::wording::{
    cells_text, count_text, family_text, interval, needed_text, p_text, range_text, run_text, signed,
    with_ends,
};

/// A table whose columns are as wide as their widest field.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|name| (*name).to_owned()).collect()] }
    }

    pub(super) fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        self.rows.push(fields.into_iter().collect());
    }

    /// The rows, each after `indent` and with no blanks at its end. Columns with `right` set stand to the right.
    pub(super) fn render(&self, indent: &str, right: &[bool]) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|field| field.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, field) in row.iter().enumerate() {
                let width = widths[column];
                line += &match right.get(column) {
                    Some(true) => format!("{field:>width$}  "),
                    _ => format!("{field:<width$}  "),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
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
}

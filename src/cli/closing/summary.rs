//! The end of a run in a few lines: the headline metrics of every cell with their intervals.

use crate::cli::table::Table;
use crate::experiment::{Cell, Experiment};
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::tables::CellSummary;
use crate::stats::Interval;

/// The most rows shown; `summary.csv` has all.
const ROWS_SHOWN: usize = 40;

/// Consecutive cells of an arm with the same headlines.
struct Row<'a> {
    cells: Vec<&'a Cell>,
    values: Vec<Option<Interval>>,
}

pub(super) fn render(experiment: &Experiment, summaries: &[CellSummary]) -> String {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (cell, summary) in experiment.cells().iter().zip(summaries) {
        let values = headlines(summary);
        match rows.last_mut().filter(|row| row.cells[0].arm == cell.arm && row.values == values) {
            Some(row) => row.cells.push(cell),
            None => rows.push(Row { cells: vec![cell], values }),
        }
    }
    let header: Vec<&str> =
        ["cell"].into_iter().chain(Metric::headlines().map(|metric| metric.words.heading)).collect();
    let mut table = Table::new(&header);
    for row in rows.iter().take(ROWS_SHOWN) {
        let values = Metric::headlines().zip(&row.values).map(|(metric, value)| text(metric.format, *value));
        table.row([name(&row.cells)].into_iter().chain(values));
    }
    let mut text = table.render("", &[]);
    if rows.len() > ROWS_SHOWN {
        text += &format!("… and {} more rows in summary.csv\n", rows.len() - ROWS_SHOWN);
    }
    let counts = summaries.iter().map(|summary| summary.replications);
    let (fewest, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let replications = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    text + &format!("means over {replications} replications, ± half of the 95 % interval\n")
}

fn headlines(summary: &CellSummary) -> Vec<Option<Interval>> {
    let shown = summary.metrics.iter().filter(|found| found.metric.is_headline());
    shown.map(|found| found.interval).collect()
}

fn text(unit: Unit, value: Option<Interval>) -> String {
    let Some(interval) = value else { return "–".to_owned() };
    let half = interval.half_width.map(|half| format!(" ± {}", unit.text(half)));
    format!("{}{}", unit.text(interval.mean), half.unwrap_or_default())
}

fn name(cells: &[&Cell]) -> String {
    let values = |cell: &Cell| {
        let values = cell.values.iter().flatten().map(ToString::to_string);
        values.collect::<Vec<_>>().join(" ")
    };
    let (first, last) = (cells[0], cells[cells.len() - 1]);
    match cells.len() {
        1 => format!("{} {}", first.arm, values(first)).trim_end().to_owned(),
        count => format!("{} {} … {} ({count} cells)", first.arm, values(first), values(last)),
    }
}

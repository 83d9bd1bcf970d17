//! The tables of a page: every cell, every comparison, and every threshold.

use super::Subject;
use crate::answers::compare::{ComparedPolicy, ComparedRow, ComparisonVerdict, MetricRows};
use crate::answers::offered::OfferedLoads;
use crate::answers::thresholds::{JudgedThreshold, count_text, judged, shown};
use crate::figures::charts::spread;
use crate::figures::markup::escaped;
use crate::figures::wording::{
    capitalized, cells_text, family_text, interval, needed_text, p_text, signed, with_ends,
};
use crate::metrics::tables::SummaryRow;
use crate::metrics::unit::Unit;
use crate::metrics::{Good, Metric};
use crate::results::{ResultCell, Results};

/// The most rows of a table: more are for a program to read.
const MOST_ROWS: usize = 60;
/// The most passes that are in view before somebody asks for all.
const PASSES_SHOWN: usize = 12;

/// A table with a scroll bar of its own.
fn table(header: &[&str], rows: impl Iterator<Item = String>) -> String {
    // Long names may break after their words.
    let name = |name: &&str| format!("<th scope=\"col\">{}</th>", escaped(name).replace('_', "_<wbr>"));
    let (header, rows): (String, String) = (header.iter().map(name).collect(), rows.collect());
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// A row of a table: its name, its numbers, and its words.
fn table_row(name: &str, numbers: &[String], words: Option<String>) -> String {
    let number = |number: &String| format!("<td class=\"number\">{}</td>", escaped(number));
    let numbers: String = numbers.iter().map(number).collect();
    let words = words.map_or_else(String::new, |words| format!("<td>{words}</td>"));
    format!("<tr><th scope=\"row\">{}</th>{numbers}{words}</tr>\n", escaped(name))
}

/// Every cell with its headline metrics; consecutive cells of an arm with the same values of all metrics share a
/// row.
pub(super) fn summary(subject: &Subject) -> String {
    let results = &subject.results;
    let is_there = |metric: &&Metric| results.metrics.iter().any(|name| name == metric.name);
    let metrics: Vec<&Metric> = Metric::headlines().filter(is_there).collect();
    let values = |cell: &ResultCell| -> Vec<String> {
        let mean = |metric: &&Metric| mean(metric.format, results.summary(cell.number, metric.name));
        metrics.iter().map(mean).collect()
    };
    let all: Vec<(usize, &ResultCell, Vec<String>)> =
        results.cells.iter().enumerate().map(|(position, cell)| (position, cell, values(cell))).collect();
    let is_like = |a: &ResultCell, b: &ResultCell| {
        let found = |cell: &ResultCell, name: &str| {
            results.summary(cell.number, name).map(|row| (row.mean, row.std_dev, row.ci_low, row.ci_high))
        };
        let same = |name: &String| found(a, name) == found(b, name);
        a.arm == b.arm && results.metrics.iter().all(same)
    };
    let rows: Vec<_> = all.chunk_by(|a, b| is_like(a.1, b.1)).collect();
    let header: Vec<&str> = ["cell"].into_iter().chain(metrics.iter().map(|metric| metric.name)).collect();
    let left_out = left_out(rows.len(), "summary.csv has all");
    let rows = spread(rows, MOST_ROWS).into_iter().map(|row| {
        let cells: Vec<usize> = row.iter().map(|(position, ..)| *position).collect();
        table_row(&cells_text(results, &cells), &row[0].2, None)
    });
    table(&header, rows) + &note(&interval_note(results)) + &left_out
}

/// The load that is offered to each zone before and while each fault lasts, from the rules alone.
pub(super) fn offered_load(loads: &OfferedLoads) -> Option<String> {
    if loads.is_empty() {
        return None;
    }
    let (header, lines) = loads.table();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let left_out = left_out(lines.len(), "zonesim expect has all");
    let lines = spread(lines, MOST_ROWS).into_iter().map(|line| table_row(&line[0], &line[1..], None));
    let what = "Arriving work over the worker time of the backends that serve it, from the rules alone, before a fault and while \
                it lasts and is noticed. Above 100 % queues grow.";
    let clients = loads.left_out().map_or_else(String::new, |sentence| note(&sentence));
    Some(format!("<p>{what}</p>\n") + &table(&header, lines) + &clients + &left_out)
}

fn mean(unit: Unit, row: Option<&SummaryRow>) -> String {
    let text = |row: &SummaryRow| Some(with_ends(unit, row.mean?, row.ends()));
    row.and_then(text).unwrap_or_else(|| "missing".to_owned())
}

fn interval_note(results: &Results) -> String {
    match results.summary.values().find_map(|row| row.ci_low.and(row.confidence)) {
        Some(level) => format!(
            "Means over replications, in parentheses their {} confidence intervals.",
            Unit::Percent.text(level)
        ),
        None => "Single values: one replication has no interval.".to_owned(),
    }
}

/// For each metric, how much each policy differs from the baseline.
pub(super) fn comparison(subject: &Subject) -> String {
    let comparison = match &subject.comparison {
        Ok(comparison) => comparison,
        Err(reason) => return note(&format!("Nothing is compared: {reason}.")),
    };
    let mut text = note(&format!(
        "Cells against those of {}, paired by replication. {}",
        subject.results.arms[comparison.baseline.arm],
        family_text(comparison)
    ));
    for metric in &comparison.metrics {
        let definition = metric.metric.definition;
        let good = if metric.metric.good == Good::Low { " Low is good." } else { "" };
        text += &format!("<h3>{}</h3>\n", escaped(&metric.name));
        text += &note(&format!("{}.{good}", capitalized(definition)));
        let header = ["cell", "value", "difference", "corrected interval", "p", "verdict"];
        let rows: Vec<(&ComparedPolicy, &ComparedRow)> =
            comparison.policies.iter().zip(&metric.rows).collect();
        let rows = spread(rows, MOST_ROWS).into_iter().map(|(policy, row)| {
            let name = cells_text(&subject.results, &policy.cells);
            let verdict = verdict(row) + &needed_text(row).unwrap_or_default();
            table_row(&name, &numbers(metric, row), Some(verdict))
        });
        text += &table(&header, rows);
        text += &left_out(metric.rows.len(), "zonesim compare shows all");
    }
    text
}

fn numbers(metric: &MetricRows, row: &ComparedRow) -> [String; 4] {
    let unit = metric.metric.format;
    let value = row.value.map_or_else(|| "missing".to_owned(), |value| unit.text(value));
    let Some(effect) = &row.effect else { return [value, String::new(), String::new(), String::new()] };
    [
        value,
        signed(unit, effect.difference),
        interval(unit, effect.corrected_ends),
        p_text(effect.corrected_p),
    ]
}

/// A verdict in words, which colour only repeats.
pub(super) fn verdict(row: &ComparedRow) -> String {
    let (_, words, _) = row.verdict.texts();
    match row.verdict {
        ComparisonVerdict::Better => format!("<span class=\"better\">{words}</span>"),
        ComparisonVerdict::Worse => format!("<span class=\"worse\">{words}</span>"),
        _ => words.to_owned(),
    }
}

/// What the thresholds say of each cell that they judge; nothing if there are none.
pub(super) fn thresholds(results: &Results) -> Option<String> {
    let judged = judged(results);
    if judged.is_empty() {
        return None;
    }
    let (rows, left_out) = shown(&judged, PASSES_SHOWN);
    let mut text = note(&format!(
        "{}. Judged is the mean over replications; “barely” means that its interval reaches over the bound.",
        count_text(&judged)
    ));
    text += &threshold_rows(&rows);
    if left_out > 0 {
        let (all, _) = shown(&judged, usize::MAX);
        let rest = &all[rows.len()..];
        text += &format!(
            "<details>\n<summary>{left_out} more that passed</summary>\n{}</details>\n",
            threshold_rows(rest)
        );
    }
    Some(text)
}

fn threshold_rows(rows: &[&JudgedThreshold]) -> String {
    let rows = rows.iter().map(|row| {
        let class = if row.is_held() { "better" } else { "worse" };
        let verdict = format!("<span class=\"{class}\">{}</span>", escaped(row.verdict()));
        let threshold = format!("{} {}", row.metric, row.bound_text());
        table_row(&row.cell, &[threshold, row.mean_text()], Some(verdict))
    });
    table(&["cell", "threshold", "mean (interval)", "verdict"], rows)
}

pub(super) fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

fn left_out(rows: usize, elsewhere: &str) -> String {
    if rows <= MOST_ROWS {
        return String::new();
    }
    note(&format!("Shown are {MOST_ROWS} of {rows} rows, spread evenly; {elsewhere}."))
}

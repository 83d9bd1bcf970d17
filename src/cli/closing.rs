//! How a command ends that has completed a results folder: the headlines of every cell, and what its thresholds say.

use std::path::Path;

use super::Status;
use super::console::Console;
use super::table::{Table, range_text, run_text};
use crate::answers::disagreement::disagreements;
use crate::answers::thresholds::{JudgedThreshold, count_text, judged, judged_at_once, shown};
use crate::experiment::{Cell, Experiment};
use crate::job::CompleteJob;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::Results;
use crate::results::tables::CellSummary;
use crate::stats::Interval;

/// The most lines about what disagrees with the rules alone.
const DOUBTS_SHOWN: usize = 5;
/// The most rows of headlines; `summary.csv` has all.
const ROWS_SHOWN: usize = 40;
/// The most thresholds that passed.
const PASSES_SHOWN: usize = 12;

/// Says what `folder` holds, and judges it.
pub(super) fn close(job: &CompleteJob, folder: &Path, console: &Console) -> Status {
    headlines(job, folder, console);
    let judged = judged_at_once(&job.experiment, &job.summaries);
    if !judged.is_empty() {
        show_thresholds(&judged, console);
    }
    if judged.iter().all(JudgedThreshold::is_held) { Status::Done } else { Status::ThresholdMissed }
}

/// Judges the finished results in `folder` again.
pub(super) fn judge_again(folder: &Path, console: &Console) -> anyhow::Result<Status> {
    let judged = judged(&Results::read(folder)?);
    if !judged.is_empty() {
        show_thresholds(&judged, console);
    }
    Ok(if judged.iter().all(JudgedThreshold::is_held) { Status::Done } else { Status::ThresholdMissed })
}

/// Says what `folder` holds.
pub(super) fn headlines(job: &CompleteJob, folder: &Path, console: &Console) {
    let CompleteJob { experiment, summaries, manifest } = job;
    console.note(summary(experiment, summaries).trim_end());
    manifest.warnings().iter().for_each(|line| console.caution(line));
    let doubts = disagreements(experiment, summaries);
    doubts.iter().take(DOUBTS_SHOWN).for_each(|doubt| console.note(&format!("note: {doubt}")));
    if doubts.len() > DOUBTS_SHOWN {
        console.note(&format!("note: … and {} more", doubts.len() - DOUBTS_SHOWN));
    }
    console.note(&format!("results in {}", folder.display()));
}

/// Metrics that stand beside the headlines where arms differ in them, and what they are called there.
const FURTHER: [(&Metric, &str); 3] = [
    (Metric::named("cross_zone_usd_per_completed_gib"), "USD a GiB got"),
    (Metric::named("backend_load_max_over_mean"), "busiest backend"),
    (Metric::named("connect_p99_ms"), "connect p99 ms"),
];

/// The headline metrics with their intervals; consecutive cells of an arm with the same values of all metrics share a row.
fn summary(experiment: &Experiment, summaries: &[CellSummary]) -> String {
    let found: Vec<(&Cell, &CellSummary)> = experiment.cells().iter().zip(summaries).collect();
    let rows: Vec<_> =
        found.chunk_by(|(a, own), (b, other)| a.arm == b.arm && is_alike(own, other)).collect();
    let columns = columns(&found);
    let header: Vec<&str> = ["cell"].into_iter().chain(columns.iter().map(|(_, heading)| *heading)).collect();
    let mut table = Table::new(&header);
    for row in rows.iter().take(ROWS_SHOWN) {
        let values = columns.iter().map(|(metric, _)| value_text(metric.format, interval(row[0].1, metric)));
        let ends = [row[0].0, row[row.len() - 1].0]
            .map(|cell| cell.values.iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        table.row([run_text(&row[0].0.arm, &ends, row.len())].into_iter().chain(values));
    }
    let mut text = table.render("", &[]);
    if rows.len() > ROWS_SHOWN {
        text += &format!("… and {} more rows in summary.csv\n", rows.len() - ROWS_SHOWN);
    }
    let replications = range_text(summaries.iter().map(|summary| summary.replications));
    text += &format!("means over {replications} replications, ± half of the 95 % interval");
    let is_rare = |(metric, _): &(&'static Metric, &str)| {
        summaries.iter().any(|own| interval(own, metric).is_some_and(|found| found.rare_bound.is_some()))
    };
    if columns.iter().any(is_rare) {
        text += "; at most: its upper end, from how few replications have any";
    }
    text + "\n"
}

/// The metrics of the table with their headings.
fn columns(found: &[(&Cell, &CellSummary)]) -> Vec<(&'static Metric, &'static str)> {
    let mean = |summary: &CellSummary, metric: &Metric| {
        interval(summary, metric).map(|interval| metric.format.text(interval.mean))
    };
    let differs = |(metric, _): &(&Metric, &str)| {
        let Some(((first, summary), others)) = found.split_first() else { return false };
        let other = |(cell, own): &(&Cell, &CellSummary)| {
            cell.arm != first.arm && mean(own, metric) != mean(summary, metric)
        };
        !metric.is_headline() && others.iter().any(other)
    };
    let headlines = Metric::headlines().map(|metric| (metric, metric.words.heading));
    headlines.chain(FURTHER.into_iter().filter(differs)).collect()
}

/// Whether two cells have the same means and intervals of all metrics.
fn is_alike(a: &CellSummary, b: &CellSummary) -> bool {
    let intervals =
        |summary: &CellSummary| summary.metrics.iter().map(|found| found.interval).collect::<Vec<_>>();
    intervals(a) == intervals(b)
}

fn interval(summary: &CellSummary, metric: &Metric) -> Option<Interval> {
    let found = summary.metrics.iter().find(|found| found.metric.name == metric.name);
    found.and_then(|found| found.interval)
}

fn value_text(unit: Unit, value: Option<Interval>) -> String {
    let Some(interval) = value else { return "–".to_owned() };
    if let Some(bound) = interval.rare_bound {
        return format!("{} (at most {})", unit.text(interval.mean), unit.text(bound));
    }
    let half = interval.half_width.map(|half| format!(" ± {}", unit.text(half)));
    format!("{}{}", unit.text(interval.mean), half.unwrap_or_default())
}

/// Says what was judged: who wants quiet sees the misses only.
fn show_thresholds(judged: &[JudgedThreshold], console: &Console) {
    let (rows, left_out) = shown(judged, if console.is_quiet() { 0 } else { PASSES_SHOWN });
    if !rows.is_empty() {
        let mut table = Table::new(&["threshold", "cell", "bound", "mean (interval)", "verdict"]);
        for row in rows {
            let (metric, cell) = (row.metric.clone(), row.cell.clone());
            table.row([metric, cell, row.bound_text(), row.mean_text(), row.verdict().to_owned()]);
        }
        console.insist(table.render("", &[]).trim_end());
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

//! How a command ends that has completed a results folder: the headlines of every cell, and what its thresholds say.

use std::path::Path;

use super::Status;
use super::console::Console;
use super::table::{Table, range_text, run_text, with_ends};
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
        let values = columns
            .iter()
            .map(|(metric, _)| value_text(metric.format, interval(row[0].1, metric), row[0].1.replications));
        let ends = [row[0].0, row[row.len() - 1].0]
            .map(|cell| cell.values.iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        table.row([run_text(&row[0].0.arm, &ends, row.len())].into_iter().chain(values));
    }
    let mut text = table.render("", &[]);
    if rows.len() > ROWS_SHOWN {
        text += &format!("… and {} more rows in summary.csv\n", rows.len() - ROWS_SHOWN);
    }
    let replications = range_text(summaries.iter().map(|summary| summary.replications));
    text + &format!("means over {replications} replications{}\n", legend(&found, &columns))
}

/// What stands beside the means of these `columns`.
fn legend(found: &[(&Cell, &CellSummary)], columns: &[(&'static Metric, &'static str)]) -> String {
    let intervals: Vec<Interval> = columns
        .iter()
        .flat_map(|(metric, _)| found.iter().filter_map(|(_, own)| interval(own, metric)))
        .collect();
    let any = |is_so: fn(&Interval) -> bool| intervals.iter().any(is_so);
    let mut text = String::new();
    if any(|interval| interval.ends.is_some()) {
        text += " with their 95 % intervals, each by itself";
    }
    if any(is_rare) {
        text += "; at most: the upper end, where fewer than half of the replications have any";
    }
    if any(|interval| interval.ends.is_some_and(|(_, high)| high.is_infinite())) {
        text += "; no bound: none has any, and nothing says how much one might";
    }
    text
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

/// Whether fewer than half of the replications have any, so that the upper end says the most.
fn is_rare(interval: &Interval) -> bool {
    2 * interval.hit < interval.n
        && interval.ends.is_some_and(|(_, high)| high > interval.mean && high.is_finite())
}

fn value_text(unit: Unit, value: Option<Interval>, replications: usize) -> String {
    let Some(interval) = value else { return "–".to_owned() };
    let mean = unit.text(interval.mean);
    let text = match (interval.ends, interval.half_width()) {
        (Some((_, high)), _) if is_rare(&interval) => {
            format!("{mean} (at most {}; {} of {} have any)", unit.text(high), interval.hit, interval.n)
        }
        // What the rules alone make the same everywhere.
        (Some((low, high)), _) if low == high => mean,
        (Some(_), Some(half)) => format!("{mean} ± {}", unit.text(half)),
        (ends, _) => with_ends(unit, interval.mean, ends),
    };
    // A mean that not all replications have is that of those that have it.
    let count = interval.n as usize;
    if count < replications { format!("{text}, of {count}") } else { text }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_stand_with_what_is_known_of_them() {
        let of = |(n, hit): (u64, u64), mean: f64, ends| Interval { n, hit, mean, std_dev: None, ends };
        for (interval, text) in [
            (of((10, 10), 0.5, Some((0.4, 0.6))), "50 % ± 10 %"),
            // Not as far below as above.
            (of((10, 10), 0.5, Some((0.4, 0.8))), "50 % (40 % to 80 %)"),
            (of((10, 2), 0.01, Some((0.0, 0.05))), "1 % (at most 5 %; 2 of 10 have any)"),
            (of((10, 0), 0.0, Some((0.0, 0.259))), "0 % (at most 25.9 %; 0 of 10 have any)"),
            (of((10, 0), 0.0, Some((0.0, 0.0))), "0 %"),
            (of((10, 0), 0.0, Some((0.0, f64::INFINITY))), "0 % (no bound)"),
            (of((10, 10), 4.0, Some((3.0, f64::INFINITY))), "400 % (at least 300 %)"),
            (of((7, 7), 0.5, Some((0.4, 0.6))), "50 % ± 10 %, of 7"),
            (of((1, 1), 0.5, None), "50 %, of 1"),
        ] {
            assert_eq!(value_text(Unit::Percent, Some(interval), 10), text);
        }
        assert_eq!(value_text(Unit::Percent, None, 10), "–");
    }
}

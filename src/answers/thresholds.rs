//! Thresholds: each with each cell that it judges.

use crate::experiment::{Experiment, Limits};
use crate::metrics::Metric;
use crate::metrics::tables::SummaryRow;
use crate::metrics::unit::Unit;
use crate::results::tables::CellSummary;
use crate::results::{ResultCell, Results};

/// The digits that a number is written with, and the most that it takes to tell a miss from a pass.
const DIGITS: (u8, u8) = (3, 9);

/// One threshold in one cell that it judges.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedThreshold {
    /// The metric.
    pub metric: String,
    /// The cell: its arm and axes.
    pub cell: String,
    /// What passes.
    pub limits: Limits,
    /// The metric's mean over the cell's replications; absent if no replication has a value.
    pub mean: Option<f64>,
    /// The ends of its confidence interval.
    pub ends: Option<(f64, f64)>,
}

/// The thresholds of the folder that `results` were read from, each with each cell that it judges, in file order.
pub fn judged(results: &Results) -> Vec<JudgedThreshold> {
    let mut all = Vec::new();
    for threshold in &results.description.thresholds {
        let judges = |cell: &&ResultCell| {
            threshold.arm.as_ref().is_none_or(|arm| results.arms.get(cell.arm).is_some_and(|own| own == arm))
        };
        for cell in results.cells.iter().filter(judges) {
            let row = results.summary(cell.number, &threshold.metric);
            let values = results.axes.iter().map(String::as_str).zip(&cell.values);
            let values = values.filter(|(_, value)| !value.is_empty());
            all.push(JudgedThreshold {
                metric: threshold.metric.clone(),
                cell: cell_text(&results.arms[cell.arm], values),
                limits: Limits { min: threshold.min, max: threshold.max },
                mean: row.and_then(|row| row.mean),
                ends: row.and_then(SummaryRow::ends),
            });
        }
    }
    all
}

/// The same of a run whose cells have these `summaries`.
pub fn judged_at_once(experiment: &Experiment, summaries: &[CellSummary]) -> Vec<JudgedThreshold> {
    let mut all = Vec::new();
    for threshold in experiment.thresholds() {
        let cells = experiment.cells().iter().zip(summaries);
        for (cell, summary) in cells.filter(|(cell, _)| threshold.applies_to(cell)) {
            let found = summary.metrics.iter().find(|found| found.metric.name == threshold.metric.name);
            let interval = found.and_then(|found| found.interval);
            let axes = experiment.axes().iter().map(|axis| axis.column.as_str());
            let values = axes.zip(&cell.values).filter_map(|(axis, value)| Some((axis, value.as_ref()?)));
            all.push(JudgedThreshold {
                metric: threshold.metric.name.to_owned(),
                cell: cell_text(&cell.arm, values),
                limits: threshold.limits,
                mean: interval.map(|interval| interval.mean),
                ends: interval.and_then(|interval| interval.ends),
            });
        }
    }
    all
}

/// A cell by its arm and its values of the axes: `spill, spillover_ratio = 0.5`.
fn cell_text<'a, V: std::fmt::Display>(arm: &str, values: impl IntoIterator<Item = (&'a str, V)>) -> String {
    values.into_iter().fold(arm.to_owned(), |text, (axis, value)| format!("{text}, {axis} = {value}"))
}

/// The rows of a table: every miss, then passes up to `most` rows in all; and how many passes are left out.
pub fn shown(judged: &[JudgedThreshold], most: usize) -> (Vec<&JudgedThreshold>, usize) {
    let (passed, missed): (Vec<&JudgedThreshold>, Vec<&JudgedThreshold>) =
        judged.iter().partition(|row| row.is_held());
    let left_out = passed.len().saturating_sub(most);
    (missed.into_iter().chain(passed.into_iter().take(most)).collect(), left_out)
}

/// How many of how many were missed, in words.
pub fn count_text(judged: &[JudgedThreshold]) -> String {
    let passed = judged.iter().filter(|row| row.is_held()).count();
    format!("{passed} passed, {} missed (each in each cell that it judges)", judged.len() - passed)
}

impl JudgedThreshold {
    /// Whether the mean passes.
    pub fn is_held(&self) -> bool {
        self.limits.hold(self.mean)
    }

    /// The verdict in words: “barely” where the interval crosses a limit, so that other replications might change it.
    pub fn verdict(&self) -> &'static str {
        let across = |limit: f64| self.ends.is_some_and(|(low, high)| low < limit && limit < high);
        match (self.is_held(), self.limits.min.is_some_and(across) || self.limits.max.is_some_and(across)) {
            (true, false) => "passed",
            (true, true) => "passed, barely",
            (false, false) => "missed",
            (false, true) => "missed, barely",
        }
    }

    /// What passes, as a text.
    pub fn bound_text(&self) -> String {
        let text = |limit: f64| self.unit().text_of(limit, DIGITS.1);
        match (self.limits.min, self.limits.max) {
            (Some(min), Some(max)) => format!("{} to {}", text(min), text(max)),
            (Some(min), None) => format!("at least {}", text(min)),
            (None, Some(max)) => format!("at most {}", text(max)),
            (None, None) => String::new(),
        }
    }

    /// The mean with its interval, in as many digits as it takes to tell the mean from the limits.
    pub fn mean_text(&self) -> String {
        let Some(mean) = self.mean else { return "missing".to_owned() };
        let unit = self.unit();
        let limits = || [self.limits.min, self.limits.max].into_iter().flatten();
        let differs = |digits: &u8| {
            limits().all(|limit| limit == mean || unit.text_of(limit, *digits) != unit.text_of(mean, *digits))
        };
        let digits = (DIGITS.0..=DIGITS.1).find(differs).unwrap_or(DIGITS.1);
        let text = |value: f64| unit.text_of(value, digits);
        match self.ends {
            Some((_, high)) if high.is_infinite() => format!("{} (no bound)", text(mean)),
            Some((low, high)) => format!("{} ({} to {})", text(mean), text(low), text(high)),
            None => text(mean),
        }
    }

    fn unit(&self) -> Unit {
        Metric::of(&self.metric).format
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mean: Option<f64>, ends: Option<(f64, f64)>, max: f64) -> JudgedThreshold {
        let limits = Limits { min: None, max: Some(max) };
        JudgedThreshold { metric: "failure_ratio".to_owned(), cell: "base".to_owned(), limits, mean, ends }
    }

    #[test]
    fn verdicts_follow_the_mean_and_say_when_other_replications_might_decide_otherwise() {
        for (mean, ends, verdict, text) in [
            (Some(0.0005), Some((0.0004, 0.0006)), "passed", "0.05 % (0.04 % to 0.06 %)"),
            (Some(0.0009), Some((0.0004, 0.0014)), "passed, barely", "0.09 % (0.04 % to 0.14 %)"),
            (Some(0.001), None, "passed", "0.1 %"),
            (Some(0.0011), Some((0.0009, 0.0013)), "missed, barely", "0.11 % (0.09 % to 0.13 %)"),
            (Some(0.002), Some((0.0018, 0.0022)), "missed", "0.2 % (0.18 % to 0.22 %)"),
            // No replication has any, and nothing bounds it.
            (Some(0.0), Some((0.0, f64::INFINITY)), "passed, barely", "0 % (no bound)"),
            (None, None, "missed", "missing"),
        ] {
            let row = row(mean, ends, 0.001);
            assert_eq!((row.verdict(), row.mean_text().as_str()), (verdict, text));
        }
    }

    #[test]
    fn a_miss_by_a_hair_does_not_look_like_the_limit() {
        let row = row(Some(0.001_000_4), None, 0.001);
        assert!(!row.is_held());
        assert_eq!((row.bound_text().as_str(), row.mean_text().as_str()), ("at most 0.1 %", "0.10004 %"));
    }

    #[test]
    fn all_misses_are_shown_first_and_passes_beyond_some_are_counted() {
        let rows: Vec<JudgedThreshold> = (0..40).map(|at| row(Some(f64::from(at % 2)), None, 0.5)).collect();
        let (shown, left_out) = shown(&rows, 12);
        assert_eq!((shown.len(), left_out), (32, 8));
        assert!(shown[..20].iter().all(|row| !row.is_held()));
        assert!(shown[20..].iter().all(|row| row.is_held()));
        assert!(count_text(&rows).starts_with("20 passed, 20 missed"));
    }
}

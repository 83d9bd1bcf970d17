//! What the tried values of a line say beside the answer: where a metric rises and falls, and what may be as good.

use super::{SearchedLine, TriedValue};
use crate::answers::compare::{FAMILY_ERROR, not_told_apart};
use crate::stats::holm;

/// A change between two neighbours among the tried values, shown with confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The position of the lower value.
    pub from: usize,
    /// The position of the higher value.
    pub to: usize,
    /// Whether the metric is higher there.
    pub rises: bool,
}

/// Where a metric, by position, changes along `line`: paired differences of neighbours, corrected for all of them.
pub(super) fn turns(line: &SearchedLine, metric: usize) -> Vec<Turn> {
    let points: Vec<(usize, &TriedValue)> = line.points.iter().map(|(at, point)| (*at, point)).collect();
    let tests: Vec<Option<(f64, f64)>> =
        points.windows(2).map(|pair| difference(pair[0].1, pair[1].1, metric)).collect();
    let p_values: Vec<f64> = tests.iter().map(|test| test.map_or(1.0, |(_, p)| p)).collect();
    let judged = holm(&p_values, FAMILY_ERROR);
    let mut turns = Vec::new();
    for ((pair, test), judged) in points.windows(2).zip(tests).zip(judged) {
        if let (Some((change, _)), true) = (test, judged.rejected) {
            turns.push(Turn { from: pair[0].0, to: pair[1].0, rises: change > 0.0 });
        }
    }
    turns
}

/// The positions of `line` that are not told apart from the best one, in the first metric.
pub(super) fn rivals(line: &SearchedLine, best: usize) -> Vec<usize> {
    let others = line.points.keys().copied().filter(|at| *at != best);
    not_told_apart(others.collect(), |at| {
        let test = difference(&line.points[&best], &line.points[&at], 0);
        // A position without a value is no rival; one that can't be tested is.
        let has_value = line.points[&at].sample(0).estimate().is_some();
        test.map_or(if has_value { 1.0 } else { 0.0 }, |(_, p)| p)
    })
}

/// The paired difference, second minus first, and its p-value.
fn difference(first: &TriedValue, second: &TriedValue, metric: usize) -> Option<(f64, f64)> {
    let test = first.paired(second, metric).test()?;
    Some((test.difference.value, test.difference.p_value(0.0)?))
}

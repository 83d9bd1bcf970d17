//! What the tried values of a line say beside the answer: where a metric rises and falls, and what may be as good.

use super::{Question, SearchedLine, TriedValue};
use crate::answers::compare::FAMILY_ERROR;
use crate::stats::{Family, PairedTest};

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

impl Question {
    /// Where a metric, by position, changes along `line`: paired differences of neighbours. All that may be found of a line
    /// holds together with what else is said of it.
    pub(super) fn turns(&self, line: &SearchedLine, metric: usize) -> Vec<Turn> {
        let family = Family::new(FAMILY_ERROR / 2.0, (self.steps_max() - 1) * self.metrics.len());
        let points: Vec<(usize, &TriedValue)> = line.points.iter().map(|(at, point)| (*at, point)).collect();
        let turn = |pair: &[(usize, &TriedValue)]| {
            let test = self.difference(pair[0].1, pair[1].1, metric)?;
            let (from, to, rises) = (pair[0].0, pair[1].0, test.difference.estimate.value > 0.0);
            test.p_value().is_some_and(|p| family.shows(p)).then_some(Turn { from, to, rises })
        };
        points.windows(2).filter_map(turn).collect()
    }

    /// The positions of `line` that are not told apart from the best one, in the first metric.
    pub(super) fn rivals(&self, line: &SearchedLine, best: usize) -> Vec<usize> {
        let family = Family::of_pairs(FAMILY_ERROR / 2.0, self.steps_max());
        let is_rival = |at: &usize| {
            // A position without a value is no rival; one that can't be tested is.
            let has_value = line.points[at].sample(0).estimate().is_some();
            let test = self.difference(&line.points[&best], &line.points[at], 0);
            has_value && !test.and_then(|test| test.p_value()).is_some_and(|p| family.shows(p))
        };
        line.points.keys().copied().filter(|at| *at != best).filter(is_rival).collect()
    }

    /// The paired difference, second minus first.
    fn difference(&self, first: &TriedValue, second: &TriedValue, metric: usize) -> Option<PairedTest> {
        let pairs = first.paired(second, metric);
        let natures = [first, second].map(|point| self.nature(point, metric));
        pairs.test(pairs.is_ruled(natures)).filter(|_| pairs.len() > 1)
    }
}

//! What a chart of scalar metrics shows, and the figure of its panels.

use super::axis::ValueAxis;
use super::cells::Facet;
use crate::figures::mark::PlotValue;
use crate::figures::{Figure, Panel};
use crate::metrics::tables::SummaryRow;
use crate::metrics::{Metric, Words};
use crate::results::{ResultCell, Results};

/// One metric of a chart, in the chart's words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) metric: &'static Metric,
    pub(super) title: &'a str,
    pub(super) axis: ValueAxis<'a>,
}

/// The mean of `metric` over the replications of `cell` with its confidence interval. An end that only says how few
/// replications there are is not drawn: it would hide what is known of the other cells.
pub(super) fn estimate(results: &Results, cell: &ResultCell, metric: &Metric) -> Option<PlotValue> {
    let row = results.summary(cell.number, metric.name)?;
    let value = row.mean?;
    let interval = row.ci_low.zip(row.ci_high);
    Some(PlotValue {
        value,
        interval: interval.map(|(low, high)| (low, if is_open_above(row) { value } else { high })),
    })
}

/// Whether the upper end of a row comes of how few replications have any: fewer than half.
pub(super) fn is_open_above(row: &SummaryRow) -> bool {
    let is_rare = row.n.zip(row.n_nonzero).is_some_and(|(n, any)| 2.0 * any < n);
    is_rare && row.ci_high > row.mean
}

/// What is said where an upper end of a metric that is `shown` is left out.
pub(super) fn open_ends(results: &Results, shown: impl Fn(&str) -> bool) -> Option<String> {
    let is_open = results.summary.values().any(|row| shown(&row.metric) && is_open_above(row));
    is_open.then(|| {
        "Where few or no replications have any, the upper end of the interval is not drawn; summary.csv has it.".to_owned()
    })
}

/// What a chart of metrics shows.
#[derive(Clone, Debug)]
pub(super) struct Sheet<'a> {
    pub(super) results: &'a Results,
    /// The beginning of the title, such as "Latency".
    pub(super) title: &'a str,
    pub(super) metrics: Vec<Shown<'a>>,
    pub(super) facets: Vec<Facet>,
    /// Whether the vertical axes are logarithmic, whatever the values.
    pub(super) log: bool,
}

impl Shown<'static> {
    /// `metric` in its own words; where rows are metrics and columns are facets, in those for an axis alone.
    pub(super) fn new(metric: &'static Metric, is_table: bool) -> Self {
        let Words { title, quantity, label, short, .. } = metric.words;
        let label = match is_table {
            false => quantity,
            true if short.is_empty() => label,
            true => short,
        };
        Self { metric, title, axis: ValueAxis::of(metric, label) }
    }
}

impl Sheet<'_> {
    /// What is said where an upper end is left out.
    pub(super) fn open_ends(&self) -> Option<String> {
        let shown = |metric: &str| self.metrics.iter().any(|shown| shown.metric.name == metric);
        open_ends(self.results, shown)
    }

    /// Gives the panels, metric by metric, their titles and makes a figure of them.
    pub(super) fn figure(&self, mut panels: Vec<Panel>, by: &str) -> Figure {
        let facets = self.facets.len();
        for (index, panel) in panels.iter_mut().enumerate() {
            let (metric, facet) = (&self.metrics[index / facets], &self.facets[index % facets]);
            panel.title = match (self.metrics.len(), facets) {
                (1, _) => facet.label.clone(),
                (_, 1) => metric.title.to_owned(),
                _ if index < facets => facet.label.clone(),
                _ => String::new(),
            };
        }
        let square = (1..4).find(|columns| columns * columns >= panels.len()).unwrap_or(4);
        // Rows are metrics and columns are facets, if there are several of both.
        let columns = if self.metrics.len() > 1 && facets > 1 { facets } else { square };
        Figure::new(format!("{} by {by}", self.title), panels, columns)
    }

    /// Says which arms have no value at all of a metric, so that their absence isn't taken for zero.
    pub(super) fn absences(&self) -> Option<String> {
        let Self { results, metrics, .. } = self;
        let lacking = |shown: &Shown<'_>| {
            let lacks = |arm: usize| {
                let mut cells = results.cells.iter().filter(|cell| cell.arm == arm).peekable();
                cells.peek().is_some() && cells.all(|cell| estimate(results, cell, shown.metric).is_none())
            };
            let arms = results.arms.iter().enumerate().filter(|(arm, _)| lacks(*arm));
            let arms: Vec<&str> = arms.map(|(_, name)| name.as_str()).collect();
            (!arms.is_empty()).then(|| format!("“{}” of {}", shown.title, arms.join(", ")))
        };
        let lacking: Vec<String> = metrics.iter().filter_map(lacking).collect();
        (!lacking.is_empty()).then(|| format!("Without a value: {}.", lacking.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn an_end_that_only_counts_replications_is_not_drawn_and_said() {
        let mut results = SampleFolder::default().results();
        let metric = Metric::named("failure_ratio");
        let cell = results.cells[0].clone();
        assert_eq!(open_ends(&results, |name| name == metric.name), None);
        let row = results.summary.get_mut(&(cell.number, metric.name.to_owned())).expect("a row");
        (row.mean, row.ci_low, row.ci_high, row.n_nonzero) = (Some(0.0), Some(0.0), Some(0.26), Some(0.0));
        assert_eq!(estimate(&results, &cell, metric).and_then(|value| value.interval), Some((0.0, 0.0)));
        assert!(open_ends(&results, |name| name == metric.name).is_some());
        assert_eq!(open_ends(&results, |name| name == "requests"), None);
    }
}

//! Charts of scalar metrics: against the first numeric axis, or as bars by arm where there is none.

use super::axis::{self, ValueAxis};
use super::bars;
use super::cells::{self, Facet};
use super::versus;
use crate::figures::figure::Figure;
use crate::figures::figure::Panel;
use crate::figures::figure::mark::Estimate;
use crate::results::{Cell, Results};

/// The most facets that are shown of one metric, and of several.
const MOST_FACETS: (usize, usize) = (12, 4);

/// One metric of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metric {
    /// Its name in `summary.csv`.
    pub(super) name: &'static str,
    /// The title of its panels.
    pub(super) title: &'static str,
    /// How its values are shown.
    pub(super) axis: ValueAxis,
    /// Its name and unit where rows are metrics and columns are facets; none if it is left out there.
    pub(super) row: Option<&'static str>,
}

impl Metric {
    /// Its mean over the replications of `cell` with the confidence interval.
    pub(super) fn estimate(&self, results: &Results, cell: &Cell) -> Option<Estimate> {
        estimate(results, cell, self.name)
    }
}

/// The mean of `metric` over the replications of `cell` with its confidence interval.
pub(super) fn estimate(results: &Results, cell: &Cell, metric: &str) -> Option<Estimate> {
    let row = results.summary(cell.number, metric)?;
    Some(Estimate { value: row.mean?, interval: row.ci_low.zip(row.ci_high) })
}

/// What a chart of metrics shows.
#[derive(Clone, Debug)]
pub(super) struct Sheet<'a> {
    pub(super) results: &'a Results,
    /// The beginning of the title, such as "Latency".
    pub(super) title: &'a str,
    pub(super) metrics: Vec<Metric>,
    pub(super) facets: Vec<Facet>,
    /// Whether the vertical axes are logarithmic, whatever the values.
    pub(super) log: bool,
}

/// The chart of `metrics`; none where no metric has any value.
pub(super) fn figure(results: &Results, title: &str, metrics: &[Metric]) -> Option<Figure> {
    let along = axis::first_numeric(results);
    let mut facets = cells::facets(results, along.as_ref().map(|axis| axis.index));
    let shown = |metric: &&Metric| {
        (facets.len() < 2 || metric.row.is_some())
            && results.cells.iter().any(|cell| metric.estimate(results, cell).is_some())
    };
    let metrics: Vec<Metric> = metrics.iter().filter(shown).copied().collect();
    if metrics.is_empty() || facets.is_empty() {
        return None;
    }
    let all = facets.len();
    facets = cells::spread(facets, if metrics.len() == 1 { MOST_FACETS.0 } else { MOST_FACETS.1 });
    let count = facets.len();
    let sheet = Sheet { results, title, metrics, facets, log: false };
    let mut figure = match along {
        Some(along) => versus::figure(&sheet, &along),
        None => bars::figure(&sheet),
    };
    figure.notes.extend(sheet.absences());
    if count < all {
        figure
            .notes
            .push(format!("Shown are {count} of {all} combinations of the other axes, spread evenly."));
    }
    Some(figure)
}

impl Sheet<'_> {
    /// Whether rows are metrics and columns are facets.
    pub(super) fn is_table(&self) -> bool {
        self.metrics.len() > 1 && self.facets.len() > 1
    }

    /// The label of the axis of `metric`.
    pub(super) fn axis_label(&self, metric: &Metric) -> &'static str {
        if self.is_table() { metric.row.unwrap_or(metric.title) } else { metric.axis.label }
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
        let columns = if self.is_table() { facets } else { square };
        Figure::new(format!("{} by {by}", self.title), panels, columns)
    }

    /// Says which arms have no value at all of a metric, so that their absence isn't taken for zero.
    pub(super) fn absences(&self) -> Option<String> {
        let Self { results, metrics, .. } = self;
        let lacking = |metric: &Metric| {
            let has = |arm: usize| {
                let of_arm = |cell: &&Cell| cell.arm == arm;
                results.cells.iter().filter(of_arm).any(|cell| metric.estimate(results, cell).is_some())
            };
            let is_shown = |arm: usize| results.cells.iter().any(|cell| cell.arm == arm);
            let arms = results.arms.iter().enumerate().filter(|(arm, _)| is_shown(*arm) && !has(*arm));
            let arms: Vec<&str> = arms.map(|(_, name)| name.as_str()).collect();
            (!arms.is_empty()).then(|| format!("“{}” of {}", metric.title, arms.join(", ")))
        };
        let lacking: Vec<String> = metrics.iter().filter_map(lacking).collect();
        (!lacking.is_empty()).then(|| format!("Without a value: {}.", lacking.join("; ")))
    }
}

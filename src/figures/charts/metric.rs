//! Charts of scalar metrics: against the first numeric axis, or as bars by arm where there is none.

use super::axis;
use super::bars;
use super::cells;
use super::sheet::{Sheet, Shown, estimate};
use super::versus;
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

/// The most facets that are shown of one metric, and of several.
const MOST_FACETS: (usize, usize) = (12, 4);

/// The chart of `metrics`; none where no metric has any value.
pub(super) fn figure(results: &Results, title: &str, metrics: &[&'static Metric]) -> Option<Figure> {
    let along = axis::first_numeric(results);
    let mut facets = cells::facets(results, along.as_ref().map(|axis| axis.index));
    let is_shown = |metric: &&Metric| {
        (facets.len() < 2 || !metric.words.label.is_empty())
            && results.cells.iter().any(|cell| estimate(results, cell, metric).is_some())
    };
    let metrics: Vec<&'static Metric> = metrics.iter().copied().filter(is_shown).collect();
    if metrics.is_empty() || facets.is_empty() {
        return None;
    }
    let all = facets.len();
    facets = cells::spread(facets, if metrics.len() == 1 { MOST_FACETS.0 } else { MOST_FACETS.1 });
    let count = facets.len();
    let is_table = metrics.len() > 1 && count > 1;
    let metrics = metrics.into_iter().map(|metric| Shown::new(metric, is_table)).collect();
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

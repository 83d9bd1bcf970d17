//! Charts of scalar metrics: against the first numeric axis, or as bars by arm where there is none.

use super::sheet::{Sheet, Shown, estimate};
use super::{axis, bars, cells, versus};
use crate::figures::Figure;
use crate::metrics::Metric;
use crate::results::Results;

const CROSS_ZONE: [&Metric; 1] = [Metric::named("cross_zone_connection_ratio")];
const LATENCY: [&Metric; 4] = [
    Metric::named("request_p50_ms"),
    Metric::named("request_p99_ms"),
    Metric::named("connect_p50_ms"),
    Metric::named("connect_p99_ms"),
];
const LOAD: [&Metric; 2] =
    [Metric::named("backend_load_max_over_mean"), Metric::named("zone_load_max_over_mean")];
const FAILURES: &Metric = Metric::named("failure_ratio");
const CAUSES: [&Metric; 7] = [
    Metric::named("failed_no_backend"),
    Metric::named("failed_connect_timeout"),
    Metric::named("failed_refused"),
    Metric::named("failed_reset"),
    Metric::named("failed_request_timeout"),
    Metric::named("failed_queue_full"),
    Metric::named("failed_no_port"),
];

const MOST_CAUSES: usize = 3;
/// The most facets that are shown of one metric, and of several.
const MOST_FACETS: (usize, usize) = (12, 4);

/// How many connections leave their zone.
pub(super) fn cross_zone(results: &Results) -> Option<Figure> {
    figure(results, "Connections that leave their zone,", &CROSS_ZONE)
}

/// How long connecting and requests take, in the middle and in the tail.
pub(super) fn latency(results: &Results) -> Option<Figure> {
    figure(results, "Latency", &LATENCY)
}

/// How unevenly backends and zones are loaded.
pub(super) fn load(results: &Results) -> Option<Figure> {
    figure(results, "Load imbalance", &LOAD)
}

/// How many connections fail, and of which causes that occur, the most frequent first.
pub(super) fn failures(results: &Results) -> Option<Figure> {
    let total = |metric: &Metric| -> f64 {
        results.cells.iter().filter_map(|cell| estimate(results, cell, metric)).map(|cause| cause.value).sum()
    };
    let mut causes: Vec<&Metric> = CAUSES.into_iter().filter(|cause| total(cause) > 0.0).collect();
    causes.sort_by(|a, b| total(b).total_cmp(&total(a)));
    // A single cause would draw the same picture twice.
    let shown = if causes.len() > 1 { MOST_CAUSES } else { 0 };
    let metrics: Vec<&Metric> = [FAILURES].into_iter().chain(causes.into_iter().take(shown)).collect();
    figure(results, "Failed connections", &metrics)
}

/// The chart of `metrics`; none where no metric has any value.
fn figure(results: &Results, title: &str, metrics: &[&'static Metric]) -> Option<Figure> {
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
    figure.notes.extend(sheet.open_ends());
    if count < all {
        figure
            .notes
            .push(format!("Shown are {count} of {all} combinations of the other axes, spread evenly."));
    }
    Some(figure)
}

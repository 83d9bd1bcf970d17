//! What crossing zones costs against what it saves: one point per cell, the best of them marked.

use super::axis::{self, ValueAxis};
use super::cells::{self, Facet};
use super::sheet::{estimate, open_ends};
use super::{caption, palette};
use crate::figures::mark::{DataPoint, Join, PanelMark, PlotValue, PointSeries, Spread};
use crate::figures::style::{Color, Dash, Marker, Style};
use crate::figures::wording::{capitalized, values_text};
use crate::figures::{Figure, Key, KeySample, Panel, PanelAxis};
use crate::metrics::Metric;
use crate::results::{ResultCell, Results};

/// With more cells than this, points are small, not joined, and named only where no other is better.
const MANY: usize = 40;

const COST: &Metric = Metric::named("cross_zone_usd_per_month");
const SHARE: &Metric = Metric::named("cross_zone_connection_ratio");
const FAILURES: &Metric = Metric::named("failure_ratio");
const TAIL: &Metric = Metric::named("request_p99_ms");

struct Place<'a> {
    cell: &'a ResultCell,
    x: PlotValue,
    y: PlotValue,
    /// Whether no other cell is better in both ways.
    best: bool,
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let any = |metric: &Metric, wanted: fn(f64) -> bool| {
        let estimates = results.cells.iter().filter_map(|cell| estimate(results, cell, metric));
        estimates.into_iter().any(|estimate| wanted(estimate.value))
    };
    let cost = if any(COST, f64::is_finite) { COST } else { SHARE };
    let harm = if any(FAILURES, |ratio| ratio > 0.0) { FAILURES } else { TAIL };
    let place = |cell| {
        let (x, y) = (estimate(results, cell, harm)?, estimate(results, cell, cost)?);
        Some(Place { cell, x, y, best: false })
    };
    let mut places: Vec<Place<'_>> = results.cells.iter().filter_map(place).collect();
    if places.is_empty() {
        return None;
    }
    mark_front(&mut places);
    let mut marks = vec![front_line(&places)];
    marks.extend(series(results, &places));
    let (x, y) = (fit(&places, harm, |place| place.x), fit(&places, cost, |place| place.y));
    let title = capitalized(&format!("{} against {}", cost.words.noun, harm.words.noun));
    let mut figure = Figure::new(title, vec![Panel::new(x, y, marks)], 1);
    figure.subtitle = caption::means(results, "whiskers");
    let front = "no other cell is better in both".to_owned();
    figure.legend = palette::legend(results, KeySample::Marker);
    figure.legend.push(Key { name: front, sample: KeySample::Line(front_style()) });
    let axes: Vec<String> = results.axes.iter().map(|axis| axis::words(axis)).collect();
    let labels = match axes.is_empty() {
        true => String::new(),
        false => format!(" Numbers at points, where there is room: {}.", axes.join(", ")),
    };
    figure.notes = vec![format!("Down and to the left is better.{labels}")];
    figure.notes.extend(open_ends(results, |metric| metric == harm.name));
    Some(figure)
}

/// Puts `places` in order from left to right, and marks those that no other is better than in both ways.
fn mark_front(places: &mut [Place<'_>]) {
    places.sort_by(|a, b| a.x.value.total_cmp(&b.x.value).then(a.y.value.total_cmp(&b.y.value)));
    let mut least = f64::INFINITY;
    for place in places {
        place.best = place.y.value < least;
        least = least.min(place.y.value);
    }
}

fn fit(places: &[Place<'_>], metric: &Metric, of: impl Fn(&Place<'_>) -> PlotValue) -> PanelAxis {
    ValueAxis::of(metric, metric.words.label).around(&places.iter().map(of).collect::<Vec<_>>())
}

/// The points of each arm. Those of one sweep are joined.
fn series(results: &Results, places: &[Place<'_>]) -> Vec<PanelMark> {
    let many = places.len() > MANY;
    let along = axis::first_numeric(results).map(|axis| axis.index);
    let facets = cells::facets(results, along);
    let mut marks = Vec::new();
    for (arm, style) in palette::arms(&results.arms).into_iter().enumerate() {
        let of_arm: Vec<&Place<'_>> = places.iter().filter(|place| place.cell.arm == arm).collect();
        let sweeps = if many { vec![of_arm] } else { sweeps(of_arm, &facets, along) };
        marks.extend(sweeps.into_iter().filter(|sweep| !sweep.is_empty()).map(|sweep| {
            // Cells came out exactly alike: between two thresholds every ratio is the same policy.
            let alike = sweep.chunk_by(|a, b| a.x.value == b.x.value && a.y.value == b.y.value);
            let point = |places: &[&Place<'_>]| Some(point(results, places, !many || places[0].best));
            PanelMark::Series(PointSeries {
                style: Style { dash: Dash::Solid, width: if many { 1.6 } else { 3.0 }, ..style },
                points: alike.map(point).collect(),
                join: if many { Join::None } else { Join::Straight },
                spread: Spread::Whiskers,
            })
        }));
    }
    marks
}

/// Parts the places of an arm by facet, each sorted along the axis.
fn sweeps<'a>(places: Vec<&'a Place<'a>>, facets: &[Facet], along: Option<usize>) -> Vec<Vec<&'a Place<'a>>> {
    let mut rest = places;
    let mut sweeps = Vec::new();
    for facet in facets {
        let (mut sweep, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|place| facet.holds(place.cell));
        let key = |place: &Place<'_>| along.and_then(|along| axis::number(&place.cell.values[along]));
        sweep.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("axis values are finite"));
        sweeps.push(sweep);
        rest = others;
    }
    sweeps
}

/// The point of cells that came out alike, with the range of their axis values.
fn point(results: &Results, places: &[&Place<'_>], named: bool) -> DataPoint {
    let [first, last] = [places[0], places[places.len() - 1]].map(|place| values_text(place.cell, ", "));
    let label = match (named, first.is_empty(), first == last) {
        (false, _, _) => String::new(),
        (true, true, _) => results.arms[places[0].cell.arm].clone(),
        (true, false, true) => first,
        (true, false, false) => format!("{first} – {last}"),
    };
    DataPoint { x: places[0].x, y: places[0].y, label }
}

fn front_style() -> Style {
    Style { color: Color(70, 70, 70), marker: Some(Marker::Ring), dash: Dash::Dotted, width: 2.0 }
}

/// The best cells in steps from left to right.
fn front_line(places: &[Place<'_>]) -> PanelMark {
    let point = |place: &Place<'_>| Some(DataPoint::new(place.x.value, place.y.value));
    PanelMark::Series(PointSeries {
        style: front_style(),
        points: places.iter().filter(|place| place.best).map(point).collect(),
        join: Join::Step,
        spread: Spread::Whiskers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    fn series_of(figure: &Figure) -> Vec<&PointSeries> {
        figure.panels[0].marks.iter().filter_map(PanelMark::as_series).collect()
    }

    #[test]
    fn every_cell_is_a_point_with_whiskers_and_the_front_falls() {
        let figure = figure(&SampleFolder::default().results()).unwrap();
        let series = series_of(&figure);
        let points: usize = series[1..].iter().map(|series| series.points.len()).sum();
        assert_eq!(points, 13);
        let whiskered = |point: &DataPoint| point.x.interval.is_some() && point.y.interval.is_some();
        assert!(series[1..].iter().flat_map(|series| series.points.iter().flatten()).all(whiskered));
        let front: Vec<_> =
            series[0].points.iter().flatten().map(|point| (point.x.value, point.y.value)).collect();
        assert!(front.len() > 3);
        assert!(front.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 > pair[1].1), "{front:?}");
        assert_eq!(series[1].points[0].as_ref().unwrap().label, "disabled");
        assert_eq!(series[3].points[4].as_ref().unwrap().label, "0.4");
    }

    #[test]
    fn cells_that_came_out_alike_are_one_point_with_their_range() {
        let mut results = SampleFolder::default().results();
        let cell = |ratio: &str| {
            let found = results.cells.iter().position(|cell| cell.values.contains(&ratio.to_owned()));
            found.expect("the sample sweeps it")
        };
        let (like, alike) = (cell("0.3"), cell("0.4"));
        for metric in ["failure_ratio", "cross_zone_usd_per_month"] {
            let row = results.summary[&(like, metric.to_owned())].clone();
            results.summary.insert((alike, metric.to_owned()), row);
        }
        let figure = figure(&results).unwrap();
        let labels: Vec<String> =
            series_of(&figure)[3].points.iter().flatten().map(|point| point.label.clone()).collect();
        assert!(labels.contains(&"0.3 – 0.4".to_owned()), "{labels:?}");
        assert_eq!(labels.len(), 10);
    }

    #[test]
    fn without_failures_or_prices_other_metrics_step_in() {
        let folder = SampleFolder { zero: Some("failure_ratio"), ..SampleFolder::default() };
        let mut results = folder.results();
        assert_eq!(figure(&results).unwrap().panels[0].x.label, "Request latency, 99 % quantile (ms)");
        for row in results.summary.values_mut().filter(|row| row.metric == "cross_zone_usd_per_month") {
            row.mean = None;
        }
        assert_eq!(figure(&results).unwrap().title, "Cross-zone share against tail latency");
        results.summary.clear();
        assert_eq!(figure(&results), None);
    }

    #[test]
    fn many_cells_are_small_and_only_the_best_are_named() {
        let figure = figure(&SampleFolder::five_hundred_cells().results()).unwrap();
        let series = series_of(&figure);
        assert_eq!(series.len(), 4);
        assert_eq!(series[1..].iter().map(|series| series.points.len()).sum::<usize>(), 520);
        let named = |series: &&PointSeries| {
            series.points.iter().flatten().filter(|point| !point.label.is_empty()).count()
        };
        assert_eq!(series[1..].iter().map(named).sum::<usize>(), series[0].points.len());
    }

    #[test]
    fn what_is_no_better_in_any_way_is_behind_the_front() {
        let results = SampleFolder::no_axis().results();
        let mut places = [(2.0, 2.0), (1.0, 3.0), (3.0, 2.0), (2.0, 1.0), (1.0, 4.0)].map(|(x, y)| Place {
            cell: &results.cells[0],
            x: PlotValue::from(x),
            y: PlotValue::from(y),
            best: false,
        });
        mark_front(&mut places);
        let judged = places.map(|place| (place.x.value, place.y.value, place.best));
        assert_eq!(judged[..3], [(1.0, 3.0, true), (1.0, 4.0, false), (2.0, 1.0, true)]);
        assert!(!judged[3].2 && !judged[4].2);
    }
}

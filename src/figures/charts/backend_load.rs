//! How much of the load each backend carries, zone by zone.

use super::axis::ValueAxis;
use super::latency_cdf::over_replications;
use super::{caption, cells, palette, zones};
use crate::answers::gather::distinct;
use crate::figures::mark::{
    DataPoint, Hairline, Join, PanelMark, PlotValue, PointSeries, ShadedSpan, Spread,
};
use crate::figures::style::{Color, Style};
use crate::figures::{Figure, Key, KeySample, Panel, PanelAxis};
use crate::metrics::tables::BackendRow;
use crate::metrics::unit::Unit;
use crate::results::{ResultCell, Results};

/// With more backends than this in a panel, markers are small.
const MANY: usize = 40;
const ZONES: [Color; 2] = [Color(243, 243, 243), Color::WHITE];

/// The backends of a figure, by zone.
struct Backends {
    names: Vec<String>,
    /// The label of each zone and the place of its first backend.
    zones: Vec<(String, usize)>,
    note: Option<String>,
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let backends = backends(results);
    let selection = cells::representatives(results, cells::MOST_PANELS);
    let points: Vec<Vec<Option<DataPoint>>> =
        selection.cells.iter().map(|cell| points(results, cell, &backends)).collect();
    let values: Vec<PlotValue> = points.iter().flatten().flatten().map(|point| point.y).collect();
    if values.is_empty() {
        return None;
    }
    let axis = ValueAxis { label: "Multiple of the fair share", unit: Unit::Number, base: 0.0, log: false };
    let mut y = axis.around(&values.into_iter().chain([PlotValue::from(1.1)]).collect::<Vec<_>>());
    // The names of the zones stand above the data.
    y.range.1 *= 1.15;
    let panels: Vec<Panel> = selection
        .cells
        .iter()
        .zip(points)
        .map(|(cell, points)| panel(results, cell, &backends, points, &y))
        .collect();
    let columns = cells::columns(panels.len());
    let mut figure = Figure::new("Load of each backend", panels, columns);
    figure.share_axes(true, true);
    figure.subtitle = caption::ranges(results);
    let even = Style::line(Color::FAINT, 2.0);
    figure.legend = vec![Key { name: "fair share".to_owned(), sample: KeySample::Line(even) }];
    figure.notes = selection.notes;
    figure.notes.extend(backends.note);
    Some(figure)
}

/// Every backend, by zone in the order of the experiment file.
fn backends(results: &Results) -> Backends {
    let zones = zones::of(results, real(results).map(|row| row.zone.as_str()));
    let mut names: Vec<String> = Vec::new();
    let mut starts = Vec::new();
    for (zone, label) in zones.names.iter().zip(zones.labels) {
        starts.push((label, names.len()));
        let own = real(results).filter(|row| row.zone == *zone).map(|row| row.backend.clone());
        names = distinct(names.into_iter().chain(own));
    }
    Backends { names, zones: starts, note: zones.note }
}

/// The rows of backends. Those without a name count connections that reached none.
fn real(results: &Results) -> impl Iterator<Item = &BackendRow> {
    results.backends.iter().filter(|row| !row.backend.is_empty())
}

fn points(results: &Results, cell: &ResultCell, backends: &Backends) -> Vec<Option<DataPoint>> {
    let rows: Vec<&BackendRow> = real(results).filter(|row| row.cell == cell.number).collect();
    let point = |(place, name): (usize, &String)| {
        let values: Vec<f64> =
            rows.iter().filter(|row| row.backend == *name).filter_map(|row| row.load_multiple).collect();
        let y = over_replications(&values)?;
        Some(DataPoint::new(place as f64, y))
    };
    backends.names.iter().enumerate().map(point).collect()
}

fn panel(
    results: &Results,
    cell: &ResultCell,
    backends: &Backends,
    points: Vec<Option<DataPoint>>,
    y: &PanelAxis,
) -> Panel {
    let style = palette::arms(&results.arms)[cell.arm];
    let width = if backends.names.len() > MANY { 1.4 } else { style.width };
    let span = |(position, (label, start)): (usize, &(String, usize))| {
        let end = backends.zones.get(position + 1).map_or(backends.names.len(), |(_, start)| *start);
        let (from, to) = (*start as f64 - 0.5, end as f64 - 0.5);
        ShadedSpan { from, to, label: label.clone(), color: ZONES[position % 2], has_ends: false }
    };
    let style = Style { width, ..style };
    let series = PointSeries { style, points, join: Join::None, spread: Spread::Whiskers };
    let x = PanelAxis::categories("Backends by zone", backends.names.clone());
    Panel {
        spans: backends.zones.iter().enumerate().map(span).collect(),
        hairlines: vec![Hairline { upright: false, at: 1.0, label: String::new() }],
        ..cells::panel(results, cell, x, y.clone(), vec![PanelMark::Series(series)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn backends_stand_by_zone_around_the_mean() {
        let mut results = SampleFolder::default().results();
        results.backends.sort_by_key(|row| row.backend.chars().last());
        let figure = figure(&results).unwrap();
        assert_eq!(figure.panels.len(), 5);
        let panel = &figure.panels[1];
        let crate::figures::Scale::Category(names) = &panel.x.scale else { panic!("names") };
        assert_eq!(names[..5], ["ig-a-1", "ig-a-2", "ig-a-3", "ig-a-4", "ig-b-1"]);
        assert_eq!(panel.y.range.0, 0.0);
        let spans = panel.spans.iter();
        let spans: Vec<_> = spans.map(|span| (span.from, span.to, span.label.clone())).collect();
        let zone = |from: f64, name: &str| (from, from + 4.0, name.to_owned());
        assert_eq!(spans, [zone(-0.5, "a"), zone(3.5, "b"), zone(7.5, "c")]);
        let Some(PanelMark::Series(series)) = panel.marks.last() else { panic!("points") };
        assert_eq!(series.points.len(), 12);
        assert!(series.points.iter().flatten().all(|point| point.y.interval.is_some()));
    }

    #[test]
    fn without_backends_there_is_no_chart() {
        let mut results = SampleFolder::default().results();
        results.backends.clear();
        assert_eq!(figure(&results), None);
    }
}

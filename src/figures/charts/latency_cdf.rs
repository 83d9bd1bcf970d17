//! Latency by quantile: what the cumulative distribution is known to pass through.

use super::axis::ValueAxis;
use super::{caption, cells, palette};
use crate::figures::mark::{DataPoint, Join, PanelMark, PlotValue, PointSeries, Spread};
use crate::figures::style::Style;
use crate::figures::{Figure, Key, KeySample, Panel, PanelAxis};
use crate::metrics::tables::LatencyRow;
use crate::metrics::unit::Unit;
use crate::results::{ResultCell, Results};

const MOST_CELLS: usize = 8;

const KINDS: [(&str, &str); 3] =
    [("request", "Request"), ("connect", "Connect"), ("network_rtt", "Network round trip")];

/// A quantile's name and its column.
type Quantile = (&'static str, fn(&LatencyRow) -> Option<f64>);

const QUANTILES: [Quantile; 5] = [
    ("50 %", |row| row.p50_ms),
    ("90 %", |row| row.p90_ms),
    ("99 %", |row| row.p99_ms),
    ("99.9 %", |row| row.p999_ms),
    ("largest", |row| row.max_ms),
];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let selection = cells::representatives(results, MOST_CELLS);
    let styles = styles(results, &selection.cells);
    let panels: Vec<Panel> =
        KINDS.iter().filter_map(|kind| panel(results, kind, &selection.cells, &styles)).collect();
    if panels.is_empty() {
        return None;
    }
    let columns = panels.len();
    let mut figure = Figure::new("Latency by quantile", panels, columns);
    figure.share_axes(false, true);
    figure.subtitle = caption::ranges(results);
    let key = |(cell, style): (&&ResultCell, &Style)| Key {
        name: cells::name(results, cell),
        sample: KeySample::Line(*style),
    };
    figure.legend = selection.cells.iter().zip(&styles).map(key).collect();
    figure.notes = vec![
        "Only the marked quantiles are known; lines between them guide the eye. A quantile with too few observations is left out."
            .to_owned(),
    ];
    figure.notes.extend(selection.notes);
    Some(figure)
}

/// The style of each cell: its arm's, paler for the earlier ones of an arm.
fn styles(results: &Results, cells: &[&ResultCell]) -> Vec<Style> {
    let arms = palette::arms(&results.arms);
    let style = |(position, cell): (usize, &&ResultCell)| {
        let of_arm = |cells: &[&ResultCell]| cells.iter().filter(|other| other.arm == cell.arm).count();
        palette::tinted(arms[cell.arm], of_arm(&cells[..position]), of_arm(cells))
    };
    cells.iter().enumerate().map(style).collect()
}

fn panel(results: &Results, kind: &(&str, &str), cells: &[&ResultCell], styles: &[Style]) -> Option<Panel> {
    let lines: Vec<PointSeries> =
        cells.iter().zip(styles).filter_map(|(cell, style)| line(results, kind.0, cell, *style)).collect();
    let points = lines.iter().flat_map(|line| line.points.iter().flatten());
    let values: Vec<PlotValue> = points.map(|point| point.x).collect();
    if values.is_empty() {
        return None;
    }
    let axis = ValueAxis { label: "Latency (ms)", unit: Unit::Number, base: 0.0, log: true };
    let names = QUANTILES.map(|(name, _)| name.to_owned()).to_vec();
    let y = PanelAxis::categories("Quantile", names);
    let marks = lines.into_iter().map(PanelMark::Series).collect();
    Some(Panel { title: kind.1.to_owned(), ..Panel::new(axis.around(&values), y, marks) })
}

/// The quantiles of `cell` over all zones, each a mean over replications.
fn line(results: &Results, kind: &str, cell: &ResultCell, style: Style) -> Option<PointSeries> {
    let wanted = |row: &&LatencyRow| {
        row.cell == cell.number && row.kind == kind && row.client_zone == "all" && row.backend_zone == "all"
    };
    let rows: Vec<&LatencyRow> = results.latency.iter().filter(wanted).collect();
    let point = |(place, (_, of)): (usize, &Quantile)| {
        let values: Vec<f64> = rows.iter().filter_map(|row| of(row)).filter(|value| *value > 0.0).collect();
        Some(DataPoint::new(over_replications(&values)?, place as f64))
    };
    let points: Vec<Option<DataPoint>> = QUANTILES.iter().enumerate().map(point).collect();
    let (join, spread) = (Join::Straight, Spread::Whiskers);
    points.iter().any(Option::is_some).then_some(PointSeries { style, points, join, spread })
}

/// The mean of `values` with the smallest and the largest of them.
pub(super) fn over_replications(values: &[f64]) -> Option<PlotValue> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let interval = (values.len() > 1).then_some((low, high));
    (!values.is_empty()).then_some(PlotValue { value: mean, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    fn lines(panel: &Panel) -> Vec<&PointSeries> {
        panel.marks.iter().filter_map(PanelMark::as_series).collect()
    }

    #[test]
    fn quantiles_grow_and_cells_of_an_arm_are_shades_of_its_colour() {
        let figure = figure(&SampleFolder::default().results()).unwrap();
        assert_eq!(figure.panels.len(), 3);
        let lines = lines(&figure.panels[0]);
        assert_eq!(lines.len(), 5);
        for line in &lines {
            let values: Vec<f64> = line.points.iter().flatten().map(|point| point.x.value).collect();
            assert_eq!(values.len(), 5);
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
        }
        let spill = palette::arms(&["disabled", "stay", "spill"].map(str::to_owned))[2];
        assert_eq!(lines[4].style, spill);
        assert_ne!(lines[2].style.color, spill.color);
        assert_eq!(lines[2].style.marker, spill.marker);
    }

    #[test]
    fn a_quantile_that_is_not_known_is_a_gap() {
        let figure =
            figure(&SampleFolder { missing: Some("p999_ms"), ..SampleFolder::default() }.results()).unwrap();
        for line in lines(&figure.panels[0]) {
            assert_eq!(line.points[3], None);
            assert!(line.points[4].is_some());
        }
    }

    #[test]
    fn replications_give_a_mean_and_its_range() {
        let estimate = over_replications(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((estimate.value, estimate.interval), (3.0, Some((1.0, 6.0))));
        assert_eq!(over_replications(&[1.0]), Some(PlotValue::from(1.0)));
        assert_eq!(over_replications(&[]), None);
    }
}

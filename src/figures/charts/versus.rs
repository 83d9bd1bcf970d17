//! Metrics against the first numeric axis: one line per arm, a level for each arm that lacks the axis.

use super::axis::{NumericAxis, number};
use super::cells::Facet;
use super::sheet::{Sheet, estimate};
use super::steps::{Steps, thresholds};
use super::{caption, palette};
use crate::figures::mark::{DataPoint, Join, PanelMark, PlotValue, PointSeries, Spread};
use crate::figures::{Figure, KeySample, Panel, PanelAxis, Scale};
use crate::metrics::Metric;
use crate::results::{ResultCell, Results};

pub(super) fn figure(sheet: &Sheet<'_>, along: &NumericAxis) -> Figure {
    let Sheet { results, metrics, facets, .. } = sheet;
    let x = along.through(&values(results, along));
    let mut limits = Limits::default();
    let mut steps = Steps::default();
    let mut panels = Vec::new();
    for shown in metrics {
        let by_facet: Vec<Vec<PanelMark>> =
            facets.iter().map(|facet| marks(results, shown.metric, facet, along)).collect();
        let values: Vec<PlotValue> = by_facet.iter().flatten().flat_map(estimates).collect();
        let forced = if sheet.log { shown.axis.log_around(&values) } else { None };
        limits.not_log |= sheet.log && forced.is_none();
        let y = forced.unwrap_or_else(|| shown.axis.around(&values));
        let is_cut =
            |one: &PlotValue| one.value > 0.0 && one.interval.is_some_and(|(low, _)| low < y.range.0);
        limits.cut |= y.scale == Scale::Log && values.iter().any(is_cut);
        for (mut marks, facet) in by_facet.into_iter().zip(facets) {
            limits.zeros += marks.iter_mut().map(|mark| drop_zeros(&y, mark)).sum::<usize>();
            let mut panel = Panel::new(x.clone(), y.clone(), marks);
            steps.insert(thresholds(results, along, facet), &mut panel);
            panels.push(panel);
        }
    }
    let mut figure = sheet.figure(panels, &along.name);
    figure.share_axes(true, facets.len() > 1);
    figure.subtitle = caption::means(results, "bands");
    figure.legend = palette::legend(results, KeySample::Line);
    figure.notes = notes(results, along, limits);
    figure.notes.extend(steps.notes());
    figure
}

/// What a log axis has no place for.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// How many values of zero were left out.
    zeros: usize,
    /// Whether a band begins below an axis.
    cut: bool,
    /// Whether an axis that should be logarithmic is not.
    not_log: bool,
}

fn notes(results: &Results, along: &NumericAxis, Limits { zeros, cut, not_log }: Limits) -> Vec<String> {
    let has_level = results.cells.iter().any(|cell| cell.values[along.index].is_empty());
    let cut_text = "Bands that begin at zero or below the foot of a log axis are drawn from its foot.";
    caption::said([
        (has_level, format!("Lines from edge to edge: arms that have no {}.", along.name)),
        (zeros > 0, format!("Left out: {zeros} values of zero, which a log axis doesn't have.")),
        (cut, cut_text.to_owned()),
        (not_log, "No value is above zero, so that the axis is not logarithmic.".to_owned()),
    ])
}

/// Every value of the axis, sorted.
fn values(results: &Results, along: &NumericAxis) -> Vec<f64> {
    let mut values: Vec<f64> =
        results.cells.iter().filter_map(|cell| number(&cell.values[along.index])).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn marks(results: &Results, metric: &Metric, facet: &Facet, along: &NumericAxis) -> Vec<PanelMark> {
    let mut marks = Vec::new();
    for (arm, style) in palette::arms(&results.arms).into_iter().enumerate() {
        let held = |cell: &&ResultCell| cell.arm == arm && facet.holds(cell);
        let mut points = Vec::new();
        for cell in results.cells.iter().filter(held) {
            let estimate = estimate(results, cell, metric);
            match (number(&cell.values[along.index]), estimate) {
                (Some(x), estimate) => points.push((x, estimate)),
                (None, Some(value)) => marks.push(PanelMark::Level(style, value)),
                (None, None) => {}
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<_> = points.into_iter().map(|(x, y)| y.map(|y| DataPoint::new(x, y))).collect();
        if points.iter().any(Option::is_some) {
            let (join, spread) = (Join::Straight, Spread::Band);
            marks.push(PanelMark::Series(PointSeries { style, points, join, spread }));
        }
    }
    // Levels first: where a line comes upon one, it is the line that is followed.
    marks.sort_by_key(|mark| matches!(mark, PanelMark::Series(_)));
    marks
}

fn estimates(mark: &PanelMark) -> Vec<PlotValue> {
    match mark {
        PanelMark::Series(series) => series.points.iter().flatten().map(|point| point.y).collect(),
        PanelMark::Level(_, value) => vec![*value],
        _ => Vec::new(),
    }
}

/// Makes gaps of the zeros on a log axis and gives their number.
fn drop_zeros(y: &PanelAxis, mark: &mut PanelMark) -> usize {
    let PanelMark::Series(series) = mark else { return 0 };
    let is_off = |point: &DataPoint| y.scale == Scale::Log && point.y.value <= 0.0;
    let zeros = series.points.iter_mut().filter(|point| point.as_ref().is_some_and(is_off));
    zeros.map(|point| *point = None).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::charts::metric;
    use crate::figures::style::Color;
    use crate::results::sample::SampleFolder;

    #[test]
    fn one_line_per_arm_and_a_level_for_arms_without_the_axis() {
        let results = SampleFolder::default().results();
        let figure = metric::cross_zone(&results).unwrap();
        assert_eq!(figure.title, "Connections that leave their zone, by spillover ratio");
        let [panel] = figure.panels.as_slice() else { panic!("one panel, not {}", figure.panels.len()) };
        assert_eq!((panel.x.label.as_str(), panel.x.range), ("Spillover ratio", (-0.04, 1.07)));
        assert_eq!(panel.y.range.0, 0.0, "shares begin at zero");
        let [PanelMark::Level(disabled, _), PanelMark::Level(stay, _), PanelMark::Series(spill)] =
            panel.marks.as_slice()
        else {
            panic!("two levels and a line, not {:?}", panel.marks);
        };
        let looks = [disabled.color, stay.color, spill.style.color];
        assert_eq!(looks, [Color::GREY, Color::BLUE, Color::ORANGE]);
        assert_eq!(spill.points.len(), 11);
        let row = results.summary(12, "cross_zone_connection_ratio").unwrap();
        let last = spill.points[10].as_ref().unwrap();
        assert_eq!(last.x, PlotValue::from(1.0));
        assert_eq!(last.y.value, row.mean.unwrap());
        assert_eq!(last.y.interval, row.ci_low.zip(row.ci_high));
        assert_eq!(figure.legend.len(), 3);
        assert!(figure.notes[0].contains("no spillover ratio"), "{:?}", figure.notes);
    }

    #[test]
    fn one_replication_has_no_bands() {
        let figure =
            metric::cross_zone(&SampleFolder { replications: 1, ..SampleFolder::default() }.results())
                .unwrap();
        let exact = |mark: &PanelMark| estimates(mark).iter().all(|estimate| estimate.interval.is_none());
        assert!(figure.panels[0].marks.iter().all(exact));
        assert!(figure.subtitle.contains("no confidence bands"), "{}", figure.subtitle);
    }

    #[test]
    fn missing_values_are_gaps_and_are_named() {
        let folder = SampleFolder { missing: Some("failure_ratio"), ..SampleFolder::default() };
        let figure = metric::failures(&folder.results()).unwrap();
        let color = |mark: &PanelMark| match mark {
            PanelMark::Level(style, _) => style.color,
            PanelMark::Series(series) => series.style.color,
            _ => Color::BLACK,
        };
        let shown: Vec<_> = figure.panels[0].marks.iter().map(color).collect();
        assert_eq!(shown, [Color::GREY, Color::ORANGE], "disabled and spill");
        assert!(figure.notes.iter().any(|note| note.contains("of stay")), "{:?}", figure.notes);
        let mut results = SampleFolder::default().results();
        results.summary.get_mut(&(5, "failure_ratio".to_owned())).unwrap().mean = None;
        let figure = metric::failures(&results).unwrap();
        let line = figure.panels[0].marks.iter().find_map(PanelMark::as_series).unwrap();
        assert_eq!(line.points.iter().position(Option::is_none), Some(3));
    }

    #[test]
    fn zeros_are_left_out_of_a_log_axis_and_counted() {
        let mut results = SampleFolder::default().results();
        let zero = results.summary.get_mut(&(5, "connect_p99_ms".to_owned())).unwrap();
        (zero.mean, zero.ci_low, zero.ci_high) = (Some(0.0), Some(0.0), Some(0.0));
        let figure = metric::latency(&results).unwrap();
        let panel = figure.panels.iter().find(|panel| panel.title == "Connect, 99 % quantile").unwrap();
        assert_eq!(panel.y.scale, Scale::Log);
        let gaps = |mark: &PanelMark| match mark {
            PanelMark::Series(series) => series.points.iter().filter(|point| point.is_none()).count(),
            _ => 0,
        };
        assert_eq!(panel.marks.iter().map(gaps).sum::<usize>(), 1);
        assert!(figure.notes.iter().any(|note| note.contains("1 values of zero")), "{:?}", figure.notes);
    }

    #[test]
    fn further_axes_make_panels_and_a_remark_if_there_are_too_many() {
        let results = SampleFolder::five_hundred_cells().results();
        let figure = metric::cross_zone(&results).unwrap();
        assert_eq!((figure.panels.len(), figure.columns), (12, 4));
        assert_eq!(figure.panels[0].title, "rate 25");
        assert_eq!(figure.panels[11].title, "rate 1000");
        assert!(
            figure
                .panels
                .iter()
                .all(|panel| panel.marks.len() == 3 && panel.y == figure.panels[0].y || !panel.y.shown)
        );
        assert!(figure.notes.iter().any(|note| note.contains("12 of 40")), "{:?}", figure.notes);
        let latency = metric::latency(&results).unwrap();
        assert_eq!((latency.panels.len(), latency.columns), (8, 4), "a row per metric");
        assert_eq!(latency.panels[0].y.label, "Request, 99 % (ms)");
        assert_eq!(latency.panels[4].y.label, "Connect, 99 % (ms)");
    }
}

//! Metrics against the first numeric axis: one line per arm, a level for each arm that lacks the axis.

use super::axis::{NumericAxis, number};
use super::caption;
use super::cells::Facet;
use super::palette;
use super::sheet::{Sheet, estimate};
use super::steps::Steps;
use crate::figures::mark::{DataPoint, Join, LevelLine, PanelMark, PlotValue, PointSeries, Spread};
use crate::figures::style::Style;
use crate::figures::{Figure, Key, KeySample, Panel, PanelAxis, Scale};
use crate::metrics::Metric;
use crate::results::{ResultCell, Results};

pub(super) fn figure(sheet: &Sheet<'_>, along: &NumericAxis) -> Figure {
    let Sheet { results, metrics, facets, .. } = sheet;
    let styles = palette::arms(&results.arms);
    let x = along.through(&values(results, along));
    let mut limits = Limits::default();
    let mut steps = Steps::default();
    let mut panels = Vec::new();
    for shown in metrics {
        let metric = shown.metric;
        let by_facet: Vec<Vec<PanelMark>> =
            facets.iter().map(|facet| marks(results, metric, facet, along, &styles)).collect();
        let values: Vec<PlotValue> = by_facet.iter().flatten().flat_map(estimates).collect();
        let forced = if sheet.log { shown.axis.log_around(&values) } else { None };
        limits.not_log |= sheet.log && forced.is_none();
        let y = forced.unwrap_or_else(|| shown.axis.around(&values));
        let is_cut =
            |one: &PlotValue| one.value > 0.0 && one.interval.is_some_and(|(low, _)| low < y.range.0);
        limits.cut |= y.scale == Scale::Log && values.iter().any(is_cut);
        for (mut marks, facet) in by_facet.into_iter().zip(facets) {
            limits.zeros += marks.iter_mut().map(|mark| drop_zeros(&y, mark)).sum::<usize>();
            let marks = steps.insert(results, along, facet, &x, marks);
            panels.push(Panel { title: String::new(), badge: None, x: x.clone(), y: y.clone(), marks });
        }
    }
    let mut figure = sheet.figure(panels, &along.name);
    figure.share_x_axes();
    if facets.len() > 1 {
        figure.share_y_axes();
    }
    figure.subtitle = caption::means(results, "bands");
    let key = |(name, style): (&String, &Style)| Key { name: name.clone(), sample: KeySample::Line(*style) };
    figure.legend = results.arms.iter().zip(&styles).map(key).collect();
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

fn notes(results: &Results, along: &NumericAxis, limits: Limits) -> Vec<String> {
    let level = |cell: &ResultCell| cell.values[along.index].is_empty();
    let mut notes = Vec::new();
    if results.cells.iter().any(level) {
        notes.push(format!("Lines from edge to edge: arms that have no {}.", along.name));
    }
    if limits.zeros > 0 {
        notes.push(format!("Left out: {} values of zero, which a log axis doesn't have.", limits.zeros));
    }
    if limits.cut {
        notes.push(
            "Bands that begin at zero or below the foot of a log axis are drawn from its foot.".to_owned(),
        );
    }
    if limits.not_log {
        notes.push("No value is above zero, so that the axis is not logarithmic.".to_owned());
    }
    notes
}

/// Every value of the axis, sorted.
fn values(results: &Results, along: &NumericAxis) -> Vec<f64> {
    let mut values: Vec<f64> =
        results.cells.iter().filter_map(|cell| number(&cell.values[along.index])).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn marks(
    results: &Results,
    metric: &Metric,
    facet: &Facet,
    along: &NumericAxis,
    styles: &[Style],
) -> Vec<PanelMark> {
    let mut marks = Vec::new();
    for (arm, (name, style)) in results.arms.iter().zip(styles).enumerate() {
        let held = |cell: &&ResultCell| cell.arm == arm && facet.holds(cell);
        let mut points = Vec::new();
        for cell in results.cells.iter().filter(held) {
            let estimate = estimate(results, cell, metric);
            match (number(&cell.values[along.index]), estimate) {
                (Some(x), estimate) => points.push((x, estimate)),
                (None, Some(value)) => {
                    marks.push(PanelMark::Level(LevelLine { name: name.clone(), style: *style, value }));
                }
                (None, None) => {}
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.iter().any(|(_, estimate)| estimate.is_some()) {
            marks.push(PanelMark::Series(series(name, *style, &points)));
        }
    }
    // Levels first: where a line comes upon one, it is the line that is followed.
    marks.sort_by_key(|mark| matches!(mark, PanelMark::Series(_)));
    marks
}

fn series(name: &str, style: Style, points: &[(f64, Option<PlotValue>)]) -> PointSeries {
    let point = |(x, y): &(f64, Option<PlotValue>)| {
        y.map(|y| DataPoint { x: PlotValue::exact(*x), y, label: String::new() })
    };
    PointSeries {
        name: name.to_owned(),
        style,
        points: points.iter().map(point).collect(),
        join: Join::Straight,
        spread: Spread::Band,
    }
}

fn estimates(mark: &PanelMark) -> Vec<PlotValue> {
    match mark {
        PanelMark::Series(series) => series.points.iter().flatten().map(|point| point.y).collect(),
        PanelMark::Level(level) => vec![level.value],
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
        let [PanelMark::Level(disabled), PanelMark::Level(stay), PanelMark::Series(spill)] =
            panel.marks.as_slice()
        else {
            panic!("two levels and a line, not {:?}", panel.marks);
        };
        let looks = [disabled.style.color, stay.style.color, spill.style.color];
        assert_eq!(looks, [Color::GREY, Color::BLUE, Color::ORANGE]);
        assert_eq!(spill.points.len(), 11);
        let row = results.summary(12, "cross_zone_connection_ratio").unwrap();
        let last = spill.points[10].as_ref().unwrap();
        assert_eq!(last.x, PlotValue::exact(1.0));
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
        let names = |mark: &PanelMark| match mark {
            PanelMark::Level(level) => level.name.clone(),
            PanelMark::Series(series) => series.name.clone(),
            _ => String::new(),
        };
        let shown: Vec<_> = figure.panels[0].marks.iter().map(names).collect();
        assert_eq!(shown, ["disabled", "spill"]);
        assert!(figure.notes.iter().any(|note| note.contains("of stay")), "{:?}", figure.notes);
        let points = [(0.0, Some(PlotValue::exact(1.0))), (0.5, None), (1.0, Some(PlotValue::exact(2.0)))];
        let line = series("", palette::zone(0), &points);
        assert_eq!(line.points[1], None);
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

//! Metrics by arm, where no axis is numeric: one bar per arm, from zero.

use super::cells::Facet;
use super::sheet::{Sheet, estimate};
use super::{caption, palette};
use crate::figures::mark::{Bar, Hairline, PanelMark, PlotValue};
use crate::figures::style::Style;
use crate::figures::{Figure, Panel, PanelAxis};
use crate::metrics::Metric;
use crate::results::Results;

/// The height that one bar needs.
const BAR_HEIGHT: u32 = 34;
/// The room right of the longest bar for its number.
const NUMBER_ROOM: f64 = 0.28;

pub(super) fn figure(sheet: &Sheet<'_>) -> Figure {
    let Sheet { results, metrics, facets, .. } = sheet;
    let mut panels = Vec::new();
    for metric in metrics {
        let by_facet: Vec<Vec<Bar>> =
            facets.iter().map(|facet| bars(results, metric.metric, facet)).collect();
        let values: Vec<PlotValue> = by_facet.iter().flatten().filter_map(|bar| bar.value).collect();
        // From zero, as bars need it.
        let longest = values.iter().flat_map(|value| value.values()).fold(0.0, f64::max);
        let end = if longest > 0.0 { longest * (1.0 + NUMBER_ROOM) } else { 1.0 };
        let x = PanelAxis::linear(metric.axis.label, metric.axis.unit, (0.0, end));
        for bars in by_facet {
            let y = PanelAxis::categories("", results.arms.clone()).reversed();
            let base = Hairline { upright: true, at: metric.axis.base, label: String::new() };
            let hairlines = if base.at > 0.0 { vec![base] } else { Vec::new() };
            panels.push(Panel { hairlines, ..Panel::new(x.clone(), y, vec![PanelMark::Bars(bars)]) });
        }
    }
    let mut figure = sheet.figure(panels, "arm");
    figure.share_axes(false, true);
    let rows = figure.panels.len().div_ceil(figure.columns) as u32;
    figure.height = figure.height.max(rows * (results.arms.len() as u32 * BAR_HEIGHT + 130) + 200);
    figure.subtitle = caption::means(results, "whiskers");
    figure
}

fn bars(results: &Results, metric: &Metric, facet: &Facet) -> Vec<Bar> {
    let styles = palette::arms(&results.arms);
    let bar = |(arm, style): (usize, &Style)| {
        let cell = results.cells.iter().find(|cell| cell.arm == arm && facet.holds(cell));
        Bar {
            place: arm as f64,
            value: cell.and_then(|cell| estimate(results, cell, metric)),
            color: style.color,
        }
    };
    styles.iter().enumerate().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Scale;
    use crate::figures::charts::metric;
    use crate::figures::style::Color;
    use crate::results::sample::SampleFolder;

    #[test]
    fn bars_begin_at_zero_and_stand_in_file_order() {
        let results = SampleFolder::no_axis().results();
        let figure = metric::cross_zone(&results).unwrap();
        let panel = &figure.panels[0];
        assert_eq!(panel.x.range.0, 0.0);
        assert_eq!(panel.y.scale, Scale::Category(results.arms.clone()));
        assert!(panel.y.range.0 > panel.y.range.1, "the first arm stands at the top");
        let PanelMark::Bars(bars) = &panel.marks[0] else { panic!("bars, not {:?}", panel.marks) };
        let looks: Vec<_> = bars.iter().map(|bar| (bar.place, bar.color)).collect();
        assert_eq!(looks, [(0.0, Color::GREY), (1.0, Color::BLUE), (2.0, Color::ORANGE)]);
        assert!(bars.iter().all(|bar| bar.value.is_some_and(|value| value.interval.is_some())));
        assert!(metric::load(&results).unwrap().panels.iter().all(|panel| panel.x.range.0 == 0.0));
    }

    #[test]
    fn a_missing_bar_is_missing() {
        let sample = SampleFolder { missing: Some("cross_zone_connection_ratio"), ..SampleFolder::no_axis() };
        let figure = metric::cross_zone(&sample.results()).unwrap();
        let PanelMark::Bars(bars) = &figure.panels[0].marks[0] else { panic!("bars") };
        assert_eq!(bars[1].value, None);
        assert!(figure.notes[0].contains("of stay"), "{:?}", figure.notes);
    }

    #[test]
    fn axes_of_words_make_panels() {
        let values = ["NONE", "CLIENT_IP"].map(str::to_owned).to_vec();
        let sample = SampleFolder { values, axis: "session_affinity".to_owned(), ..SampleFolder::default() };
        let figure = metric::cross_zone(&sample.results()).unwrap();
        let titles: Vec<_> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["session affinity NONE", "session affinity CLIENT_IP"]);
    }
}

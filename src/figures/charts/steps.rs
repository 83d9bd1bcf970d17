//! Lines along the spillover ratio as what they are: level between two thresholds k/n, with a step at each.
//!
//! With n backends of a zone, all ratios above (k-1)/n and up to k/n are the same policy (`policies`). A straight line from
//! cell to cell would show values that no ratio has, and put a cliff where cells happen to lie.

use super::axis::NumericAxis;
use super::caption;
use super::cells::Facet;
use crate::figures::mark::{DataPoint, Hairline, Join, PanelMark, PointSeries};
use crate::figures::style::Style;
use crate::figures::{Panel, PanelAxis};
use crate::results::{ResultCell, Results};

/// More thresholds than this would stripe a panel.
const MOST_HAIRLINES: usize = 24;

/// What the panels of a figure show of thresholds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    drawn: bool,
    too_many: usize,
    skipped: bool,
}

impl Steps {
    /// Draws `thresholds`, if there are any, and has the lines of `panel` step at them.
    pub(super) fn insert(&mut self, thresholds: Vec<(f64, String)>, panel: &mut Panel) {
        let (low, high) = panel.x.range;
        let inside = |(at, _): &(f64, String)| low < *at && *at < high;
        if !thresholds.iter().any(inside) {
            return;
        }
        let edges: Vec<f64> = thresholds.iter().map(|(at, _)| *at).collect();
        if edges.len() > MOST_HAIRLINES {
            self.too_many = self.too_many.max(edges.len());
        } else {
            let lines = thresholds.into_iter().filter(inside);
            panel.hairlines = lines.map(|(at, label)| Hairline { upright: true, at, label }).collect();
            self.drawn = true;
        }
        for mark in std::mem::take(&mut panel.marks) {
            match mark {
                PanelMark::Series(series) => panel.marks.extend(self.steps(series, &edges, &panel.x)),
                mark => panel.marks.push(mark),
            }
        }
    }

    /// What has to be said of them.
    pub(super) fn notes(self) -> Vec<String> {
        let drawn =
            "Dotted: k of n backends of a zone. Between two of these, every ratio is the same policy.";
        let too_many = format!(
            "Lines step at the thresholds k/n of n backends a zone, of which {} are too many to draw.",
            self.too_many
        );
        let skipped = "Slopes: no cell lies between these thresholds.".to_owned();
        let drawn = (self.drawn, drawn.to_owned());
        caption::said([drawn, (self.too_many > 0, too_many), (self.skipped, skipped)])
    }

    /// The line through the points of `series`, level between `edges`, and its markers. Where cells of one policy differ,
    /// they are not of this experiment, and nothing is changed.
    fn steps(&mut self, series: PointSeries, edges: &[f64], x: &PanelAxis) -> Vec<PanelMark> {
        let Some((points, skipped)) = levels(&series, edges, x) else {
            return vec![PanelMark::Series(series)];
        };
        self.skipped |= skipped;
        let bare = |point: &DataPoint| DataPoint { y: point.y.value.into(), ..point.clone() };
        let markers = series.points.iter().map(|point| point.as_ref().map(bare)).collect();
        let style = Style { marker: None, ..series.style };
        let line = PointSeries { points, style, ..series };
        let markers = PointSeries { points: markers, join: Join::None, ..series };
        vec![PanelMark::Series(line), PanelMark::Series(markers)]
    }
}

/// Every threshold of the cells in `facet`, with its name, from left to right.
pub(super) fn thresholds(results: &Results, along: &NumericAxis, facet: &Facet) -> Vec<(f64, String)> {
    let cliffs = results.description.policies.as_ref().and_then(|policies| policies.cliffs.as_ref());
    let Some(cliffs) = cliffs.filter(|cliffs| cliffs.axis == along.index) else {
        return Vec::new();
    };
    let cells = results.cells.iter().filter(|cell: &&ResultCell| facet.holds(cell));
    let mut found: Vec<(usize, usize)> = cells.flat_map(|cell| cliffs.shares(cell.number)).collect();
    found.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)).then(a.1.cmp(&b.1)));
    found.dedup();
    let same = |a: &(usize, usize), b: &(usize, usize)| a.0 * b.1 == b.0 * a.1;
    let share = |equal: &[(usize, usize)]| {
        let names: Vec<String> = equal.iter().map(|(k, n)| format!("{k}/{n}")).collect();
        (equal[0].0 as f64 / equal[0].1 as f64, names.join(" = "))
    };
    found.chunk_by(same).map(share).collect()
}

/// The points of a line that is level between `edges`, and whether it passes over a level without a cell.
fn levels(series: &PointSeries, edges: &[f64], x: &PanelAxis) -> Option<(Vec<Option<DataPoint>>, bool)> {
    let level = |point: &DataPoint| edges.iter().filter(|edge| point.x.value > **edge).count();
    // A point that is missing has no place of its own: it leaves its gap between its neighbours.
    let mut groups: Vec<Option<(usize, &DataPoint)>> = Vec::new();
    for point in &series.points {
        match (point, groups.last()) {
            (None, Some(Some(_))) => groups.push(None),
            (None, _) => {}
            (Some(point), Some(Some((last, known)))) if *last == level(point) => {
                if known.y != point.y {
                    return None;
                }
            }
            (Some(point), _) => groups.push(Some((level(point), point))),
        }
    }
    let skips = |pair: &[Option<(usize, &DataPoint)>]| match pair {
        [Some((a, _)), Some((b, _))] => b - a > 1,
        _ => false,
    };
    let skipped = groups.windows(2).any(skips);
    // Zero is as good a ratio as the first threshold; one is the last ratio there is.
    let (first, last) = (x.range.0.max(0.0), x.range.1.min(1.0));
    let points = groups.into_iter().flat_map(|group| {
        let Some((level, point)) = group else { return vec![None] };
        let from = if level == 0 { first } else { edges[level - 1] };
        let ends = [from, edges.get(level).copied().unwrap_or(last)];
        ends.map(|at| Some(DataPoint { x: at.clamp(first, last).into(), ..point.clone() })).to_vec()
    });
    Some((points.collect(), skipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PerCell;
    use crate::figures::charts::metric;
    use crate::results::policies::{Cliffs, Policies};
    use crate::results::sample::SampleFolder;

    /// The sample's sweep of eleven ratios, as if each zone had `n` backends.
    fn swept(n: usize) -> Results {
        let mut results = SampleFolder::default().results();
        set_sizes(&mut results, &[n]);
        // Cells of one policy have the same results.
        let level = |number: usize| ((number - 2) as f64 / 10.0 * n as f64 - 1e-9).ceil().max(1.0) as usize;
        for number in 2..13 {
            let first = (2..13).find(|other| level(*other) == level(number)).unwrap();
            let row = results.summary[&(first, "cross_zone_connection_ratio".to_owned())].clone();
            results.summary.insert((number, "cross_zone_connection_ratio".to_owned()), row);
        }
        results
    }

    /// Says how many backends a zone may have where cells have a ratio.
    fn set_sizes(results: &mut Results, numbers: &[usize]) {
        let mut sizes = PerCell::default();
        for cell in &results.cells {
            let is_swept = !cell.values[0].is_empty();
            sizes.put(cell.number, if is_swept { numbers.to_vec() } else { Vec::new() });
        }
        let policies = Policies { cliffs: Some(Cliffs { axis: 0, sizes }), ..Policies::default() };
        results.description.policies = Some(policies);
    }

    fn series(results: &Results) -> (Vec<PointSeries>, Vec<String>, Vec<String>) {
        let figure = metric::cross_zone(results).unwrap();
        let marks = &figure.panels[0].marks;
        let labels = figure.panels[0].hairlines.iter().map(|line| line.label.clone()).collect();
        (marks.iter().filter_map(PanelMark::as_series).cloned().collect(), labels, figure.notes)
    }

    fn places(line: &PointSeries) -> Vec<f64> {
        line.points.iter().flatten().map(|point| point.x.value).collect()
    }

    #[test]
    fn lines_step_at_the_thresholds_and_not_between_cells() {
        let (series, labels, notes) = series(&swept(4));
        let [line, markers] = &series[..] else { panic!("a line and its markers, not {series:?}") };
        assert_eq!(labels, ["1/4", "2/4", "3/4"]);
        assert_eq!(places(line), [0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1.0]);
        let values: Vec<f64> = line.points.iter().flatten().map(|point| point.y.value).collect();
        assert!(values.chunks(2).all(|ends| ends[0] == ends[1]), "{values:?}");
        assert_eq!((line.style.marker, markers.join, markers.points.len()), (None, Join::None, 11));
        assert!(line.points.iter().flatten().all(|point| point.y.interval.is_some()), "the band is stepped");
        assert!(markers.points.iter().flatten().all(|point| point.y.interval.is_none()), "and drawn once");
        assert!(notes.iter().any(|note| note.contains("same policy")), "{notes:?}");
    }

    #[test]
    fn a_policy_without_a_cell_is_a_slope_and_said() {
        let (series, _, notes) = series(&swept(20));
        // Eleven ratios 0, 0.1 … of twenty thresholds: every other policy has a cell.
        assert_eq!(places(&series[0])[..6], [0.0, 0.05, 0.05, 0.1, 0.15, 0.2]);
        assert!(notes.iter().any(|note| note.contains("no cell lies between")), "{notes:?}");
    }

    #[test]
    fn too_many_thresholds_are_not_drawn_but_stepped_at() {
        let (series, labels, notes) = series(&swept(40));
        assert_eq!((labels.len(), series.len()), (0, 2));
        assert!(notes.iter().any(|note| note.contains("39 are too many")), "{notes:?}");
    }

    #[test]
    fn zones_of_different_sizes_share_their_equal_thresholds() {
        let mut results = swept(4);
        set_sizes(&mut results, &[2, 4]);
        let (_, labels, _) = series(&results);
        assert_eq!(labels, ["1/4", "1/2 = 2/4", "3/4"]);
    }

    #[test]
    fn cells_that_should_be_alike_and_are_not_keep_their_straight_line() {
        let mut results = swept(4);
        let row = results.summary.get_mut(&(4, "cross_zone_connection_ratio".to_owned())).unwrap();
        row.mean = row.mean.map(|mean| mean + 0.01);
        let (series, _, _) = series(&results);
        assert_eq!((series.len(), series[0].points.len()), (1, 11));
    }

    #[test]
    fn missing_values_stay_gaps() {
        let mut results = swept(4);
        for number in 5..8 {
            // Ratios 0.3 to 0.5.
            results.summary.get_mut(&(number, "cross_zone_connection_ratio".to_owned())).unwrap().mean = None;
        }
        let (series, _, notes) = series(&results);
        assert_eq!(series[0].points.iter().position(Option::is_none), Some(2));
        assert_eq!(places(&series[0]), [0.0, 0.25, 0.5, 0.75, 0.75, 1.0]);
        assert!(!notes.iter().any(|note| note.contains("Slopes")), "{notes:?}");
    }
}

//! Words beside points, where there is room for them.
//!
//! A label is put at the first of some places around its point where it covers neither a marker, a line nor
//! another label; if there is none, it is left out: a missing label is better than an unreadable one.

use super::canvas::{Align, Canvas, Rect, Spot};
use super::lettering::{ASIDE, Lettering};
use super::projection::Plane;
use super::series;
use crate::figures::mark::{DataPoint, Join, PanelMark, PointSeries};
use crate::figures::style::Color;

/// Half the height that a label keeps free.
const HALF_HEIGHT: f64 = 12.0;
const WIDEST: f64 = 260.0;
/// Half the width that a line keeps free.
const THIN: f64 = 3.0;

/// A label that has found its place.
struct Placed {
    place: Rect,
    text: String,
    color: Color,
}

pub(super) fn paint(canvas: &dyn Canvas, plane: Plane<'_>, marks: &[PanelMark]) {
    for Placed { place, text, color } in placed(plane, marks) {
        canvas.text(&text, place.center(), Lettering { color, ..ASIDE }, Align::Center);
    }
}

fn placed(plane: Plane<'_>, marks: &[PanelMark]) -> Vec<Placed> {
    let series: Vec<&PointSeries> = marks.iter().filter_map(PanelMark::as_series).collect();
    if series.iter().flat_map(|series| series.points.iter().flatten()).all(|point| point.label.is_empty()) {
        return Vec::new();
    }
    let mut labels = Vec::new();
    let mut taken: Vec<Rect> = series.iter().flat_map(|series| obstacles(plane, series)).collect();
    for series in series {
        let gap = series::reach(series.style) + 9.0;
        for point in series.points.iter().flatten().filter(|point| !point.label.is_empty()) {
            let text = ASIDE.fitted(&point.label, WIDEST);
            let places = places(plane.spot(point.x.value, point.y.value), ASIDE.width(&text), gap);
            let free = |place: &Rect| {
                plane.plot.contains(*place) && !taken.iter().any(|other| other.overlaps(*place))
            };
            if let Some(place) = places.into_iter().find(free) {
                labels.push(Placed { place, text, color: series.style.color.mixed(Color::BLACK, 0.45) });
                taken.push(place);
            }
        }
    }
    labels
}

/// What no label may cover: markers, whiskers, and the lines between points in short pieces.
fn obstacles(plane: Plane<'_>, series: &PointSeries) -> Vec<Rect> {
    let reach = if series.style.marker.is_some() { series::reach(series.style) } else { 2.0 };
    let points: Vec<&DataPoint> = series.points.iter().flatten().collect();
    let mut rects: Vec<Rect> = Vec::new();
    for point in &points {
        let spot = plane.spot(point.x.value, point.y.value);
        let line = Rect::around(spot, THIN, THIN);
        rects.push(Rect::around(spot, reach, reach));
        if let Some((low, high)) = point.x.interval {
            rects.push(Rect { left: plane.x.at(low), right: plane.x.at(high), ..line });
        }
        if let Some((low, high)) = point.y.interval {
            rects.push(Rect { top: plane.y.at(high), bottom: plane.y.at(low), ..line });
        }
    }
    if series.join != Join::None {
        let spots = series::path(plane, &points, series.join);
        rects.extend(spots.windows(2).flat_map(|ends| pieces(ends[0], ends[1])));
    }
    rects
}

fn pieces(from: Spot, to: Spot) -> impl Iterator<Item = Rect> {
    let count = ((to.0 - from.0).hypot(to.1 - from.1) / 8.0).ceil() as u32;
    (0..count).map(move |step| {
        let share = f64::from(step) / f64::from(count);
        let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
        Rect::around((x, y), THIN, THIN)
    })
}

/// The places for a label of this width around a point, the best first.
fn places((x, y): Spot, width: f64, gap: f64) -> [Rect; 8] {
    let (aside, across) = (gap + width / 2.0, gap + HALF_HEIGHT);
    let (near_x, near_y) = (gap * 0.6 + width / 2.0, gap * 0.6 + HALF_HEIGHT);
    let offsets = [
        (aside, 0.0),
        (0.0, -across),
        (near_x, -near_y),
        (near_x, near_y),
        (0.0, across),
        (-near_x, -near_y),
        (-aside, 0.0),
        (-near_x, near_y),
    ];
    offsets.map(|(dx, dy)| Rect::around((x + dx, y + dy), width / 2.0, HALF_HEIGHT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::draw::layout::Layout;
    use crate::figures::draw::lettering;
    use crate::figures::draw::projection::Projection;
    use crate::results::sample::SampleFolder;

    #[test]
    fn labels_cover_neither_each_other_nor_the_edge() {
        lettering::register();
        for sample in
            [SampleFolder::default(), SampleFolder::five_hundred_cells(), SampleFolder::long_names()]
        {
            let figures = crate::figures::charts::figures(&sample.results());
            let (_, figure) = figures.iter().find(|(stem, _)| stem == "tradeoff").unwrap();
            let (panel, frame) = (&figure.panels[0], Layout::new(figure).frames[0]);
            let plot = frame.plot;
            let x = Projection::new(&panel.x, plot.left, plot.right);
            let y = Projection::new(&panel.y, plot.bottom, plot.top);
            let labels = placed(Plane { plot, x, y }, &panel.marks);
            assert!(labels.len() >= 3, "only {} labels", labels.len());
            for (index, label) in labels.iter().enumerate() {
                assert!(plot.contains(label.place), "{} leaves the plot", label.text);
                for other in &labels[index + 1..] {
                    assert!(!label.place.overlaps(other.place), "{} covers {}", label.text, other.text);
                }
            }
        }
    }
}

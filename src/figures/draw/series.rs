//! Points with bands, lines, whiskers and markers.

use super::canvas::{Canvas, Spot, around};
use super::projection::Plane;
use crate::figures::mark::{DataPoint, Join, PointSeries, Spread};
use crate::figures::style::{Color, Marker, Style};

pub(super) const BAND_OPACITY: f64 = 0.17;
/// Half the length of the bar at the end of a whisker.
const CAP: f64 = 5.0;
/// Series with thinner lines than this are crowds.
const CROWD: f64 = 2.0;

pub(super) fn paint(canvas: &dyn Canvas, plane: Plane<'_>, series: &PointSeries) {
    let style = series.style;
    for run in series.points.split(Option::is_none) {
        let run: Vec<&DataPoint> = run.iter().flatten().collect();
        match series.spread {
            Spread::Band if run.len() > 1 => band(canvas, plane, &run, style.color),
            _ => run.iter().for_each(|point| whiskers(canvas, plane, point, style)),
        }
        canvas.line(&path(plane, &run, series.join), style);
    }
    for point in series.points.iter().flatten() {
        marker(canvas, plane.spot(point.x.value, point.y.value), style);
    }
}

pub(super) fn path(plane: Plane<'_>, run: &[&DataPoint], join: Join) -> Vec<Spot> {
    let spots = run.iter().map(|point| plane.spot(point.x.value, point.y.value));
    match join {
        Join::None => Vec::new(),
        Join::Straight => spots.collect(),
        Join::Step => {
            let spots: Vec<Spot> = spots.collect();
            let steps = spots.windows(2).flat_map(|ends| [(ends[1].0, ends[0].1), ends[1]]);
            spots.first().copied().into_iter().chain(steps).collect()
        }
    }
}

/// Shades between the ends of the vertical intervals; a point without one narrows the band to the line.
fn band(canvas: &dyn Canvas, plane: Plane<'_>, run: &[&DataPoint], color: Color) {
    if run.iter().all(|point| point.y.interval.is_none()) {
        return;
    }
    let ends = |point: &&DataPoint| point.y.interval.unwrap_or((point.y.value, point.y.value));
    let upper = run.iter().map(|point| plane.spot(point.x.value, ends(point).1));
    let lower = run.iter().rev().map(|point| plane.spot(point.x.value, ends(point).0));
    canvas.polygon(&upper.chain(lower).collect::<Vec<_>>(), color, BAND_OPACITY);
}

fn whiskers(canvas: &dyn Canvas, plane: Plane<'_>, point: &DataPoint, style: Style) {
    // Small markers stand in crowds, where whiskers must not cover everything.
    let crowd = style.width < CROWD;
    let color = if crowd { style.color.mixed(Color::WHITE, 0.5) } else { style.color };
    let line = Style::line(color, if crowd { 1.0 } else { 2.0 });
    let cap = if crowd { 0.0 } else { CAP };
    let (x, y) = plane.spot(point.x.value, point.y.value);
    if let Some((low, high)) = point.x.interval {
        whisker(canvas, [low, high].map(|end| (plane.x.at(end), y)), (0.0, cap), line);
    }
    if let Some((low, high)) = point.y.interval {
        whisker(canvas, [low, high].map(|end| (x, plane.y.at(end))), (cap, 0.0), line);
    }
}

/// Draws a line between `ends`, and at each of them a bar that reaches so far both ways.
pub(super) fn whisker(canvas: &dyn Canvas, ends: [Spot; 2], (dx, dy): (f64, f64), style: Style) {
    canvas.line(&ends, style);
    for (x, y) in ends {
        canvas.line(&[(x - dx, y - dy), (x + dx, y + dy)], style);
    }
}

/// How far a marker reaches from its middle.
pub(super) fn reach(style: Style) -> f64 {
    2.0 * style.width + 1.5
}

/// Draws the marker of `style`, if it has one, with a white edge, so that markers in a crowd stay apart.
pub(super) fn marker(canvas: &dyn Canvas, spot: Spot, style: Style) {
    let radius = reach(style);
    for (radius, color) in [(radius * 1.25, Color::WHITE), (radius, style.color)] {
        match style.marker {
            None => {}
            Some(Marker::Circle) => canvas.disc(spot, radius, color),
            Some(Marker::Ring) if color == Color::WHITE => {}
            Some(Marker::Ring) => {
                let mut circle = around(spot, radius * 1.7, 40, 0.0);
                circle.push(circle[0]);
                canvas.line(&circle, Style::line(color, style.width));
            }
            Some(shape) => canvas.polygon(&outline(shape, spot, radius), color, 1.0),
        }
    }
}

/// The corners of a marker. The factors make all shapes about equally large.
fn outline(shape: Marker, spot: Spot, radius: f64) -> Vec<Spot> {
    let regular = |corners, turn, factor: f64| around(spot, radius * factor, corners, turn);
    match shape {
        Marker::Circle | Marker::Ring => regular(32, 0.0, 1.0),
        Marker::Square => regular(4, 0.125, 1.25),
        Marker::Diamond => regular(4, 0.0, 1.35),
        Marker::Triangle => regular(3, 0.0, 1.4),
        Marker::Wedge => regular(3, 0.5, 1.4),
        Marker::Pentagon => regular(5, 0.0, 1.15),
        Marker::Plus => {
            let (long, thin) = (radius * 1.25, radius * 0.45);
            let arm =
                [(-thin, -long), (thin, -long), (thin, -thin), (long, -thin), (long, thin), (thin, thin)];
            let mirrored = arm.map(|(x, y)| (-x, -y));
            arm.into_iter().chain(mirrored).map(|(x, y)| (spot.0 + x, spot.1 + y)).collect()
        }
    }
}

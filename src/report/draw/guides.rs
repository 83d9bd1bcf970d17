//! Marks that run across a panel: shaded spans, hairlines, levels.

use super::canvas::{Align, Canvas, Rect, Stroke};
use super::lettering::ASIDE;
use super::marks::Plane;
use super::series;
use crate::report::figure::mark::{Hairline, Level, Mark, Span};
use crate::report::figure::style::Color;

/// How much of the paper a band covers.
pub(super) const BAND_OPACITY: f64 = 0.17;
/// Bands thinner than this on paper are not drawn: the line covers them.
const THIN: f64 = 2.0;

/// Shades the spans.
pub(super) fn paint_spans(canvas: &Canvas<'_>, plane: Plane<'_>, marks: &[Mark]) {
    for span in marks.iter().filter_map(Mark::as_span) {
        let left = plane.x.at(span.from);
        // A fault of a moment is still seen.
        let right = plane.x.at(span.to).max(left + 2.0);
        canvas.rect(Rect { left, right, ..plane.plot }, span.color, 1.0);
    }
}

/// Writes the names of the spans at the top, each up to where the next begins.
pub(super) fn paint_span_names(canvas: &Canvas<'_>, plane: Plane<'_>, marks: &[Mark]) {
    let spans: Vec<&Span> = marks.iter().filter_map(Mark::as_span).collect();
    let plot = plane.plot;
    for (index, span) in spans.iter().enumerate() {
        let left = plane.x.at(span.from) + 6.0;
        let later = spans[index + 1..].iter().map(|next| plane.x.at(next.from));
        let room = later.filter(|next| *next > left).fold(plot.right, f64::min) - left - 6.0;
        let name = ASIDE.fitted(&span.label, room);
        // The grid would cross the name out.
        let right = (left + ASIDE.width(&name)).min(plane.x.at(span.to) - 1.0);
        if !name.is_empty() && right > left {
            canvas.rect(Rect { left, right, top: plot.top + 4.0, bottom: plot.top + 30.0 }, span.color, 1.0);
        }
        canvas.text(&name, (left, plot.top + 17.0), ASIDE, Align::Left);
    }
}

pub(super) fn paint_hairline(canvas: &Canvas<'_>, plane: Plane<'_>, hairline: &Hairline) {
    let plot = plane.plot;
    let ends = if hairline.upright {
        let at = plane.x.at(hairline.at);
        [(at, plot.top), (at, plot.bottom)]
    } else {
        let at = plane.y.at(hairline.at);
        [(plot.left, at), (plot.right, at)]
    };
    canvas.line(&ends, Stroke::solid(Color::FAINT, 2.0));
}

pub(super) fn paint_level(canvas: &Canvas<'_>, plane: Plane<'_>, level: &Level) {
    let plot = plane.plot;
    if let Some((low, high)) = level.value.interval {
        let band = Rect { top: plane.y.at(high), bottom: plane.y.at(low), ..plot };
        if band.height() > THIN {
            canvas.rect(band, level.style.color, BAND_OPACITY);
        }
    }
    let at = plane.y.at(level.value.value);
    let stroke = Stroke { color: level.style.color, width: level.style.width, dash: level.style.dash };
    canvas.line(&[(plot.left, at), (plot.right, at)], stroke);
    if let Some(marker) = level.style.marker {
        series::marker(canvas, marker, (plot.right, at), level.style);
    }
}

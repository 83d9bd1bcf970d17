//! Marks that run across a panel: shaded spans, hairlines, levels.

use super::canvas::{Align, Canvas, Rect};
use super::lettering::ASIDE;
use super::projection::Plane;
use super::series::{self, BAND_OPACITY};
use crate::figures::mark::{Hairline, PlotValue, ShadedSpan};
use crate::figures::style::{Color, Dash, Style};

pub(super) const HAIRLINE_NAMES: f64 = 26.0;
/// Spans narrower than this on paper are drawn without their ends, which would fill them.
const NARROW: f64 = 6.0;
const STRIPE: f64 = 8.0;
/// Bands thinner than this on paper are not drawn: the line covers them.
const THIN: f64 = 2.0;

pub(super) fn paint_spans(canvas: &dyn Canvas, plane: Plane<'_>, spans: &[ShadedSpan]) {
    for span in spans {
        let left = plane.x.at(span.from);
        // A fault of a moment is still seen.
        let right = plane.x.at(span.to).max(left + 2.0);
        canvas.rect(Rect { left, right, ..plane.plot }, span.color, 1.0);
    }
    let bounded: Vec<&ShadedSpan> = spans.iter().filter(|span| span.has_ends).collect();
    for (index, span) in bounded.iter().enumerate() {
        for cover in bounded[index + 1..].iter().filter(|cover| cover.color != span.color) {
            let (left, right) = (plane.x.at(span.from.max(cover.from)), plane.x.at(span.to.min(cover.to)));
            if right - left >= NARROW {
                stripe(canvas, Rect { left, right, ..plane.plot }, span.color);
            }
        }
    }
    for span in bounded {
        let (left, right) = (plane.x.at(span.from), plane.x.at(span.to));
        if right - left >= NARROW {
            let style = Style::line(span.color.mixed(Color::INK, 0.3), 2.0);
            for at in [left, right] {
                canvas.line(&[(at, plane.plot.top), (at, plane.plot.bottom)], style);
            }
        }
    }
}

/// Shades every other stripe of `rect`: what is covered by another shade is still seen.
fn stripe(canvas: &dyn Canvas, rect: Rect, color: Color) {
    let mut top = rect.top;
    while top < rect.bottom {
        let bottom = (top + STRIPE).min(rect.bottom);
        canvas.rect(Rect { top, bottom, ..rect }, color, 1.0);
        top += 2.0 * STRIPE;
    }
}

/// Writes the names of the spans at the top, up to where the next begins; those that begin together beside each other.
pub(super) fn paint_span_names(canvas: &dyn Canvas, plane: Plane<'_>, spans: &[ShadedSpan]) {
    let plot = plane.plot;
    let mut spans: Vec<&ShadedSpan> = spans.iter().filter(|span| !span.label.is_empty()).collect();
    spans.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut free = f64::NEG_INFINITY;
    for (index, span) in spans.iter().enumerate() {
        let begin = plane.x.at(span.from) + 6.0;
        let left = begin.max(free);
        let later = spans[index + 1..].iter().map(|next| plane.x.at(next.from));
        let room = later.filter(|next| *next > begin).fold(plot.right, f64::min) - left - 6.0;
        let name = ASIDE.fitted(&span.label, room);
        if name.is_empty() {
            continue;
        }
        // The grid would cross the name out.
        let right = (left + ASIDE.width(&name)).min(plane.x.at(span.to) - 1.0);
        if right > left {
            canvas.rect(Rect { left, right, top: plot.top + 4.0, bottom: plot.top + 30.0 }, span.color, 1.0);
        }
        canvas.text(&name, (left, plot.top + 17.0), ASIDE, Align::Left);
        free = left + ASIDE.width(&name) + 10.0;
    }
}

pub(super) fn paint_hairline(canvas: &dyn Canvas, plane: Plane<'_>, hairline: &Hairline) {
    let plot = plane.plot;
    let ends = if hairline.upright {
        let at = plane.x.at(hairline.at);
        [(at, plot.top), (at, plot.bottom)]
    } else {
        let at = plane.y.at(hairline.at);
        [(plot.left, at), (plot.right, at)]
    };
    // One of many with names must not be taken for a line of data.
    let dash = if hairline.label.is_empty() { Dash::Solid } else { Dash::Dotted };
    canvas.line(&ends, Style { dash, ..Style::line(Color::FAINT, 2.0) });
}

/// Writes the names of upright hairlines above the panel, each where the one before leaves room.
pub(super) fn paint_hairline_names(canvas: &dyn Canvas, plane: Plane<'_>, hairlines: &[Hairline]) {
    let mut free = f64::NEG_INFINITY;
    for hairline in hairlines.iter().filter(|hairline| hairline.upright) {
        let (at, width) = (plane.x.at(hairline.at), ASIDE.width(&hairline.label));
        if at - width / 2.0 >= free {
            canvas.text(&hairline.label, (at, plane.plot.top - HAIRLINE_NAMES / 2.0), ASIDE, Align::Center);
            free = at + width / 2.0 + 8.0;
        }
    }
}

pub(super) fn paint_level(canvas: &dyn Canvas, plane: Plane<'_>, style: Style, level: PlotValue) {
    let plot = plane.plot;
    if let Some((low, high)) = level.interval {
        let band = Rect { top: plane.y.at(high), bottom: plane.y.at(low), ..plot };
        if band.height() > THIN {
            canvas.rect(band, style.color, BAND_OPACITY);
        }
    }
    let at = plane.y.at(level.value);
    canvas.line(&[(plot.left, at), (plot.right, at)], style);
    series::marker(canvas, (plot.right, at), style);
}

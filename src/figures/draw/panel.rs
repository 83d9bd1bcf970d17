//! A panel from back to front: shading, grid, axes, marks, words.

use super::canvas::{Align, Canvas, Rect};
use super::layout::{self, Frame, TICK_GAP};
use super::lettering::{LABEL, Lettering, PANEL, TICK};
use super::projection::{Plane, Projection};
use super::{guides, labels, series, tables};
use crate::figures::mark::PanelMark;
use crate::figures::style::{Color, Style};
use crate::figures::{Panel, PanelAxis, Scale};

const GRID: Color = Color(228, 228, 228);
const RULE: Color = Color(120, 120, 120);
/// The smallest size that an axis label is shrunk to before it is cut.
const SMALLEST_LABEL: f64 = 17.0;

pub(super) fn paint_panel(canvas: &dyn Canvas, panel: &Panel, frame: Frame) {
    let plot = frame.plot;
    let x = Projection::new(&panel.x, plot.left, plot.right);
    let y = Projection::new(&panel.y, plot.bottom, plot.top);
    let plane = Plane { plot, x, y };
    guides::paint_spans(canvas, plane, &panel.spans);
    paint_grid(canvas, plot, x, y);
    guides::paint_span_names(canvas, plane, &panel.spans);
    paint_axes(canvas, frame, x, y);
    panel.hairlines.iter().for_each(|hairline| guides::paint_hairline(canvas, plane, hairline));
    for mark in &panel.marks {
        match mark {
            PanelMark::Series(series) => series::paint(canvas, plane, series),
            PanelMark::Level(style, value) => guides::paint_level(canvas, plane, *style, *value),
            PanelMark::Bars(bars) => tables::paint_bars(canvas, plane, bars),
            PanelMark::Heat(cells) => tables::paint_heat(canvas, plane, cells),
        }
    }
    labels::paint(canvas, plane, &panel.marks);
    guides::paint_hairline_names(canvas, plane, &panel.hairlines);
    paint_title(canvas, panel, plot);
}

fn paint_title(canvas: &dyn Canvas, panel: &Panel, plot: Rect) {
    let y = plot.top - 24.0 - layout::hairline_names(panel);
    let mut left = plot.left;
    if let Some(style) = panel.badge {
        let reach = series::reach(style);
        series::marker(canvas, (left + reach, y), style);
        left += 2.0 * reach + 10.0;
    }
    let title = PANEL.fitted(&panel.title, plot.right + 8.0 - left);
    canvas.text(&title, (left, y), PANEL, Align::Left);
}

/// Draws what lies behind the marks: one thin line per tick of a numeric axis.
fn paint_grid(canvas: &dyn Canvas, plot: Rect, x: Projection<'_>, y: Projection<'_>) {
    let style = Style::line(GRID, 1.5);
    let is_number = |axis: &Projection<'_>| !matches!(axis.axis.scale, Scale::Category(_));
    for tick in Some(x).filter(is_number).into_iter().flat_map(Projection::ticks) {
        let at = x.at(tick.value);
        canvas.line(&[(at, plot.top), (at, plot.bottom)], style);
    }
    for tick in Some(y).filter(is_number).into_iter().flat_map(Projection::ticks) {
        let at = y.at(tick.value);
        canvas.line(&[(plot.left, at), (plot.right, at)], style);
    }
}

/// Draws what stands around the marks.
fn paint_axes(canvas: &dyn Canvas, frame: Frame, x: Projection<'_>, y: Projection<'_>) {
    let plot = frame.plot;
    canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], Style::line(RULE, 2.0));
    if matches!(y.axis.scale, Scale::Category(_)) {
        canvas.line(&[(plot.left, plot.top), (plot.left, plot.bottom)], Style::line(RULE, 2.0));
    }
    if x.axis.shown {
        x_texts(canvas, plot, x);
    }
    if y.axis.shown {
        y_texts(canvas, frame, y);
    }
}

fn x_texts(canvas: &dyn Canvas, plot: Rect, x: Projection<'_>) {
    let ticks = x.ticks();
    let room = layout::slot(x.axis, plot.width()) - 8.0;
    let fitted: Vec<String> = ticks.iter().map(|tick| TICK.fitted(&tick.text, room)).collect();
    // Names cut to a letter or two say nothing: then none is better.
    let readable =
        fitted.iter().zip(&ticks).all(|(text, tick)| text.chars().count() >= 4 || *text == tick.text);
    for (text, tick) in fitted.iter().zip(&ticks).filter(|_| readable) {
        canvas.text(text, (x.at(tick.value), plot.bottom + 24.0), TICK, Align::Center);
    }
    let (label, lettering) = label(x.axis, plot.width() + 40.0);
    let below = if readable { 60.0 } else { 30.0 };
    canvas.text(&label, (plot.center().0, plot.bottom + below), lettering, Align::Center);
}

fn y_texts(canvas: &dyn Canvas, frame: Frame, y: Projection<'_>) {
    let Frame { plot, y_room } = frame;
    for tick in y.ticks() {
        let text = TICK.fitted(&tick.text, y_room);
        canvas.text(&text, (plot.left - TICK_GAP, y.at(tick.value)), TICK, Align::Right);
    }
    let (label, lettering) = label(y.axis, plot.height() + 16.0);
    let spot = (plot.left - TICK_GAP - y_room - 26.0, plot.center().1);
    canvas.text(&label, spot, lettering, Align::Upwards);
}

/// The axis label in the largest size that fits into `room`.
fn label(axis: &PanelAxis, room: f64) -> (String, Lettering) {
    let size = (LABEL.size * room / LABEL.width(&axis.label).max(1.0)).clamp(SMALLEST_LABEL, LABEL.size);
    let lettering = Lettering { size, ..LABEL };
    (lettering.fitted(&axis.label, room), lettering)
}

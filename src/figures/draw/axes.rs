//! Grid, ticks and axis labels of a panel.

use super::canvas::Canvas;
use super::layout::{self, Frame, TICK_GAP};
use super::lettering::{LABEL, Lettering, TICK};
use super::projection::{AxisTick, Projection};
use super::shapes::{Align, Rect, Stroke};
use crate::figures::style::Color;
use crate::figures::{PanelAxis, Scale};

const GRID: Color = Color(228, 228, 228);
const RULE: Color = Color(120, 120, 120);
/// The smallest size that an axis label is shrunk to before it is cut.
const SMALLEST_LABEL: f64 = 17.0;

/// Draws what lies behind the marks: one thin line per tick of a numeric axis.
pub(super) fn paint_grid(canvas: &Canvas<'_>, plot: Rect, x: Projection<'_>, y: Projection<'_>) {
    let stroke = Stroke::solid(GRID, 1.5);
    for tick in numbers(x, layout::x_spacing(plot.width())) {
        let at = x.at(tick.value);
        canvas.line(&[(at, plot.top), (at, plot.bottom)], stroke);
    }
    for tick in numbers(y, layout::y_spacing(plot.height())) {
        let at = y.at(tick.value);
        canvas.line(&[(plot.left, at), (plot.right, at)], stroke);
    }
}

/// Draws what stands around the marks.
pub(super) fn paint_axes(canvas: &Canvas<'_>, frame: Frame, x: Projection<'_>, y: Projection<'_>) {
    let plot = frame.plot;
    canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], Stroke::solid(RULE, 2.0));
    if matches!(y.axis.scale, Scale::Category(_)) {
        canvas.line(&[(plot.left, plot.top), (plot.left, plot.bottom)], Stroke::solid(RULE, 2.0));
    }
    if x.axis.shown {
        x_texts(canvas, plot, x);
    }
    if y.axis.shown {
        y_texts(canvas, frame, y);
    }
}

fn numbers(projection: Projection<'_>, spacing: f64) -> Vec<AxisTick> {
    match projection.axis.scale {
        Scale::Category(_) => Vec::new(),
        Scale::Linear | Scale::Log => projection.ticks(spacing),
    }
}

fn x_texts(canvas: &Canvas<'_>, plot: Rect, x: Projection<'_>) {
    let ticks = x.ticks(layout::x_spacing(plot.width()));
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

fn y_texts(canvas: &Canvas<'_>, frame: Frame, y: Projection<'_>) {
    let Frame { plot, y_room } = frame;
    for tick in y.ticks(layout::y_spacing(plot.height())) {
        let text = TICK.fitted(&tick.text, y_room);
        canvas.text(&text, (plot.left - TICK_GAP, y.at(tick.value)), TICK, Align::Right);
    }
    let (label, lettering) = label(y.axis, plot.height() + 16.0);
    canvas.text_upwards(&label, (plot.left - TICK_GAP - y_room - 26.0, plot.center().1), lettering);
}

/// The axis label in the largest size that fits into `room`.
fn label(axis: &PanelAxis, room: f64) -> (String, Lettering) {
    let size = (LABEL.size * room / LABEL.width(&axis.label).max(1.0)).clamp(SMALLEST_LABEL, LABEL.size);
    let lettering = LABEL.of_size(size);
    (lettering.fitted(&axis.label, room), lettering)
}

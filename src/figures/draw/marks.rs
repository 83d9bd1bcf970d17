//! A panel from back to front: shading, grid, marks, frame, words.

use super::axes;
use super::canvas::Canvas;
use super::guides;
use super::labels;
use super::layout::{self, Frame};
use super::lettering::PANEL;
use super::projection::{Plane, Projection};
use super::series;
use super::shapes::{Align, Rect};
use super::tables;
use crate::figures::Panel;
use crate::figures::mark::PanelMark;

pub(super) fn paint_panel(canvas: &Canvas<'_>, panel: &Panel, frame: Frame) {
    let plot = frame.plot;
    let x = Projection::new(&panel.x, plot.left, plot.right);
    let y = Projection::new(&panel.y, plot.bottom, plot.top);
    let plane = Plane { plot, x, y };
    guides::paint_spans(canvas, plane, &panel.marks);
    axes::paint_grid(canvas, plot, x, y);
    guides::paint_span_names(canvas, plane, &panel.marks);
    axes::paint_axes(canvas, frame, x, y);
    for mark in &panel.marks {
        match mark {
            PanelMark::Span(_) => {}
            PanelMark::Hairline(hairline) => guides::paint_hairline(canvas, plane, hairline),
            PanelMark::Series(series) => series::paint(canvas, plane, series),
            PanelMark::Level(level) => guides::paint_level(canvas, plane, level),
            PanelMark::Bars(bars) => tables::paint_bars(canvas, plane, bars),
            PanelMark::Heat(cells) => tables::paint_heat(canvas, plane, cells),
        }
    }
    labels::paint(canvas, plane, &panel.marks);
    guides::paint_hairline_names(canvas, plane, &panel.marks);
    paint_title(canvas, panel, plot);
}

fn paint_title(canvas: &Canvas<'_>, panel: &Panel, plot: Rect) {
    let y = plot.top - 24.0 - layout::hairline_names(panel);
    let mut left = plot.left;
    if let Some((style, marker)) = panel.badge.and_then(|style| Some((style, style.marker?))) {
        let reach = series::reach(style);
        series::marker(canvas, marker, (left + reach, y), style);
        left += 2.0 * reach + 10.0;
    }
    let title = PANEL.fitted(&panel.title, plot.right + 8.0 - left);
    canvas.text(&title, (left, y), PANEL, Align::Left);
}

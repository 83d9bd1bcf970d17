//! Marks at the places of category axes: bars and heat maps.

use super::canvas::{Align, Canvas, Rect};
use super::layout;
use super::lettering::{ASIDE, LABEL, Lettering, TICK};
use super::projection::Plane;
use super::series::whisker;
use crate::figures::mark::{Bar, HeatCell};
use crate::figures::style::{Color, Style};

/// The share of its slot that a bar fills.
const FILL: f64 = 0.6;
const THICKEST_BAR: f64 = 64.0;
const THICKEST_WHISKER: f64 = 2.5;
const SEAM: f64 = 2.0;
/// The darkest shade, of value 1.
const DARKEST: Color = Color(8, 64, 129);
/// From this shade on, text is white.
const DARK: f64 = 0.5;
/// Numbers smaller than this are not written.
const SMALLEST_NUMBER: f64 = 11.0;

pub(super) fn paint_bars(canvas: &dyn Canvas, plane: Plane<'_>, bars: &[Bar]) {
    let thickness = (layout::slot(plane.y.axis, plane.plot.height()) * FILL).min(THICKEST_BAR);
    let lettering = Lettering { size: TICK.size.min(thickness), ..TICK };
    for bar in bars {
        let middle = plane.y.at(bar.place);
        let Some(value) = bar.value else {
            canvas.text("no value", (plane.plot.left + 12.0, middle), ASIDE, Align::Left);
            continue;
        };
        let end = plane.x.at(value.value);
        let (top, bottom) = (middle - thickness / 2.0, middle + thickness / 2.0);
        canvas.rect(Rect { left: plane.plot.left, top, right: end, bottom }, bar.color, 1.0);
        let mut right = end;
        if let Some((low, high)) = value.interval {
            let style = Style::line(Color::INK, THICKEST_WHISKER.min(thickness / 4.0));
            let ends = [low, high].map(|end| (plane.x.at(end), middle));
            whisker(canvas, ends, (0.0, thickness / 5.0), style);
            right = right.max(plane.x.at(high));
        }
        canvas.text(&plane.x.axis.unit.text(value.value), (right + 12.0, middle), lettering, Align::Left);
    }
}

pub(super) fn paint_heat(canvas: &dyn Canvas, plane: Plane<'_>, cells: &[HeatCell]) {
    let width = layout::slot(plane.x.axis, plane.plot.width());
    let height = layout::slot(plane.y.axis, plane.plot.height());
    let widest = cells.iter().map(|cell| LABEL.width(&cell.text)).fold(1.0, f64::max);
    let size = (LABEL.size * (width - 10.0) / widest).min(height * 0.45).min(LABEL.size + 4.0);
    for cell in cells {
        let (x, y) = plane.spot(cell.column, cell.row);
        let rect = Rect::around((x, y), width / 2.0 - SEAM, height / 2.0 - SEAM);
        let shade = cell.shade.unwrap_or(0.0).clamp(0.0, 1.0);
        canvas.rect(rect, Color(244, 247, 251).mixed(DARKEST, shade), 1.0);
        if size >= SMALLEST_NUMBER {
            let color = if shade > DARK { Color::WHITE } else { Color::INK };
            canvas.text(&cell.text, (x, y), Lettering { size, color, ..LABEL }, Align::Center);
        }
    }
}

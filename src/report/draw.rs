//! Figures to pixels: the only place that names plotters.
//!
//! Everything is drawn with polygons and text of an embedded font, at a multiple of the final size that is then
//! averaged down. So the same figure gives the same bytes on every machine.

mod axes;
mod canvas;
mod encode;
mod guides;
mod heading;
mod labels;
mod layout;
mod lettering;
mod marks;
mod projection;
mod series;
mod tables;

use super::figure::Figure;
use canvas::Canvas;
use layout::Layout;

/// The figure as a PNG file.
pub fn png(figure: &Figure) -> Vec<u8> {
    lettering::register();
    let mut pixels = canvas::blank(figure.width, figure.height);
    paint(figure, &Canvas::new(&mut pixels, figure.width, figure.height));
    encode::png(&encode::averaged(&pixels, figure.width), figure.width, figure.height)
}

fn paint(figure: &Figure, canvas: &Canvas<'_>) {
    let layout = Layout::new(figure);
    heading::paint(canvas, figure, &layout);
    for (panel, frame) in figure.panels.iter().zip(&layout.frames) {
        marks::paint_panel(canvas, panel, *frame);
    }
}

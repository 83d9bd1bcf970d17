//! Title, subtitle, legend and remarks: everything around the panels.

use super::canvas::{Align, Canvas, Rect, Spot};
use super::layout::{Layout, MARGIN, SAMPLE};
use super::lettering::{LABEL, NOTE, SUBTITLE, TITLE};
use super::series;
use crate::figures::{Figure, KeySample};

pub(super) fn paint(canvas: &dyn Canvas, figure: &Figure, layout: &Layout) {
    for (text, lettering, y) in [(&figure.title, TITLE, 56.0), (&figure.subtitle, SUBTITLE, 100.0)] {
        let text = lettering.fitted(text, f64::from(figure.width) - 2.0 * MARGIN);
        canvas.text(&text, (MARGIN, y), lettering, Align::Left);
    }
    for (key, line) in figure.legend.iter().zip(&layout.legend) {
        sample(canvas, &key.sample, line.spot);
        canvas.text(&line.text, (line.spot.0 + SAMPLE, line.spot.1), LABEL, Align::Left);
    }
    for note in &layout.notes {
        canvas.text(&note.text, note.spot, NOTE, Align::Left);
    }
}

fn sample(canvas: &dyn Canvas, sample: &KeySample, (x, y): Spot) {
    let middle = (x + (SAMPLE - 12.0) / 2.0, y);
    match sample {
        KeySample::Line(style) => {
            canvas.line(&[(x, y), (x + SAMPLE - 12.0, y)], *style);
            series::marker(canvas, middle, *style);
        }
        KeySample::Marker(style) => series::marker(canvas, middle, *style),
        KeySample::Swatch(color) => canvas.rect(Rect::around(middle, 17.0, 11.0), *color, 1.0),
    }
}

//! Figures to images: the only place that names plotters.
//!
//! One drawing code fills either kind of paper. Pixels are drawn with polygons and text of an embedded font, at a
//! multiple of the final size that is then averaged down; shapes are written with a tenth of a pixel. So the same figure
//! gives the same bytes on every machine.

mod canvas;
mod encode;
mod guides;
mod labels;
mod layout;
mod lettering;
mod panel;
mod pixels;
mod projection;
mod series;
mod tables;
mod vector;

use super::{Figure, KeySample};
use canvas::{Align, Canvas, Rect, Spot};
use layout::{Layout, MARGIN, SAMPLE};
use lettering::{LABEL, NOTE, SUBTITLE, TITLE};
use pixels::Pixels;
use vector::Drawing;

/// What of a figure its caption says already: the title above this line is left out.
pub(super) const BELOW_TITLE: u32 = 76;

/// A kind of image file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes and text.
    Svg,
}

impl Format {
    /// The end of its files' names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }

    /// The figure as a file of this kind.
    pub fn draw(self, figure: &Figure) -> Vec<u8> {
        match self {
            Self::Png => png(figure),
            Self::Svg => svg(figure, 0).into_bytes(),
        }
    }
}

/// The figure as a PNG file.
pub fn png(figure: &Figure) -> Vec<u8> {
    lettering::register();
    let mut pixels = Vec::new();
    paint(figure, &Pixels::new(&mut pixels, figure.width, figure.height));
    encode::png(&encode::averaged(&pixels, figure.width), figure.width, figure.height)
}

/// The part of the figure below `top` pixels as an SVG file, or of a page if there is something above it.
pub fn svg(figure: &Figure, top: u32) -> String {
    lettering::register();
    let drawing = Drawing::default();
    paint(figure, &drawing);
    drawing.svg(figure.width, top, figure.height, &figure.in_words())
}

fn paint(figure: &Figure, canvas: &dyn Canvas) {
    let layout = Layout::new(figure);
    paint_heading(canvas, figure, &layout);
    for (panel, frame) in figure.panels.iter().zip(&layout.frames) {
        panel::paint_panel(canvas, panel, *frame);
    }
}

/// Draws everything around the panels: title, subtitle, legend and remarks.
fn paint_heading(canvas: &dyn Canvas, figure: &Figure, layout: &Layout) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PerCell;
    use crate::figures::charts;
    use crate::figures::style::Color;
    use crate::results::sample::{SampleFolder, fault};

    /// The pixels of a PNG file and its size.
    fn decoded(bytes: &[u8]) -> (Vec<Color>, u32, u32) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let colors = pixels.chunks_exact(3).map(|pixel| Color(pixel[0], pixel[1], pixel[2])).collect();
        (colors, info.width, info.height)
    }

    #[test]
    fn images_have_the_right_size_and_show_every_arm_in_its_colour() {
        for (stem, figure) in charts::figures(&SampleFolder::default().results()).iter().take(4) {
            let (pixels, width, height) = decoded(&png(figure));
            assert_eq!((width, height), (figure.width, figure.height), "{stem}");
            for color in [Color::GREY, Color::BLUE, Color::ORANGE] {
                let count = pixels.iter().filter(|pixel| **pixel == color).count();
                assert!(count > 200, "{stem}: {color:?} has {count} pixels");
            }
            let paper = pixels.iter().filter(|pixel| **pixel == Color::WHITE).count();
            assert!(paper * 2 > pixels.len(), "{stem}: mostly paper");
        }
    }

    #[test]
    fn a_fault_that_another_covers_is_seen() {
        let mut results = SampleFolder::one_cell().results();
        let fault = |at, kind| fault(kind, "", (at, Some(at + 360)));
        let faults = vec![fault(480, "silent"), fault(480, "refuse"), fault(1200, "silent")];
        results.description.faults = PerCell::uniform(faults);
        let figures = charts::figures(&results);
        let (_, figure) = figures.iter().find(|(stem, _)| stem == "timeline").unwrap();
        let spans: Vec<_> = figure.panels[0].spans.iter().collect();
        let (pixels, ..) = decoded(&png(figure));
        let count = |color: Color| pixels.iter().filter(|pixel| **pixel == color).count();
        let (silent, refuse) = (count(spans[0].color), count(spans[1].color));
        assert_ne!(spans[0].color, spans[1].color);
        // One of the two silent faults is half covered, and half of the other one's stripes are left.
        assert!(refuse > 20_000 && silent > 2 * refuse, "{silent} and {refuse} pixels");
    }

    #[test]
    fn shapes_are_well_formed_and_text_stays_text() {
        for sample in [
            SampleFolder::default(),
            SampleFolder { arms: vec!["<b>&".to_owned()], ..SampleFolder::no_axis() },
        ] {
            for (stem, figure) in charts::figures(&sample.results()) {
                let svg = svg(&figure, 0);
                let open = ["svg", "text"].map(|name| svg.matches(&format!("<{name} ")).count());
                assert_eq!(open, ["svg", "text"].map(|name| svg.matches(&format!("</{name}>")).count()));
                let elements = svg.matches('<').count();
                assert_eq!(elements, svg.matches('>').count(), "{stem}: names are escaped");
                assert_eq!(elements - 2 * open[0] - 2 * open[1], svg.matches("/>").count(), "{stem}");
                assert!(svg.contains(&format!(">{}</text>", figure.panels[0].x.label)), "{stem}");
                assert!(!svg.contains("NaN") && !svg.contains("<b>"), "{stem}");
                assert_eq!(svg, super::svg(&figure, 0), "{stem}");
                assert!(
                    super::svg(&figure, BELOW_TITLE).contains(&format!("viewBox=\"0 76 {} ", figure.width))
                );
            }
        }
    }

    #[test]
    fn edges_of_the_paper_stay_white() {
        for sample in [SampleFolder::long_names(), SampleFolder::many_arms()] {
            for (stem, figure) in charts::figures(&sample.results()) {
                let (pixels, width, height) = decoded(&png(&figure));
                let at = |x: u32, y: u32| pixels[(y * width + x) as usize];
                let edge = (0..width).flat_map(|x| [(x, 0), (x, height - 1)]);
                let edge = edge.chain((0..height).flat_map(|y| [(0, y), (width - 1, y)]));
                assert!(edge.into_iter().all(|(x, y)| at(x, y) == Color::WHITE), "{stem} is cut off");
            }
        }
    }
}

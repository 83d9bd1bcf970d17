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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts;
    use crate::report::figure::style::Color;
    use crate::report::results::sample::Sample;

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
        for (stem, figure) in charts::figures(&Sample::default().results()).iter().take(4) {
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
    fn edges_of_the_paper_stay_white() {
        for sample in [Sample::long_names(), Sample::many_arms()] {
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

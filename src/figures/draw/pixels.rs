//! Paper of pixels: the only place that names plotters' drawing.
//!
//! Everything is drawn at a multiple of the final size that is then averaged down.

use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Polygon, Text};
use plotters::style::{Color as _, FontTransform, RGBColor};

use super::canvas::{Align, Canvas, Spot, around, pattern};
use super::encode::OVERSAMPLING;
use super::lettering::Lettering;
use crate::figures::style::{Color, Style};

const SCALE: f64 = OVERSAMPLING as f64;

pub(super) struct Pixels<'a> {
    area: DrawingArea<BitMapBackend<'a>, Shift>,
}

impl<'a> Pixels<'a> {
    /// White paper for a finished image of this size, which is drawn into `pixels`.
    pub(super) fn new(pixels: &'a mut Vec<u8>, width: u32, height: u32) -> Self {
        let size = (width * OVERSAMPLING, height * OVERSAMPLING);
        *pixels = vec![255; (size.0 * size.1 * 3) as usize];
        Self { area: BitMapBackend::with_buffer(pixels, size).into_drawing_area() }
    }

    fn solid(&self, spots: &[Spot], style: Style) {
        // The rasterizer fills the pixels at both edges of a polygon, one more than its width.
        let half = (style.width - 1.0 / SCALE) / 2.0;
        for ends in spots.windows(2) {
            let (dx, dy) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            let length = dx.hypot(dy);
            if length < 1e-9 {
                continue;
            }
            let (nx, ny) = (-dy / length * half, dx / length * half);
            let [(ax, ay), (bx, by)] = [ends[0], ends[1]];
            let corners = [(ax + nx, ay + ny), (bx + nx, by + ny), (bx - nx, by - ny), (ax - nx, ay - ny)];
            self.polygon(&corners, style.color, 1.0);
        }
        for corner in spots.windows(3).filter(|corner| bends(corner)) {
            self.polygon(&around(corner[1], half, 8, 0.0), style.color, 1.0);
        }
    }
}

impl Canvas for Pixels<'_> {
    fn polygon(&self, corners: &[Spot], color: Color, opacity: f64) {
        let corners: Vec<_> = corners.iter().copied().map(device).collect();
        let polygon = Polygon::new(corners, rgb(color).mix(opacity));
        self.area.draw(&polygon).expect("drawing into memory can't fail");
    }

    fn line(&self, spots: &[Spot], style: Style) {
        match pattern(style.dash) {
            [] => self.solid(spots, style),
            pattern => dashes(spots, pattern, style.width).iter().for_each(|dash| self.solid(dash, style)),
        }
    }

    fn write(&self, text: &str, (x, y): Spot, lettering: Lettering, align: Align) {
        let width = lettering.width(text);
        let (x, y) = device(match align {
            Align::Left => (x, y),
            Align::Center => (x - width / 2.0, y),
            Align::Right => (x - width, y),
            Align::Upwards => (x, y + width / 2.0),
        });
        // Plotters puts the base line half a text size below the spot of the text.
        let half = (lettering.device_size() / 2.0) as i32;
        let (spot, turn) = match align {
            Align::Upwards => ((x - half, y), FontTransform::Rotate270),
            _ => ((x, y - half), FontTransform::None),
        };
        let style = lettering.font().transform(turn).color(&rgb(lettering.color));
        self.area.draw(&Text::new(text, spot, style)).expect("the font is registered");
    }
}

fn device((x, y): Spot) -> (i32, i32) {
    ((x * SCALE).round() as i32, (y * SCALE).round() as i32)
}

fn rgb(color: Color) -> RGBColor {
    RGBColor(color.0, color.1, color.2)
}

/// Whether a line turns so much at the middle spot that its corner shows.
fn bends(corner: &[Spot]) -> bool {
    let angle = |a: Spot, b: Spot| (b.1 - a.1).atan2(b.0 - a.0);
    let turn = (angle(corner[0], corner[1]) - angle(corner[1], corner[2])).abs();
    turn > 0.3 && turn < std::f64::consts::TAU - 0.3
}

/// The pieces of the line through `spots` that the pattern leaves visible.
fn dashes(spots: &[Spot], pattern: &[f64], unit: f64) -> Vec<Vec<Spot>> {
    let mut pieces = Vec::new();
    let (mut phase, mut left) = (0, pattern[0] * unit);
    let mut piece: Vec<Spot> = spots.first().copied().into_iter().collect();
    for ends in spots.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut walked = 0.0;
        while length - walked > left {
            walked += left;
            let share = walked / length;
            let here = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            piece.push(here);
            if phase % 2 == 0 {
                pieces.push(std::mem::take(&mut piece));
            }
            piece = vec![here];
            phase = (phase + 1) % pattern.len();
            left = pattern[phase] * unit;
        }
        left -= length - walked;
        piece.push(to);
    }
    if phase % 2 == 0 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners() {
        let spots = [(0.0, 0.0), (3.0, 0.0), (3.0, 3.0)];
        let pieces = dashes(&spots, &[4.0, 1.0], 1.0);
        assert_eq!(pieces, [vec![(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)], vec![(3.0, 2.0), (3.0, 3.0)]]);
    }
}

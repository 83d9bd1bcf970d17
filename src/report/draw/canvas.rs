//! The few things that can be put on paper, in pixels of the finished image.

use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Polygon, Text};
use plotters::style::{Color as _, FontTransform, RGBColor};

use super::lettering::Lettering;
use crate::report::figure::style::{Color, Dash};

/// How many drawn pixels make one finished pixel, each way.
pub(super) const OVERSAMPLING: u32 = 3;
const SCALE: f64 = OVERSAMPLING as f64;

/// A place on the paper: to the right and down from the top left, in finished pixels.
pub(super) type Spot = (f64, f64);

/// An upright rectangle on the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    pub(super) fn width(self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn center(self) -> Spot {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stroke {
    pub(super) color: Color,
    pub(super) width: f64,
    pub(super) dash: Dash,
}

impl Stroke {
    pub(super) fn solid(color: Color, width: f64) -> Self {
        Self { color, width, dash: Dash::Solid }
    }
}

/// Where a text stands relative to its spot; vertically its spot is always the middle of a capital letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Center,
    Right,
}

/// White pixels for a finished image of this size.
pub(super) fn blank(width: u32, height: u32) -> Vec<u8> {
    vec![255; (width * height * OVERSAMPLING * OVERSAMPLING * 3) as usize]
}

/// Paper.
pub(super) struct Canvas<'a> {
    area: DrawingArea<BitMapBackend<'a>, Shift>,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(pixels: &'a mut [u8], width: u32, height: u32) -> Self {
        let size = (width * OVERSAMPLING, height * OVERSAMPLING);
        Self { area: BitMapBackend::with_buffer(pixels, size).into_drawing_area() }
    }

    /// Fills the polygon with `opacity` from 0 to 1.
    pub(super) fn polygon(&self, corners: impl IntoIterator<Item = Spot>, color: Color, opacity: f64) {
        let corners: Vec<_> = corners.into_iter().map(device).collect();
        let polygon = Polygon::new(corners, rgb(color).mix(opacity));
        self.area.draw(&polygon).expect("drawing into memory can't fail");
    }

    pub(super) fn rect(&self, rect: Rect, color: Color, opacity: f64) {
        let Rect { left, top, right, bottom } = rect;
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], color, opacity);
    }

    /// Draws a line through all spots.
    pub(super) fn line(&self, spots: &[Spot], stroke: Stroke) {
        match pattern(stroke) {
            [] => self.solid(spots, stroke),
            pattern => dashes(spots, pattern, stroke.width).iter().for_each(|dash| self.solid(dash, stroke)),
        }
    }

    fn solid(&self, spots: &[Spot], stroke: Stroke) {
        // The rasterizer fills the pixels at both edges of a polygon, one more than its width.
        let half = (stroke.width - 1.0 / SCALE) / 2.0;
        for ends in spots.windows(2) {
            let (dx, dy) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            let length = dx.hypot(dy);
            if length < 1e-9 {
                continue;
            }
            let (nx, ny) = (-dy / length * half, dx / length * half);
            let [(ax, ay), (bx, by)] = [ends[0], ends[1]];
            self.polygon(
                [(ax + nx, ay + ny), (bx + nx, by + ny), (bx - nx, by - ny), (ax - nx, ay - ny)],
                stroke.color,
                1.0,
            );
        }
        for corner in spots.windows(3).filter(|corner| bends(corner)) {
            self.polygon(around(corner[1], half, 8, 0.0), stroke.color, 1.0);
        }
    }

    /// Writes `text` at `spot`.
    pub(super) fn text(&self, text: &str, (x, y): Spot, lettering: Lettering, align: Align) {
        let left = x - shift(align, lettering.width(text));
        self.put(text, (left, y + lettering.capital() / 2.0), lettering, FontTransform::None);
    }

    /// Writes `text` upwards, centred at `spot`.
    pub(super) fn text_upwards(&self, text: &str, (x, y): Spot, lettering: Lettering) {
        let start = y + lettering.width(text) / 2.0;
        self.put(text, (x + lettering.capital() / 2.0, start), lettering, FontTransform::Rotate270);
    }

    /// Writes `text` from `start` on its base line.
    fn put(&self, text: &str, start: Spot, lettering: Lettering, turn: FontTransform) {
        let size = lettering.device_size();
        // Plotters puts the base line half a text size below the spot of the text.
        let half = (size / 2.0) as i32;
        let (x, y) = device(start);
        let spot = if matches!(turn, FontTransform::None) { (x, y - half) } else { (x - half, y) };
        let style = lettering.font().transform(turn).color(&rgb(lettering.color));
        self.area.draw(&Text::new(text, spot, style)).expect("the font is registered");
    }
}

/// The corners of a regular polygon; `turn` in full turns from pointing up.
pub(super) fn around(center: Spot, radius: f64, corners: u32, turn: f64) -> impl Iterator<Item = Spot> {
    (0..corners).map(move |corner| {
        let angle = (f64::from(corner) / f64::from(corners) + turn) * std::f64::consts::TAU;
        (center.0 + radius * angle.sin(), center.1 - radius * angle.cos())
    })
}

fn shift(align: Align, width: f64) -> f64 {
    match align {
        Align::Left => 0.0,
        Align::Center => width / 2.0,
        Align::Right => width,
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

/// Lengths of strokes and gaps in turn, in line widths.
fn pattern(stroke: Stroke) -> &'static [f64] {
    match stroke.dash {
        Dash::Solid => &[],
        Dash::Dashed => &[4.0, 2.5],
        Dash::Dotted => &[1.2, 1.8],
        Dash::DashDot => &[5.0, 2.0, 1.2, 2.0],
        Dash::Long => &[8.0, 3.0],
    }
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

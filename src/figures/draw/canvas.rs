//! The few things that can be put on paper of either kind; places, rectangles and widths are in finished pixels.

use super::lettering::Lettering;
use crate::figures::style::{Color, Dash, Style};

/// Paper: every chart is drawn by the same code on either kind.
pub(super) trait Canvas {
    /// Fills the polygon with `opacity` from 0 to 1.
    fn polygon(&self, corners: &[Spot], color: Color, opacity: f64);

    fn line(&self, spots: &[Spot], style: Style);

    /// Writes `text` on the base line through `spot`.
    fn write(&self, text: &str, spot: Spot, lettering: Lettering, align: Align);

    fn rect(&self, rect: Rect, color: Color, opacity: f64) {
        let Rect { left, top, right, bottom } = rect;
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)], color, opacity);
    }

    fn disc(&self, center: Spot, radius: f64, color: Color) {
        self.polygon(&around(center, radius, 32, 0.0), color, 1.0);
    }

    /// Writes `text` at `spot`, which is the middle of its capital letters.
    fn text(&self, text: &str, (x, y): Spot, lettering: Lettering, align: Align) {
        let half = lettering.capital() / 2.0;
        let spot = if align == Align::Upwards { (x + half, y) } else { (x, y + half) };
        self.write(text, spot, lettering, align);
    }
}

/// A place on the paper: to the right and down from the top left, in finished pixels.
pub(super) type Spot = (f64, f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    /// The rectangle that reaches so far to the sides of `center`, and up and down.
    pub(super) fn around((x, y): Spot, dx: f64, dy: f64) -> Self {
        Self { left: x - dx, top: y - dy, right: x + dx, bottom: y + dy }
    }

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

/// Where a text stands relative to its spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Center,
    Right,
    /// From the bottom to the top, its middle at the spot.
    Upwards,
}

/// The corners of a regular polygon; `turn` in full turns from pointing up.
pub(super) fn around(center: Spot, radius: f64, corners: u32, turn: f64) -> Vec<Spot> {
    let corner = |corner| {
        let angle = (f64::from(corner) / f64::from(corners) + turn) * std::f64::consts::TAU;
        (center.0 + radius * angle.sin(), center.1 - radius * angle.cos())
    };
    (0..corners).map(corner).collect()
}

/// Lengths of strokes and gaps in turn, in line widths.
pub(super) fn pattern(dash: Dash) -> &'static [f64] {
    match dash {
        Dash::Solid => &[],
        Dash::Dashed => &[4.0, 2.5],
        Dash::Dotted => &[1.2, 1.8],
        Dash::Alternating => &[5.0, 2.0, 1.2, 2.0],
        Dash::Long => &[8.0, 3.0],
    }
}

//! The few things that can be put on paper, in pixels of the finished image, whatever the paper is.

use super::lettering::Lettering;
use super::pixels::Pixels;
use super::vector::Drawing;
use crate::figures::figure::style::{Color, Dash};

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

    pub(super) fn corners(self) -> [Spot; 4] {
        let Self { left, top, right, bottom } = self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
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

/// Paper: every chart is drawn by the same code on either kind.
pub(super) enum Canvas<'a> {
    Pixels(Pixels<'a>),
    Drawing(&'a Drawing),
}

impl Canvas<'_> {
    /// Fills the polygon with `opacity` from 0 to 1.
    pub(super) fn polygon(&self, corners: impl IntoIterator<Item = Spot>, color: Color, opacity: f64) {
        match self {
            Self::Pixels(pixels) => pixels.polygon(corners, color, opacity),
            Self::Drawing(drawing) => drawing.polygon(corners, color, opacity),
        }
    }

    pub(super) fn rect(&self, rect: Rect, color: Color, opacity: f64) {
        match self {
            Self::Pixels(pixels) => pixels.polygon(rect.corners(), color, opacity),
            Self::Drawing(drawing) => drawing.rect(rect, color, opacity),
        }
    }

    /// Fills a circle.
    pub(super) fn disc(&self, center: Spot, radius: f64, color: Color) {
        match self {
            Self::Pixels(pixels) => pixels.polygon(around(center, radius, 32, 0.0), color, 1.0),
            Self::Drawing(drawing) => drawing.disc(center, radius, color),
        }
    }

    /// Draws a line through all spots.
    pub(super) fn line(&self, spots: &[Spot], stroke: Stroke) {
        match self {
            Self::Pixels(pixels) => pixels.line(spots, stroke),
            Self::Drawing(drawing) => drawing.line(spots, stroke),
        }
    }

    /// Writes `text` at `spot`.
    pub(super) fn text(&self, text: &str, (x, y): Spot, lettering: Lettering, align: Align) {
        let base = y + lettering.capital() / 2.0;
        match self {
            Self::Pixels(pixels) => pixels.text(text, (x, base), lettering, align),
            Self::Drawing(drawing) => drawing.text(text, (x, base), lettering, align),
        }
    }

    /// Writes `text` upwards, centred at `spot`.
    pub(super) fn text_upwards(&self, text: &str, (x, y): Spot, lettering: Lettering) {
        let base = x + lettering.capital() / 2.0;
        match self {
            Self::Pixels(pixels) => pixels.text_upwards(text, (base, y), lettering),
            Self::Drawing(drawing) => drawing.text_upwards(text, (base, y), lettering),
        }
    }
}

/// The corners of a regular polygon; `turn` in full turns from pointing up.
pub(super) fn around(center: Spot, radius: f64, corners: u32, turn: f64) -> impl Iterator<Item = Spot> {
    (0..corners).map(move |corner| {
        let angle = (f64::from(corner) / f64::from(corners) + turn) * std::f64::consts::TAU;
        (center.0 + radius * angle.sin(), center.1 - radius * angle.cos())
    })
}

/// Lengths of strokes and gaps in turn, in line widths.
pub(super) fn pattern(dash: Dash) -> &'static [f64] {
    match dash {
        Dash::Solid => &[],
        Dash::Dashed => &[4.0, 2.5],
        Dash::Dotted => &[1.2, 1.8],
        Dash::DashDot => &[5.0, 2.0, 1.2, 2.0],
        Dash::Long => &[8.0, 3.0],
    }
}

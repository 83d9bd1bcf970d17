//! Places, rectangles and strokes on paper, in pixels of the finished image.

use crate::figures::style::{Color, Dash};

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

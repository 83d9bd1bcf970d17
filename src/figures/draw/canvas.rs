//! The few things that can be put on paper, in pixels of the finished image, whatever the paper is.

use super::lettering::Lettering;
use super::pixels::Pixels;
use super::shapes::{Align, Rect, Spot, Stroke, around};
use super::vector::Drawing;
use crate::figures::style::Color;

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

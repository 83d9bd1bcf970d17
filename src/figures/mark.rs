//! What can be drawn in a panel.

use super::style::{Color, Style};

/// One thing that is drawn between the axes of a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum PanelMark {
    Series(PointSeries),
    /// A horizontal line from edge to edge, with its band.
    Level(Style, PlotValue),
    /// Horizontal bars from zero, at places of a vertical category axis.
    Bars(Vec<Bar>),
    /// A table of numbers on shaded cells.
    Heat(Vec<HeatCell>),
}

impl PanelMark {
    pub fn as_series(&self) -> Option<&PointSeries> {
        match self {
            Self::Series(series) => Some(series),
            Self::Level(..) | Self::Bars(_) | Self::Heat(_) => None,
        }
    }
}

/// A value and the interval that it is uncertain by, if one is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotValue {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl From<f64> for PlotValue {
    fn from(value: f64) -> Self {
        Self { value, interval: None }
    }
}

impl PlotValue {
    pub fn values(self) -> impl Iterator<Item = f64> {
        [self.value].into_iter().chain(self.interval.into_iter().flat_map(|(low, high)| [low, high]))
    }
}

/// A shaded stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadedSpan {
    pub from: f64,
    pub to: f64,
    /// Its name, written at its top where there is room; may be empty.
    pub label: String,
    pub color: Color,
    /// Whether its ends are drawn, so that it is told from others that touch or cover it.
    pub has_ends: bool,
}

/// A thin line across the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Hairline {
    /// Whether it stands at a value of the horizontal axis (or lies at one of the vertical axis).
    pub upright: bool,
    pub at: f64,
    /// Its name, written above the panel where it is upright and there is room; may be empty.
    pub label: String,
}

/// Points, joined or not, with their uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSeries {
    pub style: Style,
    /// The points in drawing order; a missing one leaves a gap.
    pub points: Vec<Option<DataPoint>>,
    pub join: Join,
    pub spread: Spread,
}

/// One point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPoint {
    pub x: PlotValue,
    pub y: PlotValue,
    /// Written beside it where there is room; may be empty.
    pub label: String,
}

impl DataPoint {
    /// A point without a label.
    pub fn new(x: impl Into<PlotValue>, y: impl Into<PlotValue>) -> Self {
        Self { x: x.into(), y: y.into(), label: String::new() }
    }
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    None,
    Straight,
    /// Level until the next point, then up or down to it.
    Step,
}

/// How the intervals of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// As a translucent band around the line (of the vertical intervals).
    Band,
    /// As whiskers at each point, in both directions.
    Whiskers,
}

/// One horizontal bar from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its place on the vertical category axis.
    pub place: f64,
    /// Its length and whisker; a missing one is said to be missing.
    pub value: Option<PlotValue>,
    pub color: Color,
}

/// One cell of a table of numbers, at a place of each category axis.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    pub column: f64,
    pub row: f64,
    /// How strongly it is shaded, 0 to 1; nothing where there is no value.
    pub shade: Option<f64>,
    pub text: String,
}

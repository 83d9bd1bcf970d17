//! What can be drawn in a panel.

use super::style::{Color, Style};

/// One thing that is drawn between the axes of a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum PanelMark {
    /// Points, joined or not, with their uncertainty.
    Series(PointSeries),
    /// A horizontal line from edge to edge, with its band.
    Level(Style, PlotValue),
    /// Horizontal bars from zero, at places of a vertical category axis.
    Bars(Vec<Bar>),
    /// A table of numbers on shaded cells.
    Heat(Vec<HeatCell>),
}

impl PanelMark {
    /// The series, if it is one.
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
    /// The value, usually a mean.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
}

impl From<f64> for PlotValue {
    fn from(value: f64) -> Self {
        Self { value, interval: None }
    }
}

impl PlotValue {
    /// The value and the ends of the interval.
    pub fn values(self) -> impl Iterator<Item = f64> {
        [self.value].into_iter().chain(self.interval.into_iter().flat_map(|(low, high)| [low, high]))
    }
}

/// A shaded stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadedSpan {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its name, written at its top where there is room; may be empty.
    pub label: String,
    /// Its colour, a pale one.
    pub color: Color,
    /// Whether its ends are drawn, so that it is told from others that touch or cover it.
    pub has_ends: bool,
}

/// A thin line across the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Hairline {
    /// Whether it stands at a value of the horizontal axis (or lies at one of the vertical axis).
    pub upright: bool,
    /// The value.
    pub at: f64,
    /// Its name, written above the panel where it is upright and there is room; may be empty.
    pub label: String,
}

/// Points, joined or not, with their uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSeries {
    /// What they look like.
    pub style: Style,
    /// The points in drawing order; a missing one leaves a gap.
    pub points: Vec<Option<DataPoint>>,
    /// How they are joined.
    pub join: Join,
    /// How intervals are shown.
    pub spread: Spread,
}

/// One point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPoint {
    /// Where along the horizontal axis.
    pub x: PlotValue,
    /// Where along the vertical axis.
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
    /// Not at all.
    None,
    /// By straight lines.
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
    /// Its colour.
    pub color: Color,
}

/// One cell of a table of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// Its place on the horizontal category axis.
    pub column: f64,
    /// Its place on the vertical category axis.
    pub row: f64,
    /// How strongly it is shaded, 0 to 1; nothing where there is no value.
    pub shade: Option<f64>,
    /// The number in it.
    pub text: String,
}

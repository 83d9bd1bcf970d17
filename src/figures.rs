//! What a results folder shows: figures as plain data, the charts that are made of its rows, how they are drawn, and the
//! page.
//!
//! A figure is everything that is drawn, and nothing about how. Charts make figures from rows, `draw` makes pixels from
//! figures. Between the two a figure can be printed, compared and tested without a single pixel.

pub mod charts;
pub mod draw;
pub mod error;
mod mark;
pub mod markup;
pub mod page;
mod style;
pub mod wording;

use crate::answers::gather::distinct;
use crate::metrics::unit::Unit;
use mark::{Hairline, PanelMark, ShadedSpan};
use style::{Color, Style};

/// One image: a heading, a legend, and panels in a grid. Sizes are in pixels.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Figure {
    pub title: String,
    /// Whence it comes: experiment, number of replications, what the bands and whiskers mean.
    pub subtitle: String,
    /// Sentences that are written under the panels.
    pub notes: Vec<String>,
    /// The legend, between heading and panels, so that it never covers data.
    pub legend: Vec<Key>,
    /// Row by row from the top left.
    pub panels: Vec<Panel>,
    /// How many panels stand beside each other.
    pub columns: usize,
    pub width: u32,
    pub height: u32,
}

/// One entry of the legend.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Key {
    pub name: String,
    pub sample: KeySample,
}

/// What a legend entry shows.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum KeySample {
    Line(Style),
    Marker(Style),
    Swatch(Color),
}

/// One pair of axes with what is drawn between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Shown above the panel; may be empty.
    pub title: String,
    /// Whose panel it is: a marker before the title.
    pub badge: Option<Style>,
    /// The horizontal axis.
    pub x: PanelAxis,
    /// The vertical axis.
    pub y: PanelAxis,
    /// Shaded stretches of the horizontal axis, behind everything.
    pub spans: Vec<ShadedSpan>,
    /// Thin lines behind the marks.
    pub hairlines: Vec<Hairline>,
    /// What is drawn, in this order: later marks cover earlier ones.
    pub marks: Vec<PanelMark>,
}

/// A direction of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelAxis {
    /// Quantity and unit.
    pub label: String,
    /// How the numbers at the ticks are written.
    pub unit: Unit,
    /// How values become positions.
    pub scale: Scale,
    /// The values at the left or lower end and at the right or upper end.
    pub range: (f64, f64),
    /// Whether label and numbers are drawn; an inner panel of a grid leaves them to its neighbours.
    pub shown: bool,
}

/// How values become positions along an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long; there is no zero.
    Log,
    /// Named places at 0, 1, 2 …
    Category(Vec<String>),
}

impl Panel {
    /// A panel without title that has these `marks` between its axes.
    pub fn new(x: PanelAxis, y: PanelAxis, marks: Vec<PanelMark>) -> Self {
        let (spans, hairlines) = (Vec::new(), Vec::new());
        Self { title: String::new(), badge: None, x, y, spans, hairlines, marks }
    }
}

/// The least width and height of a figure in pixels.
pub const SMALLEST: (u32, u32) = (1600, 1000);

impl Figure {
    /// A figure of `panels` in `columns`, large enough for them, with neither notes nor legend yet.
    pub fn new(title: impl Into<String>, panels: Vec<Panel>, columns: usize) -> Self {
        let rows = panels.len().div_ceil(columns);
        let width = SMALLEST.0.max(columns as u32 * 350 + 60);
        let height = SMALLEST.1.max(rows as u32 * 330 + 250);
        Self {
            title: title.into(),
            subtitle: String::new(),
            notes: Vec::new(),
            legend: Vec::new(),
            panels,
            columns,
            width,
            height,
        }
    }

    /// Leaves axis texts to the outermost panels: those of horizontal axes to the last panel of each column, if they are shared
    /// in `x`, and those of vertical axes to the first column, if they are in `y`.
    pub fn share_axes(&mut self, x: bool, y: bool) {
        let count = self.panels.len();
        for (index, panel) in self.panels.iter_mut().enumerate() {
            panel.x.shown = !x || index + self.columns >= count;
            panel.y.shown = !y || index % self.columns == 0;
        }
    }

    /// The figure for those who can't see it: title, subtitle, what is along each panel's axes, and whose marks they are.
    pub fn in_words(&self) -> String {
        let shows = self.panels.iter().map(|panel| match (panel.y.label.as_str(), panel.x.label.as_str()) {
            ("", label) | (label, "") => label.to_owned(),
            (y, x) => format!("{y} against {x}"),
        });
        let panels = distinct(shows.filter(|shows| !shows.is_empty())).join("; ");
        let names: Vec<&str> = self.legend.iter().map(|key| key.name.as_str()).collect();
        let parts = [&self.title, &self.subtitle, &panels, &names.join(", ")];
        let parts = parts.map(|part| part.trim_end_matches('.'));
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ") + "."
    }
}

impl PanelAxis {
    /// An axis of equal differences.
    pub fn linear(label: impl Into<String>, unit: Unit, range: (f64, f64)) -> Self {
        Self { label: label.into(), unit, scale: Scale::Linear, range, shown: true }
    }

    /// An axis of equal ratios; both ends are above zero.
    pub fn log(label: impl Into<String>, unit: Unit, range: (f64, f64)) -> Self {
        assert!(range.0 > 0.0 && range.1 > 0.0, "a log axis has no zero: {range:?}");
        Self { label: label.into(), unit, scale: Scale::Log, range, shown: true }
    }

    /// Named places from left to right, or from bottom to top.
    pub fn categories(label: impl Into<String>, names: Vec<String>) -> Self {
        let range = (-0.5, names.len() as f64 - 0.5);
        Self { label: label.into(), unit: Unit::Number, scale: Scale::Category(names), range, shown: true }
    }

    /// The same axis the other way round: named places from top to bottom.
    pub fn reversed(mut self) -> Self {
        self.range = (self.range.1, self.range.0);
        self
    }
}

/// `text` cut in the middle to at most `chars` characters.
pub fn elide(text: &str, chars: usize) -> String {
    let length = text.chars().count();
    if length <= chars {
        return text.to_owned();
    }
    let kept = chars.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(length - kept / 2).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(elide("spill", 5), "spill");
        assert_eq!(elide("us-central1-a", 7), "us-…1-a");
        assert_eq!(elide("äöüßäöü", 4), "äö…ü");
        assert_eq!(elide("long", 1), "…");
    }

    #[test]
    fn inner_panels_leave_axis_texts_to_the_outer_ones() {
        let axis = || PanelAxis::linear("", Unit::Number, (0.0, 1.0));
        let panel = || Panel::new(axis(), axis(), Vec::new());
        let mut figure = Figure::new("", (0..5).map(|_| panel()).collect(), 3);
        figure.share_axes(true, true);
        let shown: Vec<_> = figure.panels.iter().map(|panel| (panel.x.shown, panel.y.shown)).collect();
        assert_eq!(shown, [(false, true), (false, false), (true, false), (true, true), (true, false)]);
    }
}

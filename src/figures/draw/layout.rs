//! Where on the paper everything goes.

use super::canvas::{Rect, Spot};
use super::guides::HAIRLINE_NAMES;
use super::lettering::{LABEL, NOTE, TICK};
use super::projection::Projection;
use crate::figures::mark::Hairline;
use crate::figures::{Figure, Panel, PanelAxis, Scale};

/// White at the edges of the paper.
pub(super) const MARGIN: f64 = 48.0;
const GAP: f64 = 44.0;
/// White between panels above each other that share their horizontal axis.
const ROW_GAP: f64 = 10.0;
/// The height of a panel's title with the white around it.
const PANEL_TITLE: f64 = 46.0;
const X_TEXTS: f64 = 40.0;
const AXIS_LABEL: f64 = 38.0;
/// White between a vertical axis and its tick texts.
pub(super) const TICK_GAP: f64 = 14.0;
/// The share of a column that the texts at a vertical axis may take.
const Y_TEXT_SHARE: f64 = 0.42;
const LEGEND_ROW: f64 = 40.0;
const NOTE_LINE: f64 = 28.0;
const LEGEND_ROWS: usize = 5;
/// The width of a sample in the legend with the white after it.
pub(super) const SAMPLE: f64 = 66.0;
/// The width that the name of a legend entry may take.
const NAME: f64 = 420.0;

/// The places of everything on the paper.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// Each legend entry: its place and its name as it fits; entries beyond the last row are left out.
    pub(super) legend: Vec<TextLine>,
    pub(super) notes: Vec<TextLine>,
    pub(super) frames: Vec<Frame>,
}

/// The place of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) plot: Rect,
    /// The width for the tick texts of the vertical axis.
    pub(super) y_room: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextLine {
    pub(super) spot: Spot,
    pub(super) text: String,
}

impl Layout {
    pub(super) fn new(figure: &Figure) -> Self {
        let (width, height) = (f64::from(figure.width), f64::from(figure.height));
        let across = width - 2.0 * MARGIN;
        let (legend, legend_bottom) = legend(figure, 142.0, across);
        let mut notes = figure.notes.join(" ");
        if legend.len() < figure.legend.len() {
            let left_out = figure.legend.len() - legend.len();
            notes.push_str(&format!(" The last {left_out} entries of the legend had no room."));
        }
        let remarks = NOTE.wrapped(&notes, across);
        let notes_top = height - 26.0 - NOTE_LINE * remarks.len() as f64;
        let notes = remarks.into_iter().enumerate();
        let y = |row: usize| notes_top + NOTE_LINE * (row as f64 + 0.5);
        let area = Rect { left: MARGIN, top: legend_bottom, right: width - MARGIN, bottom: notes_top - 14.0 };
        Self {
            legend,
            notes: notes.map(|(row, text)| TextLine { spot: (MARGIN, y(row)), text }).collect(),
            frames: frames(figure, area),
        }
    }
}

/// The legend's entries from `top` down, and where the panels may begin.
fn legend(figure: &Figure, top: f64, across: f64) -> (Vec<TextLine>, f64) {
    let (mut x, mut row) = (0.0, 0);
    let mut entries = Vec::new();
    for key in &figure.legend {
        let text = LABEL.fitted(&key.name, NAME);
        let width = SAMPLE + LABEL.width(&text);
        if x > 0.0 && x + width > across {
            (x, row) = (0.0, row + 1);
        }
        if row == LEGEND_ROWS {
            return (entries, top + LEGEND_ROW * row as f64);
        }
        entries.push(TextLine { spot: (MARGIN + x, top + LEGEND_ROW * (row as f64 + 0.1)), text });
        x += width + GAP;
    }
    let rows = if entries.is_empty() { 0 } else { row + 1 };
    (entries, top + LEGEND_ROW * rows as f64)
}

/// Divides `area` into the panels' plots. Panels of a row are equally high and those of a column equally wide.
fn frames(figure: &Figure, area: Rect) -> Vec<Frame> {
    let columns = figure.columns;
    let rows: Vec<&[Panel]> = figure.panels.chunks(columns).collect();
    let tops: Vec<f64> = rows.iter().map(|row| largest(row.iter().map(title_height))).collect();
    let bottoms: Vec<f64> = rows.iter().map(|row| largest(row.iter().map(x_height))).collect();
    let white: f64 = tops.iter().chain(&bottoms).sum();
    let height = (area.height() - white) / rows.len() as f64;

    let slot = area.width() / columns as f64;
    let column = |at: usize| figure.panels.iter().skip(at).step_by(columns);
    let room = |axis: &PanelAxis| y_text_width(axis, height).min(slot * Y_TEXT_SHARE);
    let rooms: Vec<f64> = (0..columns).map(|at| largest(column(at).map(|panel| room(&panel.y)))).collect();
    let around = |at: usize| largest(column(at).map(|panel| y_label_width(&panel.y)));
    let lefts: Vec<f64> = rooms.iter().enumerate().map(|(at, room)| room + around(at)).collect();
    let white = lefts.iter().sum::<f64>() + GAP * (columns - 1) as f64 + GAP / 2.0;
    let width = (area.width() - white) / columns as f64;

    let mut frames = Vec::new();
    let mut top = area.top;
    for (row, panels) in rows.iter().enumerate() {
        top += tops[row];
        let mut left = area.left;
        for at in 0..panels.len() {
            left += lefts[at];
            let plot = Rect { left, top, right: left + width, bottom: top + height };
            frames.push(Frame { plot, y_room: rooms[at] });
            left += width + GAP;
        }
        top += height + bottoms[row];
    }
    frames
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn title_height(panel: &Panel) -> f64 {
    hairline_names(panel) + if panel.title.is_empty() { 18.0 } else { PANEL_TITLE }
}

/// The height of the names of hairlines above a panel; nothing if it has none.
pub(super) fn hairline_names(panel: &Panel) -> f64 {
    let has_name = |line: &Hairline| line.upright && !line.label.is_empty();
    if panel.hairlines.iter().any(has_name) { HAIRLINE_NAMES } else { 0.0 }
}

fn x_height(panel: &Panel) -> f64 {
    let label = if panel.x.label.is_empty() { 0.0 } else { AXIS_LABEL };
    if panel.x.shown { X_TEXTS + label } else { ROW_GAP }
}

/// The width that a vertical axis needs beside its tick texts.
fn y_label_width(axis: &PanelAxis) -> f64 {
    match (axis.shown, axis.label.is_empty()) {
        (false, _) => 0.0,
        (true, true) => TICK_GAP,
        (true, false) => TICK_GAP + AXIS_LABEL,
    }
}

/// The width of the widest tick text of a vertical axis.
fn y_text_width(axis: &PanelAxis, height: f64) -> f64 {
    if !axis.shown {
        return 0.0;
    }
    let ticks = Projection::new(axis, height, 0.0).ticks();
    largest(ticks.iter().map(|tick| TICK.width(&tick.text))).ceil()
}

/// The height or width of each place of a category axis that is `length` pixels long.
pub(super) fn slot(axis: &PanelAxis, length: f64) -> f64 {
    match &axis.scale {
        Scale::Category(names) => length / names.len().max(1) as f64,
        Scale::Linear | Scale::Log => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::draw::lettering;
    use crate::results::sample::SampleFolder;

    #[test]
    fn everything_has_its_own_place_on_the_paper() {
        lettering::register();
        for sample in [
            SampleFolder::default(),
            SampleFolder::one_cell(),
            SampleFolder::five_hundred_cells(),
            SampleFolder::long_names(),
            SampleFolder::many_arms(),
        ] {
            for (stem, figure) in crate::figures::charts::figures(&sample.results()) {
                let layout = Layout::new(&figure);
                let (width, height) = (f64::from(figure.width), f64::from(figure.height));
                let paper = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
                assert_eq!(layout.frames.len(), figure.panels.len());
                for (index, frame) in layout.frames.iter().enumerate() {
                    let plot = frame.plot;
                    assert!(plot.width() > 150.0 && plot.height() > 120.0, "{stem}: {plot:?} is too small");
                    assert!(paper.contains(plot), "{stem}: {plot:?} leaves the paper");
                    let free = |other: &Frame| !other.plot.overlaps(plot);
                    assert!(layout.frames[index + 1..].iter().all(free), "{stem}: panels overlap");
                }
                let legend_bottom = layout.legend.last().map_or(0.0, |line| line.spot.1 + LEGEND_ROW / 2.0);
                assert!(layout.frames[0].plot.top >= legend_bottom, "{stem}: the legend covers a panel");
                for line in &layout.legend {
                    let right = line.spot.0 + SAMPLE + LABEL.width(&line.text);
                    assert!(right <= width, "{stem}: legend entry {} leaves the paper", line.text);
                }
                let lowest = layout.frames.last().map_or(0.0, |frame| frame.plot.bottom);
                assert!(
                    layout.notes.iter().all(|note| note.spot.1 > lowest),
                    "{stem}: remarks cover a panel"
                );
            }
        }
    }

    #[test]
    fn a_legend_without_room_says_so() {
        lettering::register();
        let sample = SampleFolder {
            arms: (0..99).map(|arm| format!("arm-{arm}")).collect(),
            ..SampleFolder::many_arms()
        };
        let figures = crate::figures::charts::figures(&sample.results());
        let (_, figure) = figures.iter().find(|(stem, _)| stem == "tradeoff").unwrap();
        let layout = Layout::new(figure);
        assert!(layout.legend.len() < figure.legend.len());
        assert!(layout.notes.iter().any(|note| note.text.contains("entries of the legend")));
    }
}

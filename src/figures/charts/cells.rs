//! Which cells stand together in a panel, and which few stand for many.

use std::collections::BTreeSet;

use super::{axis, caption, palette};
use crate::answers::gather::distinct;
use crate::figures::mark::PanelMark;
use crate::figures::wording::values_text;
use crate::figures::{Panel, PanelAxis};
use crate::results::{ResultCell, Results};

/// The most panels of cells.
pub(super) const MOST_PANELS: usize = 9;

/// The most arms of a chart.
const MOST_ARMS: usize = 40;

/// Results of fewer arms, and what is to be said of that; none where a chart has room for all of them.
pub(super) fn fewer_arms(results: &Results) -> Option<(Results, String)> {
    let all = results.arms.len();
    if all <= MOST_ARMS {
        return None;
    }
    let kept: Vec<usize> = spread((0..all).collect(), MOST_ARMS);
    let place = |cell: &ResultCell| kept.binary_search(&cell.arm).ok();
    let of_kept = |cell: &ResultCell| Some(ResultCell { arm: place(cell)?, ..cell.clone() });
    let cells: Vec<ResultCell> = results.cells.iter().filter_map(of_kept).collect();
    let numbers: BTreeSet<usize> = cells.iter().map(|cell| cell.number).collect();
    let fewer = Results {
        arms: kept.iter().map(|arm| results.arms[*arm].clone()).collect(),
        cells,
        ..results.of_cells(&numbers)
    };
    Some((fewer, format!("Shown are {MOST_ARMS} of {all} arms, spread evenly.")))
}

/// One value of every axis but the one that runs along the panel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facet {
    /// By axis; empty where any value will do.
    pub(super) values: Vec<String>,
    /// Its axes and values in words; empty if there is only one facet.
    pub(super) label: String,
}

impl Facet {
    /// Whether `cell` belongs here. A cell that lacks an axis belongs to every value of it.
    pub(super) fn holds(&self, cell: &ResultCell) -> bool {
        self.values
            .iter()
            .zip(&cell.values)
            .all(|(own, other)| own.is_empty() || other.is_empty() || own == other)
    }
}

/// The facets of all cells, where `along` is the axis that runs along the panels.
pub(super) fn facets(results: &Results, along: Option<usize>) -> Vec<Facet> {
    let found = distinct(results.cells.iter().map(|cell| {
        let mut values = cell.values.clone();
        if let Some(along) = along {
            values[along].clear();
        }
        values
    }));
    // A facet that leaves an axis open is part of one that fixes it.
    let part = |of: &[String], whole: &[String]| {
        of != whole && of.iter().zip(whole).all(|(own, other)| own.is_empty() || own == other)
    };
    let whole: Vec<_> =
        found.iter().filter(|values| !found.iter().any(|other| part(values, other))).cloned().collect();
    let single = whole.len() == 1;
    let facet = |values: Vec<String>| {
        let label = if single { String::new() } else { in_words(results, &values) };
        Facet { values, label }
    };
    whole.into_iter().map(facet).collect()
}

fn in_words(results: &Results, values: &[String]) -> String {
    let named = results.axes.iter().zip(values).filter(|(_, value)| !value.is_empty());
    named.map(|(axis, value)| format!("{} {value}", axis::words(axis))).collect::<Vec<_>>().join(", ")
}

/// A few cells that stand for all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection<'a> {
    pub(super) cells: Vec<&'a ResultCell>,
    /// What was left out and what the numbers in titles mean; empty if nothing needs saying.
    pub(super) notes: Vec<String>,
}

/// At most `most` cells: of each arm the first, middle and last along the first numeric axis, at the middle of others.
pub(super) fn representatives(results: &Results, most: usize) -> Selection<'_> {
    let along = axis::first_numeric(results).map(|axis| axis.index);
    let facet = spread(facets(results, along), 1).pop();
    let arms: Vec<usize> = spread((0..results.arms.len()).collect(), most);
    let of_arm = |arm: usize, share: usize| {
        let inside =
            |cell: &&ResultCell| cell.arm == arm && facet.as_ref().is_none_or(|facet| facet.holds(cell));
        let mut cells: Vec<&ResultCell> = results.cells.iter().filter(inside).collect();
        if let Some(along) = along {
            let key = |cell: &ResultCell| axis::number(&cell.values[along]).unwrap_or(f64::NEG_INFINITY);
            cells.sort_by(|a, b| key(a).total_cmp(&key(b)));
        }
        spread(cells, share)
    };
    let chosen = |share| arms.iter().flat_map(|arm| of_arm(*arm, share)).collect::<Vec<_>>();
    let cells = [3, 2].into_iter().map(chosen).find(|cells| cells.len() <= most).unwrap_or_else(|| chosen(1));
    let notes = selection_notes(results, &cells, arms.len());
    Selection { cells, notes }
}

fn selection_notes(results: &Results, cells: &[&ResultCell], arms: usize) -> Vec<String> {
    let used = |axis: &usize| cells.iter().any(|cell| !cell.values[*axis].is_empty());
    let axes: Vec<String> =
        (0..results.axes.len()).filter(used).map(|axis| axis::words(&results.axes[axis])).collect();
    let all_arms = arms == results.arms.len();
    let which = if all_arms { "spread evenly over each arm’s sweep" } else { "not every arm" };
    let (count, all) = (cells.len(), results.cells.len());
    caption::said([
        (!axes.is_empty(), format!("After an arm’s name stands its {}.", axes.join(", "))),
        (count < all, format!("Shown are {count} of {all} cells, {which}.")),
    ])
}

/// How many panels stand beside each other, where each is of a cell.
pub(super) fn columns(panels: usize) -> usize {
    if panels == 4 { 2 } else { panels.min(3) }
}

/// The panel of `cell`, under its name and the marker of its arm.
pub(super) fn panel(
    results: &Results,
    cell: &ResultCell,
    x: PanelAxis,
    y: PanelAxis,
    marks: Vec<PanelMark>,
) -> Panel {
    let badge = Some(palette::arms(&results.arms)[cell.arm]);
    Panel { title: name(results, cell), badge, ..Panel::new(x, y, marks) }
}

pub(super) fn name(results: &Results, cell: &ResultCell) -> String {
    format!("{} {}", results.arms[cell.arm], values_text(cell, ", ")).trim_end().to_owned()
}

/// At most `most` of `items`, evenly spread, the first and the last among them; the middle one alone if `most`
/// is one.
pub(crate) fn spread<T: Clone>(items: Vec<T>, most: usize) -> Vec<T> {
    match items.len() {
        count if count <= most => items,
        count if most < 2 => vec![items[count / 2].clone()],
        count => {
            (0..most).map(|at| items[(at * (count - 1) + (most - 1) / 2) / (most - 1)].clone()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn few_items_stand_for_many() {
        assert_eq!(spread((0..11).collect(), 3), [0, 5, 10]);
        assert_eq!(spread((0..3).collect(), 5), [0, 1, 2]);
        assert_eq!(spread((0..9).collect(), 1), [4]);
        assert!(spread(Vec::<u8>::new(), 1).is_empty());
    }

    #[test]
    fn a_sweep_is_represented_by_its_ends_and_its_middle() {
        let results = SampleFolder::default().results();
        let selection = representatives(&results, 5);
        let names: Vec<_> = selection.cells.iter().map(|cell| name(&results, cell)).collect();
        assert_eq!(names, ["disabled", "stay", "spill 0.0", "spill 0.5", "spill 1.0"]);
        assert!(selection.notes[0].contains("spillover ratio"), "{:?}", selection.notes);
        assert!(selection.notes[1].contains("5 of 13 cells"), "{:?}", selection.notes);
        assert_eq!(representatives(&results, 3).cells.len(), 3);
        assert_eq!(representatives(&results, 2).cells.len(), 2);
    }

    #[test]
    fn of_very_many_arms_some_are_shown_and_it_is_said() {
        let arms = |count: usize| (0..count).map(|arm| format!("policy-{arm}")).collect();
        let sample = |count| SampleFolder {
            arms: arms(count),
            swept: Vec::new(),
            replications: 2,
            ..SampleFolder::default()
        };
        assert!(fewer_arms(&sample(MOST_ARMS).results()).is_none());
        let results = sample(2000).results();
        let (fewer, note) = fewer_arms(&results).unwrap();
        assert_eq!((fewer.arms.len(), fewer.cells.len(), fewer.runs.len()), (40, 40, 80));
        assert_eq!((fewer.arms[0].as_str(), fewer.arms[39].as_str()), ("policy-0", "policy-1999"));
        assert!(fewer.cells.iter().all(|cell| fewer.arms[cell.arm] == results.arms[cell.number]));
        assert_eq!(note, "Shown are 40 of 2000 arms, spread evenly.");
        for (stem, figure) in crate::figures::charts::figures(&results) {
            assert!(figure.notes.contains(&note) || figure.panels.len() < 10, "{stem}: {:?}", figure.notes);
            assert!(figure.height < 4000 && figure.panels.len() < 200, "{stem}: {}", figure.height);
        }
    }

    #[test]
    fn arms_without_an_axis_belong_to_every_facet() {
        let results = SampleFolder::five_hundred_cells().results();
        assert!(results.cells.len() >= 500);
        let facets = facets(&results, Some(0));
        assert_eq!(facets.len(), 40);
        assert_eq!(facets[1].label, "rate 50");
        let held = results.cells.iter().filter(|cell| facets[1].holds(cell)).count();
        assert_eq!(held, 13, "two arms once and eleven values of the third");
    }
}

//! Whether backends can keep up, from the rules alone, before anything is simulated: the offered load of each zone, as the
//! experiment begins and around each scripted fault, and warnings where it is above 1.

use serde::{Deserialize, Serialize};

use super::expect::{FaultPhase, PhaseLoad, phases};
use super::gather::{distinct, grouped, span_text};
use crate::experiment::{Cell, Experiment};
use crate::lb::backend::Role;
use crate::metrics::unit::Unit;
use crate::time::SimDuration;

/// Experiments with more cells are not looked at: nobody reads as many rows.
const CELLS_MAX: usize = 500;

/// The offered loads of cells around one fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedRow {
    /// The cells, in words.
    pub cells: String,
    /// The fault, in words; `as it begins` for the beginning.
    pub when: String,
    /// Each zone and role that has backends.
    pub loads: Vec<OfferedLoad>,
}

/// The offered load of one zone and role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// The zone, with the role if it is not the primary one.
    pub place: String,
    /// Just before the fault; absent without a limit of workers, or where none serves.
    pub before: Option<f64>,
    /// While it lasts and is noticed; absent likewise.
    pub during: Option<f64>,
}

impl OfferedLoad {
    /// Both in words: one number where nothing changes.
    pub fn text(&self) -> String {
        let text = |load: Option<f64>| load.map_or_else(|| "–".to_owned(), |load| Unit::Percent.text(load));
        let [before, during] = [self.before, self.during].map(text);
        if before == during { before } else { format!("{before} → {during}") }
    }

    fn is_overload(&self) -> bool {
        self.during.is_some_and(|load| load > 1.0) || self.before.is_some_and(|load| load > 1.0)
    }
}

/// The table of `rows`: header, then a line each of texts; the places of all rows have their columns.
pub fn offered_table(rows: &[OfferedRow]) -> (Vec<String>, Vec<Vec<String>>) {
    let places = distinct(rows.iter().flat_map(|row| row.loads.iter().map(|load| load.place.as_str())));
    let header = ["cells", "offered load"].into_iter().chain(places.iter().copied()).map(str::to_owned);
    let line = |row: &OfferedRow| {
        let at = |place: &&str| row.loads.iter().find(|load| load.place == **place);
        let loads = places.iter().map(|place| at(place).map_or_else(String::new, OfferedLoad::text));
        [row.cells.clone(), row.when.clone()].into_iter().chain(loads).collect()
    };
    (header.collect(), rows.iter().map(line).collect())
}

/// The rows of `experiment`: cells of which the same is expected share theirs.
pub fn offered_rows(experiment: &Experiment) -> Vec<OfferedRow> {
    if experiment.cells().len() > CELLS_MAX {
        return Vec::new();
    }
    let known = experiment.cells().iter().map(|cell| {
        let found = phases(&experiment.scenario(cell));
        (cell, experiment.words(cell), found)
    });
    let groups = grouped(known, |(_, words, found), (_, others, other)| words == others && found == other);
    let cells = groups.iter().map(|group| group.iter().map(|(cell, ..)| *cell).collect::<Vec<&Cell>>());
    cells.flat_map(|cells| cell_rows(experiment, &cells)).collect()
}

/// The rows of `cells`, of which the same is expected.
pub fn cell_rows(experiment: &Experiment, cells: &[&Cell]) -> Vec<OfferedRow> {
    let Some(first) = cells.first() else { return Vec::new() };
    phases(&experiment.scenario(first)).iter().map(|phase| row(experiment, cells, phase)).collect()
}

fn row(experiment: &Experiment, cells: &[&Cell], phase: &FaultPhase) -> OfferedRow {
    let scenario = experiment.scenario(cells[0]);
    let when = match phase.fault {
        None => "as it begins".to_owned(),
        Some(number) => {
            let words = &experiment.words(cells[0]).faults[number];
            let at = scenario.faults[number].schedule.start();
            let at = SimDuration::from_nanos(at.as_nanos());
            format!("{} of {} at {at}", words.kind, words.target)
        }
    };
    let load = |load: &PhaseLoad| OfferedLoad {
        place: match load.role {
            Role::Primary => scenario.zones[load.zone].clone(),
            role => format!("{} ({})", scenario.zones[load.zone], role.name()),
        },
        before: load.before,
        during: load.during,
    };
    OfferedRow { cells: span_text(cells), when, loads: phase.loads.iter().map(load).collect() }
}

/// A line for each overload, and one for each default that it may come of.
pub fn overload_warnings(experiment: &Experiment, rows: &[OfferedRow]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        for load in row.loads.iter().filter(|load| load.is_overload()) {
            let OfferedRow { cells, when, .. } = row;
            lines.push(format!(
                "the offered load of {} is above 100 % ({when}: {}) in {cells}: queues there grow until they are full",
                load.place,
                load.text(),
            ));
        }
    }
    if !lines.is_empty() {
        lines.extend(experiment.load_defaults());
    }
    lines
}

//! Whether backends can keep up, from the rules alone, before anything is simulated: the offered load of each zone, as the
//! experiment begins and around each scripted fault, and warnings where it is above 1.

use serde::{Deserialize, Serialize};

use super::expect::{FaultPhase, PhaseLoad, phases};
use super::gather::{distinct, grouped, span_text};
use crate::experiment::{Cell, Experiment};
use crate::lb::backend::Role;
use crate::metrics::unit::Unit;
use crate::sim::scenario::{ClientGroup, Scenario};
use crate::time::SimDuration;

/// What the row of the beginning is called.
const BEGINNING: &str = "as it begins";

/// The offered loads of an experiment, or of some of its cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoads {
    /// The loads as it begins, and around each fault.
    #[serde(rename = "offered_load", default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<OfferedRow>,
    /// A sentence for each row in which something is too much, and for each default that it may come of.
    #[serde(rename = "overload", default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The client groups that the rules alone say nothing of.
    #[serde(rename = "offered_load_leaves_out", default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

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

    /// Whether it is too much, and was not before.
    fn becomes_too_much(&self, is_first: bool) -> bool {
        self.during.is_some_and(|during| {
            during > 1.0 && (is_first || self.before.is_none_or(|before| during > before))
        })
    }
}

impl OfferedLoads {
    /// What is offered in `cells` of `experiment`; those of which the same is expected share their rows.
    pub fn of(experiment: &Experiment, cells: &[&Cell]) -> Self {
        let known = cells.iter().map(|cell| {
            let found = phases(&experiment.scenario(cell));
            (*cell, experiment.words(cell), found)
        });
        let groups =
            grouped(known, |(_, words, found), (_, others, other)| words == others && found == other);
        let mut all = Self::default();
        for group in groups {
            let cells: Vec<&Cell> = group.iter().map(|(cell, ..)| *cell).collect();
            all.rows.extend(group[0].2.iter().map(|phase| row(experiment, &cells, phase)));
        }
        all.warnings = all.rows.iter().filter_map(OfferedRow::warning).collect();
        if !all.warnings.is_empty() {
            all.warnings.extend(experiment.load_defaults());
        }
        all.left_out = distinct(cells.iter().flat_map(|cell| left_out(&experiment.scenario(cell))));
        all
    }

    /// Whether nothing is offered that could be too much: no backend has a limit of workers.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.loads).all(|load| load.before.is_none() && load.during.is_none())
    }

    /// Whether a fault changes it.
    pub fn changes(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.loads).any(|load| load.before != load.during)
    }

    /// Which clients are left out, in a sentence; nothing if none are.
    pub fn left_out(&self) -> Option<String> {
        (!self.left_out.is_empty()).then(|| {
            format!(
                "The offered load leaves out {}: how often they call follows from what they get, or they call themselves.",
                self.left_out.join(", ")
            )
        })
    }

    /// The table: header, then a line each of texts; the places of all rows have their columns.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let loads = self.rows.iter().flat_map(|row| &row.loads);
        let places = distinct(loads.map(|load| load.place.as_str()));
        let header = ["cells", "offered load"].into_iter().chain(places.iter().copied()).map(str::to_owned);
        let line = |row: &OfferedRow| {
            let at = |place: &&str| row.loads.iter().find(|load| load.place == **place);
            let loads = places.iter().map(|place| at(place).map_or_else(String::new, OfferedLoad::text));
            [row.cells.clone(), row.when.clone()].into_iter().chain(loads).collect()
        };
        (header.collect(), self.rows.iter().map(line).collect())
    }
}

impl OfferedRow {
    /// A sentence about the places where it is too much, if there are any.
    fn warning(&self) -> Option<String> {
        let Self { cells, when, loads } = self;
        let full: Vec<&OfferedLoad> =
            loads.iter().filter(|load| load.becomes_too_much(when == BEGINNING)).collect();
        let join = |text: &dyn Fn(&OfferedLoad) -> String| {
            full.iter().map(|load| text(load)).collect::<Vec<_>>().join(", ")
        };
        let (places, shares) = (join(&|load| load.place.clone()), join(&OfferedLoad::text));
        (!full.is_empty()).then(|| {
            format!(
                "the offered load of {places} is above 100 % ({when}: {shares}) in {cells}: queues there grow until they \
                 are full"
            )
        })
    }
}

/// The client groups of which no rate is known ahead, or that never reach another machine.
fn left_out(scenario: &Scenario) -> Vec<String> {
    let is_out =
        |client: &&ClientGroup| client.arrivals.mean_rate().is_none() || !client.own_backends.is_empty();
    scenario.clients.iter().filter(is_out).map(|client| client.name.clone()).collect()
}

fn row(experiment: &Experiment, cells: &[&Cell], phase: &FaultPhase) -> OfferedRow {
    let scenario = experiment.scenario(cells[0]);
    let when = match phase.fault {
        None => BEGINNING.to_owned(),
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

//! The worlds of all cells, each of them read once, when the file is.
//!
//! Cells differ in little: equal parts of their worlds are kept once. A part that an axis changes costs a cell four bytes;
//! one that all cells share costs nothing. A [`Scenario`] is put together of copies of its parts when a cell is run, and
//! shared by its runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::PerCell;
use crate::ids::{BackendId, ClientId, GroupId, IdVec, PlaceId, ZoneId};
use crate::lb::Settings;
use crate::lb::health::HealthChecking;
use crate::random::Distribution;
use crate::sim::scenario::{
    BackendSpec, ClientGroup, Fault, Group, Operation, Place, Prices, Scenario, Timing,
};
use crate::time::SimDuration;

/// What one cell simulates, and what the file calls it.
pub(super) type CellWorld = (Scenario, WorldWords);

/// What the file says in names that a scenario has no use for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorldWords {
    /// The name of the region.
    pub region: String,
    /// Of each fault of the scenario, in its order.
    pub faults: Vec<FaultWords>,
    /// What each operation of the scenario does, in its order.
    pub operations: Vec<String>,
}

/// What a fault is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultWords {
    /// What it does: `silent`.
    pub kind: String,
    /// What it strikes: `us-central1-a (50 %)`.
    pub target: String,
}

/// The worlds of all cells, part by part.
#[derive(Debug, Default)]
pub(super) struct Worlds {
    timing: PerCell<Timing>,
    zones: PerCell<IdVec<ZoneId, String>>,
    places: PerCell<IdVec<PlaceId, Place>>,
    round_trips: PerCell<IdVec<PlaceId, IdVec<ZoneId, Distribution<SimDuration>>>>,
    prices: PerCell<Prices>,
    balancer: PerCell<Settings>,
    health_check: PerCell<HealthChecking>,
    groups: PerCell<IdVec<GroupId, Group>>,
    backends: PerCell<IdVec<BackendId, BackendSpec>>,
    /// The client groups, each of which may depend on an axis of its own.
    clients: PerCell<ClientGroup>,
    /// Their positions there.
    clients_of: PerCell<IdVec<ClientId, u32>>,
    faults: PerCell<Vec<Fault>>,
    operations: PerCell<Vec<Operation>>,
    words: PerCell<WorldWords>,
}

impl Worlds {
    /// Adds the world of cell number `cell`, which comes next.
    pub(super) fn put(&mut self, cell: usize, (scenario, words): CellWorld) {
        self.timing.put(cell, scenario.timing);
        self.zones.put(cell, scenario.zones);
        self.places.put(cell, scenario.places);
        self.round_trips.put(cell, scenario.round_trips);
        self.prices.put(cell, scenario.prices);
        self.balancer.put(cell, scenario.balancer);
        self.health_check.put(cell, scenario.health_check);
        self.groups.put(cell, scenario.groups);
        self.backends.put(cell, scenario.backends);
        let clients = scenario.clients.into_iter().map(|client| self.clients.keep(client)).collect();
        self.clients_of.put(cell, clients);
        self.faults.put(cell, scenario.faults);
        self.operations.put(cell, scenario.operations);
        self.words.put(cell, words);
    }

    pub(super) fn scenario(&self, cell: usize) -> Scenario {
        let clients = of(&self.clients_of, cell).iter();
        Scenario {
            timing: *of(&self.timing, cell),
            zones: of(&self.zones, cell).clone(),
            places: of(&self.places, cell).clone(),
            round_trips: of(&self.round_trips, cell).clone(),
            prices: *of(&self.prices, cell),
            balancer: of(&self.balancer, cell).clone(),
            health_check: *of(&self.health_check, cell),
            groups: of(&self.groups, cell).clone(),
            backends: of(&self.backends, cell).clone(),
            clients: clients.map(|position| self.clients.values()[*position as usize].clone()).collect(),
            faults: of(&self.faults, cell).clone(),
            operations: of(&self.operations, cell).clone(),
        }
    }

    /// How many different zones, backends, balancers, client groups and faults there are.
    #[cfg(test)]
    pub(super) fn distinct(&self) -> [usize; 5] {
        let (zones, backends) = (self.zones.values().len(), self.backends.values().len());
        let (balancers, clients) = (self.balancer.values().len(), self.clients.values().len());
        [zones, backends, balancers, clients, self.faults.values().len()]
    }

    pub(super) fn words(&self, cell: usize) -> &WorldWords {
        of(&self.words, cell)
    }
}

fn of<T>(parts: &PerCell<T>, cell: usize) -> &T {
    parts.get(cell).expect("every cell has been given its world")
}

/// How many scenarios are at hand for the next run of their cell.
const RECENT_MAX: usize = 64;

/// The scenarios that were asked for last, by cell.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<VecDeque<(usize, Arc<Scenario>)>>);

impl Recent {
    /// The scenario of cell number `cell`, which `make` puts together if it is not at hand.
    pub(super) fn get(&self, cell: usize, make: impl FnOnce() -> Scenario) -> Arc<Scenario> {
        let mut recent = self.0.lock().expect("copying parts does not panic");
        if let Some((_, found)) = recent.iter().find(|(number, _)| *number == cell) {
            return Arc::clone(found);
        }
        let made = Arc::new(make());
        if recent.len() == RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back((cell, Arc::clone(&made)));
        made
    }
}

//! The worlds of all cells, each of them read once, when the file is.
//!
//! Cells differ in little: equal parts of their worlds are kept once. A part that an axis changes costs a cell four bytes;
//! one that all cells share costs nothing. A [`Scenario`] is put together of copies of its parts when a cell is run, and
//! shared by its runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::PerCell;
use super::finding::CellFinding;
use crate::ids::{BackendId, BalancerId, ClientId, GroupId, IdVec, JudgeId, PlaceId, RuleId, ZoneId};
use crate::lb::Settings;
use crate::random::Distribution;
use crate::sim::scenario::{
    BackendSpec, BalancerSpec, ClientGroup, Fault, Group, InitialHealth, Judge, Membership, Operation, Place,
    Prices, RuleSpec, Scenario, Timing,
};
use crate::time::SimDuration;

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

/// The worlds of all cells, in parts of which an axis changes one.
#[derive(Debug, Default)]
pub(super) struct Worlds {
    numbers: PerCell<(Timing, Prices, InitialHealth)>,
    network: PerCell<Network>,
    judges: PerCell<IdVec<JudgeId, Judge>>,
    /// Of each load balancer its name and settings.
    balancers: PerCell<IdVec<BalancerId, (String, Settings)>>,
    /// Of each load balancer what machines are to it.
    members: PerCell<IdVec<BalancerId, IdVec<BackendId, Membership>>>,
    rules: PerCell<IdVec<RuleId, RuleSpec>>,
    groups: PerCell<IdVec<GroupId, Group>>,
    backends: PerCell<IdVec<BackendId, BackendSpec>>,
    /// The client groups, each of which may depend on an axis of its own.
    clients: PerCell<ClientGroup>,
    /// Their positions there.
    clients_of: PerCell<IdVec<ClientId, u32>>,
    events: PerCell<(Vec<Fault>, Vec<Operation>)>,
    words: PerCell<WorldWords>,
    findings: PerCell<Vec<CellFinding>>,
}

type RoundTrips = IdVec<PlaceId, IdVec<ZoneId, Distribution<SimDuration>>>;
type Network = (IdVec<ZoneId, String>, IdVec<PlaceId, Place>, RoundTrips);

impl Worlds {
    /// Adds the world of cell number `cell`, which comes next.
    pub(super) fn put(&mut self, cell: usize, (scenario, words): CellWorld) {
        let Scenario { timing, prices, initial_health, .. } = scenario;
        self.numbers.put(cell, (timing, prices, initial_health));
        self.network.put(cell, (scenario.zones, scenario.places, scenario.round_trips));
        self.judges.put(cell, scenario.judges);
        let (members, balancers): (Vec<_>, Vec<_>) = scenario
            .balancers
            .into_iter()
            .map(|BalancerSpec { name, settings, members }| (members, (name, settings)))
            .unzip();
        self.members.put(cell, members.into_iter().collect());
        self.balancers.put(cell, balancers.into_iter().collect());
        self.rules.put(cell, scenario.rules);
        self.groups.put(cell, scenario.groups);
        self.backends.put(cell, scenario.backends);
        let clients = scenario.clients.into_iter().map(|client| self.clients.keep(client)).collect();
        self.clients_of.put(cell, clients);
        self.events.put(cell, (scenario.faults, scenario.operations));
        self.words.put(cell, words);
    }

    /// Keeps what was found in the world of cell number `cell`, which comes next.
    pub(super) fn put_findings(&mut self, cell: usize, findings: Vec<CellFinding>) {
        self.findings.put(cell, findings);
    }

    pub(super) fn findings(&self, cell: usize) -> &[CellFinding] {
        self.findings.get(cell).map_or(&[], Vec::as_slice)
    }

    pub(super) fn scenario(&self, cell: usize) -> Scenario {
        let (timing, prices, initial_health) = *of(&self.numbers, cell);
        let (zones, places, round_trips) = of(&self.network, cell).clone();
        let (faults, operations) = of(&self.events, cell).clone();
        let clients = of(&self.clients_of, cell).iter();
        let clients = clients.map(|position| self.clients.values()[*position as usize].clone()).collect();
        Scenario {
            timing,
            zones,
            places,
            round_trips,
            prices,
            balancers: self.balancers(cell),
            rules: of(&self.rules, cell).clone(),
            judges: of(&self.judges, cell).clone(),
            groups: of(&self.groups, cell).clone(),
            backends: of(&self.backends, cell).clone(),
            clients,
            initial_health,
            faults,
            operations,
        }
    }

    fn balancers(&self, cell: usize) -> IdVec<BalancerId, BalancerSpec> {
        let both = of(&self.balancers, cell).iter().zip(of(&self.members, cell));
        let spec = |((name, settings), members): (&(String, Settings), &IdVec<BackendId, Membership>)| {
            BalancerSpec { name: name.clone(), settings: settings.clone(), members: members.clone() }
        };
        both.map(spec).collect()
    }

    /// Whether some cell has several forwarding rules.
    pub(super) fn has_several_rules(&self) -> bool {
        self.rules.values().iter().any(|rules| rules.len() > 1)
    }

    /// How many different zones, backends, balancers, client groups and faults there are.
    #[cfg(test)]
    pub(super) fn distinct(&self) -> [usize; 5] {
        let (zones, backends) = (self.network.values().len(), self.backends.values().len());
        let (balancers, clients) = (self.balancers.values().len(), self.clients.values().len());
        [zones, backends, balancers, clients, self.events.values().len()]
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

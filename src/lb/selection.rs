//! Which member of a set a connection goes to: consistent hashing (HASH-1).

mod maglev;
mod rendezvous;

use super::backend::{BackendSet, Moves, Roster};
use crate::ids::{BackendId, IdVec};
use maglev::{Candidate, Maglev};
pub use maglev::{NotATableSize, TableSize};
use rendezvous::Rendezvous;

/// The hash function that selects (HASH-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionHash {
    /// Rendezvous hashing: internal load balancers.
    Rendezvous,
    /// Maglev with a table of this size: external load balancers.
    Maglev(TableSize),
}

/// A selector for every set of backends, kept up to date one backend at a time.
#[derive(Clone, Debug)]
pub(super) struct Selectors {
    zones: usize,
    hash: SelectionHash,
    /// The weight of each backend in sets of healthy ones; others weigh the same (O15).
    weights: IdVec<BackendId, f64>,
    by_set: Vec<Selector>,
}

/// The members of one set.
#[derive(Clone, Debug)]
enum Selector {
    Rendezvous(Rendezvous),
    /// The table is made when it is first needed, and made anew after a change.
    Maglev {
        members: Vec<BackendId>,
        table: Option<Maglev>,
    },
}

impl Selectors {
    pub(super) fn new(roster: &Roster, hash: SelectionHash) -> Self {
        let zones = roster.zones();
        let empty = match hash {
            SelectionHash::Rendezvous => Selector::Rendezvous(Rendezvous::default()),
            SelectionHash::Maglev(_) => Selector::Maglev { members: Vec::new(), table: None },
        };
        let mut selectors = Self {
            zones,
            hash,
            weights: roster.all().iter().map(|_| 1.0).collect(),
            by_set: vec![empty; BackendSet::slots(zones)],
        };
        selectors.fill(roster);
        selectors
    }

    /// Moves `id` out of and into sets.
    pub(super) fn apply(&mut self, roster: &Roster, id: BackendId, moves: &Moves) {
        for set in &moves.left {
            self.by_set[set.slot(self.zones)].remove(id);
        }
        for set in &moves.joined {
            self.join(roster, id, *set);
        }
    }

    /// Weighs backends by `weights` from now on.
    pub(super) fn set_weights(&mut self, roster: &Roster, weights: IdVec<BackendId, f64>) {
        if weights == self.weights {
            return;
        }
        self.weights = weights;
        self.by_set.iter_mut().for_each(Selector::clear);
        self.fill(roster);
    }

    /// The member of `set` that the connection with selection hash `hash` goes to; `None` if it is empty.
    #[inline]
    pub(super) fn pick(&mut self, roster: &Roster, set: BackendSet, hash: u64) -> Option<BackendId> {
        match &mut self.by_set[set.slot(self.zones)] {
            Selector::Rendezvous(rendezvous) => rendezvous.pick(hash),
            Selector::Maglev { members, table } => {
                let SelectionHash::Maglev(size) = self.hash else {
                    unreachable!("selectors are of one kind")
                };
                let weights = &self.weights;
                let table = table.get_or_insert_with(|| {
                    let weight = |id| if set.healthy_only { weights[id] } else { 1.0 };
                    make_table(roster, size, members, weight)
                });
                table.pick(hash)
            }
        }
    }

    fn fill(&mut self, roster: &Roster) {
        for (id, member) in roster.all().pairs() {
            for set in BackendSet::around(&member.backend) {
                if member.configured && set.contains(&member.backend, member.healthy) {
                    self.join(roster, id, set);
                }
            }
        }
    }

    fn join(&mut self, roster: &Roster, id: BackendId, set: BackendSet) {
        let weight = if set.healthy_only { self.weights[id] } else { 1.0 };
        match &mut self.by_set[set.slot(self.zones)] {
            Selector::Rendezvous(rendezvous) => rendezvous.add(id, roster.name(id), weight),
            Selector::Maglev { members, table } => {
                members.push(id);
                *table = None;
            }
        }
    }
}

/// The table of `members`. Where all weigh nothing, all weigh the same (WGT-2).
fn make_table(
    roster: &Roster,
    size: TableSize,
    members: &[BackendId],
    weight: impl Fn(BackendId) -> f64,
) -> Maglev {
    let weighted = members.iter().any(|id| weight(*id) > 0.0);
    let candidates: Vec<Candidate<'_>> = members
        .iter()
        .map(|id| Candidate {
            id: *id,
            name: roster.name(*id),
            weight: if weighted { weight(*id) } else { 1.0 },
        })
        .filter(|candidate| candidate.weight > 0.0)
        .collect();
    Maglev::new(size, &candidates)
}

impl Selector {
    fn remove(&mut self, id: BackendId) {
        match self {
            Self::Rendezvous(rendezvous) => rendezvous.remove(id),
            Self::Maglev { members, table } => {
                members.retain(|member| *member != id);
                *table = None;
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Rendezvous(rendezvous) => *rendezvous = Rendezvous::default(),
            Self::Maglev { members, table } => {
                members.clear();
                *table = None;
            }
        }
    }
}

//! Which member of a set a connection goes to: consistent hashing (HASH-1).

mod maglev;
mod rendezvous;
mod sequence;

use super::roster::{Moves, Roster};
use super::sets::SetSpec;
use crate::ids::{BackendId, Id, IdVec, SetId};
use crate::random::hash_bytes;
use maglev::Maglev;
pub use maglev::TableSize;
use rendezvous::Rendezvous;
use sequence::Sequence;

/// The hash function that selects (HASH-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionHash {
    /// Rendezvous hashing: internal load balancers. Where more than 32 backends can be in a set, a key looks for one of
    /// equal weight along a sequence of its own, which has the same properties but does not score all of them.
    Rendezvous,
    /// Maglev with a table of this size: external load balancers.
    Maglev(TableSize),
}

#[derive(Clone, Debug)]
pub(super) struct Selectors {
    hash: SelectionHash,
    /// The weight of each backend in sets of healthy ones; others weigh the same (O15).
    weights: IdVec<BackendId, f64>,
    seats: IdVec<BackendId, Seats>,
    by_set: IdVec<SetId, Selector>,
}

/// The most backends that rendezvous hashing scores for every key.
const FEW: usize = 32;

/// A backend's place among all of the region and of its zone, in an order that only their names decide.
#[derive(Clone, Copy, Debug)]
struct Seats {
    everywhere: usize,
    in_zone: usize,
}

/// The members of one set. A table of Maglev is made when it is first needed, and made anew after a change.
#[derive(Clone, Debug)]
enum Selector {
    Rendezvous(Rendezvous),
    Sequence(Sequence),
    Maglev { members: Vec<BackendId>, table: Option<Maglev> },
}

impl Selectors {
    pub(super) fn new(roster: &Roster, hash: SelectionHash) -> Self {
        let mut selectors = Self {
            hash,
            weights: roster.all().iter().map(|_| 1.0).collect(),
            seats: seats(roster),
            by_set: IdVec::default(),
        };
        selectors.follow_sets(roster);
        selectors
    }

    pub(super) fn follow_sets(&mut self, roster: &Roster) {
        self.by_set = roster.specs().iter().map(|spec| empty(roster, self.hash, spec)).collect();
        for set in roster.specs().ids() {
            roster.members(set).for_each(|id| self.join(roster, id, set));
        }
    }

    pub(super) fn apply(&mut self, roster: &Roster, id: BackendId, moves: &Moves) {
        for set in &moves.left {
            self.by_set[*set].remove(id, self.seats[id].of(&roster.specs()[*set]));
        }
        for set in &moves.joined {
            self.join(roster, id, *set);
        }
    }

    pub(super) fn set_weights(&mut self, roster: &Roster, weights: IdVec<BackendId, f64>) {
        if weights != self.weights {
            self.weights = weights;
            self.follow_sets(roster);
        }
    }

    /// The member of `set` that `hash` selects; `None` if it is empty.
    #[inline(always)]
    pub(super) fn pick(&mut self, roster: &Roster, set: SetId, hash: u64) -> Option<BackendId> {
        match &mut self.by_set[set] {
            Selector::Rendezvous(rendezvous) => rendezvous.pick(hash),
            Selector::Sequence(sequence) => sequence.pick(hash),
            Selector::Maglev { table: Some(table), .. } => table.pick(hash),
            Selector::Maglev { members, table: table @ None } => {
                let SelectionHash::Maglev(size) = self.hash else {
                    unreachable!("selectors are of one kind")
                };
                let weights = &self.weights;
                let weight = |id| if roster.specs()[set].healthy_only { weights[id] } else { 1.0 };
                table.insert(make_table(roster, size, members, weight)).pick(hash)
            }
        }
    }

    /// The members of `set` that some connection is selected for. Where all weigh nothing, all are (WGT-2).
    pub(super) fn candidates(&self, roster: &Roster, set: SetId) -> Vec<BackendId> {
        let healthy_only = roster.specs()[set].healthy_only;
        let members: Vec<BackendId> = roster.members(set).collect();
        let weighs = |id: &BackendId| !healthy_only || self.weights[*id] > 0.0;
        let weighty: Vec<BackendId> = members.iter().copied().filter(weighs).collect();
        if weighty.is_empty() { members } else { weighty }
    }

    fn join(&mut self, roster: &Roster, id: BackendId, set: SetId) {
        let spec = &roster.specs()[set];
        let weight = if spec.healthy_only { self.weights[id] } else { 1.0 };
        match &mut self.by_set[set] {
            Selector::Rendezvous(rendezvous) => rendezvous.add(id, roster.name(id), weight),
            Selector::Sequence(sequence) => {
                let seats = roster.population(spec.zone);
                sequence.add(id, (self.seats[id].of(spec), seats), roster.name(id), weight);
            }
            Selector::Maglev { members, table } => {
                members.push(id);
                *table = None;
            }
        }
    }
}

/// The table of `members`. Where all weigh nothing, all weigh the same (WGT-2).
#[cold]
fn make_table(
    roster: &Roster,
    size: TableSize,
    members: &[BackendId],
    weight: impl Fn(BackendId) -> f64,
) -> Maglev {
    let weighted = members.iter().any(|id| weight(*id) > 0.0);
    let candidates =
        members.iter().map(|id| (*id, roster.name(*id), if weighted { weight(*id) } else { 1.0 }));
    Maglev::new(size, candidates.filter(|(.., weight)| *weight > 0.0).collect())
}

impl Seats {
    fn of(self, spec: &SetSpec) -> usize {
        if spec.zone.is_some() { self.in_zone } else { self.everywhere }
    }
}

/// The seats of all backends, in order of their names' hashes.
fn seats(roster: &Roster) -> IdVec<BackendId, Seats> {
    let mut order: Vec<BackendId> = roster.all().ids().collect();
    order.sort_by_cached_key(|id| (hash_bytes(0, roster.name(*id).as_bytes()), *id));
    let mut seats: IdVec<BackendId, Seats> =
        roster.all().iter().map(|_| Seats { everywhere: 0, in_zone: 0 }).collect();
    let mut taken = vec![0; roster.zones()];
    for (everywhere, id) in order.into_iter().enumerate() {
        let in_zone = &mut taken[roster.member(id).zone.index()];
        seats[id] = Seats { everywhere, in_zone: *in_zone };
        *in_zone += 1;
    }
    seats
}

fn empty(roster: &Roster, hash: SelectionHash, spec: &SetSpec) -> Selector {
    let most = spec.among.as_ref().map_or(usize::MAX, Vec::len).min(roster.population(spec.zone));
    match hash {
        SelectionHash::Maglev(_) => Selector::Maglev { members: Vec::new(), table: None },
        SelectionHash::Rendezvous if most > FEW => Selector::Sequence(Sequence::default()),
        SelectionHash::Rendezvous => Selector::Rendezvous(Rendezvous::default()),
    }
}

impl Selector {
    fn remove(&mut self, id: BackendId, seat: usize) {
        match self {
            Self::Rendezvous(rendezvous) => rendezvous.remove(id),
            Self::Sequence(sequence) => sequence.remove(id, seat),
            Self::Maglev { members, table } => {
                members.retain(|member| *member != id);
                *table = None;
            }
        }
    }
}

//! Which member of a set a connection goes to: consistent hashing (HASH-1).

mod rendezvous;

use super::backend::{Backend, BackendSet, Roster};
use crate::ids::BackendId;
use rendezvous::Rendezvous;

/// A selector for every set of backends, kept up to date one backend at a time.
#[derive(Clone, Debug)]
pub(super) struct Selectors {
    zones: usize,
    by_set: Vec<Rendezvous>,
}

impl Selectors {
    pub(super) fn new(roster: &Roster) -> Self {
        let zones = roster.zones();
        let mut selectors = Self { zones, by_set: vec![Rendezvous::default(); BackendSet::slots(zones)] };
        for (id, backend) in roster.backends().pairs() {
            for set in BackendSet::around(backend).filter(|set| set.contains(backend, roster.is_healthy(id)))
            {
                selectors.by_set[set.slot(zones)].add(id, &backend.name);
            }
        }
        selectors
    }

    /// Moves `id` into or out of the sets of healthy backends.
    pub(super) fn set_health(&mut self, id: BackendId, backend: &Backend, healthy: bool) {
        for set in BackendSet::around(backend).filter(|set| set.healthy_only) {
            let selector = &mut self.by_set[set.slot(self.zones)];
            if healthy { selector.add(id, &backend.name) } else { selector.remove(id) }
        }
    }

    /// The member of `set` that the connection with selection hash `hash` goes to; `None` if it is empty.
    #[inline]
    pub(super) fn pick(&self, set: BackendSet, hash: u64) -> Option<BackendId> {
        self.by_set[set.slot(self.zones)].pick(hash)
    }
}

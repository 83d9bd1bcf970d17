//! Groups of instances: who is in them, and who ever will be.

use std::collections::BTreeSet;

use crate::ids::{BackendId, ZoneId};

/// A group of instances, or the entries of a target pool that share a name. Members are numbered from 1; a number is
/// never used twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Instances {
    name: String,
    /// The zones that members are dealt out to in turn.
    zones: Vec<ZoneId>,
    /// The pool that they are in, if there are pools.
    pool: Option<usize>,
    present: BTreeSet<u32>,
    /// The highest number so far.
    highest: u32,
    /// The backends that members are, from number 1 to the highest that there will ever be; none if the load balancer
    /// never sends them anything.
    backends: Vec<BackendId>,
}

impl Instances {
    /// A group of `size` members. `backends` are those that they and later ones are.
    pub(in super::super) fn new(
        name: &str,
        zones: Vec<ZoneId>,
        pool: Option<usize>,
        size: u32,
        backends: Vec<BackendId>,
    ) -> Self {
        Self { name: name.to_owned(), zones, pool, present: (1..=size).collect(), highest: size, backends }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn pool(&self) -> Option<usize> {
        self.pool
    }

    /// The name of member `number`.
    pub(super) fn member(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// The zone of member `number`.
    pub(super) fn zone(&self, number: u32) -> ZoneId {
        self.zones[(number as usize - 1) % self.zones.len()]
    }

    /// The backend that member `number` is.
    pub(super) fn backend(&self, number: u32) -> Option<BackendId> {
        self.backends.get(number as usize - 1).copied()
    }

    /// Every backend that is ever a member.
    pub(super) fn backends(&self) -> &[BackendId] {
        &self.backends
    }

    /// The numbers of its members.
    pub(super) fn present(&self) -> &BTreeSet<u32> {
        &self.present
    }

    /// Adds `count` members, and gives their numbers.
    pub(super) fn add(&mut self, count: u32) -> Vec<u32> {
        let new: Vec<u32> = (self.highest + 1..=self.highest + count).collect();
        self.highest += count;
        self.present.extend(&new);
        new
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, number: u32) {
        self.present.remove(&number);
    }
}

//! Backends, the sets that the rules speak of, and who of them is healthy.

use crate::ids::{BackendId, Id, IdVec, ZoneId};

/// What a backend is for in the failover policy (ELIG-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Serves while the failover policy allows.
    Primary,
    /// Takes over from the primaries.
    Failover,
}

impl Role {
    const COUNT: usize = 2;
}

/// One instance or endpoint as the load balancer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Its name; selection hashes it, so that results do not depend on the order of backends.
    pub name: String,
    /// The zone it runs in.
    pub zone: ZoneId,
    /// Primary or failover.
    pub role: Role,
}

/// A set of backends, by what its members have in common.
///
/// Every set of the rules (original eligible, test, matched, intersection, modified) has this form, so that a
/// decision costs a few counters and a change of health touches only the sets that its backend belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendSet {
    /// The role that all members have.
    pub role: Role,
    /// The zone that all members are in; any zone if absent.
    pub zone: Option<ZoneId>,
    /// Whether only healthy backends are members.
    pub healthy_only: bool,
}

impl BackendSet {
    /// All configured backends of `role`.
    pub fn configured(role: Role) -> Self {
        Self { role, zone: None, healthy_only: false }
    }

    /// The healthy backends of `role`.
    pub fn healthy(role: Role) -> Self {
        Self { role, zone: None, healthy_only: true }
    }

    /// The members that are in `zone`.
    pub fn in_zone(self, zone: ZoneId) -> Self {
        Self { zone: Some(zone), ..self }
    }

    /// Whether `backend` with this state of health is a member.
    pub fn contains(self, backend: &Backend, healthy: bool) -> bool {
        self.role == backend.role
            && self.zone.is_none_or(|zone| zone == backend.zone)
            && (healthy || !self.healthy_only)
    }

    /// A dense number for each set over `zones` zones, below [`Self::slots`].
    pub(super) fn slot(self, zones: usize) -> usize {
        let place = self.zone.map_or(zones, Id::index);
        (place * Role::COUNT + self.role as usize) * 2 + usize::from(self.healthy_only)
    }

    /// How many sets there are over `zones` zones.
    pub(super) fn slots(zones: usize) -> usize {
        (zones + 1) * Role::COUNT * 2
    }

    /// Every set that `backend` can be a member of.
    pub(super) fn around(backend: &Backend) -> impl Iterator<Item = Self> + use<> {
        let (role, zone) = (backend.role, backend.zone);
        [false, true].into_iter().flat_map(move |healthy_only| {
            [None, Some(zone)].into_iter().map(move |zone| Self { role, zone, healthy_only })
        })
    }
}

/// The configured backends with their health and the size of every set.
#[derive(Clone, Debug)]
pub struct Roster {
    backends: IdVec<BackendId, Backend>,
    healthy: IdVec<BackendId, bool>,
    zones: usize,
    sizes: Vec<usize>,
}

impl Roster {
    /// A roster of `backends` in a region of `zones` zones, with the health that `is_healthy` gives each.
    pub fn new(
        zones: usize,
        backends: IdVec<BackendId, Backend>,
        is_healthy: impl Fn(BackendId) -> bool,
    ) -> Self {
        let healthy: IdVec<BackendId, bool> = backends.ids().map(is_healthy).collect();
        let mut sizes = vec![0; BackendSet::slots(zones)];
        for (id, backend) in backends.pairs() {
            BackendSet::around(backend)
                .filter(|set| set.contains(backend, healthy[id]))
                .for_each(|set| sizes[set.slot(zones)] += 1);
        }
        Self { backends, healthy, zones, sizes }
    }

    /// The configured backends.
    pub fn backends(&self) -> &IdVec<BackendId, Backend> {
        &self.backends
    }

    /// How many zones the region has.
    pub fn zones(&self) -> usize {
        self.zones
    }

    /// Whether the load balancer holds `backend` healthy.
    #[inline]
    pub fn is_healthy(&self, backend: BackendId) -> bool {
        self.healthy[backend]
    }

    /// How many members `set` has. Constant time.
    #[inline]
    pub fn size(&self, set: BackendSet) -> usize {
        self.sizes[set.slot(self.zones)]
    }

    /// The members of `set` in configuration order.
    pub fn members(&self, set: BackendSet) -> impl Iterator<Item = BackendId> {
        self.backends
            .pairs()
            .filter(move |(id, backend)| set.contains(backend, self.healthy[*id]))
            .map(|(id, _)| id)
    }

    /// Records that `backend` is `healthy` from now on; tells whether that is a change.
    pub(super) fn set_health(&mut self, backend: BackendId, healthy: bool) -> bool {
        if self.healthy[backend] == healthy {
            return false;
        }
        self.healthy[backend] = healthy;
        for set in BackendSet::around(&self.backends[backend]).filter(|set| set.healthy_only) {
            let size = &mut self.sizes[set.slot(self.zones)];
            *size = if healthy { *size + 1 } else { *size - 1 };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sizes_are_those_of_the_members(
            places in prop::collection::vec((0_usize..3, any::<bool>()), 1..20),
            flips in prop::collection::vec((0_usize..20, any::<bool>()), 0..50),
        ) {
            let backends: IdVec<BackendId, Backend> = places
                .iter()
                .map(|(zone, primary)| Backend {
                    name: String::new(),
                    zone: ZoneId::from_index(*zone),
                    role: if *primary { Role::Primary } else { Role::Failover },
                })
                .collect();
            let mut roster = Roster::new(3, backends, |_| false);
            for (backend, healthy) in flips {
                let backend = BackendId::from_index(backend % places.len());
                let changed = roster.is_healthy(backend) != healthy;
                prop_assert_eq!(roster.set_health(backend, healthy), changed);
            }
            for role in [Role::Primary, Role::Failover] {
                for set in [BackendSet::configured(role), BackendSet::healthy(role)] {
                    prop_assert_eq!(roster.size(set), roster.members(set).count());
                    for zone in (0..3).map(ZoneId::from_index) {
                        let set = set.in_zone(zone);
                        prop_assert_eq!(roster.size(set), roster.members(set).count());
                    }
                }
            }
        }
    }
}

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

    /// Whether only healthy backends are members of the set with this number.
    pub(super) fn is_healthy_slot(slot: usize) -> bool {
        slot % 2 == 1
    }

    /// The zone of the set with this number, if it is of one.
    pub(super) fn zone_of_slot(slot: usize, zones: usize) -> Option<ZoneId> {
        let place = slot / (Role::COUNT * 2);
        (place < zones).then(|| ZoneId::from_index(place))
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

/// A backend with what the load balancer holds of it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it is.
    pub backend: Backend,
    /// Whether it is a member of its group now: backends may be added and removed.
    pub configured: bool,
    /// Whether it is held healthy.
    pub healthy: bool,
}

impl Member {
    /// The sets that it is a member of.
    fn sets(&self) -> impl Iterator<Item = BackendSet> + use<'_> {
        let contained = |set: &BackendSet| self.configured && set.contains(&self.backend, self.healthy);
        BackendSet::around(&self.backend).filter(contained)
    }
}

/// All backends that are ever configured, with the size of every set.
#[derive(Clone, Debug)]
pub struct Roster {
    members: IdVec<BackendId, Member>,
    zones: usize,
    sizes: Vec<usize>,
    /// How many backends each zone ever has, configured or not.
    populations: Vec<usize>,
}

/// The sets that a change took a backend out of, and those that it brought it into.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    pub(super) left: Vec<BackendSet>,
    pub(super) joined: Vec<BackendSet>,
}

impl Roster {
    /// A roster of `backends` in a region of `zones` zones, all configured, with the health that `is_healthy` gives.
    pub fn new(
        zones: usize,
        backends: IdVec<BackendId, Backend>,
        is_healthy: impl Fn(BackendId) -> bool,
    ) -> Self {
        let member = |(index, backend)| {
            let healthy = is_healthy(BackendId::from_index(index));
            Member { backend, configured: true, healthy }
        };
        Self::of(zones, backends.into_iter().enumerate().map(member).collect())
    }

    /// A roster of `members` in a region of `zones` zones.
    pub fn of(zones: usize, members: IdVec<BackendId, Member>) -> Self {
        let mut sizes = vec![0; BackendSet::slots(zones)];
        members.iter().flat_map(Member::sets).for_each(|set| sizes[set.slot(zones)] += 1);
        let mut populations = vec![0; zones];
        members.iter().for_each(|member| populations[member.backend.zone.index()] += 1);
        Self { members, zones, sizes, populations }
    }

    /// Every backend, whether configured now or not.
    pub fn all(&self) -> &IdVec<BackendId, Member> {
        &self.members
    }

    /// What is held of one backend.
    #[inline]
    pub fn member(&self, id: BackendId) -> &Member {
        &self.members[id]
    }

    /// Its name.
    pub fn name(&self, id: BackendId) -> &str {
        &self.members[id].backend.name
    }

    /// How many zones the region has.
    pub fn zones(&self) -> usize {
        self.zones
    }

    /// Whether the load balancer holds `backend` healthy.
    #[inline]
    pub fn is_healthy(&self, backend: BackendId) -> bool {
        self.members[backend].healthy
    }

    /// How many backends `zone`, or the whole region, ever has, configured or not.
    pub(super) fn population(&self, zone: Option<ZoneId>) -> usize {
        zone.map_or(self.members.len(), |zone| self.populations[zone.index()])
    }

    /// How many members `set` has. Constant time.
    #[inline]
    pub fn size(&self, set: BackendSet) -> usize {
        self.sizes[set.slot(self.zones)]
    }

    /// The members of `set` in configuration order.
    pub fn members(&self, set: BackendSet) -> impl Iterator<Item = BackendId> {
        let contained =
            move |member: &Member| member.configured && set.contains(&member.backend, member.healthy);
        self.members.pairs().filter(move |(_, member)| contained(member)).map(|(id, _)| id)
    }

    /// Changes what is held of one backend, touching only the sets that it is or becomes a member of.
    pub(super) fn change(&mut self, id: BackendId, change: impl FnOnce(&mut Member)) -> Moves {
        let before: Vec<BackendSet> = self.members[id].sets().collect();
        change(&mut self.members[id]);
        let after: Vec<BackendSet> = self.members[id].sets().collect();
        let moves = Moves {
            left: before.iter().filter(|set| !after.contains(set)).copied().collect(),
            joined: after.iter().filter(|set| !before.contains(set)).copied().collect(),
        };
        moves.left.iter().for_each(|set| self.sizes[set.slot(self.zones)] -= 1);
        moves.joined.iter().for_each(|set| self.sizes[set.slot(self.zones)] += 1);
        moves
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
            changes in prop::collection::vec((0_usize..20, 0_usize..3, any::<bool>()), 0..50),
        ) {
            let role = |primary| if primary { Role::Primary } else { Role::Failover };
            let backends: IdVec<BackendId, Backend> = places
                .iter()
                .map(|(zone, primary)| Backend {
                    name: String::new(),
                    zone: ZoneId::from_index(*zone),
                    role: role(*primary),
                })
                .collect();
            let mut roster = Roster::new(3, backends, |_| false);
            for (backend, what, to) in changes {
                let backend = BackendId::from_index(backend % places.len());
                let moves = roster.change(backend, |member| match what {
                    0 => member.healthy = to,
                    1 => member.configured = to,
                    _ => member.backend.role = role(to),
                });
                let again = roster.change(backend, |_| {});
                prop_assert!(again.left.is_empty() && again.joined.is_empty());
                prop_assert!(moves.left.iter().all(|set| !moves.joined.contains(set)));
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

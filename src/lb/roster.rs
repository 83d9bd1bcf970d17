//! All backends, who of them is healthy, and how many of them are in each set.

use super::backend::Member;
use super::sets::SetSpec;
use crate::ids::{BackendId, Id, IdVec, SetId, ZoneId};

/// All backends that are ever configured, with the sets that a policy needs, and their sizes.
#[derive(Clone, Debug)]
pub struct Roster {
    members: IdVec<BackendId, Member>,
    zones: usize,
    /// How many backends each zone ever has, configured or not.
    populations: Vec<usize>,
    /// How many configured backends are healthy.
    healthy: usize,
    specs: IdVec<SetId, SetSpec>,
    sizes: IdVec<SetId, usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    pub(super) left: Vec<SetId>,
    pub(super) joined: Vec<SetId>,
}

impl Roster {
    /// A roster of `members` in a region of `zones` zones, without sets.
    pub fn new(zones: usize, members: IdVec<BackendId, Member>) -> Self {
        let mut populations = vec![0; zones];
        members.iter().for_each(|member| populations[member.zone.index()] += 1);
        let healthy = members.iter().filter(|member| is_serving(member)).count();
        Self { members, zones, populations, healthy, specs: IdVec::default(), sizes: IdVec::default() }
    }

    /// Keeps the sets that `specs` describe from now on, each by its place; tells whether others were kept before.
    pub fn keep_sets(&mut self, specs: Vec<SetSpec>) -> bool {
        if self.specs.iter().eq(&specs) {
            return false;
        }
        self.specs = specs.into_iter().collect();
        self.sizes = self.specs.ids().map(|set| self.members(set).count()).collect();
        true
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
        &self.members[id].name
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

    #[inline]
    pub(super) fn any_healthy(&self) -> bool {
        self.healthy > 0
    }

    pub(super) fn specs(&self) -> &IdVec<SetId, SetSpec> {
        &self.specs
    }

    /// How many backends `zone`, or the whole region, ever has, configured or not.
    pub(super) fn population(&self, zone: Option<ZoneId>) -> usize {
        zone.map_or(self.members.len(), |zone| self.populations[zone.index()])
    }

    /// How many members `set` has. Constant time.
    #[inline]
    pub fn size(&self, set: SetId) -> usize {
        self.sizes[set]
    }

    /// The members of `set` in configuration order.
    pub fn members(&self, set: SetId) -> impl Iterator<Item = BackendId> {
        let spec = &self.specs[set];
        self.members.pairs().filter(|(id, member)| spec.contains(*id, member)).map(|(id, _)| id)
    }

    fn sets_of(&self, id: BackendId) -> Vec<SetId> {
        let member = &self.members[id];
        self.specs.pairs().filter(|(_, spec)| spec.contains(id, member)).map(|(set, _)| set).collect()
    }

    pub(super) fn change(&mut self, id: BackendId, change: impl FnOnce(&mut Member)) -> Moves {
        let before = self.sets_of(id);
        self.healthy -= usize::from(is_serving(&self.members[id]));
        change(&mut self.members[id]);
        self.healthy += usize::from(is_serving(&self.members[id]));
        let after = self.sets_of(id);
        let moves = Moves {
            left: before.iter().filter(|set| !after.contains(set)).copied().collect(),
            joined: after.iter().filter(|set| !before.contains(set)).copied().collect(),
        };
        moves.left.iter().for_each(|set| self.sizes[*set] -= 1);
        moves.joined.iter().for_each(|set| self.sizes[*set] += 1);
        moves
    }
}

fn is_serving(member: &Member) -> bool {
    member.configured && member.healthy
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lb::backend::Role;

    fn spec() -> impl Strategy<Value = SetSpec> {
        let role = prop::option::of(prop::sample::select(vec![Role::Primary, Role::Failover]));
        let zone = prop::option::of((0_usize..3).prop_map(ZoneId::from_index));
        let id = (0_usize..20).prop_map(BackendId::from_index);
        let among = prop::option::of(prop::collection::vec(id, 0..10));
        (role, zone, any::<bool>(), among).prop_map(|(role, zone, healthy_only, among)| SetSpec {
            role,
            zone,
            healthy_only,
            among,
        })
    }

    proptest! {
        #[test]
        fn sizes_are_those_of_the_members(
            places in prop::collection::vec((0_usize..3, any::<bool>()), 1..20),
            specs in prop::collection::vec(spec(), 0..20),
            changes in prop::collection::vec((0_usize..20, 0_usize..3, any::<bool>()), 0..50),
        ) {
            let role = |primary| if primary { Role::Primary } else { Role::Failover };
            let members = places.iter().map(|(zone, primary)| Member {
                name: String::new(),
                zone: ZoneId::from_index(*zone),
                role: role(*primary),
                configured: true,
                healthy: false,
            });
            let mut roster = Roster::new(3, members.collect());
            prop_assert_eq!(roster.keep_sets(specs.clone()), !specs.is_empty());
            prop_assert!(!roster.keep_sets(specs));
            for (backend, what, to) in changes {
                let backend = BackendId::from_index(backend % places.len());
                let moves = roster.change(backend, |member| match what {
                    0 => member.healthy = to,
                    1 => member.configured = to,
                    _ => member.role = role(to),
                });
                let again = roster.change(backend, |_| {});
                prop_assert!(again.left.is_empty() && again.joined.is_empty());
                prop_assert!(moves.left.iter().all(|set| !moves.joined.contains(set)));
            }
            for set in roster.specs.ids() {
                prop_assert_eq!(roster.size(set), roster.members(set).count());
            }
            let serving = roster.all().iter().filter(|member| member.configured && member.healthy).count();
            prop_assert_eq!(roster.healthy, serving);
        }
    }
}

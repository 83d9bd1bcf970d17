//! The sets that roles, zones and health make: what the rules of both kinds of load balancer speak of.

use crate::ids::{Id, SetId, ZoneId};
use crate::lb::backend::Role;
use crate::lb::sets::SetSpec;

/// Sets of the region, and of each zone: two roles, healthy backends and all.
const SETS: usize = 4;

/// All of them in a region of `zones` zones, in order of their ids.
pub(super) fn role_sets(zones: usize) -> Vec<SetSpec> {
    let places = std::iter::once(None).chain((0..zones).map(|zone| Some(ZoneId::from_index(zone))));
    let of_role = |zone, role| {
        [false, true].map(|healthy_only| SetSpec { role: Some(role), zone, healthy_only, among: None })
    };
    places.flat_map(|zone| [Role::Primary, Role::Failover].map(|role| of_role(zone, role)).concat()).collect()
}

pub(super) fn configured(role: Role) -> SetId {
    SetId::from_index(2 * role as usize)
}

pub(super) fn healthy(role: Role) -> SetId {
    SetId::from_index(2 * role as usize + 1)
}

/// Those of a set of the region that are in `zone`.
pub(super) fn in_zone(set: SetId, zone: ZoneId) -> SetId {
    SetId::from_index(set.index() + SETS * (zone.index() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_places_in_the_list() {
        let specs = role_sets(2);
        assert_eq!(specs.len(), 3 * SETS);
        let zone = ZoneId::from_index(1);
        for role in [Role::Primary, Role::Failover] {
            for (set, healthy_only) in [(configured(role), false), (healthy(role), true)] {
                let spec = |zone| SetSpec { role: Some(role), zone, healthy_only, among: None };
                assert_eq!(specs[set.index()], spec(None));
                assert_eq!(specs[in_zone(set, zone).index()], spec(Some(zone)));
            }
        }
    }
}

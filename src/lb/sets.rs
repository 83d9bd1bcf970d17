//! Sets of backends that a policy chooses among, and weighted splits over several of them.

use super::backend::{Member, Role};
use crate::ids::{BackendId, SetId, ZoneId};
use crate::random::mix;

/// Who is a member of a set: every configured backend that meets all of this. The default is all of them.
///
/// A policy lists the sets that it needs. Each is known by its place in that list from then on, and a change of health
/// touches only the sets that its backend belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// The role that members have; any if absent.
    pub role: Option<Role>,
    /// The zone that members are in; any if absent.
    pub zone: Option<ZoneId>,
    /// Whether only healthy backends are members.
    pub healthy_only: bool,
    /// The backends that may be members, such as those lent to a zone; any if absent.
    pub among: Option<Vec<BackendId>>,
}

impl SetSpec {
    /// Whether `member`, which has this id, belongs to the set as it is now.
    pub fn contains(&self, id: BackendId, member: &Member) -> bool {
        member.configured
            && (member.healthy || !self.healthy_only)
            && self.role.is_none_or(|role| role == member.role)
            && self.zone.is_none_or(|zone| zone == member.zone)
            && self.among.as_ref().is_none_or(|among| among.contains(&id))
    }
}

/// Where new connections of one origin go.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Nowhere: they are dropped.
    Nothing,
    /// To the members of one set.
    One(SetId),
    /// To the members of several sets, each with a share of the connections.
    Split(Box<[WeightedSet]>),
}

/// One of several sets with shares above 0, of together 1.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSet {
    set: SetId,
    share: f64,
    /// The highest of the hashes that go to this set and those before it.
    last_hash: u64,
}

impl Choice {
    /// Splits connections over sets in proportion to their weights, which are finite. What weighs 0 or less gets nothing.
    pub fn split(weights: &[(SetId, f64)]) -> Self {
        let weights = || weights.iter().copied().filter(|(_, weight)| *weight > 0.0);
        let total: f64 = weights().map(|(_, weight)| weight).sum();
        let mut reached = 0.0;
        let part = |(set, weight)| {
            reached += weight;
            // Casting stops at the largest number.
            let last_hash = (reached / total * (u64::MAX as f64 + 1.0)) as u64;
            WeightedSet { set, share: weight / total, last_hash }
        };
        let parts: Box<[WeightedSet]> = weights().map(part).collect();
        match &*parts {
            [] => Self::Nothing,
            [only] => Self::One(only.set),
            _ => Self::Split(parts),
        }
    }

    /// Every set with its share of the connections.
    pub fn shares(&self) -> Vec<(SetId, f64)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(set) => vec![(*set, 1.0)],
            Self::Split(parts) => parts.iter().map(|part| (part.set, part.share)).collect(),
        }
    }

    #[inline]
    pub(super) fn pick(&self, hash: u64) -> Option<SetId> {
        match self {
            Self::Nothing => None,
            Self::One(set) => Some(*set),
            Self::Split(parts) => pick_part(parts, hash),
        }
    }
}

/// Selection inside the set scores the same hash, so it is mixed: members of a set must not go by the share.
#[inline(never)]
fn pick_part(parts: &[WeightedSet], hash: u64) -> Option<SetId> {
    const SALT: u64 = 0x5f3a_9c61_d2b8_47e5;
    let hash = mix(hash ^ SALT);
    let (last, others) = parts.split_last()?;
    Some(others.iter().find(|part| hash <= part.last_hash).unwrap_or(last).set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    fn set(index: usize) -> SetId {
        SetId::from_index(index)
    }

    #[test]
    fn connections_are_split_in_proportion() {
        const KEYS: u64 = 200_000;
        for weights in [[1.0, 1.0, 1.0], [0.5, 0.3, 0.2], [9000.0, 1.0, 999.0], [1e-9, 1.0, 0.0]] {
            let choice = Choice::split(&[(set(2), weights[0]), (set(7), weights[1]), (set(4), weights[2])]);
            let total: f64 = weights.iter().sum();
            for (index, weight) in [2, 7, 4].into_iter().zip(weights) {
                let count = (0..KEYS).filter(|key| choice.pick(mix(*key)) == Some(set(index))).count();
                let share = weight / total;
                let tolerance = 5.0 * (KEYS as f64 * share * (1.0 - share)).sqrt();
                let expected = KEYS as f64 * share;
                assert!((count as f64 - expected).abs() <= tolerance, "{count} of {index} in {weights:?}");
            }
        }
    }

    #[test]
    fn a_split_over_one_set_or_none_is_not_one() {
        assert_eq!(Choice::split(&[(set(0), 0.0), (set(1), -1.0)]), Choice::Nothing);
        assert_eq!(Choice::split(&[(set(0), 0.0), (set(1), 0.2)]), Choice::One(set(1)));
        let shares = Choice::split(&[(set(0), 3.0), (set(1), 1.0)]).shares();
        assert_eq!(shares, [(set(0), 0.75), (set(1), 0.25)]);
    }

    #[test]
    fn a_little_more_for_one_set_moves_only_that_little() {
        const KEYS: u64 = 100_000;
        let split = |first: f64| Choice::split(&[(set(0), first), (set(1), 1.0 - first)]);
        let moved = (0..KEYS).filter(|key| split(0.5).pick(mix(*key)) != split(0.52).pick(mix(*key))).count();
        let tolerance = 5.0 * (KEYS as f64 * 0.02 * 0.98).sqrt();
        assert!((moved as f64 - KEYS as f64 * 0.02).abs() <= tolerance, "{moved}");
    }
}

//! What client groups send to.

use std::num::NonZeroU16;

use crate::ids::RuleId;
use crate::lb::packet::Protocol;

/// To which rule, by which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The rule.
    pub rule: RuleId,
    /// The protocol.
    pub protocol: Protocol,
}

/// What a client group sends to; each of its connections takes one of them, each as likely as any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Apart from the others, because most groups have one and every packet asks for it.
    first: Lane,
    others: Vec<Lane>,
}

impl Lanes {
    /// The most lanes of a group.
    pub const MOST: usize = 64;

    /// One alone.
    pub fn one(lane: Lane) -> Self {
        Self { first: lane, others: Vec::new() }
    }

    /// Every rule of `rules` by each protocol of `protocols` that it `takes`; nothing if there is none.
    pub fn all(
        rules: &[RuleId],
        protocols: &[Protocol],
        takes: impl Fn(RuleId, Protocol) -> bool,
    ) -> Option<Self> {
        let of_rule = |rule: &RuleId| {
            let rule = *rule;
            protocols.iter().map(move |protocol| Lane { rule, protocol: *protocol })
        };
        let mut lanes = rules.iter().flat_map(of_rule).filter(|lane| takes(lane.rule, lane.protocol));
        Some(Self { first: lanes.next()?, others: lanes.collect() })
    }

    /// How many there are; one at least.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Every lane.
    pub fn iter(&self) -> impl Iterator<Item = Lane> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    /// The lane of a connection with this number among its group's destinations, of which each lane has `destinations`.
    #[inline(always)]
    pub fn of(&self, number: u16, destinations: NonZeroU16) -> Lane {
        if self.others.is_empty() { self.first } else { self.later(number / destinations) }
    }

    #[inline(never)]
    fn later(&self, index: u16) -> Lane {
        index.checked_sub(1).map_or(self.first, |index| self.others[usize::from(index)])
    }

    /// The rules that they lead to, each once.
    pub fn rules(&self) -> Vec<RuleId> {
        let mut rules: Vec<RuleId> = self.iter().map(|lane| lane.rule).collect();
        rules.dedup();
        rules
    }
}

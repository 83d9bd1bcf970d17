//! The network between client places and zones: round trips, and what faults make of them.

use super::scenario::{LinkFault, Scenario};
use crate::ids::{Id, IdVec, PlaceId, ZoneId};
use crate::random::Distribution;
use crate::time::SimDuration;

/// The links of a run.
#[derive(Debug)]
pub(super) struct Links {
    links: IdVec<PlaceId, IdVec<ZoneId, Link>>,
}

/// The way from a place to a zone and back.
#[derive(Debug)]
struct Link {
    round_trips: Distribution<SimDuration>,
    /// What faults add to a round trip.
    delay: SimDuration,
    /// The probability of each fault that loses packets.
    losses: Vec<f64>,
}

impl Links {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let link = |round_trips: &Distribution<SimDuration>| Link {
            round_trips: round_trips.clone(),
            delay: SimDuration::ZERO,
            losses: Vec::new(),
        };
        Self { links: scenario.round_trips.iter().map(|row| row.iter().map(link).collect()).collect() }
    }

    /// The distribution of round trips without faults.
    #[inline]
    pub(super) fn round_trips(&self, place: PlaceId, zone: ZoneId) -> &Distribution<SimDuration> {
        &self.links[place][zone].round_trips
    }

    /// What faults add to a round trip now.
    #[inline]
    pub(super) fn delay(&self, place: PlaceId, zone: ZoneId) -> SimDuration {
        self.links[place][zone].delay
    }

    /// The probability that a packet is not lost now.
    #[inline]
    pub(super) fn passes(&self, place: PlaceId, zone: ZoneId) -> f64 {
        let losses = &self.links[place][zone].losses;
        if losses.is_empty() { 1.0 } else { losses.iter().map(|loss| 1.0 - loss).product() }
    }

    /// A fault between two zones begins or ends, both ways.
    pub(super) fn fault(&mut self, [a, b]: [ZoneId; 2], fault: LinkFault, begins: bool) {
        self.links[PlaceId::from_index(a.index())][b].fault(fault, begins);
        if a != b {
            self.links[PlaceId::from_index(b.index())][a].fault(fault, begins);
        }
    }
}

impl Link {
    fn fault(&mut self, fault: LinkFault, begins: bool) {
        match (fault, begins) {
            (LinkFault::Delay(delay), true) => self.delay = self.delay + delay,
            (LinkFault::Delay(delay), false) => self.delay = self.delay - delay,
            (LinkFault::Loss(loss), true) => self.losses.push(loss.value()),
            (LinkFault::Loss(loss), false) => {
                let position = self.losses.iter().position(|other| *other == loss.value());
                self.losses.remove(position.expect("a fault that ends has begun"));
            }
        }
    }
}

//! The network between client places and zones: round trips, and what faults make of them.

use super::scenario::{LinkFault, Scenario};
use crate::ids::{Id, PlaceId, ZoneId};
use crate::random::Distribution;
use crate::time::SimDuration;

#[derive(Debug)]
pub(super) struct Links {
    /// Row by row: a place's links to all zones.
    links: Vec<Link>,
    zones: usize,
    /// How many links lose packets now.
    lossy: usize,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) round_trips: Distribution<SimDuration>,
    /// What faults add to a round trip now.
    pub(super) delay: SimDuration,
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
        let links = scenario.round_trips.iter().flat_map(|row| row.iter().map(link)).collect();
        Self { links, zones: scenario.zones.len(), lossy: 0 }
    }

    #[inline]
    pub(super) fn link(&self, place: PlaceId, zone: ZoneId) -> &Link {
        &self.links[place.index() * self.zones + zone.index()]
    }

    #[inline]
    pub(super) fn is_lossy(&self) -> bool {
        self.lossy > 0
    }

    /// The probability that a packet is not lost now.
    #[inline]
    pub(super) fn passes(&self, place: PlaceId, zone: ZoneId) -> f64 {
        if !self.is_lossy() {
            return 1.0;
        }
        self.link(place, zone).losses.iter().map(|loss| 1.0 - loss).product()
    }

    /// A fault between two zones begins or ends, both ways.
    pub(super) fn fault(&mut self, [a, b]: [ZoneId; 2], fault: LinkFault, begins: bool) {
        for (from, to) in [(a, b), (b, a)].into_iter().take(if a == b { 1 } else { 2 }) {
            // The zones are the first places.
            self.links[from.index() * self.zones + to.index()].fault(fault, begins);
        }
        self.lossy = self.links.iter().filter(|link| !link.losses.is_empty()).count();
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

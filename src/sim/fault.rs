//! Faults: whom they strike.

use rand::Rng;

use super::scenario::Fault;
use crate::ids::BackendId;
use crate::random::{Purpose, RunSeed};
use crate::time::SimTime;

impl Fault {
    /// When it ends, if it does.
    pub(super) fn end(&self) -> Option<SimTime> {
        self.duration.map(|duration| self.at + duration)
    }
}

/// The backends that fault `number` strikes: a random choice of its targets, the same in every arm.
pub(super) fn struck(fault: &Fault, number: usize, seed: RunSeed) -> Vec<BackendId> {
    let mut targets = fault.targets.clone();
    let share = fault.fraction.value() * targets.len() as f64;
    let count = (share.round() as usize).max(usize::from(share > 0.0));
    let mut stream = seed.stream(Purpose::FaultTargets, &format!("fault-{number}")).generator();
    // The first steps of a Fisher-Yates shuffle.
    for position in 0..count {
        let rest = (targets.len() - position) as u128;
        let chosen = position + ((u128::from(stream.next_u64()) * rest) >> 64) as usize;
        targets.swap(position, chosen);
    }
    targets.truncate(count);
    targets
}

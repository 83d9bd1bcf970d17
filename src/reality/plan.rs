//! What happens to the backends, the network and the configuration of a laboratory, and when.

use rand::Rng;

use crate::ids::{BackendId, ZoneId};
use crate::random::{Purpose, RunSeed, below};
use crate::sim::scenario::{BackendFault, FaultEffect, FaultSchedule, LinkFault, Scenario, struck};
use crate::time::SimTime;

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    /// A fault of a backend begins or ends.
    Backend { backend: BackendId, fault: BackendFault, begins: bool },
    /// A fault of the network begins or ends.
    Link { between: [ZoneId; 2], fault: LinkFault, begins: bool },
    /// An operator does something: the number of it.
    Operation(usize),
}

/// Everything that happens in a run, in the order of time; at the same time what ends comes first.
pub(super) fn plan(scenario: &Scenario, seed: RunSeed) -> Vec<(SimTime, Deed)> {
    let operations = scenario.operations.iter().enumerate();
    let mut deeds: Vec<(SimTime, Deed)> =
        operations.map(|(number, operation)| (operation.at, Deed::Operation(number))).collect();
    for (number, fault) in scenario.faults.iter().enumerate() {
        let mut draws = seed.stream(Purpose::FaultTargets, &format!("fault-{number}")).generator();
        for (start, end) in spans(&fault.schedule, scenario.timing.window_end()) {
            for (at, begins) in [(Some(start), true), (end, false)] {
                let Some(at) = at else { continue };
                // Both ends of one span strike the same backends: they are drawn once, for the beginning.
                if begins || matches!(fault.effect, FaultEffect::Link { .. }) {
                    deeds.extend(
                        struck_by(&fault.effect, begins, &mut draws).into_iter().map(|deed| (at, deed)),
                    );
                } else {
                    let begun: Vec<Deed> = begun_at(&deeds, start, &fault.effect);
                    deeds.extend(begun.into_iter().map(|deed| (at, deed)));
                }
            }
        }
    }
    let begins =
        |deed: &Deed| matches!(deed, Deed::Backend { begins: true, .. } | Deed::Link { begins: true, .. });
    deeds.sort_by_key(|(at, deed)| (*at, begins(deed)));
    deeds
}

/// The ends of what `effect` began at `start`.
fn begun_at(deeds: &[(SimTime, Deed)], start: SimTime, effect: &FaultEffect) -> Vec<Deed> {
    let FaultEffect::Backends { targets, kind, .. } = effect else { return Vec::new() };
    let ends = deeds.iter().filter_map(|(at, deed)| match deed {
        Deed::Backend { backend, fault, begins: true }
            if *at == start && fault == kind && targets.contains(backend) =>
        {
            Some(Deed::Backend { backend: *backend, fault: *fault, begins: false })
        }
        _ => None,
    });
    ends.collect()
}

fn struck_by(effect: &FaultEffect, begins: bool, draws: &mut impl Rng) -> Vec<Deed> {
    match effect {
        FaultEffect::Link { between, kind } => {
            vec![Deed::Link { between: *between, fault: *kind, begins }]
        }
        FaultEffect::Backends { targets, fraction, kind } => {
            let mut targets = targets.clone();
            for position in 0..targets.len() {
                let rest = (targets.len() - position) as u64;
                targets.swap(position, position + below(draws.next_u64(), rest) as usize);
            }
            targets.truncate(struck(*fraction, targets.len()));
            let deed = |backend| Deed::Backend { backend, fault: *kind, begins };
            targets.into_iter().map(deed).collect()
        }
    }
}

/// When a fault begins and ends, each time.
fn spans(schedule: &FaultSchedule, horizon: SimTime) -> Vec<(SimTime, Option<SimTime>)> {
    match schedule {
        FaultSchedule::Once { at, duration } => vec![(*at, duration.map(|duration| *at + duration))],
        FaultSchedule::Flapping { at, duration, period, active } => {
            let end = duration.map_or(horizon, |duration| (*at + duration).min(horizon));
            let starts = (0..).map(|round| *at + *period * round).take_while(|start| *start < end);
            starts.map(|start| (start, Some((start + *active).min(end)))).collect()
        }
        // No laboratory takes an experiment with these.
        FaultSchedule::Random { .. } | FaultSchedule::Rolling { .. } => Vec::new(),
    }
}

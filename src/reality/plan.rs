//! What happens to the backends, the network and the configuration of a laboratory, and when.

use crate::ids::{BackendId, ZoneId};
use crate::random::{Purpose, RunSeed, StreamKey, shuffle};
use crate::sim::scenario::{BackendFault, FaultEffect, LinkFault, Scenario, struck};
use crate::time::SimTime;

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    /// A fault of backends begins or ends.
    Backends { backends: Vec<BackendId>, fault: BackendFault, begins: bool },
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
        let key = seed.stream(Purpose::FaultTargets, &format!("fault-{number}"));
        let deed = deed_of(&fault.effect, key);
        for (start, end) in fault.schedule.fixed_spans(scenario.timing.window_end()) {
            deeds.push((start, deed(true)));
            deeds.extend(end.map(|end| (end, deed(false))));
        }
    }
    let begins =
        |deed: &Deed| matches!(deed, Deed::Backends { begins: true, .. } | Deed::Link { begins: true, .. });
    deeds.sort_by_key(|(at, deed)| (*at, begins(deed)));
    deeds
}

/// How a fault begins and ends: whom it strikes is drawn once, as in the simulation.
fn deed_of(effect: &FaultEffect, key: StreamKey) -> impl Fn(bool) -> Deed {
    let deed = match effect {
        FaultEffect::Link { between, kind } => Deed::Link { between: *between, fault: *kind, begins: true },
        FaultEffect::Backends { targets, fraction, kind } => {
            let mut backends = targets.clone();
            shuffle(&mut backends, &mut key.generator());
            backends.truncate(struck(*fraction, targets.len()));
            Deed::Backends { backends, fault: *kind, begins: true }
        }
    };
    move |so| {
        let mut deed = deed.clone();
        if let Deed::Backends { begins, .. } | Deed::Link { begins, .. } = &mut deed {
            *begins = so;
        }
        deed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Overrides;
    use crate::reality::scenarios::smoke;
    use crate::reality::world::World;

    /// The deeds of the first smoke scenario with this fault instead of its own: when, how many backends, beginning or end.
    fn deeds(fault: &str) -> Vec<(u64, usize, bool)> {
        let scenario = &smoke()[0];
        let (before, _) = scenario.text.split_once("[[faults]]").expect("it has a fault");
        let text = format!("{before}[[faults]]\nat = \"10s\"\n{fault}");
        let world = World::read("deeds", &text, &Overrides::default()).unwrap();
        let deeds = plan(&world.scenario, RunSeed::new(1, 0)).into_iter().map(|(at, deed)| {
            let Deed::Backends { backends, begins, .. } = deed else { panic!("a fault of backends") };
            (at.as_nanos() / 1_000_000_000, backends.len(), begins)
        });
        deeds.collect()
    }

    #[test]
    fn what_begins_ends_for_the_same_backends() {
        let zone = "duration = \"8s\"\nkind = \"refuse\"\ntarget = { zone = \"a\", fraction = 0.5 }";
        assert_eq!(deeds(zone), [(10, 2, true), (18, 2, false)]);
        let flaps = format!("{zone}\nflapping = {{ period = \"4s\", active = \"2s\" }}");
        assert_eq!(deeds(&flaps), [(10, 2, true), (12, 2, false), (14, 2, true), (16, 2, false)]);
        assert_eq!(deeds("target = { zone = \"a\" }"), [(10, 4, true)]);
    }
}

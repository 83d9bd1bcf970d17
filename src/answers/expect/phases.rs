//! The load that is offered while scripted faults last, from the rules alone: health follows at once, retries and what
//! failed connections no longer ask are left out.

use std::collections::BTreeMap;

use crate::answers::situation::Situation;
use crate::ids::{BackendId, ZoneId};
use crate::lb::backend::Role;
use crate::sim::scenario::{Fault, FaultEffect, FaultSchedule, Scenario};
use crate::time::SimTime;

/// Offered load of one zone and role: arriving work over the worker time that serves it. Absent without a limit of workers,
/// or where none serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseLoad {
    /// The zone.
    pub zone: ZoneId,
    /// The role.
    pub role: Role,
    /// Just before the fault.
    pub before: Option<f64>,
    /// While it lasts and is noticed.
    pub during: Option<f64>,
}

/// The loads around one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPhase {
    /// The fault's place in the scenario; nothing for the beginning, before any.
    pub fault: Option<usize>,
    /// Each zone and role that has backends.
    pub loads: Vec<PhaseLoad>,
}

/// The offered loads of `scenario` as it begins, then around each of its faults that strikes backends. Of a fault that strikes
/// a share of its targets at random the first of them stand for those; one that comes and goes is there.
pub fn phases(scenario: &Scenario) -> Vec<FaultPhase> {
    let begin = Situation::new(scenario).offered();
    let of_begin = FaultPhase { fault: None, loads: beside(&begin, &begin) };
    let strikes = |fault: &Fault| matches!(fault.effect, FaultEffect::Backends { .. });
    let faults = scenario.faults.iter().enumerate().filter(|(_, fault)| strikes(fault));
    let phase = |(number, fault): (usize, &Fault)| {
        let at = fault.schedule.start();
        let mut situation = Situation::new(scenario);
        situation.operate_until(at);
        let others = scenario.faults.iter().enumerate();
        let lasting = others.filter(|(other, fault)| *other != number && lasts(fault, at));
        lasting.for_each(|(_, fault)| situation.strike(fault));
        let before = situation.offered();
        situation.strike(fault);
        FaultPhase { fault: Some(number), loads: beside(&before, &situation.offered()) }
    };
    [of_begin].into_iter().chain(faults.map(phase)).collect()
}

type ZoneOffered = (ZoneId, Role, Option<f64>);

fn beside(before: &[ZoneOffered], during: &[ZoneOffered]) -> Vec<PhaseLoad> {
    let load = |(before, during): (&ZoneOffered, &ZoneOffered)| PhaseLoad {
        zone: before.0,
        role: before.1,
        before: before.2,
        during: during.2,
    };
    before.iter().zip(during).map(load).collect()
}

/// Whether a fault that comes once has come before `at`, or then, and is not over.
fn lasts(fault: &Fault, at: SimTime) -> bool {
    match fault.schedule {
        FaultSchedule::Once { at: begin, duration } => {
            begin < at && duration.is_none_or(|duration| begin + duration > at)
        }
        FaultSchedule::Flapping { .. } | FaultSchedule::Random { .. } | FaultSchedule::Rolling { .. } => {
            false
        }
    }
}

impl Situation<'_> {
    /// The offered load of each zone and role that has backends.
    fn offered(&self) -> Vec<ZoneOffered> {
        let mut places: BTreeMap<(ZoneId, Role), Vec<BackendId>> = BTreeMap::new();
        for (backend, spec) in self.scenario.backends.pairs().filter(|(id, _)| self.is_configured(*id)) {
            places.entry((spec.zone, self.role(backend))).or_default().push(backend);
        }
        let rates = self.rates();
        let offered =
            |((zone, role), members): ((ZoneId, Role), Vec<BackendId>)| (zone, role, rates.offered(&members));
        places.into_iter().map(offered).collect()
    }
}

//! Faults: when each strikes in a run, and whom, and what it does then.

use super::calendar::Calendar;
use super::event::Event;
use super::front::FrontSide;
use super::machine::MachineState;
use super::machines::Machines;
use super::scenario::{
    BackendFault, BackendSpec, FailureMode, Fault, FaultEffect, FaultSchedule, InitialHealth, LinkFault,
    Renewals, Scenario, struck,
};
use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::ratio::Ratio;
use crate::random::{Purpose, RunSeed, StreamKey, shuffle};
use crate::time::{SimDuration, SimTime};

#[derive(Clone, Debug, PartialEq)]
struct Strike {
    at: SimTime,
    end: Option<SimTime>,
    effect: StrikeEffect,
    /// Whether it began before time 0.
    is_under_way: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum StrikeEffect {
    Backends(Targets, BackendFault),
    Link([ZoneId; 2], LinkFault),
}

#[derive(Clone, Debug, PartialEq)]
struct Targets {
    /// In the order in which they are chosen, the same in every arm.
    candidates: Vec<BackendId>,
    /// The share of those that are there when it strikes.
    fraction: Ratio,
}

impl Targets {
    /// Their share of those that are there, to the nearest whole number but one at least unless 0; in order of ids.
    fn hit(&self, is_there: impl Fn(BackendId) -> bool) -> Vec<BackendId> {
        let present = self.candidates.iter().copied().filter(|backend| is_there(*backend));
        let mut hit: Vec<BackendId> = present.collect();
        hit.truncate(struck(self.fraction, hit.len()));
        hit.sort_unstable();
        hit
    }
}

#[derive(Debug)]
pub(super) struct Faults {
    strikes: Vec<Strike>,
    /// Whom each strike has hit.
    hit: Vec<Vec<BackendId>>,
    /// The members of autoscaled groups, which can be struck only while they are there.
    autoscaled: IdVec<BackendId, bool>,
}

impl Faults {
    pub(super) fn new(scenario: &Scenario, seed: RunSeed) -> Self {
        let horizon = scenario.timing.window_end();
        let faults = scenario.faults.iter().enumerate();
        let strikes: Vec<Strike> = faults
            .flat_map(|(number, fault)| {
                strikes_of(fault, scenario.initial_health, key(seed, number), horizon)
            })
            .collect();
        let is_autoscaled = |spec: &BackendSpec| scenario.groups[spec.group].autoscaling.is_some();
        Self {
            hit: vec![Vec::new(); strikes.len()],
            strikes,
            autoscaled: scenario.backends.iter().map(is_autoscaled).collect(),
        }
    }

    /// The strikes that are under way at the beginning: of faults at random times that are in their long run.
    pub(super) fn under_way(&self) -> Vec<u32> {
        let under_way = (0..).zip(&self.strikes).filter(|(_, strike)| strike.is_under_way);
        under_way.map(|(number, _)| number).collect()
    }

    pub(super) fn plan(&self, calendar: &mut Calendar) {
        for (strike, Strike { at, end, is_under_way, .. }) in (0..).zip(&self.strikes) {
            if !is_under_way {
                calendar.plan(*at, Event::Fault { strike, begins: true });
            }
            if let Some(end) = *end {
                calendar.plan(end, Event::Fault { strike, begins: false });
            }
        }
    }

    pub(super) fn edges(&self) -> IdVec<BackendId, Vec<SimTime>> {
        let mut edges: IdVec<BackendId, Vec<SimTime>> = self.autoscaled.iter().map(|_| Vec::new()).collect();
        for strike in &self.strikes {
            if let StrikeEffect::Backends(targets, _) = &strike.effect {
                for &backend in &targets.candidates {
                    edges[backend].extend([Some(strike.at), strike.end].into_iter().flatten());
                }
            }
        }
        edges
    }

    /// A strike begins or ends; gives the backends that clients find down now and did not before.
    pub(super) fn strike(
        &mut self,
        now: SimTime,
        (strike, begins): (u32, bool),
        front: &mut FrontSide,
        machines: &mut Machines<'_>,
    ) -> Vec<BackendId> {
        let hit = &mut self.hit[strike as usize];
        match &self.strikes[strike as usize].effect {
            StrikeEffect::Link(between, fault) => {
                front.links.fault(*between, *fault, begins);
                Vec::new()
            }
            StrikeEffect::Backends(targets, fault) => {
                if begins {
                    let roster = front.balancer.roster();
                    *hit =
                        targets.hit(|backend| !self.autoscaled[backend] || roster.member(backend).configured);
                }
                let mut went_down = targets.candidates.clone();
                went_down.retain(|backend| {
                    let struck = hit.binary_search(backend).is_ok();
                    let machine = &mut machines.machines[*backend];
                    let went_down = machine.fault(now, struck.then_some(*fault), begins);
                    front.recorder.serves(now, *backend, machine.state() == MachineState::Up);
                    went_down
                });
                went_down
            }
        }
    }
}

/// The key of the draws of the fault with this number.
fn key(seed: RunSeed, number: usize) -> StreamKey {
    seed.stream(Purpose::FaultTargets, &format!("fault-{number}"))
}

fn strikes_of(fault: &Fault, initial: InitialHealth, key: StreamKey, horizon: SimTime) -> Vec<Strike> {
    let effect = match &fault.effect {
        FaultEffect::Backends { targets, fraction, kind } => {
            let targets = Targets { candidates: in_random_order(targets, key), fraction: *fraction };
            StrikeEffect::Backends(targets, *kind)
        }
        FaultEffect::Link { between, kind } => StrikeEffect::Link(*between, *kind),
    };
    let once = |at, end| Strike { at, end, effect: effect.clone(), is_under_way: false };
    match &fault.schedule {
        FaultSchedule::Once { .. } | FaultSchedule::Flapping { .. } => {
            let spans = fault.schedule.fixed_spans(horizon).into_iter();
            spans.map(|(at, end)| once(at, end)).collect()
        }
        FaultSchedule::Random { time_between, duration } => {
            let mut stream = key.child(0).generator();
            // At least a nanosecond, so that time goes on.
            let least = SimDuration::from_nanos(1);
            let (free, mut left) = match initial {
                InitialHealth::AllUp => (true, time_between.sample(&mut stream)),
                InitialHealth::Stationary => {
                    Renewals { up: time_between, down: duration }.stationary(&mut stream)
                }
            };
            let mut now = SimTime::ZERO;
            let mut strikes = Vec::new();
            if !free {
                let end = now + left.max(least);
                strikes.push(Strike { is_under_way: true, ..once(now, Some(end)) });
                now = end;
                left = time_between.sample(&mut stream);
            }
            loop {
                now += left;
                if now >= horizon {
                    return strikes;
                }
                let end = now + duration.sample(&mut stream).max(least);
                strikes.push(once(now, Some(end)));
                now = end;
                left = time_between.sample(&mut stream);
            }
        }
        FaultSchedule::Rolling { at, batch, pause, grace, restart } => {
            let StrikeEffect::Backends(targets, _) = effect else { return Vec::new() };
            let backends = targets.hit(|_| true);
            let length = *grace + *restart + *pause;
            (0..)
                .zip(backends.chunks(batch.get() as usize))
                .flat_map(|(round, batch)| restart_of(batch, *at + length * round, *grace, *restart))
                .collect()
        }
    }
}

fn restart_of(batch: &[BackendId], start: SimTime, grace: SimDuration, restart: SimDuration) -> [Strike; 2] {
    let strike = |at, end, fault| {
        let targets = Targets { candidates: batch.to_vec(), fraction: Ratio::ONE };
        let effect = StrikeEffect::Backends(targets, fault);
        Strike { at, end: Some(end), effect, is_under_way: false }
    };
    let down = start + grace;
    let refuses = BackendFault::Fails(FailureMode::Refuse);
    [strike(start, down, BackendFault::Drains), strike(down, down + restart, refuses)]
}

/// `targets` in a random order: a Fisher-Yates shuffle.
fn in_random_order(targets: &[BackendId], key: StreamKey) -> Vec<BackendId> {
    let mut targets = targets.to_vec();
    shuffle(&mut targets, &mut key.generator());
    targets
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::ids::Id;
    use crate::random::Distribution;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn fault(count: usize, fraction: f64, schedule: FaultSchedule) -> Fault {
        let targets = (0..count).map(BackendId::from_index).collect();
        let fraction = Ratio::new(fraction).unwrap();
        let kind = BackendFault::Fails(FailureMode::Silent);
        Fault { effect: FaultEffect::Backends { targets, fraction, kind }, schedule }
    }

    fn strikes(fault: &Fault, horizon: SimTime) -> Vec<Strike> {
        strikes_of(fault, InitialHealth::AllUp, key(RunSeed::new(1, 0), 0), horizon)
    }

    fn spans(fault: &Fault) -> Vec<(u64, Option<u64>)> {
        let seconds = |time: SimTime| time.as_secs_f64() as u64;
        let strikes = strikes(fault, at(1000));
        strikes.iter().map(|strike| (seconds(strike.at), strike.end.map(seconds))).collect()
    }

    #[test]
    fn flapping_begins_anew_each_period_and_stops_at_its_end() {
        let secs = SimDuration::from_secs;
        let schedule =
            |duration| FaultSchedule::Flapping { at: at(10), duration, period: secs(20), active: secs(5) };
        let short = spans(&fault(1, 1.0, schedule(Some(secs(43)))));
        assert_eq!(short, [(10, Some(15)), (30, Some(35)), (50, Some(53))]);
        assert_eq!(spans(&fault(1, 1.0, schedule(None))).len(), 50);
    }

    #[test]
    fn a_rolling_restart_takes_one_batch_after_the_other() {
        let secs = SimDuration::from_secs;
        let schedule = FaultSchedule::Rolling {
            at: at(100),
            batch: NonZeroU32::new(2).unwrap(),
            pause: secs(10),
            grace: secs(5),
            restart: secs(30),
        };
        let fault = fault(5, 1.0, schedule);
        let expected = [(100, 105), (105, 135), (145, 150), (150, 180), (190, 195), (195, 225)];
        assert_eq!(spans(&fault), expected.map(|(from, to)| (from, Some(to))));
        let strikes = strikes(&fault, at(1000));
        let sizes: Vec<usize> = strikes
            .iter()
            .map(|strike| match &strike.effect {
                StrikeEffect::Backends(targets, _) => targets.hit(|_| true).len(),
                StrikeEffect::Link(..) => 0,
            })
            .collect();
        assert_eq!(sizes, [2, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn random_faults_have_their_rate() {
        let exponential = |secs| Distribution::exponential(SimDuration::from_secs(secs)).unwrap();
        let schedule = FaultSchedule::Random { time_between: exponential(90), duration: exponential(10) };
        let found = strikes(&fault(1, 1.0, schedule), at(1_000_000));
        // A renewal process with cycles of mean 100 s and deviation sqrt(90^2 + 10^2): 10 000 +- 91.
        assert!((found.len() as f64 - 10_000.0).abs() < 4.0 * 91.0, "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0].end.unwrap() <= pair[1].at));
    }

    #[test]
    fn fractions_are_rounded_and_strike_at_least_one() {
        for (count, fraction, expected) in [(4, 0.5, 2), (4, 0.1, 1), (4, 0.0, 0), (3, 0.5, 2), (10, 1.0, 10)]
        {
            let schedule = FaultSchedule::Once { at: at(1), duration: None };
            let found = strikes(&fault(count, fraction, schedule), at(10));
            let StrikeEffect::Backends(targets, _) = &found[0].effect else { panic!("backends") };
            assert_eq!(targets.hit(|_| true).len(), expected, "{fraction} of {count}");
            assert_eq!(targets.hit(|_| false), []);
        }
    }
}

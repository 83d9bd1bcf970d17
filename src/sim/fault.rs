//! Faults: when each strikes in a run, and whom.

use rand::Rng;

use super::scenario::{BackendFault, FailureMode, Fault, FaultEffect, FaultSchedule, LinkFault, Scenario};
use crate::ids::{BackendId, ZoneId};
use crate::random::{Purpose, RunSeed, StreamKey};
use crate::time::{SimDuration, SimTime};

/// One time that a fault strikes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Strike {
    pub(super) at: SimTime,
    /// When it is over, if it ever is.
    pub(super) end: Option<SimTime>,
    pub(super) effect: StrikeEffect,
}

/// What it strikes, and what it does to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StrikeEffect {
    Backends(Vec<BackendId>, BackendFault),
    Link([ZoneId; 2], LinkFault),
}

/// Everything that the faults of `scenario` do: the same in every arm.
pub(super) fn strikes(scenario: &Scenario, seed: RunSeed) -> Vec<Strike> {
    let horizon = scenario.timing.window_end();
    let faults = scenario.faults.iter().enumerate();
    faults.flat_map(|(number, fault)| strikes_of(fault, number, seed, horizon)).collect()
}

/// Every strike of fault `number` that begins before `horizon`.
fn strikes_of(fault: &Fault, number: usize, seed: RunSeed, horizon: SimTime) -> Vec<Strike> {
    let key = seed.stream(Purpose::FaultTargets, &format!("fault-{number}"));
    let effect = match &fault.effect {
        FaultEffect::Backends { targets, fraction, kind } => {
            StrikeEffect::Backends(chosen(targets, fraction.value(), key), *kind)
        }
        FaultEffect::Link { between, kind } => StrikeEffect::Link(*between, *kind),
    };
    let once = |at, end| Strike { at, end, effect: effect.clone() };
    match &fault.schedule {
        FaultSchedule::Once { at, duration } => vec![once(*at, duration.map(|duration| *at + duration))],
        FaultSchedule::Flapping { at, duration, period, active } => {
            let end = duration.map_or(horizon, |duration| (*at + duration).min(horizon));
            let starts = (0..).map(|round| *at + *period * round).take_while(|start| *start < end);
            starts.map(|start| once(start, Some((start + *active).min(end)))).collect()
        }
        FaultSchedule::Random { time_between, duration } => {
            let mut stream = key.child(0).generator();
            let mut now = SimTime::ZERO;
            let mut strikes = Vec::new();
            loop {
                now += time_between.sample(&mut stream);
                if now >= horizon {
                    return strikes;
                }
                // At least a nanosecond, so that time goes on.
                let end = now + duration.sample(&mut stream).max(SimDuration::from_nanos(1));
                strikes.push(once(now, Some(end)));
                now = end;
            }
        }
        FaultSchedule::Rolling { at, batch, pause, grace, restart } => {
            let StrikeEffect::Backends(backends, _) = effect else { return Vec::new() };
            let length = *grace + *restart + *pause;
            let batches = (0..).zip(backends.chunks(batch.get() as usize));
            batches
                .flat_map(|(round, batch)| restart_of(batch, *at + length * round, *grace, *restart))
                .collect()
        }
    }
}

/// A restart of `batch` that begins at `start`: seen unhealthy first, then refusing.
fn restart_of(batch: &[BackendId], start: SimTime, grace: SimDuration, restart: SimDuration) -> [Strike; 2] {
    let strike = |at, end, mode| {
        let effect = StrikeEffect::Backends(batch.to_vec(), BackendFault::Fails(mode));
        Strike { at, end: Some(end), effect }
    };
    let down = start + grace;
    [strike(start, down, FailureMode::UnhealthyOnly), strike(down, down + restart, FailureMode::Refuse)]
}

/// A random choice of the nearest whole number to `fraction` of `targets`, and of at least one unless it is 0. All targets
/// keep their order.
fn chosen(targets: &[BackendId], fraction: f64, key: StreamKey) -> Vec<BackendId> {
    let mut targets = targets.to_vec();
    let share = fraction * targets.len() as f64;
    let count = (share.round() as usize).max(usize::from(share > 0.0));
    if count == targets.len() {
        return targets;
    }
    let mut stream = key.generator();
    // The first steps of a Fisher-Yates shuffle.
    for position in 0..count {
        let rest = (targets.len() - position) as u128;
        let chosen = position + ((u128::from(stream.next_u64()) * rest) >> 64) as usize;
        targets.swap(position, chosen);
    }
    targets.truncate(count);
    targets
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::ids::Id;
    use crate::lb::ratio::Ratio;
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

    fn spans(fault: &Fault) -> Vec<(u64, Option<u64>)> {
        let seconds = |time: SimTime| time.as_secs_f64() as u64;
        let strikes = strikes_of(fault, 0, RunSeed::new(1, 0), at(1000));
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
        let strikes = strikes_of(&fault, 0, RunSeed::new(1, 0), at(1000));
        let sizes: Vec<usize> = strikes
            .iter()
            .map(|strike| match &strike.effect {
                StrikeEffect::Backends(backends, _) => backends.len(),
                StrikeEffect::Link(..) => 0,
            })
            .collect();
        assert_eq!(sizes, [2, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn random_faults_have_their_rate() {
        let exponential = |secs| Distribution::exponential(SimDuration::from_secs(secs)).unwrap();
        let schedule = FaultSchedule::Random { time_between: exponential(90), duration: exponential(10) };
        let found = strikes_of(&fault(1, 1.0, schedule), 0, RunSeed::new(1, 0), at(1_000_000));
        // A renewal process with cycles of mean 100 s and deviation sqrt(90^2 + 10^2): 10 000 +- 91.
        assert!((found.len() as f64 - 10_000.0).abs() < 4.0 * 91.0, "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0].end.unwrap() <= pair[1].at));
    }

    #[test]
    fn fractions_are_rounded_and_strike_at_least_one() {
        for (count, fraction, expected) in [(4, 0.5, 2), (4, 0.1, 1), (4, 0.0, 0), (3, 0.5, 2), (10, 1.0, 10)]
        {
            let schedule = FaultSchedule::Once { at: at(1), duration: None };
            let found = strikes_of(&fault(count, fraction, schedule), 0, RunSeed::new(1, 0), at(10));
            let StrikeEffect::Backends(backends, _) = &found[0].effect else { panic!("backends") };
            assert_eq!(backends.len(), expected, "{fraction} of {count}");
        }
    }
}

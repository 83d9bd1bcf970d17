//! When a backend counts as healthy (rules HCK-2, 3, 7, 9, 10). Probing itself belongs to the world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::SimDuration;
use crate::unfit::Unfit;

/// A health check that the Compute API would accept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthChecking {
    /// From the start of one probe to the start of the next.
    pub check_interval: SimDuration,
    /// How long a probe waits for its answer; at most the interval.
    pub timeout: SimDuration,
    /// When the state of health changes.
    pub thresholds: Thresholds,
    /// Whether backends are held healthy before the first probes.
    pub initially_healthy: bool,
    /// From the change of a state of health to its effect on new connections.
    pub propagation_delay: SimDuration,
    /// Whether a probe asks for a reply of the server, which may be an error, and not for a handshake alone (HCK-4).
    pub wants_reply: bool,
    /// Whether a probe, which is a TCP connection, sends its SYN again within its timeout.
    pub probe_retransmission: bool,
    /// Whether probes wait for a worker of the backend, and take it as long as a request.
    pub through_queue: bool,
    /// Who probes.
    pub probers: Probers,
}

/// How many equal results in a row change the state of health: each from 1 to 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Successes in a row that make an unhealthy backend healthy.
    pub healthy: u8,
    /// Failures in a row that make a healthy backend unhealthy.
    pub unhealthy: u8,
}

/// When a backend's first probe starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "SimDuration", extend("x-or" = RANDOM))]
pub enum Phase {
    /// At a random moment of the first interval, as probers in the field do.
    #[default]
    Random,
    /// At this time.
    At(SimDuration),
}

const RANDOM: &str = "random";

impl From<Phase> for String {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Random => RANDOM.to_owned(),
            Phase::At(time) => time.to_string(),
        }
    }
}

impl TryFrom<String> for Phase {
    type Error = Unfit;
    fn try_from(text: String) -> Result<Self, Unfit> {
        if text == RANDOM {
            return Ok(Self::Random);
        }
        text.parse().map(Self::At).map_err(|_| {
            Unfit(format!(
                "{text:?} is no phase; write \"random\" or the time of the first probe, such as \"0s\""
            ))
        })
    }
}

/// The probers of each backend, and how their views make one verdict (HCK-6, HCK-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probers {
    /// How many there are.
    pub count: ProberCount,
    /// How their views make one.
    pub verdict: ProberVerdict,
    /// When their first probes start.
    pub phase: Phase,
}

impl Default for Probers {
    fn default() -> Self {
        Self { count: ProberCount(1), verdict: ProberVerdict::Single, phase: Phase::Random }
    }
}

/// A number of probers: 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(extend("minimum" = 1, "maximum" = 100))]
pub struct ProberCount(u8);

impl ProberCount {
    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<i64> for ProberCount {
    type Error = Unfit;
    fn try_from(value: i64) -> Result<Self, Unfit> {
        match u8::try_from(value) {
            Ok(count @ 1..=100) => Ok(Self(count)),
            _ => Err(Unfit(format!("{value} is not a number of probers; write a number from 1 to 100"))),
        }
    }
}

/// How the views of several probers make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProberVerdict {
    /// The only prober decides.
    Single,
    /// Healthy if more than half of them say so.
    Majority,
    /// Healthy if any of them says so.
    Any,
}

/// The state of health of one backend as one prober sees it (HCK-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthState {
    healthy: bool,
    /// Results in a row that speak against the state.
    streak: u8,
}

impl HealthState {
    /// A backend that no probe has reached.
    pub fn new(healthy: bool) -> Self {
        Self { healthy, streak: 0 }
    }

    /// Whether the backend is healthy.
    pub fn is_healthy(self) -> bool {
        self.healthy
    }

    /// Counts one probe's result; tells whether it changed the state.
    pub fn observe(&mut self, success: bool, thresholds: Thresholds) -> bool {
        if success == self.healthy {
            self.streak = 0;
            return false;
        }
        self.streak += 1;
        let needed = if success { thresholds.healthy } else { thresholds.unhealthy };
        let changed = self.streak >= needed;
        if changed {
            *self = Self::new(success);
        }
        changed
    }
}

/// The state of health of one backend as its probers make it together.
#[derive(Clone, Debug)]
pub struct JointHealth {
    verdict: ProberVerdict,
    views: Vec<HealthState>,
    healthy: bool,
}

impl JointHealth {
    /// A backend that no probe has reached, held `healthy` or not by each of `probers`.
    pub fn new(probers: Probers, healthy: bool) -> Self {
        let views = vec![HealthState::new(healthy); usize::from(probers.count.get())];
        Self { verdict: probers.verdict, views, healthy }
    }

    /// Whether it is held healthy.
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// Counts the result of one prober's probe; gives the new state of health if it has changed.
    pub fn observe(&mut self, prober: u8, success: bool, thresholds: Thresholds) -> Option<bool> {
        self.views[usize::from(prober)].observe(success, thresholds);
        let count = self.views.iter().filter(|view| view.is_healthy()).count();
        let healthy = match self.verdict {
            ProberVerdict::Single | ProberVerdict::Majority => 2 * count > self.views.len(),
            ProberVerdict::Any => count > 0,
        };
        let changed = healthy != self.healthy;
        self.healthy = healthy;
        changed.then_some(healthy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(count: u8, verdict: ProberVerdict, healthy: bool) -> JointHealth {
        JointHealth::new(Probers { count: ProberCount(count), verdict, phase: Phase::Random }, healthy)
    }

    #[test]
    fn hck_8_majority_and_any() {
        const ONE: Thresholds = Thresholds { healthy: 1, unhealthy: 1 };
        for (count, verdict, failures_needed) in [
            (1, ProberVerdict::Single, 1),
            (3, ProberVerdict::Majority, 2),
            (4, ProberVerdict::Majority, 2),
            (5, ProberVerdict::Majority, 3),
            (3, ProberVerdict::Any, 3),
        ] {
            let mut health = joint(count, verdict, true);
            let changes: Vec<Option<bool>> =
                (0..count).map(|prober| health.observe(prober, false, ONE)).collect();
            let expected: Vec<Option<bool>> =
                (1..=count).map(|failures| (failures == failures_needed).then_some(false)).collect();
            assert_eq!(changes, expected, "{count} {verdict:?}");
        }
        let mut health = joint(3, ProberVerdict::Any, false);
        assert_eq!(health.observe(2, true, ONE), Some(true));
    }

    const TWO: Thresholds = Thresholds { healthy: 2, unhealthy: 2 };

    #[test]
    fn h4_alternating_results_never_change_the_state() {
        for initially in [true, false] {
            let mut state = HealthState::new(initially);
            for probe in 0..100 {
                assert!(!state.observe(probe % 2 == 0, TWO));
            }
            assert_eq!(state.is_healthy(), initially);
        }
    }

    #[test]
    fn the_streak_starts_anew_after_a_change() {
        let mut state = HealthState::new(true);
        assert!(!state.observe(false, TWO));
        assert!(state.observe(false, TWO));
        assert!(!state.is_healthy());
        assert!(!state.observe(true, TWO));
        assert!(!state.observe(false, TWO));
        assert!(!state.observe(true, TWO));
        assert!(state.observe(true, TWO));
        assert!(state.is_healthy());
    }
}

//! The health check as the experiment file has it, and what the Compute API would refuse of it (HCK-2, HCK-3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HealthCheck, ProberVerdict, Probers, Thresholds};
use crate::time::SimDuration;

/// What a probe asks for. All types probe alike here: what counts is whether the backend answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProbeType {
    /// A TCP handshake.
    Tcp,
    /// A TLS handshake.
    Ssl,
    /// An HTTP reply of status 200.
    Http,
    /// The same over TLS.
    Https,
    /// The same over HTTP/2 and TLS.
    Http2,
    /// A gRPC health reply of SERVING.
    Grpc,
    /// The same over TLS.
    GrpcWithTls,
}

impl ProbeType {
    /// Whether its replies have headers, in which backends report weights (WGT-1).
    pub fn carries_weights(self) -> bool {
        matches!(self, Self::Http | Self::Https | Self::Http2)
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
enum InitialState {
    #[serde(rename = "HEALTHY")]
    Healthy,
    #[serde(rename = "UNHEALTHY")]
    Unhealthy,
}

/// The `[health_check]` table of the experiment file.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthCheckSettings {
    /// What a probe asks for. Default: TCP for a backend service, HTTP for target pools, which know no other.
    pub r#type: Option<ProbeType>,
    /// From the start of one probe to the start of the next: 1 to 300 whole seconds (HCK-2).
    #[schemars(extend("x-least" = "1s", "x-most" = "300s"))]
    check_interval: SimDuration,
    /// How long a probe waits: 1 to 300 whole seconds, at most the interval (HCK-2).
    #[schemars(extend("x-least" = "1s", "x-most" = "300s"))]
    timeout: SimDuration,
    /// Successes in a row that make a backend healthy (HCK-2).
    #[schemars(range(min = 1, max = 10))]
    healthy_threshold: i64,
    /// Failures in a row that make a backend unhealthy (HCK-2).
    #[schemars(range(min = 1, max = 10))]
    unhealthy_threshold: i64,
    /// The probers of each backend (HCK-6).
    probers: Probers,
    /// What backends are until probes have found out.
    initial_state: InitialState,
    /// From a change of health to its effect.
    propagation_delay: SimDuration,
    /// Whether probes wait for a worker like requests, and take it as long.
    through_queue: bool,
}

impl Default for HealthCheckSettings {
    fn default() -> Self {
        Self {
            r#type: None,
            check_interval: SimDuration::from_secs(5),
            timeout: SimDuration::from_secs(5),
            healthy_threshold: 2,
            unhealthy_threshold: 2,
            probers: Probers::default(),
            initial_state: InitialState::Unhealthy,
            propagation_delay: SimDuration::ZERO,
            through_queue: false,
        }
    }
}

/// A health check that the Compute API would refuse (HCK-3), where there is a sentence of its own for that, in the
/// API's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthCheckError {
    /// An interval or a timeout outside 1 to 300 whole seconds.
    #[error(
        "Invalid value for field 'resource.{field}Sec': '{seconds}'. {bound}; write whole seconds from \"1s\" to \"300s\""
    )]
    Seconds {
        /// The key that holds it.
        key: &'static str,
        /// The field of the API without its unit.
        field: &'static str,
        /// Its value in seconds.
        seconds: String,
        /// What it breaks.
        bound: &'static str,
    },
    /// A threshold outside 1 to 10.
    #[error("Invalid value for field 'resource.{field}': '{value}'. {bound}; write a number from 1 to 10")]
    Threshold {
        /// The key that holds it.
        key: &'static str,
        /// The field of the API.
        field: &'static str,
        /// Its value.
        value: i64,
        /// What it breaks.
        bound: &'static str,
    },
    /// The timeout is longer than the interval.
    #[error(
        "Invalid value for field 'resource.timeoutSec': '{timeout}'. TimeoutSec should be less than checkIntervalSec; \
         make it at most {check_interval}, the check_interval"
    )]
    TimeoutAboveInterval {
        /// The timeout in seconds.
        timeout: u64,
        /// The interval.
        check_interval: SimDuration,
    },
    /// A number of probers outside 1 to 100.
    #[error("{0} is not a number of probers; write a number from 1 to 100")]
    ProberCount(i64),
    /// Several probers, but one of them to decide.
    #[error("{0} probers can't give a single verdict; write count = 1, or verdict = \"majority\" or \"any\"")]
    SingleOfMany(u8),
}

impl HealthCheckError {
    /// The key of the `[health_check]` table that it is about, where that is known.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Seconds { key, .. } | Self::Threshold { key, .. } => key,
            Self::TimeoutAboveInterval { .. } => "timeout",
            Self::SingleOfMany(_) => "probers.count",
            Self::ProberCount(_) => "",
        }
    }

    /// Whether the Compute API has the field that is wrong: it has none for probers.
    pub fn is_of_the_api(&self) -> bool {
        !matches!(self, Self::ProberCount(_) | Self::SingleOfMany(_))
    }
}

/// `value` as the whole seconds of an interval or a timeout: 1 to 300 (HCK-2).
fn seconds(key: &'static str, field: &'static str, value: SimDuration) -> Result<u64, HealthCheckError> {
    let bound = match value.as_nanos() {
        nanos if nanos < SimDuration::from_secs(1).as_nanos() => "Must be greater than or equal to 1",
        nanos if nanos > SimDuration::from_secs(300).as_nanos() => "Must be less than or equal to 300",
        nanos if nanos.is_multiple_of(SimDuration::from_secs(1).as_nanos()) => {
            return Ok(nanos / SimDuration::from_secs(1).as_nanos());
        }
        _ => "Must be an integer",
    };
    Err(HealthCheckError::Seconds { key, field, seconds: value.as_secs_f64().to_string(), bound })
}

/// `value` as a number of equal results in a row: 1 to 10 (HCK-2).
fn threshold(key: &'static str, field: &'static str, value: i64) -> Result<u8, HealthCheckError> {
    match u8::try_from(value) {
        Ok(number @ 1..=10) => Ok(number),
        _ => {
            let bound = if value < 1 {
                "Must be greater than or equal to 1"
            } else {
                "Must be less than or equal to 10"
            };
            Err(HealthCheckError::Threshold { key, field, value, bound })
        }
    }
}

impl HealthCheck {
    /// The check that `settings` describe.
    ///
    /// # Errors
    /// If a setting is out of range, or two contradict each other.
    pub fn new(settings: HealthCheckSettings) -> Result<Self, HealthCheckError> {
        let HealthCheckSettings { check_interval, timeout, probers, .. } = settings;
        let interval = seconds("check_interval", "checkInterval", check_interval)?;
        let wait = seconds("timeout", "timeout", timeout)?;
        let thresholds = Thresholds {
            healthy: threshold("healthy_threshold", "healthyThreshold", settings.healthy_threshold)?,
            unhealthy: threshold("unhealthy_threshold", "unhealthyThreshold", settings.unhealthy_threshold)?,
        };
        if wait > interval {
            return Err(HealthCheckError::TimeoutAboveInterval { timeout: wait, check_interval });
        }
        if probers.verdict == ProberVerdict::Single && probers.count.get() != 1 {
            return Err(HealthCheckError::SingleOfMany(probers.count.get()));
        }
        Ok(Self {
            check_interval,
            timeout,
            thresholds,
            initially_healthy: matches!(settings.initial_state, InitialState::Healthy),
            propagation_delay: settings.propagation_delay,
            through_queue: settings.through_queue,
            probers,
        })
    }
}

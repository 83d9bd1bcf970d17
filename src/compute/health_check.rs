//! Health checks (HCK-1 to HCK-4, RES-3, RES-4). Types differ here in what they ask for, a handshake or a reply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{ApiError, FieldPaths, HelpText};
use super::fields::fields;
use super::number;
use crate::lb::health::{HealthChecking, Probers, Thresholds};
use crate::time::SimDuration;

fields! {
    /// A health check, which backend services use.
    HealthCheck {
        /// Its name.
        name: String,
        /// What a probe asks for.
        r#type: Option<ProbeType>,
        /// When it probes.
        #[serde(flatten)]
        timing: ProbeTiming,
    }
}

fields! {
    /// A legacy HTTP health check, which target pools use (TPA-3).
    HttpHealthCheck {
        /// Its name.
        name: String,
        /// When it probes.
        #[serde(flatten)]
        timing: ProbeTiming,
    }
}

/// What a probe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether it asks for a reply of the server, which may be an error, and not for a handshake alone (HCK-4).
    pub fn wants_reply(self) -> bool {
        !matches!(self, Self::Tcp | Self::Ssl)
    }

    /// Whether its replies have headers, in which backends report weights (WGT-1).
    pub fn carries_weights(self) -> bool {
        matches!(self, Self::Http | Self::Https | Self::Http2)
    }
}

/// When probes start, and when they change the state of health. What is absent has the API's default (HCK-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProbeTiming {
    /// From the start of one probe to the start of the next. Default: 5 s.
    #[serde(with = "number::seconds", skip_serializing_if = "Option::is_none")]
    pub check_interval_sec: Option<SimDuration>,
    /// How long a probe waits. Default: 5 s.
    #[serde(with = "number::seconds", skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<SimDuration>,
    /// Default: 2.
    #[serde(deserialize_with = "number::number", skip_serializing_if = "Option::is_none")]
    pub healthy_threshold: Option<i64>,
    /// Default: 2.
    #[serde(deserialize_with = "number::number", skip_serializing_if = "Option::is_none")]
    pub unhealthy_threshold: Option<i64>,
}

impl ProbeTiming {
    /// How backends are checked by it: by a single prober that asks for a handshake, held unhealthy before the first probes.
    ///
    /// # Errors
    /// If a field is out of range, or two contradict each other, in the API's words where it has a sentence of its own
    /// for that (HCK-3).
    pub fn checking(&self) -> Result<HealthChecking, ApiError> {
        const FIVE_SECONDS: SimDuration = SimDuration::from_secs(5);
        let interval = whole_seconds(&["checkIntervalSec"], self.check_interval_sec.unwrap_or(FIVE_SECONDS))?;
        let timeout = whole_seconds(&["timeoutSec"], self.timeout_sec.unwrap_or(FIVE_SECONDS))?;
        let thresholds = Thresholds {
            healthy: threshold(&["healthyThreshold"], self.healthy_threshold.unwrap_or(2))?,
            unhealthy: threshold(&["unhealthyThreshold"], self.unhealthy_threshold.unwrap_or(2))?,
        };
        if timeout > interval {
            let why = "TimeoutSec should be less than checkIntervalSec";
            let help = format!("make it at most {interval}, the checkIntervalSec");
            return Err(out_of_range(&["timeoutSec"], timeout.as_secs_f64(), why, help));
        }
        Ok(HealthChecking {
            check_interval: interval,
            timeout,
            thresholds,
            initially_healthy: false,
            propagation_delay: SimDuration::ZERO,
            wants_reply: false,
            probe_retransmission: true,
            through_queue: false,
            probers: Probers::default(),
        })
    }
}

/// `value` as the whole seconds of an interval or a timeout: 1 to 300.
fn whole_seconds(field: FieldPaths, value: SimDuration) -> Result<SimDuration, ApiError> {
    let seconds = value.as_secs_f64();
    match out_of(seconds, 300.0).or((seconds.fract() != 0.0).then(|| "Must be an integer".to_owned())) {
        None => Ok(value),
        Some(why) => Err(out_of_range(field, seconds, &why, "write whole seconds from \"1s\" to \"300s\"")),
    }
}

/// `value` as a number of equal results in a row: 1 to 10.
fn threshold(field: FieldPaths, value: i64) -> Result<u8, ApiError> {
    match out_of(value as f64, 10.0) {
        None => Ok(value as u8),
        Some(why) => Err(out_of_range(field, value, &why, "write a number from 1 to 10")),
    }
}

/// Why `value` does not lie from 1 to `most`, if it does not.
fn out_of(value: f64, most: f64) -> Option<String> {
    if value < 1.0 {
        return Some("Must be greater than or equal to 1".to_owned());
    }
    (value > most).then(|| format!("Must be less than or equal to {most}"))
}

fn out_of_range(
    field: FieldPaths,
    value: impl std::fmt::Display,
    why: &str,
    help: impl Into<HelpText>,
) -> ApiError {
    let what = format!("Invalid value for field 'resource.{}': '{value}'. {why}", field[0]);
    ApiError::invalid(field, what, help)
}

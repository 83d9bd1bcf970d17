//! Health checks (HCK-1 to HCK-4, RES-3, RES-4). Types differ here in what they ask for, a handshake or a reply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{ApiError, FieldPaths};
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
        /// What it asks, if that is TCP.
        tcp_health_check: Option<ProbedPort>,
        /// If that is SSL.
        ssl_health_check: Option<ProbedPort>,
        /// If that is HTTP.
        http_health_check: Option<ProbedPort>,
        /// If that is HTTPS.
        https_health_check: Option<ProbedPort>,
        /// If that is HTTP2.
        http2_health_check: Option<ProbedPort>,
        /// If that is GRPC.
        grpc_health_check: Option<ProbedPort>,
        /// If that is GRPC_WITH_TLS.
        grpc_tls_health_check: Option<ProbedPort>,
    }
}

fields! {
    /// What a health check asks, and where.
    ProbedPort {
        /// Default: 443 for SSL, HTTPS and HTTP2, 80 for the others, none for GRPC, where it is needed.
        #[serde(deserialize_with = "number::number")]
        port: Option<i64>,
        /// USE_FIXED_PORT, the only one that passthrough load balancers have. Default: that.
        port_specification: Option<String>,
        /// What HTTP asks for. Default: /.
        request_path: Option<String>,
        /// Whom HTTP asks. Default: the address of the forwarding rule.
        host: Option<String>,
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
        /// Default: 80.
        #[serde(deserialize_with = "number::number")]
        port: Option<i64>,
        /// What it asks for, without query parameters. Default: /.
        request_path: Option<String>,
        /// Whom it asks. Default: the address of the forwarding rule.
        host: Option<String>,
    }
}

/// What a health check asks of a machine, and on which port: a machine may answer on some and not on others (REG-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What it asks for.
    pub r#type: ProbeType,
    /// Where.
    pub port: u16,
    /// What HTTP asks for.
    pub request_path: String,
    /// Whom HTTP asks; empty for the address of the forwarding rule.
    pub host: String,
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
    /// The paths of what a check of this type has: the object, its port, the specification of that, and the path of HTTP.
    fn places(self) -> [FieldPaths; 4] {
        macro_rules! of {
            ($object:literal) => {
                [
                    &[$object, "type"],
                    &[concat!($object, ".port")],
                    &[concat!($object, ".portSpecification")],
                    &[concat!($object, ".requestPath")],
                ]
            };
        }
        match self {
            Self::Tcp => of!("tcpHealthCheck"),
            Self::Ssl => of!("sslHealthCheck"),
            Self::Http => of!("httpHealthCheck"),
            Self::Https => of!("httpsHealthCheck"),
            Self::Http2 => of!("http2HealthCheck"),
            Self::Grpc => of!("grpcHealthCheck"),
            Self::GrpcWithTls => of!("grpcTlsHealthCheck"),
        }
    }

    /// The port that it asks where none is said.
    fn usual_port(self) -> Option<i64> {
        match self {
            Self::Tcp | Self::Http => Some(80),
            Self::Ssl | Self::Https | Self::Http2 => Some(443),
            Self::Grpc | Self::GrpcWithTls => None,
        }
    }

    /// Whether it asks for a reply of the server, which may be an error, and not for a handshake alone (HCK-4).
    pub fn wants_reply(self) -> bool {
        !matches!(self, Self::Tcp | Self::Ssl)
    }

    /// Whether its replies have headers, in which backends report weights (WGT-1).
    pub fn carries_weights(self) -> bool {
        matches!(self, Self::Http | Self::Https | Self::Http2)
    }
}

impl HealthCheck {
    /// The check called `name` that asks `asked` of what serves there, in the object of its type.
    pub fn asking(name: impl Into<String>, r#type: ProbeType, asked: ProbedPort) -> Self {
        let mut check = Self { name: name.into(), r#type: Some(r#type), ..Self::default() };
        *check.object_mut(r#type) = Some(asked);
        check
    }

    /// What it asks, if the API accepts that (HCK-2, RES-3).
    ///
    /// # Errors
    /// If it has no type, an object of another type, or a port or a path that can't be.
    pub fn probe(&self) -> Result<Probe, ApiError> {
        let Some(r#type) = self.r#type else {
            return Err(ApiError::required(&["type"], "add type = \"TCP\", or what it asks for"));
        };
        let objects = self.objects();
        if let Some((other, _)) = objects.iter().find(|(other, object)| *other != r#type && object.is_some())
        {
            let what = "belongs to a health check of another type";
            let help = "leave it out, or change the type";
            return Err(ApiError::invalid(other.places()[0], what, help).of_field());
        }
        let asked = objects.into_iter().find_map(|(_, object)| object).cloned().unwrap_or_default();
        let [_, port, specification, path] = r#type.places();
        if let Some(other) = asked.port_specification.filter(|written| written != "USE_FIXED_PORT") {
            let why = "Passthrough load balancers have no serving port and no named one";
            return Err(ApiError::bad_value(specification, other, why, "write USE_FIXED_PORT"));
        }
        let Some(written) = asked.port.or(r#type.usual_port()) else {
            return Err(ApiError::required(port, "add port = 50051, or the port of the server"));
        };
        let port = port_number(port, written)?;
        let request_path = request_path(path, asked.request_path.as_deref())?;
        Ok(Probe { r#type, port, request_path, host: asked.host.unwrap_or_default() })
    }

    /// It without what it asks for another type than `changed`, if it gets that one.
    #[must_use]
    pub(super) fn without_other_than(&self, changed: Option<ProbeType>) -> Self {
        let mut check = self.clone();
        if let Some(old) = self.r#type.filter(|old| changed.is_some_and(|changed| changed != *old)) {
            *check.object_mut(old) = None;
        }
        check
    }

    /// What it asks for each type.
    fn objects(&self) -> [(ProbeType, Option<&ProbedPort>); 7] {
        [
            (ProbeType::Tcp, self.tcp_health_check.as_ref()),
            (ProbeType::Ssl, self.ssl_health_check.as_ref()),
            (ProbeType::Http, self.http_health_check.as_ref()),
            (ProbeType::Https, self.https_health_check.as_ref()),
            (ProbeType::Http2, self.http2_health_check.as_ref()),
            (ProbeType::Grpc, self.grpc_health_check.as_ref()),
            (ProbeType::GrpcWithTls, self.grpc_tls_health_check.as_ref()),
        ]
    }

    fn object_mut(&mut self, r#type: ProbeType) -> &mut Option<ProbedPort> {
        match r#type {
            ProbeType::Tcp => &mut self.tcp_health_check,
            ProbeType::Ssl => &mut self.ssl_health_check,
            ProbeType::Http => &mut self.http_health_check,
            ProbeType::Https => &mut self.https_health_check,
            ProbeType::Http2 => &mut self.http2_health_check,
            ProbeType::Grpc => &mut self.grpc_health_check,
            ProbeType::GrpcWithTls => &mut self.grpc_tls_health_check,
        }
    }
}

impl HttpHealthCheck {
    /// What it asks, if the API accepts that (HCK-2, RES-4).
    ///
    /// # Errors
    /// If it has a port or a path that can't be, or a path with query parameters.
    pub fn probe(&self) -> Result<Probe, ApiError> {
        let port = port_number(&["port"], self.port.unwrap_or(80))?;
        let request_path = request_path(PATH, self.request_path.as_deref())?;
        if request_path.contains('?') {
            let why = "Legacy health checks take no query parameters";
            return Err(ApiError::bad_value(PATH, request_path, why, "leave out the ? and what follows it"));
        }
        let host = self.host.clone().unwrap_or_default();
        Ok(Probe { r#type: ProbeType::Http, port, request_path, host })
    }
}

const PATH: FieldPaths = &["requestPath"];

/// `value` as a port: 1 to 65535.
pub(super) fn port_number(field: FieldPaths, value: i64) -> Result<u16, ApiError> {
    match u16::try_from(value) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(ApiError::bad_value(field, value, "Must be a port", "write a number from 1 to 65535")),
    }
}

/// `written` as the path of an HTTP request.
fn request_path(field: FieldPaths, written: Option<&str>) -> Result<String, ApiError> {
    let path = written.filter(|path| !path.is_empty()).unwrap_or("/");
    if path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(path.to_owned());
    }
    Err(ApiError::bad_value(
        field,
        path,
        "Must be a path",
        "write one that begins with /, such as \"/healthz\"",
    ))
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
            return Err(ApiError::bad_value(&["timeoutSec"], timeout.as_secs_f64(), why, help));
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
        Some(why) => {
            Err(ApiError::bad_value(field, seconds, why, "write whole seconds from \"1s\" to \"300s\""))
        }
    }
}

/// `value` as a number of equal results in a row: 1 to 10.
fn threshold(field: FieldPaths, value: i64) -> Result<u8, ApiError> {
    match out_of(value as f64, 10.0) {
        None => Ok(value as u8),
        Some(why) => Err(ApiError::bad_value(field, value, why, "write a number from 1 to 10")),
    }
}

/// Why `value` does not lie from 1 to `most`, if it does not.
fn out_of(value: f64, most: f64) -> Option<String> {
    if value < 1.0 {
        return Some("Must be greater than or equal to 1".to_owned());
    }
    (value > most).then(|| format!("Must be less than or equal to {most}"))
}

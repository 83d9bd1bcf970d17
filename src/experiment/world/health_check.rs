//! `[health_check]` and `[[health_checks]]`: when backends are probed, and by whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compute::{HealthCheck, HttpHealthCheck, ProbeTiming, ProbeType, ProbedPort, Resources};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::Problem;
use crate::lb::health::{HealthChecking, Phase, ProberCount, ProberVerdict, Probers};
use crate::time::SimDuration;

/// `[health_check]`, and `[[health_checks]]` of a region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HealthCheckTable {
    /// Its name. Default: default; a member of `health_checks` needs one.
    #[schemars(extend("examples" = ["http-80"]))]
    name: Option<ResourceName>,
    /// What a probe asks for: TCP and SSL a handshake, the others a reply, which a server that drains gives as an error
    /// (HCK-4). LEGACY_HTTP is that of target pools. Default: TCP for a backend service, HTTP for target pools, which know no
    /// other; TCP for a member of `health_checks`.
    r#type: Option<CheckType>,
    /// The port that it asks: machines answer on all, or on those that their group `serves`. Default: 80; 443 for SSL, HTTPS and
    /// HTTP2.
    #[schemars(example = 8080)]
    port: Option<Whole<1, 65_535>>,
    /// What an HTTP check asks for. Every machine that serves has it. Default: /.
    #[schemars(extend("examples" = ["/healthz"]))]
    request_path: Option<String>,
    /// Whom an HTTP check asks. Default: the address of the forwarding rule.
    #[schemars(extend("examples" = ["www.example.com"]))]
    host: Option<String>,
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
    probers: ProberKeys,
    /// What backends are until probes have found out. Those of a pool that gets its check while it serves are HEALTHY.
    initial_state: InitialState,
    /// From a change of health to its effect.
    propagation_delay: SimDuration,
    /// Whether a probe sends its SYN again within its timeout, after 1 s, 3 s, 7 s …, as a TCP connection does (O24).
    probe_retransmission: bool,
    /// Whether probes wait for a worker like requests, and take it as long.
    through_queue: bool,
}

/// What a health check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum CheckType {
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
    /// A legacy check, as target pools have them: an HTTP reply of status 200 (TPA-3).
    LegacyHttp,
}

impl CheckType {
    fn asks(self) -> ProbeType {
        match self {
            Self::Tcp => ProbeType::Tcp,
            Self::Ssl => ProbeType::Ssl,
            Self::Http | Self::LegacyHttp => ProbeType::Http,
            Self::Https => ProbeType::Https,
            Self::Http2 => ProbeType::Http2,
            Self::Grpc => ProbeType::Grpc,
            Self::GrpcWithTls => ProbeType::GrpcWithTls,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ProberKeys {
    /// How many there are.
    count: ProberCount,
    /// How their views make one.
    verdict: ProberVerdict,
    /// When their first probes start.
    phase: Phase,
}

impl Default for ProberKeys {
    fn default() -> Self {
        let Probers { count, verdict, phase } = Probers::default();
        Self { count, verdict, phase }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum InitialState {
    Healthy,
    #[default]
    Unhealthy,
}

impl Default for HealthCheckTable {
    fn default() -> Self {
        Self {
            name: None,
            r#type: None,
            port: None,
            request_path: None,
            host: None,
            check_interval: SimDuration::from_secs(5),
            timeout: SimDuration::from_secs(5),
            healthy_threshold: 2,
            unhealthy_threshold: 2,
            probers: ProberKeys::default(),
            initial_state: InitialState::default(),
            propagation_delay: SimDuration::ZERO,
            probe_retransmission: true,
            through_queue: false,
        }
    }
}

impl HealthCheckTable {
    pub(super) const NAME: &str = "default";

    /// How backends are checked, where `usual` is the type of a check that has none.
    pub(super) fn checking(&self, usual: ProbeType, path: &KeyPath) -> Result<HealthChecking, Problem> {
        let checking = self.timing().checking().map_err(|error| Problem::of_resource(error, path))?;
        let ProberKeys { count, verdict, phase } = self.probers;
        if verdict == ProberVerdict::Single && count.get() != 1 {
            let what = format!("{} probers can't give a single verdict", count.get());
            let help = "write count = 1, or verdict = \"majority\" or \"any\"".to_owned();
            return Err(Problem::new(path.key("probers").key("count"), format!(": {what}"), Some(help)));
        }
        Ok(HealthChecking {
            initially_healthy: self.initial_state == InitialState::Healthy,
            propagation_delay: self.propagation_delay,
            wants_reply: self.asks().unwrap_or(usual).wants_reply(),
            probe_retransmission: self.probe_retransmission,
            through_queue: self.through_queue,
            probers: Probers { count, verdict, phase },
            ..checking
        })
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or(Self::NAME, ResourceName::as_str)
    }

    /// Whether the file says what it is called.
    pub(super) fn is_named(&self) -> bool {
        self.name.is_some()
    }

    /// What it asks for, if the file says it.
    pub(super) fn asks(&self) -> Option<ProbeType> {
        self.r#type.map(CheckType::asks)
    }

    /// Whether it is a legacy check for certain.
    pub(super) fn is_legacy(&self) -> bool {
        self.r#type == Some(CheckType::LegacyHttp)
    }

    pub(super) fn modern(&self, r#type: ProbeType) -> HealthCheck {
        let asked = ProbedPort {
            port: self.port.map(|port| i64::from(port.get())),
            request_path: self.request_path.clone(),
            host: self.host.clone(),
            ..ProbedPort::default()
        };
        let check = if asked == ProbedPort::default() {
            HealthCheck { name: self.name().to_owned(), r#type: Some(r#type), ..HealthCheck::default() }
        } else {
            HealthCheck::asking(self.name(), r#type, asked)
        };
        HealthCheck { timing: self.timing(), ..check }
    }

    pub(super) fn legacy(&self) -> HttpHealthCheck {
        HttpHealthCheck {
            name: self.name().to_owned(),
            timing: self.timing(),
            port: self.port.map(|port| i64::from(port.get())),
            request_path: self.request_path.clone(),
            host: self.host.clone(),
            ..HttpHealthCheck::default()
        }
    }

    /// The resource among `resources` that target pools can use if it is an HTTP check: a legacy one (TPA-3).
    pub(super) fn create(&self, resources: &mut Resources) {
        match self.asks().unwrap_or(ProbeType::Http) {
            ProbeType::Http => resources.http_health_checks.push(self.legacy()),
            other => resources.health_checks.push(self.modern(other)),
        }
    }

    fn timing(&self) -> ProbeTiming {
        ProbeTiming {
            check_interval_sec: Some(self.check_interval),
            timeout_sec: Some(self.timeout),
            healthy_threshold: Some(self.healthy_threshold),
            unhealthy_threshold: Some(self.unhealthy_threshold),
        }
    }
}

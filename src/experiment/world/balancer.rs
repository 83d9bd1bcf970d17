//! `[backend_service]`: what the load balancer is set to.

use serde::Deserialize;

use super::backends::BackendGroup;
use crate::lb::Settings;
use crate::lb::eligibility::{Eligibility, FailoverPolicy};
use crate::lb::tracking::TrackingPolicy;
use crate::lb::zonal_affinity::{Policy, SpecVersion, ZonalAffinity};
use crate::time::SimDuration;

/// `[backend_service]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackendService {
    /// Settings that have one supported value.
    #[serde(default, rename = "load_balancing_scheme")]
    _load_balancing_scheme: LoadBalancingScheme,
    #[serde(default, rename = "protocol")]
    _protocol: Protocol,
    #[serde(default, rename = "session_affinity")]
    _session_affinity: SessionAffinity,
    #[serde(default, rename = "locality_lb_policy")]
    _locality_lb_policy: LocalityLbPolicy,
    /// Whether VMs of other regions reach the load balancer. Default: true.
    #[serde(default = "global_access")]
    allow_global_access: bool,
    /// Default: disabled; the ratio's default is 0.0.
    #[serde(default)]
    zonal_affinity: ZonalAffinity,
    /// Default: ratio 0.0, no dropping, draining on failover.
    #[serde(default)]
    failover_policy: FailoverPolicy,
    #[serde(default, rename = "connection_tracking_policy")]
    _connection_tracking_policy: ConnectionTrackingPolicy,
    #[serde(default, rename = "connection_draining")]
    _connection_draining: ConnectionDraining,
    /// Which text decides where Preview and GA differ (ZON-9). Default: GA.
    #[serde(default)]
    spec_version: SpecVersion,
    /// At least one group.
    pub(super) backends: Vec<BackendGroup>,
}

impl BackendService {
    /// How the load balancer is configured.
    pub(super) fn settings(&self) -> Settings {
        let policy = Policy {
            eligibility: Eligibility::BackendService(self.failover_policy),
            zonal_affinity: self.zonal_affinity,
            allow_global_access: self.allow_global_access,
            spec_version: self.spec_version,
        };
        Settings { policy, ..Settings::default() }
    }
}

fn global_access() -> bool {
    true
}

/// Default: INTERNAL.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum LoadBalancingScheme {
    #[default]
    Internal,
}

/// Default: TCP.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Protocol {
    #[default]
    Tcp,
}

/// Default: NONE, which hashes all five parts of an unfragmented packet, as `CLIENT_IP_PORT_PROTO` does.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum SessionAffinity {
    #[default]
    None,
    ClientIpPortProto,
}

/// Default: RENDEZVOUS.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum LocalityLbPolicy {
    #[default]
    Rendezvous,
}

/// `connection_tracking_policy`: every setting has one supported value.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConnectionTrackingPolicy {
    #[serde(rename = "tracking_mode")]
    _tracking_mode: TrackingMode,
    #[serde(rename = "connection_persistence_on_unhealthy_backends")]
    _connection_persistence_on_unhealthy_backends: Persistence,
    #[serde(rename = "idle_timeout")]
    _idle_timeout: IdleTimeout,
}

/// Default: PER_CONNECTION.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum TrackingMode {
    #[default]
    PerConnection,
}

/// Default: DEFAULT_FOR_PROTOCOL.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Persistence {
    #[default]
    DefaultForProtocol,
}

/// 600 s: the API takes another one only with session tracking (CTE-7).
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "SimDuration")]
struct IdleTimeout;

impl TryFrom<SimDuration> for IdleTimeout {
    type Error = String;
    fn try_from(value: SimDuration) -> Result<Self, String> {
        if value == TrackingPolicy::INTERNAL_IDLE_TIMEOUT {
            return Ok(Self);
        }
        Err(format!(
            "{value} needs tracking mode PER_SESSION, which this version does not have; write \"600s\""
        ))
    }
}

/// `connection_draining`: no backend is ever removed yet, so it has no effect.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConnectionDraining {
    #[serde(rename = "draining_timeout")]
    _draining_timeout: DrainingTimeout,
}

/// From 0 to 3600 whole seconds. Default: 0 s.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "SimDuration")]
struct DrainingTimeout;

impl TryFrom<SimDuration> for DrainingTimeout {
    type Error = String;
    fn try_from(value: SimDuration) -> Result<Self, String> {
        let second = SimDuration::from_secs(1).as_nanos();
        if value.as_nanos().is_multiple_of(second) && value <= SimDuration::from_secs(3600) {
            return Ok(Self);
        }
        Err(format!("{value} is out of range; write whole seconds from \"0s\" to \"3600s\""))
    }
}

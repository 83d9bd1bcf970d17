//! Backend services: their fields, and which of them the API refuses together
//! (AFF-1, CTE-1, CTE-5, CTE-7, ELIG-12, ELIG-13, RES-1, XBS-1, XBS-2, ZON-1, ZON-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{ApiError, FieldPaths};
use super::fields::fields;
use super::forwarding_rule::{ForwardingRule, RuleProtocol, Scheme};
use super::{Assumptions, Reference, number};
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::backend::Role;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::{BackendServicePolicy, FailoverPolicy};
use crate::lb::ratio::Ratio;
use crate::lb::selection::SelectionHash;
use crate::lb::tracking::{Persistence, Tracker, TrackingMode, TrackingPolicy};
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::time::SimDuration;

fields! {
    /// A backend service, or what a patch changes of one. What is absent has the API's default.
    BackendService {
        /// Its name.
        name: String,
        /// Whose backends they are. Default: EXTERNAL.
        load_balancing_scheme: Option<Scheme>,
        /// Which protocols it takes. Default: TCP.
        protocol: Option<ServiceProtocol>,
        /// Its groups of backends.
        backends: Vec<ServiceBackend>,
        /// The health check that judges its backends.
        health_checks: Vec<Reference>,
        /// Which connections stay together. Default: NONE.
        #[serde(deserialize_with = "number::session_affinity")]
        session_affinity: Option<SessionAffinity>,
        /// How backends are selected. Default: that of the scheme.
        locality_lb_policy: Option<LocalityPolicy>,
        /// Zonal affinity stands here.
        network_pass_through_lb_traffic_policy: Option<PassThroughPolicyFields>,
        /// When primaries give way to failover backends.
        failover_policy: Option<FailoverPolicyFields>,
        /// How connections are tracked.
        connection_tracking_policy: Option<ConnectionTrackingFields>,
        /// What becomes of connections to backends that are removed.
        connection_draining: Option<ConnectionDrainingFields>,
        /// Whether each client sees some of the backends only.
        subsetting: Option<SubsettingFields>,
        /// High availability by haPolicy is another product: it is refused.
        ha_policy: Option<Value>,
    }
}

/// Which protocols a backend service takes. Default: TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ServiceProtocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// That of its forwarding rule, which may be `L3_DEFAULT` for all.
    Unspecified,
}

/// How backends are selected. Default: RENDEZVOUS for internal load balancers, MAGLEV for external ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LocalityPolicy {
    /// Rendezvous hashing.
    Rendezvous,
    /// Rendezvous hashing by the weights that backends report.
    WeightedGcpRendezvous,
    /// Maglev hashing.
    Maglev,
    /// Maglev hashing by the weights that backends report.
    WeightedMaglev,
}

impl LocalityPolicy {
    /// Whether reported weights count.
    pub fn is_weighted(self) -> bool {
        matches!(self, Self::WeightedGcpRendezvous | Self::WeightedMaglev)
    }

    fn scheme(self) -> Scheme {
        let is_internal = matches!(self, Self::Rendezvous | Self::WeightedGcpRendezvous);
        if is_internal { Scheme::Internal } else { Scheme::External }
    }
}

fields! {
    /// A group of backends of a backend service.
    ServiceBackend {
        /// An instance group, or a network endpoint group.
        group: Option<Reference>,
        /// Whether its members are failover backends. Default: false.
        failover: Option<bool>,
        /// Default: CONNECTION, the only one that passthrough load balancers have.
        balancing_mode: Option<BalancingMode>,
        /// Without effect on passthrough load balancers (ELIG-12).
        #[serde(deserialize_with = "number::ratio")]
        capacity_scaler: Option<Ratio>,
    }
}

/// What the share of traffic of a group depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BalancingMode {
    /// Connections.
    Connection,
    /// Requests a second.
    Rate,
    /// The utilization of its instances.
    Utilization,
    /// Metrics that the backends report.
    CustomMetrics,
}

impl BalancingMode {
    pub(super) fn name(self) -> &'static str {
        ["CONNECTION", "RATE", "UTILIZATION", "CUSTOM_METRICS"][self as usize]
    }
}

impl ServiceBackend {
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.group.as_ref().is_some_and(|group| group.name() == name)
    }

    /// The role of its members (ELIG-1).
    pub fn role(&self) -> Role {
        if self.failover == Some(true) { Role::Failover } else { Role::Primary }
    }

    /// Checks its own fields.
    ///
    /// # Errors
    /// If it has a balancing mode that belongs to proxies (ELIG-12).
    pub fn check(&self) -> Result<(), ApiError> {
        if self.balancing_mode.is_none_or(|mode| mode == BalancingMode::Connection) {
            return Ok(());
        }
        let what = "does not belong to a passthrough load balancer";
        Err(ApiError::invalid(&["balancingMode"], what, "write CONNECTION, or leave it out").of_field())
    }
}

fields! {
    /// The traffic policy of passthrough load balancers.
    PassThroughPolicyFields {
        /// Zonal affinity. Default: off.
        zonal_affinity: Option<ZonalAffinityFields>,
    }
}

fields! {
    /// Zonal affinity. A ratio without spilling is accepted and ignored (ZON-1).
    ZonalAffinityFields {
        /// Which of the three. Default: off.
        spillover: Option<Spillover>,
        /// The ratio of spilling. Default: 0.0.
        #[serde(deserialize_with = "number::ratio")]
        spillover_ratio: Option<Ratio>,
    }
}

/// Zonal affinity without a ratio. The names may be written without their beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spillover {
    /// Off.
    #[default]
    #[serde(rename = "ZONAL_AFFINITY_DISABLED", alias = "DISABLED")]
    Disabled,
    /// Connections stay.
    #[serde(rename = "ZONAL_AFFINITY_STAY_WITHIN_ZONE", alias = "STAY_WITHIN_ZONE")]
    StayWithinZone,
    /// Connections spill.
    #[serde(rename = "ZONAL_AFFINITY_SPILL_CROSS_ZONE", alias = "SPILL_CROSS_ZONE")]
    SpillCrossZone,
}

fields! {
    /// The failover policy. Its defaults are those of [`FailoverPolicy`].
    FailoverPolicyFields {
        /// The share of healthy primaries below which the failover backends serve.
        #[serde(deserialize_with = "number::ratio")]
        failover_ratio: Option<Ratio>,
        /// Whether new connections are dropped when no backend is healthy.
        drop_traffic_if_unhealthy: Option<bool>,
        /// Whether a switch between the roles ends existing connections at once.
        disable_connection_drain_on_failover: Option<bool>,
    }
}

fields! {
    /// The connection tracking policy (CTE-1).
    ConnectionTrackingFields {
        /// Default: PER_CONNECTION.
        tracking_mode: Option<TrackingMode>,
        /// Default: DEFAULT_FOR_PROTOCOL.
        connection_persistence_on_unhealthy_backends: Option<Persistence>,
        /// Default: 600 s for internal load balancers; 60 s for external ones, which know no other (CTE-7).
        #[serde(with = "number::seconds")]
        idle_timeout_sec: Option<SimDuration>,
    }
}

fields! {
    /// What becomes of connections to backends that are removed.
    ConnectionDrainingFields {
        /// How long they live on: 0 to 3600 whole seconds (CTE-9). Default: 0 s.
        #[serde(with = "number::seconds")]
        draining_timeout_sec: Option<SimDuration>,
    }
}

fields! {
    /// Backend subsetting.
    SubsettingFields {
        /// Default: NONE.
        policy: Option<SubsettingPolicy>,
    }
}

/// Whether each client sees some of the backends only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubsettingPolicy {
    /// It sees all.
    #[default]
    None,
    /// It sees a subset.
    ConsistentHashSubsetting,
}

const IDLE_TIMEOUT: &str = "connectionTrackingPolicy.idleTimeoutSec";
const MODE: &str = "connectionTrackingPolicy.trackingMode";
const PERSISTENCE: &str = "connectionTrackingPolicy.connectionPersistenceOnUnhealthyBackends";
const SPILLOVER: &str = "networkPassThroughLbTrafficPolicy.zonalAffinity.spillover";
const SUBSETTING: &str = "subsetting.policy";
const COLLECTOR: &str = "isMirroringCollector";
const AFFINITY: &str = "sessionAffinity";

/// The most backends of an internal load balancer without subsetting.
const BACKENDS_MAX: usize = 250;

impl BackendService {
    /// How `rule` configures a load balancer with it, if the API accepts the two together: at their creation, and after
    /// each change.
    ///
    /// # Errors
    /// If a field is out of range, or fields contradict each other.
    pub fn settings(&self, rule: &ForwardingRule, assumptions: &Assumptions) -> Result<Settings, ApiError> {
        self.check_ha_policy()?;
        self.check_scheme(rule)?;
        self.check_combinations(rule)?;
        let external = self.scheme() == Scheme::External;
        let (mode, persistence) = self.tracking();
        let tracking = TrackingPolicy {
            tracker: if external { Tracker::External } else { Tracker::Internal },
            mode,
            persistence,
            idle_timeout: self.idle_timeout()?,
        };
        let failover = self.failover_policy.clone().unwrap_or_default();
        let keeps_no_old = failover.disable_connection_drain_on_failover;
        Ok(Settings {
            policy: AnyPolicy::BackendService(BackendServicePolicy {
                failover: FailoverPolicy {
                    failover_ratio: failover.failover_ratio.unwrap_or_default(),
                    drop_traffic_if_unhealthy: failover.drop_traffic_if_unhealthy.unwrap_or_default(),
                    disable_connection_drain_on_failover: keeps_no_old.unwrap_or_default(),
                },
                zonal_affinity: self.zonal_affinity(),
                is_external: external,
                allow_global_access: rule.allow_global_access.unwrap_or(false),
                spec_version: assumptions.spec_version,
                inspected: assumptions.inspected,
            }),
            session_affinity: self.affinity(),
            tracking,
            hash: match self.locality().scheme() {
                Scheme::Internal => SelectionHash::Rendezvous,
                Scheme::External => SelectionHash::Maglev(assumptions.table_size),
            },
            weighted: self.locality().is_weighted(),
            draining_timeout: self.draining_timeout()?,
            failover_drain: assumptions.failover_drain,
            ..Settings::default()
        })
    }

    /// How backends are selected.
    pub fn locality(&self) -> LocalityPolicy {
        self.locality_lb_policy.unwrap_or(match self.scheme() {
            Scheme::Internal => LocalityPolicy::Rendezvous,
            Scheme::External => LocalityPolicy::Maglev,
        })
    }

    pub(super) fn scheme(&self) -> Scheme {
        self.load_balancing_scheme.unwrap_or(Scheme::External)
    }

    fn affinity(&self) -> SessionAffinity {
        self.session_affinity.unwrap_or_default()
    }

    fn zonal_affinity(&self) -> ZonalAffinity {
        let policy = self.network_pass_through_lb_traffic_policy.as_ref();
        let Some(fields) = policy.and_then(|policy| policy.zonal_affinity.as_ref()) else {
            return ZonalAffinity::Disabled;
        };
        match fields.spillover.unwrap_or_default() {
            Spillover::Disabled => ZonalAffinity::Disabled,
            Spillover::StayWithinZone => ZonalAffinity::StayWithinZone,
            Spillover::SpillCrossZone => {
                ZonalAffinity::SpillCrossZone(fields.spillover_ratio.unwrap_or_default())
            }
        }
    }

    fn has_zonal_affinity(&self) -> bool {
        self.zonal_affinity() != ZonalAffinity::Disabled
    }

    fn is_subset(&self) -> bool {
        let policy = self.subsetting.as_ref().and_then(|subsetting| subsetting.policy);
        policy == Some(SubsettingPolicy::ConsistentHashSubsetting)
    }

    fn tracking(&self) -> (TrackingMode, Persistence) {
        let fields = self.connection_tracking_policy.as_ref();
        let mode = fields.and_then(|fields| fields.tracking_mode);
        let persistence = fields.and_then(|fields| fields.connection_persistence_on_unhealthy_backends);
        (mode.unwrap_or_default(), persistence.unwrap_or_default())
    }

    /// `haPolicy` excludes other fields (ZON-2, CTE-1), and is not simulated.
    fn check_ha_policy(&self) -> Result<(), ApiError> {
        const FIELDS: &[&str] = &["haPolicy"];
        if self.ha_policy.is_none() {
            return Ok(());
        }
        let excluded = [
            ("zonal affinity", self.has_zonal_affinity()),
            ("a failover policy", self.failover_policy.is_some()),
            ("session affinity", self.affinity() != SessionAffinity::None),
            ("a connection tracking policy", self.connection_tracking_policy.is_some()),
        ];
        Err(match excluded.iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => {
                let what = format!("can't be combined with {name}");
                ApiError::invalid(FIELDS, what, "keep one of the two").of_field()
            }
            None => ApiError::own(FIELDS, "is not simulated", "leave it out").of_field(),
        })
    }

    /// What belongs to load balancers of the other scheme (AFF-1, WGT-1, XBS-1, XBS-2).
    fn check_scheme(&self, rule: &ForwardingRule) -> Result<(), ApiError> {
        if self.locality().scheme() != self.scheme() {
            let (belongs, others) = match self.scheme() {
                Scheme::External => ("internal", "write MAGLEV or WEIGHTED_MAGLEV"),
                Scheme::Internal => ("external", "write RENDEZVOUS or WEIGHTED_GCP_RENDEZVOUS"),
            };
            let what = format!("this policy belongs to {belongs} load balancers");
            return Err(ApiError::invalid(&["localityLbPolicy"], what, others));
        }
        if self.scheme() == Scheme::Internal {
            return Ok(());
        }
        if self.affinity() == SessionAffinity::ClientIpNoDestination {
            return Err(ApiError::invalid(
                &[AFFINITY],
                "CLIENT_IP_NO_DESTINATION belongs to internal load balancers",
                "write NONE, CLIENT_IP_PORT_PROTO, CLIENT_IP_PROTO or CLIENT_IP",
            ));
        }
        let (field, what): (FieldPaths, _) = if self.has_zonal_affinity() {
            (&[SPILLOVER], "external load balancers have no zonal affinity")
        } else if self.is_subset() {
            (&[SUBSETTING], "external load balancers have no backend subsetting")
        } else if rule.is_collector() {
            (&[COLLECTOR], "only internal load balancers collect mirrored packets")
        } else {
            return Ok(());
        };
        Err(ApiError::invalid(field, what, "leave it out, or write loadBalancingScheme = \"INTERNAL\""))
    }

    /// What contradicts each other (ZON-2, ELIG-13, CTE-5).
    fn check_combinations(&self, rule: &ForwardingRule) -> Result<(), ApiError> {
        let refuse = |fields, what, help: &'static str| Err(ApiError::invalid(fields, what, help));
        if self.has_zonal_affinity() && self.is_subset() {
            let what = "zonal affinity can't be combined with backend subsetting";
            let help = "write ZONAL_AFFINITY_DISABLED, or subsetting = { policy = \"NONE\" }";
            return refuse(&[SUBSETTING, SPILLOVER], what, help);
        }
        if self.has_zonal_affinity() && rule.is_collector() {
            let what = "a collector of Packet Mirroring can't have zonal affinity";
            let help = "write ZONAL_AFFINITY_DISABLED, or isMirroringCollector = false";
            return refuse(&[COLLECTOR, SPILLOVER], what, help);
        }
        if self.is_subset() && rule.is_collector() {
            let what = "a collector of Packet Mirroring can't have backend subsetting";
            let help = "write subsetting = { policy = \"NONE\" }, or isMirroringCollector = false";
            return refuse(&[COLLECTOR, SUBSETTING], what, help);
        }
        if self.is_subset() && !self.affinity().is_five_tuple() {
            let what = "backend subsetting needs an affinity of all five fields";
            let help = "write sessionAffinity = \"NONE\" or \"CLIENT_IP_PORT_PROTO\"";
            return refuse(&[SUBSETTING, AFFINITY], what, help);
        }
        if self.tracking() == (TrackingMode::PerSession, Persistence::AlwaysPersist) {
            let what = "ALWAYS_PERSIST can't be combined with tracking mode PER_SESSION";
            let help = "write DEFAULT_FOR_PROTOCOL or NEVER_PERSIST, or trackingMode = \"PER_CONNECTION\"";
            return refuse(&[PERSISTENCE, MODE], what, help);
        }
        Ok(())
    }

    /// Checks that it may have `size` backends (ELIG-13).
    ///
    /// # Errors
    /// If they are more than an internal load balancer spreads over.
    pub fn check_size(&self, size: usize, assumptions: &Assumptions) -> Result<(), ApiError> {
        let is_limited =
            self.scheme() == Scheme::Internal && !self.is_subset() && !assumptions.unlimited_backends;
        if size <= BACKENDS_MAX || !is_limited {
            return Ok(());
        }
        let what = format!(
            "has {size} instances in all, and without backend subsetting an internal passthrough load balancer spreads over \
             at most {BACKENDS_MAX} (ELIG-13)"
        );
        let help = "write fewer, subsetting = { policy = \"CONSISTENT_HASH_SUBSETTING\" }, or, to study what no load balancer \
                    does, semantics.unlimited_backends = true";
        Err(ApiError::invalid(&["backends"], what, help).of_field())
    }

    /// How long an entry lives without packets (CTE-7).
    fn idle_timeout(&self) -> Result<SimDuration, ApiError> {
        let fields = self.connection_tracking_policy.as_ref();
        let written = fields.and_then(|fields| fields.idle_timeout_sec);
        let refuse = |fields, what, help: &'static str| Err(ApiError::invalid(fields, what, help));
        if self.scheme() == Scheme::External {
            let fixed = TrackingPolicy::EXTERNAL_IDLE_TIMEOUT;
            let Some(other) = written.filter(|written| *written != fixed) else { return Ok(fixed) };
            let what = format!("{other} can't be set: external load balancers keep to {fixed}");
            return refuse(&[IDLE_TIMEOUT], what, "leave it out");
        }
        let default = TrackingPolicy::INTERNAL_IDLE_TIMEOUT;
        let written = written.unwrap_or(default);
        if !is_whole_seconds(written, default, SimDuration::from_secs(57_600)) {
            let what = format!("{written} is out of range");
            return refuse(&[IDLE_TIMEOUT], what, "write whole seconds from \"600s\" to \"57600s\"");
        }
        let (mode, _) = self.tracking();
        if written != default && (mode != TrackingMode::PerSession || self.affinity().is_five_tuple()) {
            let what = format!(
                "an idle timeout of {written} needs tracking mode PER_SESSION and session affinity \
                 CLIENT_IP_NO_DESTINATION, CLIENT_IP or CLIENT_IP_PROTO"
            );
            let help = "write idleTimeoutSec = \"10m\", or change mode and affinity";
            return refuse(&[IDLE_TIMEOUT, MODE, AFFINITY], what, help);
        }
        Ok(written)
    }

    /// How long connections to removed backends live on (CTE-9).
    fn draining_timeout(&self) -> Result<SimDuration, ApiError> {
        let fields = self.connection_draining.as_ref();
        let written = fields.and_then(|fields| fields.draining_timeout_sec).unwrap_or(SimDuration::ZERO);
        if is_whole_seconds(written, SimDuration::ZERO, SimDuration::from_secs(3600)) {
            return Ok(written);
        }
        let what = format!("{written} is out of range");
        let help = "write whole seconds from \"0s\" to \"3600s\"";
        Err(ApiError::invalid(&["connectionDraining.drainingTimeoutSec"], what, help))
    }
}

impl ServiceProtocol {
    fn name(self) -> &'static str {
        ["TCP", "UDP", "UNSPECIFIED"][self as usize]
    }

    /// The only protocol that its rules can have, if it is that strict.
    fn of_rules(self) -> Option<RuleProtocol> {
        match self {
            Self::Tcp => Some(RuleProtocol::Tcp),
            Self::Udp => Some(RuleProtocol::Udp),
            Self::Unspecified => None,
        }
    }
}

impl ForwardingRule {
    /// Which packets it takes, if it leads to a backend service of that protocol, or else to a target pool.
    pub fn protocol(&self, service: Option<ServiceProtocol>) -> RuleProtocol {
        let of_service = service.and_then(ServiceProtocol::of_rules);
        self.ip_protocol.or(of_service).unwrap_or(RuleProtocol::Tcp)
    }

    /// Checks that what it leads to, as above, takes rules of its protocol (REG-2). Public configurations have rules of
    /// protocol TCP or UDP on services of protocol UNSPECIFIED (O22).
    pub(super) fn check_protocol(&self, service: Option<ServiceProtocol>) -> Result<(), ApiError> {
        let (protocol, fields) = (self.protocol(service), &["IPProtocol"]);
        let Some(service) = service else {
            return match protocol {
                RuleProtocol::L3Default => {
                    let what = "target pools take no rules of protocol L3_DEFAULT";
                    Err(ApiError::invalid(fields, what, "write TCP or UDP"))
                }
                RuleProtocol::Tcp | RuleProtocol::Udp => Ok(()),
            };
        };
        if service.of_rules().is_none_or(|only| only == protocol) {
            return Ok(());
        }
        let (service, protocol) = (service.name(), protocol.name());
        let what = format!("a backend service of protocol {service} takes no rule of protocol {protocol}");
        let help = format!("write {service}, or protocol = \"UNSPECIFIED\" for the backend service");
        Err(ApiError::invalid(fields, what, help))
    }

    fn is_collector(&self) -> bool {
        self.is_mirroring_collector == Some(true)
    }
}

fn is_whole_seconds(value: SimDuration, least: SimDuration, most: SimDuration) -> bool {
    let second = SimDuration::from_secs(1).as_nanos();
    value.as_nanos().is_multiple_of(second) && (least..=most).contains(&value)
}

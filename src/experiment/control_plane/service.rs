//! A backend service: its settings, and which of them the Compute API refuses together
//! (AFF-1, CTE-1, CTE-5, CTE-7, ELIG-13, XBS-1, XBS-2, ZON-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::eligibility::{Eligibility, FailoverPolicy};
use crate::lb::ratio::Ratio;
use crate::lb::selection::{SelectionHash, TableSize};
use crate::lb::tracking::{Persistence, Tracker, TrackingMode, TrackingPolicy};
use crate::lb::zonal_affinity::{Policy, SpecVersion, Spillover, WrittenZonalAffinity, ZonalAffinity};
use crate::time::SimDuration;

/// A backend service as the API holds it.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Service {
    pub(in super::super) scheme: Scheme,
    pub(in super::super) session_affinity: SessionAffinity,
    pub(in super::super) locality: LocalityPolicy,
    /// The size of Maglev's table, if that selects.
    pub(in super::super) table_size: TableSize,
    pub(in super::super) allow_global_access: bool,
    pub(in super::super) zonal_affinity: WrittenZonalAffinity,
    pub(in super::super) failover_policy: FailoverPolicy,
    pub(in super::super) tracking: Tracking,
    pub(in super::super) draining_timeout: SimDuration,
    pub(in super::super) is_subset: bool,
    pub(in super::super) is_mirroring_collector: bool,
    /// Whether a Network Security Integration deployment inspects its packets.
    pub(in super::super) is_inspected: bool,
    /// Which text decides where Preview and GA differ (ZON-9).
    pub(in super::super) spec_version: SpecVersion,
    /// How long entries of the old role live on (O1).
    pub(in super::super) failover_drain: SimDuration,
}

/// Internal or external.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in super::super) enum Scheme {
    #[default]
    Internal,
    External,
}

/// How backends are selected. Default: RENDEZVOUS for internal load balancers, MAGLEV for external ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in super::super) enum LocalityPolicy {
    Rendezvous,
    WeightedGcpRendezvous,
    Maglev,
    WeightedMaglev,
}

impl LocalityPolicy {
    /// The default of a scheme.
    pub(in super::super) fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Internal => Self::Rendezvous,
            Scheme::External => Self::Maglev,
        }
    }

    /// Whether reported weights count.
    pub(in super::super) fn is_weighted(self) -> bool {
        matches!(self, Self::WeightedGcpRendezvous | Self::WeightedMaglev)
    }

    /// The scheme that it belongs to, and the policies of the other one.
    fn scheme(self) -> (Scheme, &'static str) {
        match self {
            Self::Rendezvous | Self::WeightedGcpRendezvous => (Scheme::Internal, "MAGLEV or WEIGHTED_MAGLEV"),
            Self::Maglev | Self::WeightedMaglev => {
                (Scheme::External, "RENDEZVOUS or WEIGHTED_GCP_RENDEZVOUS")
            }
        }
    }
}

/// The connection tracking policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Tracking {
    mode: TrackingMode,
    persistence: Persistence,
    /// The scheme's default if absent.
    idle_timeout: Option<SimDuration>,
}

/// `zonal_affinity`, or what an operation changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct ZonalAffinityKeys {
    /// Whether, and how firmly, connections stay in their zone. Default: ZONAL_AFFINITY_DISABLED.
    spillover: Option<Spillover>,
    /// Accepted and ignored unless spilling is configured (ZON-1). Default: 0.0.
    spillover_ratio: Option<Ratio>,
}

impl ZonalAffinityKeys {
    /// `base` with the keys that are written here.
    pub(in super::super) fn over(self, base: WrittenZonalAffinity) -> WrittenZonalAffinity {
        WrittenZonalAffinity {
            spillover: self.spillover.unwrap_or(base.spillover),
            spillover_ratio: self.spillover_ratio.unwrap_or(base.spillover_ratio),
        }
    }
}

/// `failover_policy`, or what an operation changes of it. Its defaults are those of [`FailoverPolicy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct FailoverKeys {
    /// The share of healthy primaries below which the failover backends serve. Default: 0.0.
    failover_ratio: Option<Ratio>,
    /// Whether new connections are dropped when no backend is healthy (ELIG-10). Default: false.
    drop_traffic_if_unhealthy: Option<bool>,
    /// Whether a switch between the roles ends existing connections at once. Default: false.
    disable_connection_drain_on_failover: Option<bool>,
}

impl FailoverKeys {
    /// `base` with the keys that are written here.
    pub(in super::super) fn over(self, base: FailoverPolicy) -> FailoverPolicy {
        FailoverPolicy {
            failover_ratio: self.failover_ratio.unwrap_or(base.failover_ratio),
            drop_traffic_if_unhealthy: self
                .drop_traffic_if_unhealthy
                .unwrap_or(base.drop_traffic_if_unhealthy),
            disable_connection_drain_on_failover: self
                .disable_connection_drain_on_failover
                .unwrap_or(base.disable_connection_drain_on_failover),
        }
    }
}

/// `connection_tracking_policy`, or what an operation changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct TrackingKeys {
    /// What one entry stands for. Default: PER_CONNECTION.
    tracking_mode: Option<TrackingMode>,
    /// Whether an entry keeps pointing at a backend that has become unhealthy. Default: DEFAULT_FOR_PROTOCOL.
    connection_persistence_on_unhealthy_backends: Option<Persistence>,
    /// How long an entry lives without packets. Default: 600 s for internal load balancers; 60 s for external ones, which know no other (CTE-7).
    #[schemars(example = &"600s")]
    idle_timeout: Option<SimDuration>,
}

impl TrackingKeys {
    /// `base` with the keys that are written here.
    pub(in super::super) fn over(self, base: Tracking) -> Tracking {
        Tracking {
            mode: self.tracking_mode.unwrap_or(base.mode),
            persistence: self.connection_persistence_on_unhealthy_backends.unwrap_or(base.persistence),
            idle_timeout: self.idle_timeout.or(base.idle_timeout),
        }
    }
}

const IDLE_TIMEOUT: &str = "connection_tracking_policy.idle_timeout";
const MODE: &str = "connection_tracking_policy.tracking_mode";
const PERSISTENCE: &str = "connection_tracking_policy.connection_persistence_on_unhealthy_backends";
const SPILLOVER: &str = "zonal_affinity.spillover";
const SUBSETTING: &str = "subsetting.policy";
const COLLECTOR: &str = "is_mirroring_collector";

impl Service {
    /// How the load balancer is configured by it, if the API accepts it: at its creation, and after each change.
    pub(in super::super) fn settings(&self) -> Result<Settings, Refusal> {
        self.check_scheme()?;
        self.check_combinations()?;
        let idle_timeout = self.idle_timeout()?;
        let second = SimDuration::from_secs(1).as_nanos();
        if !self.draining_timeout.as_nanos().is_multiple_of(second)
            || self.draining_timeout > SimDuration::from_secs(3600)
        {
            let what = format!("{} is out of range", self.draining_timeout);
            let help = "write whole seconds from \"0s\" to \"3600s\"";
            return Err(Refusal::invalid(&["connection_draining.draining_timeout"], what, help));
        }
        let zonal_affinity = ZonalAffinity::from(self.zonal_affinity);
        let external = self.scheme == Scheme::External;
        let tracker = if external { Tracker::External } else { Tracker::Internal };
        let Tracking { mode, persistence, .. } = self.tracking;
        Ok(Settings {
            policy: Policy {
                eligibility: Eligibility::BackendService(self.failover_policy),
                zonal_affinity,
                allow_global_access: external || self.allow_global_access,
                spec_version: self.spec_version,
                inspected: self.is_inspected,
            },
            session_affinity: self.session_affinity,
            tracking: TrackingPolicy { tracker, mode, persistence, idle_timeout },
            hash: match self.locality {
                LocalityPolicy::Rendezvous | LocalityPolicy::WeightedGcpRendezvous => {
                    SelectionHash::Rendezvous
                }
                LocalityPolicy::Maglev | LocalityPolicy::WeightedMaglev => {
                    SelectionHash::Maglev(self.table_size)
                }
            },
            weighted: self.locality.is_weighted(),
            draining_timeout: self.draining_timeout,
            failover_drain: self.failover_drain,
            ..Settings::default()
        })
    }

    fn has_zonal_affinity(&self) -> bool {
        self.zonal_affinity.spillover != Spillover::Disabled
    }

    /// What belongs to load balancers of the other scheme (AFF-1, WGT-1, XBS-1, XBS-2).
    fn check_scheme(&self) -> Result<(), Refusal> {
        let (scheme, others) = self.locality.scheme();
        if scheme != self.scheme {
            let belongs = if scheme == Scheme::Internal { "internal" } else { "external" };
            let what = format!("this policy belongs to {belongs} load balancers");
            return Err(Refusal::invalid(&["locality_lb_policy"], what, format!("write {others}")));
        }
        if self.scheme == Scheme::Internal {
            return Ok(());
        }
        if self.session_affinity == SessionAffinity::ClientIpNoDestination {
            return Err(Refusal::invalid(
                &["session_affinity"],
                "CLIENT_IP_NO_DESTINATION belongs to internal load balancers",
                "write NONE, CLIENT_IP_PORT_PROTO, CLIENT_IP_PROTO or CLIENT_IP",
            ));
        }
        let internal = "leave it out, or write load_balancing_scheme = \"INTERNAL\"";
        let refuse = |field, what| Err(Refusal::invalid(field, what, internal));
        if self.has_zonal_affinity() {
            return refuse(&[SPILLOVER], "external load balancers have no zonal affinity");
        }
        if self.is_subset {
            return refuse(&[SUBSETTING], "external load balancers have no backend subsetting");
        }
        if self.is_mirroring_collector {
            return refuse(&[COLLECTOR], "only internal load balancers collect mirrored packets");
        }
        Ok(())
    }

    /// What contradicts each other (ZON-2, ELIG-13, CTE-5).
    fn check_combinations(&self) -> Result<(), Refusal> {
        let refuse = |fields, what, help: &str| Err(Refusal::invalid(fields, what, help));
        if self.has_zonal_affinity() && self.is_subset {
            let what = "zonal affinity can't be combined with backend subsetting";
            let help = "write ZONAL_AFFINITY_DISABLED, or subsetting = { policy = \"NONE\" }";
            return refuse(&[SUBSETTING, SPILLOVER], what, help);
        }
        if self.has_zonal_affinity() && self.is_mirroring_collector {
            let what = "a collector of Packet Mirroring can't have zonal affinity";
            let help = "write ZONAL_AFFINITY_DISABLED, or is_mirroring_collector = false";
            return refuse(&[COLLECTOR, SPILLOVER], what, help);
        }
        if self.is_subset && self.is_mirroring_collector {
            let what = "a collector of Packet Mirroring can't have backend subsetting";
            let help = "write subsetting = { policy = \"NONE\" }, or is_mirroring_collector = false";
            return refuse(&[COLLECTOR, SUBSETTING], what, help);
        }
        if self.is_subset && !self.session_affinity.is_five_tuple() {
            let what = "backend subsetting needs an affinity of all five fields";
            let help = "write session_affinity = \"NONE\" or \"CLIENT_IP_PORT_PROTO\"";
            return refuse(&[SUBSETTING, "session_affinity"], what, help);
        }
        let Tracking { mode, persistence, .. } = self.tracking;
        if persistence == Persistence::AlwaysPersist && mode == TrackingMode::PerSession {
            let what = "ALWAYS_PERSIST can't be combined with tracking mode PER_SESSION";
            let help = "write DEFAULT_FOR_PROTOCOL or NEVER_PERSIST, or tracking_mode = \"PER_CONNECTION\"";
            return refuse(&[PERSISTENCE, MODE], what, help);
        }
        Ok(())
    }

    /// How long an entry lives without packets (CTE-7).
    fn idle_timeout(&self) -> Result<SimDuration, Refusal> {
        let external = self.scheme == Scheme::External;
        let default = if external {
            TrackingPolicy::EXTERNAL_IDLE_TIMEOUT
        } else {
            TrackingPolicy::INTERNAL_IDLE_TIMEOUT
        };
        let written = self.tracking.idle_timeout.unwrap_or(default);
        if written == default {
            return Ok(default);
        }
        if external {
            let what = format!("{written} can't be set: external load balancers keep to {default}");
            return Err(Refusal::invalid(&[IDLE_TIMEOUT], what, "leave it out"));
        }
        let second = SimDuration::from_secs(1).as_nanos();
        let range = default..=SimDuration::from_secs(57_600);
        if !written.as_nanos().is_multiple_of(second) || !range.contains(&written) {
            let what = format!("{written} is out of range");
            let help = "write whole seconds from \"600s\" to \"57600s\"";
            return Err(Refusal::invalid(&[IDLE_TIMEOUT], what, help));
        }
        if self.tracking.mode != TrackingMode::PerSession || self.session_affinity.is_five_tuple() {
            let what = format!(
                "an idle timeout of {written} needs tracking mode PER_SESSION and session affinity \
                 CLIENT_IP_NO_DESTINATION, CLIENT_IP or CLIENT_IP_PROTO"
            );
            let help = format!("write idle_timeout = \"{default}\", or change mode and affinity");
            return Err(Refusal::invalid(&[IDLE_TIMEOUT, MODE, "session_affinity"], what, help));
        }
        Ok(written)
    }
}

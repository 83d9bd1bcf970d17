//! `[backend_service]`: what a load balancer by backend service is set to.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::autoscaling::AutoscalingKeys;
use super::groups::{GroupPlan, ServerKeys, Standing, Weight, zones_of};
use super::semantics::Semantics;
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::control_plane::{
    Affinity, Count, FailoverKeys, LocalityPolicy, Scheme, Service, Tracking, TrackingKeys, ZonalAffinityKeys,
};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::Problem;
use crate::experiment::reason::Reason;
use crate::ids::{IdVec, ZoneId};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::eligibility::FailoverPolicy;
use crate::lb::health::ProbeType;
use crate::lb::ratio::Ratio;
use crate::lb::selection::TableSize;
use crate::lb::zonal_affinity::{Spillover, WrittenZonalAffinity};
use crate::sim::scenario::Server;
use crate::time::SimDuration;

/// `[backend_service]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BackendService {
    /// Internal or external.
    #[serde(default)]
    pub(super) load_balancing_scheme: Scheme,
    /// Which protocols it takes.
    #[serde(default)]
    pub(super) protocol: ServiceProtocol,
    /// What keeps connections together (AFF-1). Default: NONE, which hashes all five parts of an unfragmented packet, as `CLIENT_IP_PORT_PROTO` does.
    session_affinity: Option<Affinity>,
    /// How backends are selected. Default: RENDEZVOUS for internal load balancers, MAGLEV for external ones.
    locality_lb_policy: Option<LocalityPolicy>,
    /// Entries of Maglev's table; without meaning for rendezvous hashing.
    #[serde(default)]
    maglev_table_size: TableSize,
    /// Whether VMs of other regions reach the load balancer. An external one is always reached.
    #[serde(default = "global_access")]
    allow_global_access: bool,
    /// Whether connections stay in the zone of their client (ZON-1).
    #[serde(default)]
    zonal_affinity: ZonalAffinityKeys,
    /// When primaries give way to failover backends. Default: they do when all are unhealthy.
    failover_policy: Option<FailoverKeys>,
    /// What is tracked, and for how long. Default: each of its keys its own.
    connection_tracking_policy: Option<TrackingKeys>,
    /// What becomes of the connections of removed backends.
    #[serde(default)]
    connection_draining: ConnectionDraining,
    /// Backend subsetting. Every client sees all backends nevertheless.
    #[serde(default)]
    subsetting: Subsetting,
    /// Whether it collects packets of Packet Mirroring.
    #[serde(default)]
    is_mirroring_collector: bool,
    /// Whether a deployment of Network Security Integration sees its packets (ZON-2).
    #[serde(default)]
    network_security_integration: NetworkSecurityIntegration,
    /// High availability by haPolicy is another product: it is refused. Default: none.
    #[schemars(with = "Option<serde_json::Value>")]
    ha_policy: Option<IgnoredAny>,
    /// Without effect on passthrough load balancers (ELIG-12). Default: none.
    #[schemars(extend("x-unit" = "s"))]
    #[serde(rename = "timeout_sec")]
    _timeout_sec: Option<Whole<1, 2_147_483_647>>,
    /// At least one group.
    #[schemars(extend("examples" = [[{ "group": "ig-a", "zone": "us-central1-a" }]]))]
    backends: Vec<BackendGroup>,
}

fn global_access() -> bool {
    true
}

/// Which protocols it takes. Default: TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ServiceProtocol {
    #[default]
    Tcp,
    Udp,
    /// All, by forwarding rules of protocol `L3_DEFAULT`.
    Unspecified,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ConnectionDraining {
    /// How long entries of removed backends live on: 0 to 3600 whole seconds (CTE-9).
    #[schemars(extend("x-most" = "3600s"))]
    draining_timeout: SimDuration,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Subsetting {
    /// How clients are given their parts.
    policy: SubsettingPolicy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum SubsettingPolicy {
    #[default]
    None,
    ConsistentHashSubsetting,
}

/// Whether a deployment of Network Security Integration sees its packets. With zonal affinity all of them are lost (ZON-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum NetworkSecurityIntegration {
    #[default]
    None,
    InBand,
    OutOfBand,
}

/// `[[backend_service.backends]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BackendGroup {
    /// Its name; its members are `<group>-1` to `<group>-<size>`.
    group: ResourceName,
    /// The zone of all members. Default: none; either it or `zones` is needed.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// The zones that the members are dealt out to in turn. Default: none.
    #[schemars(example = ["us-central1-a", "us-central1-b"])]
    zones: Option<Vec<String>>,
    /// How many members it has.
    #[serde(default = "group_size")]
    size: Count,
    /// Whether its members are failover backends.
    #[serde(default)]
    failover: bool,
    /// What they report of their weight: a number, "missing" or "invalid". Default: 1.0.
    weight: Option<Weight>,
    /// Only CONNECTION belongs to passthrough load balancers. Default: CONNECTION.
    balancing_mode: Option<BalancingMode>,
    /// Without effect on passthrough load balancers (ELIG-12). Default: none.
    #[serde(rename = "capacity_scaler")]
    _capacity_scaler: Option<Ratio>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
    /// How its size follows its utilization. Default: not at all.
    autoscaling_policy: Option<AutoscalingKeys>,
}

fn group_size() -> Count {
    Whole::new(4)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum BalancingMode {
    Connection,
    Rate,
    Utilization,
    CustomMetrics,
}

/// Where it stands.
fn place() -> KeyPath {
    KeyPath::to("backend_service")
}

/// Where its groups stand.
pub(super) fn list() -> KeyPath {
    place().key("backends")
}

impl BackendService {
    /// The resource that is created, and how the load balancer is configured by it.
    pub(super) fn service(&self, semantics: &Semantics) -> Result<(Service, Settings), Problem> {
        let scheme = self.load_balancing_scheme;
        let service = Service {
            scheme,
            session_affinity: self.session_affinity.unwrap_or_default().get(),
            locality: self.locality(),
            table_size: self.maglev_table_size,
            allow_global_access: self.allow_global_access,
            zonal_affinity: self.zonal_affinity.over(WrittenZonalAffinity::default()),
            failover_policy: self.failover_policy.unwrap_or_default().over(FailoverPolicy::default()),
            tracking: self.connection_tracking_policy.unwrap_or_default().over(Tracking::default()),
            draining_timeout: self.connection_draining.draining_timeout,
            is_subset: self.subsetting.policy == SubsettingPolicy::ConsistentHashSubsetting,
            is_mirroring_collector: self.is_mirroring_collector,
            is_inspected: self.network_security_integration != NetworkSecurityIntegration::None,
            spec_version: semantics.zonal_affinity_text,
            failover_drain: semantics.failover_drain.get(),
        };
        self.check_ha_policy(&service)?;
        match service.settings() {
            Ok(settings) => Ok((service, settings)),
            Err(refusal) => Err(refusal.of_resource(&place())),
        }
    }

    fn locality(&self) -> LocalityPolicy {
        self.locality_lb_policy.unwrap_or(LocalityPolicy::of(self.load_balancing_scheme))
    }

    /// `ha_policy` excludes other settings (ZON-2, CTE-1), and is not simulated.
    fn check_ha_policy(&self, service: &Service) -> Result<(), Problem> {
        if self.ha_policy.is_none() {
            return Ok(());
        }
        let path = place().key("ha_policy");
        let excluded = [
            ("zonal affinity", service.zonal_affinity.spillover != Spillover::Disabled),
            ("a failover policy", self.failover_policy.is_some()),
            (
                "session affinity",
                self.session_affinity.is_some_and(|affinity| affinity != Affinity::default()),
            ),
            ("a connection tracking policy", self.connection_tracking_policy.is_some()),
        ];
        match excluded.iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => {
                let what = format!("can't be combined with {name}");
                Err(Problem::that(path, what, "keep one of the two").refused(Reason::Invalid))
            }
            None => Err(Problem::that(path, "is not simulated", "leave it out")),
        }
    }

    /// The groups, which serve like `server` where they are silent and answer to a health check of type `check`.
    pub(super) fn groups(
        &self,
        server: Server,
        check: ProbeType,
        zones: &IdVec<ZoneId, String>,
    ) -> Result<Vec<GroupPlan<'_>>, Problem> {
        if self.backends.is_empty() {
            return Err(Problem::that(list(), "is empty", "write at least one group of backends"));
        }
        let mut plans = Vec::new();
        for (index, group) in self.backends.iter().enumerate() {
            let path = list().member(index);
            self.check_group(group, check, &path)?;
            let server = group.server.of_group(&server, &path)?;
            let policy = group.autoscaling_policy.as_ref();
            let policy = policy.map(|keys| keys.policy(group.size.get(), server.workers, &path));
            plans.push(GroupPlan {
                name: group.group.as_str(),
                place: path.clone().key("group"),
                zones: zones_of(group.zone.as_deref(), group.zones.as_deref(), zones, &path)?,
                size: group.size.get(),
                added: 0,
                server,
                weight: group.weight.unwrap_or(Weight::ONE),
                autoscaling: policy.transpose()?,
                standing: Standing {
                    pool: None,
                    is_ever_served: true,
                    role: Some(if group.failover { Role::Failover } else { Role::Primary }),
                    checked: true,
                },
            });
        }
        Ok(plans)
    }

    fn check_group(&self, group: &BackendGroup, check: ProbeType, path: &KeyPath) -> Result<(), Problem> {
        if group.balancing_mode.is_some_and(|mode| mode != BalancingMode::Connection) {
            let path = path.clone().key("balancing_mode");
            let problem = Problem::that(
                path,
                "does not belong to a passthrough load balancer",
                "write CONNECTION, or leave it out",
            );
            return Err(problem.refused(Reason::Invalid));
        }
        if group.weight.is_none() {
            return Ok(());
        }
        let weight = path.clone().key("weight");
        if !self.locality().is_weighted() {
            let policy = match self.load_balancing_scheme {
                Scheme::Internal => "WEIGHTED_GCP_RENDEZVOUS",
                Scheme::External => "WEIGHTED_MAGLEV",
            };
            let help =
                format!("write backend_service.locality_lb_policy = {policy:?}, or leave the weight out");
            return Err(Problem::that(weight, "has no effect: this locality policy ignores weights", help));
        }
        if !check.carries_weights() {
            let help = "write health_check.type = \"HTTP\", \"HTTPS\" or \"HTTP2\"";
            return Err(Problem::that(
                weight,
                "has no effect: replies to this health check carry no weights",
                help,
            ));
        }
        Ok(())
    }
}

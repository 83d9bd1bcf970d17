//! `[backend_service]`: what a load balancer by backend service is set to.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::autoscaling::AutoscalingKeys;
use super::groups::{GroupPlan, MemberCount, NumberedGroup, ServerKeys, Weight, members, zones_of};
use super::health_check::HealthCheckTable;
use super::semantics::Semantics;
use crate::compute::{
    Assumptions, BackendService, BalancingMode, ConnectionDrainingFields, ConnectionTrackingFields,
    FailoverPolicyFields, ForwardingRule, Home, InstanceGroup, LocalityPolicy, PassThroughPolicyFields,
    ProbeType, Reference, Resources, RuleProtocol, Scheme, ServiceBackend, ServiceProtocol, Spillover,
    SubsettingFields, SubsettingPolicy, ZonalAffinityFields, session_affinity,
};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::ids::{IdVec, ZoneId};
use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;
use crate::lb::selection::TableSize;
use crate::lb::tracking::{Persistence, TrackingMode};
use crate::sim::scenario::{ServedPorts, Server};
use crate::time::SimDuration;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceTable<G = BackendGroup> {
    /// Its name. Default: backend-service; a member of `backend_services` needs one.
    #[schemars(extend("examples" = ["web"]))]
    name: Option<ResourceName>,
    /// The health check that judges its backends. Default: `[health_check]`; a member of `backend_services` needs one of
    /// `health_checks`.
    #[schemars(extend("examples" = ["http-80"]))]
    health_check: Option<String>,
    /// Internal or external.
    #[serde(default = "internal")]
    pub(super) load_balancing_scheme: Scheme,
    /// Which protocols it takes: that of its forwarding rule where it is UNSPECIFIED (REG-2).
    #[serde(default)]
    pub(super) protocol: ServiceProtocol,
    /// What keeps connections together (AFF-1). Default: NONE, which hashes all five parts of an unfragmented packet, as `CLIENT_IP_PORT_PROTO` does.
    #[serde(default, deserialize_with = "session_affinity")]
    session_affinity: Option<SessionAffinity>,
    /// How backends are selected. Default: RENDEZVOUS for internal load balancers, MAGLEV for external ones.
    locality_lb_policy: Option<LocalityPolicy>,
    /// Entries of Maglev's table; without meaning for rendezvous hashing.
    #[serde(default)]
    maglev_table_size: TableSize,
    /// Whether clients in other regions reach the load balancer (ZON-4). An external one is always reached.
    #[serde(default)]
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
    /// Its groups of backends; at least one for `[backend_service]`.
    backends: Vec<G>,
}

fn internal() -> Scheme {
    Scheme::Internal
}

/// `zonal_affinity`, or what an operation changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ZonalAffinityKeys {
    /// Whether, and how firmly, connections stay in their zone. Default: ZONAL_AFFINITY_DISABLED.
    spillover: Option<Spillover>,
    /// Accepted and ignored unless spilling is configured (ZON-1). Default: 0.0.
    spillover_ratio: Option<Ratio>,
}

impl ZonalAffinityKeys {
    pub(super) fn fields(self) -> Option<PassThroughPolicyFields> {
        let Self { spillover, spillover_ratio } = self;
        let fields = ZonalAffinityFields { spillover, spillover_ratio, ..Default::default() };
        Some(PassThroughPolicyFields { zonal_affinity: Some(fields), ..Default::default() })
    }
}

/// `failover_policy`, or what an operation changes of it. The defaults are the API's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FailoverKeys {
    /// The share of healthy primaries below which the failover backends serve. Default: 0.0.
    failover_ratio: Option<Ratio>,
    /// Whether new connections are dropped when no backend is healthy (ELIG-10). Default: false.
    drop_traffic_if_unhealthy: Option<bool>,
    /// Whether a switch between the roles ends existing connections at once. Default: false.
    disable_connection_drain_on_failover: Option<bool>,
}

impl FailoverKeys {
    pub(super) fn fields(self) -> FailoverPolicyFields {
        FailoverPolicyFields {
            failover_ratio: self.failover_ratio,
            drop_traffic_if_unhealthy: self.drop_traffic_if_unhealthy,
            disable_connection_drain_on_failover: self.disable_connection_drain_on_failover,
            ..Default::default()
        }
    }
}

/// `connection_tracking_policy`, or what an operation changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TrackingKeys {
    /// What one entry stands for. Default: PER_CONNECTION.
    tracking_mode: Option<TrackingMode>,
    /// Whether an entry keeps pointing at a backend that has become unhealthy. Default: DEFAULT_FOR_PROTOCOL.
    connection_persistence_on_unhealthy_backends: Option<Persistence>,
    /// How long an entry lives without packets. Default: 600 s for internal load balancers; 60 s for external ones, which
    /// know no other (CTE-7).
    #[schemars(example = &"600s")]
    idle_timeout: Option<SimDuration>,
}

impl TrackingKeys {
    pub(super) fn fields(self) -> ConnectionTrackingFields {
        ConnectionTrackingFields {
            tracking_mode: self.tracking_mode,
            connection_persistence_on_unhealthy_backends: self.connection_persistence_on_unhealthy_backends,
            idle_timeout_sec: self.idle_timeout,
            ..Default::default()
        }
    }
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

/// Whether a deployment of Network Security Integration sees its packets. With zonal affinity all of them are lost (ZON-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum NetworkSecurityIntegration {
    #[default]
    None,
    InBand,
    OutOfBand,
}

/// A group that stands by itself, as a member of `backend_services` has it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachedGroup {
    /// One of `instance_groups` or `network_endpoint_groups`.
    group: ResourceName,
    /// Whether its members are failover backends.
    #[serde(default)]
    failover: bool,
    /// Only CONNECTION belongs to passthrough load balancers. Default: CONNECTION.
    balancing_mode: Option<BalancingMode>,
    /// Without effect on passthrough load balancers (ELIG-12). Default: none.
    capacity_scaler: Option<Ratio>,
}

/// What a service says of a group.
pub(super) trait ServiceGroup {
    fn resource(&self) -> ServiceBackend;
}

fn attached(
    group: &ResourceName,
    failover: bool,
    balancing_mode: Option<BalancingMode>,
    capacity_scaler: Option<Ratio>,
) -> ServiceBackend {
    ServiceBackend {
        group: Some(Reference::new(group.as_str())),
        failover: Some(failover),
        balancing_mode,
        capacity_scaler,
        ..ServiceBackend::default()
    }
}

impl ServiceGroup for AttachedGroup {
    fn resource(&self) -> ServiceBackend {
        attached(&self.group, self.failover, self.balancing_mode, self.capacity_scaler)
    }
}

/// `[[backend_service.backends]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "group": "ig-a", "zone": "us-central1-a" }]))]
pub(super) struct BackendGroup {
    /// Its name; its members are `<group>-1` to `<group>-<size>`.
    group: ResourceName,
    /// The zone of all members. Default: none; either it or `zones` is needed.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// The zones that the members are dealt out to in turn. Default: none.
    #[schemars(example = ["us-central1-a", "us-central1-b"])]
    zones: Option<Vec<String>>,
    /// How many members it has.
    #[schemars(extend("x-unit" = "backends"))]
    #[serde(default)]
    size: MemberCount<4>,
    /// Whether its members are failover backends.
    #[serde(default)]
    failover: bool,
    /// What they report of their weight: a number, "missing" or "invalid". Default: 1.0.
    weight: Option<Weight>,
    /// Only CONNECTION belongs to passthrough load balancers. Default: CONNECTION.
    balancing_mode: Option<BalancingMode>,
    /// Without effect on passthrough load balancers (ELIG-12). Default: none.
    capacity_scaler: Option<Ratio>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
    /// How its size follows its utilization. Default: not at all.
    autoscaling_policy: Option<AutoscalingKeys>,
}

impl ServiceGroup for BackendGroup {
    fn resource(&self) -> ServiceBackend {
        attached(&self.group, self.failover, self.balancing_mode, self.capacity_scaler)
    }
}

pub(super) fn list() -> KeyPath {
    KeyPath::to("backend_service").key("backends")
}

const NAME: &str = "backend-service";

impl<G: ServiceGroup> ServiceTable<G> {
    /// What it is called.
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or(NAME, ResourceName::as_str)
    }

    fn service(&self) -> BackendService {
        let draining_timeout_sec = Some(self.connection_draining.draining_timeout);
        BackendService {
            name: self.name().to_owned(),
            load_balancing_scheme: Some(self.load_balancing_scheme),
            protocol: Some(self.protocol),
            backends: self.backends.iter().map(ServiceGroup::resource).collect(),
            health_checks: self.health_check.iter().map(Reference::new).collect(),
            session_affinity: self.session_affinity,
            locality_lb_policy: self.locality_lb_policy,
            network_pass_through_lb_traffic_policy: self.zonal_affinity.fields(),
            failover_policy: self.failover_policy.map(FailoverKeys::fields),
            connection_tracking_policy: self.connection_tracking_policy.map(TrackingKeys::fields),
            connection_draining: Some(ConnectionDrainingFields {
                draining_timeout_sec,
                ..Default::default()
            }),
            subsetting: Some(SubsettingFields { policy: Some(self.subsetting.policy), ..Default::default() }),
            ha_policy: self.ha_policy.map(|_| serde_json::Map::new().into()),
            other: serde_json::Map::new(),
        }
    }
}

impl ServiceTable<AttachedGroup> {
    /// The resource of a service that stands at `path` in a list, over groups that stand by themselves.
    pub(super) fn apart(&self, path: &KeyPath) -> Result<BackendService, Problem> {
        if self.name.is_none() {
            return Err(Problem::missing_key(path.clone(), "name"));
        }
        let of_rule = [
            ("allow_global_access", self.allow_global_access),
            ("is_mirroring_collector", self.is_mirroring_collector),
        ];
        if let Some((key, _)) = of_rule.into_iter().find(|(_, is_set)| *is_set) {
            let help = format!("write {key} = true in [[forwarding_rules]]");
            return refuse(
                path.key(key),
                "belongs to the forwarding rule, which stands by itself here",
                help,
            );
        }
        for (index, group) in self.backends.iter().enumerate() {
            let path = path.key("backends").member(index);
            group.resource().check().map_err(|error| Problem::of_resource(error, &path))?;
        }
        Ok(self.service())
    }

    /// The size of Maglev's table, and whether its packets are inspected.
    pub(super) fn assumes(&self, semantics: &Semantics) -> Assumptions {
        Assumptions {
            table_size: self.maglev_table_size,
            inspected: self.network_security_integration != NetworkSecurityIntegration::None,
            ..semantics.assumptions()
        }
    }
}

impl ServiceTable {
    /// The resources with a forwarding rule of that name and protocol.
    pub(super) fn resources(
        &self,
        region: &str,
        (rule, ip_protocol): (&str, Option<RuleProtocol>),
        check: &HealthCheckTable,
    ) -> Resources {
        let rule = ForwardingRule {
            name: rule.to_owned(),
            ip_protocol,
            load_balancing_scheme: Some(self.load_balancing_scheme),
            backend_service: Some(Reference::new(self.name())),
            allow_global_access: Some(self.allow_global_access),
            is_mirroring_collector: Some(self.is_mirroring_collector),
            ..ForwardingRule::default()
        };
        let group = |group: &BackendGroup| InstanceGroup {
            name: group.group.as_str().to_owned(),
            instances: members(group.group.as_str(), group.size.get()).collect(),
            ..InstanceGroup::default()
        };
        Resources {
            region: region.to_owned(),
            health_checks: vec![check.modern(check.asks().unwrap_or(ProbeType::Tcp))],
            instance_groups: self.backends.iter().map(group).collect(),
            backend_services: vec![BackendService {
                health_checks: vec![Reference::new(check.name())],
                ..self.service()
            }],
            forwarding_rules: vec![rule],
            ..Resources::default()
        }
    }

    /// Checks that the health check that it names is the one that there is.
    pub(super) fn check_health_check(&self, check: &HealthCheckTable) -> Result<(), Problem> {
        let path = KeyPath::to("backend_service").key("health_check");
        match &self.health_check {
            Some(name) if name != check.name() => {
                Err(Problem::unknown_name(path, name, "health checks", [check.name()]))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn assumptions(&self, semantics: &Semantics) -> Assumptions {
        Assumptions {
            table_size: self.maglev_table_size,
            inspected: self.network_security_integration != NetworkSecurityIntegration::None,
            ..semantics.assumptions()
        }
    }

    /// Checks that the groups of `plans` can grow by themselves within what the load balancer takes.
    pub(super) fn check_growth(&self, plans: &[GroupPlan], assumptions: &Assumptions) -> Result<(), Problem> {
        let most = |plan: &GroupPlan| plan.autoscaling.map(|policy| policy.max_num_replicas.get());
        let total: u32 = plans.iter().map(|plan| most(plan).unwrap_or(plan.group.highest)).sum();
        let Some(last) = plans.iter().rposition(|plan| most(plan).is_some()) else { return Ok(()) };
        self.service().check_size(total as usize, assumptions).map_err(|error| {
            let path = list().member(last).key("autoscaling_policy").key("max_num_replicas");
            let problem = Problem::of_resource(error, &KeyPath::to("backend_service"));
            Problem { path, what: format!(": the service may grow until it{}", problem.what), ..problem }
        })
    }

    /// The groups, which serve like `server` where they are silent and answer to a health check of type `check`.
    pub(super) fn groups(
        &self,
        server: Server,
        check: ProbeType,
        zones: &IdVec<ZoneId, String>,
    ) -> Result<Vec<GroupPlan>, Problem> {
        if self.backends.is_empty() {
            return refuse(list(), "is empty", "write at least one group of backends");
        }
        let mut plans = Vec::new();
        for (index, group) in self.backends.iter().enumerate() {
            let path = list().member(index);
            self.check_group(group, check, &path)?;
            let server = group.server.of_group(&server, &path)?;
            let policy = group.autoscaling_policy.as_ref();
            let policy = policy.map(|keys| keys.policy(group.size.get(), server.workers, &path));
            let numbered = NumberedGroup {
                name: group.group.as_str().to_owned(),
                home: Home::Group(group.group.as_str().to_owned()),
                zones: zones_of(group.zone.as_deref(), group.zones.as_deref(), zones, &path)?,
                highest: group.size.get(),
            };
            plans.push(GroupPlan {
                group: numbered,
                place: path.key("group"),
                added: 0,
                server,
                weight: group.weight.unwrap_or(Weight::ONE),
                autoscaling: policy.transpose()?,
                is_ever_served: true,
                serves: ServedPorts::All,
            });
        }
        Ok(plans)
    }

    fn check_group(&self, group: &BackendGroup, check: ProbeType, path: &KeyPath) -> Result<(), Problem> {
        group.resource().check().map_err(|error| Problem::of_resource(error, path))?;
        if group.weight.is_none() {
            return Ok(());
        }
        let weight = path.key("weight");
        if !self.service().locality().is_weighted() {
            let policy = match self.load_balancing_scheme {
                Scheme::Internal => "WEIGHTED_GCP_RENDEZVOUS",
                Scheme::External => "WEIGHTED_MAGLEV",
            };
            let help =
                format!("write backend_service.locality_lb_policy = {policy:?}, or leave the weight out");
            return refuse(weight, "has no effect: this locality policy ignores weights", help);
        }
        if !check.carries_weights() {
            let help = "write health_check.type = \"HTTP\", \"HTTPS\" or \"HTTP2\"";
            return refuse(weight, "has no effect: replies to this health check carry no weights", help);
        }
        Ok(())
    }
}

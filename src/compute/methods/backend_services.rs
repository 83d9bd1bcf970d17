//! `regionBackendServices`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::arguments;
use crate::compute::Assumptions;
use crate::compute::backend_service::{
    BackendService, BalancingMode, ConnectionDrainingFields, ConnectionTrackingFields, FailoverPolicyFields,
    LocalityPolicy, PassThroughPolicyFields, ServiceBackend, ServiceProtocol, Spillover, SubsettingFields,
    SubsettingPolicy, ZonalAffinityFields,
};
use crate::compute::error::{ApiError, FieldPaths, Reason};
use crate::compute::fields::patched;
use crate::compute::forwarding_rule::{ForwardingRule, Scheme};
use crate::compute::instance::NetworkEndpointGroup;
use crate::compute::kind::ResourceKind;
use crate::compute::number::session_affinity;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;
use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;
use crate::lb::tracking::{Persistence, TrackingMode};
use crate::time::SimDuration;

arguments! {
    /// A backend service.
    BackendServiceArguments, BackendServicePatch {
        /// The backend service.
        backend_service,
        /// Whose backends they are. Default: EXTERNAL.
        load_balancing_scheme: Option<Scheme>,
        /// Which protocols it takes. Default: TCP.
        protocol: Option<ServiceProtocol>,
        /// Its groups of backends: all of them, for a patch replaces the list. Default: none.
        #[schemars(extend("examples" = [[{ "group": "ig-a" }]]))]
        backends: Option<Vec<BackendArguments>>,
        /// The health check that judges its backends.
        #[schemars(example = &["http-80"])]
        health_checks: Option<Vec<Reference>>,
        /// Which connections stay together (AFF-1). Default: NONE.
        #[serde(deserialize_with = "session_affinity")]
        #[schemars(with = "Option<SessionAffinity>", extend("examples" = ["CLIENT_IP"]))]
        session_affinity: Option<SessionAffinity>,
        /// How backends are selected. Default: RENDEZVOUS for internal load balancers, MAGLEV for external ones.
        locality_lb_policy: Option<LocalityPolicy>,
        /// Whether, and how firmly, connections stay in their zone.
        zonal_affinity: Option<ZonalAffinityArguments>,
        /// When primaries give way to failover backends.
        failover_policy: Option<FailoverPolicyArguments>,
        /// How connections are tracked (CTE-1).
        connection_tracking_policy: Option<TrackingPolicyArguments>,
        /// What becomes of connections to backends that are removed (CTE-9).
        connection_draining: Option<DrainingArguments>,
        /// Whether each client sees some of the backends only (ELIG-13).
        subsetting: Option<SubsettingArguments>,
        /// High availability by haPolicy is another product: it is refused. Default: none.
        ha_policy: Option<HaPolicyArguments>,
        /// That of the service as it was read, if a change in between is to be noticed. Default: none.
        fingerprint: Option<String>,
    }
}

/// A group of backends of a service.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackendArguments {
    /// An instance group, or a network endpoint group.
    #[schemars(example = &"ig-a")]
    group: Reference,
    /// Whether its members are failover backends (ELIG-1). Default: false.
    failover: Option<bool>,
    /// CONNECTION, the only one of passthrough load balancers (ELIG-12). Default: CONNECTION.
    balancing_mode: Option<BalancingMode>,
    /// Passthrough load balancers have none (ELIG-12). Default: none.
    capacity_scaler: Option<Ratio>,
}

/// Zonal affinity of a service, or what changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ZonalAffinityArguments {
    /// Whether, and how firmly, connections stay in their zone. Default: ZONAL_AFFINITY_DISABLED.
    spillover: Option<Spillover>,
    /// Accepted and ignored unless spilling is configured (ZON-1). Default: 0.0.
    spillover_ratio: Option<Ratio>,
}

/// The failover policy of a service, or what changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FailoverPolicyArguments {
    /// The share of healthy primaries below which the failover backends serve. Default: 0.0.
    failover_ratio: Option<Ratio>,
    /// Whether new connections are dropped when no backend is healthy (ELIG-10). Default: false.
    drop_traffic_if_unhealthy: Option<bool>,
    /// Whether a switch between the roles ends existing connections at once. Default: false.
    disable_connection_drain_on_failover: Option<bool>,
}

/// The connection tracking policy of a service, or what changes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrackingPolicyArguments {
    /// What one entry stands for. Default: PER_CONNECTION.
    tracking_mode: Option<TrackingMode>,
    /// Whether an entry keeps pointing at a backend that has become unhealthy. Default: DEFAULT_FOR_PROTOCOL.
    connection_persistence_on_unhealthy_backends: Option<Persistence>,
    /// How long an entry lives without packets (CTE-7). Default: 600 s for internal load balancers, 60 s for external ones.
    #[schemars(example = &"600s")]
    idle_timeout: Option<SimDuration>,
}

/// What becomes of connections to backends that are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrainingArguments {
    /// How long they live on: 0 to 3600 whole seconds (CTE-9). Default: 0 s.
    #[schemars(example = &"300s")]
    draining_timeout: Option<SimDuration>,
}

/// Backend subsetting of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubsettingArguments {
    /// Default: NONE.
    policy: Option<SubsettingPolicy>,
}

/// High availability by haPolicy, which is another product.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaPolicyArguments {
    /// Whether a leader takes over the address. Default: DISABLED.
    #[schemars(example = &"DISABLED")]
    fast_ip_move: Option<String>,
}

impl BackendArguments {
    /// The backend.
    pub fn resource(&self) -> ServiceBackend {
        ServiceBackend {
            group: Some(self.group.clone()),
            failover: self.failover,
            balancing_mode: self.balancing_mode,
            capacity_scaler: self.capacity_scaler,
            ..ServiceBackend::default()
        }
    }
}

impl ZonalAffinityArguments {
    /// The fields that these keys are.
    pub fn fields(&self) -> PassThroughPolicyFields {
        let Self { spillover, spillover_ratio } = *self;
        let fields = ZonalAffinityFields { spillover, spillover_ratio, ..Default::default() };
        PassThroughPolicyFields { zonal_affinity: Some(fields), ..Default::default() }
    }
}

impl FailoverPolicyArguments {
    /// The fields that these keys are.
    pub fn fields(&self) -> FailoverPolicyFields {
        FailoverPolicyFields {
            failover_ratio: self.failover_ratio,
            drop_traffic_if_unhealthy: self.drop_traffic_if_unhealthy,
            disable_connection_drain_on_failover: self.disable_connection_drain_on_failover,
            ..Default::default()
        }
    }
}

impl TrackingPolicyArguments {
    /// The fields that these keys are.
    pub fn fields(&self) -> ConnectionTrackingFields {
        ConnectionTrackingFields {
            tracking_mode: self.tracking_mode,
            connection_persistence_on_unhealthy_backends: self.connection_persistence_on_unhealthy_backends,
            idle_timeout_sec: self.idle_timeout,
            ..Default::default()
        }
    }
}

impl DrainingArguments {
    /// The fields that these keys are.
    pub fn fields(&self) -> ConnectionDrainingFields {
        ConnectionDrainingFields { draining_timeout_sec: self.draining_timeout, ..Default::default() }
    }
}

impl SubsettingArguments {
    /// The fields that these keys are.
    pub fn fields(&self) -> SubsettingFields {
        SubsettingFields { policy: self.policy, ..Default::default() }
    }
}

impl BackendServiceArguments {
    /// The backend service.
    pub fn resource(&self) -> BackendService {
        self.fields().resource()
    }
}

impl BackendServicePatch {
    /// The backend service that has these fields and no others.
    pub fn resource(&self) -> BackendService {
        let (zonal, tracking) = (self.zonal_affinity.as_ref(), self.connection_tracking_policy.as_ref());
        let mut service = BackendService {
            name: self.backend_service.clone(),
            load_balancing_scheme: self.load_balancing_scheme,
            protocol: self.protocol,
            backends: self.backends.iter().flatten().map(BackendArguments::resource).collect(),
            health_checks: self.health_checks.clone().unwrap_or_default(),
            session_affinity: self.session_affinity,
            locality_lb_policy: self.locality_lb_policy,
            network_pass_through_lb_traffic_policy: zonal.map(ZonalAffinityArguments::fields),
            failover_policy: self.failover_policy.as_ref().map(FailoverPolicyArguments::fields),
            connection_tracking_policy: tracking.map(TrackingPolicyArguments::fields),
            connection_draining: self.connection_draining.as_ref().map(DrainingArguments::fields),
            subsetting: self.subsetting.as_ref().map(SubsettingArguments::fields),
            ha_policy: self
                .ha_policy
                .as_ref()
                .map(|keys| serde_json::json!({ "fastIPMove": keys.fast_ip_move })),
            ..BackendService::default()
        };
        if let Some(fingerprint) = &self.fingerprint {
            service.other.insert(FINGERPRINT.to_owned(), fingerprint.as_str().into());
        }
        service
    }

    /// Whether it takes every group away.
    pub(super) fn detaches_all(&self) -> bool {
        self.backends.as_ref().is_some_and(Vec::is_empty)
    }
}

const FINGERPRINT: &str = "fingerprint";
const BACKEND_GROUP: FieldPaths = &["backends.group", "backends", "group"];
const MODE: FieldPaths = &["backends.balancingMode", "backends", "balancingMode"];
const SCALER: FieldPaths = &["backends.capacityScaler", "backends", "capacityScaler"];
const CHECKS: FieldPaths = &["healthChecks", "healthCheck"];

impl Resources {
    /// `regionBackendServices.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, its fields contradict each other, or it names what does not exist or it can't have.
    pub fn insert_backend_service(&mut self, service: BackendService) -> Result<(), ApiError> {
        Self::check_named(&service.name)?;
        self.check_service(&service, &service)?;
        self.check_new(ResourceKind::BackendService, &service.name)?;
        self.backend_services.push(service);
        Ok(())
    }

    /// `regionBackendServices.patch`, checked as at its creation: fields that `change` leaves out stay as they are, a list
    /// replaces the whole list. That of backends becomes empty where `detaches_all`.
    ///
    /// # Errors
    /// If it does not exist, its fingerprint is another, or it could not be created as it then is, or a rule that leads to
    /// it could not.
    pub fn change_backend_service(
        &mut self,
        name: &str,
        change: &BackendService,
        detaches_all: bool,
    ) -> Result<(), ApiError> {
        let kind = ResourceKind::BackendService;
        self.check_exists(kind, name, kind.field())?;
        let index = self.backend_services.iter().position(|own| own.name == name);
        let index = index.expect("it was found just now");
        let own = &self.backend_services[index];
        let given = change.other.get(FINGERPRINT);
        if given.is_some_and(|given| own.other.get(FINGERPRINT) != Some(given)) {
            let what = "Invalid fingerprint: the resource has changed since it was read";
            let help = "leave it out, or read the resource again";
            return Err(ApiError::because(Reason::ConditionNotMet, &[FINGERPRINT], what, help));
        }
        let mut changed = BackendService { name: name.to_owned(), ..patched(own, change) };
        if detaches_all {
            changed.backends.clear();
        }
        self.check_service(&changed, change)?;
        let rules = self.forwarding_rules.iter();
        let is_its =
            |rule: &&ForwardingRule| rule.backend_service.as_ref().is_some_and(|own| own.name() == name);
        for rule in rules.filter(is_its) {
            rule.check_service(&changed)?;
        }
        let mut after = self.clone();
        after.backend_services[index] = changed;
        // What its rules take may follow its protocol.
        let mut its = after.forwarding_rules.iter().filter(is_its);
        its.try_for_each(|rule| after.check_address(rule))?;
        *self = after;
        Ok(())
    }

    /// Checks `service`, of which `written` was written just now.
    fn check_service(&self, service: &BackendService, written: &BackendService) -> Result<(), ApiError> {
        let scheme = service.scheme();
        if written.backends.iter().any(|backend| backend.group.is_none()) {
            return Err(ApiError::required(BACKEND_GROUP, "add the group"));
        }
        for (index, backend) in written.backends.iter().enumerate() {
            check_backend(backend, scheme, index)?;
        }
        service.settings(&ForwardingRule::default(), &Assumptions::default())?;
        self.check_health_checks(service)?;
        let groups = service.backends.iter().filter_map(|backend| backend.group.as_ref()).enumerate();
        for (index, group) in groups.clone() {
            self.check_group(group, scheme, index)?;
            if groups.clone().take(index).any(|(_, other)| other.name() == group.name()) {
                let why = "A group can be there once";
                let help = "leave one of the two out";
                return Err(ApiError::bad_member(BACKEND_GROUP, index, group.as_str(), why, help));
            }
        }
        Ok(())
    }

    /// Checks that there is one health check, a modern one, and of the region where the scheme wants that (HCK-1, XBS-4).
    fn check_health_checks(&self, service: &BackendService) -> Result<(), ApiError> {
        let check = match &service.health_checks[..] {
            [only] => only,
            [] => return Err(ApiError::required(CHECKS, "add healthChecks = [\"…\"], with one check")),
            [_, second, ..] => {
                let why = "A backend service has at most one health check";
                return Err(ApiError::bad_member(CHECKS, 1, second.as_str(), why, "keep one of them"));
            }
        };
        self.check_region(check, CHECKS)?;
        self.check_exists(ResourceKind::HealthCheck, check.name(), CHECKS)?;
        if service.scheme() == Scheme::External && check.is_global() {
            let why = "An EXTERNAL backend service needs a regional health check";
            return Err(ApiError::bad_member(CHECKS, 0, check.as_str(), why, "name one of the region"));
        }
        Ok(())
    }

    /// Checks that the group of the backend at `index` exists, in the region, and is one that load balancers of `scheme`
    /// take (RES-6).
    fn check_group(&self, group: &Reference, scheme: Scheme, index: usize) -> Result<(), ApiError> {
        let of_member = |error: ApiError| error.of_member(index);
        self.check_region(group, BACKEND_GROUP).map_err(of_member)?;
        let Some(kind) = self.group_kind(group) else {
            return Err(of_member(self.no_group(group, BACKEND_GROUP)));
        };
        let is_it = |own: &&NetworkEndpointGroup| {
            kind == ResourceKind::NetworkEndpointGroup && own.name == group.name()
        };
        let endpoints = self.network_endpoint_groups.iter().find(is_it);
        if endpoints.is_none_or(NetworkEndpointGroup::is_of_instances) {
            return Ok(());
        }
        let scheme = scheme.name();
        let why =
            format!("Only GCE_VM_IP network endpoint groups can be used by an {scheme} backend service here");
        let help = "name a group of type GCE_VM_IP, or an instance group";
        Err(ApiError::bad_member(BACKEND_GROUP, index, group.as_str(), why, help))
    }
}

/// Checks the fields of `backend`, which stands at `index` (ELIG-12), in the API's words.
fn check_backend(backend: &ServiceBackend, scheme: Scheme, index: usize) -> Result<(), ApiError> {
    let scheme = scheme.name();
    if backend.check().is_err() {
        let mode = backend.balancing_mode.map_or("", BalancingMode::name);
        let why = format!("Balancing mode must be CONNECTION for an {scheme} backend service");
        return Err(ApiError::bad_member(MODE, index, mode, why, "write CONNECTION, or leave it out"));
    }
    let Some(scaler) = backend.capacity_scaler else { return Ok(()) };
    let why = format!("Capacity scaler must not be set for an {scheme} backend service");
    Err(ApiError::bad_member(SCALER, index, scaler, why, "leave it out"))
}

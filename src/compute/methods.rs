//! The methods of the API that change resources, and calls of them as data (MTH).
//!
//! A method checks in the API's order: the name, the fields that are needed, their values, what they name, and where that
//! is, then whether the name is free. What it refuses changes nothing.

mod arguments;
mod backend_services;
mod forwarding_rules;
mod health_checks;
mod instance_groups;
mod instances;
mod network_endpoint_groups;
mod routes;
mod target_pools;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;

pub use backend_services::{
    BackendArguments, BackendServiceArguments, BackendServicePatch, DrainingArguments,
    FailoverPolicyArguments, HaPolicyArguments, SubsettingArguments, TrackingPolicyArguments,
    ZonalAffinityArguments,
};
pub use forwarding_rules::ForwardingRuleArguments;
pub use health_checks::{
    HealthCheckArguments, HealthCheckPatch, HttpHealthCheckArguments, HttpHealthCheckPatch,
};
pub use instance_groups::InstanceGroupArguments;
pub use instances::InstanceArguments;
use network_endpoint_groups::instances;
pub use network_endpoint_groups::{EndpointArguments, EndpointGroupArguments};
pub use routes::{
    NextHopDrop, PolicyBasedRouteArguments, RouteArguments, RouteChoice, RouteFilterArguments, addresses_of,
};
pub use target_pools::TargetPoolArguments;

use super::error::ApiError;
use super::kind::ResourceKind;
use super::number::session_affinity;
use super::reference::Reference;
use super::resources::Resources;
use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;

/// A call of a method, by the name of its collection and its own: `target_pools.add_instance`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(tag = "do")]
pub enum Method {
    /// `regionHealthChecks.insert`
    #[serde(rename = "health_checks.insert")]
    InsertHealthCheck(Box<HealthCheckArguments>),
    /// `regionHealthChecks.patch`
    #[serde(rename = "health_checks.patch")]
    PatchHealthCheck(Box<HealthCheckPatch>),
    /// `regionHealthChecks.delete`
    #[serde(rename = "health_checks.delete")]
    DeleteHealthCheck {
        /// The health check.
        health_check: String,
    },
    /// `httpHealthChecks.insert`
    #[serde(rename = "http_health_checks.insert")]
    InsertHttpHealthCheck(Box<HttpHealthCheckArguments>),
    /// `httpHealthChecks.patch`
    #[serde(rename = "http_health_checks.patch")]
    PatchHttpHealthCheck(Box<HttpHealthCheckPatch>),
    /// `httpHealthChecks.delete`
    #[serde(rename = "http_health_checks.delete")]
    DeleteHttpHealthCheck {
        /// The legacy HTTP health check.
        http_health_check: String,
    },
    /// `instances.insert`
    #[serde(rename = "instances.insert")]
    InsertInstance(InstanceArguments),
    /// `instances.delete`: it leaves its groups and its pools.
    #[serde(rename = "instances.delete")]
    DeleteInstance {
        /// The instance.
        instance: String,
    },
    /// `instanceGroups.insert`
    #[serde(rename = "instance_groups.insert")]
    InsertInstanceGroup(InstanceGroupArguments),
    /// `instanceGroups.delete`
    #[serde(rename = "instance_groups.delete")]
    DeleteInstanceGroup {
        /// The instance group.
        instance_group: String,
    },
    /// `instanceGroups.addInstances`
    #[serde(rename = "instance_groups.add_instances")]
    AddToGroup {
        /// The instance group.
        instance_group: String,
        /// The instances, which exist.
        instances: Vec<Reference>,
    },
    /// `instanceGroups.removeInstances`
    #[serde(rename = "instance_groups.remove_instances")]
    RemoveFromGroup {
        /// The instance group.
        instance_group: String,
        /// The instances, which are in it.
        instances: Vec<Reference>,
    },
    /// `networkEndpointGroups.insert`
    #[serde(rename = "network_endpoint_groups.insert")]
    InsertNetworkEndpointGroup(EndpointGroupArguments),
    /// `networkEndpointGroups.delete`
    #[serde(rename = "network_endpoint_groups.delete")]
    DeleteNetworkEndpointGroup {
        /// The network endpoint group.
        network_endpoint_group: String,
    },
    /// `networkEndpointGroups.attachNetworkEndpoints`
    #[serde(rename = "network_endpoint_groups.attach_network_endpoints")]
    AttachEndpoints {
        /// The network endpoint group.
        network_endpoint_group: String,
        /// The endpoints.
        network_endpoints: Vec<EndpointArguments>,
    },
    /// `networkEndpointGroups.detachNetworkEndpoints`
    #[serde(rename = "network_endpoint_groups.detach_network_endpoints")]
    DetachEndpoints {
        /// The network endpoint group.
        network_endpoint_group: String,
        /// The endpoints, which are in it.
        network_endpoints: Vec<EndpointArguments>,
    },
    /// `regionBackendServices.insert`
    #[serde(rename = "backend_services.insert")]
    InsertBackendService(Box<BackendServiceArguments>),
    /// `regionBackendServices.patch`
    #[serde(rename = "backend_services.patch")]
    PatchBackendService(Box<BackendServicePatch>),
    /// `regionBackendServices.delete`
    #[serde(rename = "backend_services.delete")]
    DeleteBackendService {
        /// The backend service.
        backend_service: String,
    },
    /// `targetPools.insert`
    #[serde(rename = "target_pools.insert")]
    InsertTargetPool(Box<TargetPoolArguments>),
    /// `targetPools.delete`
    #[serde(rename = "target_pools.delete")]
    DeletePool {
        /// The target pool.
        target_pool: String,
    },
    /// A method that the API does not have: always refused, with what to do instead.
    #[serde(rename = "target_pools.patch")]
    PatchTargetPool {
        /// The target pool.
        target_pool: String,
        /// The affinity that it can't get.
        #[serde(default, deserialize_with = "session_affinity")]
        #[schemars(with = "Option<SessionAffinity>", extend("examples" = ["CLIENT_IP"]))]
        session_affinity: Option<SessionAffinity>,
    },
    /// `targetPools.addInstance`
    #[serde(rename = "target_pools.add_instance")]
    AddToPool {
        /// The target pool.
        target_pool: String,
        /// The instances, which exist.
        instances: Vec<Reference>,
    },
    /// `targetPools.removeInstance`
    #[serde(rename = "target_pools.remove_instance")]
    RemoveFromPool {
        /// The target pool.
        target_pool: String,
        /// The instances, which are in it.
        instances: Vec<Reference>,
    },
    /// `targetPools.addHealthCheck`
    #[serde(rename = "target_pools.add_health_check")]
    AddPoolHealthCheck {
        /// The target pool.
        target_pool: String,
        /// The legacy HTTP health check: a list of one.
        health_checks: Vec<Reference>,
    },
    /// `targetPools.removeHealthCheck`
    #[serde(rename = "target_pools.remove_health_check")]
    RemovePoolHealthCheck {
        /// The target pool.
        target_pool: String,
        /// The legacy HTTP health check that it has: a list of one.
        health_checks: Vec<Reference>,
    },
    /// `targetPools.setBackup`: without a target or a ratio there is no backup (TPF-1).
    #[serde(rename = "target_pools.set_backup")]
    SetPoolBackup {
        /// The target pool.
        target_pool: String,
        /// The pool that takes over. Default: none.
        #[schemars(example = &"backup")]
        target: Option<Reference>,
        /// The share of healthy instances below which it does. Default: none.
        failover_ratio: Option<Ratio>,
    },
    /// `forwardingRules.insert`
    #[serde(rename = "forwarding_rules.insert")]
    InsertForwardingRule(Box<ForwardingRuleArguments>),
    /// `forwardingRules.setTarget`: to a target pool or a backend service.
    #[serde(rename = "forwarding_rules.set_target")]
    SetTarget {
        /// The forwarding rule.
        forwarding_rule: String,
        /// Where it leads from then on: `targetPools/www` or `backendServices/web` where the name alone could be both.
        #[schemars(example = &"web")]
        target: Reference,
    },
    /// `forwardingRules.patch`
    #[serde(rename = "forwarding_rules.patch")]
    PatchForwardingRule {
        /// The forwarding rule.
        forwarding_rule: String,
        /// Whether VMs of other regions reach it.
        allow_global_access: bool,
    },
    /// `forwardingRules.delete`
    #[serde(rename = "forwarding_rules.delete")]
    DeleteForwardingRule {
        /// The forwarding rule.
        forwarding_rule: String,
    },
    /// `routes.insert`
    #[serde(rename = "routes.insert")]
    InsertRoute(RouteArguments),
    /// `routes.delete`
    #[serde(rename = "routes.delete")]
    DeleteRoute {
        /// The route.
        route: String,
    },
    /// `policyBasedRoutes.create`
    #[serde(rename = "policy_based_routes.insert")]
    InsertPolicyBasedRoute(PolicyBasedRouteArguments),
    /// `policyBasedRoutes.delete`
    #[serde(rename = "policy_based_routes.delete")]
    DeletePolicyBasedRoute {
        /// The policy-based route.
        policy_based_route: String,
    },
}

impl Resources {
    /// Calls `method`.
    ///
    /// # Errors
    /// If the API refuses it. It changes nothing then.
    pub fn call(&mut self, method: &Method) -> Result<(), ApiError> {
        use ResourceKind as Kind;
        match method {
            Method::InsertHealthCheck(keys) => self.insert_health_check(keys.resource()),
            Method::InsertHttpHealthCheck(keys) => self.insert_http_health_check(keys.resource()),
            Method::InsertInstance(keys) => self.insert_instance(keys.resource()),
            Method::InsertInstanceGroup(keys) => self.insert_instance_group(keys.resource()),
            Method::InsertNetworkEndpointGroup(keys) => self.insert_network_endpoint_group(keys.resource()),
            Method::InsertBackendService(keys) => self.insert_backend_service(keys.resource()),
            Method::InsertTargetPool(keys) => self.insert_target_pool(keys.resource()),
            Method::InsertForwardingRule(keys) => self.insert_forwarding_rule(keys.resource()),
            Method::InsertRoute(keys) => self.insert_route(keys.resource()),
            Method::InsertPolicyBasedRoute(keys) => self.insert_policy_based_route(keys.resource()),
            Method::DeleteHealthCheck { health_check } => self.delete(Kind::HealthCheck, health_check),
            Method::DeleteHttpHealthCheck { http_health_check: it } => self.delete(Kind::HttpHealthCheck, it),
            Method::DeleteInstance { instance } => self.delete_instance(instance),
            Method::DeleteInstanceGroup { instance_group: it } => self.delete(Kind::InstanceGroup, it),
            Method::DeleteNetworkEndpointGroup { network_endpoint_group: it } => {
                self.delete(Kind::NetworkEndpointGroup, it)
            }
            Method::DeleteBackendService { backend_service: it } => self.delete(Kind::BackendService, it),
            Method::DeletePool { target_pool } => self.delete(Kind::TargetPool, target_pool),
            Method::DeleteForwardingRule { forwarding_rule: it } => self.delete(Kind::ForwardingRule, it),
            Method::DeleteRoute { route } => self.delete(Kind::Route, route),
            Method::DeletePolicyBasedRoute { policy_based_route: it } => {
                self.delete(Kind::PolicyBasedRoute, it)
            }
            Method::PatchHealthCheck(keys) => self.patch_health_check_by(keys),
            Method::PatchHttpHealthCheck(keys) => {
                self.patch_http_health_check(&keys.http_health_check, &keys.resource())
            }
            Method::PatchBackendService(keys) => {
                self.change_backend_service(&keys.backend_service, &keys.resource(), keys.detaches_all())
            }
            Method::PatchTargetPool { target_pool, .. } => self.refuse_patch_of_pool(target_pool),
            Method::PatchForwardingRule { forwarding_rule: it, allow_global_access } => {
                self.set_global_access(it, *allow_global_access)
            }
            Method::AddToGroup { instance_group: it, instances } => self.add_to_group(it, instances),
            Method::RemoveFromGroup { instance_group: it, instances } => {
                self.remove_from_group(it, instances)
            }
            Method::AttachEndpoints { network_endpoint_group: it, network_endpoints } => {
                self.attach_endpoints(it, &instances(network_endpoints)?)
            }
            Method::DetachEndpoints { network_endpoint_group: it, network_endpoints } => {
                self.detach_endpoints(it, &instances(network_endpoints)?)
            }
            Method::AddToPool { target_pool, instances } => self.add_to_pool(target_pool, instances),
            Method::RemoveFromPool { target_pool: it, instances } => self.remove_from_pool(it, instances),
            Method::AddPoolHealthCheck { target_pool: it, health_checks } => {
                self.add_health_checks(it, health_checks)
            }
            Method::RemovePoolHealthCheck { target_pool: it, health_checks } => {
                self.remove_health_checks(it, health_checks)
            }
            Method::SetPoolBackup { target_pool: it, target, failover_ratio } => {
                self.set_backup_pool(it, target.as_ref(), *failover_ratio)
            }
            Method::SetTarget { forwarding_rule, target } => self.set_target(forwarding_rule, target),
        }
    }

    /// Deletes the resource of `kind` called `name`; an instance leaves its groups and pools then.
    ///
    /// # Errors
    /// If it does not exist, or another resource uses it (MTH-2, TPF-7, NHOP-2).
    pub fn delete(&mut self, kind: ResourceKind, name: &str) -> Result<(), ApiError> {
        self.check_exists(kind, name, kind.field())?;
        self.check_unused(kind, name)?;
        match kind {
            ResourceKind::Instance => self.delete_instance(name)?,
            ResourceKind::HealthCheck => self.health_checks.retain(|own| own.name != name),
            ResourceKind::HttpHealthCheck => self.http_health_checks.retain(|own| own.name != name),
            ResourceKind::InstanceGroup => self.instance_groups.retain(|own| own.name != name),
            ResourceKind::NetworkEndpointGroup => self.network_endpoint_groups.retain(|own| own.name != name),
            ResourceKind::BackendService => self.backend_services.retain(|own| own.name != name),
            ResourceKind::TargetPool => self.target_pools.retain(|own| own.name != name),
            ResourceKind::ForwardingRule => self.forwarding_rules.retain(|own| own.name != name),
            ResourceKind::Route => self.routes.retain(|own| own.name != name),
            ResourceKind::PolicyBasedRoute => self.policy_based_routes.retain(|own| own.name != name),
        }
        Ok(())
    }
}

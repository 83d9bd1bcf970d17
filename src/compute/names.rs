//! How the resources of a region find each other by name, and what the API says where they do not (RES-9).

use super::Reference;
use super::error::{ApiError, FieldPaths, Reason};
use super::forwarding_rule::ForwardingRule;
use super::instance::Instance;
use super::kind::{ResourceKind, Scope, check_name};
use super::resources::Resources;

/// Where a resource is of which nothing says the zone.
const SOME_ZONE: &str = "ZONE";

impl Resources {
    /// The names of all resources of `kind`, in the order of their creation.
    pub fn names(&self, kind: ResourceKind) -> Vec<&str> {
        macro_rules! of {
            ($list:ident) => {
                self.$list.iter().map(|own| own.name.as_str()).collect()
            };
        }
        match kind {
            ResourceKind::HealthCheck => of!(health_checks),
            ResourceKind::HttpHealthCheck => of!(http_health_checks),
            ResourceKind::Instance => of!(instances),
            ResourceKind::InstanceGroup => of!(instance_groups),
            ResourceKind::NetworkEndpointGroup => of!(network_endpoint_groups),
            ResourceKind::BackendService => of!(backend_services),
            ResourceKind::TargetPool => of!(target_pools),
            ResourceKind::ForwardingRule => of!(forwarding_rules),
            ResourceKind::Route => of!(routes),
            ResourceKind::PolicyBasedRoute => of!(policy_based_routes),
        }
    }

    /// The path of the resource of `kind` called `name`, whether it exists or not:
    /// `projects/PROJECT/regions/us-central1/targetPools/www`.
    pub fn path(&self, kind: ResourceKind, name: &str) -> String {
        let scope = match kind {
            ResourceKind::HttpHealthCheck | ResourceKind::Route | ResourceKind::PolicyBasedRoute => {
                Scope::Global
            }
            ResourceKind::Instance => Scope::Zone(self.zone_of(name).unwrap_or(SOME_ZONE)),
            ResourceKind::InstanceGroup => {
                let group = self.instance_groups.iter().find(|group| group.name == name);
                let zone = group.and_then(|group| group.zone.as_ref());
                zone.map_or(Scope::Region(&self.region), |zone| Scope::Zone(zone.name()))
            }
            ResourceKind::NetworkEndpointGroup => {
                let group = self.network_endpoint_groups.iter().find(|group| group.name == name);
                let zone = group.and_then(|group| group.zone.as_ref());
                Scope::Zone(zone.map_or(SOME_ZONE, Reference::name))
            }
            _ => Scope::Region(&self.region),
        };
        kind.path(scope, name)
    }

    /// The zone of the instance called `name`, if anything says it.
    pub fn zone_of(&self, name: &str) -> Option<&str> {
        let own = self.instances.iter().find(|instance| instance.name == name);
        let own = own.and_then(|instance| instance.zone.as_ref()).map(Reference::name);
        let is_it = |instance: &&Reference| instance.name() == name;
        let written = || {
            let pools = self.target_pools.iter().flat_map(|pool| &pool.instances);
            let groups = self.instance_groups.iter().flat_map(|group| &group.instances);
            groups.chain(pools).find(is_it).and_then(Reference::zone)
        };
        let group = || {
            let group =
                self.instance_groups.iter().find(|group| group.instances.iter().any(|own| is_it(&own)));
            group.and_then(|group| group.zone.as_ref()).map(Reference::name)
        };
        own.or_else(written).or_else(group)
    }

    /// Checks that a resource of `kind` can be called `name`.
    pub(super) fn check_new(&self, kind: ResourceKind, name: &str) -> Result<(), ApiError> {
        if !self.names(kind).contains(&name) {
            return Ok(());
        }
        let what = format!("The resource '{}' already exists", self.path(kind, name));
        Err(ApiError::because(Reason::AlreadyExists, &["name"], what, "give it a name of its own"))
    }

    /// Checks that `name` is there, and can be the name of a resource.
    pub(super) fn check_named(name: &str) -> Result<(), ApiError> {
        if name.is_empty() {
            return Err(ApiError::required(&["name"], "add name = \"…\""));
        }
        check_name(name)
    }

    /// Checks that the resource of `kind` called `name`, which `fields` name, exists.
    pub(super) fn check_exists(
        &self,
        kind: ResourceKind,
        name: &str,
        fields: FieldPaths,
    ) -> Result<(), ApiError> {
        if self.names(kind).contains(&name) { Ok(()) } else { Err(self.missing(kind, name, fields)) }
    }

    /// That there is no resource of `kind` called `name`, which `fields` name.
    fn missing(&self, kind: ResourceKind, name: &str, fields: FieldPaths) -> ApiError {
        let what = format!("The resource '{}' was not found", self.path(kind, name));
        let error = ApiError::because(Reason::NotFound, fields, what, "");
        error.choosing(name, kind.plural(), self.names(kind))
    }

    /// That there is no group that `group`, which `fields` are, could mean.
    pub(super) fn no_group(&self, group: &Reference, fields: FieldPaths) -> ApiError {
        let is_endpoints = group.is_in(ResourceKind::NetworkEndpointGroup.collection());
        let kind =
            if is_endpoints { ResourceKind::NetworkEndpointGroup } else { ResourceKind::InstanceGroup };
        self.missing(kind, group.name(), fields)
    }

    /// Checks that `reference`, which `fields` are, does not say that it is in another region.
    pub(super) fn check_region(&self, reference: &Reference, fields: FieldPaths) -> Result<(), ApiError> {
        let region = reference.region().filter(|region| *region != self.region && !self.region.is_empty());
        if region.is_none() {
            return Ok(());
        }
        let why = format!("It must be in the region '{}'", self.region);
        Err(ApiError::bad_value(fields, reference.as_str(), why, "name one of this region"))
    }

    /// Checks that `zone` is one of the region's.
    pub(super) fn check_zone(&self, zone: &Reference) -> Result<(), ApiError> {
        if self.has_zone(zone.name()) {
            return Ok(());
        }
        let known = self.zones.iter().map(String::as_str);
        let error = ApiError::bad_value(&["zone"], zone.as_str(), "Unknown zone", "");
        Err(error.choosing(zone.name(), "zones of the region", known))
    }

    fn has_zone(&self, zone: &str) -> bool {
        self.zones.is_empty() || self.zones.iter().any(|own| own == zone)
    }

    /// The instance that `reference`, which `fields` are, means.
    pub(super) fn instance(&self, reference: &Reference, fields: FieldPaths) -> Result<&Instance, ApiError> {
        let elsewhere = |zone: &&str| !self.has_zone(zone);
        if reference.zone().is_some_and(|zone| elsewhere(&zone)) {
            let why = format!("Instances must be in the region '{}'", self.region);
            return Err(ApiError::bad_value(fields, reference.as_str(), why, "name one of this region"));
        }
        let name = reference.name();
        self.check_exists(ResourceKind::Instance, name, fields)?;
        let found = self.instances.iter().find(|own| own.name == name).expect("it was found just now");
        let zone = found.zone.as_ref().map(Reference::name);
        if reference.zone().is_none_or(|written| zone == Some(written)) {
            return Ok(found);
        }
        let path = ResourceKind::Instance.path(Scope::Zone(reference.zone().unwrap_or_default()), name);
        let help = format!("write {}", self.path(ResourceKind::Instance, name));
        Err(ApiError::because(Reason::NotFound, fields, format!("The resource '{path}' was not found"), help))
    }

    /// The instance group or network endpoint group that `reference` means; the former of two that share a name.
    pub(super) fn group_kind(&self, reference: &Reference) -> Option<ResourceKind> {
        let kinds = [ResourceKind::InstanceGroup, ResourceKind::NetworkEndpointGroup];
        let said = kinds.into_iter().find(|kind| reference.is_in(kind.collection()));
        let mut possible = kinds.into_iter().filter(|kind| said.is_none_or(|said| said == *kind));
        possible.find(|kind| self.names(*kind).contains(&reference.name()))
    }

    /// The instances of the instance group or the network endpoint group that `group` means, if it exists.
    pub fn group_members(&self, group: &Reference) -> Option<&[Reference]> {
        let name = group.name();
        if self.group_kind(group)? == ResourceKind::InstanceGroup {
            return self.instance_groups.iter().find(|own| own.name == name).map(|own| &own.instances[..]);
        }
        self.network_endpoint_groups.iter().find(|own| own.name == name).map(|own| &own.instances[..])
    }

    /// The rule that `next_hop` means, by its name or by its address.
    pub fn next_hop(&self, next_hop: &Reference) -> Option<&ForwardingRule> {
        self.forwarding_rules.iter().find(|rule| rule.is_meant_by(next_hop))
    }

    /// Checks that no resource uses the one of `kind` called `name`, which exists.
    pub(super) fn check_unused(&self, kind: ResourceKind, name: &str) -> Result<(), ApiError> {
        let Some((user, by)) = self.user(kind, name) else { return Ok(()) };
        let (used, by) = (self.path(kind, name), self.path(user, by));
        let what = format!("The {} resource '{used}' is already being used by '{by}'", kind.name());
        let help = match kind {
            ResourceKind::TargetPool => {
                "delete a pool that neither the forwarding rule nor another pool uses".to_owned()
            }
            _ => format!("delete one that none of the {} uses", user.plural()),
        };
        Err(ApiError::because(Reason::InUse, kind.field(), what, help))
    }

    /// A resource that needs the one of `kind` called `name`.
    fn user(&self, kind: ResourceKind, name: &str) -> Option<(ResourceKind, &str)> {
        let names = |reference: &Reference| reference.name() == name;
        let services = || self.backend_services.iter();
        let is_group = |group: &Reference| names(group) && self.group_kind(group) == Some(kind);
        let service = match kind {
            ResourceKind::HealthCheck => services().find(|own| own.health_checks.iter().any(names)),
            ResourceKind::InstanceGroup | ResourceKind::NetworkEndpointGroup => services()
                .find(|own| own.backends.iter().filter_map(|backend| backend.group.as_ref()).any(is_group)),
            _ => None,
        };
        let rule = match kind {
            ResourceKind::BackendService => {
                self.forwarding_rules.iter().find(|rule| rule.backend_service.as_ref().is_some_and(names))
            }
            ResourceKind::TargetPool => {
                self.forwarding_rules.iter().find(|rule| rule.target.as_ref().is_some_and(names))
            }
            _ => None,
        };
        let pool = match kind {
            ResourceKind::HttpHealthCheck => {
                self.target_pools.iter().find(|pool| pool.health_checks.iter().any(names))
            }
            ResourceKind::TargetPool => {
                self.target_pools.iter().find(|pool| pool.backup_pool.as_ref().is_some_and(names))
            }
            _ => None,
        };
        let service = service.map(|own| (ResourceKind::BackendService, own.name.as_str()));
        let rule = rule.map(|own| (ResourceKind::ForwardingRule, own.name.as_str()));
        let pool = pool.map(|own| (ResourceKind::TargetPool, own.name.as_str()));
        let route = || if kind == ResourceKind::ForwardingRule { self.route_through(name) } else { None };
        service.or(rule).or(pool).or_else(route)
    }

    /// A route whose next hop is the rule called `rule` (NHOP-2).
    fn route_through(&self, rule: &str) -> Option<(ResourceKind, &str)> {
        let rule = self.forwarding_rules.iter().find(|own| own.name == rule)?;
        let is_it = |hop: &Option<Reference>| hop.as_ref().is_some_and(|hop| rule.is_meant_by(hop));
        let fixed = self.routes.iter().find(|route| is_it(&route.next_hop_ilb));
        let fixed = fixed.map(|route| (ResourceKind::Route, route.name.as_str()));
        let by_policy = self.policy_based_routes.iter().find(|route| is_it(&route.next_hop_ilb_ip));
        fixed.or_else(|| by_policy.map(|route| (ResourceKind::PolicyBasedRoute, route.name.as_str())))
    }
}

impl ForwardingRule {
    /// Whether a route that has `next_hop` leads to it.
    fn is_meant_by(&self, next_hop: &Reference) -> bool {
        next_hop.name() == self.name || self.ip_address.as_deref() == Some(next_hop.as_str())
    }
}

//! The collections of resources, and how the API names what is in them.

use super::error::{ApiError, FieldPaths};

/// The project of every resource, which no file says.
const PROJECT: &str = "projects/PROJECT";

/// A kind of resources: a collection of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// `healthChecks`
    HealthCheck,
    /// `httpHealthChecks`, the legacy ones.
    HttpHealthCheck,
    /// `instances`
    Instance,
    /// `instanceGroups`
    InstanceGroup,
    /// `networkEndpointGroups`
    NetworkEndpointGroup,
    /// `backendServices`
    BackendService,
    /// `targetPools`
    TargetPool,
    /// `forwardingRules`
    ForwardingRule,
    /// `routes`
    Route,
    /// `policyBasedRoutes`, of the Network Connectivity API.
    PolicyBasedRoute,
}

/// Where a resource is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    Global,
    Region(&'a str),
    Zone(&'a str),
}

impl ResourceKind {
    /// Its collection as in URLs, what messages call one of it, and what words call all of it.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::HealthCheck => ["healthChecks", "health_check", "health checks"],
            Self::HttpHealthCheck => ["httpHealthChecks", "http_health_check", "legacy HTTP health checks"],
            Self::Instance => ["instances", "instance", "instances"],
            Self::InstanceGroup => ["instanceGroups", "instance_group", "instance groups"],
            Self::NetworkEndpointGroup => {
                ["networkEndpointGroups", "network_endpoint_group", "network endpoint groups"]
            }
            Self::BackendService => ["backendServices", "backend_service", "backend services"],
            Self::TargetPool => ["targetPools", "target_pool", "target pools"],
            Self::ForwardingRule => ["forwardingRules", "forwarding_rule", "forwarding rules"],
            Self::Route => ["routes", "route", "routes"],
            Self::PolicyBasedRoute => ["policyBasedRoutes", "policy_based_route", "policy-based routes"],
        }
    }

    /// Its collection, as in URLs: `targetPools`.
    pub fn collection(self) -> &'static str {
        self.names()[0]
    }

    /// What messages call one of it: `target_pool`.
    pub fn name(self) -> &'static str {
        self.names()[1]
    }

    /// What it is in words: `target pools`.
    pub fn plural(self) -> &'static str {
        self.names()[2]
    }

    /// The parameter of methods that names the one that they are called on.
    pub(super) fn field(self) -> FieldPaths {
        match self {
            Self::HealthCheck => &["healthCheck"],
            Self::HttpHealthCheck => &["httpHealthCheck"],
            Self::Instance => &["instance"],
            Self::InstanceGroup => &["instanceGroup"],
            Self::NetworkEndpointGroup => &["networkEndpointGroup"],
            Self::BackendService => &["backendService"],
            Self::TargetPool => &["targetPool", "pool"],
            Self::ForwardingRule => &["forwardingRule"],
            Self::Route => &["route"],
            Self::PolicyBasedRoute => &["policyBasedRoute"],
        }
    }

    /// The path of the one called `name`: `projects/PROJECT/regions/r/targetPools/p`.
    pub(super) fn path(self, scope: Scope<'_>, name: &str) -> String {
        let collection = self.collection();
        match scope {
            Scope::Global => format!("{PROJECT}/global/{collection}/{name}"),
            Scope::Region(region) => format!("{PROJECT}/regions/{region}/{collection}/{name}"),
            Scope::Zone(zone) => format!("{PROJECT}/zones/{zone}/{collection}/{name}"),
        }
    }
}

/// The longest name of a resource.
pub(crate) const NAME_LONGEST: usize = 63;

/// Checks that a resource can be called `name` (TPA-6).
///
/// # Errors
/// If it is not 1 to 63 lower-case letters, digits and `-`, a letter first and no `-` at the end.
pub(crate) fn check_name(name: &str) -> Result<(), ApiError> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_inner = |c: char| is_letter(c) || c.is_ascii_digit() || c == '-';
    let right = name.starts_with(is_letter) && name.chars().all(is_inner) && !name.ends_with('-');
    if right && name.len() <= NAME_LONGEST {
        return Ok(());
    }
    let regex = "[a-z]([-a-z0-9]{0,61}[a-z0-9])?";
    let help = "write 1 to 63 lower-case letters, digits and -, a letter first and no - at the end";
    Err(ApiError::bad_value(&["name"], name, format!("Must be a match of regex '{regex}'"), help))
}

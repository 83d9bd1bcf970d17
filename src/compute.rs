//! The Compute API's resources of a passthrough load balancer, and its control plane (MTH, RES).
//!
//! Resources are read and written by serde in the API's own field names. Fields that nothing here depends on are kept as
//! they are. What the API refuses is refused with its own reasons ([`ApiError`]), at the creation of a resource and
//! after each call alike; what it accepts becomes the configuration of a load balancer ([`crate::lb`]). No file is known
//! here, and no experiment.
//!
//! Methods stand in `compute/methods/`, a file a collection: each is a function of [`Resources`] that takes resources, and a
//! [`Method`] that is data, for [`Resources::call`].

mod backend_service;
mod control_plane;
mod error;
mod fields;
mod forwarding_rule;
mod health_check;
mod instance;
mod kind;
mod methods;
mod names;
mod number;
mod reference;
mod reported_health;
mod resources;
mod route;
mod target;
mod target_pool;
#[cfg(test)]
mod tests;

use crate::lb::selection::TableSize;
use crate::lb::zonal_affinity::SpecVersion;
use crate::time::SimDuration;
pub use backend_service::{
    BackendService, BalancingMode, ConnectionDrainingFields, ConnectionTrackingFields, FailoverPolicyFields,
    LocalityPolicy, PassThroughPolicyFields, ServiceBackend, ServiceProtocol, Spillover, SubsettingFields,
    SubsettingPolicy, ZonalAffinityFields,
};
pub use control_plane::{ControlPlane, Judges, PlannedInstance, Seen};
pub use error::{ApiError, FieldPaths, HelpText, Reason, Remedy};
pub(crate) use error::{is_hidden, plain, quoted};
pub use fields::OtherFields;
pub use forwarding_rule::{ForwardingRule, RuleProtocol, Scheme, TakenPorts};
pub use health_check::{HealthCheck, HttpHealthCheck, Probe, ProbeTiming, ProbeType, ProbedPort};
pub use instance::{Instance, InstanceGroup, NetworkEndpointGroup};
pub use kind::ResourceKind;
pub(crate) use kind::{NAME_LONGEST, check_name};
pub use methods::{
    BackendArguments, BackendServiceArguments, BackendServicePatch, DrainingArguments, EndpointArguments,
    EndpointGroupArguments, FailoverPolicyArguments, ForwardingRuleArguments, HaPolicyArguments,
    HealthCheckArguments, HealthCheckPatch, HttpHealthCheckArguments, HttpHealthCheckPatch,
    InstanceArguments, InstanceGroupArguments, Method, NextHopDrop, PolicyBasedRouteArguments,
    RouteArguments, RouteChoice, RouteFilterArguments, SubsettingArguments, TargetPoolArguments,
    TrackingPolicyArguments, ZonalAffinityArguments, addresses_of,
};
pub(crate) use number::session_affinity;
pub use reference::Reference;
pub use reported_health::{
    BackendServiceGroupHealth, InstanceHealth, JudgedHealth, ReportedState, TargetPoolInstanceHealth,
    WeightError,
};
pub use resources::{Home, Resources};
pub use route::{PolicyBasedRoute, Route, RouteFilter};
pub use target::{ResourceCheck, Target, TargetMember};
pub use target_pool::TargetPool;

/// What holds where no resource says it: what the documents leave open, and what other products decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Assumptions {
    /// The size of Maglev's table, where that selects.
    pub table_size: TableSize,
    /// Which text decides where Preview and GA differ (ZON-9).
    pub spec_version: SpecVersion,
    /// How long entries of the old role live on after a switch of roles (O1).
    pub failover_drain: SimDuration,
    /// Whether a Network Security Integration deployment inspects the packets (ZON-2).
    pub inspected: bool,
    /// Whether a target pool with affinity NONE drops fragments that carry no ports (TPA-2).
    pub drop_portless_fragments: bool,
    /// Whether an internal load balancer may have any number of backends, and not at most 250 (ELIG-13).
    pub unlimited_backends: bool,
}

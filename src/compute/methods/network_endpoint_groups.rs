//! `networkEndpointGroups`: groups of endpoints, which are instances.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::error::{ApiError, FieldPaths, quoted};
use crate::compute::instance::NetworkEndpointGroup;
use crate::compute::kind::ResourceKind;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;

/// What `networkEndpointGroups.insert` creates: a group without endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointGroupArguments {
    /// Its name.
    #[schemars(example = &"neg-a")]
    name: String,
    /// The zone of its endpoints.
    #[schemars(example = &"us-central1-a")]
    zone: String,
    /// What they are. Default: GCE_VM_IP, which passthrough load balancers take.
    #[schemars(example = &"GCE_VM_IP")]
    network_endpoint_type: Option<String>,
}

/// An endpoint: an instance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointArguments {
    /// The instance.
    #[schemars(example = &"vm-7")]
    instance: Reference,
    /// Endpoints of other types have one; these have none. Default: none.
    port: Option<i64>,
}

impl EndpointGroupArguments {
    /// The group.
    pub fn resource(&self) -> NetworkEndpointGroup {
        let written = self.network_endpoint_type.clone();
        NetworkEndpointGroup {
            name: self.name.clone(),
            zone: Some(Reference::new(&self.zone)),
            network_endpoint_type: Some(written.unwrap_or_else(|| NetworkEndpointGroup::VM.to_owned())),
            ..NetworkEndpointGroup::default()
        }
    }
}

/// The types that there are.
const TYPES: [&str; 8] = [
    NetworkEndpointGroup::VM,
    "GCE_VM_IP_PORT",
    "GCE_VM_IP_PORTMAP",
    "INTERNET_FQDN_PORT",
    "INTERNET_IP_PORT",
    "NON_GCP_PRIVATE_IP_PORT",
    "PRIVATE_SERVICE_CONNECT",
    "SERVERLESS",
];
const TYPE: FieldPaths = &["networkEndpointType"];
const INSTANCE: FieldPaths = &["networkEndpoints.instance", "networkEndpoints"];
const PORT: FieldPaths = &["networkEndpoints.port", "networkEndpoints"];

impl Resources {
    /// `networkEndpointGroups.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, its type is none, or it has no zone or one of another region.
    pub fn insert_network_endpoint_group(&mut self, group: NetworkEndpointGroup) -> Result<(), ApiError> {
        Self::check_named(&group.name)?;
        let Some(zone) = &group.zone else {
            return Err(ApiError::required(&["zone"], "add the zone of its endpoints"));
        };
        let Some(written) = group.network_endpoint_type.as_deref() else {
            return Err(ApiError::required(TYPE, "add networkEndpointType = \"GCE_VM_IP\""));
        };
        if !TYPES.contains(&written) {
            let error = ApiError::bad_value(TYPE, written, "No such type", "");
            return Err(error.choosing(written, "types", TYPES));
        }
        self.check_zone(zone)?;
        self.check_endpoints(&group, &group.instances)?;
        self.check_new(ResourceKind::NetworkEndpointGroup, &group.name)?;
        self.check_told_apart(ResourceKind::InstanceGroup, &group.name)?;
        self.network_endpoint_groups.push(group);
        Ok(())
    }

    /// `networkEndpointGroups.attachNetworkEndpoints`. One that is there stays.
    ///
    /// # Errors
    /// If the group or an instance does not exist, or the group takes no instances, or none of that zone.
    pub fn attach_endpoints(&mut self, name: &str, instances: &[Reference]) -> Result<(), ApiError> {
        let index = self.endpoint_group(name)?;
        self.check_endpoints(&self.network_endpoint_groups[index], instances)?;
        let present = &mut self.network_endpoint_groups[index].instances;
        for instance in instances {
            if !present.iter().any(|own| own.name() == instance.name()) {
                present.push(instance.clone());
            }
        }
        Ok(())
    }

    /// `networkEndpointGroups.detachNetworkEndpoints`
    ///
    /// # Errors
    /// If the group does not exist, or an instance is not in it.
    pub fn detach_endpoints(&mut self, name: &str, instances: &[Reference]) -> Result<(), ApiError> {
        let index = self.endpoint_group(name)?;
        let present = &mut self.network_endpoint_groups[index].instances;
        let is_in = |instance: &Reference| present.iter().any(|own| own.name() == instance.name());
        if let Some(absent) = instances.iter().position(|instance| !is_in(instance)) {
            let what = format!("{} is not one of the endpoints", quoted(instances[absent].name()));
            return Err(ApiError::invalid(INSTANCE, what, "name endpoints that are there").of_member(absent));
        }
        present.retain(|own| !instances.iter().any(|going| going.name() == own.name()));
        Ok(())
    }

    fn endpoint_group(&self, name: &str) -> Result<usize, ApiError> {
        let kind = ResourceKind::NetworkEndpointGroup;
        self.check_exists(kind, name, kind.field())?;
        let found = self.network_endpoint_groups.iter().position(|group| group.name == name);
        Ok(found.expect("it was found just now"))
    }

    fn check_endpoints(&self, group: &NetworkEndpointGroup, instances: &[Reference]) -> Result<(), ApiError> {
        let zone = group.zone.as_ref().map_or("", Reference::name);
        if !instances.is_empty() && !group.is_of_instances() {
            let what = format!("the endpoints of {} are no instances", group.name);
            let kind = ResourceKind::NetworkEndpointGroup;
            return Err(ApiError::invalid(kind.field(), what, "name a group of type GCE_VM_IP"));
        }
        for (index, reference) in instances.iter().enumerate() {
            let found = self.instance(reference, INSTANCE).map_err(|error| error.of_member(index))?;
            if found.zone.as_ref().map(Reference::name) != Some(zone) {
                let why = format!("Endpoints of this group must be in the zone '{zone}'");
                let help = "name instances of that zone";
                return Err(ApiError::bad_member(INSTANCE, index, reference.as_str(), why, help));
            }
        }
        Ok(())
    }
}

/// The instances that `endpoints` are, which have no ports: those of passthrough load balancers are whole instances (RES-6).
pub(super) fn instances(endpoints: &[EndpointArguments]) -> Result<Vec<Reference>, ApiError> {
    let instance = |(index, endpoint): (usize, &EndpointArguments)| match endpoint.port {
        None => Ok(endpoint.instance.clone()),
        Some(port) => {
            let why = "Endpoints of type GCE_VM_IP have no port";
            Err(ApiError::bad_member(PORT, index, port, why, "leave the port out"))
        }
    };
    endpoints.iter().enumerate().map(instance).collect()
}

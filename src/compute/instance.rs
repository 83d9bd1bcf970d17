//! Machines, and the groups that load balancers know them by (RES-6, RES-7).

use super::Reference;
use super::fields::fields;

fields! {
    /// A virtual machine.
    Instance {
        /// Its name.
        name: String,
        /// Where it runs.
        zone: Option<Reference>,
    }
}

fields! {
    /// A group of instances. It is in a zone, or spread over the region.
    InstanceGroup {
        /// Its name.
        name: String,
        /// Where all of it is, unless it is spread.
        zone: Option<Reference>,
        /// Its members, which the API lists by a method of its own: they are no field.
        #[serde(skip)]
        instances: Vec<Reference>,
        /// Whether a manager makes its members, so that nobody else adds or removes any: no field either.
        #[serde(skip)]
        is_managed: bool,
    }
}

fields! {
    /// A network endpoint group. Those of passthrough load balancers hold instances (`GCE_VM_IP`).
    NetworkEndpointGroup {
        /// Its name.
        name: String,
        /// Where it is.
        zone: Option<Reference>,
        /// What its endpoints are, in the API's word.
        network_endpoint_type: Option<String>,
        /// The instances that its endpoints are, which the API lists by a method of its own: they are no field.
        #[serde(skip)]
        instances: Vec<Reference>,
    }
}

impl NetworkEndpointGroup {
    /// The type whose endpoints are instances.
    pub const VM: &str = "GCE_VM_IP";

    /// Whether its endpoints are instances, as those of passthrough load balancers are.
    pub fn is_of_instances(&self) -> bool {
        self.network_endpoint_type.as_deref() == Some(Self::VM)
    }
}

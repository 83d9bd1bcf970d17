//! Machines, and the groups that load balancers know them by (RES-6, RES-7).

use serde::{Deserialize, Serialize};

use super::{OtherFields, Reference};

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Instance {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Reference>,
    /// The other fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// A group of instances. It is in a zone, or spread over the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstanceGroup {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where all of it is, unless it is spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Reference>,
    /// Its members, which the API lists by a method of its own: they are no field.
    #[serde(skip)]
    pub instances: Vec<Reference>,
    /// The other fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// A network endpoint group. Those of passthrough load balancers hold instances (`GCE_VM_IP`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkEndpointGroup {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Reference>,
    /// What its endpoints are, in the API's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_endpoint_type: Option<String>,
    /// The other fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

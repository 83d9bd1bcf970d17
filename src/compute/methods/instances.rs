//! `instances`: machines come and go.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::error::ApiError;
use crate::compute::instance::Instance;
use crate::compute::kind::ResourceKind;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;

/// What `instances.insert` creates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceArguments {
    /// Its name.
    #[schemars(example = &"vm-7")]
    name: String,
    /// The zone that it runs in.
    #[schemars(example = &"us-central1-b")]
    zone: String,
}

impl InstanceArguments {
    /// The instance.
    pub fn resource(&self) -> Instance {
        Instance { name: self.name.clone(), zone: Some(Reference::new(&self.zone)), ..Instance::default() }
    }
}

impl Resources {
    /// `instances.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, or it has no zone, or one of another region.
    pub fn insert_instance(&mut self, instance: Instance) -> Result<(), ApiError> {
        Self::check_named(&instance.name)?;
        let Some(zone) = &instance.zone else {
            return Err(ApiError::required(&["zone"], "add the zone that it runs in"));
        };
        self.check_zone(zone)?;
        self.check_new(ResourceKind::Instance, &instance.name)?;
        self.instances.push(instance);
        Ok(())
    }

    /// `instances.delete`: it leaves its groups and its pools.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn delete_instance(&mut self, name: &str) -> Result<(), ApiError> {
        let kind = ResourceKind::Instance;
        self.check_exists(kind, name, kind.field())?;
        self.instances.retain(|own| own.name != name);
        let groups = self.instance_groups.iter_mut().map(|own| &mut own.instances);
        let endpoints = self.network_endpoint_groups.iter_mut().map(|own| &mut own.instances);
        let pools = self.target_pools.iter_mut().map(|own| &mut own.instances);
        for members in groups.chain(endpoints).chain(pools) {
            members.retain(|member| member.name() != name);
        }
        Ok(())
    }
}

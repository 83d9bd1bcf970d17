//! `instanceGroups`: groups of instances, made by hand or by a manager.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::error::{ApiError, FieldPaths, Reason};
use crate::compute::instance::InstanceGroup;
use crate::compute::kind::ResourceKind;
use crate::compute::reference::Reference;
use crate::compute::resources::{Home, Resources};

/// What `instanceGroups.insert` creates: a group without instances.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceGroupArguments {
    /// Its name.
    #[schemars(example = &"ig-a")]
    name: String,
    /// The zone of its instances.
    #[schemars(example = &"us-central1-a")]
    zone: String,
}

impl InstanceGroupArguments {
    /// The group.
    pub fn resource(&self) -> InstanceGroup {
        let zone = Some(Reference::new(&self.zone));
        InstanceGroup { name: self.name.clone(), zone, ..InstanceGroup::default() }
    }
}

const INSTANCES: FieldPaths = &["instances"];

impl Resources {
    /// `instanceGroups.insert`. A group that is spread over the region, or managed, is made by its manager.
    ///
    /// # Errors
    /// If its name can't be or is taken, or it has a zone of another region, or an instance that it can't have.
    pub fn insert_instance_group(&mut self, group: InstanceGroup) -> Result<(), ApiError> {
        Self::check_named(&group.name)?;
        group.zone.as_ref().map_or(Ok(()), |zone| self.check_zone(zone))?;
        self.check_members(&InstanceGroup { instances: Vec::new(), ..group.clone() }, &group.instances)?;
        self.check_new(ResourceKind::InstanceGroup, &group.name)?;
        self.check_told_apart(ResourceKind::NetworkEndpointGroup, &group.name)?;
        self.instance_groups.push(group);
        Ok(())
    }

    /// `instanceGroups.addInstances` of instances that exist.
    ///
    /// # Errors
    /// If the group or an instance does not exist, the group is managed, or an instance is in another zone, or in it.
    pub fn add_to_group(&mut self, name: &str, instances: &[Reference]) -> Result<(), ApiError> {
        let group = self.unmanaged(name)?;
        self.check_members(group, instances)?;
        self.add_instances(&Home::Group(name.to_owned()), instances.iter().cloned())
    }

    /// `instanceGroups.removeInstances`
    ///
    /// # Errors
    /// If the group does not exist or is managed, or an instance is not in it.
    pub fn remove_from_group(&mut self, name: &str, instances: &[Reference]) -> Result<(), ApiError> {
        self.unmanaged(name)?;
        let names: Vec<String> = instances.iter().map(|own| own.name().to_owned()).collect();
        self.remove_instances(&Home::Group(name.to_owned()), &names)
    }

    fn unmanaged(&self, name: &str) -> Result<&InstanceGroup, ApiError> {
        let kind = ResourceKind::InstanceGroup;
        self.check_exists(kind, name, kind.field())?;
        let group = self.instance_groups.iter().find(|group| group.name == name);
        let group = group.expect("it was found just now");
        if !group.is_managed {
            return Ok(group);
        }
        let what =
            format!("{name} is a managed instance group: its manager alone makes and deletes its instances");
        Err(ApiError::invalid(kind.field(), what, "change its size, or name a group that is not managed"))
    }

    /// Checks that `instances` can come to `group`.
    fn check_members(&self, group: &InstanceGroup, instances: &[Reference]) -> Result<(), ApiError> {
        let zone = group.zone.as_ref().map(Reference::name);
        for (index, reference) in instances.iter().enumerate() {
            let found = self.instance(reference, INSTANCES).map_err(|error| error.of_member(index))?;
            if zone.is_some_and(|zone| found.zone.as_ref().map(Reference::name) != Some(zone)) {
                let why =
                    format!("Instances of this group must be in the zone '{}'", zone.unwrap_or_default());
                let help = "name instances of that zone";
                return Err(ApiError::bad_member(INSTANCES, index, reference.as_str(), why, help));
            }
            let is_it = |own: &Reference| own.name() == reference.name();
            if group.instances.iter().any(is_it) || instances[..index].iter().any(is_it) {
                let instance = self.path(ResourceKind::Instance, reference.name());
                let group = self.path(ResourceKind::InstanceGroup, &group.name);
                let what = format!("Resource '{instance}' is already a member of '{group}'");
                let help = "leave it out: it is there";
                return Err(
                    ApiError::because(Reason::MemberAlreadyExists, INSTANCES, what, help).of_member(index)
                );
            }
        }
        Ok(())
    }

    /// Checks that no group of the other `kind` is called `name`: backends of a service are told apart by it.
    pub(super) fn check_told_apart(&self, kind: ResourceKind, name: &str) -> Result<(), ApiError> {
        if !self.names(kind).contains(&name) {
            return Ok(());
        }
        let what =
            format!("is the name of one of the {} too, and backends are told apart by it", kind.plural());
        Err(ApiError::own(&["name"], what, "give each its own name").of_field())
    }
}

//! The machines of a region, and what groups them: `[[instance_groups]]`, `[[instances]]` and
//! `[[network_endpoint_groups]]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::WorldTables;
use super::super::autoscaling::AutoscalingKeys;
use super::super::groups::{GroupPlan, NumberedGroup, ServerKeys, Weight, members, zones_of};
use super::super::operations::WrittenOperation;
use super::super::zone_id;
use crate::compute::{
    ControlPlane, Home, Instance, InstanceGroup, NetworkEndpointGroup, PlannedInstance, Reference, Resources,
};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::lb::MAX_BACKENDS;
use crate::sim::builder::ScenarioBuilder;
use crate::sim::scenario::{Group, ServedPorts, Server};

/// `[[instance_groups]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct InstanceGroupTable {
    /// Its name; its members are `<name>-1` to `<name>-<size>`, unless `instances` names them.
    #[schemars(extend("examples" = ["ig-a"]))]
    name: ResourceName,
    /// The zone of all members. Default: none; either it or `zones` is needed.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// The zones that the members are dealt out to in turn. Default: none.
    #[schemars(example = ["us-central1-a", "us-central1-b"])]
    zones: Option<Vec<String>>,
    /// How many members it has. Default: 4, or none where `instances` names them.
    #[schemars(extend("x-unit" = "backends"))]
    size: Option<Whole<0, { MAX_BACKENDS as u32 }, 4>>,
    /// Its members, by their names: members of other groups, or of `instances`. Default: its own.
    #[schemars(example = ["vm-8"])]
    instances: Option<Vec<String>>,
    /// Whether a manager makes its members, so that no operation adds or removes any by name.
    #[serde(default)]
    managed: bool,
    /// The ports that its members answer on. Default: all.
    #[schemars(example = [80, 443])]
    serves: Option<Vec<Whole<1, 65_535>>>,
    /// What its members report of their weight: a number, "missing" or "invalid". Default: 1.0.
    weight: Option<Weight>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
    /// How its size follows its utilization. Default: not at all.
    autoscaling_policy: Option<AutoscalingKeys>,
}

/// `[[instances]]`: single machines, for pools and groups by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct InstanceTable {
    /// Its name.
    #[schemars(extend("examples" = ["vm-7"]))]
    name: ResourceName,
    /// Where it runs.
    #[schemars(example = &"us-central1-b")]
    zone: String,
    /// The ports that it answers on. Default: all.
    #[schemars(example = [80, 443])]
    serves: Option<Vec<Whole<1, 65_535>>>,
    /// What it reports of its weight: a number, "missing" or "invalid". Default: 1.0.
    weight: Option<Weight>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
}

/// `[[network_endpoint_groups]]`, of type `GCE_VM_IP`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct EndpointGroupTable {
    /// Its name.
    #[schemars(extend("examples" = ["neg-a"]))]
    name: ResourceName,
    /// The zone of its endpoints.
    #[schemars(example = &"us-central1-b")]
    zone: String,
    /// The instances that its endpoints are, by their names, or all of a group.
    #[schemars(example = ["vm-7"])]
    #[serde(default)]
    instances: Vec<String>,
}

fn served(ports: Option<&[Whole<1, 65_535>]>, path: &KeyPath) -> Result<ServedPorts, Problem> {
    let Some(ports) = ports else { return Ok(ServedPorts::All) };
    if ports.is_empty() {
        let help = "name a port, or leave it out: all ports answer then";
        return refuse(path.key("serves"), "is empty", help);
    }
    Ok(ServedPorts::Some(ports.iter().map(|port| port.get() as u16).collect()))
}

/// The groups that have members of their own.
pub(super) fn plans(
    world: &WorldTables,
    server: &Server,
    builder: &ScenarioBuilder,
) -> Result<Vec<GroupPlan>, Problem> {
    let list = KeyPath::to("instance_groups");
    let groups = world.instance_groups.iter().enumerate().filter(|(_, group)| group.instances.is_none());
    let plan = |(index, group): (usize, &InstanceGroupTable)| {
        let path = list.member(index);
        let server = group.server.of_group(server, &path)?;
        let size = group.size.unwrap_or_default().get();
        let policy = group.autoscaling_policy.as_ref();
        let policy = policy.map(|keys| keys.policy(size, server.workers, &path)).transpose()?;
        let numbered = NumberedGroup {
            name: group.name.as_str().to_owned(),
            home: Home::Group(group.name.as_str().to_owned()),
            zones: zones_of(group.zone.as_deref(), group.zones.as_deref(), builder.zones(), &path)?,
            highest: size,
        };
        Ok(GroupPlan {
            group: numbered,
            place: path.key("name"),
            added: 0,
            server,
            weight: group.weight.unwrap_or(Weight::ONE),
            autoscaling: policy,
            is_ever_served: true,
            serves: served(group.serves.as_deref(), &path)?,
        })
    };
    groups.map(plan).collect()
}

/// Creates the machines, and the groups over them, as resources.
pub(super) fn create(
    world: &WorldTables,
    server: &Server,
    plane: &mut ControlPlane,
    (builder, written): (&mut ScenarioBuilder, &[WrittenOperation<'_>]),
) -> Result<(), Problem> {
    for spec in builder.backends() {
        let group = builder.groups()[spec.group].name.clone();
        let number = spec.name.rsplit_once('-').and_then(|(_, number)| number.parse::<u32>().ok());
        let table = world.instance_groups.iter().find(|table| table.name.as_str() == group);
        let size = table.map_or(0, |table| table.size.unwrap_or_default().get());
        if number.is_some_and(|number| number <= size) {
            let zone = Some(Reference::new(&builder.zones()[spec.zone]));
            plane.resources.instances.push(Instance { name: spec.name.clone(), zone, ..Instance::default() });
        }
    }
    single(world, server, plane, builder)?;
    later(server, plane, written, builder)?;
    let names: Vec<&str> = builder.backends().iter().map(|spec| spec.name.as_str()).collect();
    let last = |index: usize| {
        KeyPath::to("instances").member(index.saturating_sub(names.len() - world.instances.len()))
    };
    distinct(&names, last)?;
    group(world, &mut plane.resources)
}

/// Single machines: each is a group of its own to the world.
fn single(
    world: &WorldTables,
    server: &Server,
    plane: &mut ControlPlane,
    builder: &mut ScenarioBuilder,
) -> Result<(), Problem> {
    let list = KeyPath::to("instances");
    for (index, table) in world.instances.iter().enumerate() {
        let path = list.member(index);
        let zone = zone_id(builder.zones(), &table.zone, &path.key("zone"))?;
        let name = table.name.as_str().to_owned();
        if builder.groups().iter().any(|group| group.name == name) {
            let help = "choose another name: faults and clients call machines and groups by their names";
            return refuse(path.key("name"), format!("is {name:?}, which a group is called"), help);
        }
        builder.instance(
            Group {
                name: name.clone(),
                server: table.server.of_group(server, &path)?,
                weight: table.weight.unwrap_or(Weight::ONE).get(),
                autoscaling: None,
                serves: served(table.serves.as_deref(), &path)?,
            },
            zone,
        );
        plane.machines.push(PlannedInstance { name: name.clone(), home: None });
        let zone = Some(Reference::new(&table.zone));
        plane.resources.instances.push(Instance { name, zone, ..Instance::default() });
    }
    if plane.machines.len() > MAX_BACKENDS {
        return refuse(list, "has too many machines", format!("write at most {MAX_BACKENDS} in all"));
    }
    Ok(())
}

/// Machines that operations create: they are known from the beginning, and do not exist.
fn later(
    server: &Server,
    plane: &mut ControlPlane,
    written: &[WrittenOperation<'_>],
    builder: &mut ScenarioBuilder,
) -> Result<(), Problem> {
    for (instance, path) in written.iter().filter_map(WrittenOperation::new_instance) {
        let name = instance.name.clone();
        if builder.backends().iter().any(|spec| spec.name == name) {
            // It comes back, or the API says that it is there.
            continue;
        }
        let zone = instance.zone.as_ref().map_or("", Reference::name);
        let zone = zone_id(builder.zones(), zone, &path.key("zone"))?;
        let weight = Weight::ONE.get();
        let (server, serves) = (server.clone(), ServedPorts::All);
        builder.instance(Group { name: name.clone(), server, weight, autoscaling: None, serves }, zone);
        plane.machines.push(PlannedInstance { name, home: None });
    }
    Ok(())
}

fn group(world: &WorldTables, resources: &mut Resources) -> Result<(), Problem> {
    let list = KeyPath::to("instance_groups");
    for (index, table) in world.instance_groups.iter().enumerate() {
        let path = list.member(index);
        let name = table.name.as_str();
        let instances = match &table.instances {
            None => members(name, table.size.unwrap_or_default().get()).collect(),
            Some(written) => {
                check_has_no_members(table, &path)?;
                named(world, written, &path.key("instances"))?
            }
        };
        let zone = table.zone.as_ref().map(Reference::new);
        let is_managed = table.managed || table.autoscaling_policy.is_some();
        let group =
            InstanceGroup { name: name.to_owned(), zone, instances, is_managed, ..Default::default() };
        resources.insert_instance_group(group).map_err(|error| Problem::of_resource(error, &path))?;
    }
    let list = KeyPath::to("network_endpoint_groups");
    for (index, table) in world.network_endpoint_groups.iter().enumerate() {
        let path = list.member(index);
        let group = NetworkEndpointGroup {
            name: table.name.as_str().to_owned(),
            zone: Some(Reference::new(&table.zone)),
            network_endpoint_type: Some(NetworkEndpointGroup::VM.to_owned()),
            instances: named(world, &table.instances, &path.key("instances"))?,
            ..Default::default()
        };
        resources.insert_network_endpoint_group(group).map_err(|error| Problem::of_resource(error, &path))?;
    }
    Ok(())
}

/// A group of machines that stand elsewhere says nothing of how they serve.
fn check_has_no_members(table: &InstanceGroupTable, path: &KeyPath) -> Result<(), Problem> {
    let own = [
        ("size", table.size.is_some()),
        ("serves", table.serves.is_some()),
        ("weight", table.weight.is_some()),
        ("autoscaling_policy", table.autoscaling_policy.is_some()),
    ];
    match own.into_iter().find(|(_, is_there)| *is_there) {
        None => Ok(()),
        Some((key, _)) => {
            let help = "leave it out, or leave `instances` out: the group has members of its own then";
            refuse(path.key(key), "has no effect beside `instances`", help)
        }
    }
}

/// The instances that `written` names, singly or by their group.
pub(in super::super) fn named(
    world: &WorldTables,
    written: &[String],
    path: &KeyPath,
) -> Result<Vec<Reference>, Problem> {
    let own = |group: &InstanceGroupTable| match &group.instances {
        None => members(group.name.as_str(), group.size.unwrap_or_default().get()).collect(),
        Some(names) => names.iter().map(Reference::new).collect::<Vec<_>>(),
    };
    let mut known: BTreeMap<String, Vec<Reference>> = BTreeMap::new();
    for group in &world.instance_groups {
        let members = own(group);
        for member in members.iter().filter(|_| group.instances.is_none()) {
            known.insert(member.name().to_owned(), vec![member.clone()]);
        }
        known.insert(group.name.as_str().to_owned(), members);
    }
    for instance in &world.instances {
        known.insert(instance.name.as_str().to_owned(), vec![Reference::new(instance.name.as_str())]);
    }
    let mut found = Vec::new();
    for (index, name) in written.iter().enumerate() {
        let Some(instances) = known.get(name) else {
            let known = known.keys().map(String::as_str);
            return Err(Problem::unknown_name(path.member(index), name, "instances and groups", known));
        };
        found.extend(instances.iter().cloned());
    }
    Ok(found)
}

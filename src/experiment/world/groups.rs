//! Groups of backends, in `[[backend_service.backends]]` and `[[target_pools.instances]]`, and `[server]`: who serves,
//! where and how.

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use super::zone_id;
use crate::compute::{ControlPlane, Home, Judges, PlannedInstance, Reference, Seen};
use crate::experiment::bounded::{ResourceName, Whole, scalar};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::ids::{BalancerId, Id, IdVec, ZoneId};
use crate::lb::MAX_BACKENDS;
use crate::lb::weight::WeightState;
use crate::random::Distribution;
use crate::sim::builder::{GroupMember, ScenarioBuilder};
use crate::sim::scenario::{
    AutoscalingPolicy, Discipline, Failures, Group, Membership, ServedPorts, Server, SlowStart, Workers,
};
use crate::time::SimDuration;

/// `[server]`, and what a group changes of it. The defaults are those of [`Server`].
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(with = "Server")]
pub(super) struct ServerKeys {
    workers: Option<Workers>,
    queue_limit: Option<u32>,
    service_time: Option<Distribution<SimDuration>>,
    discipline: Option<Discipline>,
    failures: Option<Failures>,
    slow_start: Option<SlowStart>,
}

impl ServerKeys {
    pub(super) fn over(self, base: Server) -> Server {
        Server {
            workers: self.workers.unwrap_or(base.workers),
            queue_limit: self.queue_limit.unwrap_or(base.queue_limit),
            service_time: self.service_time.unwrap_or(base.service_time),
            discipline: self.discipline.unwrap_or(base.discipline),
            failures: self.failures.or(base.failures),
            slow_start: self.slow_start.or(base.slow_start),
        }
    }

    /// The server of the group at `group` that is like `base` but for the keys that are written here, if it makes sense.
    pub(super) fn of_group(&self, base: &Server, group: &KeyPath) -> Result<Server, Problem> {
        let server = self.clone().over(base.clone());
        let place = |is_own: bool, key| {
            let table = if is_own { group.key("server") } else { KeyPath::to("server") };
            table.key(key)
        };
        if let Some(failures) = &server.failures {
            let cycle = failures.time_to_failure.mean() + failures.time_to_repair.mean();
            if cycle < SHORTEST_CYCLE.as_nanos() as f64 {
                let what = format!("come and go every {} on average", SimDuration::from_nanos_f64(cycle));
                let help = format!("write times that are together {SHORTEST_CYCLE} or more");
                return refuse(place(self.failures.is_some(), "failures"), what, help);
            }
        }
        if server.discipline == Discipline::ProcessorSharing && server.workers == Workers::Unlimited {
            let what = "shares workers that are unlimited";
            let help = "write a number of workers, or leave discipline out";
            return refuse(place(self.discipline.is_some(), "discipline"), what, help);
        }
        Ok(server)
    }
}

/// Failures and repairs that are more frequent would be all that a run does.
const SHORTEST_CYCLE: SimDuration = SimDuration::from_millis(1);

/// What backends say of their weight when a health check succeeds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
#[schemars(with = "f64", extend("minimum" = 0, "x-or" = "missing"))]
pub(super) struct Weight(WeightState);

impl Weight {
    /// What a backend reports that says nothing special.
    pub(super) const ONE: Self = Self(WeightState::Valid(1.0));

    pub(super) fn get(self) -> WeightState {
        self.0
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a weight of 0.0 or more, \"missing\" or \"invalid\"";
        let written = scalar(deserializer, expected)?;
        let number = match written {
            Unexpected::Str("missing") => return Ok(Self(WeightState::Missing)),
            Unexpected::Str("invalid") => return Ok(Self(WeightState::Invalid)),
            Unexpected::Float(weight) => Some(weight),
            Unexpected::Signed(weight) => u32::try_from(weight).ok().map(f64::from),
            _ => None,
        };
        let weight = number.filter(|weight| *weight >= 0.0 && weight.is_finite());
        let weight = weight.ok_or_else(|| D::Error::invalid_value(written, &expected))?;
        Ok(Self(WeightState::Valid(weight)))
    }
}

pub(super) type MemberCount<const DEFAULT: u32 = 1> = Whole<1, { MAX_BACKENDS as u32 }, DEFAULT>;

pub(super) fn members(name: &str, size: u32) -> impl Iterator<Item = Reference> {
    (1..=size).map(move |number| Reference::new(format!("{name}-{number}")))
}

/// A group as an operator knows it. Its members are numbered from 1; a number is never used twice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumberedGroup {
    pub(super) name: String,
    pub(super) home: Home,
    /// The zones that members are dealt out to in turn.
    pub(super) zones: Vec<ZoneId>,
    pub(super) highest: u32,
}

impl NumberedGroup {
    pub(super) fn member(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// The number of the member called `name`, if it is one of this group.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let (group, number) = name.rsplit_once('-')?;
        number.parse().ok().filter(|_| group == self.name)
    }

    pub(super) fn zone(&self, number: u32) -> ZoneId {
        self.zones[(number as usize - 1) % self.zones.len()]
    }
}

/// A group with what its load balancer makes of it.
#[derive(Debug)]
pub(super) struct GroupPlan {
    /// With the members that it has at first.
    pub(super) group: NumberedGroup,
    pub(super) place: KeyPath,
    pub(super) added: u32,
    pub(super) server: Server,
    pub(super) weight: Weight,
    pub(super) autoscaling: Option<AutoscalingPolicy>,
    pub(super) is_ever_served: bool,
    pub(super) serves: ServedPorts,
}

/// Puts the backends that `plans` describe, which stand in the list at `list`, into `builder`; they are the machines of
/// `plane`. Returns the groups as an operator knows them.
pub(super) fn establish(
    plans: Vec<GroupPlan>,
    plane: &mut ControlPlane,
    list: KeyPath,
    builder: &mut ScenarioBuilder,
) -> Result<Vec<NumberedGroup>, Problem> {
    let names: Vec<&str> = plans.iter().map(|plan| plan.group.name.as_str()).collect();
    distinct(&names, |index| plans[index].place.clone())?;
    let total: u64 = plans.iter().map(GroupPlan::ever).sum();
    if total > MAX_BACKENDS as u64 {
        let what = format!("has {total} members, those included that are added later");
        return refuse(list, what, format!("write at most {MAX_BACKENDS}"));
    }
    for plan in &plans {
        let last = format!("{}-{}", plan.group.name, plan.ever());
        if last.len() > ResourceName::LONGEST {
            let what = format!("has members with names as long as {last:?}");
            let help =
                format!("shorten it: instances have names of at most {} characters", ResourceName::LONGEST);
            return refuse(plan.place.clone(), what, help);
        }
        if plan.is_ever_served {
            plan.enrol(builder, plane);
        }
    }
    if plane.judges == Judges::One {
        let seen = plane.seen(BalancerId::from_index(0));
        for (backend, Seen { role, configured, judge }) in seen {
            builder.join(backend, Membership { role, configured, judge });
        }
    }
    Ok(plans.into_iter().map(|plan| plan.group).collect())
}

impl GroupPlan {
    fn ever(&self) -> u64 {
        let most = self.autoscaling.map_or(self.group.highest, |policy| policy.max_num_replicas.get());
        u64::from(most) + u64::from(self.added)
    }

    /// Adds the group with all members that it may ever have, as the load balancer of `plane` sees them.
    fn enrol(&self, builder: &mut ScenarioBuilder, plane: &mut ControlPlane) {
        let NumberedGroup { name, home, zones, .. } = &self.group;
        let ever = (1..=self.ever()).zip(zones.iter().cycle());
        let members = ever.map(|(_, zone)| GroupMember::in_zone(*zone));
        let (name, server, weight) = (name.clone(), self.server.clone(), self.weight.get());
        let (autoscaling, serves) = (self.autoscaling, self.serves.clone());
        builder.group(Group { name, server, weight, autoscaling, serves }, members);
        for spec in builder.backends().iter().skip(plane.machines.len()) {
            plane.machines.push(PlannedInstance { name: spec.name.clone(), home: Some(home.clone()) });
        }
    }
}

/// The zones that the members of a group at `path` are dealt out to; at least one.
pub(super) fn zones_of(
    zone: Option<&str>,
    several: Option<&[String]>,
    zones: &IdVec<ZoneId, String>,
    path: &KeyPath,
) -> Result<Vec<ZoneId>, Problem> {
    match (zone, several) {
        (Some(zone), None) => Ok(vec![zone_id(zones, zone, &path.key("zone"))?]),
        (None, Some(names)) if !names.is_empty() => {
            let path = path.key("zones");
            distinct(names, |index| path.member(index))?;
            let ids = names.iter().enumerate();
            ids.map(|(index, name)| zone_id(zones, name, &path.member(index))).collect()
        }
        (None, Some(_)) => refuse(path.key("zones"), "is empty", "name at least one zone"),
        (Some(_), Some(_)) => {
            let help = "keep `zone` for a group in one zone, `zones` for one that is spread";
            refuse(path.key("zones"), "stands beside `zone`", help)
        }
        (None, None) => {
            let zone = &zones[ZoneId::from_index(0)];
            let help = format!("add zone = {zone:?}, or zones = [...] for a group that is spread");
            refuse(path.clone(), "has no `zone`", help)
        }
    }
}

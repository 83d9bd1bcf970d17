//! Groups of backends, in `[[backend_service.backends]]` and `[[target_pools.instances]]`, and `[server]`: who serves,
//! where and how.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::zone_id;
use crate::compute::{ControlPlane, Home, PlannedInstance, Reference};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::ids::{BackendId, GroupId, Id, IdVec, ZoneId};
use crate::lb::MAX_BACKENDS;
use crate::lb::backend::Role;
use crate::lb::weight::WeightState;
use crate::random::Distribution;
use crate::sim::scenario::{
    AutoscalingPolicy, BackendSpec, Discipline, Failures, Group, Server, SlowStart, Workers,
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
    /// The server that is like `base` but for the keys that are written here.
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

    /// What the load balancer makes of it.
    pub(super) fn get(self) -> WeightState {
        self.0
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Weight;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a weight of 0.0 or more, \"missing\" or \"invalid\"")
            }
            fn visit_f64<E: Error>(self, weight: f64) -> Result<Weight, E> {
                if weight >= 0.0 && weight.is_finite() {
                    return Ok(Weight(WeightState::Valid(weight)));
                }
                Err(E::invalid_value(Unexpected::Float(weight), &self))
            }
            fn visit_i64<E: Error>(self, weight: i64) -> Result<Weight, E> {
                match u32::try_from(weight) {
                    Ok(weight) => self.visit_f64(f64::from(weight)),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(weight), &self)),
                }
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Weight, E> {
                match text {
                    "missing" => Ok(Weight(WeightState::Missing)),
                    "invalid" => Ok(Weight(WeightState::Invalid)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A number of instances.
pub(super) type MemberCount = Whole<1, { MAX_BACKENDS as u32 }>;

/// The names of the first `size` members of the group `name`.
pub(super) fn members(name: &str, size: u32) -> impl Iterator<Item = Reference> {
    (1..=size).map(move |number| Reference::new(format!("{name}-{number}")))
}

/// A group as an operator knows it. Its members are numbered from 1; a number is never used twice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumberedGroup {
    pub(super) name: String,
    /// Where its members are found.
    pub(super) home: Home,
    /// The zones that members are dealt out to in turn.
    pub(super) zones: Vec<ZoneId>,
    /// The highest number so far.
    pub(super) highest: u32,
}

impl NumberedGroup {
    /// The name of member `number`.
    pub(super) fn member(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// The number of the member called `name`, if it is one of this group.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let (group, number) = name.rsplit_once('-')?;
        number.parse().ok().filter(|_| group == self.name)
    }

    /// The zone of member `number`.
    pub(super) fn zone(&self, number: u32) -> ZoneId {
        self.zones[(number as usize - 1) % self.zones.len()]
    }
}

/// A group with what its load balancer makes of it.
#[derive(Debug)]
pub(super) struct GroupPlan<'a> {
    pub(super) name: &'a str,
    /// Where its name stands.
    pub(super) place: KeyPath,
    /// The zones that members are dealt out to in turn; at least one.
    pub(super) zones: Vec<ZoneId>,
    /// How many members it has at first, and how many are added later.
    pub(super) size: u32,
    pub(super) added: u32,
    pub(super) server: Server,
    pub(super) weight: Weight,
    pub(super) autoscaling: Option<AutoscalingPolicy>,
    /// Where its members are found.
    pub(super) home: Home,
    /// Whether it ever gets traffic.
    pub(super) is_ever_served: bool,
}

/// The groups, and their members one group after the other.
pub(super) type Backends = (IdVec<GroupId, Group>, IdVec<BackendId, BackendSpec>);

/// The backends that `plans` describe, which stand in the list at `list`, and the groups as an operator knows them. The
/// machines of `plane` are those backends.
pub(super) fn establish(
    plans: &[GroupPlan<'_>],
    plane: &mut ControlPlane,
    list: &KeyPath,
) -> Result<(Backends, Vec<NumberedGroup>), Problem> {
    let names: Vec<&str> = plans.iter().map(|plan| plan.name).collect();
    distinct(&names, |index| plans[index].place.clone())?;
    let total: u64 = plans.iter().map(GroupPlan::ever).sum();
    if total > MAX_BACKENDS as u64 {
        let what = format!("has {total} members, those included that are added later");
        return refuse(list.clone(), what, format!("write at most {MAX_BACKENDS}"));
    }
    let mut backends = Backends::default();
    for plan in plans {
        let last = format!("{}-{}", plan.name, plan.ever());
        if last.len() > ResourceName::LONGEST {
            let help =
                format!("shorten it: instances have names of at most {} characters", ResourceName::LONGEST);
            return refuse(plan.place.clone(), format!("has members with names as long as {last:?}"), help);
        }
        if plan.is_ever_served {
            plan.enrol(&mut backends, plane);
        }
    }
    Ok((backends, plans.iter().map(GroupPlan::numbered).collect()))
}

impl GroupPlan<'_> {
    /// How many members it may ever have had.
    fn ever(&self) -> u64 {
        let most = self.autoscaling.map_or(self.size, |policy| policy.max_num_replicas.get());
        u64::from(most) + u64::from(self.added)
    }
    fn numbered(&self) -> NumberedGroup {
        NumberedGroup {
            name: self.name.to_owned(),
            home: self.home.clone(),
            zones: self.zones.clone(),
            highest: self.size,
        }
    }

    /// Adds the group with all members that it may ever have to `backends`, as the load balancer of `plane` sees them.
    fn enrol(&self, (groups, backends): &mut Backends, plane: &mut ControlPlane) {
        let group = groups.push(Group {
            name: self.name.to_owned(),
            server: self.server.clone(),
            weight: self.weight.get(),
            autoscaling: self.autoscaling,
        });
        let standing = plane.resources.standing(&plane.rule, &self.home);
        let role = standing.and_then(|standing| standing.role);
        let checked = standing.is_some_and(|standing| standing.checked);
        for (number, zone) in (1..=self.ever()).zip(self.zones.iter().cycle()) {
            let name = format!("{}-{number}", self.name);
            plane.machines.push(PlannedInstance { name: name.clone(), home: self.home.clone() });
            backends.push(BackendSpec {
                name,
                group,
                zone: *zone,
                role: role.unwrap_or(Role::Failover),
                configured: role.is_some() && number <= u64::from(self.size),
                checked,
            });
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
        (Some(_), Some(_)) => refuse(
            path.key("zones"),
            "stands beside `zone`",
            "keep `zone` for a group in one zone, `zones` for one that is spread",
        ),
        (None, None) => refuse(
            path.clone(),
            "has no `zone`",
            format!(
                "add zone = {:?}, or zones = [...] for a group that is spread",
                zones[ZoneId::from_index(0)]
            ),
        ),
    }
}

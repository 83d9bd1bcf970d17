//! `[[backend_service.backends]]` and `[server]`: who serves, where and how.

use serde::Deserialize;

use super::super::bounded::{Name, Whole};
use super::super::path::KeyPath;
use super::super::problem::{Problem, distinct};
use super::zone_id;
use crate::ids::{BackendId, GroupId, Id, IdVec, ZoneId};
use crate::lb::MAX_BACKENDS;
use crate::lb::backend::Role;
use crate::lb::weight::WeightState;
use crate::random::Distribution;
use crate::sim::scenario::{BackendSpec, Failures, Group, Server, Workers};
use crate::time::SimDuration;

/// `[server]`, and what a group changes of it. The defaults are those of [`Server`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServerKeys {
    workers: Option<Workers>,
    queue_limit: Option<u32>,
    service_time: Option<Distribution<SimDuration>>,
    failures: Option<Failures>,
}

impl ServerKeys {
    /// The server that is like `base` but for the keys that are written here.
    pub(super) fn over(self, base: Server) -> Server {
        Server {
            workers: self.workers.unwrap_or(base.workers),
            queue_limit: self.queue_limit.unwrap_or(base.queue_limit),
            service_time: self.service_time.unwrap_or(base.service_time),
            failures: self.failures.or(base.failures),
        }
    }
}

/// `[[backend_service.backends]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackendGroup {
    /// Its name; its members are `<group>-1` to `<group>-<size>`.
    group: Name,
    /// The zone of all members. Either it or `zones` is needed.
    zone: Option<String>,
    /// The zones that the members are dealt out to in turn.
    zones: Option<Vec<String>>,
    /// How many members it has. Default: 4.
    #[serde(default = "group_size")]
    size: Whole<1, { MAX_BACKENDS as u32 }>,
    /// Whether its members are failover backends. Default: false.
    #[serde(default)]
    failover: bool,
    /// Keys that differ from `[server]`.
    #[serde(default)]
    server: ServerKeys,
}

fn group_size() -> Whole<1, { MAX_BACKENDS as u32 }> {
    Whole::new(4)
}

/// The groups, and their members one group after the other.
pub(super) type Backends = (IdVec<GroupId, Group>, IdVec<BackendId, BackendSpec>);

/// The backends that `written` describes; where it is silent they serve like `server`.
pub(super) fn backends(
    written: &[BackendGroup],
    server: Server,
    zones: &IdVec<ZoneId, String>,
) -> Result<Backends, Problem> {
    let list = || KeyPath::to("backend_service").key("backends");
    if written.is_empty() {
        return Err(Problem::that(list(), "is empty", "write at least one group of backends"));
    }
    let total: u64 = written.iter().map(|group| u64::from(group.size.get())).sum();
    if total > MAX_BACKENDS as u64 {
        return Err(Problem::that(
            list(),
            format_args!("has {total} members"),
            format!("write at most {MAX_BACKENDS}"),
        ));
    }
    let names: Vec<&str> = written.iter().map(|group| group.group.as_str()).collect();
    distinct(&names, |index| list().member(index).key("group"))?;
    let (mut groups, mut backends) = (IdVec::default(), IdVec::default());
    for (index, group) in written.iter().enumerate() {
        let path = list().member(index);
        let members_in = group.zone_ids(zones, &path)?;
        let name = names[index].to_owned();
        let id = groups.push(Group {
            name: name.clone(),
            server: group.server.clone().over(server.clone()),
            weight: WeightState::default(),
        });
        let role = if group.failover { Role::Failover } else { Role::Primary };
        for (number, zone) in (1..=group.size.get()).zip(members_in.into_iter().cycle()) {
            let name = format!("{name}-{number}");
            backends.push(BackendSpec { name, group: id, zone, role, configured: true, checked: true });
        }
    }
    Ok((groups, backends))
}

impl BackendGroup {
    /// The zones that its members are dealt out to; at least one.
    fn zone_ids(&self, zones: &IdVec<ZoneId, String>, path: &KeyPath) -> Result<Vec<ZoneId>, Problem> {
        match (&self.zone, &self.zones) {
            (Some(zone), None) => Ok(vec![zone_id(zones, zone, &path.clone().key("zone"))?]),
            (None, Some(names)) if !names.is_empty() => {
                let path = path.clone().key("zones");
                distinct(names, |index| path.clone().member(index))?;
                let ids = names.iter().enumerate();
                ids.map(|(index, name)| zone_id(zones, name, &path.clone().member(index))).collect()
            }
            (None, Some(_)) => {
                Err(Problem::that(path.clone().key("zones"), "is empty", "name at least one zone"))
            }
            (Some(_), Some(_)) => Err(Problem::that(
                path.clone().key("zones"),
                "stands beside `zone`",
                "keep `zone` for a group in one zone, `zones` for one that is spread",
            )),
            (None, None) => Err(Problem::that(
                path.clone(),
                "has no `zone`",
                format!(
                    "add zone = {:?}, or zones = [...] for a group that is spread",
                    zones[ZoneId::from_index(0)]
                ),
            )),
        }
    }
}

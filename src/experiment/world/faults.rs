//! `[[faults]]`: what the world does to backends.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::bounded::Span;
use super::super::path::KeyPath;
use super::super::problem::{Problem, distinct};
use super::groups::Backends;
use super::operations::History;
use super::{before_the_end, zone_id};
use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::ratio::Ratio;
use crate::sim::scenario::{BackendSpec, FailureMode, Fault, Timing};
use crate::time::{SimDuration, SimTime};

/// `[[faults]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenFault {
    /// When it begins, on the clock that starts with the warm-up.
    at: SimDuration,
    /// How long it lasts. Default: to the end of the run.
    duration: Option<Span>,
    /// Whom it can strike.
    target: FaultTarget,
    /// What the struck backends do. Default: silent.
    #[serde(default)]
    kind: FailureMode,
}

/// Backends, by one of `zone`, `group` and `backends`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultTarget {
    /// All backends of this zone.
    zone: Option<String>,
    /// All members of this group.
    group: Option<String>,
    /// These members.
    backends: Option<Vec<String>>,
    /// The share of them that is struck. Default: 1.0.
    #[serde(default = "everything")]
    fraction: Ratio,
}

fn everything() -> Ratio {
    Ratio::new(1.0).expect("one is a ratio")
}

/// What faults can strike.
pub(super) struct Victims<'a> {
    pub(super) zones: &'a IdVec<ZoneId, String>,
    pub(super) backends: &'a Backends,
    pub(super) history: &'a History,
    /// How long they serve beyond their removal.
    pub(super) draining_timeout: SimDuration,
}

/// The faults that `written` describes.
pub(super) fn faults(
    written: &[WrittenFault],
    timing: &Timing,
    victims: &Victims<'_>,
) -> Result<Vec<Fault>, Problem> {
    let faults = written.iter().enumerate().map(|(index, fault)| {
        let path = KeyPath::to("faults").member(index);
        let at = before_the_end(fault.at, timing, &path)?;
        Ok(Fault {
            at,
            duration: fault.duration.map(Span::get),
            targets: fault.target.members(at, victims, path.key("target"))?,
            fraction: fault.target.fraction,
            mode: fault.kind,
        })
    });
    faults.collect()
}

impl Victims<'_> {
    /// The backends running at time `at` that are such as `is_wanted` says.
    fn such(&self, at: SimTime, is_wanted: impl Fn(&BackendSpec) -> bool) -> Vec<BackendId> {
        let running = self.history.running(at, self.draining_timeout);
        let (_, backends) = self.backends;
        backends
            .pairs()
            .filter(|(id, spec)| is_wanted(spec) && running.contains(id))
            .map(|(id, _)| id)
            .collect()
    }
}

impl FaultTarget {
    /// The backends that it means at time `at`; at least one.
    fn members(&self, at: SimTime, victims: &Victims<'_>, path: KeyPath) -> Result<Vec<BackendId>, Problem> {
        let (groups, backends) = victims.backends;
        match (&self.zone, &self.group, &self.backends) {
            (Some(zone), None, None) => {
                let id = zone_id(victims.zones, zone, &path.clone().key("zone"))?;
                let members = victims.such(at, |spec| spec.zone == id);
                if members.is_empty() {
                    let what = format!("is {zone:?}, where no backend is at that time");
                    return Err(Problem::that(path.key("zone"), what, "name a zone that has backends"));
                }
                Ok(members)
            }
            (None, Some(name), None) => {
                let path = path.key("group");
                let id = groups.pairs().find(|(_, group)| group.name == *name).map(|(id, _)| id);
                let known = groups.iter().map(|group| group.name.as_str());
                let id = id.ok_or_else(|| Problem::unknown_name(path.clone(), name, "groups", known))?;
                let members = victims.such(at, |spec| spec.group == id);
                if members.is_empty() {
                    let what = format!("is {name:?}, which has no members at that time");
                    return Err(Problem::that(path, what, "name a group that has members"));
                }
                Ok(members)
            }
            (None, None, Some(names)) => named(backends, names, path.key("backends")),
            (None, None, None) => {
                let help = "add zone = \"…\", group = \"…\" or backends = [\"…\"]";
                Err(Problem::that(path, "names no backends", help))
            }
            _ => Err(Problem::that(
                path,
                "names backends in several ways",
                "keep one of zone, group and backends",
            )),
        }
    }
}

fn named(
    backends: &IdVec<BackendId, BackendSpec>,
    names: &[String],
    path: KeyPath,
) -> Result<Vec<BackendId>, Problem> {
    if names.is_empty() {
        return Err(Problem::that(path, "is empty", "name at least one backend"));
    }
    distinct(names, |index| path.clone().member(index))?;
    let ids: BTreeMap<&str, BackendId> = backends.pairs().map(|(id, spec)| (&spec.name[..], id)).collect();
    let found = names.iter().enumerate().map(|(index, name)| {
        let known = backends.iter().map(|spec| spec.name.as_str());
        let id = ids.get(name.as_str()).copied();
        id.ok_or_else(|| Problem::unknown_name(path.clone().member(index), name, "backends", known))
    });
    found.collect()
}

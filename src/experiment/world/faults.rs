//! `[[faults]]`: what the world does to backends.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::bounded::Span;
use super::super::path::KeyPath;
use super::super::problem::{Problem, distinct};
use super::backends::Backends;
use super::zone_id;
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

/// The faults that `written` describes.
pub(super) fn faults(
    written: &[WrittenFault],
    timing: &Timing,
    zones: &IdVec<ZoneId, String>,
    backends: &Backends,
) -> Result<Vec<Fault>, Problem> {
    let faults = written.iter().enumerate().map(|(index, fault)| {
        let path = KeyPath::to("faults").member(index);
        let at = SimTime::ZERO + fault.at;
        if at >= timing.window_end() {
            let end = timing.window_end() - SimTime::ZERO;
            let what = format!("is {}, but the measured window ends at {end}", fault.at);
            let help = "write an earlier time, on the clock that starts with the warm-up";
            return Err(Problem::that(path.key("at"), what, help));
        }
        Ok(Fault {
            at,
            duration: fault.duration.map(Span::get),
            targets: fault.target.members(zones, backends, path.key("target"))?,
            fraction: fault.target.fraction,
            mode: fault.kind,
        })
    });
    faults.collect()
}

impl FaultTarget {
    /// The backends that it means; at least one.
    fn members(
        &self,
        zones: &IdVec<ZoneId, String>,
        (groups, backends): &Backends,
        path: KeyPath,
    ) -> Result<Vec<BackendId>, Problem> {
        match (&self.zone, &self.group, &self.backends) {
            (Some(zone), None, None) => {
                let id = zone_id(zones, zone, &path.clone().key("zone"))?;
                let members = such(backends, |spec| spec.zone == id);
                if members.is_empty() {
                    let what = format!("is {zone:?}, where no backend is");
                    return Err(Problem::that(path.key("zone"), what, "name a zone that has backends"));
                }
                Ok(members)
            }
            (None, Some(name), None) => {
                let id = groups.pairs().find(|(_, group)| group.name == *name).map(|(id, _)| id);
                let known = groups.iter().map(|group| group.name.as_str());
                let id = id.ok_or_else(|| Problem::unknown_name(path.key("group"), name, "groups", known))?;
                Ok(such(backends, |spec| spec.group == id))
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

fn such(backends: &IdVec<BackendId, BackendSpec>, wanted: impl Fn(&BackendSpec) -> bool) -> Vec<BackendId> {
    backends.pairs().filter(|(_, spec)| wanted(spec)).map(|(id, _)| id).collect()
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

//! The control plane: what calls change of the resources, and what a running load balancer is told of that.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ApiError;
use super::resources::{Home, Resources};
use super::{Assumptions, Reference};
use crate::ids::{BackendId, Id, IdVec, JudgeId};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::change::Change;

/// The resources as the calls so far have left them, and the load balancer of one of their forwarding rules.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlPlane {
    /// The resources.
    pub resources: Resources,
    /// The name of the forwarding rule.
    pub rule: String,
    /// What no resource says.
    pub assumptions: Assumptions,
    /// Every instance that the load balancer may ever send traffic to.
    pub machines: IdVec<BackendId, PlannedInstance>,
}

/// An instance that a load balancer may send traffic to.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedInstance {
    /// Its name.
    pub name: String,
    /// Where it is found while it is there.
    pub home: Home,
}

/// What the load balancer knows of one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    present: bool,
    /// Whether it is in a home that gets traffic.
    configured: bool,
    role: Role,
    checked: bool,
}

impl ControlPlane {
    /// Calls a method of the resources, and gives what it changes for the load balancer.
    ///
    /// # Errors
    /// If the method, or what the resources then are, is refused. It changes nothing then.
    pub fn call(
        &mut self,
        method: impl FnOnce(&mut Resources) -> Result<(), ApiError>,
    ) -> Result<Vec<Change>, ApiError> {
        let mut after = self.clone();
        method(&mut after.resources)?;
        let changes = changes((self.settings()?, self.seen()), (after.settings()?, after.seen()));
        *self = after;
        Ok(changes)
    }

    /// How the load balancer is configured.
    ///
    /// # Errors
    /// If the API refuses what it is made of.
    pub fn settings(&self) -> Result<Settings, ApiError> {
        self.resources.settings(&self.rule, &self.assumptions)
    }

    /// The backends that exist.
    pub fn backends(&self) -> BTreeSet<BackendId> {
        self.seen().into_iter().filter(|(_, seen)| seen.present).map(|(id, _)| id).collect()
    }

    fn seen(&self) -> BTreeMap<BackendId, Seen> {
        let mut homes: BTreeMap<&Home, _> = BTreeMap::new();
        let seen = self.machines.pairs().filter_map(|(id, PlannedInstance { name, home })| {
            let (standing, names) = homes
                .entry(home)
                .or_insert_with(|| {
                    let standing = self.resources.standing(&self.rule, home)?;
                    let names: BTreeSet<&str> = standing.instances.iter().map(Reference::name).collect();
                    Some((standing, names))
                })
                .as_ref()?;
            let (present, checked) = (names.contains(name.as_str()), standing.checked);
            let configured = present && standing.role.is_some();
            Some((id, Seen { present, configured, role: standing.role.unwrap_or(Role::Failover), checked }))
        });
        seen.collect()
    }
}

/// What leads a load balancer from `before` to `after`: new instances first, so that it is never left without any.
fn changes(
    before: (Settings, BTreeMap<BackendId, Seen>),
    after: (Settings, BTreeMap<BackendId, Seen>),
) -> Vec<Change> {
    let was = |id: &BackendId| before.1.get(id);
    let now = after.1.iter().map(|(id, seen)| (*id, *seen));
    let differs = |id, of: fn(&Seen) -> bool, seen: Seen| was(&id).map(of) != Some(of(&seen));
    let roles = now.clone().filter(|(id, seen)| was(id).is_some_and(|was| was.role != seen.role));
    let roles = roles.map(|(id, seen)| Change::SetRole(id, seen.role));
    let checks = now.clone().filter(|(id, seen)| differs(*id, |seen| seen.checked, *seen));
    let judge = JudgeId::from_index(0);
    let checks = checks.map(|(id, seen)| Change::SetJudge(id, seen.checked.then_some(judge)));
    let moved = now.filter(|(id, seen)| differs(*id, |seen| seen.configured, *seen));
    let (added, removed): (Vec<_>, Vec<_>) = moved.partition(|(_, seen)| seen.configured);
    let configured = (before.0 != after.0).then_some(Change::Configure(after.0));
    let added = added.into_iter().map(|(id, _)| Change::Add(id));
    let removed = removed.into_iter().map(|(id, _)| Change::Remove(id));
    roles.chain(checks).chain(added).chain(configured).chain(removed).collect()
}

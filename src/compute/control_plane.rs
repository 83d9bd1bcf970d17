//! The control plane: what calls change of the resources, and what running load balancers are told of that.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ApiError;
use super::resources::{Home, Resources};
use super::target::{ResourceCheck, Target};
use super::{Assumptions, Reference, Scheme};
use crate::ids::{BackendId, BalancerId, Id, IdVec, JudgeId, RuleId};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};

/// The resources as the calls so far have left them, and the load balancers that their forwarding rules lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlPlane {
    /// The resources.
    pub resources: Resources,
    /// What no resource says.
    pub assumptions: Assumptions,
    /// The same of targets of which something else holds.
    pub special: BTreeMap<Target, Assumptions>,
    /// Every target that a rule ever leads to: each is a load balancer.
    pub balancers: IdVec<BalancerId, Target>,
    /// The name of every rule that there ever is.
    pub rules: IdVec<RuleId, String>,
    /// Who judges health.
    pub judges: Judges,
    /// Every instance that a load balancer may ever send traffic to.
    pub machines: IdVec<BackendId, PlannedInstance>,
}

/// An instance that a load balancer may send traffic to.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedInstance {
    /// Its name.
    pub name: String,
    /// Where it is at first, or would be; nowhere if it stands by itself.
    pub home: Option<Home>,
}

/// The health checks of resources, each of which judges by itself (REG-1).
#[derive(Clone, Debug, PartialEq)]
pub enum Judges {
    /// There is one, and it judges for all.
    One,
    /// Each health check of each resource: the resource's name and the check's, in the order in which they came up.
    Each(IdVec<JudgeId, (String, String)>),
}

impl Judges {
    fn of(&mut self, check: ResourceCheck<'_>) -> JudgeId {
        let Self::Each(known) = self else { return JudgeId::from_index(0) };
        let is_it =
            |known: &(String, String)| (known.0.as_str(), known.1.as_str()) == (check.resource, check.check);
        let position = known.iter().position(is_it);
        position.map_or_else(
            || known.push((check.resource.to_owned(), check.check.to_owned())),
            JudgeId::from_index,
        )
    }
}

/// What a load balancer knows of one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the load balancer sends it traffic.
    pub configured: bool,
    /// What it is for; of one that gets no traffic, what it would be for.
    pub role: Role,
    /// Who judges it, or would.
    pub judge: Option<JudgeId>,
}

type SeenAll = BTreeMap<BackendId, Seen>;

/// What is known of every load balancer, and where every rule leads.
struct State {
    balancers: Vec<(Option<Settings>, SeenAll)>,
    targets: Vec<Option<BalancerId>>,
}

impl ControlPlane {
    /// That of the load balancer of the only rule, `rule`: one health check judges for all.
    pub fn of_one(resources: Resources, rule: String, assumptions: Assumptions) -> Self {
        Self {
            balancers: resources.target_of(&rule).into_iter().collect(),
            rules: [rule].into_iter().collect(),
            judges: Judges::One,
            machines: IdVec::default(),
            special: BTreeMap::new(),
            resources,
            assumptions,
        }
    }

    /// Calls a method of the resources, and gives what it changes for the load balancers.
    ///
    /// # Errors
    /// If the method, or what the resources then are, is refused. It changes nothing then.
    pub fn call(
        &mut self,
        method: impl FnOnce(&mut Resources) -> Result<(), ApiError>,
    ) -> Result<Vec<RegionChange>, ApiError> {
        let mut after = self.clone();
        method(&mut after.resources)?;
        let then = after.state()?;
        let before = self.state()?;
        let ids = self.balancers.ids();
        let both = ids.zip(before.balancers.into_iter().zip(then.balancers));
        let mut all: Vec<RegionChange> = both
            .flat_map(|(id, (before, after))| {
                changes(before, after).into_iter().map(move |change| RegionChange::Balancer(id, change))
            })
            .collect();
        let rules = self.rules.ids().zip(before.targets.iter().zip(&then.targets));
        let moved = rules.filter(|(_, (before, after))| before != after);
        all.extend(moved.map(|(rule, (_, after))| RegionChange::Retarget(rule, *after)));
        let reached = self.rules.ids().filter(|rule| self.is_reached(*rule) != after.is_reached(*rule));
        // The only load balancer of a region says itself who reaches it.
        if self.judges != Judges::One {
            all.extend(reached.map(|rule| RegionChange::Reach(rule, after.is_reached(rule))));
        }
        *self = after;
        Ok(all)
    }

    fn state(&mut self) -> Result<State, ApiError> {
        let mut balancers = Vec::new();
        for id in self.balancers.ids() {
            balancers.push((self.settings(id)?, self.seen(id)));
        }
        Ok(State { balancers, targets: self.rules.ids().map(|rule| self.target(rule)).collect() })
    }

    /// How a load balancer is configured; nothing while its target does not exist.
    ///
    /// # Errors
    /// If the API refuses what it is made of.
    pub fn settings(&self, balancer: BalancerId) -> Result<Option<Settings>, ApiError> {
        let target = &self.balancers[balancer];
        if !self.resources.has_target(target) {
            return Ok(None);
        }
        let assumptions = self.special.get(target).unwrap_or(&self.assumptions);
        self.resources.settings_of(target, assumptions).map(Some)
    }

    /// The load balancer that `rule` leads to, if it exists and leads anywhere.
    pub fn target(&self, rule: RuleId) -> Option<BalancerId> {
        let target = self.resources.target_of(&self.rules[rule])?;
        self.balancers.pairs().find(|(_, other)| **other == target).map(|(id, _)| id)
    }

    /// Whether clients of other regions reach `rule` (ZON-4); those of external ones always do.
    pub fn is_reached(&self, rule: RuleId) -> bool {
        let name = &self.rules[rule];
        let found = self.resources.forwarding_rules.iter().find(|rule| rule.name == *name);
        found.is_some_and(|rule| {
            rule.allow_global_access == Some(true) || rule.load_balancing_scheme != Some(Scheme::Internal)
        })
    }

    /// The backends that exist.
    pub fn backends(&self) -> BTreeSet<BackendId> {
        let resources = &self.resources;
        let groups = resources.instance_groups.iter().flat_map(|group| &group.instances);
        let endpoints = resources.network_endpoint_groups.iter().flat_map(|group| &group.instances);
        let pools = resources.target_pools.iter().flat_map(|pool| &pool.instances);
        let listed = groups.chain(endpoints).chain(pools).map(Reference::name);
        let names: BTreeSet<&str> =
            resources.instances.iter().map(|instance| instance.name.as_str()).chain(listed).collect();
        let exist = self.machines.pairs().filter(|(_, machine)| names.contains(machine.name.as_str()));
        exist.map(|(id, _)| id).collect()
    }

    /// What a load balancer knows of every backend that it has or may get.
    pub fn seen(&mut self, balancer: BalancerId) -> BTreeMap<BackendId, Seen> {
        let Self { resources, judges, balancers, machines, .. } = self;
        let target = &balancers[balancer];
        let members = resources.members_of(target);
        let mut by_name: BTreeMap<&str, Seen> = BTreeMap::new();
        for member in members {
            let judge = member.check.map(|check| judges.of(check));
            let seen = Seen { configured: true, role: member.role, judge };
            by_name.entry(member.instance.name()).or_insert(seen);
        }
        let mut homes: BTreeMap<Option<&Home>, Option<Seen>> = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for (id, PlannedInstance { name, home }) in machines.pairs() {
            if let Some(member) = by_name.get(name.as_str()) {
                seen.insert(id, *member);
                continue;
            }
            let would_be = *homes.entry(home.as_ref()).or_insert_with(|| {
                let (role, check) = resources.standing(target, home.as_ref())?;
                Some(Seen { configured: false, role, judge: check.map(|check| judges.of(check)) })
            });
            seen.extend(would_be.map(|would_be| (id, would_be)));
        }
        seen
    }
}

/// What leads a load balancer from `before` to `after`: new instances first, so that it is never left without any.
fn changes(before: (Option<Settings>, SeenAll), after: (Option<Settings>, SeenAll)) -> Vec<Change> {
    let was = |id: &BackendId| before.1.get(id);
    let now = after.1.iter().map(|(id, seen)| (*id, *seen));
    let roles = now.clone().filter(|(id, seen)| was(id).map(|was| was.role) != Some(seen.role));
    let roles = roles.map(|(id, seen)| Change::SetRole(id, seen.role));
    let checks = now.clone().filter(|(id, seen)| was(id).map(|was| was.judge) != Some(seen.judge));
    let checks = checks.map(|(id, seen)| Change::SetJudge(id, seen.judge));
    let moved = now.filter(|(id, seen)| was(id).map(|was| was.configured) != Some(seen.configured));
    let (added, removed): (Vec<_>, Vec<_>) = moved.partition(|(_, seen)| seen.configured);
    let configured = after.0.filter(|settings| before.0.as_ref() != Some(settings)).map(Change::Configure);
    let added = added.into_iter().map(|(id, _)| Change::Add(id));
    let removed = removed.into_iter().map(|(id, _)| Change::Remove(id));
    let gone = before.1.iter().filter(|(id, was)| was.configured && !after.1.contains_key(id));
    let gone = gone.map(|(id, _)| Change::Remove(*id));
    roles.chain(checks).chain(added).chain(configured).chain(removed).chain(gone).collect()
}

//! Health as the API tells it, at a moment of a world: what `getHealth` of its backend services and target pools says.

use serde_json::{Map, Value};

use super::explain::moment;
use super::situation::Situation;
use crate::compute::{JudgedHealth, Reference, Resources};
use crate::experiment::{Cell, Experiment};
use crate::ids::BackendId;
use crate::lb::weight::WeightState;
use crate::results::observed::QuestionError;
use crate::time::SimTime;

/// What the API tells of the resources of `cell` at time `at`, or at the beginning, while `down` are unhealthy too: of each backend
/// service its groups with the health of their instances, of each target pool that of its instances, as `gcloud … get-health`
/// has them in JSON. Of all resources, or of the one called `name` alone.
///
/// # Errors
/// If a name is of nothing that there is then, or the time is after the end.
pub fn get_health(
    experiment: &Experiment,
    cell: &Cell,
    (name, down, at): (Option<&str>, &[String], Option<SimTime>),
) -> Result<Map<String, Value>, QuestionError> {
    let scenario = &*experiment.scenario(cell);
    let situation = moment(experiment, scenario, down, at)?;
    let resources = experiment.resources_at(cell, at);
    let mut found = Map::new();
    let services = resources.backend_services.iter().map(|service| service.name.as_str());
    for service in services.filter(|own| name.is_none_or(|name| name == *own)) {
        found.insert(service.to_owned(), of_service(&resources, service, &situation)?);
    }
    let pools = resources.target_pools.iter().map(|pool| pool.name.as_str());
    for pool in pools.filter(|own| name.is_none_or(|name| name == *own)) {
        found.insert(pool.to_owned(), of_pool(&resources, pool, &situation)?);
    }
    match name {
        Some(name) if found.is_empty() => {
            let services = resources.backend_services.iter().map(|service| service.name.as_str());
            let pools = resources.target_pools.iter().map(|pool| pool.name.as_str());
            Err(QuestionError::unknown("backend service or target pool", name, services.chain(pools)))
        }
        _ => Ok(found),
    }
}

fn of_service(
    resources: &Resources,
    service: &str,
    situation: &Situation<'_>,
) -> Result<Value, QuestionError> {
    let own = resources.backend_services.iter().find(|own| own.name == service);
    let groups = own.into_iter().flat_map(|own| own.backends.iter().filter_map(|it| it.group.as_ref()));
    let judged = |instance: &str| judged(situation, service, instance);
    let of_group = |group: &Reference| {
        let health = resources.service_health(service, group, judged);
        let health = health.map_err(|error| QuestionError(error.to_string()))?;
        let url = resources.group_url(group);
        Ok(serde_json::json!({ "backend": url, "status": health }))
    };
    groups.map(of_group).collect()
}

fn of_pool(resources: &Resources, pool: &str, situation: &Situation<'_>) -> Result<Value, QuestionError> {
    let own = resources.target_pools.iter().find(|own| own.name == pool);
    let instances = own.into_iter().flat_map(|own| &own.instances);
    let judged = |instance: &str| judged(situation, pool, instance);
    let of_instance = |instance: &Reference| {
        let health = resources.pool_health(pool, instance, judged);
        let health = health.map_err(|error| QuestionError(error.to_string()))?;
        Ok(serde_json::json!(health))
    };
    instances.map(of_instance).collect()
}

/// What the health check of `resource` holds of `instance`. Of one that no load balancer asks about, what it would find.
fn judged(situation: &Situation<'_>, resource: &str, instance: &str) -> JudgedHealth {
    let scenario = situation.scenario;
    let found = scenario.backends.pairs().find(|(_, spec)| spec.name == instance);
    let Some((backend, spec)) = found else { return false.into() };
    let is_healthy = held(situation, resource, backend).unwrap_or(situation.serves[backend] > 0.0);
    let weight = if is_healthy { scenario.groups[spec.group].weight } else { WeightState::Unavailable };
    JudgedHealth { is_healthy, weight }
}

fn held(situation: &Situation<'_>, resource: &str, backend: BackendId) -> Option<bool> {
    let judges = &situation.scenario.judges;
    let is_of = |name: &str| name.is_empty() || name.rsplit_once('/').is_some_and(|(own, _)| own == resource);
    let mut views = situation.balancers.iter();
    let view = views.find(|view| view.judges[backend].is_some_and(|judge| is_of(&judges[judge].name)))?;
    Some(view.members[backend].healthy)
}

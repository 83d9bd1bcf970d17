//! Health as the API tells it, which is not always what traffic goes by (REG-5, TPA-4, RES-1, MTH `getHealth`).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::Reference;
use super::backend_service::BackendService;
use super::error::{ApiError, FieldPaths, quoted};
use super::kind::ResourceKind;
use super::resources::Resources;
use crate::lb::weight::WeightState;

/// What a load balancer holds of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedHealth {
    /// Whether its health check calls it healthy.
    pub is_healthy: bool,
    /// What it last reported of its weight; without effect where weights do not count.
    pub weight: WeightState,
}

impl From<bool> for JudgedHealth {
    fn from(is_healthy: bool) -> Self {
        Self { is_healthy, weight: WeightState::default() }
    }
}

/// The answer of `regionBackendServices.getHealth`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendServiceGroupHealth {
    /// What this is: `compute#backendServiceGroupHealth`.
    pub kind: String,
    /// An entry for each instance of the group and each forwarding rule, the rules of one instance together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health_status: Vec<InstanceHealth>,
}

/// The answer of `targetPools.getHealth`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetPoolInstanceHealth {
    /// What this is: `compute#targetPoolInstanceHealth`.
    pub kind: String,
    /// An entry for each forwarding rule, or one without an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health_status: Vec<InstanceHealth>,
}

/// The health of an instance, as one forwarding rule has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceHealth {
    /// The rule, of a backend service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarding_rule: Option<String>,
    /// The rule's address, of a backend service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarding_rule_ip: Option<String>,
    /// What its health check says.
    pub health_state: ReportedState,
    /// The instance.
    pub instance: String,
    /// The rule's address, of a target pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<String>,
    /// Its weight, if weights count and it reported a valid one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Why it has none, if weights count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_error: Option<WeightError>,
}

/// What the API says of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReportedState {
    /// New connections go there.
    Healthy,
    /// Its check fails, it has not been checked yet, or it has no check.
    Unhealthy,
}

/// Why an instance has no weight (WGT-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WeightError {
    /// What it reported is none.
    InvalidWeight,
    /// It reported none.
    MissingWeight,
    /// It has not answered.
    UnavailableWeight,
}

impl From<bool> for ReportedState {
    fn from(is_healthy: bool) -> Self {
        if is_healthy { Self::Healthy } else { Self::Unhealthy }
    }
}

/// What stands before the path of a resource in its URL.
const BASE: &str = "https://www.googleapis.com/compute/v1/";
const GROUP: FieldPaths = &["group"];
const INSTANCE: FieldPaths = &["instance"];

impl Resources {
    /// The URL of the resource of `kind` called `name`.
    pub fn url(&self, kind: ResourceKind, name: &str) -> String {
        format!("{BASE}{}", self.path(kind, name))
    }

    /// The URL of `group`, an instance group or a network endpoint group.
    pub fn group_url(&self, group: &Reference) -> String {
        let kind = self.group_kind(group).unwrap_or(ResourceKind::InstanceGroup);
        self.url(kind, group.name())
    }

    /// `regionBackendServices.getHealth` of `group`, where `judged` tells what the load balancer of the service holds of the
    /// instance of that name. A group that is not attached, and a service without rules, have no entries.
    ///
    /// # Errors
    /// If the service or the group does not exist.
    pub fn service_health(
        &self,
        service: &str,
        group: &Reference,
        judged: impl Fn(&str) -> JudgedHealth,
    ) -> Result<BackendServiceGroupHealth, ApiError> {
        let kind = ResourceKind::BackendService;
        self.check_exists(kind, service, kind.field())?;
        let Some(members) = self.group_members(group) else {
            return Err(self.no_group(group, GROUP));
        };
        let own =
            self.backend_services.iter().find(|own| own.name == service).expect("it was found just now");
        let is_attached = own.backends.iter().any(|backend| backend.is_of(group.name()));
        let members = if is_attached { members } else { &[] };
        let leads = |reference: &Reference| reference.name() == service;
        let rules = self.forwarding_rules.iter();
        let rules: Vec<_> = rules.filter(|rule| rule.backend_service.as_ref().is_some_and(leads)).collect();
        let entries = members.iter().flat_map(|member| {
            let (name, health) = (member.name(), judged(member.name()));
            rules.iter().map(move |rule| InstanceHealth {
                forwarding_rule: Some(self.url(ResourceKind::ForwardingRule, &rule.name)),
                forwarding_rule_ip: rule.ip_address.clone(),
                ..self.entry(name, health, own)
            })
        });
        let kind = "compute#backendServiceGroupHealth".to_owned();
        Ok(BackendServiceGroupHealth { kind, health_status: entries.collect() })
    }

    /// The health of the instance called `name` that `service` judges so.
    fn entry(&self, name: &str, health: JudgedHealth, service: &BackendService) -> InstanceHealth {
        let weighted = service.locality().is_weighted();
        let (weight, weight_error) = match health.weight {
            _ if !weighted => (None, None),
            WeightState::Valid(weight) => (Some(weight.to_string()), None),
            WeightState::Invalid => (None, Some(WeightError::InvalidWeight)),
            WeightState::Missing => (None, Some(WeightError::MissingWeight)),
            WeightState::Unavailable => (None, Some(WeightError::UnavailableWeight)),
        };
        InstanceHealth {
            forwarding_rule: None,
            forwarding_rule_ip: None,
            health_state: health.is_healthy.into(),
            instance: self.url(ResourceKind::Instance, name),
            ip_address: None,
            weight,
            weight_error,
        }
    }

    /// `targetPools.getHealth` of `instance`, where `judged` tells what the pool's health check says of the instance of that
    /// name. Of a pool without one all are UNHEALTHY, though traffic takes them for healthy (TPA-4).
    ///
    /// # Errors
    /// If the pool does not exist, or the instance is not in it.
    pub fn pool_health(
        &self,
        pool: &str,
        instance: &Reference,
        judged: impl Fn(&str) -> JudgedHealth,
    ) -> Result<TargetPoolInstanceHealth, ApiError> {
        let kind = ResourceKind::TargetPool;
        self.check_exists(kind, pool, kind.field())?;
        let own = self.target_pools.iter().find(|own| own.name == pool).expect("it was found just now");
        let name = instance.name();
        if !own.instances.iter().any(|own| own.name() == name) {
            let what = format!("{} is not in the target pool {pool:?}", quoted(name));
            let known = own.instances.iter().map(Reference::name);
            return Err(ApiError::invalid(INSTANCE, what, "").choosing(name, "instances of the pool", known));
        }
        let is_healthy = !own.health_checks.is_empty() && judged(name).is_healthy;
        let entry = |ip_address: Option<String>| InstanceHealth {
            forwarding_rule: None,
            forwarding_rule_ip: None,
            health_state: is_healthy.into(),
            instance: self.url(ResourceKind::Instance, name),
            ip_address,
            weight: None,
            weight_error: None,
        };
        let leads = |reference: &Reference| reference.name() == pool;
        let rules = self.forwarding_rules.iter();
        let rules = rules.filter(|rule| rule.target.as_ref().is_some_and(leads));
        let mut health_status: Vec<_> = rules.map(|rule| entry(rule.ip_address.clone())).collect();
        if health_status.is_empty() {
            health_status.push(entry(None));
        }
        Ok(TargetPoolInstanceHealth { kind: "compute#targetPoolInstanceHealth".to_owned(), health_status })
    }
}

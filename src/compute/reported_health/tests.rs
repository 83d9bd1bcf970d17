//! Health in the API's words and JSON.

use serde_json::{Value, json};

use super::*;
use crate::compute::{ForwardingRule, Instance, InstanceGroup, LocalityPolicy, ServiceBackend, TargetPool};

const INSTANCES: &str =
    "https://www.googleapis.com/compute/v1/projects/PROJECT/zones/us-central1-a/instances";
const RULES: &str =
    "https://www.googleapis.com/compute/v1/projects/PROJECT/regions/us-central1/forwardingRules";

/// A region with the group ig-a of vm-1 and vm-2, the service `web` that it is attached to, the pool `www` of the same
/// instances, and no rule.
fn region() -> Resources {
    let zone = || Some(Reference::new("us-central1-a"));
    let instance = |name: &str| Instance { name: name.to_owned(), zone: zone(), ..Instance::default() };
    let instances = || ["vm-1", "vm-2"].map(Reference::new).to_vec();
    let group = |name: &str, instances| InstanceGroup {
        name: name.to_owned(),
        zone: zone(),
        instances,
        ..InstanceGroup::default()
    };
    let backends = vec![ServiceBackend { group: Some(Reference::new("ig-a")), ..ServiceBackend::default() }];
    Resources {
        region: "us-central1".to_owned(),
        instances: ["vm-1", "vm-2"].map(instance).to_vec(),
        instance_groups: vec![
            group("ig-a", instances()),
            group("ig-b", instances()),
            group("ig-c", Vec::new()),
        ],
        backend_services: vec![BackendService {
            name: "web".to_owned(),
            backends,
            ..BackendService::default()
        }],
        target_pools: vec![TargetPool {
            name: "www".to_owned(),
            instances: instances(),
            health_checks: vec![Reference::new("legacy-80")],
            ..TargetPool::default()
        }],
        ..Resources::default()
    }
}

fn rule(name: &str, address: &str) -> ForwardingRule {
    ForwardingRule {
        name: name.to_owned(),
        ip_address: Some(address.to_owned()),
        ..ForwardingRule::default()
    }
}

/// A rule that leads to the service, and one to the pool.
fn with_rules(mut region: Resources) -> Resources {
    for (name, address) in [("web-tcp", "10.0.0.5"), ("web-udp", "10.0.0.6")] {
        let backend_service = Some(Reference::new("regions/us-central1/backendServices/web"));
        region.forwarding_rules.push(ForwardingRule { backend_service, ..rule(name, address) });
    }
    let target = Some(Reference::new("www"));
    region.forwarding_rules.push(ForwardingRule { target, ..rule("www-80", "203.0.113.7") });
    region
}

fn only_first(name: &str) -> JudgedHealth {
    (name == "vm-1").into()
}

fn of_group(region: &Resources, group: &str) -> Value {
    serde_json::to_value(region.service_health("web", &Reference::new(group), only_first).unwrap()).unwrap()
}

fn of_pool(region: &Resources, instance: &str) -> Value {
    serde_json::to_value(region.pool_health("www", &Reference::new(instance), only_first).unwrap()).unwrap()
}

#[test]
fn reg_5_a_service_has_an_entry_for_each_instance_and_rule() {
    let entry = |instance: &str, rule: &str, address: &str, state: &str| {
        json!({"instance": format!("{INSTANCES}/{instance}"), "healthState": state,
               "forwardingRule": format!("{RULES}/{rule}"), "forwardingRuleIp": address})
    };
    let expected = json!({"kind": "compute#backendServiceGroupHealth", "healthStatus": [
        entry("vm-1", "web-tcp", "10.0.0.5", "HEALTHY"),
        entry("vm-1", "web-udp", "10.0.0.6", "HEALTHY"),
        entry("vm-2", "web-tcp", "10.0.0.5", "UNHEALTHY"),
        entry("vm-2", "web-udp", "10.0.0.6", "UNHEALTHY"),
    ]});
    assert_eq!(of_group(&with_rules(region()), "zones/us-central1-a/instanceGroups/ig-a"), expected);
}

#[test]
fn reg_5_there_is_no_entry_where_nothing_is_attached() {
    let nothing = json!({"kind": "compute#backendServiceGroupHealth"});
    assert_eq!(of_group(&region(), "ig-a"), nothing, "a service without rule");
    assert_eq!(of_group(&with_rules(region()), "ig-b"), nothing, "a group that is not attached");
    assert_eq!(of_group(&with_rules(region()), "ig-c"), nothing, "a group without instances");
    let ask =
        |service: &str, group: &str| region().service_health(service, &Reference::new(group), only_first);
    for (service, group, says) in [
        ("webb", "ig-a", "backendServices/webb' was not found"),
        ("web", "ig-z", "instanceGroups/ig-z' was not found"),
        ("web", "networkEndpointGroups/neg-z", "networkEndpointGroups/neg-z' was not found"),
    ] {
        let error = ask(service, group).unwrap_err();
        assert_eq!(error.reason.unwrap().answer(), (404, "notFound"));
        assert!(error.what.ends_with(says), "{error}");
    }
}

#[test]
fn tpa_4_a_pool_without_a_check_reads_unhealthy() {
    let mut region = with_rules(region());
    let entry = |name: &str, state: &str| {
        json!({"kind": "compute#targetPoolInstanceHealth", "healthStatus": [
            {"instance": format!("{INSTANCES}/{name}"), "ipAddress": "203.0.113.7", "healthState": state}]})
    };
    assert_eq!(of_pool(&region, "vm-1"), entry("vm-1", "HEALTHY"));
    assert_eq!(of_pool(&region, "us-central1-a/vm-2"), entry("vm-2", "UNHEALTHY"));
    region.target_pools[0].health_checks.clear();
    assert_eq!(of_pool(&region, "vm-1"), entry("vm-1", "UNHEALTHY"), "though traffic takes it for healthy");
}

#[test]
fn mth_a_pool_has_an_entry_for_each_rule_and_one_without_any() {
    let without = of_pool(&region(), "vm-1");
    assert_eq!(
        without["healthStatus"],
        json!([{"instance": format!("{INSTANCES}/vm-1"), "healthState": "HEALTHY"}])
    );
    let mut twice = with_rules(region());
    let target = Some(Reference::new("www"));
    twice.forwarding_rules.push(ForwardingRule { target, ..rule("www-udp", "203.0.113.8") });
    let answer = of_pool(&twice, "vm-1");
    let addresses: Vec<_> =
        answer["healthStatus"].as_array().unwrap().iter().map(|entry| entry["ipAddress"].clone()).collect();
    assert_eq!(addresses, ["203.0.113.7", "203.0.113.8"]);
    let absent = twice.pool_health("www", &Reference::new("vm-3"), only_first).unwrap_err();
    assert_eq!(absent.to_string(), "\"vm-3\" is not in the target pool \"www\"");
    assert_eq!(absent.reason.unwrap().answer(), (400, "invalid"));
    let absent = twice.pool_health("ww", &Reference::new("vm-1"), only_first).unwrap_err();
    assert_eq!(absent.reason.unwrap().answer(), (404, "notFound"));
}

#[test]
fn wgt_3_weights_are_told_where_they_count() {
    let mut region = with_rules(region());
    let mut told = |weight: WeightState, policy: Option<LocalityPolicy>| {
        region.backend_services[0].locality_lb_policy = policy;
        let judged = |_: &str| JudgedHealth { is_healthy: true, weight };
        let health = region.service_health("web", &Reference::new("ig-a"), judged).unwrap();
        let first = serde_json::to_value(&health.health_status[0]).unwrap();
        (first["weight"].clone(), first["weightError"].clone())
    };
    let weighted = Some(LocalityPolicy::WeightedMaglev);
    assert_eq!(told(WeightState::Valid(2.5), weighted), (json!("2.5"), Value::Null));
    for (weight, error) in [
        (WeightState::Invalid, "INVALID_WEIGHT"),
        (WeightState::Missing, "MISSING_WEIGHT"),
        (WeightState::Unavailable, "UNAVAILABLE_WEIGHT"),
    ] {
        assert_eq!(told(weight, weighted), (Value::Null, json!(error)));
    }
    assert_eq!(told(WeightState::Valid(2.5), None), (Value::Null, Value::Null), "weights do not count");
}

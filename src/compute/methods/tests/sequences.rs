//! Random sequences of calls: whatever is accepted, everything that a resource names exists and can serve it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::region;
use crate::compute::methods::Method;
use crate::compute::{Assumptions, Reference, ResourceKind, Resources};

fn one_of(names: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(names)
}

fn instance() -> impl Strategy<Value = &'static str> {
    one_of(&["vm-1", "vm-2", "vm-3", "vm-9", "vm-new"])
}

fn group() -> impl Strategy<Value = &'static str> {
    one_of(&["ig-a", "ig-b", "ig-empty", "mig", "ig-new"])
}

fn service() -> impl Strategy<Value = &'static str> {
    one_of(&["web", "firewalls", "shop", "new"])
}

fn pool() -> impl Strategy<Value = &'static str> {
    one_of(&["www", "spare", "lone", "new-pool"])
}

fn rule() -> impl Strategy<Value = &'static str> {
    one_of(&["web-80", "fw-in", "www-80", "rule"])
}

fn of_machines() -> impl Strategy<Value = Value> {
    let zone = one_of(&["us-central1-a", "us-central1-b", "europe-west1-b"]);
    let endpoint = (one_of(&["attach", "detach"]), one_of(&["neg-a", "neg-port"]), instance());
    prop_oneof![
        zone.prop_map(|zone| json!({"instances.insert": {"name": "vm-new", "zone": zone}})),
        instance().prop_map(|name| json!({"instances.delete": {"instance": name}})),
        Just(json!({"instance_groups.insert": {"name": "ig-new", "zone": "us-central1-b"}})),
        group().prop_map(|name| json!({"instance_groups.delete": {"instance_group": name}})),
        (one_of(&["add", "remove"]), group(), prop::collection::vec(instance(), 1..3)).prop_map(
            |(way, group, all)| {
                let name = format!("instance_groups.{way}_instances");
                json!({ name: {"instance_group": group, "instances": all} })
            }
        ),
        endpoint.prop_map(|(way, group, instance)| {
            let name = format!("network_endpoint_groups.{way}_network_endpoints");
            json!({ name: {"network_endpoint_group": group, "network_endpoints": [{"instance": instance}]} })
        }),
    ]
}

fn of_services() -> impl Strategy<Value = Value> {
    let groups = prop::collection::vec(one_of(&["ig-a", "ig-b", "ig-new", "neg-a", "neg-port"]), 0..3);
    let scheme = || one_of(&["INTERNAL", "EXTERNAL"]);
    let protocol = one_of(&["TCP", "UDP", "UNSPECIFIED"]);
    let affinity = one_of(&["NONE", "CLIENT_IP", "CLIENT_IP_NO_DESTINATION"]);
    let check = || one_of(&["http-80", "tcp-22", "legacy-80"]);
    prop_oneof![
        (scheme(), check()).prop_map(|(scheme, check)| json!({"backend_services.insert":
            {"name": "new", "load_balancing_scheme": scheme, "health_checks": [check]}})),
        (service(), groups).prop_map(|(service, groups)| {
            let groups: Vec<Value> = groups.into_iter().map(|group| json!({"group": group})).collect();
            json!({"backend_services.patch": {"backend_service": service, "backends": groups}})
        }),
        (service(), scheme(), protocol, affinity).prop_map(|(service, scheme, protocol, affinity)| {
            json!({"backend_services.patch": {"backend_service": service, "load_balancing_scheme": scheme,
                   "protocol": protocol, "session_affinity": affinity}})
        }),
        (service(), check()).prop_map(|(service, check)| json!({"backend_services.patch":
            {"backend_service": service, "health_checks": [check]}})),
        service().prop_map(|service| json!({"backend_services.delete": {"backend_service": service}})),
        check().prop_map(|check| json!({"health_checks.delete": {"health_check": check}})),
        check().prop_map(|check| json!({"http_health_checks.delete": {"http_health_check": check}})),
    ]
}

fn of_pools() -> impl Strategy<Value = Value> {
    let ratio = || prop::option::of(prop::sample::select(vec![0.0, 0.5]));
    prop_oneof![
        (pool(), ratio(), instance()).prop_map(|(backup, ratio, instance)| json!({"target_pools.insert":
            {"name": "new-pool", "backup_pool": backup, "failover_ratio": ratio, "instances": [instance]}})),
        (one_of(&["add", "remove"]), pool(), instance()).prop_map(|(way, pool, instance)| {
            let name = format!("target_pools.{way}_instance");
            json!({ name: {"target_pool": pool, "instances": [instance]} })
        }),
        (one_of(&["add", "remove"]), pool(), one_of(&["legacy-80", "legacy-81"])).prop_map(
            |(way, pool, check)| {
                let name = format!("target_pools.{way}_health_check");
                json!({ name: {"target_pool": pool, "health_checks": [check]} })
            }
        ),
        (pool(), pool(), ratio()).prop_map(|(pool, backup, ratio)| json!({"target_pools.set_backup":
            {"target_pool": pool, "target": backup, "failover_ratio": ratio}})),
        pool().prop_map(|pool| json!({"target_pools.delete": {"target_pool": pool}})),
    ]
}

fn of_rules() -> impl Strategy<Value = Value> {
    let address = || prop::option::of(one_of(&["10.0.0.5", "10.0.0.9", "203.0.113.7"]));
    let protocol = || prop::option::of(one_of(&["TCP", "UDP", "L3_DEFAULT"]));
    let ports = || prop::sample::select(vec![json!([]), json!([80]), json!([443, 8080])]);
    prop_oneof![
        (service(), address(), protocol(), ports()).prop_map(|(service, address, protocol, ports)| {
            json!({"forwarding_rules.insert": {"name": "rule", "backend_service": service, "ip_address": address,
                   "ip_protocol": protocol, "ports": ports}})
        }),
        (pool(), address(), protocol()).prop_map(|(pool, address, protocol)| json!({"forwarding_rules.insert":
            {"name": "rule", "target": pool, "ip_address": address, "ip_protocol": protocol}})),
        (rule(), prop_oneof![service(), pool()]).prop_map(|(rule, target)| json!({"forwarding_rules.set_target":
            {"forwarding_rule": rule, "target": target}})),
        (rule(), any::<bool>()).prop_map(|(rule, allow)| json!({"forwarding_rules.patch":
            {"forwarding_rule": rule, "allow_global_access": allow}})),
        rule().prop_map(|rule| json!({"forwarding_rules.delete": {"forwarding_rule": rule}})),
        rule().prop_map(|rule| json!({"routes.insert":
            {"name": "route", "dest_range": "10.2.0.0/16", "next_hop_ilb": rule}})),
        one_of(&["out", "route"]).prop_map(|name| json!({"routes.delete": {"route": name}})),
    ]
}

/// Asserts that all that resources name exists, and that rules and what they lead to fit.
fn assert_whole(region: &Resources) {
    let exists = |kind: ResourceKind, reference: &Reference| region.names(kind).contains(&reference.name());
    let all_exist =
        |kind, references: &[Reference]| references.iter().all(|reference| exists(kind, reference));
    let groups = region.instance_groups.iter().map(|own| &own.instances);
    let endpoints = region.network_endpoint_groups.iter().map(|own| &own.instances);
    let pools = region.target_pools.iter().map(|own| &own.instances);
    for members in groups.chain(endpoints).chain(pools) {
        assert!(all_exist(ResourceKind::Instance, members), "{members:?}");
        let distinct: BTreeSet<&str> = members.iter().map(Reference::name).collect();
        assert_eq!(distinct.len(), members.len(), "{members:?}");
    }
    for service in &region.backend_services {
        assert!(
            service.health_checks.len() == 1 && all_exist(ResourceKind::HealthCheck, &service.health_checks)
        );
        let mut groups = service.backends.iter().map(|backend| backend.group.as_ref().unwrap());
        assert!(groups.all(|group| region.group_members(group).is_some()), "{service:?}");
    }
    for pool in &region.target_pools {
        assert!(
            pool.health_checks.len() < 2 && all_exist(ResourceKind::HttpHealthCheck, &pool.health_checks)
        );
        assert_eq!(pool.backup_pool.is_some(), pool.failover_ratio.is_some(), "{pool:?}");
        assert!(pool.backup_pool.iter().all(|backup| exists(ResourceKind::TargetPool, backup)));
    }
    let mut taken = Vec::new();
    for rule in &region.forwarding_rules {
        match (&rule.backend_service, &rule.target) {
            (Some(own), None) => {
                let service = region.backend_services.iter().find(|service| service.name == own.name());
                rule.check_service(service.unwrap()).unwrap();
            }
            (None, Some(own)) => {
                let pool = region.target_pools.iter().find(|pool| pool.name == own.name());
                pool.unwrap().settings(&Assumptions::default()).unwrap();
                rule.check_protocol(None).unwrap();
            }
            neither => panic!("{neither:?}"),
        }
        let at = (rule.ip_address.clone(), region.protocol_of(rule), rule.taken_ports().unwrap());
        let is_taken = |other: &(Option<String>, _, _)| {
            at.0.is_some() && (&other.0, other.1) == (&at.0, at.1) && at.2.overlap(&other.2)
        };
        assert!(!taken.iter().any(is_taken), "{rule:?}");
        taken.push(at);
    }
    assert!(
        region.routes.iter().all(|route| region.next_hop(route.next_hop_ilb.as_ref().unwrap()).is_some())
    );
    for kind in [ResourceKind::TargetPool, ResourceKind::BackendService, ResourceKind::ForwardingRule] {
        let names = region.names(kind);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{kind:?}");
    }
}

proptest! {
    #[test]
    fn what_calls_leave_is_whole(calls in prop::collection::vec(
        prop_oneof![of_machines(), of_services(), of_pools(), of_rules()], 0..80,
    )) {
        let mut region = region();
        for call in calls {
            let method: Method = serde_json::from_value(call.clone()).unwrap();
            let before = region.clone();
            match region.call(&method) {
                Ok(()) => assert_whole(&region),
                Err(error) => assert!(region == before, "{call} changes nothing, for {error}"),
            }
        }
    }
}

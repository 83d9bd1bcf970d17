//! A region with everything in it, and what its methods do to it.

mod refusals;
mod sequences;

use serde_json::{Value, json};

use super::*;
use crate::compute::{ForwardingRule, Home, InstanceGroup, ProbeType, Reason, Route, ServiceBackend};

/// Calls the method called `name` with the fields `keys`.
pub(super) fn call(region: &mut Resources, name: &str, keys: Value) -> Result<(), ApiError> {
    let method: Method = serde_json::from_value(json!({ name: keys })).unwrap();
    region.call(&method)
}

/// The same, of which nothing is refused.
fn done(region: &mut Resources, name: &str, keys: Value) {
    call(region, name, keys.clone()).unwrap_or_else(|error| panic!("{name} {keys}: {error}"));
}

/// A region with resources of every kind, made by calls alone.
pub(super) fn region() -> Resources {
    let zones = ["us-central1-a", "us-central1-b", "us-central1-c"];
    let mut region = Resources {
        region: "us-central1".to_owned(),
        zones: zones.map(str::to_owned).to_vec(),
        ..Resources::default()
    };
    for (name, zone) in [("vm-1", zones[0]), ("vm-2", zones[0]), ("vm-3", zones[1]), ("vm-9", zones[2])] {
        done(&mut region, "instances.insert", json!({"name": name, "zone": zone}));
    }
    for (name, zone, instances) in [
        ("ig-a", zones[0], json!(["vm-1", "zones/us-central1-a/instances/vm-2"])),
        ("ig-b", zones[1], json!(["vm-3"])),
        ("ig-empty", zones[2], json!([])),
    ] {
        done(&mut region, "instance_groups.insert", json!({"name": name, "zone": zone}));
        let keys = json!({"instance_group": name, "instances": instances});
        done(&mut region, "instance_groups.add_instances", keys);
    }
    let managed = InstanceGroup { name: "mig".to_owned(), is_managed: true, ..InstanceGroup::default() };
    region.insert_instance_group(managed).unwrap();
    balancers(&mut region);
    region
}

fn balancers(region: &mut Resources) {
    let calls = [
        ("network_endpoint_groups.insert", json!({"name": "neg-a", "zone": "us-central1-a"})),
        (
            "network_endpoint_groups.attach_network_endpoints",
            json!({"network_endpoint_group": "neg-a", "network_endpoints": [{"instance": "vm-1"}]}),
        ),
        (
            "network_endpoint_groups.insert",
            json!({"name": "neg-port", "zone": "us-central1-a", "network_endpoint_type": "GCE_VM_IP_PORT"}),
        ),
        ("health_checks.insert", json!({"name": "http-80", "type": "HTTP", "request_path": "/healthz"})),
        ("health_checks.insert", json!({"name": "tcp-22", "type": "TCP", "port": 22})),
        ("http_health_checks.insert", json!({"name": "legacy-80"})),
        ("http_health_checks.insert", json!({"name": "legacy-81", "port": 81, "request_path": "/up"})),
        (
            "backend_services.insert",
            json!({"name": "web", "load_balancing_scheme": "INTERNAL", "health_checks": ["http-80"],
                   "backends": [{"group": "ig-a"}, {"group": "ig-b", "failover": true}]}),
        ),
        (
            "backend_services.insert",
            json!({"name": "firewalls", "load_balancing_scheme": "INTERNAL", "protocol": "UNSPECIFIED",
                   "health_checks": ["tcp-22"], "backends": [{"group": "neg-a"}]}),
        ),
        (
            "backend_services.insert",
            json!({"name": "shop", "health_checks": ["http-80"], "backends": [{"group": "instanceGroups/ig-b"}]}),
        ),
        ("target_pools.insert", json!({"name": "spare", "instances": ["vm-3"]})),
        (
            "target_pools.insert",
            json!({"name": "www", "session_affinity": "CLIENT_IP", "instances": ["vm-1", "vm-2"],
                   "health_checks": ["legacy-80"], "backup_pool": "spare", "failover_ratio": 0.5}),
        ),
        ("target_pools.insert", json!({"name": "lone"})),
        (
            "forwarding_rules.insert",
            json!({"name": "web-80", "ip_address": "10.0.0.5", "ports": [80, 443], "backend_service": "web"}),
        ),
        (
            "forwarding_rules.insert",
            json!({"name": "fw-in", "ip_address": "10.0.0.9", "ip_protocol": "TCP", "backend_service": "firewalls"}),
        ),
        (
            "forwarding_rules.insert",
            json!({"name": "www-80", "ip_address": "203.0.113.7", "port_range": "80", "target": "www"}),
        ),
        ("routes.insert", json!({"name": "out", "dest_range": "10.1.0.0/16", "next_hop_ilb": "fw-in"})),
    ];
    for (name, keys) in calls {
        done(region, name, keys);
    }
}

fn names(instances: &[Reference]) -> Vec<&str> {
    instances.iter().map(Reference::name).collect()
}

#[test]
fn reg_1_a_machine_is_in_any_number_of_groups_and_pools() {
    let mut region = region();
    done(&mut region, "target_pools.add_instance", json!({"target_pool": "lone", "instances": ["vm-1"]}));
    done(&mut region, "instance_groups.insert", json!({"name": "ig-a2", "zone": "us-central1-a"}));
    let keys = json!({"instance_group": "ig-a2", "instances": ["vm-1"]});
    done(&mut region, "instance_groups.add_instances", keys);
    let homes = |region: &Resources| {
        let groups = region.instance_groups.iter().map(|own| (own.name.clone(), own.instances.clone()));
        let negs = region.network_endpoint_groups.iter().map(|own| (own.name.clone(), own.instances.clone()));
        let pools = region.target_pools.iter().map(|own| (own.name.clone(), own.instances.clone()));
        let all = groups.chain(negs).chain(pools);
        all.filter(|(_, own)| names(own).contains(&"vm-1")).map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(homes(&region), ["ig-a", "ig-a2", "neg-a", "www", "lone"]);
    done(&mut region, "instances.delete", json!({"instance": "vm-1"}));
    assert_eq!(homes(&region), [""; 0], "who is deleted leaves all of them");
    let error = call(&mut region, "instances.delete", json!({"instance": "vm-1"})).unwrap_err();
    assert_eq!(error.reason, Some(Reason::NotFound));
}

#[test]
fn reg_1_a_check_names_port_path_and_host() {
    let mut region = region();
    let probe = |region: &Resources, index: usize| region.health_checks[index].probe().unwrap();
    let http = probe(&region, 0);
    assert_eq!((http.r#type, http.port, http.request_path.as_str()), (ProbeType::Http, 80, "/healthz"));
    assert_eq!(probe(&region, 1).port, 22);
    let legacy = region.http_health_checks[1].probe().unwrap();
    assert_eq!((legacy.port, legacy.request_path.as_str(), legacy.host.as_str()), (81, "/up", ""));
    let patch = json!({"health_check": "http-80", "port": 8080, "host": "www.example.com"});
    done(&mut region, "health_checks.patch", patch);
    let http = probe(&region, 0);
    assert_eq!(
        (http.port, http.request_path.as_str(), http.host.as_str()),
        (8080, "/healthz", "www.example.com")
    );
    done(&mut region, "health_checks.patch", json!({"health_check": "http-80", "type": "SSL"}));
    assert_eq!(probe(&region, 0).port, 443, "what HTTP was asked belongs to HTTP");
    done(&mut region, "http_health_checks.patch", json!({"http_health_check": "legacy-81", "timeout": "2s"}));
    let legacy = &region.http_health_checks[1];
    assert_eq!(legacy.timing.checking().unwrap().timeout, crate::time::SimDuration::from_secs(2));
    assert_eq!(legacy.probe().unwrap().port, 81, "what a patch leaves out stays");
}

#[test]
fn reg_2_rules_say_which_packets_they_take() {
    let mut region = region();
    let ports = |region: &Resources, name: &str| {
        region.forwarding_rules.iter().find(|rule| rule.name == name).unwrap().taken_ports().unwrap()
    };
    assert!(ports(&region, "web-80").has(Some(443)) && !ports(&region, "web-80").has(Some(81)));
    assert!(!ports(&region, "web-80").has(None), "a fragment has no port");
    assert!(ports(&region, "fw-in").has(None), "without ports it takes all");
    // One address serves two protocols, and two ports of one; all protocols stand beside TCP.
    for keys in [
        json!({"name": "fw-udp", "ip_address": "10.0.0.9", "ip_protocol": "UDP", "backend_service": "firewalls"}),
        json!({"name": "fw-l3", "ip_address": "10.0.0.9", "ip_protocol": "L3_DEFAULT", "all_ports": true,
               "backend_service": "firewalls"}),
        json!({"name": "web-81", "ip_address": "10.0.0.5", "ports": [81], "backend_service": "web"}),
        json!({"name": "www-udp", "ip_address": "203.0.113.7", "ip_protocol": "UDP", "port_range": "80", "target": "www"}),
        json!({"name": "www-8", "ip_address": "203.0.113.7", "port_range": "8000-8999", "target": "www"}),
    ] {
        done(&mut region, "forwarding_rules.insert", keys);
    }
    let scheme = |name: &str| {
        region.forwarding_rules.iter().find(|rule| rule.name == name).unwrap().load_balancing_scheme.unwrap()
    };
    assert_eq!(
        (scheme("web-81").name(), scheme("www-udp").name()),
        ("INTERNAL", "EXTERNAL"),
        "of what they point to"
    );
}

#[test]
fn res_1_a_patch_attaches_and_detaches_groups() {
    let mut region = region();
    let backends = |region: &Resources| {
        let groups = region.backend_services[0].backends.iter();
        groups.map(|own| (own.group.clone().unwrap().name().to_owned(), own.failover)).collect::<Vec<_>>()
    };
    let ig = |name: &str, failover| (name.to_owned(), failover);
    let mut patch = |keys: Value| {
        let mut keys = keys;
        keys["backend_service"] = json!("web");
        done(&mut region, "backend_services.patch", keys);
        backends(&region)
    };
    let late = patch(json!({"backends": [{"group": "ig-a"}, {"group": "ig-empty"}]}));
    assert_eq!(late, [ig("ig-a", None), ig("ig-empty", None)], "the list is replaced as a whole");
    let role = patch(json!({"backends": [{"group": "ig-a", "failover": true}, {"group": "ig-empty"}]}));
    assert_eq!(role[0], ig("ig-a", Some(true)));
    assert_eq!(patch(json!({"failover_policy": {"failover_ratio": 0.5}})), role, "the others stay");
    assert_eq!(patch(json!({"backends": []})), []);
    let service = &region.backend_services[0];
    assert_eq!(service.failover_policy.as_ref().unwrap().failover_ratio, Some(Ratio::new(0.5).unwrap()));
    assert_eq!(names(&service.health_checks), ["http-80"]);
    done(&mut region, "instance_groups.delete", json!({"instance_group": "ig-empty"}));
}

#[test]
fn res_1_a_stale_fingerprint_is_refused() {
    let mut region = region();
    let fingerprint =
        |text: &str| json!({"backend_service": "web", "fingerprint": text, "session_affinity": "CLIENT_IP"});
    region.backend_services[0].other.insert("fingerprint".to_owned(), "abcdef0123A=".into());
    let error = call(&mut region, "backend_services.patch", fingerprint("old=")).unwrap_err();
    assert_eq!(error.reason.unwrap().answer(), (412, "conditionNotMet"));
    assert_eq!(region.backend_services[0].session_affinity, None);
    done(&mut region, "backend_services.patch", fingerprint("abcdef0123A="));
    assert_eq!(region.backend_services[0].session_affinity, Some(SessionAffinity::ClientIp));
}

#[test]
fn tpf_7_a_pool_is_deleted_after_the_rules_and_pools_that_use_it() {
    let mut region = region();
    let delete = |region: &mut Resources, name: &str| {
        call(region, "target_pools.delete", json!({"target_pool": name}))
    };
    let by_rule = delete(&mut region, "www").unwrap_err().what;
    assert!(
        by_rule.ends_with(
            "is already being used by 'projects/PROJECT/regions/us-central1/forwardingRules/www-80'"
        )
    );
    let by_pool = delete(&mut region, "spare").unwrap_err().what;
    assert!(
        by_pool.ends_with("is already being used by 'projects/PROJECT/regions/us-central1/targetPools/www'")
    );
    done(&mut region, "target_pools.set_backup", json!({"target_pool": "www"}));
    delete(&mut region, "spare").unwrap();
    done(&mut region, "forwarding_rules.delete", json!({"forwarding_rule": "www-80"}));
    delete(&mut region, "www").unwrap();
    assert_eq!(region.names(ResourceKind::TargetPool), ["lone"]);
}

#[test]
fn mth_instances_leave_come_back_and_move_between_pools() {
    let mut region = region();
    let members = |region: &Resources, pool: usize| {
        names(&region.target_pools[pool].instances).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let both = json!({"target_pool": "spare", "instances": ["vm-1", "zones/us-central1-b/instances/vm-3"]});
    done(&mut region, "target_pools.add_instance", both.clone());
    assert_eq!(members(&region, 0), ["vm-3", "vm-1"], "who is there stays as it is (O17)");
    done(&mut region, "target_pools.remove_instance", json!({"target_pool": "www", "instances": ["vm-1"]}));
    assert_eq!(members(&region, 1), ["vm-2"]);
    done(&mut region, "target_pools.remove_instance", both);
    assert_eq!(members(&region, 0), [""; 0]);
    done(&mut region, "target_pools.add_instance", json!({"target_pool": "www", "instances": ["vm-1"]}));
    assert_eq!(members(&region, 1), ["vm-2", "vm-1"]);
}

#[test]
fn tpa_3_and_tpf_6_a_pool_has_one_check_and_one_backup() {
    let mut region = region();
    let checks = json!({"target_pool": "www", "health_checks": ["global/httpHealthChecks/legacy-80"]});
    done(&mut region, "target_pools.remove_health_check", checks.clone());
    assert_eq!(region.target_pools[1].health_checks, []);
    let again = call(&mut region, "target_pools.remove_health_check", checks).unwrap_err();
    assert_eq!(again.what, "target pool \"www\" does not have this health check");
    let other = json!({"target_pool": "www", "health_checks": ["legacy-81"]});
    done(&mut region, "target_pools.add_health_check", other);
    let backup =
        json!({"target_pool": "www", "target": "regions/us-central1/targetPools/lone", "failover_ratio": 1});
    done(&mut region, "target_pools.set_backup", backup);
    let pool = &region.target_pools[1];
    assert_eq!(pool.backup_pool.as_ref().map(Reference::name), Some("lone"));
    assert_eq!(pool.failover_ratio, Some(Ratio::ONE));
    // Without a ratio there is no backup (TPF-1).
    done(&mut region, "target_pools.set_backup", json!({"target_pool": "www", "target": "lone"}));
    assert_eq!((&region.target_pools[1].backup_pool, region.target_pools[1].failover_ratio), (&None, None));
}

#[test]
fn tpa_1_a_pool_keeps_its_session_affinity() {
    let mut region = region();
    let other = json!({"target_pool": "www", "session_affinity": "CLIENT_IP_PROTO"});
    let error = call(&mut region, "target_pools.patch", other).unwrap_err();
    assert_eq!(error.reason, Some(Reason::NotFound), "the API has no such method (MTH-3)");
    assert_eq!(region.target_pools[1].session_affinity, Some(SessionAffinity::ClientIp));
    // What the remedy says works.
    let keys = json!({"name": "www-2", "session_affinity": "CLIENT_IP_PROTO", "instances": ["vm-1", "vm-2"]});
    done(&mut region, "target_pools.insert", keys);
    let keys = json!({"forwarding_rule": "www-80", "target": "www-2"});
    done(&mut region, "forwarding_rules.set_target", keys);
}

#[test]
fn a_rule_is_pointed_from_a_pool_to_a_service_and_back() {
    let mut region = region();
    let rule = |region: &Resources| {
        let rule = region.forwarding_rules.iter().find(|rule| rule.name == "www-80").unwrap();
        let name = |reference: &Option<Reference>| reference.as_ref().map(|own| own.name().to_owned());
        (name(&rule.target), name(&rule.backend_service))
    };
    let set = |region: &mut Resources, target: &str| {
        call(region, "forwarding_rules.set_target", json!({"forwarding_rule": "www-80", "target": target}))
    };
    set(&mut region, "shop").unwrap();
    assert_eq!(rule(&region), (None, Some("shop".to_owned())));
    set(&mut region, "targetPools/lone").unwrap();
    assert_eq!(rule(&region), (Some("lone".to_owned()), None));
    // The pool that it left can go, the one that it points to can't.
    let delete = |region: &mut Resources, name: &str| {
        call(region, "target_pools.delete", json!({"target_pool": name}))
    };
    delete(&mut region, "www").unwrap();
    assert_eq!(delete(&mut region, "lone").unwrap_err().reason, Some(Reason::InUse));
}

#[test]
fn nhop_2_a_next_hop_is_kept_while_a_route_uses_it() {
    let mut region = region();
    let delete =
        |region: &mut Resources| call(region, "forwarding_rules.delete", json!({"forwarding_rule": "fw-in"}));
    let in_use = delete(&mut region).unwrap_err();
    assert_eq!(in_use.reason.unwrap().answer(), (400, "resourceInUseByAnotherResource"));
    assert!(
        in_use.what.ends_with("is already being used by 'projects/PROJECT/global/routes/out'"),
        "{in_use}"
    );
    let keys = json!({"name": "by-policy", "next_hop_ilb_ip": "10.0.0.9", "filter": {"ip_protocol": "TCP"}});
    done(&mut region, "policy_based_routes.insert", keys);
    done(&mut region, "routes.delete", json!({"route": "out"}));
    let in_use = delete(&mut region).unwrap_err();
    assert!(in_use.what.ends_with("policyBasedRoutes/by-policy'"), "its address names it too: {in_use}");
    done(&mut region, "policy_based_routes.delete", json!({"policy_based_route": "by-policy"}));
    delete(&mut region).unwrap();
}

#[test]
fn nhop_2_some_next_hops_drop_everything_and_are_accepted() {
    let mut region = region();
    assert_eq!(region.drops_as_next_hop("fw-in"), None);
    let all = json!({"name": "fw-all", "ip_protocol": "L3_DEFAULT", "backend_service": "firewalls"});
    done(&mut region, "forwarding_rules.insert", all);
    let keys = json!({"name": "all", "dest_range": "0.0.0.0/0", "next_hop_ilb": "fw-all", "priority": 900});
    done(&mut region, "routes.insert", keys);
    assert_eq!(region.drops_as_next_hop("fw-all"), Some(NextHopDrop::L3Default));
    let shared = json!({"name": "fw-udp", "ip_address": "10.0.0.9", "ip_protocol": "UDP", "backend_service": "firewalls"});
    done(&mut region, "forwarding_rules.insert", shared);
    assert_eq!(region.drops_as_next_hop("fw-in"), Some(NextHopDrop::SharedAddress));
    assert_eq!(region.next_hop(&Reference::new("fw-all")).map(|rule| rule.name.as_str()), Some("fw-all"));
}

#[test]
fn nhop_2_one_of_equal_routes_is_taken() {
    let mut region = region();
    for (name, range, priority) in [
        ("wide", "10.0.0.0/8", Some(0)),
        ("again", "10.1.0.0/16", None),
        ("urgent", "10.2.0.0/16", Some(900)),
        ("usual", "10.2.0.0/16", None),
    ] {
        let keys = json!({"name": name, "dest_range": range, "next_hop_ilb": "fw-in", "priority": priority});
        done(&mut region, "routes.insert", keys);
    }
    let route = |range: &str| region.route_to(range).map(|route| route.name.as_str());
    assert_eq!(route("10.1.0.0/16"), Some("again"), "of `out` and `again` the first by name, always");
    assert_eq!(route("10.1.7.0/24"), Some("again"), "it holds this one");
    assert_eq!(route("10.2.0.0/16"), Some("urgent"), "the lowest priority of the most specific");
    assert_eq!(route("10.3.0.0/16"), Some("wide"));
    assert_eq!((route("10.0.0.0/7"), route("192.168.0.0/16"), route("any")), (None, None, None));
}

#[test]
fn calls_are_read_strictly() {
    for (name, keys, says) in [
        ("target_pools.add_instances", json!({}), "unknown variant `target_pools.add_instances`"),
        ("target_pools.delete", json!({"pool": "www"}), "unknown field `pool`, expected `target_pool`"),
        (
            "backend_services.patch",
            json!({"backend_service": "web", "protokol": "TCP"}),
            "unknown field `protokol`",
        ),
        ("backend_services.patch", json!({"session_affinity": "NONE"}), "missing field `backend_service`"),
        (
            "target_pools.insert",
            json!({"name": "x", "session_affinity": "HTTP_COOKIE"}),
            "belongs to application load balancers",
        ),
        (
            "target_pools.set_backup",
            json!({"target_pool": "www", "failover_ratio": 1.5}),
            "1.5 is not a ratio",
        ),
    ] {
        let error = serde_json::from_value::<Method>(json!({ name: keys })).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}

#[test]
fn what_today_s_callers_add_needs_no_instance() {
    let mut region = region();
    region.add_instances(&Home::Group("ig-b".to_owned()), [Reference::new("ig-b-7")]).unwrap();
    let url = region.path(ResourceKind::Instance, "ig-b-7");
    assert_eq!(url, "projects/PROJECT/zones/us-central1-b/instances/ig-b-7", "it is where its group is");
    assert_eq!(
        region.group_members(&Reference::new("networkEndpointGroups/neg-a")).map(names),
        Some(vec!["vm-1"])
    );
    assert_eq!(region.group_members(&Reference::new("networkEndpointGroups/ig-a")), None);
    let defaults = (ServiceBackend::default(), ForwardingRule::default(), Route::default());
    assert_eq!((defaults.0.failover, defaults.1.ports.len(), defaults.2.priority), (None, 0, None));
}

//! Resources as real clients write them: read, written, read again, and refused with the API's reasons.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::ids::{BackendId, BalancerId, Id};
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::BackendServicePolicy;
use crate::lb::ratio::Ratio;
use crate::lb::zonal_affinity::ZonalAffinity;

/// Reads `value`, which is as it is written here, writes it, and reads that.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *value, "no field is lost, none is added");
    let again: T = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(again, read);
    read
}

fn service() -> Value {
    json!({
        "kind": "compute#backendService", "id": "1000000000000000133", "name": "be-ilb",
        "creationTimestamp": "2026-11-30T21:04:44.000-07:00", "fingerprint": "abcdef0123A=",
        "region": "https://www.googleapis.com/compute/v1/projects/p/regions/us-west1",
        "loadBalancingScheme": "INTERNAL", "protocol": "TCP", "timeoutSec": 30,
        "backends": [
            {"group": "projects/p/zones/us-west1-a/instanceGroups/ig-a", "balancingMode": "CONNECTION", "failover": false},
            {"group": "https://compute.googleapis.com/compute/v1/projects/p/zones/us-west1-c/networkEndpointGroups/neg-c",
             "balancingMode": "CONNECTION", "capacityScaler": 1.0, "failover": true, "description": "spare"},
        ],
        "healthChecks": ["projects/p/regions/us-west1/healthChecks/hc"],
        "sessionAffinity": "CLIENT_IP",
        "localityLbPolicy": "WEIGHTED_GCP_RENDEZVOUS",
        "connectionTrackingPolicy": {
            "trackingMode": "PER_SESSION", "idleTimeoutSec": 1200,
            "connectionPersistenceOnUnhealthyBackends": "NEVER_PERSIST", "enableStrongAffinity": false,
        },
        "failoverPolicy": {
            "failoverRatio": 0.1, "dropTrafficIfUnhealthy": true, "disableConnectionDrainOnFailover": false,
        },
        "connectionDraining": {"drainingTimeoutSec": 300},
        "networkPassThroughLbTrafficPolicy": {
            "zonalAffinity": {"spillover": "ZONAL_AFFINITY_SPILL_CROSS_ZONE", "spilloverRatio": 0.8},
        },
        "subsetting": {"policy": "NONE"},
        "usedBy": [{"reference": "projects/p/regions/us-west1/forwardingRules/fr"}],
    })
}

/// The service with the value at `pointer` replaced.
fn changed(pointer: &str, value: Value) -> BackendService {
    let mut json = service();
    *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
    serde_json::from_value(json).unwrap()
}

fn policy(settings: &Settings) -> &BackendServicePolicy {
    let AnyPolicy::BackendService(policy) = &settings.policy else { panic!("{:?}", settings.policy) };
    policy
}

fn refusal(service: &BackendService) -> ApiError {
    service.settings(&ForwardingRule::default(), &Assumptions::default()).unwrap_err()
}

#[test]
fn res_1_a_backend_service_survives() {
    let service: BackendService = round_trip(&service());
    assert_eq!(service.other["usedBy"][0]["reference"], "projects/p/regions/us-west1/forwardingRules/fr");
    assert_eq!(service.backends[0].group.as_ref().unwrap().zone(), Some("us-west1-a"));
    assert_eq!(
        service.backends.iter().map(ServiceBackend::role).collect::<Vec<_>>(),
        [Role::Primary, Role::Failover]
    );
    let settings = service.settings(&ForwardingRule::default(), &Assumptions::default()).unwrap();
    let ratio = Ratio::new(0.8).unwrap();
    let policy = policy(&settings);
    assert_eq!(policy.zonal_affinity, ZonalAffinity::SpillCrossZone(ratio));
    assert_eq!(settings.session_affinity, SessionAffinity::ClientIp);
    assert_eq!(settings.draining_timeout, SimDuration::from_secs(300));
    assert_eq!(settings.tracking.idle_timeout, SimDuration::from_secs(1200));
    assert!(settings.weighted && !policy.allow_global_access);
}

#[test]
fn zon_1_without_a_ratio_spilling_has_a_ratio_of_zero() {
    let affinity = |traffic: Value| {
        let service = changed("/networkPassThroughLbTrafficPolicy", traffic);
        let settings = service.settings(&ForwardingRule::default(), &Assumptions::default()).unwrap();
        policy(&settings).zonal_affinity
    };
    let spilling = json!({"zonalAffinity": {"spillover": "ZONAL_AFFINITY_SPILL_CROSS_ZONE"}});
    assert_eq!(affinity(spilling), ZonalAffinity::SpillCrossZone(Ratio::ZERO));
    assert_eq!(affinity(Value::Null), ZonalAffinity::Disabled);
}

#[test]
fn res_2_to_res_7_the_other_resources_survive() {
    let pool: TargetPool = round_trip(&json!({
        "kind": "compute#targetPool", "name": "www", "region": "regions/us-west1", "sessionAffinity": "CLIENT_IP_PROTO",
        "failoverRatio": 0.5, "backupPool": "projects/p/regions/us-west1/targetPools/spare",
        "healthChecks": ["projects/p/global/httpHealthChecks/hc-1"],
        "instances": ["projects/p/zones/us-west1-a/instances/vm-1", "us-west1-b/vm-2"],
    }));
    assert_eq!(pool.instances.iter().map(Reference::name).collect::<Vec<_>>(), ["vm-1", "vm-2"]);
    let check: HealthCheck = round_trip(&json!({
        "kind": "compute#healthCheck", "name": "rhc", "type": "TCP", "checkIntervalSec": 8, "timeoutSec": 1,
        "healthyThreshold": 1, "unhealthyThreshold": 3,
        "tcpHealthCheck": {"port": 80, "portSpecification": "USE_FIXED_PORT", "proxyHeader": "NONE"},
    }));
    let checking = check.timing.checking().unwrap();
    assert_eq!(checking.check_interval, SimDuration::from_secs(8));
    assert_eq!((checking.thresholds.healthy, checking.thresholds.unhealthy), (1, 3));
    assert_eq!(check.probe().unwrap().port, 80);
    let legacy: HttpHealthCheck =
        round_trip(&json!({"name": "hc-1", "port": 80, "requestPath": "/", "timeoutSec": 5}));
    assert_eq!(legacy.timing.checking(), ProbeTiming::default().checking());
    let rule: ForwardingRule = round_trip(&json!({
        "name": "fr", "backendService": "projects/p/regions/us-west1/backendServices/ilb",
        "loadBalancingScheme": "INTERNAL", "allPorts": true, "IPProtocol": "TCP", "allowGlobalAccess": true,
    }));
    assert_eq!(rule.backend_service.unwrap().name(), "ilb");
    assert_eq!((rule.ip_protocol, rule.allow_global_access), (Some(RuleProtocol::Tcp), Some(true)));
    let to_pool: ForwardingRule = round_trip(&json!({
        "loadBalancingScheme": "EXTERNAL", "name": "fr-ext", "portRange": "80", "target": "…/targetPools/pool",
    }));
    assert_eq!(to_pool.target.unwrap().name(), "pool");
    let route: Route = round_trip(&json!({
        "name": "fw", "destRange": "10.1.0.0/16", "priority": 1000, "nextHopIlb": "regions/r/forwardingRules/fw-in",
    }));
    assert_eq!(route.next_hop_ilb.unwrap().name(), "fw-in");
    let zone = "https://www.googleapis.com/compute/v1/projects/p/zones/us-west1-a";
    let instance: Instance = round_trip(&json!({"name": "vm-1", "zone": zone, "status": "RUNNING"}));
    assert_eq!(instance.zone.unwrap().name(), "us-west1-a");
    let group: InstanceGroup =
        round_trip(&json!({"name": "ig-a", "zone": zone, "namedPorts": [{"name": "http", "port": 80}]}));
    assert_eq!(group.other["namedPorts"][0]["port"], 80);
    let neg: NetworkEndpointGroup =
        round_trip(&json!({"name": "neg-c", "zone": zone, "networkEndpointType": "GCE_VM_IP", "size": 2}));
    assert_eq!(neg.network_endpoint_type.as_deref(), Some("GCE_VM_IP"));
}

#[test]
fn numbers_may_stand_in_quotes_and_nothing_for_a_default() {
    let quoted = changed("/failoverPolicy/failoverRatio", json!("0.1"));
    assert_eq!(quoted, serde_json::from_value(service()).unwrap(), "the same double (ELIG-11)");
    let patched = changed("/connectionDraining/drainingTimeoutSec", json!("300"));
    assert_eq!(patched, serde_json::from_value(service()).unwrap());
    let null = changed("/sessionAffinity", Value::Null);
    assert_eq!(null.session_affinity, None);
    assert!(
        changed("/failoverPolicy/failoverRatio", json!(0))
            .failover_policy
            .unwrap()
            .failover_ratio
            .unwrap()
            .is_zero()
    );
    for (pointer, value, says) in [
        ("/failoverPolicy/failoverRatio", json!("half"), "\"half\" is not a number"),
        ("/failoverPolicy/failoverRatio", json!(1.5), "1.5 is not a ratio"),
        ("/connectionDraining/drainingTimeoutSec", json!(-1), "-1 is not a number of seconds"),
        ("/sessionAffinity", json!("HTTP_COOKIE"), "belongs to application load balancers"),
        ("/loadBalancingScheme", json!("INTERNAL_MANAGED"), "unknown variant `INTERNAL_MANAGED`"),
    ] {
        let mut json = service();
        *json.pointer_mut(pointer).unwrap() = value;
        let error = serde_json::from_value::<BackendService>(json).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn refusals_name_fields_and_reasons() {
    for (pointer, value, field, what) in [
        (
            "/subsetting/policy",
            json!("CONSISTENT_HASH_SUBSETTING"),
            "subsetting.policy",
            "zonal affinity can't be",
        ),
        ("/localityLbPolicy", json!("MAGLEV"), "localityLbPolicy", "belongs to external"),
        (
            "/connectionTrackingPolicy/idleTimeoutSec",
            json!(599),
            "connectionTrackingPolicy.idleTimeoutSec",
            "out of range",
        ),
        (
            "/connectionDraining/drainingTimeoutSec",
            json!(1.5),
            "connectionDraining.drainingTimeoutSec",
            "1.5s is out of",
        ),
        ("/usedBy", json!([]), "", ""),
    ] {
        let service = changed(pointer, value);
        if field.is_empty() {
            service.settings(&ForwardingRule::default(), &Assumptions::default()).unwrap();
            continue;
        }
        let error = refusal(&service);
        assert_eq!(error.fields[0], field);
        assert!(error.what.contains(what), "{error}");
        let reason = error.reason.unwrap();
        assert_eq!((reason, reason.answer()), (Reason::Invalid, (400, "invalid")));
    }
    let ha = BackendService { ha_policy: Some(json!({})), ..changed("/usedBy", json!([])) };
    assert_eq!(refusal(&ha).to_string(), "haPolicy can't be combined with zonal affinity");
    let alone = BackendService { ha_policy: Some(json!({})), ..BackendService::default() };
    assert_eq!(refusal(&alone).reason, None, "that it is not simulated is no refusal of the API");
    let backend =
        ServiceBackend { balancing_mode: Some(BalancingMode::Utilization), ..ServiceBackend::default() };
    let error = backend.check().unwrap_err();
    assert_eq!(error.to_string(), "balancingMode does not belong to a passthrough load balancer");
}

/// A service with the groups ig-a (two members) and ig-b (one), and a third machine that is in no group yet.
fn plane() -> ControlPlane {
    let group = |name: &str, members: &[&str]| InstanceGroup {
        name: name.to_owned(),
        instances: members.iter().map(|name| Reference::new(format!("us-west1-a/{name}"))).collect(),
        ..InstanceGroup::default()
    };
    let backend =
        |group: &str| ServiceBackend { group: Some(Reference::new(group)), ..ServiceBackend::default() };
    let service = BackendService {
        backends: vec![backend("zones/us-west1-a/instanceGroups/ig-a"), backend("ig-b")],
        ..changed("/usedBy", json!([]))
    };
    let backend_service = Some(Reference::new("regions/us-west1/backendServices/be-ilb"));
    let resources = Resources {
        region: "us-west1".to_owned(),
        instance_groups: vec![group("ig-a", &["vm-1", "vm-2"]), group("ig-b", &["vm-4"])],
        backend_services: vec![service],
        forwarding_rules: vec![ForwardingRule {
            name: "fr".to_owned(),
            backend_service,
            ..ForwardingRule::default()
        }],
        ..Resources::default()
    };
    let machine = |(name, home): (&str, &str)| PlannedInstance {
        name: name.to_owned(),
        home: Some(Home::Group(home.to_owned())),
    };
    let machines = [("vm-1", "ig-a"), ("vm-2", "ig-a"), ("vm-3", "ig-a"), ("vm-4", "ig-b")];
    let machines = machines.map(machine).into_iter().collect();
    ControlPlane { machines, ..ControlPlane::of_one(resources, "fr".to_owned(), Assumptions::default()) }
}

#[test]
fn calls_tell_the_load_balancer_what_changes() {
    let mut plane = plane();
    let vm = |number: usize| BackendId::from_index(number - 1);
    let group = Home::Group("ig-a".to_owned());
    let added = plane.call(|resources| resources.add_instances(&group, [Reference::new("us-west1-b/vm-3")]));
    assert_eq!(RegionChange::of_only(added.unwrap()), [Change::Add(vm(3))]);
    let removed = plane.call(|resources| resources.remove_instances(&group, &["vm-1".to_owned()]));
    assert_eq!(RegionChange::of_only(removed.unwrap()), [Change::Remove(vm(1))]);
    let before = plane.clone();
    let again =
        plane.call(|resources| resources.remove_instances(&group, &["vm-2".to_owned(), "vm-1".to_owned()]));
    assert_eq!(again.unwrap_err().what, "\"vm-1\" is not one of the instances");
    assert_eq!(plane, before, "what is refused changes nothing");
    let failover = plane.call(|resources| resources.set_failover("be-ilb", "ig-b", true));
    assert_eq!(RegionChange::of_only(failover.unwrap()), [Change::SetRole(vm(4), Role::Failover)]);
    let unknown = plane.call(|resources| resources.set_failover("be-ilb", "ig-c", true)).unwrap_err();
    assert_eq!(
        (unknown.reason, unknown.what.as_str()),
        (Some(Reason::NotFound), "there is no group \"ig-c\"")
    );
    assert_eq!(plane.backends(), [2, 3, 4].map(vm).into_iter().collect());
}

#[test]
fn a_patch_changes_what_it_names() {
    let mut plane = plane();
    let old = plane.settings(BalancerId::from_index(0)).unwrap().unwrap();
    let mut patch = |json: Value| {
        let change: BackendService = serde_json::from_value(json).unwrap();
        let changes = plane.call(|resources| resources.patch_backend_service("be-ilb", &change));
        changes.map(RegionChange::of_only)
    };
    let spill = |spillover: &str| json!({"networkPassThroughLbTrafficPolicy": {"zonalAffinity": {"spillover": spillover}}});
    let changes = patch(spill("ZONAL_AFFINITY_STAY_WITHIN_ZONE")).unwrap();
    let [Change::Configure(settings)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(policy(settings).zonal_affinity, ZonalAffinity::StayWithinZone);
    let changes = patch(spill("ZONAL_AFFINITY_SPILL_CROSS_ZONE")).unwrap();
    assert_eq!(changes, [Change::Configure(old)], "the ratio of 0.8 stayed (X10)");
    assert_eq!(patch(json!({"description": "the same"})).unwrap(), []);
    let refused = patch(json!({"sessionAffinity": "NONE"})).unwrap_err();
    assert!(refused.what.contains("needs tracking mode PER_SESSION and session affinity"), "{refused}");
    assert_eq!(refused.fields[2], "sessionAffinity");
    assert_eq!(plane.resources.backend_services[0].other["description"], "the same");
    assert_eq!(plane.resources.backend_services[0].session_affinity, Some(SessionAffinity::ClientIp));
}

//! What the API refuses, each with its reason, the place of what is wrong, the message, and what to write instead.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::{call, region};
use crate::compute::error::ApiError;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;
use crate::compute::{ForwardingRule, Remedy, Scheme, TargetPool};

/// What an error says: reason and place, such as `400 invalid backends.group[1]`, the message, and the remedy.
fn told(error: &ApiError) -> [String; 3] {
    let reason = error.reason.map_or("own".to_owned(), |reason| reason.to_string());
    let member = error.member.map_or(String::new(), |member| format!("[{member}]"));
    let help = match &error.help {
        Remedy::Words(words) => words.to_string(),
        Remedy::Choose { what, known, .. } => format!("{what}: {}", known.join(", ")),
    };
    [format!("{reason} {}{member}", error.fields[0]), error.to_string(), help]
}

fn assert_told(error: &ApiError, [place, says, help]: [&str; 3], of: &str) {
    let told = told(error);
    assert_eq!(told[0], place, "{of}: {}", told[1]);
    assert!(told[1].contains(says), "{of}: {}", told[1]);
    assert!(!help.is_empty() && told[2].contains(help), "{of}: {}", told[2]);
}

/// The rows of `text`, `what is done ¦ reason place ¦ message ¦ remedy`: what is done, and the rest.
fn read(text: &str) -> impl Iterator<Item = (&str, [&str; 3])> {
    text.lines().map(str::trim).filter(|row| !row.is_empty()).map(|row| {
        let [of, place, says, help] = row.split(" ¦ ").collect::<Vec<_>>()[..] else {
            panic!("four parts: {row}")
        };
        (of, [place, says, help])
    })
}

/// Calls the method of each row, `method {keys}`, on the region of these tests: it is refused so, and nothing changes.
fn assert_refused(rows: &str) {
    let (before, mut distinct) = (region(), BTreeSet::new());
    for (of, expected) in read(rows) {
        let (name, keys) = of.split_once(' ').unwrap();
        let keys = serde_json::from_str(keys).unwrap_or_else(|error| panic!("{keys}: {error}"));
        let mut region = before.clone();
        let error = call(&mut region, name, keys).expect_err(of);
        assert_told(&error, expected, of);
        assert!(region == before, "{of}: what is refused changes nothing");
        assert!(distinct.insert(of), "{of}: called twice");
    }
}

#[test]
fn mth_calls_of_target_pools_that_are_refused() {
    assert_refused(
        r#"
        target_pools.insert {"name": "Www"} ¦ 400 invalid name ¦ Invalid value for field 'resource.name': 'Www'. Must be a match of regex ¦ 1 to 63 lower-case letters
        target_pools.insert {"name": "www"} ¦ 409 alreadyExists name ¦ The resource 'projects/PROJECT/regions/us-central1/targetPools/www' already exists ¦ a name of its own
        target_pools.insert {"name": "p", "session_affinity": "CLIENT_IP_PORT_PROTO"} ¦ 400 invalid sessionAffinity ¦ a target pool can't have CLIENT_IP_PORT_PROTO ¦ NONE, CLIENT_IP or
        target_pools.insert {"name": "p", "failover_ratio": 0.5} ¦ 400 invalid failoverRatio ¦ failoverRatio has no backup pool beside it ¦ add backupPool
        target_pools.insert {"name": "p", "backup_pool": "spare"} ¦ 400 invalid backupPool ¦ backupPool has no failover ratio beside it ¦ add failoverRatio
        target_pools.insert {"name": "p", "backup_pool": "spar", "failover_ratio": 0} ¦ 404 notFound backupPool ¦ there is no target pool "spar" ¦ target pools: spare, www, lone
        target_pools.insert {"name": "p", "failover_ratio": 0, "backup_pool": "projects/p/regions/europe-west1/targetPools/spare"} ¦ 400 invalid backupPool ¦ It must be in the region 'us-central1' ¦ name one of this region
        target_pools.insert {"name": "p", "health_checks": ["legacy-80", "legacy-81"]} ¦ 400 invalid healthChecks[1] ¦ target pool "p" has a health check already ¦ at most one health check
        target_pools.insert {"name": "p", "health_checks": ["http-80"]} ¦ 404 notFound healthChecks[0] ¦ global/httpHealthChecks/http-80' was not found: target pools take legacy ¦ name one that exists
        target_pools.insert {"name": "p", "instances": ["vm-1", "vm-4"]} ¦ 404 notFound instances[1] ¦ The resource 'projects/PROJECT/zones/ZONE/instances/vm-4' was not found ¦ instances: vm-1, vm-2
        target_pools.insert {"name": "p", "instances": ["zones/europe-west1-b/instances/vm-1"]} ¦ 400 invalid instances[0] ¦ Instances must be in the region 'us-central1' ¦ name one of this region
        target_pools.delete {"target_pool": "ww"} ¦ 404 notFound targetPool ¦ targetPools/ww' was not found ¦ target pools: spare, www, lone
        target_pools.delete {"target_pool": "www"} ¦ 400 resourceInUseByAnotherResource targetPool ¦ The target_pool resource 'projects/PROJECT/regions/us-central1/targetPools/www' is already being used by ¦ neither the forwarding rule nor another pool
        target_pools.delete {"target_pool": "spare"} ¦ 400 resourceInUseByAnotherResource targetPool ¦ targetPools/spare' is already being used by ¦ neither the forwarding rule nor another pool
        target_pools.patch {"target_pool": "www", "session_affinity": "NONE"} ¦ 404 notFound sessionAffinity ¦ keeps the session affinity that it was created with ¦ forwarding_rules.set_target
        target_pools.add_instance {"target_pool": "www2", "instances": ["vm-1"]} ¦ 404 notFound targetPool ¦ targetPools/www2' was not found ¦ target pools: spare, www, lone
        target_pools.add_instance {"target_pool": "www", "instances": ["vm-3", "vm-33"]} ¦ 404 notFound instances[1] ¦ instances/vm-33' was not found ¦ instances: vm-1, vm-2
        target_pools.add_instance {"target_pool": "www", "instances": ["zones/us-central1-b/instances/vm-1"]} ¦ 404 notFound instances[0] ¦ zones/us-central1-b/instances/vm-1' was not found ¦ write projects/PROJECT/zones/us-central1-a/instances/vm-1
        target_pools.remove_instance {"target_pool": "www", "instances": ["vm-1", "vm-3"]} ¦ 400 invalid instances ¦ "vm-3" is not one of the instances ¦ name instances that are there
        target_pools.add_health_check {"target_pool": "www", "health_checks": ["legacy-81"]} ¦ 400 invalid healthChecks[0] ¦ target pool "www" has a health check already ¦ at most one
        target_pools.add_health_check {"target_pool": "lone", "health_checks": ["tcp-22"]} ¦ 404 notFound healthChecks[0] ¦ httpHealthChecks/tcp-22' was not found ¦ name one that exists
        target_pools.add_health_check {"target_pool": "lone", "health_checks": []} ¦ 400 required healthChecks ¦ Required field 'resource.healthChecks' not specified ¦ name a legacy HTTP
        target_pools.remove_health_check {"target_pool": "lone", "health_checks": ["legacy-80"]} ¦ 400 invalid healthChecks ¦ target pool "lone" does not have this health check ¦ name the one that it has
        target_pools.set_backup {"target_pool": "www", "target": "www", "failover_ratio": 0.5} ¦ 400 invalid backupPool ¦ a pool can't be its own backup ¦ name another pool
        target_pools.set_backup {"target_pool": "www", "target": "lon", "failover_ratio": 0.5} ¦ 404 notFound backupPool ¦ there is no target pool "lon" ¦ target pools: spare, www, lone
        target_pools.set_backup {"target_pool": "lone", "target": "regions/asia-east1/targetPools/www", "failover_ratio": 0.5} ¦ 400 invalid backupPool ¦ 'regions/asia-east1/targetPools/www'. It must be in the region ¦ name one of this region
        "#,
    );
}

#[test]
fn res_1_calls_of_backend_services_that_are_refused() {
    assert_refused(
        r#"
        backend_services.insert {"name": "-x", "health_checks": ["tcp-22"]} ¦ 400 invalid name ¦ '-x'. Must be a match of regex ¦ a letter first
        backend_services.insert {"name": "web", "health_checks": ["tcp-22"]} ¦ 409 alreadyExists name ¦ backendServices/web' already exists ¦ a name of its own
        backend_services.insert {"name": "x"} ¦ 400 required healthChecks ¦ Required field 'resource.healthChecks' not specified ¦ with one check
        backend_services.insert {"name": "x", "health_checks": ["tcp-22", "http-80"]} ¦ 400 invalid healthChecks[1] ¦ 'resource.healthChecks[1]': 'http-80'. A backend service has at most one ¦ keep one of them
        backend_services.insert {"name": "x", "health_checks": ["legacy-80"]} ¦ 404 notFound healthChecks ¦ regions/us-central1/healthChecks/legacy-80' was not found ¦ health checks: http-80, tcp-22
        backend_services.insert {"name": "x", "health_checks": ["projects/p/global/healthChecks/tcp-22"]} ¦ 400 invalid healthChecks[0] ¦ An EXTERNAL backend service needs a regional health check ¦ one of the region
        backend_services.insert {"name": "x", "health_checks": ["regions/asia-east1/healthChecks/tcp-22"]} ¦ 400 invalid healthChecks ¦ It must be in the region 'us-central1' ¦ name one of this region
        backend_services.patch {"backend_service": "web", "backends": [{"group": "ig-a", "balancing_mode": "UTILIZATION"}]} ¦ 400 invalid backends.balancingMode[0] ¦ Invalid value for field 'resource.backends[0].balancingMode': 'UTILIZATION'. Balancing mode must be CONNECTION for an INTERNAL backend service ¦ write CONNECTION
        backend_services.patch {"backend_service": "shop", "backends": [{"group": "ig-b", "balancing_mode": "RATE"}]} ¦ 400 invalid backends.balancingMode[0] ¦ 'RATE'. Balancing mode must be CONNECTION for an EXTERNAL ¦ CONNECTION
        backend_services.patch {"backend_service": "web", "backends": [{"group": "ig-a"}, {"group": "ig-b", "capacity_scaler": 1.0}]} ¦ 400 invalid backends.capacityScaler[1] ¦ 'resource.backends[1].capacityScaler': '1'. Capacity scaler must not be set ¦ leave it out
        backend_services.patch {"backend_service": "web", "backends": [{"group": "ig-a"}, {"group": "ig-z"}]} ¦ 404 notFound backends.group[1] ¦ instanceGroups/ig-z' was not found ¦ instance groups: ig-a, ig-b
        backend_services.patch {"backend_service": "web", "backends": [{"group": "networkEndpointGroups/neg-z"}]} ¦ 404 notFound backends.group[0] ¦ networkEndpointGroups/neg-z' was not found ¦ groups: neg-a, neg-port
        backend_services.patch {"backend_service": "web", "backends": [{"group": "neg-port"}]} ¦ 400 invalid backends.group[0] ¦ Only GCE_VM_IP network endpoint groups can be used by an INTERNAL ¦ of type GCE_VM_IP
        backend_services.patch {"backend_service": "web", "backends": [{"group": "regions/asia-east1/instanceGroups/ig-a"}]} ¦ 400 invalid backends.group[0] ¦ It must be in the region 'us-central1' ¦ name one of this region
        backend_services.patch {"backend_service": "web", "backends": [{"group": "ig-a"}, {"group": "us-central1-a/ig-a"}]} ¦ 400 invalid backends.group[1] ¦ A group can be there once ¦ leave one of the two out
        backend_services.patch {"backend_service": "shop", "zonal_affinity": {"spillover": "STAY_WITHIN_ZONE"}} ¦ 400 invalid networkPassThroughLbTrafficPolicy.zonalAffinity.spillover ¦ external load balancers have no zonal affinity ¦ leave it out
        backend_services.patch {"backend_service": "web", "zonal_affinity": {"spillover": "SPILL_CROSS_ZONE"}, "subsetting": {"policy": "CONSISTENT_HASH_SUBSETTING"}} ¦ 400 invalid subsetting.policy ¦ zonal affinity can't be combined with backend subsetting ¦ ZONAL_AFFINITY_DISABLED
        backend_services.patch {"backend_service": "web", "zonal_affinity": {"spillover": "SPILL_CROSS_ZONE"}, "ha_policy": {}} ¦ 400 invalid haPolicy ¦ haPolicy can't be combined with zonal affinity ¦ keep one of the two
        backend_services.patch {"backend_service": "web", "ha_policy": {}} ¦ own haPolicy ¦ haPolicy is not simulated ¦ leave it out
        backend_services.patch {"backend_service": "shop", "session_affinity": "CLIENT_IP_NO_DESTINATION"} ¦ 400 invalid sessionAffinity ¦ belongs to internal load balancers ¦ write NONE
        backend_services.patch {"backend_service": "web", "locality_lb_policy": "MAGLEV"} ¦ 400 invalid localityLbPolicy ¦ this policy belongs to external load balancers ¦ RENDEZVOUS
        backend_services.patch {"backend_service": "web", "connection_tracking_policy": {"tracking_mode": "PER_SESSION", "connection_persistence_on_unhealthy_backends": "ALWAYS_PERSIST"}} ¦ 400 invalid connectionTrackingPolicy.connectionPersistenceOnUnhealthyBackends ¦ ALWAYS_PERSIST can't be combined with tracking mode PER_SESSION ¦ DEFAULT_FOR_PROTOCOL
        backend_services.patch {"backend_service": "web", "connection_tracking_policy": {"idle_timeout": "59s"}} ¦ 400 invalid connectionTrackingPolicy.idleTimeoutSec ¦ 59s is out of range ¦ "600s" to "57600s"
        backend_services.patch {"backend_service": "web", "connection_draining": {"draining_timeout": "2h"}} ¦ 400 invalid connectionDraining.drainingTimeoutSec ¦ is out of range ¦ "0s" to "3600s"
        backend_services.patch {"backend_service": "web", "protocol": "UDP", "fingerprint": "x"} ¦ 412 conditionNotMet fingerprint ¦ Invalid fingerprint ¦ read the resource again
        backend_services.patch {"backend_service": "firewalls", "protocol": "UDP"} ¦ 400 invalid IPProtocol ¦ a backend service of protocol UDP takes no rule of protocol TCP ¦ write UDP
        backend_services.patch {"backend_service": "web", "load_balancing_scheme": "EXTERNAL"} ¦ 400 invalid backendService ¦ A rule of scheme INTERNAL can't lead to a backend service of scheme EXTERNAL ¦ the same scheme
        backend_services.patch {"backend_service": "webb", "protocol": "UDP"} ¦ 404 notFound backendService ¦ backendServices/webb' was not found ¦ backend services: web, firewalls, shop
        backend_services.delete {"backend_service": "web"} ¦ 400 resourceInUseByAnotherResource backendService ¦ The backend_service resource 'projects/PROJECT/regions/us-central1/backendServices/web' is already being used by 'projects/PROJECT/regions/us-central1/forwardingRules/web-80' ¦ none of the forwarding rules uses
        "#,
    );
}

#[test]
fn res_5_calls_of_forwarding_rules_that_are_refused() {
    assert_refused(
        r#"
        forwarding_rules.insert {"name": "r"} ¦ 400 required target ¦ Required field 'resource.target' not specified ¦ backendService
        forwarding_rules.insert {"name": "r", "target": "www", "backend_service": "web"} ¦ 400 invalid target ¦ target can't stand beside backendService ¦ keep one of the two
        forwarding_rules.insert {"name": "r", "target": "ww"} ¦ 404 notFound target ¦ targetPools/ww' was not found ¦ target pools: spare, www, lone
        forwarding_rules.insert {"name": "r", "backend_service": "webb"} ¦ 404 notFound backendService ¦ backendServices/webb' was not found ¦ backend services: web, firewalls, shop
        forwarding_rules.insert {"name": "r", "target": "web"} ¦ 400 invalid target ¦ A rule leads to a backend service by backendService ¦ write backendService = "web"
        forwarding_rules.insert {"name": "r", "target": "regions/asia-east1/targetPools/www"} ¦ 400 invalid target ¦ It must be in the region 'us-central1' ¦ name one of this region
        forwarding_rules.insert {"name": "r", "target": "www", "load_balancing_scheme": "INTERNAL"} ¦ 400 invalid target ¦ An INTERNAL forwarding rule needs a backend service ¦ write EXTERNAL
        forwarding_rules.insert {"name": "r", "backend_service": "web", "load_balancing_scheme": "EXTERNAL"} ¦ 400 invalid backendService ¦ A rule of scheme EXTERNAL can't lead to a backend service of scheme INTERNAL ¦ the same scheme
        forwarding_rules.insert {"name": "r", "target": "www", "ip_protocol": "L3_DEFAULT"} ¦ 400 invalid IPProtocol ¦ target pools take no rules of protocol L3_DEFAULT ¦ write TCP or UDP
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ip_protocol": "L3_DEFAULT"} ¦ 400 invalid IPProtocol ¦ of protocol TCP takes no rule of protocol L3_DEFAULT ¦ UNSPECIFIED
        forwarding_rules.insert {"name": "r", "backend_service": "firewalls", "ip_protocol": "L3_DEFAULT", "ports": [80]} ¦ 400 invalid IPProtocol ¦ A rule of protocol L3_DEFAULT takes all ports ¦ allPorts = true
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ports": [80], "all_ports": true} ¦ 400 invalid ports ¦ ports can't stand beside allPorts ¦ keep one of the two
        forwarding_rules.insert {"name": "r", "target": "www", "ports": [80], "port_range": "80"} ¦ 400 invalid ports ¦ ports can't stand beside portRange ¦ keep one of the two
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ports": [1, 2, 3, 4, 5, 6]} ¦ 400 invalid ports ¦ names 6 ports, and a rule has at most 5 ¦ allPorts = true
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ports": [80, 70000]} ¦ 400 invalid ports[1] ¦ 'resource.ports[1]': '70000'. Must be a port ¦ 1 to 65535
        forwarding_rules.insert {"name": "r", "target": "www", "port_range": "81-80"} ¦ 400 invalid portRange ¦ '81-80'. Must be a port, or two ¦ the lower one first
        forwarding_rules.insert {"name": "r", "backend_service": "web", "port_range": "80-81"} ¦ 400 invalid portRange ¦ belongs to EXTERNAL forwarding rules ¦ write ports
        forwarding_rules.insert {"name": "r", "target": "www", "ports": [80, 90]} ¦ 400 invalid ports ¦ a rule of a target pool has one range ¦ a rule for each port
        forwarding_rules.insert {"name": "r", "target": "www", "allow_global_access": true} ¦ 400 invalid allowGlobalAccess ¦ Global access belongs to INTERNAL forwarding rules ¦ leave it out
        forwarding_rules.insert {"name": "r", "backend_service": "shop", "is_mirroring_collector": true} ¦ 400 invalid isMirroringCollector ¦ only internal load balancers collect mirrored packets ¦ leave it out
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ip_address": "ten"} ¦ 400 invalid IPAddress ¦ Must be an IPv4 address ¦ 10.0.0.5
        forwarding_rules.insert {"name": "r", "backend_service": "web", "ip_address": "10.0.0.5", "ports": [443, 8080]} ¦ 409 IP_IN_USE_BY_ANOTHER_RESOURCE IPAddress ¦ IP '10.0.0.5' is already being used by another resource ¦ other ports
        forwarding_rules.insert {"name": "r", "target": "lone", "ip_address": "203.0.113.7", "port_range": "1-1024"} ¦ 400 invalid IPAddress ¦ Specified IP address is in-use and would result in a conflict ¦ another address
        forwarding_rules.insert {"name": "web-80", "backend_service": "web"} ¦ 409 alreadyExists name ¦ forwardingRules/web-80' already exists ¦ a name of its own
        forwarding_rules.set_target {"forwarding_rule": "www-81", "target": "lone"} ¦ 404 notFound forwardingRule ¦ forwardingRules/www-81' was not found ¦ forwarding rules: web-80, fw-in, www-80
        forwarding_rules.set_target {"forwarding_rule": "www-80", "target": "none"} ¦ 404 notFound target ¦ targetPools/none' was not found ¦ target pools: spare, www, lone
        forwarding_rules.set_target {"forwarding_rule": "www-80", "target": "backendServices/none"} ¦ 404 notFound backendService ¦ backendServices/none' was not found ¦ backend services: web
        forwarding_rules.set_target {"forwarding_rule": "www-80", "target": "firewalls"} ¦ 400 invalid backendService ¦ 'firewalls'. A rule of scheme EXTERNAL can't lead to ¦ the same scheme
        forwarding_rules.set_target {"forwarding_rule": "web-80", "target": "lone"} ¦ 400 invalid target ¦ 'lone'. An INTERNAL forwarding rule needs a backend service ¦ backendService
        forwarding_rules.patch {"forwarding_rule": "www-80", "allow_global_access": true} ¦ 400 invalid allowGlobalAccess ¦ Global access belongs ¦ every region reaches an external one
        forwarding_rules.delete {"forwarding_rule": "fw-in"} ¦ 400 resourceInUseByAnotherResource forwardingRule ¦ The forwarding_rule resource 'projects/PROJECT/regions/us-central1/forwardingRules/fw-in' is already being used by ¦ none of the routes uses
        "#,
    );
}

#[test]
fn res_3_to_res_7_calls_of_the_other_collections_that_are_refused() {
    assert_refused(
        r#"
        health_checks.insert {"name": "c"} ¦ 400 required type ¦ Required field 'resource.type' ¦ type = "TCP"
        health_checks.insert {"name": "c", "type": "TCP", "unhealthy_threshold": 12} ¦ 400 invalid unhealthyThreshold ¦ Invalid value for field 'resource.unhealthyThreshold': '12'. Must be less than or equal to 10 ¦ from 1 to 10
        health_checks.insert {"name": "c", "type": "TCP", "timeout": "6s"} ¦ 400 invalid timeoutSec ¦ TimeoutSec should be less than checkIntervalSec ¦ at most 5s
        health_checks.insert {"name": "c", "type": "GRPC"} ¦ 400 required grpcHealthCheck.port ¦ Required field 'resource.grpcHealthCheck.port' not specified ¦ port = 50051
        health_checks.insert {"name": "c", "type": "TCP", "port": 0} ¦ 400 invalid tcpHealthCheck.port ¦ 'resource.tcpHealthCheck.port': '0'. Must be a port ¦ 1 to 65535
        health_checks.insert {"name": "c", "type": "HTTP", "request_path": "up"} ¦ 400 invalid httpHealthCheck.requestPath ¦ 'up'. Must be a path ¦ begins with /
        health_checks.patch {"health_check": "http-80", "check_interval": "301s"} ¦ 400 invalid checkIntervalSec ¦ Must be less than or equal to 300 ¦ 1s
        health_checks.delete {"health_check": "tcp-22"} ¦ 400 resourceInUseByAnotherResource healthCheck ¦ The health_check resource 'projects/PROJECT/regions/us-central1/healthChecks/tcp-22' is already being used by 'projects/PROJECT/regions/us-central1/backendServices/firewalls' ¦ none of the backend services uses
        http_health_checks.insert {"name": "legacy-80"} ¦ 409 alreadyExists name ¦ projects/PROJECT/global/httpHealthChecks/legacy-80' already exists ¦ a name of its own
        http_health_checks.insert {"name": "c", "request_path": "/up?full=1"} ¦ 400 invalid requestPath ¦ Legacy health checks take no query parameters ¦ leave out the ?
        http_health_checks.delete {"http_health_check": "legacy-80"} ¦ 400 resourceInUseByAnotherResource httpHealthCheck ¦ The http_health_check resource 'projects/PROJECT/global/httpHealthChecks/legacy-80' is already being used by 'projects/PROJECT/regions/us-central1/targetPools/www' ¦ none of the target pools uses
        instances.insert {"name": "vm-7", "zone": "us-east1"} ¦ 400 invalid zone ¦ Invalid value for field 'resource.zone': 'us-east1'. Unknown zone ¦ zones of the region: us-central1-a
        instances.insert {"name": "vm-1", "zone": "us-central1-b"} ¦ 409 alreadyExists name ¦ instances/vm-1' already exists ¦ a name of its own
        instances.delete {"instance": "vm-8"} ¦ 404 notFound instance ¦ instances/vm-8' was not found ¦ instances: vm-1
        instance_groups.insert {"name": "ig-a", "zone": "us-central1-b"} ¦ 409 alreadyExists name ¦ projects/PROJECT/zones/us-central1-a/instanceGroups/ig-a' already exists ¦ a name of its own
        instance_groups.insert {"name": "neg-a", "zone": "us-central1-b"} ¦ own name ¦ is the name of one of the network endpoint groups too ¦ give each its own name
        instance_groups.delete {"instance_group": "ig-a"} ¦ 400 resourceInUseByAnotherResource instanceGroup ¦ The instance_group resource 'projects/PROJECT/zones/us-central1-a/instanceGroups/ig-a' is already being used by 'projects/PROJECT/regions/us-central1/backendServices/web' ¦ none of the backend services uses
        instance_groups.add_instances {"instance_group": "ig-b", "instances": ["vm-9"]} ¦ 400 invalid instances[0] ¦ 'vm-9'. Instances of this group must be in the zone 'us-central1-b' ¦ instances of that zone
        instance_groups.add_instances {"instance_group": "ig-a", "instances": ["vm-2"]} ¦ 400 memberAlreadyExists instances[0] ¦ Resource 'projects/PROJECT/zones/us-central1-a/instances/vm-2' is already a member of 'projects/PROJECT/zones/us-central1-a/instanceGroups/ig-a' ¦ leave it out
        instance_groups.add_instances {"instance_group": "mig", "instances": ["vm-1"]} ¦ 400 invalid instanceGroup ¦ mig is a managed instance group ¦ not managed
        instance_groups.remove_instances {"instance_group": "ig-b", "instances": ["vm-1"]} ¦ 400 invalid instances ¦ "vm-1" is not one of the instances ¦ name instances that are there
        network_endpoint_groups.insert {"name": "n", "zone": "us-central1-a", "network_endpoint_type": "VM_IP"} ¦ 400 invalid networkEndpointType ¦ 'VM_IP'. No such type ¦ types: GCE_VM_IP
        network_endpoint_groups.attach_network_endpoints {"network_endpoint_group": "neg-a", "network_endpoints": [{"instance": "vm-2", "port": 80}]} ¦ 400 invalid networkEndpoints.port[0] ¦ Endpoints of type GCE_VM_IP have no port ¦ leave the port out
        network_endpoint_groups.attach_network_endpoints {"network_endpoint_group": "neg-a", "network_endpoints": [{"instance": "vm-3"}]} ¦ 400 invalid networkEndpoints.instance[0] ¦ 'resource.networkEndpoints[0].instance': 'vm-3'. Endpoints of this group ¦ instances of that zone
        network_endpoint_groups.attach_network_endpoints {"network_endpoint_group": "neg-port", "network_endpoints": [{"instance": "vm-1"}]} ¦ 400 invalid networkEndpointGroup ¦ the endpoints of neg-port are no instances ¦ GCE_VM_IP
        network_endpoint_groups.detach_network_endpoints {"network_endpoint_group": "neg-a", "network_endpoints": [{"instance": "vm-2"}]} ¦ 400 invalid networkEndpoints.instance[0] ¦ "vm-2" is not one of the endpoints ¦ endpoints that are there
        network_endpoint_groups.delete {"network_endpoint_group": "neg-a"} ¦ 400 resourceInUseByAnotherResource networkEndpointGroup ¦ networkEndpointGroups/neg-a' is already being used by ¦ none of the backend services uses
        routes.insert {"name": "r", "dest_range": "10.1.0.0", "next_hop_ilb": "fw-in"} ¦ 400 invalid destRange ¦ '10.1.0.0'. Must be an IPv4 range ¦ the length of its prefix
        routes.insert {"name": "r", "dest_range": "10.1.0.0/16", "next_hop_ilb": "fw-on"} ¦ 404 notFound nextHopIlb ¦ forwardingRules/fw-on' was not found ¦ forwarding rules: web-80, fw-in
        routes.insert {"name": "r", "dest_range": "10.1.0.0/16", "next_hop_ilb": "www-80"} ¦ 400 invalid nextHopIlb ¦ The next hop must be the forwarding rule of an internal passthrough ¦ scheme INTERNAL
        routes.insert {"name": "r", "dest_range": "10.1.0.0/16", "next_hop_ilb": "fw-in", "priority": 65536} ¦ 400 invalid priority ¦ Must be from 0 to 65535 ¦ 0 to 65535
        routes.insert {"name": "out", "dest_range": "10.1.0.0/16", "next_hop_ilb": "fw-in"} ¦ 409 alreadyExists name ¦ projects/PROJECT/global/routes/out' already exists ¦ a name of its own
        policy_based_routes.insert {"name": "r", "next_hop_ilb_ip": "fw-in", "filter": {"ip_protocol": "ICMP"}} ¦ 400 invalid filter.ipProtocol ¦ 'ICMP'. Must be TCP, UDP or ALL ¦ one of them
        policy_based_routes.insert {"name": "r", "next_hop_ilb_ip": "fw-in", "filter": {"src_range": "10.0.0.0/33"}} ¦ 400 invalid filter.srcRange ¦ '10.0.0.0/33'. Must be an IPv4 range ¦ length of its prefix
        "#,
    );
}

/// Inserts the resource of the collection called `name` that is written so in the API's own JSON.
fn insert(region: &mut Resources, name: &str, json: &str) -> Result<(), ApiError> {
    fn resource<T: DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    }
    match name {
        "instances" => region.insert_instance(resource(json)),
        "instanceGroups" => region.insert_instance_group(resource(json)),
        "networkEndpointGroups" => region.insert_network_endpoint_group(resource(json)),
        "healthChecks" => region.insert_health_check(resource(json)),
        "backendServices" => region.insert_backend_service(resource(json)),
        "forwardingRules" => region.insert_forwarding_rule(resource(json)),
        "routes" => region.insert_route(resource(json)),
        "policyBasedRoutes" => region.insert_policy_based_route(resource(json)),
        _ => panic!("no such collection: {name}"),
    }
}

/// What a file can't leave out or say, other clients of the API may.
#[test]
fn res_9_resources_in_the_api_s_own_json_that_are_refused() {
    let rows = r#"
        instances {} ¦ 400 required name ¦ Required field 'resource.name' not specified ¦ add name
        instances {"name": "vm-7"} ¦ 400 required zone ¦ Required field 'resource.zone' not specified ¦ zone that it runs in
        instanceGroups {"name": "g", "zone": "projects/p/zones/us-east1-b"} ¦ 400 invalid zone ¦ 'projects/p/zones/us-east1-b'. Unknown zone ¦ zones of the region
        networkEndpointGroups {"name": "n", "zone": "us-central1-a"} ¦ 400 required networkEndpointType ¦ 'resource.networkEndpointType' not specified ¦ GCE_VM_IP
        networkEndpointGroups {"name": "n", "networkEndpointType": "GCE_VM_IP"} ¦ 400 required zone ¦ 'resource.zone' not specified ¦ zone of its endpoints
        healthChecks {"name": "c", "type": "TCP", "tcpHealthCheck": {"portSpecification": "USE_SERVING_PORT"}} ¦ 400 invalid tcpHealthCheck.portSpecification ¦ 'USE_SERVING_PORT' ¦ USE_FIXED_PORT
        healthChecks {"name": "c", "type": "HTTP", "tcpHealthCheck": {"port": 80}} ¦ 400 invalid tcpHealthCheck ¦ belongs to a health check of another type ¦ change the type
        backendServices {"name": "x", "backends": [{}], "healthChecks": ["tcp-22"]} ¦ 400 required backends.group ¦ 'resource.backends.group' not specified ¦ add the group
        forwardingRules {"name": "r", "target": "www", "ports": ["80", "http"]} ¦ 400 invalid ports[1] ¦ 'resource.ports[1]': 'http'. Must be a port ¦ 1 to 65535
        routes {"name": "r"} ¦ 400 required destRange ¦ 'resource.destRange' not specified ¦ 10.1.0.0/16
        routes {"name": "r", "destRange": "10.1.0.0/16"} ¦ 400 required nextHopIlb ¦ 'resource.nextHopIlb' not specified ¦ forwarding rule
        policyBasedRoutes {"name": "r"} ¦ 400 required nextHopIlbIp ¦ 'resource.nextHopIlbIp' not specified ¦ forwarding rule
    "#;
    for (of, expected) in read(rows) {
        let mut region = region();
        let (name, json) = of.split_once(' ').unwrap();
        assert_told(&insert(&mut region, name, json).expect_err(of), expected, of);
        assert!(region == super::region(), "{of}: what is refused changes nothing");
    }
}

#[test]
fn names_that_two_kinds_share_are_told_apart() {
    let mut region = region();
    let pool = TargetPool { name: "shop".to_owned(), ..TargetPool::default() };
    region.insert_target_pool(pool).unwrap();
    let error = region.set_target("www-80", &Reference::new("shop")).unwrap_err();
    let help = "write targetPools/shop or backendServices/shop";
    assert_told(&error, ["own target", "names both a target pool and a backend service", help], "set_target");
    region.set_target("www-80", &Reference::new("backendServices/shop")).unwrap();
    let error = region.set_target("www-80", &Reference::new("")).unwrap_err();
    assert_told(&error, ["400 required target", "'resource.target'", "add the target pool"], "set_target");
    let elsewhere = ForwardingRule {
        name: "r".to_owned(),
        load_balancing_scheme: Some(Scheme::External),
        backend_service: Some(Reference::new("regions/asia-east1/backendServices/shop")),
        ..ForwardingRule::default()
    };
    let error = region.insert_forwarding_rule(elsewhere).unwrap_err();
    assert_told(&error, ["400 invalid backendService", "It must be in the region", "this region"], "insert");
}

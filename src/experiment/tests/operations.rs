//! Operations: what they change, and what the Compute API would refuse.

use super::refusals::check;
use super::{POOLS, SMALL, changed, parse, scenario, set, targets};
use crate::experiment::Overrides;
use crate::ids::{BackendId, BalancerId, Id};
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};
use crate::sim::scenario::{Membership, Operation, Scenario};
use crate::time::{SimDuration, SimTime};

/// The small experiment without arms, of two primaries in zone a and three failover backends in zone b.
fn service() -> String {
    SMALL[..SMALL.find("[[arms]]").unwrap()].to_owned()
}

/// `base` with operations: their keys, one operation after the other.
fn with(base: &str, operations: &[&str]) -> String {
    let operations = operations.iter().map(|keys| format!("[[operations]]\n{}\n", keys.replace("; ", "\n")));
    format!("{base}{}", operations.collect::<String>())
}

/// The changes of the only load balancer.
fn changes(operation: &Operation) -> Vec<&Change> {
    let of_balancer = |change: &'_ RegionChange| change.of(BalancerId::from_index(0)).is_some();
    assert!(operation.changes.iter().all(of_balancer));
    operation.changes.iter().filter_map(|change| change.of(BalancerId::from_index(0))).collect()
}

/// The changes of each operation, in words.
fn told(scenario: &Scenario) -> Vec<Vec<String>> {
    let name = |backend: BackendId| scenario.backends[backend].name.clone();
    let word = |change: &Change| match *change {
        Change::Configure(_) => "configure".to_owned(),
        Change::Add(backend) => format!("+{}", name(backend)),
        Change::Remove(backend) => format!("-{}", name(backend)),
        Change::SetRole(backend, Role::Primary) => format!("{} primary", name(backend)),
        Change::SetRole(backend, Role::Failover) => format!("{} failover", name(backend)),
        Change::SetJudge(backend, Some(_)) => format!("{} checked", name(backend)),
        Change::SetJudge(backend, None) => format!("{} unchecked", name(backend)),
    };
    let words = |operation| changes(operation).into_iter().map(word).collect();
    scenario.operations.iter().map(words).collect()
}

#[test]
fn settings_change_as_the_file_would_say_it() {
    for (operation, old, new) in [
        (
            "do = \"set_zonal_affinity\"; spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\"",
            "SPILL_CROSS_ZONE",
            "STAY_WITHIN_ZONE",
        ),
        (
            "do = \"set_zonal_affinity\"; spillover_ratio = 0.75",
            "spillover_ratio = 0.5",
            "spillover_ratio = 0.75",
        ),
        (
            "do = \"set_failover_policy\"; failover_ratio = 0.5; drop_traffic_if_unhealthy = true",
            "[backend_service]",
            "[backend_service]\nfailover_policy = { failover_ratio = 0.5, drop_traffic_if_unhealthy = true }",
        ),
        (
            "do = \"set_session_affinity\"; session_affinity = \"CLIENT_IP\"",
            "[backend_service]",
            "[backend_service]\nsession_affinity = \"CLIENT_IP\"",
        ),
        (
            "do = \"set_connection_tracking_policy\"; tracking_mode = \"PER_SESSION\"",
            "[backend_service]",
            "[backend_service]\nconnection_tracking_policy = { tracking_mode = \"PER_SESSION\" }",
        ),
    ] {
        let at = format!("at = \"5m\"; {operation}");
        let scenario_then = scenario(&with(&service(), &[&at]));
        let expected = scenario(&service().replace(old, new)).first_balancer().settings.clone();
        let [operation] = &scenario_then.operations[..] else { panic!("one operation") };
        assert_eq!(operation.at, SimTime::ZERO + SimDuration::from_secs(300));
        assert_ne!(expected, scenario_then.first_balancer().settings);
        assert_eq!(changes(operation), [&Change::Configure(expected)], "{at}");
    }
}

#[test]
fn what_a_call_leaves_out_stays() {
    let operations = [
        "at = \"1m\"; do = \"set_zonal_affinity\"; spillover = \"DISABLED\"",
        "at = \"2m\"; do = \"set_zonal_affinity\"; spillover = \"SPILL_CROSS_ZONE\"",
        "at = \"3m\"; do = \"set_zonal_affinity\"; spillover = \"SPILL_CROSS_ZONE\"",
    ];
    let scenario = scenario(&with(&service(), &operations));
    assert_eq!(told(&scenario), [vec!["configure"], vec!["configure"], vec![]]);
    assert_eq!(
        changes(&scenario.operations[1]),
        [&Change::Configure(scenario.first_balancer().settings.clone())],
        "the ratio is 0.5 again"
    );
}

#[test]
fn instances_come_and_go_in_the_order_of_time() {
    let operations = [
        "at = \"5m\"; do = \"drain\"; zone = \"us-central1-b\"",
        "at = \"2m\"; do = \"add_instances\"; group = \"ig-a\"; count = 2",
        "at = \"3m\"; do = \"remove_instances\"; backends = [\"ig-a-1\", \"ig-b-2\"]",
        "at = \"3m\"; do = \"remove_instances\"; group = \"ig-a\"; count = 1",
        "at = \"4m\"; do = \"set_backend_failover\"; group = \"ig-b\"; failover = false",
        "at = \"4m\"; do = \"set_backend_failover\"; group = \"ig-b\"; failover = false",
        "at = \"6m\"; do = \"add_instances\"; group = \"ig-b\"; count = 1",
        "at = \"7m\"; do = \"remove_instances\"; group = \"ig-a\"",
    ];
    let scenario = scenario(&with(&service(), &operations));
    assert_eq!(
        told(&scenario),
        [
            vec!["+ig-a-3", "+ig-a-4"],
            vec!["-ig-a-1", "-ig-b-2"],
            vec!["-ig-a-4"],
            vec!["ig-b-1 primary", "ig-b-2 primary", "ig-b-3 primary", "ig-b-4 primary"],
            vec![],
            vec!["-ig-b-1", "-ig-b-3"],
            vec!["+ig-b-4"],
            vec!["-ig-a-2", "-ig-a-3"],
        ]
    );
    let backends: Vec<_> = scenario
        .backends
        .pairs()
        .map(|(id, spec)| (&spec.name[..], spec.zone.index(), scenario.membership(id).configured))
        .collect();
    assert_eq!(
        backends,
        [
            ("ig-a-1", 0, true),
            ("ig-a-2", 0, true),
            ("ig-a-3", 0, false),
            ("ig-a-4", 0, false),
            ("ig-b-1", 1, true),
            ("ig-b-2", 1, true),
            ("ig-b-3", 1, true),
            ("ig-b-4", 1, false),
        ]
    );
}

#[test]
fn pools_change_their_backup_and_their_checks() {
    let operations = [
        "at = \"2m\"; do = \"remove_health_check\"",
        "at = \"3m\"; do = \"add_health_check\"; pool = \"spare\"",
        "at = \"4m\"; do = \"set_backup\"; pool = \"www\"; backup_pool = \"third\"; failover_ratio = 1.0",
        "at = \"5m\"; do = \"add_instances\"; group = \"reserve\"; count = 1",
        "at = \"5m\"; do = \"add_instances\"; group = \"idle\"; count = 1",
        "at = \"5m\"; do = \"add_health_check\"; pool = \"third\"; health_check = \"default\"",
        "at = \"6m\"; do = \"set_backup\"; pool = \"spare\"; backup_pool = \"\"",
        "at = \"6m\"; do = \"delete_target_pool\"; pool = \"spare\"",
        "at = \"7m\"; do = \"set_backup\"; pool = \"www\"; backup_pool = \"third\"",
        "at = \"8m\"; do = \"set_backup\"; pool = \"www\"",
        "at = \"9m\"; do = \"drain\"; zone = \"us-central1-a\"",
    ];
    let scenario = scenario(&with(POOLS, &operations));
    assert_eq!(
        told(&scenario),
        [
            vec!["web-1 unchecked", "web-2 unchecked", "web-3 unchecked"],
            vec!["reserve-1 checked", "reserve-2 checked", "reserve-3 checked"],
            vec!["+idle-1", "+idle-2", "configure", "-reserve-1", "-reserve-2"],
            vec![],
            vec!["+idle-3"],
            vec!["idle-1 checked", "idle-2 checked", "idle-3 checked"],
            vec![],
            vec![],
            vec!["configure", "-idle-1", "-idle-2", "-idle-3"],
            vec![],
            vec!["-web-1", "-web-2", "-web-3"],
        ]
    );
    let idle: Vec<_> = scenario.backends.pairs().filter(|(_, spec)| spec.name.starts_with("idle")).collect();
    assert_eq!(idle.len(), 3);
    let never = Membership { role: Role::Failover, configured: false, judge: None };
    assert!(idle.iter().all(|(id, _)| scenario.membership(*id) == never));
}

#[test]
fn faults_strike_what_is_there() {
    let operations = [
        "at = \"4m\"; do = \"add_instances\"; group = \"ig-a\"; count = 1",
        "at = \"6m\"; do = \"remove_instances\"; backends = [\"ig-a-1\"]",
    ];
    let struck = |at: &str, drain: &str| {
        let text = service().replace("at = \"5m\"", &format!("at = \"{at}\"")).replace(
            "[backend_service]",
            &format!("[backend_service]\nconnection_draining.draining_timeout = \"{drain}\""),
        );
        let scenario = scenario(&with(&text, &operations));
        let names = targets(&scenario, 0).iter().map(|id| scenario.backends[*id].name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(struck("4m", "0s"), ["ig-a-1", "ig-a-2"], "operations come after faults of the same time");
    assert_eq!(struck("5m", "0s"), ["ig-a-1", "ig-a-2", "ig-a-3"]);
    assert_eq!(struck("6m", "0s"), ["ig-a-1", "ig-a-2", "ig-a-3"]);
    assert_eq!(struck("7m", "0s"), ["ig-a-2", "ig-a-3"]);
    assert_eq!(struck("7m", "120s"), ["ig-a-1", "ig-a-2", "ig-a-3"], "it still drains");
    assert_eq!(struck("8m", "120s"), ["ig-a-2", "ig-a-3"]);
}

#[test]
fn arms_and_flags_name_operations_by_number() {
    let text = with(&service(), &["at = \"5m\"; do = \"add_instances\"; group = \"ig-a\"; count = 1"]);
    let text = format!("{text}[sweep]\n\"operations.0.at\" = [\"1m\", \"2m\"]\n");
    let experiment = super::parse_with(&text, &set(&[("operations.0.count", "3")])).unwrap();
    let operations: Vec<_> =
        experiment.cells().iter().map(|cell| experiment.scenario(cell).operations.clone()).collect();
    let at = |minutes: u64| SimTime::ZERO + SimDuration::from_secs(60 * minutes);
    assert_eq!([operations[0][0].at, operations[1][0].at], [at(1), at(2)]);
    assert_eq!(operations[0][0].changes.len(), 3);
    assert_eq!(parse(experiment.document()).unwrap().cells(), experiment.cells());
}

/// Checks operations that are refused, the last of each row, one a line:
/// operations ¦ the line of the operation that is marked ¦ the API's answer, or - ¦ part of the title ¦ of the remedy.
fn refused(base: &str, table: &str) {
    let base = format!("{base}# operations");
    let first = base.lines().count();
    for row in table.lines().map(str::trim_start).filter(|row| !row.is_empty()) {
        let fields: Vec<&str> = row.split(" ¦ ").collect();
        let [operations, line, answer, says, helps] = fields[..] else { panic!("five fields: {row}") };
        let operations: Vec<String> = operations
            .split(" || ")
            .enumerate()
            .map(|(number, keys)| {
                format!("[[operations]]\\nat = \"{}m\"\\n{}", number + 2, keys.replace("; ", "\\n"))
            })
            .collect();
        let last = operations[..operations.len() - 1]
            .join("\\n")
            .split("\\n")
            .filter(|line| !line.is_empty())
            .count();
        let keys: Vec<&str> = operations[operations.len() - 1].split("\\n").collect();
        let position = keys.iter().position(|key| key.starts_with(line)).unwrap_or_else(|| panic!("{row}"));
        let column = keys[position].find("= ").map_or(1, |equals| equals + 3);
        let place = format!("{}:{column}", first + last + position);
        let operations = operations.join("\\n");
        check(&base, &format!("# operations ⇒ {operations} ¦ {place} ¦ {answer} ¦ {says} ¦ {helps}"));
    }
}

#[test]
fn operations_on_a_backend_service_that_the_api_refuses() {
    refused(
        &service(),
        r#"
        do = "set_zonal_affinity"; spillover_ratio = 1.5 ¦ spillover_ratio ¦ 400 invalid ¦ `operations.0.spillover_ratio`: 1.5 is not a ratio ¦ 0.0 to 1.0
        do = "set_zonal_affinity"; spillover = "STAY" ¦ spillover ¦ 400 invalid ¦ `operations.0.spillover` can't be "STAY" ¦ STAY_WITHIN_ZONE
        do = "set_zonal_affinity" ¦ [[operations]] ¦ - ¦ `operations.0`: nothing is set ¦ add spillover
        do = "set_failover_policy"; failover_ratio = -1 ¦ failover_ratio ¦ 400 invalid ¦ -1 is not a ratio ¦ 0.0 to 1.0
        do = "set_failover_policy" ¦ [[operations]] ¦ - ¦ nothing is set ¦ failover_ratio = 0.5
        do = "set_session_affinity" ¦ [[operations]] ¦ - ¦ `operations.0` has no `session_affinity` ¦ "CLIENT_IP"
        do = "set_session_affinity"; session_affinity = "HTTP_COOKIE" ¦ session_affinity ¦ 400 invalid ¦ belongs to application load balancers ¦ CLIENT_IP
        do = "set_connection_tracking_policy" ¦ [[operations]] ¦ - ¦ nothing is set ¦ "PER_SESSION"
        do = "set_connection_tracking_policy"; tracking_mode = "PER_SESSION"; connection_persistence_on_unhealthy_backends = "ALWAYS_PERSIST" ¦ connection_persistence ¦ 400 invalid ¦ `operations.0.connection_persistence_on_unhealthy_backends`: ALWAYS_PERSIST can't be ¦ NEVER_PERSIST
        do = "set_connection_tracking_policy"; connection_persistence_on_unhealthy_backends = "ALWAYS_PERSIST" || do = "set_connection_tracking_policy"; tracking_mode = "PER_SESSION" ¦ tracking_mode ¦ 400 invalid ¦ `operations.1.tracking_mode`: ALWAYS_PERSIST can't be ¦ NEVER_PERSIST
        do = "set_connection_tracking_policy"; idle_timeout = "1200s" ¦ idle_timeout ¦ 400 invalid ¦ `operations.0.idle_timeout`: an idle timeout of 20m needs ¦ change mode and affinity
        do = "set_session_affinity"; session_affinity = "CLIENT_IP" || do = "set_connection_tracking_policy"; tracking_mode = "PER_SESSION"; idle_timeout = "1200s" || do = "set_session_affinity"; session_affinity = "NONE" ¦ session_affinity ¦ 400 invalid ¦ `operations.2.session_affinity`: an idle timeout of 20m needs ¦ change mode and affinity
        do = "add_instances"; group = "ig-c"; count = 1 ¦ group ¦ 404 notFound ¦ there is no group "ig-c" ¦ groups: ig-a, ig-b
        do = "add_instances"; group = "ig-a"; count = 0 ¦ count ¦ - ¦ can't be 0 ¦ from 1 to 16384
        do = "add_instances"; group = "ig-a" ¦ [[operations]] ¦ - ¦ has no `count` ¦ count = 2
        do = "remove_instances"; group = "ig-c" ¦ group ¦ 404 notFound ¦ there is no group "ig-c" ¦ groups: ig-a, ig-b
        do = "remove_instances"; group = "ig-a"; count = 3 ¦ count ¦ 400 invalid ¦ group "ig-a" has 2 instances at this time ¦ as many
        do = "remove_instances"; group = "ig-a" || do = "remove_instances"; group = "ig-a" ¦ group ¦ 400 invalid ¦ group "ig-a" has 0 instances ¦ as many
        do = "remove_instances"; backends = ["ig-a-3"] ¦ backends ¦ 400 invalid ¦ "ig-a-3" is not an instance of the load balancer now ¦ mean `ig-a-1`?
        do = "remove_instances"; backends = ["ig-a-1"] || do = "remove_instances"; backends = ["ig-a-1"] ¦ backends ¦ 400 invalid ¦ `operations.1.backends`: "ig-a-1" is not ¦ instances: ig-a-2
        do = "remove_instances"; backends = ["ig-a-1", "ig-a-1"] ¦ backends ¦ 400 invalid ¦ "ig-a-1" is not ¦ instances
        do = "remove_instances"; backends = [] ¦ backends ¦ - ¦ the list is empty ¦ at least one
        do = "remove_instances" ¦ [[operations]] ¦ - ¦ no instances are named ¦ add group
        do = "remove_instances"; group = "ig-a"; backends = ["ig-a-1"] ¦ backends ¦ - ¦ in several ways ¦ keep `group`
        do = "set_backend_failover"; group = "ig-x"; failover = true ¦ group ¦ 404 notFound ¦ there is no group "ig-x" ¦ mean `ig-a`?
        do = "drain"; zone = "us-central1-c" ¦ zone ¦ 404 notFound ¦ there is no zone "us-central1-c" ¦ mean `us-central1-a`?
        do = "drain"; zone = "us-central1-a" || do = "drain"; zone = "us-central1-a" ¦ zone ¦ 400 invalid ¦ there is no instance in us-central1-a at this time ¦ that has instances
        do = "add_health_check"; pool = "www" ¦ do ¦ 404 notFound ¦ there are no target pools ¦ backend services
        do = "remove_health_check"; pool = "www" ¦ do ¦ 404 notFound ¦ there are no target pools ¦ backend services
        do = "set_backup"; pool = "www"; backup_pool = "spare"; failover_ratio = 0.5 ¦ do ¦ 404 notFound ¦ there are no target pools ¦ backend services
        do = "delete_target_pool"; pool = "www" ¦ do ¦ 404 notFound ¦ there are no target pools ¦ backend services
        do = "set_affinity" ¦ do ¦ - ¦ `operations.0.do` can't be "set_affinity" ¦ set_zonal_affinity
        do = 5 ¦ do ¦ - ¦ `operations.0.do` can't be 5 ¦ alternatives
        group = "ig-a" ¦ [[operations]] ¦ - ¦ `operations.0` has no `do` ¦ set_zonal_affinity
    "#,
    );
}

#[test]
fn zon_2_and_xbs_1_at_a_later_time() {
    for (key, says) in [
        (
            "subsetting = { policy = \"CONSISTENT_HASH_SUBSETTING\" }",
            "can't be combined with backend subsetting",
        ),
        ("is_mirroring_collector = true", "a collector of Packet Mirroring can't have zonal affinity"),
        ("load_balancing_scheme = \"EXTERNAL\"", "external load balancers have no zonal affinity"),
    ] {
        let zonal = "zonal_affinity = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }";
        let row = format!(
            "do = \"set_zonal_affinity\"; spillover = \"STAY_WITHIN_ZONE\" ¦ spillover ¦ 400 invalid ¦ {says} ¦ write"
        );
        refused(&service().replace(zonal, key), &row);
    }
    let subset = "subsetting = { policy = \"CONSISTENT_HASH_SUBSETTING\" }";
    let zonal = "zonal_affinity = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }";
    refused(
        &service().replace(zonal, subset),
        "do = \"set_session_affinity\"; session_affinity = \"CLIENT_IP\" ¦ session_affinity ¦ 400 invalid ¦ needs an affinity of all five fields ¦ NONE",
    );
}

#[test]
fn operations_on_target_pools_that_the_api_refuses() {
    refused(
        POOLS,
        r#"
        do = "set_session_affinity"; session_affinity = "NONE" ¦ do ¦ 404 notFound ¦ there is no method to change it ¦ [[target_pools]]
        do = "set_zonal_affinity"; spillover = "STAY_WITHIN_ZONE" ¦ do ¦ 404 notFound ¦ there is no backend service ¦ set_backup
        do = "set_failover_policy"; failover_ratio = 0.5 ¦ do ¦ 404 notFound ¦ there is no backend service ¦ set_backup
        do = "set_connection_tracking_policy"; tracking_mode = "PER_SESSION" ¦ do ¦ 404 notFound ¦ there is no backend service ¦ set_backup
        do = "set_backend_failover"; group = "web"; failover = true ¦ do ¦ 404 notFound ¦ there is no backend service ¦ set_backup
        do = "add_health_check"; pool = "www" ¦ [[operations]] ¦ 400 invalid ¦ target pool "www" has a health check already ¦ at most one
        do = "add_health_check"; pool = "www"; health_check = "default" ¦ health_check ¦ 400 invalid ¦ target pool "www" has a health check already ¦ at most one
        do = "add_health_check"; pool = "spare"; health_check = "other" ¦ health_check ¦ 404 notFound ¦ The resource 'projects/PROJECT/global/httpHealthChecks/other' was not found: target pools take legacy HTTP health checks only ¦ "default"
        do = "add_health_check"; pool = "spar" ¦ pool ¦ 404 notFound ¦ there is no target pool "spar" ¦ mean `spare`?
        do = "remove_health_check"; pool = "spare" ¦ [[operations]] ¦ 400 invalid ¦ target pool "spare" has no health check ¦ a pool that has one
        do = "remove_health_check" || do = "remove_health_check" ¦ [[operations]] ¦ 400 invalid ¦ target pool "www" has no health check ¦ a pool that has one
        do = "remove_health_check"; health_check = "other" ¦ health_check ¦ 404 notFound ¦ httpHealthChecks/other' was not found ¦ "default"
        do = "set_backup"; pool = "www"; backup_pool = "www"; failover_ratio = 0.5 ¦ backup_pool ¦ 400 invalid ¦ a pool can't be its own backup ¦ another pool
        do = "set_backup"; pool = "www"; backup_pool = "ww"; failover_ratio = 0.5 ¦ backup_pool ¦ 404 notFound ¦ there is no target pool "ww" ¦ mean `www`?
        do = "set_backup"; pool = "ww"; backup_pool = "spare"; failover_ratio = 0.5 ¦ pool ¦ 404 notFound ¦ there is no target pool "ww" ¦ mean `www`?
        do = "set_backup"; pool = "www"; backup_pool = "spare"; failover_ratio = 1.5 ¦ failover_ratio ¦ 400 invalid ¦ 1.5 is not a ratio ¦ 0.0 to 1.0
        do = "set_backup"; backup_pool = "spare"; failover_ratio = 0.5 ¦ [[operations]] ¦ - ¦ has no `pool` ¦ pool = "www"
        do = "delete_target_pool"; pool = "www" ¦ pool ¦ 400 resourceInUseByAnotherResource ¦ The target_pool resource 'projects/PROJECT/regions/us-central1/targetPools/www' is already being used by 'projects/PROJECT/regions/us-central1/forwardingRules/forwarding-rule' ¦ neither the forwarding rule nor
        do = "delete_target_pool"; pool = "spare" ¦ pool ¦ 400 resourceInUseByAnotherResource ¦ targetPools/spare' is already being used by 'projects/PROJECT/regions/us-central1/targetPools/www' ¦ neither the forwarding rule nor
        do = "delete_target_pool"; pool = "third" ¦ pool ¦ 400 resourceInUseByAnotherResource ¦ targetPools/third' is already being used by 'projects/PROJECT/regions/us-central1/targetPools/spare' ¦ neither
        do = "delete_target_pool"; pool = "fourth" ¦ pool ¦ 404 notFound ¦ there is no target pool "fourth" ¦ target pools: www, spare, third
        do = "set_backup"; pool = "spare" || do = "delete_target_pool"; pool = "third" || do = "delete_target_pool"; pool = "third" ¦ pool ¦ 404 notFound ¦ there is no target pool "third" ¦ target pools: www, spare
        do = "set_backup"; pool = "spare" || do = "delete_target_pool"; pool = "third" || do = "add_instances"; group = "idle"; count = 1 ¦ group ¦ 404 notFound ¦ there is no group "idle" ¦ groups: web, reserve
        do = "set_backup"; pool = "spare" || do = "delete_target_pool"; pool = "third" || do = "remove_instances"; backends = ["idle-1"] ¦ backends ¦ 400 invalid ¦ "idle-1" is not an instance ¦ web-1
        do = "set_backup"; pool = "spare" || do = "delete_target_pool"; pool = "third" || do = "set_backup"; pool = "www"; backup_pool = "third"; failover_ratio = 0.5 ¦ backup_pool ¦ 404 notFound ¦ there is no target pool "third" ¦ target pools: www, spare
        do = "remove_instances"; backends = ["web-4"] ¦ backends ¦ 400 invalid ¦ "web-4" is not an instance ¦ mean `web-1`?
    "#,
    );
    let modern = POOLS
        .replace("health_checks = [\"default\"]\n", "")
        .replace("[server]", "[health_check]\ntype = \"TCP\"\n[server]");
    refused(
        &modern,
        "do = \"add_health_check\" ¦ [[operations]] ¦ 404 notFound ¦ target pools take legacy HTTP health checks only ¦ health_check.type",
    );
}

#[test]
fn times_lie_before_the_end() {
    let operation = "[[operations]]\nat = \"11m\"\ndo = \"drain\"\nzone = \"us-central1-a\"\n[[faults]]";
    let error = super::refusal(&changed("[[faults]]", operation), &Overrides::default());
    assert!(error.contains("`operations.0.at` is 11m, but the measured window ends at 11m"), "{error}");
    let error = super::refusal(
        &changed("[[faults]]", "[[operations]]\ndo = \"drain\"\n[[faults]]"),
        &Overrides::default(),
    );
    assert!(error.contains("`operations.0` has no `at`"), "{error}");
    let after = with(&service(), &["at = \"10m59s\"; do = \"drain\"; zone = \"us-central1-a\""]);
    assert_eq!(told(&scenario(&after)), [["-ig-a-1", "-ig-a-2"]]);
}

#[test]
fn the_answer_names_the_time() {
    let operations = [
        "at = \"5m\"; do = \"drain\"; zone = \"us-central1-b\"",
        "at = \"3m\"; do = \"remove_instances\"; group = \"ig-b\"",
    ];
    let error = super::refusal(&with(&service(), &operations), &Overrides::default());
    insta::assert_snapshot!(error, @r#"
    error: `operations.0.zone`: there is no instance in us-central1-b at this time
      --> test.toml:56:8
       |
    56 | zone = "us-central1-b"
       |        ^^^^^^^^^^^^^^^
       |
       = note: the Compute API refuses this at 5m: 400 invalid
       = help: name a zone that has instances
    "#);
}

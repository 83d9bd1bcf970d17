//! Resources that the Compute API refuses, and what zonesim does not simulate: each with its place and its reason.

use super::{POOLS, SMALL, refusal};
use crate::experiment::Overrides;

/// Checks what is said about changes of `base`, one a line:
/// old text ⇒ new text ¦ line:column ¦ the API's answer, or - ¦ a part of the title ¦ a part of the remedy.
pub(super) fn check(base: &str, table: &str) {
    for row in table.lines().map(str::trim_start).filter(|row| !row.is_empty()) {
        let (old, rest) = row.split_once(" ⇒ ").expect("an arrow");
        let fields: Vec<&str> = rest.split(" ¦ ").collect();
        let [new, place, answer, says, helps] = fields[..] else { panic!("five fields: {row}") };
        let old = old.replace("\\n", "\n");
        assert_eq!(base.matches(&old).count(), 1, "{old:?} stands once:\n{base}");
        let error = refusal(&base.replace(&old, &new.replace("\\n", "\n")), &Overrides::default());
        let (title, help) = (error.lines().next(), error.rsplit_once("help: ").map(|(_, help)| help));
        let note = error.split_once("the Compute API refuses this").map_or("-", |(_, note)| {
            note.lines().next().and_then(|note| note.rsplit_once(": ")).map_or(note, |(_, answer)| answer)
        });
        assert!(error.contains(&format!("--> test.toml:{place}\n")), "{row}\n{error}");
        assert_eq!(note, answer, "{row}\n{error}");
        assert!(title.is_some_and(|title| title.contains(says)), "{row}\n{error}");
        assert!(help.is_some_and(|help| help.contains(helps)), "{row}\n{error}");
    }
}

#[test]
fn aff_1_session_affinities() {
    check(
        SMALL,
        r#"
        [backend_service] ⇒ [backend_service]\nsession_affinity = "GENERATED_COOKIE" ¦ 17:20 ¦ 400 invalid ¦ GENERATED_COOKIE belongs to application load balancers ¦ CLIENT_IP_PROTO
        [backend_service] ⇒ [backend_service]\nsession_affinity = "HEADER_FIELD" ¦ 17:20 ¦ 400 invalid ¦ HEADER_FIELD belongs to application ¦ one of NONE
        [backend_service] ⇒ [backend_service]\nsession_affinity = "HTTP_COOKIE" ¦ 17:20 ¦ 400 invalid ¦ HTTP_COOKIE belongs to application ¦ one of NONE
        [backend_service] ⇒ [backend_service]\nsession_affinity = "STRONG_COOKIE_AFFINITY" ¦ 17:20 ¦ 400 invalid ¦ belongs to application ¦ one of NONE
        [backend_service] ⇒ [backend_service]\nsession_affinity = "CLIENTIP" ¦ 17:20 ¦ 400 invalid ¦ can't be "CLIENTIP" ¦ did you mean `CLIENT_IP`?
    "#,
    );
}

/// The small experiment with an external backend service.
fn external() -> String {
    let zonal = "zonal_affinity = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }";
    let text = SMALL.replace(zonal, "load_balancing_scheme = \"EXTERNAL\"");
    let arms = text.find("[[arms]]").unwrap();
    let thresholds = text.find("[[thresholds]]").unwrap();
    text[..arms.min(thresholds)].to_owned()
}

#[test]
fn xbs_external_backend_services() {
    check(
        &external(),
        r#"
        "EXTERNAL" ⇒ "EXTERNAL_MANAGED" ¦ 17:25 ¦ 400 invalid ¦ can't be "EXTERNAL_MANAGED" ¦ INTERNAL, EXTERNAL
        "EXTERNAL" ⇒ "EXTERNAL"\nsession_affinity = "CLIENT_IP_NO_DESTINATION" ¦ 18:20 ¦ 400 invalid ¦ belongs to internal load balancers ¦ CLIENT_IP_PROTO or CLIENT_IP
        "EXTERNAL" ⇒ "EXTERNAL"\nlocality_lb_policy = "RENDEZVOUS" ¦ 18:22 ¦ 400 invalid ¦ belongs to internal ¦ MAGLEV or WEIGHTED_MAGLEV
        "EXTERNAL" ⇒ "EXTERNAL"\nlocality_lb_policy = "WEIGHTED_GCP_RENDEZVOUS" ¦ 18:22 ¦ 400 invalid ¦ belongs to internal ¦ MAGLEV or WEIGHTED_MAGLEV
        "EXTERNAL" ⇒ "EXTERNAL"\nlocality_lb_policy = "ROUND_ROBIN" ¦ 18:22 ¦ 400 invalid ¦ can't be "ROUND_ROBIN" ¦ RENDEZVOUS
        "EXTERNAL" ⇒ "EXTERNAL"\nmaglev_table_size = 65536 ¦ 18:21 ¦ - ¦ 65536 is not prime ¦ such as 65537
        "EXTERNAL" ⇒ "EXTERNAL"\nzonal_affinity.spillover = "STAY_WITHIN_ZONE" ¦ 18:28 ¦ 400 invalid ¦ have no zonal affinity ¦ load_balancing_scheme = "INTERNAL"
        "EXTERNAL" ⇒ "EXTERNAL"\nsubsetting.policy = "CONSISTENT_HASH_SUBSETTING" ¦ 18:21 ¦ 400 invalid ¦ no backend subsetting ¦ leave it out
        "EXTERNAL" ⇒ "EXTERNAL"\nis_mirroring_collector = true ¦ 18:26 ¦ 400 invalid ¦ only internal load balancers ¦ leave it out
        "EXTERNAL" ⇒ "EXTERNAL"\nconnection_tracking_policy.idle_timeout = "600s" ¦ 18:43 ¦ 400 invalid ¦ external load balancers keep to 1m ¦ leave it out
        kind = "vpn" ⇒ kind = "private_service_connect" ¦ 46:8 ¦ - ¦ only internal load balancers are published ¦ or internet
        kind = "vpn" ⇒ kind = "vpn"\ndestinations = 2 ¦ 47:16 ¦ - ¦ needs a next hop ¦ only internal
        kind = "vpn" ⇒ kind = "vpn"\nprotocol = "ESP" ¦ 47:12 ¦ - ¦ is ESP, which the forwarding rule does not take ¦ write TCP, or forwarding_rule.ip_protocol = "L3_DEFAULT"
    "#,
    );
    let all_protocols =
        external().replace("\"EXTERNAL\"", "\"EXTERNAL\"\nprotocol = \"UNSPECIFIED\"") + L3_DEFAULT;
    check(
        &all_protocols,
        r#"
        kind = "vpn" ⇒ kind = "vpn"\nprotocol = "SCTP" ¦ 48:12 ¦ - ¦ is SCTP ¦ write TCP, UDP, ESP, GRE, ICMP
        kind = "vpn" ⇒ kind = "vpn"\nprotocol = "AH" ¦ 48:12 ¦ - ¦ is AH ¦ write TCP, UDP, ESP, GRE, ICMP
    "#,
    );
}

#[test]
fn wgt_1_policies_and_weights() {
    check(
        SMALL,
        r#"
        [backend_service] ⇒ [backend_service]\nlocality_lb_policy = "MAGLEV" ¦ 17:22 ¦ 400 invalid ¦ belongs to external ¦ RENDEZVOUS or WEIGHTED_GCP_RENDEZVOUS
        [backend_service] ⇒ [backend_service]\nlocality_lb_policy = "WEIGHTED_MAGLEV" ¦ 17:22 ¦ 400 invalid ¦ belongs to external ¦ RENDEZVOUS or WEIGHTED_GCP_RENDEZVOUS
        size = 2\n ⇒ size = 2\nweight = 3.0\n ¦ 23:10 ¦ - ¦ ignores weights ¦ "WEIGHTED_GCP_RENDEZVOUS"
        size = 2\n ⇒ size = 2\nweight = -1.0\n ¦ 23:10 ¦ - ¦ can't be -1.0 ¦ 0.0 or more
        size = 2\n ⇒ size = 2\nweight = "heavy"\n ¦ 23:10 ¦ - ¦ can't be "heavy" ¦ "missing" or "invalid"
        size = 2\n ⇒ size = 2\nbalancing_mode = "RATE"\n ¦ 23:18 ¦ 400 invalid ¦ does not belong to a passthrough ¦ CONNECTION
        size = 2\n ⇒ size = 2\ncapacity_scaler = 2.0\n ¦ 23:19 ¦ 400 invalid ¦ 2 is not a ratio ¦ 0.0 to 1.0
    "#,
    );
    let weighted = SMALL
        .replace("[backend_service]", "[backend_service]\nlocality_lb_policy = \"WEIGHTED_GCP_RENDEZVOUS\"");
    check(
        &weighted,
        r#"
        size = 2\n ⇒ size = 2\nweight = 3.0\n ¦ 24:10 ¦ - ¦ replies to this health check carry no weights ¦ "HTTP", "HTTPS" or "HTTP2"
        [health_check] ⇒ [health_check]\ntype = "UDP" ¦ 32:8 ¦ 400 invalid ¦ can't be "UDP" ¦ TCP, SSL, HTTP
    "#,
    );
}

#[test]
fn cte_5_and_cte_7_connection_tracking() {
    check(
        SMALL,
        r#"
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { tracking_mode = "PER_SESSION", connection_persistence_on_unhealthy_backends = "ALWAYS_PERSIST" } ¦ 17:110 ¦ 400 invalid ¦ ALWAYS_PERSIST can't be combined with tracking mode PER_SESSION ¦ "PER_CONNECTION"
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { idle_timeout = "1200s" } ¦ 17:47 ¦ 400 invalid ¦ needs tracking mode PER_SESSION and session affinity ¦ "10m"
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { idle_timeout = "1200s", tracking_mode = "PER_SESSION" } ¦ 17:47 ¦ 400 invalid ¦ needs tracking mode PER_SESSION ¦ change mode and affinity
        [backend_service] ⇒ [backend_service]\nsession_affinity = "CLIENT_IP"\nconnection_tracking_policy = { idle_timeout = "1200s" } ¦ 18:47 ¦ 400 invalid ¦ needs tracking mode PER_SESSION ¦ change mode and affinity
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { idle_timeout = "599s" } ¦ 17:47 ¦ 400 invalid ¦ 599s is out of range ¦ "600s" to "57600s"
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { idle_timeout = "57601s" } ¦ 17:47 ¦ 400 invalid ¦ 57601s is out of range ¦ "600s" to "57600s"
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { idle_timeout = "600500ms" } ¦ 17:47 ¦ 400 invalid ¦ is out of range ¦ whole seconds
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { tracking_mode = "PER_CLIENT" } ¦ 17:48 ¦ 400 invalid ¦ can't be "PER_CLIENT" ¦ PER_CONNECTION, PER_SESSION
        [backend_service] ⇒ [backend_service]\nconnection_tracking_policy = { connection_persistence_on_unhealthy_backends = "NEVER" } ¦ 17:79 ¦ 400 invalid ¦ can't be "NEVER" ¦ mean `NEVER_PERSIST`?
        [backend_service] ⇒ [backend_service]\nconnection_draining = { draining_timeout = "3601s" } ¦ 17:44 ¦ 400 invalid ¦ 3601s is out of range ¦ "0s" to "3600s"
        [backend_service] ⇒ [backend_service]\nconnection_draining = { draining_timeout = "1500ms" } ¦ 17:44 ¦ 400 invalid ¦ 1.5s is out of range ¦ whole seconds
    "#,
    );
}

#[test]
fn zon_2_and_elig_13_what_excludes_what() {
    check(
        SMALL,
        r#"
        [backend_service] ⇒ [backend_service]\nsubsetting = { policy = "CONSISTENT_HASH_SUBSETTING" } ¦ 17:25 ¦ 400 invalid ¦ zonal affinity can't be combined with backend subsetting ¦ "NONE"
        [backend_service] ⇒ [backend_service]\nsubsetting = { policy = "HASH" } ¦ 17:25 ¦ 400 invalid ¦ can't be "HASH" ¦ CONSISTENT_HASH_SUBSETTING
        [backend_service] ⇒ [backend_service]\nis_mirroring_collector = true ¦ 17:26 ¦ 400 invalid ¦ Packet Mirroring can't have zonal affinity ¦ is_mirroring_collector = false
        [backend_service] ⇒ [backend_service]\nha_policy = {} ¦ 17:13 ¦ 400 invalid ¦ can't be combined with zonal affinity ¦ keep one
        [backend_service] ⇒ [backend_service]\nnetwork_security_integration = "MIRROR" ¦ 17:32 ¦ 400 invalid ¦ can't be "MIRROR" ¦ NONE, IN_BAND, OUT_OF_BAND
        spillover_ratio = 0.5 ⇒ spillover_ratio = 1.01 ¦ 17:70 ¦ 400 invalid ¦ 1.01 is not a ratio ¦ 0.0 to 1.0
        [backend_service] ⇒ [backend_service]\nfailover_policy.failover_ratio = -0.1 ¦ 17:34 ¦ 400 invalid ¦ -0.1 is not a ratio ¦ 0.0 to 1.0
        [backend_service] ⇒ [backend_service]\ntimeout_sec = 0 ¦ 17:15 ¦ - ¦ can't be 0 ¦ a whole number from 1
    "#,
    );
    let arms = SMALL.find("[[arms]]").unwrap();
    let zonal = "zonal_affinity = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }\n";
    check(
        &SMALL[..arms].replace(zonal, "# here\n"),
        r#"
        # here ⇒ session_affinity = "CLIENT_IP"\nsubsetting = { policy = "CONSISTENT_HASH_SUBSETTING" } ¦ 18:25 ¦ 400 invalid ¦ needs an affinity of all five fields ¦ CLIENT_IP_PORT_PROTO
        # here ⇒ is_mirroring_collector = true\nsubsetting = { policy = "CONSISTENT_HASH_SUBSETTING" } ¦ 17:26 ¦ 400 invalid ¦ can't have backend subsetting ¦ is_mirroring_collector = false
        # here ⇒ ha_policy = {} ¦ 17:13 ¦ - ¦ is not simulated ¦ leave it out
        # here ⇒ ha_policy = {}\nfailover_policy = {} ¦ 17:13 ¦ 400 invalid ¦ can't be combined with a failover policy ¦ keep one
        # here ⇒ ha_policy = {}\nsession_affinity = "CLIENT_IP" ¦ 17:13 ¦ 400 invalid ¦ can't be combined with session affinity ¦ keep one
        # here ⇒ ha_policy = {}\nconnection_tracking_policy = {} ¦ 17:13 ¦ 400 invalid ¦ can't be combined with a connection tracking policy ¦ keep one
    "#,
    );
}

#[test]
fn hck_3_health_checks() {
    check(
        SMALL,
        r#"
        timeout = "5s" ⇒ timeout = "6s" ¦ 32:11 ¦ 400 invalid ¦ Invalid value for field 'resource.timeoutSec': '6'. TimeoutSec should be less than checkIntervalSec ¦ at most 5s
        timeout = "5s" ⇒ unhealthy_threshold = 12 ¦ 32:23 ¦ 400 invalid ¦ Invalid value for field 'resource.unhealthyThreshold': '12'. Must be less than or equal to 10 ¦ 1 to 10
        timeout = "5s" ⇒ healthy_threshold = 0 ¦ 32:21 ¦ 400 invalid ¦ Invalid value for field 'resource.healthyThreshold': '0'. Must be greater than or equal to 1 ¦ 1 to 10
        check_interval = "5s" ⇒ check_interval = "301s" ¦ 31:18 ¦ 400 invalid ¦ 'resource.checkIntervalSec': '301'. Must be less than or equal to 300 ¦ "1s" to "300s"
        timeout = "5s" ⇒ timeout = "1500ms" ¦ 32:11 ¦ 400 invalid ¦ 'resource.timeoutSec': '1.5'. Must be an integer ¦ whole seconds
        timeout = "5s" ⇒ timeout = "0s" ¦ 32:11 ¦ 400 invalid ¦ Must be greater than or equal to 1 ¦ whole seconds
        timeout = "5s" ⇒ probers = { count = 2 } ¦ 32:21 ¦ - ¦ 2 probers can't give a single verdict ¦ majority
        timeout = "5s" ⇒ probers = { count = 101, verdict = "any" } ¦ 32:21 ¦ - ¦ 101 is not a number of probers ¦ 1 to 100
    "#,
    );
}

#[test]
fn tpa_and_tpf_target_pools() {
    check(
        POOLS,
        r#"
        session_affinity = "CLIENT_IP" ⇒ session_affinity = "CLIENT_IP_PORT_PROTO" ¦ 16:20 ¦ 400 invalid ¦ a target pool can't have CLIENT_IP_PORT_PROTO ¦ NONE, CLIENT_IP or
        session_affinity = "CLIENT_IP" ⇒ session_affinity = "CLIENT_IP_NO_DESTINATION" ¦ 16:20 ¦ 400 invalid ¦ can't have CLIENT_IP_NO_DESTINATION ¦ CLIENT_IP_PROTO
        session_affinity = "CLIENT_IP" ⇒ session_affinity = "HTTP_COOKIE" ¦ 16:20 ¦ 400 invalid ¦ application load balancers ¦ CLIENT_IP
        target = "www" ⇒ target = "ww" ¦ 12:10 ¦ 404 notFound ¦ `forwarding_rule.target` names "ww", which does not exist ¦ mean `www`?
        target = "www" ⇒  ¦ 11:1 ¦ - ¦ `forwarding_rule` has no `target` ¦ target = "www"
        name = "spare" ⇒ name = "www" ¦ 27:8 ¦ 409 alreadyExists ¦ names "www" a second time ¦ own name
        name = "spare" ⇒ name = "Spare" ¦ 27:8 ¦ 400 invalid ¦ Invalid value for field 'resource.name': 'Spare'. Must be a match of regex ¦ 1 to 63
        name = "spare" ⇒ name = "spare-" ¦ 27:8 ¦ 400 invalid ¦ 'spare-' ¦ no - at the end
        name = "web" ⇒ name = "1web" ¦ 22:8 ¦ 400 invalid ¦ '1web' ¦ a letter first
        name = "web" ⇒ name = "reserve" ¦ 31:8 ¦ - ¦ names "reserve" a second time ¦ own name
        name = "web" ⇒ name = "a23456789012345678901234567890123456789012345678901234567890123" ¦ 22:8 ¦ - ¦ has members with names as long as ¦ shorten it
        failover_ratio = 0.5 ⇒ failover_ratio = 1.5 ¦ 17:18 ¦ 400 invalid ¦ 1.5 is not a ratio ¦ 0.0 to 1.0
        backup_pool = "spare"\n ⇒  ¦ 17:18 ¦ 400 invalid ¦ `target_pools.www.failover_ratio` has no backup pool beside it: the two belong together ¦ backup_pool
        failover_ratio = 0.5\n ⇒  ¦ 17:15 ¦ 400 invalid ¦ `target_pools.www.backup_pool` has no failover ratio beside it: the two belong together ¦ failover_ratio
        failover_ratio = 1.0\n ⇒  ¦ 28:15 ¦ 400 invalid ¦ `target_pools.spare.backup_pool` has no failover ratio beside it: the two belong together ¦ failover_ratio
        target = "www" ⇒ target = "www"\nip_protocol = "L3_DEFAULT" ¦ 13:15 ¦ 400 invalid ¦ target pools take no rules of protocol L3_DEFAULT ¦ TCP or UDP
        backup_pool = "spare" ⇒ backup_pool = "www" ¦ 18:15 ¦ 400 invalid ¦ a pool can't be its own backup ¦ another pool
        backup_pool = "spare" ⇒ backup_pool = "spar" ¦ 18:15 ¦ 404 notFound ¦ there is no target pool "spar" ¦ mean `spare`?
        health_checks = ["default"]\n# ⇒ health_checks = ["default", "default"]\n# ¦ 19:17 ¦ 400 invalid ¦ "www" has a health check already ¦ at most one
        health_checks = ["default"]\n# ⇒ health_checks = ["mine"]\n# ¦ 19:17 ¦ 404 notFound ¦ httpHealthChecks/mine' was not found: target pools take legacy HTTP health checks only ¦ [health_check]
        [server] ⇒ [health_check]\ntype = "TCP"\n[server] ¦ 19:17 ¦ 404 notFound ¦ take legacy HTTP health checks only ¦ health_check.type = "HTTP"
        [server] ⇒ [health_check]\ntype = "HTTPS"\n[server] ¦ 19:17 ¦ 404 notFound ¦ take legacy HTTP health checks only ¦ health_check.type = "HTTP"
        size = 3 ⇒ size = 3\nweight = 2.0 ¦ 25:1 ¦ - ¦ `target_pools.www.instances.web.weight` is not a known key ¦ name, zone
        size = 3 ⇒ size = 3\nfailover = true ¦ 25:1 ¦ - ¦ is not a known key ¦ name, zone
        zone = "us-central1-a"\nsize = 3 ⇒ size = 3 ¦ 21:1 ¦ - ¦ `target_pools.www.instances.web` has no `zone` ¦ zones = [
        zone = "us-central1-a"\nsize = 3 ⇒ zone = "us-east1-a"\nsize = 3 ¦ 23:8 ¦ - ¦ names "us-east1-a", which does not exist ¦ zones of the region
        size = 3 ⇒ size = 16384 ¦ 14:1 ¦ - ¦ has 16388 members ¦ at most 16384
        maglev_table_size = 251 ⇒ maglev_table_size = 250 ¦ 13:21 ¦ - ¦ 250 is not prime ¦ 251
        [server] ⇒ [backend_service]\n[server] ¦ 14:3 ¦ - ¦ is a second load balancer beside `backend_service` ¦ keep one
        kind = "internet" ⇒ kind = "internet"\nprotocol = "GRE" ¦ 43:12 ¦ - ¦ is GRE, which the forwarding rule does not take ¦ write TCP
        kind = "internet" ⇒ kind = "internet"\nprotocol = "UDP" ¦ 43:12 ¦ - ¦ is UDP, which the forwarding rule does not take ¦ forwarding_rule.ip_protocol = "UDP"
        kind = "internet" ⇒ kind = "internet"\ndestinations = 2 ¦ 43:16 ¦ - ¦ needs a next hop ¦ only internal
        kind = "internet" ⇒ kind = "internet"\nfragmented = 0.5 ¦ 43:14 ¦ - ¦ has no meaning for TCP ¦ "UDP"
        kind = "internet" ⇒ kind = "internet"\nzone = "us-central1-a" ¦ 43:8 ¦ - ¦ has no meaning for a client of kind internet ¦ leave `zone` out
    "#,
    );
}

#[test]
fn clients_of_internal_load_balancers() {
    check(
        SMALL,
        r#"
        kind = "vpn" ⇒ kind = "internet" ¦ 46:8 ¦ - ¦ the internet does not reach an internal load balancer ¦ vm, vpn or interconnect
        kind = "vpn" ⇒ kind = "vpn"\nprotocol = "UDP" ¦ 47:12 ¦ - ¦ is UDP, which the forwarding rule does not take ¦ write TCP, or forwarding_rule.ip_protocol = "UDP"
        kind = "vpn" ⇒ kind = "vpn"\nprotocol = "HTTP" ¦ 47:12 ¦ - ¦ can't be "HTTP" ¦ TCP, UDP, SCTP
        kind = "vpn" ⇒ kind = "vpn"\nfragmented = 0.1 ¦ 47:14 ¦ - ¦ has no meaning for TCP ¦ "UDP"
        kind = "vpn" ⇒ kind = "vpn"\ndestinations = 1001 ¦ 47:16 ¦ - ¦ can't be 1001 ¦ 1 to 1000
        kind = "vpn" ⇒ kind = "private_service_connect"\nregion = "x" ¦ 47:10 ¦ - ¦ no meaning for a client of kind private_service_connect ¦ leave `region` out
    "#,
    );
    let unspecified = SMALL.replace("[backend_service]", "[backend_service]\nprotocol = \"UNSPECIFIED\"");
    check(
        &format!("{unspecified}{L3_DEFAULT}"),
        r#"
        kind = "vpn" ⇒ kind = "vpn"\ndestinations = 2 ¦ 48:16 ¦ - ¦ a rule of protocol L3_DEFAULT drops everything ¦ "TCP" or "UDP"
    "#,
    );
}

/// A table at the end of a file.
const L3_DEFAULT: &str = "\n[forwarding_rule]\nip_protocol = \"L3_DEFAULT\"\n";

#[test]
fn reg_2_a_rule_has_its_own_protocol() {
    check(
        SMALL,
        r#"
        [server] ⇒ [forwarding_rule]\nip_protocol = "UDP"\n[server] ¦ 35:15 ¦ 400 invalid ¦ a backend service of protocol TCP takes no rule of protocol UDP ¦ write TCP, or protocol = "UNSPECIFIED"
        [server] ⇒ [forwarding_rule]\nip_protocol = "L3_DEFAULT"\n[server] ¦ 35:15 ¦ 400 invalid ¦ takes no rule of protocol L3_DEFAULT ¦ protocol = "UNSPECIFIED"
        [server] ⇒ [forwarding_rule]\nip_protocol = "ESP"\n[server] ¦ 35:15 ¦ 400 invalid ¦ can't be "ESP" ¦ TCP, UDP, L3_DEFAULT
        [server] ⇒ [forwarding_rule]\ntarget = "www"\n[server] ¦ 35:1 ¦ - ¦ is of target pools, and stands beside `backend_service` ¦ leave it out
        [server] ⇒ [forwarding_rule]\nmaglev_table_size = 251\n[server] ¦ 35:1 ¦ - ¦ is of target pools, and stands beside `backend_service` ¦ backend_service.maglev_table_size
    "#,
    );
}

#[test]
fn open_points() {
    check(
        SMALL,
        r#"
        [server] ⇒ [semantics]\nzonal_affinity_text = "GA"\n[server] ¦ 35:23 ¦ - ¦ can't be "GA" ¦ GA_2026, PREVIEW_2025
        [server] ⇒ [semantics]\nfailover_drain = "4000d"\n[server] ¦ 35:18 ¦ - ¦ 4000d is out of range ¦ "3650d"
        [server] ⇒ [semantics]\nportless_fragments = "keep"\n[server] ¦ 35:22 ¦ - ¦ can't be "keep" ¦ drop, forward
        [server] ⇒ [semantics]\nspec_version = "GA_2026"\n[server] ¦ 35:1 ¦ - ¦ `semantics.spec_version` is not a known key ¦ zonal_affinity_text
        [backend_service] ⇒ [backend_service]\nspec_version = "GA_2026" ¦ 17:1 ¦ - ¦ `backend_service.spec_version` is not a known key ¦ known keys
    "#,
    );
}

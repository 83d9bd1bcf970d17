//! Target pools, external load balancers, and the settings of every kind of load balancer.

use super::{POOLS, SMALL, changed, parse, scenario, targets};
use crate::ids::{BackendId, ClientId, Id, JudgeId, PlaceId, ZoneId};
use crate::lb::affinity::SessionAffinity;
use crate::lb::backend::Role;
use crate::lb::packet::Protocol;
use crate::lb::policy::TrafficOrigin;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::selection::{SelectionHash, TableSize};
use crate::lb::tracking::{Persistence, Tracker, TrackingMode, TrackingPolicy};
use crate::lb::weight::WeightState;
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::random::Distribution;
use crate::sim::scenario::{BackendSpec, ClientGroup, Membership, Scenario};
use crate::time::SimDuration;

/// Name, zone, role, whether configured, whether checked.
type Row = (String, usize, Role, bool, bool);

fn rows(scenario: &Scenario) -> Vec<Row> {
    let backends = scenario.backends.pairs();
    let row = |(id, spec): (BackendId, &BackendSpec)| {
        let Membership { role, configured, judge } = scenario.membership(id);
        (spec.name.clone(), spec.zone.index(), role, configured, judge.is_some())
    };
    backends.map(row).collect()
}

/// The only protocol of a client group.
fn protocol(client: &ClientGroup) -> Protocol {
    let lanes: Vec<Protocol> = client.lanes.iter().map(|lane| lane.protocol).collect();
    let [protocol] = lanes[..] else { panic!("one lane") };
    protocol
}

fn row(name: &str, zone: usize, role: Role, configured: bool, checked: bool) -> Row {
    (name.to_owned(), zone, role, configured, checked)
}

#[test]
fn a_target_pool_and_its_backup() {
    let scenario = scenario(POOLS);
    assert_eq!(
        rows(&scenario),
        [
            row("web-1", 0, Role::Primary, true, true),
            row("web-2", 0, Role::Primary, true, true),
            row("web-3", 0, Role::Primary, true, true),
            row("reserve-1", 1, Role::Failover, true, false),
            row("reserve-2", 0, Role::Failover, true, false),
        ],
        "one level only: the backup's backup is no backend"
    );
    let settings = &scenario.first_balancer().settings;
    let failover_ratio = Some(Ratio::new(0.5).unwrap());
    assert_eq!(settings.policy, AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio }));
    assert_eq!(settings.policy.get().zonal_affinity(), ZonalAffinity::Disabled);
    assert_eq!(settings.session_affinity, SessionAffinity::ClientIp);
    assert_eq!(settings.tracking, TrackingPolicy::new(Tracker::TargetPool));
    assert_eq!(settings.hash, SelectionHash::Maglev(TableSize::try_from(251).unwrap()));
    assert!(!settings.weighted && settings.drop_portless_fragments);
    assert!(!settings.policy.get().drops_everything());
    let client = &scenario.clients[ClientId::from_index(0)];
    assert_eq!((client.origin, protocol(client)), (TrafficOrigin::Internet, Protocol::Tcp));
    let place = PlaceId::from_index(2);
    assert_eq!((client.place, scenario.places[place].name.as_str()), (place, "internet"));
    let rtt = &scenario.round_trips[place][ZoneId::from_index(0)];
    assert_eq!(*rtt, Distribution::constant(SimDuration::from_millis(30)));
}

#[test]
fn tpf_1_a_backup_needs_a_pool_and_a_ratio() {
    let policy = |old: &str, new: &str| {
        let scenario = scenario(&POOLS.replace(old, new));
        let members = scenario.first_balancer().members.iter();
        let failovers = members.filter(|member| member.role == Role::Failover && member.configured);
        let count = failovers.count();
        (scenario.first_balancer().settings.policy.clone(), count)
    };
    let with = |failover_ratio| AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio });
    let both = "failover_ratio = 0.5\nbackup_pool = \"spare\"\n";
    assert_eq!(policy(both, ""), (with(None), 0));
    assert_eq!(policy("failover_ratio = 0.5", "failover_ratio = 0.0"), (with(Some(Ratio::ZERO)), 2));
}

#[test]
fn pools_may_be_empty_and_without_anything() {
    let text = r#"
        name = "least"
        region = { name = "us-central1", zones = ["us-central1-a"] }
        forwarding_rule = { target = "www" }
        target_pools = [{ name = "www" }]
        clients = [{ name = "web", kind = "vpn", arrivals = { poisson = { rate = 1 } } }]
    "#;
    let least = scenario(text);
    assert_eq!((least.backends.len(), least.groups.len()), (0, 0));
    assert_eq!(least.first_balancer().settings.hash, SelectionHash::Maglev(TableSize::default()));
    let defaults = text
        .replace("target = \"www\"", "target = \"www\", name = \"rule\", maglev_table_size = 65537")
        .replace(
            "name = \"www\"",
            "name = \"www\", session_affinity = \"NONE\", health_checks = [], instances = []",
        );
    assert_eq!(scenario(&defaults), least);
    let added = "operations = [{ at = \"5m\", do = \"add_instances\", group = \"late\", count = 1 }]\n";
    let late = "name = \"www\", instances = [{ name = \"late\", zone = \"us-central1-a\", size = 0 }]";
    let grown = scenario(&format!("{}{added}", text.replace("name = \"www\"", late)));
    assert_eq!(rows(&grown), [row("late-1", 0, Role::Primary, false, false)]);
}

#[test]
fn pools_and_their_instances_have_paths() {
    let arms = r#"
[[arms]]
name = "more"
[arms.set]
"target_pools.www.failover_ratio" = 1.0
"target_pools.www.instances.web.size" = 1
"target_pools.spare.health_checks" = ["default"]
"semantics.portless_fragments" = "forward"
"forwarding_rule.maglev_table_size" = 65537
"health_check.type" = "HTTP"
"#;
    let scenario = scenario(&format!("{POOLS}{arms}"));
    assert_eq!(
        rows(&scenario)[0..2],
        [row("web-1", 0, Role::Primary, true, true), row("reserve-1", 1, Role::Failover, true, true)]
    );
    assert!(!scenario.first_balancer().settings.drop_portless_fragments);
    assert_eq!(scenario.first_balancer().settings.hash, SelectionHash::Maglev(TableSize::default()));
}

#[test]
fn an_external_backend_service() {
    let keys = "load_balancing_scheme = \"EXTERNAL\"\nprotocol = \"UDP\"\nsession_affinity = \"CLIENT_IP_PROTO\"\n\
                locality_lb_policy = \"WEIGHTED_MAGLEV\"\nmaglev_table_size = 251\nallow_global_access = false\n\
                connection_tracking_policy = { tracking_mode = \"PER_SESSION\", idle_timeout = \"60s\" }";
    let zonal = "zonal_affinity = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }";
    let text = changed(zonal, keys)
        .replace("size = 2\n", "size = 2\nweight = 3\n")
        .replace("size = 3\n", "size = 3\nweight = \"missing\"\n")
        .replace("[health_check]", "[health_check]\ntype = \"HTTP2\"")
        .replace("kind = \"vpn\"", "kind = \"vpn\"\nfragmented = 0.25");
    let scenario = scenario(&text[..text.find("[[arms]]").unwrap()]);
    let settings = &scenario.first_balancer().settings;
    let tracking =
        TrackingPolicy { mode: TrackingMode::PerSession, ..TrackingPolicy::new(Tracker::External) };
    assert_eq!((settings.tracking, settings.weighted), (tracking, true));
    assert_eq!(settings.hash, SelectionHash::Maglev(TableSize::try_from(251).unwrap()));
    assert_eq!(settings.session_affinity, SessionAffinity::ClientIpProto);
    let AnyPolicy::BackendService(policy) = settings.policy else { panic!("a backend service") };
    assert!(policy.is_external, "it is reached from everywhere");
    let weights: Vec<WeightState> = scenario.groups.iter().map(|group| group.weight).collect();
    assert_eq!(weights, [WeightState::Valid(3.0), WeightState::Missing]);
    let protocols: Vec<_> =
        scenario.clients.iter().map(|client| (protocol(client), client.fragmented.value())).collect();
    assert_eq!(protocols, [(Protocol::Udp, 0.0), (Protocol::Udp, 0.25)]);
}

#[test]
fn every_setting_of_an_internal_backend_service() {
    let keys = "[backend_service]\nsession_affinity = \"CLIENT_IP_NO_DESTINATION\"\n\
                connection_tracking_policy = { tracking_mode = \"PER_SESSION\", idle_timeout = \"16h\", \
                connection_persistence_on_unhealthy_backends = \"NEVER_PERSIST\" }\n\
                connection_draining.draining_timeout = \"1h\"\nnetwork_security_integration = \"IN_BAND\"\n\
                locality_lb_policy = \"WEIGHTED_GCP_RENDEZVOUS\"\n";
    let text = changed("[backend_service]\n", keys).replace(
        "kind = \"vpn\"",
        "kind = \"private_service_connect\"\nprotocol = \"GRE\"\ndestinations = 1000",
    );
    let experiment = parse(&text).unwrap();
    let scenario = experiment.scenario(&experiment.cells()[0]);
    let settings = &scenario.first_balancer().settings;
    assert_eq!(settings.session_affinity, SessionAffinity::ClientIpNoDestination);
    let tracking = TrackingPolicy {
        mode: TrackingMode::PerSession,
        persistence: Persistence::NeverPersist,
        idle_timeout: SimDuration::from_secs(57_600),
        ..TrackingPolicy::new(Tracker::Internal)
    };
    assert_eq!(settings.tracking, tracking);
    assert_eq!(settings.draining_timeout, SimDuration::from_secs(3600));
    assert!(settings.policy.get().drops_everything(), "inspected, and zonal affinity is on");
    assert!(settings.weighted && settings.hash == SelectionHash::Rendezvous);
    let consumer = &scenario.clients[ClientId::from_index(1)];
    assert_eq!((consumer.origin, protocol(consumer)), (TrafficOrigin::PrivateServiceConnect, Protocol::Gre));
    assert_eq!(consumer.destinations.get(), 1000, "a next hop forwards all protocols");
    assert_eq!(scenario.places[consumer.place].name, "private_service_connect");
    let rtt = |place| &scenario.round_trips[place][ZoneId::from_index(1)];
    assert_eq!(rtt(consumer.place), rtt(PlaceId::from_index(0)), "as from another zone");
    let disabled = text.replace("\"SPILL_CROSS_ZONE\"", "\"DISABLED\"");
    let off = parse(&disabled).unwrap();
    assert!(!off.scenario(&off.cells()[0]).first_balancer().settings.policy.get().drops_everything());
}

#[test]
fn what_is_always_right_to_write() {
    for keys in [
        "connection_tracking_policy = { idle_timeout = \"600s\" }",
        "connection_tracking_policy = { connection_persistence_on_unhealthy_backends = \"ALWAYS_PERSIST\" }",
        "protocol = \"UNSPECIFIED\"",
        "failover_policy = { disable_connection_drain_on_failover = true }",
        "timeout_sec = 86400",
    ] {
        parse(&changed("[backend_service]", &format!("[backend_service]\n{keys}"))).unwrap();
    }
    for kind in ["TCP", "SSL", "HTTP", "HTTPS", "HTTP2", "GRPC", "GRPC_WITH_TLS"] {
        let text = changed("[health_check]", &format!("[health_check]\ntype = \"{kind}\""));
        let mut expected = Scenario::clone(&scenario(SMALL));
        expected.judges[JudgeId::from_index(0)].check.wants_reply = !["TCP", "SSL"].contains(&kind);
        assert_eq!(*scenario(&text), expected, "they differ in what they ask for alone: {kind}");
    }
}

#[test]
fn instances_of_pools_can_be_struck_by_the_name_of_their_group() {
    let fault = "[[faults]]\nat = \"2m\"\ntarget = { group = \"reserve\" }\n";
    let scenario = scenario(&format!("{POOLS}{fault}"));
    assert_eq!(targets(&scenario, 0), [3, 4].map(BackendId::from_index));
}

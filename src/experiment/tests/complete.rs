//! Right files: what they become, and what holds where they are silent.

use super::{SMALL, changed, parse, scenario};
use crate::experiment::{Cell, Experiment, QUICKSTART};
use crate::ids::{ClientId, GroupId, Id, PlaceId, ZoneId};
use crate::lb::backend::Role;
use crate::lb::health::Phase;
use crate::lb::policy::TrafficOrigin;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::zonal_affinity::{SpecVersion, ZonalAffinity};
use crate::random::Distribution;
use crate::sim::scenario::{BackendFault, FailureMode, FaultEffect, FaultSchedule, Server, Workers};
use crate::time::{SimDuration, SimTime};

/// Every key that this version knows, as the interface writes it.
const COMPLETE: &str = r#"
name = "spillover-sweep"
description = "How much traffic does each spillover ratio keep in its zone while backends fail?"

[simulation]
seed = 42
replications = 10
warmup = "2m"
duration = "30m"
sample_interval = "10s"
max_memory_gib = 8
max_results_gib = 50

[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b", "us-central1-c"]

[network]
same_zone_rtt    = { lognormal = { median = "70us",  sigma = 0.4 } }
cross_zone_rtt   = { lognormal = { median = "190us", sigma = 0.35 } }
other_region_rtt = { constant = "30ms" }
hybrid_rtt       = { constant = "12ms" }
internet_rtt     = { constant = "40ms" }
[[network.links]]
between = ["us-central1-c", "us-central1-b"]
rtt = { lognormal = { median = "176us", sigma = 0.35 } }

[prices]
inter_zone_per_gib = 0.01
processing_per_gib = 0.008

[backend_service]
load_balancing_scheme = "INTERNAL"
protocol = "TCP"
session_affinity = "NONE"
locality_lb_policy = "RENDEZVOUS"
allow_global_access = true
timeout_sec = 30
subsetting = { policy = "NONE" }
is_mirroring_collector = false
network_security_integration = "NONE"
zonal_affinity = { spillover = "ZONAL_AFFINITY_SPILL_CROSS_ZONE", spillover_ratio = 0.5 }
failover_policy = { failover_ratio = 0.25, drop_traffic_if_unhealthy = true, disable_connection_drain_on_failover = false }
connection_tracking_policy = { tracking_mode = "PER_CONNECTION", connection_persistence_on_unhealthy_backends = "DEFAULT_FOR_PROTOCOL", idle_timeout = "600s" }
connection_draining = { draining_timeout = "300s" }
[[backend_service.backends]]
group = "ig-a"
zone = "us-central1-a"
size = 2
failover = false
balancing_mode = "CONNECTION"
capacity_scaler = 0.5
[[backend_service.backends]]
group = "regional"
zones = ["us-central1-c", "us-central1-b"]
size = 3
failover = true
server = { workers = "unlimited", failures = { mode = "refuse" } }

[health_check]
type = "TCP"
check_interval = "5s"
timeout = "4s"
healthy_threshold = 2
unhealthy_threshold = 3
probers = { count = 1, verdict = "single", phase = "1s" }
initial_state = "HEALTHY"
propagation_delay = "3s"

[semantics]
zonal_affinity_text = "PREVIEW_2025"
failover_drain = "300s"
portless_fragments = "forward"

[server]
workers = 16
queue_limit = 7
service_time = { exponential = { mean = "5ms" } }

[[clients]]
name = "web-a"
kind = "vm"
zone = "us-central1-a"
protocol = "TCP"
fragmented = 0.0
destinations = 1
addresses = 100
arrivals = { poisson = { rate = 200.0 } }
connection = { requests = { geometric = { mean = 2.0 } }, think_time = { exponential = { mean = "200ms" } }, request_bytes = { constant = 2048 }, response_bytes = { lognormal = { median = 16384, sigma = 1.0 } } }
connect_timeout = "11s"
request_timeout = "31s"
retries = 1
[[clients]]
name = "europe"
kind = "vm"
region = "europe-west1"
arrivals = { deterministic = { rate = 2 } }
[[clients]]
name = "office"
kind = "interconnect"
arrivals = { poisson = { rate = 2 } }
[[clients]]
name = "paris"
kind = "vm"
region = "europe-west1"
arrivals = { poisson = { rate = 2 } }

[[faults]]
at = "10m"
duration = "5m"
target = { zone = "us-central1-c", fraction = 0.5 }
kind = "silent"
[[faults]]
at = "11m"
target = { group = "ig-a" }
kind = "refuse"
[[faults]]
at = "12m"
target = { backends = ["regional-3", "ig-a-1"] }

[[arms]]
name = "disabled"
set = { "backend_service.zonal_affinity.spillover" = "ZONAL_AFFINITY_DISABLED" }
[[arms]]
name = "stay"
set = { "backend_service.zonal_affinity.spillover" = "ZONAL_AFFINITY_STAY_WITHIN_ZONE" }
[[arms]]
name = "spill"
set = { "backend_service.zonal_affinity.spillover" = "ZONAL_AFFINITY_SPILL_CROSS_ZONE" }
sweep = { "backend_service.zonal_affinity.spillover_ratio" = { from = 0.0, to = 1.0, step = 0.1 } }

[sweep]
"clients.web-a.arrivals.poisson.rate" = [100.0, 200.0, 400.0]

[[thresholds]]
metric = "failure_ratio"
arm = "spill"
max = 0.001
"#;

fn last_cell(experiment: &Experiment) -> &Cell {
    experiment.cells().last().unwrap()
}

#[test]
fn the_complete_example() {
    let experiment = parse(COMPLETE).unwrap();
    assert_eq!(experiment.name(), "spillover-sweep");
    assert!(experiment.description().starts_with("How much traffic"));
    assert_eq!((experiment.seed(), experiment.replications()), (42, 10));
    assert_eq!(experiment.cells().len(), 3 + 3 + 33);
    assert_eq!(experiment.document(), COMPLETE);
    let [threshold] = experiment.thresholds() else { panic!("one threshold") };
    assert_eq!(threshold.metric.name, "failure_ratio");
    assert_eq!(
        (threshold.arm.as_deref(), threshold.limits.min, threshold.limits.max),
        (Some("spill"), None, Some(0.001))
    );

    let scenario = experiment.scenario(last_cell(&experiment));
    let AnyPolicy::BackendService(policy) = scenario.first_balancer().settings.policy else {
        panic!("a backend service")
    };
    assert_eq!(policy.zonal_affinity, ZonalAffinity::SpillCrossZone(Ratio::new(1.0).unwrap()));
    assert_eq!(policy.failover.failover_ratio, Ratio::new(0.25).unwrap());
    assert!(policy.failover.drop_traffic_if_unhealthy && policy.allow_global_access && !policy.is_external);
    assert_eq!(policy.spec_version, SpecVersion::Preview2025);
    assert_eq!(scenario.first_balancer().settings.failover_drain, SimDuration::from_secs(300));
    assert_eq!(scenario.first_balancer().settings.draining_timeout, SimDuration::from_secs(300));
    assert_eq!(scenario.timing.window_start(), SimTime::from_nanos(120_000_000_000));
    assert_eq!(scenario.timing.samples(), 180);
    assert_eq!(scenario.clients[ClientId::from_index(0)].arrivals.mean_rate(), Some(400.0));
    let check = scenario.first_check();
    assert_eq!((check.thresholds.healthy, check.thresholds.unhealthy), (2, 3));
    assert_eq!(check.probers.phase, Phase::At(SimDuration::from_secs(1)));
    assert!(check.initially_healthy);
    assert_eq!(check.propagation_delay, SimDuration::from_secs(3));
}

#[test]
fn backends_are_dealt_out_to_zones_in_turn() {
    let scenario = scenario(COMPLETE);
    let backends: Vec<_> = scenario
        .backends
        .pairs()
        .map(|(id, spec)| (&spec.name[..], spec.zone.index(), scenario.role(id)))
        .collect();
    assert_eq!(
        backends,
        [
            ("ig-a-1", 0, Role::Primary),
            ("ig-a-2", 0, Role::Primary),
            ("regional-1", 2, Role::Failover),
            ("regional-2", 1, Role::Failover),
            ("regional-3", 2, Role::Failover),
        ]
    );
    let servers: Vec<&Server> = scenario.groups.iter().map(|group| &group.server).collect();
    assert_eq!((servers[0].queue_limit, &servers[0].failures), (7, &None));
    assert_eq!((servers[1].workers, servers[1].queue_limit), (Workers::Unlimited, 7));
    let failures = servers[1].failures.as_ref().unwrap();
    assert_eq!(failures.mode, FailureMode::Refuse);
    assert_eq!(failures.time_to_failure, Distribution::exponential("6h".parse().unwrap()).unwrap());
    assert_eq!(failures.time_to_repair, Distribution::exponential("10m".parse().unwrap()).unwrap());
    assert_eq!(scenario.groups[GroupId::from_index(1)].name, "regional");
}

#[test]
fn clients_have_places_and_round_trips() {
    let scenario = scenario(COMPLETE);
    let places: Vec<&str> = scenario.places.iter().map(|place| &place.name[..]).collect();
    assert_eq!(places, ["us-central1-a", "us-central1-b", "us-central1-c", "europe-west1", "interconnect"]);
    let clients: Vec<_> =
        scenario.clients.iter().map(|client| (client.place.index(), client.origin)).collect();
    let zone_a = TrafficOrigin::Zone(ZoneId::from_index(0));
    assert_eq!(
        clients,
        [
            (0, zone_a),
            (3, TrafficOrigin::OtherRegion),
            (4, TrafficOrigin::Hybrid),
            (3, TrafficOrigin::OtherRegion)
        ]
    );
    let rtt =
        |place, zone| scenario.round_trips[PlaceId::from_index(place)][ZoneId::from_index(zone)].clone();
    let micros = |micros: u64| SimDuration::from_nanos(micros * 1000);
    let lognormal = |median, sigma| Distribution::lognormal(micros(median), sigma).unwrap();
    let rtts = |pairs: &[(usize, usize)]| pairs.iter().map(|(a, b)| rtt(*a, *b)).collect::<Vec<_>>();
    assert_eq!(rtts(&[(0, 0), (1, 1)]), vec![lognormal(70, 0.4); 2]);
    assert_eq!(rtts(&[(0, 1), (1, 0), (0, 2)]), vec![lognormal(190, 0.35); 3]);
    assert_eq!(rtts(&[(1, 2), (2, 1)]), vec![lognormal(176, 0.35); 2]);
    assert_eq!(rtt(3, 1), Distribution::constant(SimDuration::from_millis(30)));
    assert_eq!(rtt(4, 1), Distribution::constant(SimDuration::from_millis(12)));
    let web = &scenario.clients[ClientId::from_index(0)];
    assert_eq!((web.addresses.get(), web.retries), (100, 1));
    assert_eq!(web.connect_timeout, SimDuration::from_secs(11));
    assert_eq!(web.request_timeout, SimDuration::from_secs(31));
    assert_eq!(web.connection.requests, Distribution::geometric(2.0).unwrap());
}

#[test]
fn faults_name_backends_in_three_ways() {
    let scenario = scenario(COMPLETE);
    let faults: Vec<(Vec<usize>, f64, BackendFault)> = scenario
        .faults
        .iter()
        .map(|fault| match &fault.effect {
            FaultEffect::Backends { targets, fraction, kind } => {
                (targets.iter().map(|id| id.index()).collect(), fraction.value(), *kind)
            }
            FaultEffect::Link { .. } => panic!("no link is struck"),
        })
        .collect();
    let fails = BackendFault::Fails;
    assert_eq!(
        faults,
        [
            (vec![2, 4], 0.5, fails(FailureMode::Silent)),
            (vec![0, 1], 1.0, fails(FailureMode::Refuse)),
            (vec![4, 0], 1.0, fails(FailureMode::Silent)),
        ]
    );
    let once = |fault: usize| match scenario.faults[fault].schedule {
        FaultSchedule::Once { at, duration } => (at - SimTime::ZERO, duration),
        _ => panic!("each strikes once"),
    };
    assert_eq!(once(0), (SimDuration::from_secs(600), Some(SimDuration::from_secs(300))));
    assert_eq!(once(1).1, None);
}

/// The least that an experiment needs.
const LEAST: &str = r#"
name = "least"
region = { name = "us-central1", zones = ["us-central1-a", "us-central1-b"] }
backend_service = { backends = [{ group = "ig-a", zone = "us-central1-a" }] }
clients = [{ name = "web", kind = "vm", zone = "us-central1-b", arrivals = { poisson = { rate = 1 } } }]
"#;

/// The same with every default written out, as the interface states them.
const DEFAULTS: &str = r#"
name = "least"
description = ""
clients = [{ name = "web", kind = "vm", zone = "us-central1-b", protocol = "TCP", fragmented = 0.0, destinations = 1, addresses = 200, arrivals = { poisson = { rate = 1 } }, connection = { requests = { geometric = { mean = 3.0 } }, think_time = { exponential = { mean = "200ms" } }, request_bytes = { constant = 2048 }, response_bytes = { lognormal = { median = 16384, sigma = 1.0 } } }, connect_timeout = "10s", request_timeout = "30s", retries = 0, retry_backoff = { base = "0s", max = "10s", factor = 2.0, jitter = 0.0 } }]
faults = []
operations = []
thresholds = []
[simulation]
seed = 42
replications = 10
warmup = "2m"
duration = "30m"
sample_interval = "10s"
max_memory_gib = 8
max_results_gib = 50
[region]
name = "us-central1"
zones = ["us-central1-a", "us-central1-b"]
[network]
same_zone_rtt    = { lognormal = { median = "70us",  sigma = 0.4 } }
cross_zone_rtt   = { lognormal = { median = "190us", sigma = 0.35 } }
other_region_rtt = { constant = "30ms" }
hybrid_rtt       = { constant = "12ms" }
internet_rtt     = { constant = "30ms" }
[prices]
inter_zone_per_gib = 0.01
processing_per_gib = 0.008
[backend_service]
load_balancing_scheme = "INTERNAL"
protocol = "TCP"
session_affinity = "NONE"
locality_lb_policy = "RENDEZVOUS"
allow_global_access = false
subsetting = { policy = "NONE" }
is_mirroring_collector = false
network_security_integration = "NONE"
maglev_table_size = 65537
zonal_affinity = { spillover = "ZONAL_AFFINITY_DISABLED", spillover_ratio = 0.0 }
failover_policy = { failover_ratio = 0.0, drop_traffic_if_unhealthy = false, disable_connection_drain_on_failover = false }
connection_tracking_policy = { tracking_mode = "PER_CONNECTION", connection_persistence_on_unhealthy_backends = "DEFAULT_FOR_PROTOCOL", idle_timeout = "600s" }
connection_draining = { draining_timeout = "0s" }
[[backend_service.backends]]
group = "ig-a"
zone = "us-central1-a"
size = 4
failover = false
balancing_mode = "CONNECTION"
[semantics]
zonal_affinity_text = "GA_2026"
failover_drain = "600s"
portless_fragments = "drop"
[health_check]
type = "TCP"
check_interval = "5s"
timeout = "5s"
healthy_threshold = 2
unhealthy_threshold = 2
probers = { count = 1, verdict = "single", phase = "random" }
initial_state = "UNHEALTHY"
propagation_delay = "0s"
[server]
workers = 16
queue_limit = 1024
service_time = { exponential = { mean = "5ms" } }
"#;

#[test]
fn defaults_are_those_of_the_interface() {
    let (least, defaults) = (parse(LEAST).unwrap(), parse(DEFAULTS).unwrap());
    assert_eq!(scenario(LEAST), scenario(DEFAULTS));
    assert_eq!((least.seed(), least.replications()), (defaults.seed(), defaults.replications()));
    assert_eq!(least.cells(), defaults.cells());
    assert_eq!((least.cells()[0].arm.as_str(), least.axes().len(), least.thresholds().len()), ("base", 0, 0));
}

#[test]
fn the_prefix_of_enumerations_may_be_left_out() {
    let long = changed("SPILL_CROSS_ZONE", "ZONAL_AFFINITY_SPILL_CROSS_ZONE");
    assert_eq!(scenario(SMALL), scenario(&long));
}

#[test]
fn the_quickstart_is_right() {
    let experiment = parse(QUICKSTART).unwrap();
    assert_eq!(experiment.name(), "quickstart");
    let arms: Vec<&str> = experiment.cells().iter().map(|cell| &cell.arm[..]).collect();
    assert_eq!(arms[..3], ["disabled", "stay", "spill"]);
    assert!(!experiment.scenario(&experiment.cells()[0]).faults.is_empty());
}

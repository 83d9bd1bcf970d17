//! Regions with several load balancers over the same machines (REG), and what `explain` says of them.

use rand::Rng;

use super::{assert_binomial, experiment};
use crate::answers::explain::{ExplainQuestion, Explanation, explain};
use crate::experiment::Experiment;
use crate::ids::Id;
use crate::random::{Purpose, RunSeed, below};
use crate::sim::Simulation;
use crate::sim::outcome::{FailureCause, Outcome};
use crate::sim::scenario::Scenario;

/// A TCP and a UDP service over the same four machines, of which `half-1` answers on port 80 alone; the UDP service asks `port`.
fn two_rules(port: u16) -> Experiment {
    experiment(&format!(
        r#"
        name = "two"
        simulation = {{ warmup = "60s", duration = "300s", sample_interval = "60s", replications = 1 }}
        region = {{ name = "r", zones = ["z-a", "z-b"] }}
        health_checks = [
            {{ name = "web", type = "HTTP", initial_state = "HEALTHY" }},
            {{ name = "quic", type = "HTTP", port = {port}, initial_state = "HEALTHY" }},
        ]
        instance_groups = [
            {{ name = "whole", zones = ["z-a", "z-b"], size = 3 }},
            {{ name = "half", zone = "z-a", size = 1, serves = [80] }},
        ]
        backend_services = [
            {{ name = "tcp", health_check = "web", backends = [{{ group = "whole" }}, {{ group = "half" }}] }},
            {{ name = "udp", protocol = "UDP", health_check = "quic", backends = [{{ group = "whole" }}, {{ group = "half" }}] }},
        ]
        forwarding_rules = [
            {{ name = "http", ports = [80], backend_service = "tcp" }},
            {{ name = "http3", ports = [443], backend_service = "udp" }},
        ]
        clients = [{{ name = "apps", to = ["http", "http3"], protocol = ["TCP", "UDP"], kind = "vm", zone = "z-a", arrivals = {{ poisson = {{ rate = 20.0 }} }}, connection = {{ requests = {{ constant = 1 }} }} }}]
        "#
    ))
}

fn first(experiment: &Experiment) -> std::sync::Arc<Scenario> {
    experiment.scenario(&experiment.cells()[0])
}

fn run(scenario: &Scenario) -> Outcome {
    let outcome = Simulation::new(scenario, RunSeed::new(5, 0)).run().unwrap();
    outcome.assert_conserved();
    outcome
}

#[test]
fn reg_1_health_is_judged_apart_for_each_resource_and_port() {
    let told = first(&two_rules(443));
    let outcome = run(&told);
    let lanes: Vec<u64> =
        outcome.traffic.iter().map(|row| row.pairs().map(|(_, it)| it.connections).sum()).collect();
    assert_eq!(lanes.len(), 2);
    assert_binomial(lanes[0], lanes[0] + lanes[1], 0.5, "connections to the TCP rule");
    // The check of the UDP service finds port 443 of half-1 closed, that of the TCP service port 80 open.
    assert_eq!(outcome.failed(FailureCause::Refused), 0);
    let unhealthy: Vec<(&str, &str)> = outcome
        .health
        .iter()
        .filter(|seen| seen.unhealthy_nanos > 0)
        .map(|seen| (told.judges[seen.judge].name.as_str(), told.backends[seen.backend].name.as_str()))
        .collect();
    assert_eq!(unhealthy, [("udp/quic", "half-1")]);
    assert_eq!(outcome.health.len(), 8, "two checks of four machines");
    // One that asks port 80 does not notice.
    let blind = first(&two_rules(80));
    let outcome = run(&blind);
    let udp: u64 = outcome.traffic.iter().last().unwrap().pairs().map(|(_, it)| it.connections).sum();
    assert_binomial(outcome.failed(FailureCause::Refused), udp, 0.25, "connections to a closed port");
}

#[test]
fn reg_3_rules_of_one_service_share_its_table_and_its_health_and_no_entry() {
    let text = |rules: &str, to: &str| {
        format!(
            r#"
            name = "shared"
            simulation = {{ warmup = "10s", duration = "120s", sample_interval = "60s", replications = 1 }}
            region = {{ name = "r", zones = ["z-a"] }}
            health_checks = [{{ name = "c", initial_state = "HEALTHY" }}]
            instance_groups = [{{ name = "g", zone = "z-a", size = 8 }}]
            backend_services = [{{ name = "s", session_affinity = "CLIENT_IP", health_check = "c", backends = [{{ group = "g" }}] }}]
            forwarding_rules = [{rules}]
            clients = [{{ name = "one", to = {to}, kind = "vm", zone = "z-a", addresses = 1, arrivals = {{ deterministic = {{ rate = 10.0 }} }} }}]
            "#
        )
    };
    let used = |outcome: &Outcome| outcome.backends.iter().filter(|it| it.traffic.connections > 0).count();
    let one = r#"{ name = "a", backend_service = "s" }"#;
    let world = first(&experiment(&text(one, "\"a\"")));
    assert_eq!((world.balancers.len(), used(&run(&world))), (1, 1), "one client, one address: one machine");
    let several: Vec<String> =
        ["a", "b", "c", "d"].map(|name| one.replace("\"a\"", &format!("{name:?}"))).to_vec();
    let world = first(&experiment(&text(&several.join(", "), r#"["a", "b", "c", "d"]"#)));
    let outcome = run(&world);
    assert_eq!((world.rules.len(), world.balancers.len(), world.judges.len()), (4, 1, 1));
    assert!(used(&outcome) > 1, "the destination is part of the key: each rule has a machine of its own");
    assert!(used(&outcome) <= 4);
}

#[test]
fn a_rule_that_is_led_elsewhere_breaks_what_hashes_otherwise_and_nothing_else() {
    let text = |affinity: &str| {
        format!(
            r#"
            name = "move"
            simulation = {{ warmup = "30s", duration = "240s", sample_interval = "60s", replications = 1 }}
            region = {{ name = "r", zones = ["z-a", "z-b"] }}
            health_checks = [{{ name = "l", type = "LEGACY_HTTP", initial_state = "HEALTHY" }}, {{ name = "h", type = "HTTP", initial_state = "HEALTHY" }}]
            instance_groups = [{{ name = "g", zones = ["z-a", "z-b"], size = 8 }}]
            target_pools = [{{ name = "pool", instances = ["g"], health_checks = ["l"] }}]
            backend_services = [{{ name = "service", load_balancing_scheme = "EXTERNAL", session_affinity = "{affinity}", health_check = "h", backends = [{{ group = "g" }}] }}]
            forwarding_rules = [{{ name = "www", target = "pool" }}]
            clients = [{{ name = "users", kind = "internet", arrivals = {{ poisson = {{ rate = 10.0 }} }}, connection = {{ requests = {{ constant = 10 }}, think_time = {{ constant = "5s" }} }} }}]
            operations = [{{ at = "150s", do = "forwarding_rules.set_target", forwarding_rule = "www", target = "service" }}]
            "#
        )
    };
    assert_eq!(run(&first(&experiment(&text("NONE")))).failed(FailureCause::Reset), 0);
    let moved = run(&first(&experiment(&text("CLIENT_IP"))));
    // Each of those that are open then has 7 chances of 8 to meet another machine.
    let open = 10.0 * 45.0;
    let expected: f64 = open * 7.0 / 8.0;
    let broken = moved.failed(FailureCause::Reset) as f64;
    assert!((broken - expected).abs() < 5.0 * expected.sqrt(), "{broken} of about {open} broke");
}

#[test]
fn zon_4_global_access_belongs_to_the_rule() {
    let text = r#"
        name = "reach"
        simulation = { warmup = "10s", duration = "60s", sample_interval = "60s", replications = 1 }
        region = { name = "r", zones = ["z-a"] }
        health_checks = [{ name = "c", initial_state = "HEALTHY" }]
        instance_groups = [{ name = "g", zone = "z-a", size = 2 }]
        backend_services = [{ name = "s", health_check = "c", load_balancing_scheme = "INTERNAL", backends = [{ group = "g" }] }]
        forwarding_rules = [{ name = "near", backend_service = "s" }, { name = "wide", backend_service = "s", allow_global_access = true }]
        clients = [
            { name = "shut", to = "near", kind = "vm", region = "elsewhere", arrivals = { deterministic = { rate = 5.0 } } },
            { name = "open", to = "wide", kind = "vm", region = "elsewhere", arrivals = { deterministic = { rate = 5.0 } } },
            { name = "tunnel", to = "near", kind = "vpn", region = "elsewhere", arrivals = { deterministic = { rate = 5.0 } } },
        ]
        operations = [{ at = "40s", do = "forwarding_rules.patch", forwarding_rule = "near", allow_global_access = true }]
    "#;
    let experiment = experiment(text);
    let outcome = run(&first(&experiment));
    let reached = |client: usize| -> u64 {
        let row = outcome.traffic.iter().nth(client).unwrap();
        row.zones.iter().map(|it| it.connections).sum()
    };
    // From 40 s on all of them get there, and those of the last seven seconds before with a SYN that is sent again.
    assert_eq!([0, 1, 2].map(reached), [150 + 35, 300, 150 + 35]);
    let at = |seconds: u64| {
        let at = Some(crate::time::SimTime::from_nanos(seconds * 1_000_000_000));
        let explained = explain(&experiment, ExplainQuestion { at, ..ExplainQuestion::default() }).unwrap();
        explained.iter().map(|it| it.outcome).collect::<Vec<_>>()
    };
    assert_eq!((at(39)[0], at(39)[2], at(40)[0] != "dropped"), ("dropped", "dropped", true));
}

#[test]
fn what_an_operation_creates_serves_in_its_own_role() {
    let text = r#"
        name = "late"
        simulation = { warmup = "10s", duration = "60s", sample_interval = "60s", replications = 1 }
        region = { name = "r", zones = ["z-a"] }
        health_checks = [{ name = "c", initial_state = "HEALTHY" }, { name = "l", type = "LEGACY_HTTP", initial_state = "HEALTHY" }]
        instance_groups = [{ name = "g", zone = "z-a", size = 2 }]
        instances = [{ name = "vm", zone = "z-a" }]
        target_pools = [{ name = "old", instances = ["g"], health_checks = ["l"] }]
        forwarding_rules = [{ name = "www", target = "old" }]
        clients = [{ name = "users", kind = "internet", arrivals = { deterministic = { rate = 5.0 } } }]
        operations = [
            { at = "20s", do = "target_pools.insert", name = "new", instances = ["vm"], health_checks = ["l"] },
            { at = "30s", do = "forwarding_rules.set_target", forwarding_rule = "www", target = "new" },
        ]
    "#;
    let experiment = experiment(text);
    let outcome = run(&first(&experiment));
    let connections: Vec<u64> = outcome.backends.iter().map(|it| it.traffic.connections).collect();
    assert_eq!(
        (connections[0] + connections[1], connections[2]),
        (100, 200),
        "from 30 s on the new pool serves"
    );
    let at = Some(crate::time::SimTime::from_nanos(30_000_000_000));
    let explained = explain(&experiment, ExplainQuestion { at, ..ExplainQuestion::default() }).unwrap();
    assert_eq!(
        (explained[0].outcome, &explained[0].configured.primary),
        ("target_pool", &vec!["vm".to_owned()])
    );
}

#[test]
fn what_the_api_refuses_is_placed_where_the_file_says_it() {
    let region = |check: &str, group: &str, rule: &str| {
        format!(
            r#"
            name = "placed"
            region = {{ name = "r", zones = ["z-a"] }}
            health_checks = [{{ name = "c" }}]
            instance_groups = [{{ name = "g", zone = "z-a" }}]
            backend_services = [{{ name = "s", health_check = "{check}", backends = [{{ group = "{group}" }}] }}]
            forwarding_rules = [{{ name = "f", backend_service = "s"{rule} }}]
            clients = [{{ name = "w", kind = "vm", zone = "z-a", arrivals = {{ poisson = {{ rate = 1.0 }} }} }}]
            "#
        )
    };
    drop(experiment(&region("c", "g", "")));
    for (text, place) in [
        (region("d", "g", ""), "`backend_services.s.health_check`"),
        (region("c", "h", ""), "`backend_services.s.backends.h.group`"),
        (region("c", "g", ", ip_address = \"10.0.0\""), "`forwarding_rules.f.ip_address`"),
        (region("c", "g", ", ports = [80, 70000]"), "`forwarding_rules.f.ports.1`"),
    ] {
        let refusal = super::try_experiment(&text).expect_err("it is refused").to_string();
        assert!(refusal.contains(place), "{place} is not in {refusal}");
    }
}

const SPILL: [&str; 4] = ["DISABLED", "STAY_WITHIN_ZONE", "SPILL_CROSS_ZONE", "SPILL_CROSS_ZONE"];
const RATIO: [&str; 3] = ["0.0", "0.5", "1.0"];
const GROUPS: [&str; 3] = ["ga", "gb", "gc"];

/// One of `of`, as likely as any other.
fn one<'a>(of: &[&'a str], pick: &mut dyn FnMut(u64) -> usize) -> &'a str {
    of[pick(of.len() as u64)]
}

fn random_service(name: &str, pick: &mut dyn FnMut(u64) -> usize) -> String {
    let (spill, ratio) = (one(&SPILL, pick), one(&RATIO, pick));
    let (failover, skipped) = (pick(2) == 1, pick(4));
    let backends = (0..3)
        .filter(|index| *index != skipped)
        .map(|index| format!("{{ group = \"{}\", failover = {} }}", GROUPS[index], failover && index == 2));
    let backends: Vec<String> = backends.collect();
    format!(
        "{{ name = \"{name}\", health_check = \"c\", zonal_affinity = {{ spillover = \"{spill}\", spillover_ratio = {ratio} }}, \
         failover_policy = {{ failover_ratio = {} }}, backends = [{}] }},\n",
        one(&RATIO, pick),
        backends.join(", ")
    )
}

fn random_operation(pick: &mut dyn FnMut(u64) -> usize) -> String {
    let (at, service) = (2 + pick(56), one(&["s0", "s1", "s2"], pick));
    let patch = format!("do = \"backend_services.patch\", backend_service = \"{service}\"");
    let call = match pick(6) {
        0 => format!("{patch}, zonal_affinity = {{ spillover = \"{}\" }}", one(&SPILL, pick)),
        1 => {
            format!("do = \"forwarding_rules.set_target\", forwarding_rule = \"r0\", target = \"{service}\"")
        }
        2 => format!("{patch}, backends = [{{ group = \"{}\" }}]", one(&GROUPS, pick)),
        3 => {
            let ratio = one(&RATIO, pick);
            format!(
                "do = \"target_pools.set_backup\", target_pool = \"p0\", target = \"p1\", failover_ratio = {ratio}"
            )
        }
        4 => {
            let number = 1 + pick(2);
            format!("do = \"target_pools.add_instance\", target_pool = \"p0\", instances = [\"gb-{number}\"]")
        }
        _ => format!("{patch}, failover_policy = {{ failover_ratio = {} }}", one(&RATIO, pick)),
    };
    format!("{{ at = \"{at}s\", {call} }},\n")
}

fn random_client(index: usize, pick: &mut dyn FnMut(u64) -> usize) -> String {
    let origin = match (index, pick(4)) {
        (3, _) => "kind = \"internet\"".to_owned(),
        (_, 3) => "kind = \"vpn\"".to_owned(),
        (_, zone) => format!("kind = \"vm\", zone = \"{}\"", ["z-a", "z-b", "z-c"][zone]),
    };
    let arrivals = "arrivals = { deterministic = { rate = 2.0 } }";
    format!("{{ name = \"c{index}\", to = \"r{index}\", {origin}, {arrivals} }},\n")
}

/// A random region with random operations: three services, two pools, four rules, a client group of each.
fn random_region(number: u64) -> String {
    let mut draws = RunSeed::new(number, 0).stream(Purpose::Arrivals, "region").generator();
    let mut pick = |count: u64| below(draws.next_u64(), count) as usize;
    let services: String = ["s0", "s1", "s2"].map(|name| random_service(name, &mut pick)).concat();
    let operations: String = (0..pick(6)).map(|_| random_operation(&mut pick)).collect();
    let clients: String = (0..4).map(|index| random_client(index, &mut pick)).collect();
    let [a, b, c] = [1 + pick(3), 2 + pick(2), 1 + pick(3)];
    format!(
        r#"
        name = "random"
        simulation = {{ warmup = "1s", duration = "60s", sample_interval = "60s", replications = 1 }}
        region = {{ name = "r", zones = ["z-a", "z-b", "z-c"] }}
        health_checks = [{{ name = "c", initial_state = "HEALTHY" }}, {{ name = "l", type = "LEGACY_HTTP", initial_state = "HEALTHY" }}]
        instance_groups = [
            {{ name = "ga", zone = "z-a", size = {a} }},
            {{ name = "gb", zones = ["z-b", "z-a"], size = {b} }},
            {{ name = "gc", zone = "z-c", size = {c} }},
        ]
        target_pools = [{{ name = "p0", instances = ["ga"], health_checks = ["l"] }}, {{ name = "p1", instances = ["gc"] }}]
        backend_services = [{services}]
        forwarding_rules = [
            {{ name = "r0", backend_service = "s0" }}, {{ name = "r1", backend_service = "s1" }},
            {{ name = "r2", backend_service = "s2" }}, {{ name = "r3", target = "p0" }},
        ]
        clients = [{clients}]
        operations = [{operations}]
        "#
    )
}

#[test]
fn explain_tells_where_the_next_connection_goes_in_random_regions() {
    let (mut asked, mut regions) = (0, 0);
    for number in 0..400 {
        let text = random_region(number);
        // Some operations are refused for what others have done.
        let Ok(experiment) = super::try_experiment(&text) else { continue };
        regions += 1;
        let scenario = first(&experiment);
        let packets = Simulation::new(&scenario, RunSeed::new(number, 0)).run_traced(60).unwrap();
        let mut known: Option<(crate::time::SimTime, Vec<Explanation>)> = None;
        for packet in packets.iter().filter(|packet| packet.packet == "syn") {
            if known.as_ref().is_none_or(|(at, _)| *at != packet.at) {
                let question = ExplainQuestion { at: Some(packet.at), ..ExplainQuestion::default() };
                known = Some((packet.at, explain(&experiment, question).unwrap()));
            }
            let explained = &known.as_ref().unwrap().1[packet.client.index()];
            let backend = packet.backend.map(|backend| scenario.backends[backend].name.clone());
            let outcome = packet.outcome.map_or("dropped", |outcome| outcome.name());
            assert_eq!(explained.outcome, outcome, "at {:?}: {text}", packet.at);
            let reachable = &explained.modified_eligible;
            assert!(backend.is_none_or(|backend| reachable.contains(&backend)), "at {:?}: {text}", packet.at);
            asked += 1;
        }
    }
    assert!(regions > 200 && asked > 10_000, "{regions} regions, {asked} connections");
}

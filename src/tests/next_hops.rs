//! Load balancers as next hops: what passes them, and whether both directions of a connection meet one machine.

use super::{assert_binomial, outcome};
use crate::sim::outcome::{FailureCause, Outcome};

/// One load balancer of a pair: its session affinity, and whether it has zonal affinity.
type Side<'a> = (&'a str, bool);

const HEAD: &str = r#"
    name = "hops"
    simulation = { replications = 1, warmup = "0s", duration = "60s", sample_interval = "60s" }
    region = { name = "r", zones = ["a", "b", "c"] }
    network = { same_zone_rtt = { constant = "1ms" }, cross_zone_rtt = { constant = "1ms" }, other_region_rtt = { constant = "1ms" } }
    server = { workers = "unlimited", service_time = { constant = "1ms" } }
    [[health_checks]]
    name = "check"
    type = "TCP"
    port = 22
    initial_state = "HEALTHY"
    check_interval = "300s"
"#;

/// A group of `size` machines in each zone.
fn firewalls(size: usize) -> String {
    let group = |zone| {
        format!(
            "[[instance_groups]]\nname = \"fw-{zone}\"\nzone = \"{zone}\"\nsize = {size}\nserves = [22]\n"
        )
    };
    ["a", "b", "c"].map(group).concat()
}

fn balancer(name: &str, (affinity, is_zonal): Side<'_>, rule: &str) -> String {
    let zonal =
        if is_zonal { "zonal_affinity = { spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\" }\n" } else { "" };
    format!(
        "[[backend_services]]\nname = \"{name}\"\nhealth_check = \"check\"\nsession_affinity = \"{affinity}\"\n{zonal}\
         backends = [{{ group = \"fw-a\" }}, {{ group = \"fw-b\" }}, {{ group = \"fw-c\" }}]\n\
         [[forwarding_rules]]\nname = \"{name}\"\nbackend_service = \"{name}\"\n{rule}"
    )
}

fn clients(name: &str, keys: &str) -> String {
    format!(
        "[[clients]]\nname = \"{name}\"\n{keys}\naddresses = 500\nconnect_timeout = \"2s\"\nrequest_timeout = \"2s\"\n\
         arrivals = {{ poisson = {{ rate = 50.0 }} }}\nconnection = {{ requests = {{ constant = 2 }} }}\n"
    )
}

/// Clients of zone a behind the route.
fn spokes(protocol: &str) -> String {
    let keys = "kind = \"vm\"\nzone = \"a\"\ndestination_range = \"10.1.0.0/16\"\ndestinations = 20";
    clients("spokes", &format!("{keys}\nprotocol = {protocol}"))
}

/// A firewall pair of `size` machines in each of three zones, with `route` as further keys of its route.
fn pair(size: usize, sides: [Side<'_>; 2], route: &str, protocol: &str) -> String {
    let [inner, outer] = sides;
    let balancers = [balancer("in", inner, ""), balancer("out", outer, "")].concat();
    let route = format!(
        "[[routes]]\nname = \"firewalls\"\ndestination = \"10.1.0.0/16\"\nnext_hop = \"in\"\nreturn_next_hop = \"out\"\n{route}\n"
    );
    [HEAD, &firewalls(size), &balancers, &route, &spokes(protocol)].concat()
}

fn split(outcome: &Outcome) -> (u64, u64) {
    (outcome.split_connections, outcome.led_back_connections)
}

const SYMMETRIC: [&str; 4] = ["NONE", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_PROTO", "CLIENT_IP"];

#[test]
fn reg_4_with_symmetric_hashing_both_directions_meet_one_machine() {
    for affinity in SYMMETRIC {
        for protocol in ["\"TCP\"", "\"UDP\""] {
            let outcome = outcome(&pair(2, [(affinity, false), (affinity, false)], "", protocol));
            let (split, all) = split(&outcome);
            assert_eq!((split, outcome.completed), (0, all), "{affinity} {protocol}");
            assert!(all > 2500, "{affinity}: {all}");
        }
    }
    let alike = outcome(&pair(2, [("NONE", false), ("CLIENT_IP_PORT_PROTO", false)], "", "\"TCP\""));
    assert_eq!(alike.split_connections, 0, "NONE counts as the five-tuple (O12)");
}

#[test]
fn reg_4_otherwise_all_but_one_nth_of_the_connections_are_split() {
    for size in [1, 3] {
        let machines = 3.0 * size as f64;
        for sides in [["CLIENT_IP_PROTO", "NONE"], ["NONE", "CLIENT_IP"], ["CLIENT_IP", "CLIENT_IP_PROTO"]] {
            let outcome = outcome(&pair(size, sides.map(|side| (side, false)), "", "\"TCP\""));
            let (split, all) = split(&outcome);
            if sides[1] == "CLIENT_IP_PROTO" {
                // Fewer pairs of addresses than connections: they share their lots.
                assert!(split > all / 4, "{sides:?}");
            } else {
                assert_binomial(split, all, 1.0 - 1.0 / machines, &format!("{sides:?}, {machines} machines"));
            }
            assert_eq!(outcome.failed(FailureCause::ConnectTimeout), split, "its SYN-ACKs are dropped, all");
            assert_eq!(outcome.completed, all - split);
        }
    }
}

#[test]
fn reg_4_zonal_affinity_on_one_side_splits() {
    // A machine in each zone: the zonal side takes that of the clients' zone, the other one any.
    for zonal in [[true, false], [false, true]] {
        let sides = zonal.map(|zonal| ("NONE", zonal));
        let outcome = outcome(&pair(1, sides, "destination_zone = \"a\"", "\"TCP\""));
        let (split, all) = split(&outcome);
        assert_binomial(split, all, 2.0 / 3.0, &format!("{zonal:?}"));
    }
}

#[test]
fn zon_3_zonal_affinity_on_both_sides_suits_one_zone() {
    let sides = [("NONE", true), ("NONE", true)];
    let shares = ["destination_zone = \"a\"", "destination_zone = \"b\"", ""].map(|zone| {
        let outcome = outcome(&pair(2, sides, zone, "\"TCP\""));
        let (split, all) = split(&outcome);
        assert_eq!(outcome.completed, all - split, "{zone}");
        split as f64 / all as f64
    });
    assert_eq!(shares[..2], [0.0, 1.0], "destinations in the clients' zone, and in another");
    // Answers from no zone meet all six; where the machine of all six is in zone a, it is that of zone a too.
    assert!((shares[2] - 2.0 / 3.0).abs() < 0.05, "{}", shares[2]);
}

#[test]
fn reg_4_datagrams_are_lost_too() {
    let outcome = outcome(&pair(1, [("CLIENT_IP_PROTO", false), ("NONE", false)], "", "\"UDP\""));
    let (split, all) = split(&outcome);
    assert_binomial(split, all, 2.0 / 3.0, "UDP");
    assert_eq!(outcome.failed(FailureCause::RequestTimeout), split, "nothing is sent again");
}

#[test]
fn reg_4_session_sync_lets_answers_pass_where_machines_live() {
    let world = pair(1, [("NONE", true), ("NONE", false)], "session_sync = true", "\"TCP\"");
    let alive = outcome(&world);
    let (some, all) = split(&alive);
    assert_binomial(some, all, 2.0 / 3.0, "they part all the same");
    assert_eq!(alive.completed, all, "and nothing is lost");
    // Answers meet machines of all zones, of which the load balancer notices no failure.
    let fault = "[[faults]]\nat = \"0s\"\nduration = \"1h\"\ntarget = { zone = \"b\" }\nkind = \"silent\"\n";
    let outcome = outcome(&format!("{world}{fault}"));
    let (_, all) = split(&outcome);
    assert_binomial(outcome.failed(FailureCause::ConnectTimeout), all, 1.0 / 3.0, "those that meet zone b");
}

#[test]
fn reg_4_without_a_return_next_hop_answers_come_back_by_themselves() {
    let world = pair(1, [("CLIENT_IP_PROTO", false), ("NONE", false)], "", "\"TCP\"");
    let outcome = outcome(&world.replace("return_next_hop = \"out\"\n", ""));
    assert_eq!(split(&outcome), (0, 0), "nothing is measured");
    assert!(outcome.started > 2500);
    assert_eq!(outcome.completed, outcome.started);
}

#[test]
fn nhop_1_a_next_hop_forwards_all_protocols_and_ports() {
    // The machines answer on port 22 alone, and the rule takes TCP to port 80.
    let side = ("NONE", false);
    let protocols = "[\"TCP\", \"UDP\", \"ESP\", \"ICMP\", \"SCTP\"]";
    let world = pair(1, [side, side], "", protocols);
    let rule = "[[forwarding_rules]]\nname = \"in\"\n";
    let world = world.replace(rule, &format!("{rule}ip_protocol = \"TCP\"\nports = [80]\n"));
    let routed = outcome(&world);
    assert_eq!((routed.traffic.len(), routed.completed), (5, routed.started));
    let direct = clients("direct", "kind = \"vm\"\nzone = \"a\"\nto = \"in\"");
    let both = outcome(&format!("{world}{direct}"));
    let refused: u64 = both.traffic.iter().last().unwrap().pairs().map(|(_, it)| it.failed_connections).sum();
    assert_eq!(both.failed(FailureCause::Refused), refused, "who connects to the rule meets a closed port");
    assert!(refused > 2500);
}

/// Connections of each client group, and those of them that failed.
fn failures(outcome: &Outcome) -> Vec<(u64, u64)> {
    let sums = outcome.traffic.iter().map(|row| {
        let traffic = row.pairs().map(|(_, traffic)| traffic);
        traffic.fold((0, 0), |(all, failed), it| (all + it.connections, failed + it.failed_connections))
    });
    sums.collect()
}

#[test]
fn nhop_2_some_next_hops_drop_everything() {
    let (side, plain) = (("NONE", false), "name = \"in\"\nhealth_check");
    let direct = clients("direct", "kind = \"vm\"\nzone = \"a\"\nto = \"in\"").replace("serves = [22]\n", "");
    let world = format!("{}{direct}", pair(1, [side, side], "", "\"TCP\"").replace("serves = [22]\n", ""));
    let rule = "[[forwarding_rules]]\nname = \"in\"\n";
    let l3 = world.replace(plain, "name = \"in\"\nprotocol = \"UNSPECIFIED\"\nhealth_check");
    let l3 = l3.replace(rule, &format!("{rule}ip_protocol = \"L3_DEFAULT\"\nall_ports = true\n"));
    let shared = world.replace(rule, &format!("{rule}ip_address = \"10.9.0.9\"\nports = [80]\n"));
    let shared = format!(
        "{shared}[[forwarding_rules]]\nname = \"too\"\nip_address = \"10.9.0.9\"\nports = [443]\nbackend_service = \"in\"\n"
    );
    for (world, what) in [(&l3, "L3_DEFAULT"), (&shared, "a shared address")] {
        let [(all, failed), direct] = failures(&outcome(world))[..] else { panic!("two groups") };
        assert_eq!(failed, all, "{what}: packets that a route leads there are dropped");
        assert_eq!(direct.1, 0, "{what}: others are not");
    }
    let answers = world.replace(
        "next_hop = \"in\"\nreturn_next_hop = \"out\"",
        "next_hop = \"out\"\nreturn_next_hop = \"in\"",
    );
    let answers = answers.replace(plain, "name = \"in\"\nprotocol = \"UNSPECIFIED\"\nhealth_check");
    let answers = answers.replace(rule, &format!("{rule}ip_protocol = \"L3_DEFAULT\"\nall_ports = true\n"));
    let answers = outcome(&answers);
    assert_eq!(
        failures(&answers)[0].0,
        answers.failed(FailureCause::ConnectTimeout),
        "answers are dropped so"
    );
    assert_eq!(split(&answers), (0, 0), "and meet no machine");
}

#[test]
fn nhop_2_other_regions_need_global_access() {
    let side = ("NONE", false);
    let world = pair(1, [side, side], "", "\"TCP\"").replace("zone = \"a\"\ndest", "region = \"far\"\ndest");
    let closed = outcome(&world);
    assert_eq!(closed.failed(FailureCause::NoBackend), closed.started);
    let rule = "[[forwarding_rules]]\nname = \"in\"\n";
    let open = outcome(&world.replace(rule, &format!("{rule}allow_global_access = true\n")));
    assert_eq!(open.completed, open.started);
}

#[test]
fn nhop_2_one_of_equal_routes_takes_all_packets() {
    let side = ("NONE", false);
    let world = pair(1, [side, side], "", "\"TCP\"");
    let other = |name: &str, kind: &str| {
        let keys = format!("next_hop = \"in\"\nkind = \"{kind}\"\ndestination = \"10.1.0.0/16\"");
        outcome(&format!("{world}[[routes]]\nname = \"{name}\"\n{keys}\n")).led_back_connections
    };
    assert_eq!(other("a", "static"), 0, "the first by name, which has no return next hop");
    assert!(other("z", "static") > 2500, "the first by name, always");
    assert_eq!(other("z", "policy_based"), 0, "a policy-based one goes first");
}

#[test]
fn reg_4_one_load_balancer_can_lead_both_directions() {
    // More clients than a tracking table has numbers for destinations: answers go to them.
    for (affinity, is_symmetric) in [("NONE", true), ("CLIENT_IP", true), ("CLIENT_IP_NO_DESTINATION", false)]
    {
        let side = (affinity, false);
        let world = pair(1, [side, side], "", "\"TCP\"")
            .replace("return_next_hop = \"out\"", "return_next_hop = \"in\"");
        let world =
            world.replace("addresses = 500", "addresses = 100000").replace("rate = 50.0", "rate = 100.0");
        let outcome = outcome(&world);
        let (split, all) = split(&outcome);
        assert!(all > 4096, "{affinity}: {all}");
        if is_symmetric {
            assert_eq!(split, 0, "{affinity}");
        } else {
            assert!(split > all / 3, "{affinity}: {split} of {all}");
        }
    }
}

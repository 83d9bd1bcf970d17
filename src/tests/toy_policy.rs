//! A policy of our own, to show that one comes in through the seam: it is simulated and explained, and no other file than
//! its enum knows of it.

use super::{assert_binomial, experiment};
use crate::answers::explain::explain_down;
use crate::cli::explain::text;
use crate::ids::{BackendId, BalancerId, ClientId, Id, LaneId, SetId, ZoneId};
use crate::lb::LoadBalancer;
use crate::lb::packet::{Endpoint, FiveTuple, Packet, PacketKind, Protocol};
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::{Placement, PlacementOutcome, PolicyState, PolicyStep};
use crate::lb::policy::{TrafficOrigin, Trail, ZonePolicy};
use crate::lb::sets::{Choice, SetSpec};
use crate::random::RunSeed;
use crate::sim::Simulation;
use crate::sim::scenario::Scenario;
use crate::time::SimTime;

/// Some backends are lent to all zones. From a moment on a share of each zone's connections stays on its own backends, and
/// the others go to those lent; all do where none of the zone's is healthy. Traffic from outside enters in the first zone.
#[derive(Clone, Debug, PartialEq)]
pub struct ToyPolicy {
    lent: Vec<BackendId>,
    at_home: f64,
    from: SimTime,
}

impl ZonePolicy for ToyPolicy {
    fn name(&self) -> Option<&'static str> {
        Some("toy")
    }

    /// The healthy backends of each zone, and then those that are lent.
    fn sets(&mut self, state: PolicyState<'_>) -> Vec<SetSpec> {
        let healthy = |zone, among| SetSpec { zone, among, healthy_only: true, role: None };
        let zones = (0..state.roster.zones()).map(|zone| Some(ZoneId::from_index(zone)));
        zones.map(|zone| healthy(zone, None)).chain([healthy(None, Some(self.lent.clone()))]).collect()
    }

    fn enter(&self, _state: PolicyState<'_>, origin: TrafficOrigin) -> TrafficOrigin {
        if matches!(origin, TrafficOrigin::Zone(_)) {
            origin
        } else {
            TrafficOrigin::Zone(ZoneId::from_index(0))
        }
    }

    fn next_change(&self, now: SimTime) -> Option<SimTime> {
        (now < self.from).then_some(self.from)
    }

    fn decide(&self, state: PolicyState<'_>, origin: TrafficOrigin, trail: &mut Trail) -> Placement {
        let TrafficOrigin::Zone(zone) = origin else { unreachable!("everything enters in a zone") };
        let (home, lent) = (SetId::from_index(zone.index()), SetId::from_index(state.roster.zones()));
        let (choice, outcome) = if state.roster.size(home) == 0 {
            (Choice::One(lent), PlacementOutcome::Spilled)
        } else if state.now < self.from {
            (Choice::One(home), PlacementOutcome::InZone)
        } else {
            let parts = [(home, self.at_home), (lent, 1.0 - self.at_home)];
            (Choice::split(&parts), PlacementOutcome::Split)
        };
        trail.note(|| {
            let because = format!("{:.2} of the connections stay at home while any backend is", self.at_home);
            let count = format!("{} of them are healthy", state.roster.size(home));
            let at_home = PolicyStep::new("at home", Some(Choice::One(home)));
            let chosen = PolicyStep::new("at home and lent", Some(choice.clone()));
            vec![PolicyStep { because: count, ..at_home }, PolicyStep { because, ..chosen }]
        });
        Placement { choice, outcome, serving: None }
    }
}

/// Four backends in zone a, three in zone b, and two in zone c, which are lent; clients in a and b and behind a VPN.
fn scenario(from: SimTime) -> Scenario {
    let client = |name: &str, rest: &str| {
        format!(
            "[[clients]]\nname = \"{name}\"\naddresses = 500\narrivals.poisson.rate = 100.0\n\
             connection.requests.constant = 1\n{rest}\n"
        )
    };
    let group = |zone: &str, size: usize| {
        format!("[[backend_service.backends]]\ngroup = \"{zone}\"\nzone = \"{zone}\"\nsize = {size}\n")
    };
    let head = r#"
        name = "toy"
        simulation = { replications = 1, warmup = "10s", duration = "100s" }
        region = { name = "r", zones = ["a", "b", "c"] }
        server = { workers = "unlimited", service_time = { constant = "1ms" } }
        health_check = { initial_state = "HEALTHY" }
    "#;
    let clients = [
        client("web-a", "kind = \"vm\"\nzone = \"a\""),
        client("web-b", "kind = \"vm\"\nzone = \"b\""),
        client("office", "kind = \"vpn\""),
    ];
    let groups = [group("a", 4), group("b", 3), group("c", 2)];
    let experiment = experiment(&[head.to_owned(), groups.concat(), clients.concat()].concat());
    let mut scenario = (*experiment.scenario(&experiment.cells()[0])).clone();
    let lent = vec![BackendId::from_index(7), BackendId::from_index(8)];
    scenario.balancers[BalancerId::from_index(0)].settings.policy =
        AnyPolicy::Toy(ToyPolicy { lent, at_home: 0.7, from });
    scenario
}

#[test]
fn it_shares_traffic_out_as_it_says() {
    let scenario = scenario(SimTime::ZERO);
    let outcome = Simulation::new(&scenario, RunSeed::new(7, 0)).run().unwrap();
    outcome.assert_conserved();
    let total = outcome.total().connections;
    assert_eq!(outcome.decided(PlacementOutcome::Split), total);
    // Zone a's backends serve the office too.
    let shares = [0.7 * 2.0 / 3.0 / 4.0, 0.7 / 3.0 / 3.0, 0.3 / 2.0];
    for (id, spec) in scenario.backends.pairs() {
        let connections = outcome.backends[id].traffic.connections;
        assert_binomial(connections, total, shares[spec.zone.index()], &spec.name);
    }
    for (client, home) in [(0, 0), (1, 1), (2, 0)] {
        let row = &outcome.traffic[LaneId::from_index(client)];
        let of_client: u64 = row.pairs().map(|(_, traffic)| traffic.connections).sum();
        let stayed = row.zones[ZoneId::from_index(home)].connections;
        assert_binomial(stayed, of_client, 0.7, &scenario.clients[ClientId::from_index(client)].name);
    }
}

#[test]
fn it_changes_when_its_time_comes_although_nothing_else_does() {
    let second = |seconds: u64| SimTime::from_nanos(seconds * 1_000_000_000);
    let scenario = scenario(second(30));
    let members = scenario.members(BalancerId::from_index(0), |_| true);
    let mut balancer = LoadBalancer::new(scenario.first_balancer().settings.clone(), 3, members);
    let mut outcome = |seconds: u64, port: u16| {
        let destination = Endpoint { ip: 1 << 30, port: 80 };
        let tuple = FiveTuple { source: Endpoint { ip: 1, port }, destination, protocol: Protocol::Tcp };
        let packet = Packet { tuple, kind: PacketKind::Syn, origin: TrafficOrigin::Hybrid };
        balancer.route(second(seconds), &packet).selected().map(|(_, outcome)| outcome)
    };
    assert_eq!(outcome(29, 1), Some(PlacementOutcome::InZone));
    assert_eq!(outcome(30, 2), Some(PlacementOutcome::Split));
    assert_eq!(outcome(1000, 3), Some(PlacementOutcome::Split));
}

#[test]
fn it_is_explained() {
    let scenario = scenario(SimTime::ZERO);
    let (client, down) = (ClientId::from_index(1), [BackendId::from_index(4)]);
    let explanation = explain_down(&scenario, &down, client);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!((&json["outcome"], &json["policy"]["name"]), (&"split".into(), &"toy".into()));
    let reached = serde_json::json!(["b-2", "b-3", "c-1", "c-2"]);
    assert_eq!(json["modified_eligible"], reached);
    let steps = &json["policy"]["steps"];
    assert_eq!(steps[0]["because"], "2 of them are healthy");
    assert_eq!((&steps[1]["backends"], &json["because"]), (&reached, &steps[1]["because"]));
    assert_eq!(steps[1]["split"][0]["backends"], serde_json::json!(["b-2", "b-3"]));
    assert!((steps[1]["split"][1]["share"].as_f64().unwrap() - 0.3).abs() < 1e-12);
    let text = text::render(&[explanation]);
    for line in [
        "arm  (toy) · client web-b in b\n",
        "  at home                                    2  b-2..3\n       2 of them are healthy\n",
        "  at home and lent                           4  b-2..3 c-1..2\n",
        "  => split: 0.70 of the connections stay at home while any backend is\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let all_down = [4, 5, 6].map(BackendId::from_index);
    assert_eq!(explain_down(&scenario, &all_down, client).outcome, "spilled");
}

//! Random sequences of operations: what the load balancer is told adds up to what the resources say.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::compute::{
    Assumptions, ForwardingRule, Home, HttpHealthCheck, InstanceGroup, PlannedInstance, Scheme,
    ServiceBackend, TargetPool,
};
use crate::experiment::node::Node;
use crate::experiment::path::KeyPath;
use crate::experiment::reader::read_tagged;
use crate::experiment::world::groups::members;
use crate::ids::{BackendId, BalancerId, Id};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::change::Change;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;

/// How many backends each group may ever have.
const EVER: usize = 300;

/// What the load balancer knows: of each backend whether it is configured, its role, and whether it is checked.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    settings: Settings,
    configured: BTreeMap<BackendId, bool>,
    roles: BTreeMap<BackendId, Role>,
    checked: BTreeMap<BackendId, bool>,
}

impl Told {
    /// What `operator`'s resources say.
    fn by(operator: &Operator) -> Self {
        let mut plane = operator.plane.clone();
        let only = BalancerId::from_index(0);
        let mut told = Self {
            settings: plane.settings(only).unwrap().unwrap(),
            configured: BTreeMap::new(),
            roles: BTreeMap::new(),
            checked: BTreeMap::new(),
        };
        for (backend, seen) in plane.seen(only) {
            told.configured.insert(backend, seen.configured);
            told.roles.insert(backend, seen.role);
            told.checked.insert(backend, seen.judge.is_some());
        }
        told
    }

    fn hear(&mut self, changes: &[Change]) {
        for change in changes {
            match *change {
                Change::Configure(ref settings) => self.settings = settings.clone(),
                Change::Add(backend) => assert_eq!(self.configured.insert(backend, true), Some(false)),
                Change::Remove(backend) => assert_eq!(self.configured.insert(backend, false), Some(true)),
                Change::SetRole(backend, role) => drop(self.roles.insert(backend, role)),
                Change::SetJudge(backend, judge) => drop(self.checked.insert(backend, judge.is_some())),
            }
        }
    }
}

/// An operator of groups g0, g1 … of 0, 1, 2 … members, each with `EVER` machines. Those of `homes` without machines are
/// never served.
fn operator(resources: Resources, homes: Vec<Home>, served: usize) -> Operator {
    let zones: IdVec<ZoneId, String> = ["z-a", "z-b", "z-c"].into_iter().map(str::to_owned).collect();
    let group = |(index, home): (usize, &Home)| NumberedGroup {
        name: format!("g{index}"),
        home: home.clone(),
        zones: [0, 1].map(|step| ZoneId::from_index((index + step) % 3)).to_vec(),
        highest: index as u32,
    };
    let groups: Vec<NumberedGroup> = homes.iter().enumerate().map(group).collect();
    let machines = groups[..served].iter().flat_map(|group| {
        members(&group.name, EVER as u32).map(|instance| PlannedInstance {
            name: instance.name().to_owned(),
            home: Some(group.home.clone()),
        })
    });
    let machines = machines.collect();
    let rule = resources.forwarding_rules[0].name.clone();
    let plane = ControlPlane { machines, ..ControlPlane::of_one(resources, rule, Assumptions::default()) };
    Operator { zones, groups, plane, routed: Vec::new() }
}

fn service_operator(scheme: Scheme) -> Operator {
    let name = |index| format!("g{index}");
    let group = |index| InstanceGroup {
        name: name(index),
        instances: members(&name(index), index).collect(),
        ..InstanceGroup::default()
    };
    let backend =
        |index| ServiceBackend { group: Some(Reference::new(name(index))), ..ServiceBackend::default() };
    let service = BackendService {
        name: "service".to_owned(),
        load_balancing_scheme: Some(scheme),
        backends: (0..3).map(backend).collect(),
        ..BackendService::default()
    };
    let backend_service = Some(Reference::new("service"));
    let resources = Resources {
        instance_groups: (0..3).map(group).collect(),
        backend_services: vec![service],
        forwarding_rules: vec![ForwardingRule { backend_service, ..ForwardingRule::default() }],
        ..Resources::default()
    };
    operator(resources, (0..3).map(|index| Home::Group(name(index))).collect(), 3)
}

/// Pools p0 to p3, of which the rule points to p1, each with the group of its number; the last one is never served.
fn pools_operator() -> Operator {
    let pool = |index: u32| TargetPool {
        name: format!("p{index}"),
        instances: members(&format!("g{index}"), index).collect(),
        ..TargetPool::default()
    };
    let target = Some(Reference::new("p1"));
    let resources = Resources {
        http_health_checks: vec![HttpHealthCheck {
            name: "default".to_owned(),
            ..HttpHealthCheck::default()
        }],
        target_pools: (0..4).map(pool).collect(),
        forwarding_rules: vec![ForwardingRule { target, ..ForwardingRule::default() }],
        ..Resources::default()
    };
    operator(resources, (0..4).map(|index| Home::Pool(format!("p{index}"))).collect(), 3)
}

fn name(letter: char) -> impl Strategy<Value = String> {
    (0..5).prop_map(move |number| format!("{letter}{number}"))
}

/// Keys as TOML, so that verbs come from where they come from in life.
fn verb() -> impl Strategy<Value = String> {
    let ratio = || prop_oneof![Just("0.0"), Just("0.5"), Just("1.0")];
    let affinity = prop::sample::select(SessionAffinity::ALL.map(SessionAffinity::name).to_vec());
    let spillover = prop::sample::select(vec!["DISABLED", "STAY_WITHIN_ZONE", "SPILL_CROSS_ZONE"]);
    let mode = prop::sample::select(vec!["PER_CONNECTION", "PER_SESSION"]);
    let persistence = prop::sample::select(vec!["DEFAULT_FOR_PROTOCOL", "NEVER_PERSIST", "ALWAYS_PERSIST"]);
    let idle = prop::sample::select(vec!["600s", "1200s", "60s", "57601s"]);
    prop_oneof![
        (spillover, ratio()).prop_map(|(spillover, ratio)| format!(
            "do = \"set_zonal_affinity\"\nspillover = \"{spillover}\"\nspillover_ratio = {ratio}"
        )),
        (ratio(), any::<bool>()).prop_map(|(ratio, drop)| format!(
            "do = \"set_failover_policy\"\nfailover_ratio = {ratio}\ndrop_traffic_if_unhealthy = {drop}"
        )),
        affinity
            .prop_map(|affinity| format!("do = \"set_session_affinity\"\nsession_affinity = \"{affinity}\"")),
        (mode, persistence, prop::option::of(idle)).prop_map(|(mode, persistence, idle)| {
            let idle = idle.map_or(String::new(), |idle| format!("idle_timeout = \"{idle}\""));
            format!(
                "do = \"set_connection_tracking_policy\"\ntracking_mode = \"{mode}\"\n\
                 connection_persistence_on_unhealthy_backends = \"{persistence}\"\n{idle}"
            )
        }),
        (name('g'), 1..4).prop_map(|(group, count)| format!(
            "do = \"add_instances\"\ngroup = \"{group}\"\ncount = {count}"
        )),
        (name('g'), prop::option::of(1..3)).prop_map(|(group, count)| {
            let count = count.map_or(String::new(), |count| format!("count = {count}"));
            format!("do = \"remove_instances\"\ngroup = \"{group}\"\n{count}")
        }),
        (name('g'), 1..9, name('g'), 1..9).prop_map(|(group, number, other, another)| format!(
            "do = \"remove_instances\"\nbackends = [\"{group}-{number}\", \"{other}-{another}\"]"
        )),
        (name('g'), any::<bool>()).prop_map(|(group, failover)| format!(
            "do = \"set_backend_failover\"\ngroup = \"{group}\"\nfailover = {failover}"
        )),
        name('p').prop_map(|pool| format!("do = \"add_health_check\"\npool = \"{pool}\"")),
        name('p').prop_map(|pool| format!("do = \"remove_health_check\"\npool = \"{pool}\"")),
        // Pools that can be the backup here are those whose groups can be served.
        (name('p'), 0..3, prop::option::of(ratio())).prop_map(|(pool, backup, ratio)| {
            let ratio = ratio.map_or(String::new(), |ratio| format!("failover_ratio = {ratio}"));
            format!("do = \"set_backup\"\npool = \"{pool}\"\nbackup_pool = \"p{backup}\"\n{ratio}")
        }),
        name('p').prop_map(|pool| format!("do = \"set_backup\"\npool = \"{pool}\"")),
        prop::sample::select(vec!["z-a", "z-b", "z-c", "z-d"])
            .prop_map(|zone| format!("do = \"drain\"\nzone = \"{zone}\"")),
        name('p').prop_map(|pool| format!("do = \"delete_target_pool\"\npool = \"{pool}\"")),
    ]
}

fn read_verb(text: &str) -> Verb {
    let table: toml_edit::DocumentMut = text.parse().unwrap();
    read_tagged(Node::Table(&table), "do", &["do"], &KeyPath::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Applies `verbs`, checking after each that what was told is what is.
fn play(mut operator: Operator, verbs: &[String]) {
    let mut told = Told::by(&operator);
    for text in verbs {
        let before = operator.clone();
        match operator.apply(&read_verb(text)) {
            Ok(changes) => told.hear(&RegionChange::of_only(changes)),
            Err(_) => assert_eq!(operator, before, "what is refused changes nothing: {text}"),
        }
        let now = Told::by(&operator);
        assert_eq!(told.settings, now.settings, "{text}");
        let existing = operator.plane.backends();
        for (backend, configured) in now.configured {
            assert_eq!(told.configured[&backend], configured, "{text}");
            assert_eq!(told.checked[&backend], now.checked[&backend], "{text}");
            assert_eq!(told.roles[&backend], now.roles[&backend], "{text}");
            assert!(!configured || existing.contains(&backend), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn a_service_tells_what_it_is(verbs in prop::collection::vec(verb(), 0..60), external in any::<bool>()) {
        play(service_operator(if external { Scheme::External } else { Scheme::Internal }), &verbs);
    }

    #[test]
    fn pools_tell_what_they_are(verbs in prop::collection::vec(verb(), 0..60)) {
        play(pools_operator(), &verbs);
    }
}

#[test]
fn numbers_are_never_used_again() {
    let mut operator = service_operator(Scheme::Internal);
    let apply = |operator: &mut Operator, text: &str| {
        RegionChange::of_only(operator.apply(&read_verb(text)).unwrap())
    };
    let add = "do = \"add_instances\"\ngroup = \"g1\"\ncount = 2";
    let id = |number: usize| BackendId::from_index(EVER + number - 1);
    assert_eq!(apply(&mut operator, add), [Change::Add(id(2)), Change::Add(id(3))]);
    let removed = apply(&mut operator, "do = \"remove_instances\"\ngroup = \"g1\"\ncount = 2");
    assert_eq!(removed, [Change::Remove(id(2)), Change::Remove(id(3))]);
    assert_eq!(apply(&mut operator, add), [Change::Add(id(4)), Change::Add(id(5))]);
    // Numbers go on in turn through the zones of the group, b and c.
    let drained = apply(&mut operator, "do = \"drain\"\nzone = \"z-c\"");
    assert_eq!(drained, [Change::Remove(id(4)), Change::Remove(BackendId::from_index(2 * EVER))]);
}

#[test]
fn a_new_backup_comes_before_the_old_one_goes() {
    let mut operator = pools_operator();
    let mut apply = |text: &str| RegionChange::of_only(operator.apply(&read_verb(text)).unwrap());
    let backup =
        |name| format!("do = \"set_backup\"\npool = \"p1\"\nbackup_pool = \"{name}\"\nfailover_ratio = 0.5");
    assert_eq!(apply("do = \"add_instances\"\ngroup = \"g0\"\ncount = 1"), [], "p0 is not served");
    let changes = apply(&backup("p0"));
    let [Change::Add(first), Change::Configure(settings)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(*first, BackendId::from_index(0));
    let failover_ratio = Some(Ratio::new(0.5).unwrap());
    assert_eq!(settings.policy, AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio }));
    let second = [2 * EVER, 2 * EVER + 1].map(BackendId::from_index);
    assert_eq!(
        apply(&backup("p2")),
        [Change::Add(second[0]), Change::Add(second[1]), Change::Remove(*first)],
        "the ratio stays"
    );
    let changes = apply("do = \"set_backup\"\npool = \"p1\"");
    assert!(
        matches!(changes[..], [Change::Configure(_), Change::Remove(_), Change::Remove(_)]),
        "{changes:?}"
    );
}

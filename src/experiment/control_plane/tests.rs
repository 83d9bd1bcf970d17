//! Random sequences of operations: what the load balancer is told adds up to what the resources say.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::BackendId;
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::health::ProbeType;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::FailoverPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::selection::TableSize;
use crate::lb::zonal_affinity::{SpecVersion, WrittenZonalAffinity};
use crate::time::SimDuration;

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
    /// What `plane` says at its creation.
    fn by(plane: &ControlPlane) -> Self {
        let mut told = Self {
            settings: settings(plane),
            configured: BTreeMap::new(),
            roles: BTreeMap::new(),
            checked: BTreeMap::new(),
        };
        for (index, group) in plane.groups.iter().enumerate() {
            for (backend, number) in group.backends().iter().zip(1..) {
                told.configured.insert(*backend, plane.serves(index) && group.present().contains(&number));
                let (role, checked) = match &plane.balancer {
                    Balancer::Service { roles, .. } => (roles[index], true),
                    Balancer::Pools(pools) => {
                        let pool = group.pool().unwrap();
                        (pools.role(pool).unwrap_or(Role::Failover), pools.is_checked(pool))
                    }
                };
                told.roles.insert(*backend, role);
                told.checked.insert(*backend, checked);
            }
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
                Change::SetChecked(backend, checked) => drop(self.checked.insert(backend, checked)),
            }
        }
    }
}

fn settings(plane: &ControlPlane) -> Settings {
    match &plane.balancer {
        Balancer::Service { service, .. } => service.settings().unwrap(),
        Balancer::Pools(pools) => pools.settings(),
    }
}

fn zones() -> IdVec<ZoneId, String> {
    ["z-a", "z-b", "z-c"].into_iter().map(str::to_owned).collect()
}

/// Groups g0, g1 … of 0, 1, 2 … members, each in the pool of its number if there are pools; the last one is never served.
fn groups(count: usize, pooled: bool) -> Vec<Instances> {
    let group = |index: usize| {
        let ids = (index * EVER..(index + 1) * EVER).map(BackendId::from_index);
        let ids = if pooled && index + 1 == count { Vec::new() } else { ids.collect() };
        let zones = [0, 1].map(|step| ZoneId::from_index((index + step) % 3)).to_vec();
        Instances::new(&format!("g{index}"), zones, pooled.then_some(index), index as u32, ids)
    };
    (0..count).map(group).collect()
}

fn service_plane(scheme: Scheme) -> ControlPlane {
    let service = Service {
        scheme,
        session_affinity: SessionAffinity::None,
        locality: LocalityPolicy::of(scheme),
        table_size: TableSize::default(),
        allow_global_access: true,
        zonal_affinity: WrittenZonalAffinity::default(),
        failover_policy: FailoverPolicy::default(),
        tracking: Tracking::default(),
        draining_timeout: SimDuration::ZERO,
        is_subset: false,
        is_mirroring_collector: false,
        is_inspected: true,
        spec_version: SpecVersion::default(),
        failover_drain: SimDuration::from_secs(600),
    };
    let roles = vec![Role::Primary; 3];
    ControlPlane {
        zones: zones(),
        groups: groups(3, false),
        balancer: Balancer::Service { service: Box::new(service), roles },
    }
}

/// Pools p0 to p3, of which the rule points to p1.
fn pools_plane() -> ControlPlane {
    let pool = |index| Pool::new(&format!("p{index}"), SessionAffinity::None).unwrap();
    let pools = Pools {
        region: "r".to_owned(),
        rule: "rule".to_owned(),
        target: 1,
        table_size: TableSize::default(),
        drop_portless_fragments: true,
        check: ProbeType::Http,
        all: (0..4).map(pool).collect(),
    };
    ControlPlane { zones: zones(), groups: groups(4, true), balancer: Balancer::Pools(pools) }
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
    let node = super::super::node::Node::Table(&table);
    let path = super::super::path::KeyPath::default();
    super::super::reader::read_tagged(node, "do", &["do"], &path)
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Applies `verbs`, checking after each that what was told is what is; gives how many were accepted.
fn play(mut plane: ControlPlane, verbs: &[String]) -> usize {
    let mut told = Told::by(&plane);
    let mut accepted = 0;
    for text in verbs {
        let before = plane.clone();
        match plane.apply(&read_verb(text)) {
            Ok(changes) => {
                told.hear(&changes);
                accepted += 1;
            }
            Err(_) => assert_eq!(plane, before, "what is refused changes nothing: {text}"),
        }
        assert_eq!(told.configured, Told::by(&plane).configured, "{text}");
        assert_eq!(told.settings, settings(&plane), "{text}");
        assert_eq!(told.checked, Told::by(&plane).checked, "{text}");
        let roles = Told::by(&plane).roles;
        let served = told.configured.iter().filter(|(_, configured)| **configured);
        served.for_each(|(backend, _)| assert_eq!(told.roles[backend], roles[backend], "{text}"));
        let existing: Vec<BackendId> = plane.backends().collect();
        let configured = told.configured.iter().filter(|(_, configured)| **configured);
        configured.for_each(|(backend, _)| assert!(existing.contains(backend), "{text}"));
    }
    accepted
}

proptest! {
    #[test]
    fn a_service_tells_what_it_is(verbs in prop::collection::vec(verb(), 0..60), external in any::<bool>()) {
        play(service_plane(if external { Scheme::External } else { Scheme::Internal }), &verbs);
    }

    #[test]
    fn pools_tell_what_they_are(verbs in prop::collection::vec(verb(), 0..60)) {
        play(pools_plane(), &verbs);
    }
}

#[test]
fn numbers_are_never_used_again() {
    let mut plane = service_plane(Scheme::Internal);
    let apply = |plane: &mut ControlPlane, text: &str| plane.apply(&read_verb(text)).unwrap();
    let add = "do = \"add_instances\"\ngroup = \"g1\"\ncount = 2";
    let id = |number: usize| BackendId::from_index(EVER + number - 1);
    assert_eq!(apply(&mut plane, add), [Change::Add(id(2)), Change::Add(id(3))]);
    let removed = apply(&mut plane, "do = \"remove_instances\"\ngroup = \"g1\"\ncount = 2");
    assert_eq!(removed, [Change::Remove(id(3)), Change::Remove(id(2))]);
    assert_eq!(apply(&mut plane, add), [Change::Add(id(4)), Change::Add(id(5))]);
    // Numbers go on in turn through the zones of the group, b and c.
    let drained = apply(&mut plane, "do = \"drain\"\nzone = \"z-c\"");
    assert_eq!(drained, [Change::Remove(id(4)), Change::Remove(BackendId::from_index(2 * EVER))]);
}

#[test]
fn a_new_backup_comes_before_the_old_one_goes() {
    let mut plane = pools_plane();
    let mut apply = |text: &str| plane.apply(&read_verb(text)).unwrap();
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

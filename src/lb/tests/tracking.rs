//! The tracking table and its rules against a model that is slow and plain, over random packets and changes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::lb::affinity::{Fields, SessionAffinity};
use crate::lb::backend::{Member, Role};
use crate::lb::packet::{Endpoint, FiveTuple, Packet, PacketClass, PacketKind, Protocol};
use crate::lb::policy::TrafficOrigin;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::{BackendServicePolicy, FailoverPolicy};
use crate::lb::ratio::Ratio;
use crate::lb::tracking::{Persistence, Tracker, TrackingMode, TrackingPolicy};
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::lb::{LoadBalancer, Settings, Verdict};
use crate::time::{SimDuration, SimTime};

const BACKENDS: usize = 7;

#[derive(Clone, Debug)]
enum Step {
    Packet { client: u32, port: u16, protocol: Protocol, kind: PacketKind, zone: usize },
    Health { backend: usize, healthy: bool },
    Remove { backend: usize },
    Add { backend: usize },
    SetRole { backend: usize, primary: bool },
    Affinity(SessionAffinity),
    Mode(TrackingMode),
    Persist(Persistence),
    Zonal(ZonalAffinity),
}

fn steps() -> impl Strategy<Value = Step> {
    let kinds = prop::sample::select(vec![
        PacketKind::Syn,
        PacketKind::Data,
        PacketKind::Data,
        PacketKind::Data,
        PacketKind::FirstFragment,
        PacketKind::LaterFragment,
    ]);
    let protocols = prop::sample::select(vec![
        Protocol::Tcp,
        Protocol::Tcp,
        Protocol::Udp,
        Protocol::Gre,
        Protocol::Sctp,
    ]);
    let packet = (1_u32..5, 1_u16..4, protocols, kinds, 0_usize..2).prop_map(
        |(client, port, protocol, kind, zone)| {
            // Only TCP has SYNs, and only UDP fragments.
            let kind = match (protocol, kind) {
                (Protocol::Tcp, PacketKind::FirstFragment | PacketKind::LaterFragment) => PacketKind::Data,
                (Protocol::Udp | Protocol::Tcp, kind)
                    if protocol == Protocol::Tcp || kind != PacketKind::Syn =>
                {
                    kind
                }
                _ => PacketKind::Data,
            };
            Step::Packet { client, port, protocol, kind, zone }
        },
    );
    let backend = 0..BACKENDS;
    let zonal = prop::sample::select(vec![
        ZonalAffinity::Disabled,
        ZonalAffinity::StayWithinZone,
        ZonalAffinity::SpillCrossZone(Ratio::ZERO),
    ]);
    prop_oneof![
        20 => packet,
        4 => (backend.clone(), any::<bool>()).prop_map(|(backend, healthy)| Step::Health { backend, healthy }),
        1 => backend.clone().prop_map(|backend| Step::Remove { backend }),
        1 => backend.clone().prop_map(|backend| Step::Add { backend }),
        1 => (backend, any::<bool>()).prop_map(|(backend, primary)| Step::SetRole { backend, primary }),
        1 => prop::sample::select(SessionAffinity::ALL.to_vec()).prop_map(Step::Affinity),
        1 => prop::sample::select(vec![TrackingMode::PerConnection, TrackingMode::PerSession]).prop_map(Step::Mode),
        1 => prop::sample::select(vec![
            Persistence::DefaultForProtocol,
            Persistence::NeverPersist,
            Persistence::AlwaysPersist,
        ])
        .prop_map(Step::Persist),
        1 => zonal.prop_map(Step::Zonal),
    ]
}

#[derive(Clone, Debug)]
struct Entry {
    backend: BackendId,
    last: SimTime,
}

/// What a key is made of, spelled out.
type Key = (u32, u16, u32, u16, Option<Protocol>);

/// The rules with lists and maps.
struct Model {
    settings: Settings,
    members: IdVec<BackendId, Member>,
    entries: BTreeMap<Key, Entry>,
    drains: BTreeMap<BackendId, SimTime>,
    serving: Option<Role>,
    failover_deadline: Option<SimTime>,
}

fn key(fields: Fields, tuple: &FiveTuple) -> Key {
    let (source, destination, protocol) = fields.of(tuple);
    (source.ip, source.port, destination.ip, destination.port, protocol)
}

impl Model {
    fn fields(&self, packet: &Packet) -> Fields {
        let affinity = match self.settings.tracking.mode {
            TrackingMode::PerConnection => SessionAffinity::ClientIpPortProto,
            TrackingMode::PerSession => self.settings.session_affinity,
        };
        affinity.fields(packet.class())
    }

    /// A load balancer without any past, for what a new connection would get.
    fn fresh(&self) -> LoadBalancer {
        LoadBalancer::new(self.settings.clone(), 2, self.members.clone())
    }

    fn select(&self, packet: &Packet) -> Option<BackendId> {
        match self.fresh().route(SimTime::ZERO, packet) {
            Verdict::Selected(backend, _) => Some(backend),
            Verdict::Tracked(..) => unreachable!("it has no entries"),
            Verdict::Dropped => None,
        }
    }

    fn expire(&mut self, now: SimTime) {
        let timeout = self.settings.tracking.idle_timeout;
        self.entries.retain(|_, entry| now.since(entry.last) < timeout);
        let drains = &self.drains;
        self.entries.retain(|_, entry| drains.get(&entry.backend).is_none_or(|until| now < *until));
        self.drains.retain(|_, until| now < *until);
        if self.failover_deadline.is_some_and(|deadline| now >= deadline) {
            let (serving, members) = (self.serving, &self.members);
            self.entries.retain(|_, entry| {
                let member = &members[entry.backend];
                !member.configured || Some(member.role) == serving
            });
            self.failover_deadline = None;
        }
    }

    fn route(&mut self, now: SimTime, packet: &Packet) -> Option<BackendId> {
        self.expire(now);
        let Settings { session_affinity, tracking, .. } = self.settings;
        let protocol = packet.tuple.protocol;
        let key = key(self.fields(packet), &packet.tuple);
        let opens = packet.kind == PacketKind::Syn
            && (tracking.mode == TrackingMode::PerConnection
                || matches!(session_affinity, SessionAffinity::None | SessionAffinity::ClientIpPortProto));
        let any_healthy = self.members.iter().any(|member| member.configured && member.healthy);
        if let (false, Some(entry)) = (opens, self.entries.get_mut(&key)) {
            let member = &self.members[entry.backend];
            let connected = matches!(protocol, Protocol::Tcp | Protocol::Sctp);
            let five = matches!(session_affinity, SessionAffinity::None | SessionAffinity::ClientIpPortProto);
            let persists = match tracking.persistence {
                Persistence::NeverPersist => false,
                Persistence::AlwaysPersist => true,
                Persistence::DefaultForProtocol => {
                    connected && (tracking.mode == TrackingMode::PerConnection || five)
                }
            };
            entry.last = now;
            if !member.configured || member.healthy || persists || !any_healthy {
                return Some(entry.backend);
            }
        }
        let backend = self.select(packet)?;
        self.entries.insert(key, Entry { backend, last: now });
        Some(backend)
    }

    /// Notices a change of the serving role.
    fn changed(&mut self, now: SimTime) {
        let serving = self.fresh().serving;
        if serving.is_some() && serving != self.serving {
            if self.serving.is_some() {
                self.failover_deadline = Some(now + self.settings.failover_drain);
            }
            self.serving = serving;
        }
        self.expire(now);
    }
}

fn settings() -> Settings {
    let failover = FailoverPolicy { failover_ratio: Ratio::new(0.5).unwrap(), ..FailoverPolicy::default() };
    Settings {
        policy: AnyPolicy::BackendService(BackendServicePolicy {
            failover,
            ..BackendServicePolicy::default()
        }),
        tracking: TrackingPolicy::new(Tracker::Internal),
        draining_timeout: SimDuration::from_secs(60),
        failover_drain: SimDuration::from_secs(120),
        ..Settings::default()
    }
}

fn set_zonal_affinity(settings: &mut Settings, zonal_affinity: ZonalAffinity) {
    let AnyPolicy::BackendService(policy) = &mut settings.policy else { panic!("a backend service") };
    policy.zonal_affinity = zonal_affinity;
}

fn members() -> IdVec<BackendId, Member> {
    (0..BACKENDS)
        .map(|index| {
            let role = if index < 5 { Role::Primary } else { Role::Failover };
            let zone = ZoneId::from_index(index % 2);
            Member { name: format!("vm-{index}"), zone, role, configured: true, healthy: true }
        })
        .collect()
}

/// Applies a change of configuration to both.
fn reconfigure(now: SimTime, balancer: &mut LoadBalancer, model: &mut Model, change: impl Fn(&mut Settings)) {
    let before = model.settings.clone();
    change(&mut model.settings);
    balancer.configure(now, model.settings.clone());
    let found_by = |settings: &Settings| (settings.session_affinity, settings.tracking.mode);
    if found_by(&before) != found_by(&model.settings) {
        model.entries.clear();
    }
    model.changed(now);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn load_balancer_agrees_with_a_plain_model(steps in prop::collection::vec((steps(), 0_u64..40), 1..250)) {
        let mut balancer = LoadBalancer::new(settings(), 2, members());
        let mut model = Model {
            settings: settings(),
            members: members(),
            entries: BTreeMap::new(),
            drains: BTreeMap::new(),
            serving: Some(Role::Primary),
            failover_deadline: None,
        };
        let mut now = SimTime::ZERO;
        for (step, seconds) in steps {
            now += SimDuration::from_secs(seconds);
            model.expire(now);
            match step {
                Step::Packet { client, port, protocol, kind, zone } => {
                    let source = Endpoint { ip: client, port };
                    let destination = Endpoint { ip: 1 << 30, port: 80 };
                    let packet = Packet {
                        tuple: FiveTuple { source, destination, protocol },
                        kind,
                        origin: TrafficOrigin::Zone(ZoneId::from_index(zone)),
                    };
                    let found = match balancer.route(now, &packet) {
                        Verdict::Tracked(backend, _) | Verdict::Selected(backend, _) => Some(backend),
                        Verdict::Dropped => None,
                    };
                    prop_assert_eq!(found, model.route(now, &packet));
                }
                Step::Health { backend, healthy } => {
                    let backend = BackendId::from_index(backend);
                    balancer.set_health(now, backend, healthy);
                    model.members[backend].healthy = healthy;
                    model.changed(now);
                }
                Step::Remove { backend } => {
                    let backend = BackendId::from_index(backend);
                    if model.members[backend].configured {
                        balancer.remove(now, backend);
                        model.members[backend].configured = false;
                        model.drains.insert(backend, now + model.settings.draining_timeout);
                        model.changed(now);
                    }
                }
                Step::Add { backend } => {
                    let backend = BackendId::from_index(backend);
                    if !model.members[backend].configured {
                        balancer.add(now, backend, true);
                        model.members[backend].configured = true;
                        model.members[backend].healthy = true;
                        model.drains.remove(&backend);
                        model.changed(now);
                    }
                }
                Step::SetRole { backend, primary } => {
                    let backend = BackendId::from_index(backend);
                    let role = if primary { Role::Primary } else { Role::Failover };
                    balancer.set_role(now, backend, role);
                    model.members[backend].role = role;
                    model.changed(now);
                }
                Step::Affinity(affinity) => {
                    reconfigure(now, &mut balancer, &mut model, |settings| settings.session_affinity = affinity);
                }
                Step::Mode(mode) => {
                    reconfigure(now, &mut balancer, &mut model, |settings| settings.tracking.mode = mode);
                }
                Step::Persist(persistence) => {
                    reconfigure(now, &mut balancer, &mut model, |settings| settings.tracking.persistence = persistence);
                }
                Step::Zonal(zonal) => {
                    reconfigure(now, &mut balancer, &mut model, |settings| set_zonal_affinity(settings, zonal));
                }
            }
        }
    }

    /// With persistence, nothing but its end moves a TCP connection: neither health, nor other backends, nor zonal affinity.
    #[test]
    fn no_packet_of_a_persisting_connection_changes_backend(
        steps in prop::collection::vec((steps(), 0_u64..40), 1..200), port in 100_u16..200,
    ) {
        let mut balancer = LoadBalancer::new(settings(), 2, members());
        let source = Endpoint { ip: 77, port };
        let tuple = FiveTuple { source, destination: Endpoint { ip: 1 << 30, port: 80 }, protocol: Protocol::Tcp };
        let packet = |kind| Packet { tuple, kind, origin: TrafficOrigin::Zone(ZoneId::from_index(0)) };
        prop_assert_eq!(packet(PacketKind::Data).class(), PacketClass::Ports);
        let Verdict::Selected(home, _) = balancer.route(SimTime::ZERO, &packet(PacketKind::Syn)) else {
            panic!("a backend is healthy");
        };
        let mut now = SimTime::ZERO;
        for (step, seconds) in steps {
            now += SimDuration::from_secs(seconds);
            match step {
                // The failover backends stay unhealthy, so that the connection's role serves all along.
                Step::Health { backend, healthy } => {
                    balancer.set_health(now, BackendId::from_index(backend), healthy && backend < 5);
                }
                Step::Remove { backend } if BackendId::from_index(backend) != home => {
                    balancer.remove(now, BackendId::from_index(backend));
                }
                Step::Add { backend } if BackendId::from_index(backend) != home && backend < 5 => {
                    balancer.add(now, BackendId::from_index(backend), true);
                }
                Step::Zonal(zonal) => {
                    let mut settings = balancer.settings().clone();
                    set_zonal_affinity(&mut settings, zonal);
                    balancer.configure(now, settings);
                }
                _ => {}
            }
            prop_assume!(balancer.placements[0].serving != Some(Role::Failover));
            let verdict = balancer.route(now, &packet(PacketKind::Data));
            prop_assert!(matches!(verdict, Verdict::Tracked(backend, _) if backend == home), "{:?}", verdict);
        }
    }
}

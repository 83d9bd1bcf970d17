//! Worked timelines of connection tracking, T1 to T16: one client, `x` its first backend.

use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::lb::affinity::SessionAffinity;
use crate::lb::backend::{Member, Role};
use crate::lb::packet::{Endpoint, FiveTuple, Packet, PacketKind, Protocol};
use crate::lb::policy::TrafficOrigin;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::{BackendServicePolicy, FailoverPolicy};
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::tracking::{Persistence, Tracker, TrackingMode, TrackingPolicy};
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::lb::{LoadBalancer, Settings, Verdict};
use crate::time::{SimDuration, SimTime};

/// The number of primaries; three failover backends come after them.
const PRIMARIES: usize = 6;

/// A load balancer with a clock in seconds.
struct World {
    balancer: LoadBalancer,
    protocol: Protocol,
    client: u32,
}

fn at(seconds: f64) -> SimTime {
    SimTime::ZERO + SimDuration::from_nanos_f64(seconds * 1e9)
}

impl World {
    /// Six healthy primaries, in zones a and b in turn, and three failover backends that are healthy if `failovers`.
    fn new(protocol: Protocol, settings: Settings, failovers: bool) -> Self {
        let members: IdVec<BackendId, Member> = (0..PRIMARIES + 3)
            .map(|index| {
                let role = if index < PRIMARIES { Role::Primary } else { Role::Failover };
                let zone = ZoneId::from_index(index % 2);
                let configured = role == Role::Primary || failovers;
                Member { name: format!("vm-{index}"), zone, role, configured, healthy: true }
            })
            .collect();
        Self { balancer: LoadBalancer::new(settings, 2, members), protocol, client: 1 }
    }

    fn send(&mut self, seconds: f64, port: u16, kind: PacketKind) -> Verdict {
        let packet = Packet {
            tuple: FiveTuple {
                source: Endpoint { ip: self.client, port },
                destination: Endpoint { ip: 1 << 30, port: 80 },
                protocol: self.protocol,
            },
            kind,
            origin: TrafficOrigin::Zone(ZoneId::from_index(0)),
        };
        self.balancer.route(at(seconds), &packet)
    }

    fn backend(&mut self, seconds: f64, port: u16, kind: PacketKind) -> BackendId {
        match self.send(seconds, port, kind) {
            Verdict::Tracked(backend, _) | Verdict::Selected(backend, _) => backend,
            Verdict::Dropped => panic!("dropped at {seconds}"),
        }
    }

    fn syn(&mut self, seconds: f64, port: u16) -> BackendId {
        self.backend(seconds, port, PacketKind::Syn)
    }

    fn data(&mut self, seconds: f64, port: u16) -> BackendId {
        self.backend(seconds, port, PacketKind::Data)
    }

    fn down(&mut self, seconds: f64, backend: BackendId) {
        self.balancer.set_health(at(seconds), backend, false);
    }

    fn role(&self, backend: BackendId) -> Role {
        self.balancer.roster().member(backend).role
    }
}

fn service(policy: BackendServicePolicy) -> AnyPolicy {
    AnyPolicy::BackendService(policy)
}

fn tcp() -> World {
    World::new(Protocol::Tcp, Settings::default(), false)
}

fn tracked(mode: TrackingMode, persistence: Persistence) -> Settings {
    let tracking = TrackingPolicy { mode, persistence, ..TrackingPolicy::new(Tracker::Internal) };
    Settings { tracking, ..Settings::default() }
}

#[test]
fn t1_and_t2_tcp_persists_until_the_next_syn() {
    let mut world = tcp();
    let x = world.syn(0.0, 1);
    world.down(10.0, x);
    assert_eq!(world.data(12.0, 1), x);
    let y = world.syn(13.0, 1);
    assert_ne!(y, x);
    assert_eq!(world.data(14.0, 1), y);
}

#[test]
fn t3_and_t4_udp_moves_unless_it_always_persists() {
    for (persistence, stays) in [(Persistence::DefaultForProtocol, false), (Persistence::AlwaysPersist, true)]
    {
        let mut world = World::new(Protocol::Udp, tracked(TrackingMode::PerConnection, persistence), false);
        let x = world.data(0.0, 1);
        world.down(10.0, x);
        let then = world.data(12.0, 1);
        assert_eq!(then == x, stays, "{persistence:?}");
        assert_eq!(world.data(13.0, 1), then, "the entry was rewritten");
    }
}

#[test]
fn t5_never_persist_moves_tcp_too() {
    let settings = tracked(TrackingMode::PerConnection, Persistence::NeverPersist);
    let mut world = World::new(Protocol::Tcp, settings, false);
    let x = world.syn(0.0, 1);
    world.down(10.0, x);
    assert_ne!(world.data(12.0, 1), x);
}

fn client_ip(mode: TrackingMode) -> Settings {
    let session_affinity = SessionAffinity::ClientIp;
    Settings { session_affinity, ..tracked(mode, Persistence::DefaultForProtocol) }
}

#[test]
fn t6_a_session_is_one_entry_and_does_not_persist() {
    let mut world = World::new(Protocol::Tcp, client_ip(TrackingMode::PerSession), false);
    let x = world.syn(0.0, 1);
    assert!(matches!(world.send(5.0, 2, PacketKind::Syn), Verdict::Tracked(backend, _) if backend == x));
    world.down(10.0, x);
    assert_ne!(world.data(12.0, 1), x);
}

#[test]
fn t7_and_t8_a_session_keeps_its_backend_when_one_is_added_a_connection_may_not() {
    const CLIENTS: u32 = 3000;
    for (mode, share) in
        [(TrackingMode::PerSession, 0.0), (TrackingMode::PerConnection, 1.0 / PRIMARIES as f64)]
    {
        let z = BackendId::from_index(PRIMARIES - 1);
        let mut moved = 0;
        for client in 1..=CLIENTS {
            let mut world = World { client, ..World::new(Protocol::Tcp, client_ip(mode), false) };
            world.balancer.remove(at(0.0), z);
            let x = world.syn(0.0, 1);
            world.balancer.add(at(6.0), z, true);
            let then = world.syn(7.0, 2);
            assert!(then == x || then == z);
            moved += u32::from(then != x);
        }
        let expected = f64::from(CLIENTS) * share;
        assert!((f64::from(moved) - expected).abs() <= 5.0 * expected.sqrt(), "{moved} moved with {mode:?}");
    }
}

#[test]
fn t9_and_t10_idle_timeouts() {
    let external = Settings { tracking: TrackingPolicy::new(Tracker::External), ..Settings::default() };
    for (settings, last_hit, first_miss) in
        [(Settings::default(), 699.999, 700.0), (external, 159.999, 160.0)]
    {
        for (seconds, hit) in [(last_hit, true), (first_miss, false)] {
            let mut world = World::new(Protocol::Tcp, settings.clone(), false);
            let x = world.syn(0.0, 1);
            for second in (50..=100).step_by(50) {
                assert_eq!(world.data(f64::from(second), 1), x);
            }
            let verdict = world.send(seconds, 1, PacketKind::Data);
            assert_eq!(matches!(verdict, Verdict::Tracked(..)), hit, "at {seconds}");
            assert_eq!(world.data(seconds, 1), x, "the same backend is selected again");
        }
    }
}

#[test]
fn t11_zonal_affinity_moves_no_entry() {
    // A client of zone a whose connection is on a backend of zone b.
    let mut world = tcp();
    let on_b = |world: &World, backend| world.balancer.roster().member(backend).zone == ZoneId::from_index(1);
    let port = (1..100).find(|port| {
        let backend = world.syn(0.0, *port);
        on_b(&world, backend)
    });
    let port = port.expect("half of the ports lead to zone b");
    let x = world.data(1.0, port);
    let zonal_affinity = ZonalAffinity::StayWithinZone;
    let policy = service(BackendServicePolicy { zonal_affinity, ..BackendServicePolicy::default() });
    let settings = Settings { policy, ..world.balancer.settings().clone() };
    world.balancer.configure(at(5.0), settings);
    assert_eq!(world.data(6.0, port), x);
    let then = world.syn(7.0, port);
    assert!(!on_b(&world, then));
}

#[test]
fn t12_and_t13_draining() {
    for (drain, last) in [(100.0, Some(99.0)), (0.0, None)] {
        let draining_timeout = SimDuration::from_nanos_f64(drain * 1e9);
        let mut world =
            World::new(Protocol::Tcp, Settings { draining_timeout, ..Settings::default() }, false);
        let x = world.syn(0.0, 1);
        world.balancer.remove(at(0.0), x);
        if let Some(last) = last {
            assert_eq!(world.data(last, 1), x);
            assert_ne!(world.syn(last, 1), x, "no new connections");
        }
        let mut world =
            World::new(Protocol::Tcp, Settings { draining_timeout, ..Settings::default() }, false);
        world.syn(0.0, 1);
        world.balancer.remove(at(0.0), x);
        assert_ne!(world.data(drain + 0.001, 1), x);
    }
}

/// A failover at 50 s by the ratio rule, with `x` still healthy.
fn failed_over(disable_drain: bool, failover_drain: u64) -> (World, BackendId) {
    let policy = FailoverPolicy {
        failover_ratio: Ratio::new(1.0).unwrap(),
        disable_connection_drain_on_failover: disable_drain,
        ..FailoverPolicy::default()
    };
    let settings = Settings {
        policy: service(BackendServicePolicy { failover: policy, ..BackendServicePolicy::default() }),
        failover_drain: SimDuration::from_secs(failover_drain),
        ..Settings::default()
    };
    let mut world = World::new(Protocol::Tcp, settings, true);
    let x = world.syn(0.0, 1);
    assert_eq!(world.role(x), Role::Primary);
    let other = BackendId::from_index((x.index() + 1) % PRIMARIES);
    world.down(50.0, other);
    (world, x)
}

#[test]
fn t14_failover_with_drain() {
    for drain in [600, 300] {
        let (mut world, x) = failed_over(false, drain);
        let end = 50 + drain;
        for seconds in (60..end).step_by(60) {
            assert_eq!(world.data(seconds as f64, 1), x, "at {seconds} of {end}");
        }
        assert_eq!(world.data(end as f64 - 0.001, 1), x);
        let then = world.data(end as f64, 1);
        assert_eq!(world.role(then), Role::Failover);
        assert_eq!(world.balancer.counters().failover_switches, 1);
    }
}

#[test]
fn t14_failback_within_the_drain_keeps_the_entry() {
    let (mut world, x) = failed_over(false, 600);
    let other = BackendId::from_index((x.index() + 1) % PRIMARIES);
    world.balancer.set_health(at(100.0), other, true);
    for seconds in (120..2000).step_by(120) {
        assert_eq!(world.data(f64::from(seconds), 1), x);
    }
    assert_eq!(world.balancer.counters().failover_switches, 2);
}

#[test]
fn t15_failover_without_drain() {
    let (mut world, _) = failed_over(true, 600);
    let then = world.data(51.0, 1);
    assert_eq!(world.role(then), Role::Failover);
}

#[test]
fn t16_nothing_moves_when_all_are_unhealthy() {
    let settings = tracked(TrackingMode::PerConnection, Persistence::NeverPersist);
    let mut world = World::new(Protocol::Udp, settings, false);
    let x = world.data(0.0, 1);
    (0..PRIMARIES).for_each(|index| world.down(10.0, BackendId::from_index(index)));
    assert_eq!(world.data(12.0, 1), x);
}

#[test]
fn tpa_5_an_unhealthy_instance_loses_its_entries_at_once() {
    let tracking = TrackingPolicy::new(Tracker::TargetPool);
    let policy = AnyPolicy::TargetPool(TargetPoolPolicy::default());
    let settings = Settings { policy, tracking, ..Settings::default() };
    let mut world = World::new(Protocol::Tcp, settings, false);
    let x = world.syn(0.0, 1);
    world.down(1.0, x);
    world.balancer.set_health(at(2.0), x, true);
    // The entry went with x's health, so this is a new selection, which x wins again.
    assert!(matches!(world.send(3.0, 1, PacketKind::Data), Verdict::Selected(backend, _) if backend == x));
}

#[test]
fn tpa_2_later_fragments_without_affinity_are_dropped() {
    for (affinity, forward, dropped) in [
        (SessionAffinity::None, false, true),
        (SessionAffinity::None, true, false),
        (SessionAffinity::ClientIp, false, false),
        (SessionAffinity::ClientIpProto, false, false),
    ] {
        let settings = Settings {
            policy: AnyPolicy::TargetPool(TargetPoolPolicy::default()),
            tracking: TrackingPolicy::new(Tracker::TargetPool),
            session_affinity: affinity,
            drop_portless_fragments: !forward,
            ..Settings::default()
        };
        let mut world = World::new(Protocol::Udp, settings, false);
        assert_ne!(world.send(0.0, 1, PacketKind::FirstFragment), Verdict::Dropped);
        assert_eq!(
            world.send(0.0, 1, PacketKind::LaterFragment) == Verdict::Dropped,
            dropped,
            "{affinity:?}"
        );
    }
}

#[test]
fn zon_2_network_security_integration_drops_every_packet() {
    let inspected = |zonal_affinity| Settings {
        policy: service(BackendServicePolicy {
            inspected: true,
            zonal_affinity,
            ..BackendServicePolicy::default()
        }),
        ..Settings::default()
    };
    let mut world = World::new(Protocol::Tcp, inspected(ZonalAffinity::Disabled), false);
    let first = world.syn(0.0, 1);
    assert_eq!(world.data(1.0, 1), first, "without zonal affinity nothing is dropped");
    for affinity in [ZonalAffinity::StayWithinZone, ZonalAffinity::SpillCrossZone(Ratio::ZERO)] {
        world.balancer.configure(at(2.0), inspected(affinity));
        assert_eq!(world.send(2.0, 1, PacketKind::Data), Verdict::Dropped, "open connections too");
        assert_eq!(world.send(2.0, 2, PacketKind::Syn), Verdict::Dropped);
    }
    world.balancer.configure(at(3.0), inspected(ZonalAffinity::Disabled));
    assert_eq!(world.data(3.0, 1), first, "its entry is still there");
}

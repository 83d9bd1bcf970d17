//! The worlds that `zonesim validate --real` builds twice: what is looked at in each, and why.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::quantity::RealQuantity;
use crate::sim::outcome::FailureCause;

/// How a laboratory's load balancer forwards packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// As a passthrough load balancer: addresses stay, and a SYN is selected anew always (CTE-2).
    Marks,
    /// By ordinary address translation, for contrast: whatever has an entry follows it, SYNs too.
    Dnat,
}

/// A world, and what is compared of it.
#[derive(Clone, Debug)]
pub struct RealScenario {
    /// What it is called.
    pub name: Cow<'static, str>,
    /// The experiment file.
    pub text: String,
    /// The number of its cell.
    pub cell: usize,
    /// How the laboratory forwards packets.
    pub forwarding: Forwarding,
    /// How many runs there are on the kernel's network.
    pub runs: u32,
    /// What is compared.
    pub quantities: Vec<RealQuantity>,
}

/// A world of three zones with four backends each, and in each zone clients with short connections and with long ones.
struct World {
    network: &'static str,
    affinity: &'static str,
    check: &'static str,
    connection_timeouts: &'static str,
    service: &'static str,
    short_per_s: f64,
    long_per_s: f64,
    long: &'static str,
    client: &'static str,
    duration_s: u32,
    more: &'static str,
}

/// As far as everything is in a laboratory.
const NEAR: &str = "same_zone_rtt = { constant = \"80us\" }, cross_zone_rtt = { constant = \"80us\" }";
/// Each pair of zones has a distance of its own.
const DISTANT: &str = "same_zone_rtt = { lognormal = { median = \"1ms\", sigma = 0.2 } }, \
     cross_zone_rtt = { lognormal = { median = \"3ms\", sigma = 0.3 } }, \
     links = [{ between = [\"a\", \"c\"], rtt = { constant = \"6ms\" } }, \
     { between = [\"b\", \"c\"], rtt = { lognormal = { median = \"10ms\", sigma = 0.2 } } }]";
const SPILL: &str =
    "zonal_affinity = { spillover = \"ZONAL_AFFINITY_SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }";
const SPILL_QUARTER: &str =
    "zonal_affinity = { spillover = \"ZONAL_AFFINITY_SPILL_CROSS_ZONE\", spillover_ratio = 0.25 }";
const STAY: &str = "zonal_affinity = { spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\" }";
const DISABLED: &str = "zonal_affinity = { spillover = \"ZONAL_AFFINITY_DISABLED\" }";
const EACH_SECOND: &str =
    "check_interval = \"1s\", timeout = \"1s\", healthy_threshold = 2, unhealthy_threshold = 2";
const ZONE_A_SILENT: &str =
    "[[faults]]\nat = \"30s\"\nduration = \"15s\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n";

impl Default for World {
    fn default() -> Self {
        Self {
            network: NEAR,
            affinity: SPILL,
            check: EACH_SECOND,
            connection_timeouts: "",
            service: "",
            short_per_s: 30.0,
            long_per_s: 1.0,
            long: "requests = { constant = 20 }, think_time = { constant = \"1s\" }",
            client: "",
            duration_s: 55,
            more: ZONE_A_SILENT,
        }
    }
}

impl World {
    fn text(&self) -> String {
        let Self { network, affinity, check, connection_timeouts, service, duration_s, more, .. } = self;
        let zones = ["a", "b", "c"];
        let clients: String = zones.map(|zone| self.clients(zone)).concat();
        let groups =
            zones.map(|zone| format!("{{ group = \"ig-{zone}\", zone = \"{zone}\", size = 4 }}")).join(", ");
        format!(
            r#"
            name = "real"
            region = {{ name = "r", zones = ["a", "b", "c"] }}
            network = {{ {network} }}
            server = {{ workers = "unlimited", service_time = {{ constant = "2ms" }} }}
            health_check = {{ initial_state = "HEALTHY", {check} }}
            [simulation]
            seed = 20261130
            replications = 300
            warmup = "5s"
            duration = "{duration_s}s"
            sample_interval = "5s"
            [backend_service]
            {affinity}
            {connection_timeouts}
            {service}
            backends = [{groups}]
            {clients}
            {more}
            "#
        )
    }

    fn clients(&self, zone: &str) -> String {
        let Self { short_per_s, long_per_s, long, client, .. } = self;
        let group = |name: &str, rate: f64, connection: &str| {
            if rate == 0.0 {
                return String::new();
            }
            format!(
                r#"
                [[clients]]
                name = "{name}-{zone}"
                kind = "vm"
                zone = "{zone}"
                addresses = 4000
                arrivals = {{ poisson = {{ rate = {rate:?} }} }}
                connection = {{ {connection}, request_bytes = {{ constant = 200 }}, response_bytes = {{ constant = 1000 }} }}
                connect_timeout = "4500ms"
                request_timeout = "5s"
                {client}
                "#
            )
        };
        group("short", *short_per_s, "requests = { constant = 1 }") + &group("long", *long_per_s, long)
    }

    fn scenario(&self, name: &'static str, runs: u32, quantities: Vec<RealQuantity>) -> RealScenario {
        let (text, forwarding) = (self.text(), Forwarding::Marks);
        RealScenario { name: name.into(), text, cell: 0, forwarding, runs, quantities }
    }
}

/// The scenarios of `zonesim validate --real`.
pub fn all() -> Vec<RealScenario> {
    let mut all = outages();
    all.extend(checks());
    all.extend(tracking());
    all.extend(retransmission());
    all.push(distances());
    all
}

/// Two of them that take less than a minute together.
pub fn smoke() -> Vec<RealScenario> {
    let silent = World {
        duration_s: 20,
        more: "[[faults]]\nat = \"10s\"\nduration = \"8s\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n",
        long_per_s: 0.0,
        ..World::default()
    };
    let drained = World {
        duration_s: 20,
        long: "requests = { constant = 8 }, think_time = { constant = \"1s\" }",
        more: "[[operations]]\nat = \"12s\"\ndo = \"drain\"\nzone = \"a\"\n",
        ..World::default()
    };
    vec![
        silent.scenario("zone a silent for 8 s, spill", 3, outage_quantities()),
        drained.scenario(
            "zone a drained at once",
            3,
            vec![short_failed(), RealQuantity::Cause(FailureCause::Reset)],
        ),
    ]
}

fn short_failed() -> RealQuantity {
    RealQuantity::Failed("short".into())
}

fn long_failed() -> RealQuantity {
    RealQuantity::Failed("long".into())
}

fn outage_quantities() -> Vec<RealQuantity> {
    vec![
        RealQuantity::Across,
        short_failed(),
        RealQuantity::ConnectsAbove { millis: 500 },
        long_failed(),
        RealQuantity::FirstDecision { place: 0 },
        RealQuantity::LastDecision { place: 0 },
        RealQuantity::Detections,
        RealQuantity::Recoveries,
        RealQuantity::FailuresKnown,
    ]
}

fn outages() -> Vec<RealScenario> {
    let stay = World { affinity: STAY, ..World::default() };
    let kernels = World { affinity: STAY, client: "syn_retransmission = \"linux\"", ..World::default() };
    let disabled = World { affinity: DISABLED, more: "", duration_s: 40, ..World::default() };
    let refuse = "[[faults]]\nat = \"30s\"\nduration = \"15s\"\nkind = \"refuse\"\n\
                  target = { zone = \"a\", fraction = 0.75 }\n";
    let half = World { more: refuse, ..World::default() };
    let quarter = World { affinity: SPILL_QUARTER, more: refuse, ..World::default() };
    let refused = || {
        vec![short_failed(), RealQuantity::Across, RealQuantity::HeldUnhealthy, RealQuantity::FailuresKnown]
    };
    vec![
        World::default().scenario("zone a silent for 15 s, spill below 0.5", 10, outage_quantities()),
        stay.scenario(
            "zone a silent for 15 s, stay",
            8,
            vec![short_failed(), long_failed(), RealQuantity::Across, RealQuantity::FailuresKnown],
        ),
        kernels.scenario(
            "zone a silent for 15 s, stay, SYNs as Linux sends them",
            8,
            vec![short_failed(), long_failed(), RealQuantity::FailuresKnown],
        ),
        disabled.scenario(
            "no affinity",
            8,
            vec![RealQuantity::AcrossShare, RealQuantity::Spread, short_failed()],
        ),
        half.scenario("3 of 4 backends of zone a refuse for 15 s, spill below 0.5", 8, refused()),
        quarter.scenario("the same, spill below 0.25", 6, refused()),
    ]
}

fn checks() -> Vec<RealScenario> {
    let blocked =
        "[[faults]]\nat = \"30s\"\nduration = \"15s\"\nkind = \"probe_block\"\ntarget = { zone = \"a\" }\n";
    let blocked = World { more: blocked, ..World::default() };
    let slow = "check_interval = \"2s\", timeout = \"1s\", healthy_threshold = 1, unhealthy_threshold = 3";
    let slow = World { check: slow, ..World::default() };
    let five = "check_interval = \"5s\", timeout = \"5s\", healthy_threshold = 2, unhealthy_threshold = 2";
    let long_outage =
        "[[faults]]\nat = \"20s\"\nduration = \"26s\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n";
    let five = World { check: five, more: long_outage, duration_s: 70, long_per_s: 0.0, ..World::default() };
    let hasty = "check_interval = \"5s\", timeout = \"5s\", healthy_threshold = 1, unhealthy_threshold = 1";
    // It ends before a SYN of its first moment is sent for the third time.
    let short =
        "[[faults]]\nat = \"20s\"\nduration = \"2800ms\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n";
    let hasty = World { check: hasty, more: short, duration_s: 40, long_per_s: 0.0, ..World::default() };
    vec![
        blocked.scenario(
            "probes of zone a blocked for 15 s",
            4,
            vec![short_failed(), long_failed(), RealQuantity::Across, RealQuantity::HeldUnhealthy],
        ),
        slow.scenario(
            "zone a silent, checks every 2 s, 3 failures, 1 success",
            8,
            vec![short_failed(), RealQuantity::Detections, RealQuantity::Recoveries],
        ),
        five.scenario(
            "zone a silent for 26 s, checks of 5 s with a timeout of 5 s",
            9,
            vec![
                RealQuantity::HeldUnhealthy,
                RealQuantity::Detections,
                RealQuantity::Recoveries,
                short_failed(),
            ],
        ),
        hasty.scenario(
            "zone a silent for 2.8 s, checks of 5 s with a timeout of 5 s, threshold 1",
            6,
            vec![RealQuantity::HealthTransitions, short_failed()],
        ),
    ]
}

fn tracking() -> Vec<RealScenario> {
    let drain = "[[operations]]\nat = \"30s\"\ndo = \"drain\"\nzone = \"a\"\n";
    let at_once = World { more: drain, ..World::default() };
    let slowly = World {
        connection_timeouts: "connection_draining = { draining_timeout = \"8s\" }",
        more: drain,
        ..World::default()
    };
    let leaves = "[[operations]]\nat = \"24s\"\ndo = \"drain\"\nzone = \"a\"\n";
    // External load balancers forget a connection after 60 s (CTE-7), internal ones after 10 minutes.
    let idle = |long| World {
        affinity: "",
        connection_timeouts: "connection_draining = { draining_timeout = \"300s\" }",
        service: "load_balancing_scheme = \"EXTERNAL\"",
        short_per_s: 0.0,
        long_per_s: 5.0,
        long,
        client: "",
        duration_s: 20,
        more: leaves,
        ..World::default()
    };
    let reset = || RealQuantity::Cause(FailureCause::Reset);
    let resets = || vec![reset(), short_failed(), RealQuantity::FailuresKnown];
    let long_resets =
        || vec![reset(), RealQuantity::Cause(FailureCause::RequestTimeout), RealQuantity::FailuresKnown];
    let beyond = idle("requests = { constant = 2 }, think_time = { constant = \"61500ms\" }");
    let within = idle("requests = { constant = 2 }, think_time = { constant = \"58500ms\" }");
    vec![
        slowly.scenario("zone a drained for 8 s", 8, resets()),
        at_once.scenario("zone a drained for 0 s", 8, resets()),
        beyond.scenario("zone a leaves, pauses longer than the idle timeout", 5, long_resets()),
        within.scenario("zone a leaves, pauses shorter than the idle timeout", 5, long_resets()),
    ]
}

fn retransmission() -> Vec<RealScenario> {
    let twice = "[[faults]]\nat = \"20s\"\nduration = \"900ms\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n\
                 [[faults]]\nat = \"35s\"\nduration = \"900ms\"\nkind = \"silent\"\ntarget = { zone = \"a\" }\n";
    let twice = World { more: twice, ..World::default() };
    let patient = "check_interval = \"1s\", timeout = \"1s\", healthy_threshold = 2, unhealthy_threshold = 5";
    let loss: &'static str = "[[faults]]\nat = \"0s\"\nkind = \"link_loss\"\nprobability = 0.05\n\
         target = { link = [\"a\", \"a\"] }\n\
         [[faults]]\nat = \"0s\"\nkind = \"link_loss\"\nprobability = 0.05\ntarget = { link = [\"b\", \"b\"] }\n\
         [[faults]]\nat = \"0s\"\nkind = \"link_loss\"\nprobability = 0.05\ntarget = { link = [\"c\", \"c\"] }\n";
    let loss = World { check: patient, more: loss, duration_s: 40, long_per_s: 0.0, ..World::default() };
    let sticky = World { long_per_s: 0.0, ..World::default() };
    let mut sticky = sticky.scenario(
        "zone a silent for 15 s, address translation in place of passing through",
        6,
        vec![short_failed()],
    );
    sticky.forwarding = Forwarding::Dnat;
    vec![
        twice.scenario(
            "zone a silent for 0.9 s, twice",
            8,
            vec![
                long_failed(),
                RealQuantity::Cause(FailureCause::Reset),
                RealQuantity::Cause(FailureCause::RequestTimeout),
                short_failed(),
                RealQuantity::FailuresKnown,
            ],
        ),
        loss.scenario(
            "5 % of packets lost",
            10,
            vec![
                RealQuantity::ConnectsAbove { millis: 500 },
                // Between the times at which packets are sent again.
                RealQuantity::ConnectsAbove { millis: 1500 },
                RealQuantity::ConnectsAbove { millis: 2500 },
                RealQuantity::RequestsAbove { millis: 100 },
                RealQuantity::RequestsAbove { millis: 500 },
                RealQuantity::RequestsAbove { millis: 2000 },
                RealQuantity::MeanRequest,
                short_failed(),
            ],
        ),
        sticky,
    ]
}

fn distances() -> RealScenario {
    let world = World { network: DISTANT, affinity: DISABLED, more: "", duration_s: 40, ..World::default() };
    let connects = |from: &'static str, to: &'static str| RealQuantity::ConnectTimes {
        from: from.into(),
        to: to.into(),
    };
    world.scenario(
        "three zones at distances, no affinity",
        8,
        vec![
            connects("a", "a"),
            connects("a", "b"),
            connects("c", "a"),
            connects("b", "c"),
            RealQuantity::MeanRequest,
            RealQuantity::AcrossShare,
            short_failed(),
        ],
    )
}

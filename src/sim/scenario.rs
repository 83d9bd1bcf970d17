//! What one run simulates: the experiment file's cell with every name resolved and every default filled in.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::ids::{BackendId, ClientId, GroupId, IdVec, PlaceId, ZoneId};
use crate::lb::Settings;
use crate::lb::backend::{Backend, Member, Role};
use crate::lb::health::HealthCheck;
use crate::lb::packet::Protocol;
use crate::lb::ratio::Ratio;
use crate::lb::weight::WeightState;
use crate::lb::zonal_affinity::Origin;
use crate::random::Distribution;
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, Backoff, ConnectionProfile};

/// A complete description of one world.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// When it is measured.
    pub timing: Timing,
    /// The zones of the region, by name.
    pub zones: IdVec<ZoneId, String>,
    /// Where clients are: the zones first, in their order, then the places outside the region that clients use.
    pub places: IdVec<PlaceId, Place>,
    /// Round-trip times from each place to each zone.
    pub round_trips: IdVec<PlaceId, IdVec<ZoneId, Distribution<SimDuration>>>,
    /// What traffic costs.
    pub prices: Prices,
    /// How the load balancer is configured.
    pub balancer: Settings,
    /// How the load balancer learns of health.
    pub health_check: HealthCheck,
    /// The groups of backends.
    pub groups: IdVec<GroupId, Group>,
    /// Every backend that is ever configured, in configuration order: group by group, each in the order of its members.
    pub backends: IdVec<BackendId, BackendSpec>,
    /// The client groups.
    pub clients: IdVec<ClientId, ClientGroup>,
    /// What happens to backends, in the order of the file.
    pub faults: Vec<Fault>,
    /// What an operator does, in the order of time.
    pub operations: Vec<Operation>,
}

impl Scenario {
    /// The backends as the load balancer knows them at time 0, those that are checked in health `healthy`.
    pub fn members(&self, healthy: impl Fn(BackendId) -> bool) -> IdVec<BackendId, Member> {
        let member = |(id, spec): (BackendId, &BackendSpec)| Member {
            backend: Backend { name: spec.name.clone(), zone: spec.zone, role: spec.role },
            configured: spec.configured,
            healthy: healthy(id) || !spec.checked,
        };
        self.backends.pairs().map(member).collect()
    }
}

/// When the world is measured. The clock starts with the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Not measured, from time 0.
    pub warmup: SimDuration,
    /// Measured, after the warm-up; above zero.
    pub duration: SimDuration,
    /// Resolution of the timeline; above zero.
    pub sample_interval: SimDuration,
}

impl Timing {
    /// The first moment of the measured window.
    pub fn window_start(&self) -> SimTime {
        SimTime::ZERO + self.warmup
    }

    /// The first moment after the measured window.
    pub fn window_end(&self) -> SimTime {
        self.window_start() + self.duration
    }

    /// Whether `time` lies in the measured window.
    pub fn is_measured(&self, time: SimTime) -> bool {
        time >= self.window_start() && time < self.window_end()
    }

    /// How much of the time from `start` to `end` lies in the measured window.
    pub fn measured_part(&self, start: SimTime, end: SimTime) -> SimDuration {
        let (start, end) = (start.max(self.window_start()), end.min(self.window_end()));
        if start < end { end - start } else { SimDuration::ZERO }
    }

    /// How many samples the timeline has; the last one may be cut short.
    pub fn samples(&self) -> usize {
        self.duration.as_nanos().div_ceil(self.sample_interval.as_nanos()) as usize
    }
}

/// A place that clients send from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The zone's name; outside the region the kind of client (`vpn`, `interconnect`) or the other region's name.
    pub name: String,
    /// The zone, if it is one of the region's.
    pub zone: Option<ZoneId>,
}

/// Prices in USD.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A GiB from one zone to another, in each direction (COST-1). Default: 0.01.
    pub inter_zone_per_gib: Price,
    /// A GiB from client to backend through the load balancer (COST-2). Default: 0.008.
    pub processing_per_gib: Price,
}

impl Default for Prices {
    fn default() -> Self {
        Self { inter_zone_per_gib: Price(0.01), processing_per_gib: Price(0.008) }
    }
}

/// An amount of USD: zero or more, and at most a million.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Price(f64);

/// A number that is no price.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a price; write US dollars, from 0.0 to 1000000.0")]
pub struct NotAPrice(f64);

impl TryFrom<f64> for Price {
    type Error = NotAPrice;
    fn try_from(value: f64) -> Result<Self, NotAPrice> {
        if (0.0..=1e6).contains(&value) { Ok(Self(value)) } else { Err(NotAPrice(value)) }
    }
}

impl Price {
    /// US dollars.
    pub fn usd(self) -> f64 {
        self.0
    }
}

/// A group of equal backends.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How its members serve.
    pub server: Server,
    /// The weight that its members report when a health check succeeds.
    pub weight: WeightState,
}

/// How a backend serves requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How many requests it serves at a time. Default: 16.
    pub workers: Workers,
    /// Requests that may wait beside those in service; one more is refused. Without meaning for unlimited workers.
    /// Default: 1024.
    pub queue_limit: u32,
    /// How long a worker takes for a request. Default: exponential with mean 5 ms.
    pub service_time: Distribution<SimDuration>,
    /// How it fails by itself, if it does. Default: not at all.
    pub failures: Option<Failures>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            workers: Workers::Limited(NonZeroU32::new(16).expect("above 0")),
            queue_limit: 1024,
            service_time: Distribution::exponential(SimDuration::from_millis(5)).expect("a positive mean"),
            failures: None,
        }
    }
}

/// How many requests a backend serves at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Any number: no request ever waits.
    Unlimited,
    /// At most this many.
    Limited(NonZeroU32),
}

impl<'de> Deserialize<'de> for Workers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = Workers;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number of workers, 1 or more, or \"unlimited\"")
            }
            fn visit_i64<E: serde::de::Error>(self, written: i64) -> Result<Workers, E> {
                let count = u32::try_from(written).ok().and_then(NonZeroU32::new);
                count
                    .map(Workers::Limited)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(written), &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Workers, E> {
                if text == "unlimited" {
                    return Ok(Workers::Unlimited);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// Alternating times up and down, independent of everything else (an alternating renewal process).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failures {
    /// From the start, or the last repair, to the next failure. Default: exponential with mean 6 h.
    pub time_to_failure: Distribution<SimDuration>,
    /// From the failure to its repair. Default: exponential with mean 10 min.
    pub time_to_repair: Distribution<SimDuration>,
    /// What a failed backend does. Default: silent.
    pub mode: FailureMode,
}

impl Default for Failures {
    fn default() -> Self {
        let exponential = |mean| Distribution::exponential(mean).expect("a positive mean");
        Self {
            time_to_failure: exponential(SimDuration::from_secs(6 * 3600)),
            time_to_repair: exponential(SimDuration::from_secs(600)),
            mode: FailureMode::Silent,
        }
    }
}

/// What a backend that is down does with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// Nothing: whoever waits for an answer waits until a timeout. Its connections are lost.
    #[default]
    Silent,
    /// It answers with RST, and resets the connections that it had.
    Refuse,
}

/// One backend as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendSpec {
    /// Its name: the group's and its number there.
    pub name: String,
    /// Its group.
    pub group: GroupId,
    /// The zone it runs in.
    pub zone: ZoneId,
    /// Primary or failover, or of the target pool or its backup pool.
    pub role: Role,
    /// Whether it is configured from the beginning.
    pub configured: bool,
    /// Whether a health check judges it. Without one it counts as healthy (TPA-4).
    pub checked: bool,
}

/// A group of equal clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientGroup {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: PlaceId,
    /// How the load balancer sees its packets.
    pub origin: Origin,
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// The share of its UDP requests that are sent in fragments.
    pub fragmented: Ratio,
    /// Distinct addresses that it sends to: 1 for the load balancer's own; more where the load balancer is next hop.
    pub destinations: NonZeroU32,
    /// Distinct client addresses.
    pub addresses: NonZeroU32,
    /// When it opens connections.
    pub arrivals: ArrivalSpec,
    /// What a connection carries.
    pub connection: ConnectionProfile,
    /// From the first SYN to giving up.
    pub connect_timeout: SimDuration,
    /// From a request to giving up.
    pub request_timeout: SimDuration,
    /// How often a failed connection is tried anew, each time from a new source port.
    pub retries: u32,
    /// How long it waits before each of them.
    pub retry_backoff: Backoff,
    /// It sends no request on an older connection, but closes it and opens a new one. Absent: none is too old.
    pub max_age: Option<SimDuration>,
}

/// A fault that strikes backends for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When it begins, on the clock that starts with the warm-up.
    pub at: SimTime,
    /// How long it lasts; to the end of the run if absent.
    pub duration: Option<SimDuration>,
    /// Whom it can strike.
    pub targets: Vec<BackendId>,
    /// The share of them that it strikes, chosen at random for each replication: the nearest whole number, and at
    /// least one unless it is 0.
    pub fraction: Ratio,
    /// What the struck backends do.
    pub mode: FailureMode,
}

/// Something that an operator does.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// When it takes effect, on the clock that starts with the warm-up.
    pub at: SimTime,
    /// What changes.
    pub changes: Vec<Change>,
}

/// One change of configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The load balancer is configured like this from now on.
    Configure(Settings),
    /// A backend is added.
    Add(BackendId),
    /// A backend is removed.
    Remove(BackendId),
    /// A backend changes its role.
    SetRole(BackendId, Role),
    /// A backend is judged by the health check from now on, or no more.
    SetChecked(BackendId, bool),
}

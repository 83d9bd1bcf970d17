//! What one run simulates: the experiment file's cell with every name resolved and every default filled in.

mod balancers;
mod faults;
mod hops;
mod lanes;

use std::num::{NonZeroU16, NonZeroU32};

use rand::Rng;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Serialize};

use super::retransmission::SynRetransmission;
use crate::ids::{
    BackendId, BalancerId, ClientId, GroupId, Id, IdVec, JudgeId, LaneId, PlaceId, RuleId, ZoneId,
};
use crate::lb::backend::{Member, Role};
use crate::lb::change::RegionChange;
use crate::lb::health::HealthChecking;
use crate::lb::policy::TrafficOrigin;
use crate::lb::ratio::Ratio;
use crate::lb::weight::WeightState;
use crate::random::{Distribution, open_unit};
use crate::stats::Strata;
use crate::time::{SimDuration, SimTime};
use crate::unfit::number;
use crate::workload::{ArrivalSpec, Backoff, ConnectionProfile};
pub use balancers::{BalancerSpec, Judge, Membership, RuleSpec, ServedPorts};
pub use faults::{BackendFault, Fault, FaultEffect, FaultSchedule, LinkFault, Occurrence, struck};
pub use hops::{AnswerHop, NextHop};
pub use lanes::{Lane, Lanes};

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
    /// The load balancers; one at least.
    pub balancers: IdVec<BalancerId, BalancerSpec>,
    /// The forwarding rules; one at least.
    pub rules: IdVec<RuleId, RuleSpec>,
    /// The health checks, each of one resource.
    pub judges: IdVec<JudgeId, Judge>,
    /// The groups of backends.
    pub groups: IdVec<GroupId, Group>,
    /// Every machine that is ever configured, in configuration order: group by group, each in the order of its members.
    pub backends: IdVec<BackendId, BackendSpec>,
    /// The client groups.
    pub clients: IdVec<ClientId, ClientGroup>,
    /// In which state machines, faults at random times and health begin.
    pub initial_health: InitialHealth,
    /// What happens to backends, in the order of the file.
    pub faults: Vec<Fault>,
    /// What an operator does, in the order of time.
    pub operations: Vec<Operation>,
}

impl Scenario {
    /// How `backend` serves.
    pub fn server(&self, backend: BackendId) -> &Server {
        &self.groups[self.backends[backend].group].server
    }

    /// The backends as `balancer` knows them at time 0, those that are judged in health `healthy`.
    pub fn members(
        &self,
        balancer: BalancerId,
        healthy: impl Fn(BackendId) -> bool,
    ) -> IdVec<BackendId, Member> {
        let members = self.balancers[balancer].members.pairs();
        let member = |(id, membership): (BackendId, &Membership)| Member {
            name: self.backends[id].name.clone(),
            zone: self.backends[id].zone,
            role: membership.role,
            configured: membership.configured,
            healthy: healthy(id) || membership.judge.is_none(),
        };
        members.map(member).collect()
    }

    /// The load balancer, of a world that has one alone; of others the first.
    pub fn first_balancer(&self) -> &BalancerSpec {
        &self.balancers[BalancerId::from_index(0)]
    }

    /// The health check, of a world that has one alone; of others the first.
    pub fn first_check(&self) -> &HealthChecking {
        &self.judges[JudgeId::from_index(0)].check
    }

    /// What `backend` is to the load balancer that a world has alone; of others the first.
    pub fn membership(&self, backend: BackendId) -> Membership {
        self.first_balancer().members[backend]
    }

    /// What all client groups send to: group by group, each in its own order.
    pub fn lanes(&self) -> IdVec<LaneId, (ClientId, Lane)> {
        let of_group = |(client, group): (ClientId, &ClientGroup)| {
            group.lanes.iter().map(|lane| (client, lane)).collect::<Vec<_>>()
        };
        self.clients.pairs().flat_map(of_group).collect()
    }

    /// Whether all packets go to one load balancer at all times.
    pub fn is_plain(&self) -> bool {
        let mut changes = self.operations.iter().flat_map(|operation| &operation.changes);
        self.balancers.len() == 1
            && self.rules.len() == 1
            && self.rules.iter().all(|rule| rule.balancer.is_some())
            && self.clients.iter().all(|group| group.lanes.count() == 1)
            && !self.leads_answers()
            && !changes.any(|change| matches!(change, RegionChange::Retarget(..)))
    }

    /// Whether answers to any client group have a next hop of their own.
    pub fn leads_answers(&self) -> bool {
        self.clients.iter().any(|group| group.answer_hop().is_some())
    }

    /// Whether some load balancer has `backend` from the beginning.
    pub fn is_configured(&self, backend: BackendId) -> bool {
        self.balancers.iter().any(|balancer| balancer.members[backend].configured)
    }

    /// Whether a health check judges `backend` for some load balancer that has it from the beginning.
    pub fn is_judged(&self, backend: BackendId) -> bool {
        let judges = |member: Membership| member.configured && member.judge.is_some();
        self.balancers.iter().any(|balancer| judges(balancer.members[backend]))
    }

    /// Failover if `backend` is that to every load balancer that has it from the beginning, and primary otherwise; of one that
    /// none has then, what it would be to the first.
    pub fn role(&self, backend: BackendId) -> Role {
        let members = self.balancers.iter().map(|balancer| balancer.members[backend]);
        let mut roles = members.filter(|member| member.configured).map(|member| member.role);
        let first = roles.next().unwrap_or_else(|| self.membership(backend).role);
        roles.chain([first]).min().unwrap_or(first)
    }

    /// The times between failures, and until their repair, of everything that fails and recovers at random: of machines, and
    /// of faults at random times.
    pub fn renewals(&self) -> impl Iterator<Item = Renewals<'_>> {
        let machines = self.groups.iter().filter_map(|group| group.server.failures.as_ref());
        let machines = machines.map(|failures| (&failures.time_to_failure, &failures.time_to_repair));
        let faults = self.faults.iter().filter_map(|fault| match &fault.schedule {
            FaultSchedule::Random { time_between, duration, .. } => Some((time_between, duration)),
            _ => None,
        });
        machines.chain(faults).map(|(up, down)| Renewals { up, down })
    }

    /// The strata that replications are drawn from in turn, if they are: windows with a fault at random times, and without.
    pub fn strata(&self) -> Option<Strata> {
        self.faults.iter().find_map(|fault| match &fault.schedule {
            FaultSchedule::Random { time_between: up, duration: down, occurrence: Occurrence::InTurn } => {
                Some(Strata::new(Renewals { up, down }.chance_in(self.timing.duration)))
            }
            _ => None,
        })
    }

    /// When the first fault or operation comes of which the file gives the time.
    pub fn first_event(&self) -> Option<SimTime> {
        let known = self.faults.iter().filter(|fault| !fault.schedule.is_random());
        let faults = known.map(|fault| fault.schedule.start());
        faults.chain(self.operations.iter().map(|operation| operation.at)).min()
    }

    /// Whether the network ever loses packets.
    pub fn loses_packets(&self) -> bool {
        let loses =
            |fault: &Fault| matches!(fault.effect, FaultEffect::Link { kind: LinkFault::Loss(_), .. });
        self.faults.iter().any(loses)
    }

    /// Whether replications differ in which backends are healthy, or there, beyond the moment at which a change is noticed:
    /// by faults at random times or on random backends of several groups, by lost probes, by load that probes or autoscaling
    /// feel. Which backends of one group a fault strikes changes no decision: only how many does.
    pub fn health_varies(&self) -> bool {
        let are_alike = |targets: &[BackendId]| {
            targets.windows(2).all(|pair| self.backends[pair[0]].group == self.backends[pair[1]].group)
        };
        let by_chance = |fault: &Fault| match &fault.effect {
            FaultEffect::Backends { targets, fraction, .. } => {
                fault.schedule.is_random() || fraction.value() < 1.0 && !are_alike(targets)
            }
            FaultEffect::Link { .. } => fault.schedule.is_random(),
        };
        let by_itself = |group: &Group| group.server.failures.is_some() || group.autoscaling.is_some();
        self.loses_packets()
            || self.judges.iter().any(|judge| judge.check.through_queue)
            || self.groups.iter().any(by_itself)
            || self.faults.iter().any(by_chance)
    }

    /// The same world without what the file says will happen, and when.
    #[must_use]
    pub fn undisturbed(mut self) -> Self {
        self.faults.retain(|fault| fault.schedule.is_random());
        self.operations.clear();
        self
    }
}

/// An alternating renewal process: times up, and times down.
#[derive(Clone, Copy, Debug)]
pub struct Renewals<'a> {
    /// From a repair to the next failure.
    pub up: &'a Distribution<SimDuration>,
    /// From a failure to its repair.
    pub down: &'a Distribution<SimDuration>,
}

impl Renewals<'_> {
    /// The share of time up in the long run.
    pub fn availability(self) -> f64 {
        let (up, down) = (self.up.mean(), self.down.mean());
        if up + down > 0.0 { up / (up + down) } else { 1.0 }
    }

    /// The probability that it is down some time in a window of the long run, where times up have no memory.
    pub fn chance_in(self, window: SimDuration) -> f64 {
        1.0 - self.availability() * libm::exp(-(window.as_nanos() as f64) / self.up.mean())
    }

    /// Whether it is up at a moment of the long run, and how long it stays so: exact, since the state has the probability of its
    /// share of time, and what is left of its interval is independent of that (Ross, Stochastic Processes, 3.4).
    pub fn stationary<R: Rng + ?Sized>(self, rng: &mut R) -> (bool, SimDuration) {
        let up = open_unit(rng.next_u64()) < self.availability();
        (up, if up { self.up.residual(rng) } else { self.down.residual(rng) })
    }
}

/// In which state machines, faults at random times and health begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitialHealth {
    /// All machines are up, no fault has struck, and health is what the health check's `initial_state` says.
    #[default]
    AllUp,
    /// What fails and recovers by itself is in its state of the long run, and the health check knows it.
    Stationary,
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

/// Two minutes, then half an hour in samples of 10 s.
impl Default for Timing {
    fn default() -> Self {
        let [warmup, duration, sample_interval] = [120, 1800, 10].map(SimDuration::from_secs);
        Self { warmup, duration, sample_interval }
    }
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

    /// When the sample that begins at `start` ends: the last one may be cut short.
    pub fn sample_end(&self, start: SimTime) -> SimTime {
        (start + self.sample_interval).min(self.window_end())
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A GiB from one zone to another, in each direction (COST-1).
    pub inter_zone_per_gib: Price,
    /// A GiB from client to backend through the load balancer (COST-2).
    pub processing_per_gib: Price,
}

impl Default for Prices {
    fn default() -> Self {
        Self { inter_zone_per_gib: Price(0.01), processing_per_gib: Price(0.008) }
    }
}

number! {
    /// An amount of USD: zero or more, and at most a million.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000, "x-unit" = "USD"))]
    Price: |value| (0.0..=1e6).contains(&value),
    "{value} is not a price; write US dollars, from 0.0 to 1000000.0"
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
    /// How its size follows its load, if it does.
    pub autoscaling: Option<AutoscalingPolicy>,
    /// Which ports of its members answer.
    pub serves: ServedPorts,
}

impl Group {
    /// A group of servers that a file says nothing of.
    pub fn named(name: &str) -> Self {
        let (server, weight) = (Server::default(), WeightState::default());
        Self { name: name.to_owned(), server, weight, autoscaling: None, serves: ServedPorts::All }
    }
}

/// How the size of a group follows the mean utilization of its members, as `autoscalingPolicy` of the Compute API says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoscalingPolicy {
    /// The least members.
    pub min_num_replicas: NonZeroU32,
    /// The most members; no less.
    pub max_num_replicas: NonZeroU32,
    /// What it aims at.
    pub cpu_utilization: CpuUtilization,
    /// How long a new member's utilization does not count.
    pub cool_down_period: SimDuration,
    /// From the order of a member to its serving.
    pub boot_time: SimDuration,
    /// From one look at the members to the next; above zero.
    pub evaluation_interval: SimDuration,
    /// How long a group must have been too large before members are removed.
    pub stabilization_period: SimDuration,
}

/// `cpu_utilization`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CpuUtilization {
    /// The share of busy workers that is aimed at; above zero.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub utilization_target: Ratio,
}

impl Default for CpuUtilization {
    fn default() -> Self {
        Self { utilization_target: Ratio::new(0.6).expect("a ratio") }
    }
}

/// How a backend serves requests.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(default)]
pub struct Server {
    /// How many requests it serves at a time.
    pub workers: Workers,
    /// Requests that may wait beside those in service; one more is refused. Without meaning for unlimited workers.
    pub queue_limit: u32,
    /// How long a worker takes for a request.
    pub service_time: Distribution<SimDuration>,
    /// In which order requests are served.
    pub discipline: Discipline,
    /// How it fails by itself, if it does. Default: not at all.
    pub failures: Option<Failures>,
    /// How it is slower after it has come back, if it is. Default: not at all.
    pub slow_start: Option<SlowStart>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            workers: Workers::Limited(NonZeroU32::new(16).expect("above 0")),
            queue_limit: 1024,
            service_time: Distribution::exponential(SimDuration::from_millis(5)).expect("a positive mean"),
            discipline: Discipline::Fifo,
            failures: None,
            slow_start: None,
        }
    }
}

/// In which order a backend serves requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// First come, first served: others wait.
    #[default]
    Fifo,
    /// All requests at once, each at an equal share of the workers' speed, and at most that of one worker.
    ProcessorSharing,
}

/// How much slower a backend serves after it has come back: at first by `factor`, then linearly less.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowStart {
    /// How long it takes until full speed; above zero.
    #[serde(deserialize_with = "above_zero")]
    #[schemars(extend("x-above" = "0s"))]
    duration: SimDuration,
    /// How many times longer a request takes at the beginning.
    factor: Factor,
}

/// The duration of a slow start that is none at 0s.
fn above_zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SimDuration, D::Error> {
    let duration = SimDuration::deserialize(deserializer)?;
    let none = "a slow start of 0s is none; write a duration above 0s, or leave slow_start out";
    if duration.is_zero() { Err(D::Error::custom(none)) } else { Ok(duration) }
}

impl SlowStart {
    /// How many times longer a request takes `since` after the return.
    pub fn factor(&self, since: SimDuration) -> f64 {
        let rest = 1.0 - since.as_secs_f64() / self.duration.as_secs_f64();
        1.0 + (self.factor.0 - 1.0) * rest.clamp(0.0, 1.0)
    }
}

number! {
    /// How many times longer something takes: 1 or more.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000, "examples" = [3.0]))]
    Factor: |value| (1.0..=1e6).contains(&value),
    "{value} is not a factor; write how many times longer it takes, from 1.0 to 1000000.0"
}

impl Factor {
    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

const UNLIMITED: &str = "unlimited";

/// How many requests a backend serves at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "NonZeroU32", extend("x-or" = UNLIMITED))]
pub enum Workers {
    /// Any number: no request ever waits.
    Unlimited,
    /// At most this many.
    Limited(NonZeroU32),
}

impl Serialize for Workers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
            Self::Limited(count) => count.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Workers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = Workers;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number of workers, 1 or more, or \"unlimited\"")
            }
            fn visit_i64<E: Error>(self, written: i64) -> Result<Workers, E> {
                u32::try_from(written)
                    .ok()
                    .and_then(NonZeroU32::new)
                    .map(Workers::Limited)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(written), &self))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Workers, E> {
                if text == UNLIMITED {
                    return Ok(Workers::Unlimited);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// Alternating times up and down, independent of everything else (an alternating renewal process).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Failures {
    /// From the start, or the last repair, to the next failure.
    pub time_to_failure: Distribution<SimDuration>,
    /// From the failure to its repair.
    pub time_to_repair: Distribution<SimDuration>,
    /// What a failed backend does.
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

/// What a backend that has failed does with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// Nothing: whoever waits for an answer waits until a timeout. Its connections are lost.
    #[default]
    Silent,
    /// It answers with RST, and resets the connections that it had.
    Refuse,
    /// It serves, but is seen to be unhealthy: a probe that asks for a reply gets an error at once, one that asks for a
    /// handshake no answer.
    UnhealthyOnly,
    /// It answers probes, but serves nothing: whoever waits waits until a timeout. Its connections are lost.
    ServingOnly,
}

/// A machine that may serve any number of load balancers (REG-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendSpec {
    /// Its name: the group's and its number there.
    pub name: String,
    /// Its group.
    pub group: GroupId,
    /// The zone it runs in.
    pub zone: ZoneId,
}

/// A group of equal clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientGroup {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: PlaceId,
    /// How the load balancer sees its packets.
    pub origin: TrafficOrigin,
    /// What it sends to.
    pub lanes: Lanes,
    /// How a route leads its packets, if one does.
    pub next_hop: Option<NextHop>,
    /// The share of its UDP requests that are sent in fragments.
    pub fragmented: Ratio,
    /// Distinct addresses that it sends to on each lane: 1 for the load balancer's own; more where the load balancer is next hop.
    pub destinations: NonZeroU16,
    /// Distinct client addresses.
    pub addresses: NonZeroU32,
    /// The backends that the clients are, one for each address; none if they are none.
    pub own_backends: Vec<BackendId>,
    /// When it opens connections.
    pub arrivals: ArrivalSpec,
    /// What a connection carries.
    pub connection: ConnectionProfile,
    /// From the first SYN to giving up.
    pub connect_timeout: SimDuration,
    /// When it sends a SYN again that nobody answers.
    pub syn_retransmission: SynRetransmission,
    /// From a request to giving up.
    pub request_timeout: SimDuration,
    /// How often a failed connection is tried anew, each time from a new source port.
    pub retries: u8,
    /// How long it waits before each of them.
    pub retry_backoff: Backoff,
    /// It sends no request on an older connection, but closes it and opens a new one. Absent: none is too old.
    pub max_age: Option<SimDuration>,
}

impl ClientGroup {
    /// The next hop of the answers that it gets, if they have one.
    #[inline]
    pub fn answer_hop(&self) -> Option<AnswerHop> {
        self.next_hop.and_then(|hop| hop.answers)
    }
}

/// Something that an operator does.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// When it takes effect, on the clock that starts with the warm-up.
    pub at: SimTime,
    /// What changes.
    pub changes: Vec<RegionChange>,
    /// What it is, in words.
    pub words: String,
}

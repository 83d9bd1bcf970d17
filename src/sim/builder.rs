//! Putting a world together: what must hold between its parts is kept here, whoever describes them.
//!
//! - The zones are the first places, in their order; places outside the region follow.
//! - Backends are in configuration order: group by group, each in the order of its members, called after it.
//! - A client group stands where its packets come from, and so do its round trips.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retransmission::SynRetransmission;
use super::scenario::{
    BackendSpec, BalancerSpec, ClientGroup, Fault, Group, InitialHealth, Judge, Lane, Lanes, Membership,
    Operation, Place, Prices, RuleSpec, Scenario, Timing,
};
use crate::compute::ProbeTiming;
use crate::ids::{
    BackendId, BalancerId, ClientId, GroupId, Id, IdVec, JudgeId, MAX_CLIENT_GROUPS, PlaceId, RuleId, ZoneId,
};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::health::HealthChecking;
use crate::lb::packet::Protocol;
use crate::lb::policy::TrafficOrigin;
use crate::lb::ratio::Ratio;
use crate::random::Distribution;
use crate::time::SimDuration;
use crate::unfit::Unfit;
use crate::workload::{ArrivalSpec, Backoff, ConnectionProfile};

/// A world that is being put together; [`Scenario::builder`] begins one.
#[derive(Clone, Debug)]
pub struct ScenarioBuilder {
    /// When it is measured.
    pub timing: Timing,
    /// Round-trip times.
    pub round_trips: RoundTrips,
    /// What traffic costs.
    pub prices: Prices,
    /// How the load balancer is configured.
    pub balancer: Settings,
    /// How the load balancer learns of health.
    pub health_check: HealthChecking,
    /// In which state machines, faults at random times and health begin.
    pub initial_health: InitialHealth,
    /// What happens to backends.
    pub faults: Vec<Fault>,
    /// What an operator does.
    pub operations: Vec<Operation>,
    zones: IdVec<ZoneId, String>,
    /// With what comes from there.
    places: IdVec<PlaceId, (Place, TrafficOrigin)>,
    groups: IdVec<GroupId, Group>,
    backends: IdVec<BackendId, BackendSpec>,
    /// What each backend is to the load balancer.
    members: IdVec<BackendId, Membership>,
    clients: IdVec<ClientId, ClientGroup>,
    /// The load balancers, if there may be several: `balancer` and `health_check` mean nothing then.
    pub region: Option<RegionParts>,
}

/// The load balancers of a region, and what leads to them and judges for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionParts {
    /// The load balancers, each of which knows every backend.
    pub balancers: IdVec<BalancerId, BalancerSpec>,
    /// The forwarding rules.
    pub rules: IdVec<RuleId, RuleSpec>,
    /// The health checks of resources.
    pub judges: IdVec<JudgeId, Judge>,
}

/// One member of a group, as its load balancer sees it at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The zone it runs in.
    pub zone: ZoneId,
    /// Primary or failover, or of the target pool or its backup pool.
    pub role: Role,
    /// Whether it is configured from the beginning.
    pub configured: bool,
    /// Whether a health check judges it (TPA-4).
    pub checked: bool,
}

impl GroupMember {
    /// A primary backend in `zone`, there from the beginning and checked.
    pub fn in_zone(zone: ZoneId) -> Self {
        Self { zone, role: Role::Primary, configured: true, checked: true }
    }
}

/// Round-trip times between places, with the ends of links named by `End`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoundTrips<End = ZoneId> {
    /// Within a zone.
    pub same_zone_rtt: Distribution<SimDuration>,
    /// From zone to zone.
    pub cross_zone_rtt: Distribution<SimDuration>,
    /// From another region.
    pub other_region_rtt: Distribution<SimDuration>,
    /// Through a VPN tunnel or an Interconnect attachment.
    pub hybrid_rtt: Distribution<SimDuration>,
    /// From the internet.
    pub internet_rtt: Distribution<SimDuration>,
    /// Pairs of zones with round-trip times of their own.
    #[serde(skip_serializing)]
    pub links: Vec<ZoneLink<End>>,
}

/// A pair of zones, both ways.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneLink<End = ZoneId> {
    /// The two zones.
    #[schemars(example = ["us-central1-b", "us-central1-c"])]
    pub between: [End; 2],
    /// Their round-trip time.
    #[schemars(extend("examples" = [{ "constant": "1ms" }]))]
    pub rtt: Distribution<SimDuration>,
}

impl<End> Default for RoundTrips<End> {
    fn default() -> Self {
        let lognormal = |micros: u64, sigma| {
            let median = SimDuration::from_nanos(micros * 1000);
            Distribution::lognormal(median, sigma).expect("a positive median")
        };
        Self {
            same_zone_rtt: lognormal(70, 0.4),
            cross_zone_rtt: lognormal(190, 0.35),
            other_region_rtt: Distribution::constant(SimDuration::from_millis(30)),
            hybrid_rtt: Distribution::constant(SimDuration::from_millis(12)),
            internet_rtt: Distribution::constant(SimDuration::from_millis(30)),
            links: Vec::new(),
        }
    }
}

impl RoundTrips {
    /// From where `origin` says to `zone`.
    fn between(&self, origin: TrafficOrigin, zone: ZoneId) -> &Distribution<SimDuration> {
        match origin {
            TrafficOrigin::Zone(from) => {
                let usual = if from == zone { &self.same_zone_rtt } else { &self.cross_zone_rtt };
                self.links.iter().find(|link| link.joins(from, zone)).map_or(usual, |link| &link.rtt)
            }
            TrafficOrigin::Hybrid => &self.hybrid_rtt,
            TrafficOrigin::Internet => &self.internet_rtt,
            // A consumer of a published service is in the same region, in a zone that nobody knows.
            TrafficOrigin::PrivateServiceConnect => &self.cross_zone_rtt,
            TrafficOrigin::OtherRegion => &self.other_region_rtt,
        }
    }
}

impl ZoneLink {
    /// Whether it is between these two zones.
    pub fn joins(&self, from: ZoneId, to: ZoneId) -> bool {
        [[from, to], [to, from]].contains(&self.between)
    }
}

impl ClientGroup {
    /// From the first SYN to giving up, where nobody says it.
    pub const CONNECT_TIMEOUT: SimDuration = SimDuration::from_secs(10);
    /// From a request to giving up, where nobody says it.
    pub const REQUEST_TIMEOUT: SimDuration = SimDuration::from_secs(30);
    /// Distinct addresses, where nobody says it.
    pub const ADDRESSES: NonZeroU32 = NonZeroU32::new(200).expect("above 0");
}

impl Scenario {
    /// A region of these zones with the Compute API's default internal load balancer, and the default timing.
    pub fn builder<Name: Into<String>>(zones: impl IntoIterator<Item = Name>) -> ScenarioBuilder {
        let zones: IdVec<ZoneId, String> = zones.into_iter().map(Name::into).collect();
        let place = |(id, name): (_, &String)| {
            (Place { name: name.clone(), zone: Some(id) }, TrafficOrigin::Zone(id))
        };
        ScenarioBuilder {
            timing: Timing::default(),
            round_trips: RoundTrips::default(),
            prices: Prices::default(),
            balancer: Settings::default(),
            health_check: ProbeTiming::default().checking().expect("the API accepts its own defaults"),
            initial_health: InitialHealth::default(),
            faults: Vec::new(),
            operations: Vec::new(),
            places: zones.pairs().map(place).collect(),
            zones,
            groups: IdVec::default(),
            backends: IdVec::default(),
            members: IdVec::default(),
            clients: IdVec::default(),
            region: None,
        }
    }
}

impl ScenarioBuilder {
    /// The zones of the region, by name.
    pub fn zones(&self) -> &IdVec<ZoneId, String> {
        &self.zones
    }

    /// The backends so far.
    pub fn backends(&self) -> &IdVec<BackendId, BackendSpec> {
        &self.backends
    }

    /// The groups so far.
    pub fn groups(&self) -> &IdVec<GroupId, Group> {
        &self.groups
    }

    /// Whether a load balancer has `backend` from the beginning.
    pub fn is_configured(&self, backend: BackendId) -> bool {
        match &self.region {
            Some(region) => region.balancers.iter().any(|balancer| balancer.members[backend].configured),
            None => self.members[backend].configured,
        }
    }

    /// How long connections of a removed backend may live on (CTE-9): the longest of all load balancers.
    pub fn draining_timeout(&self) -> SimDuration {
        match &self.region {
            Some(region) => {
                let timeouts = region.balancers.iter().map(|balancer| balancer.settings.draining_timeout);
                timeouts.max().unwrap_or_default()
            }
            None => self.balancer.draining_timeout,
        }
    }

    /// Adds a machine that stands by itself, called as its group.
    pub fn instance(&mut self, group: Group, zone: ZoneId) -> BackendId {
        let name = group.name.clone();
        let group = self.groups.push(group);
        self.members.push(Membership { role: Role::Failover, configured: false, judge: None });
        self.backends.push(BackendSpec { name, group, zone })
    }

    /// What `backend` is to the load balancer from now on.
    pub fn join(&mut self, backend: BackendId, member: Membership) {
        self.members[backend] = member;
    }

    /// What each backend is to the load balancer.
    pub fn members(&self) -> &IdVec<BackendId, Membership> {
        &self.members
    }

    /// Whether `backend` is in a group whose size follows its load.
    pub fn is_autoscaled(&self, backend: BackendId) -> bool {
        self.groups[self.backends[backend].group].autoscaling.is_some()
    }

    /// Adds a group of backends with all members that it may ever have; they are called after it: `web-1`, `web-2`, …
    pub fn group(&mut self, group: Group, members: impl IntoIterator<Item = GroupMember>) -> GroupId {
        let id = self.groups.push(group);
        for (member, number) in members.into_iter().zip(1_u64..) {
            let GroupMember { zone, role, configured, checked } = member;
            let name = format!("{}-{number}", self.groups[id].name);
            self.backends.push(BackendSpec { name, group: id, zone });
            let judge = checked.then_some(JudgeId::from_index(0));
            self.members.push(Membership { role, configured, judge });
        }
        id
    }

    /// Adds the client group `name`, whose packets come from `origin`, with what clients have if nobody says it: TCP, 200
    /// addresses, no retries. `outside` is what results call the place, where that is no zone.
    pub fn clients(
        &mut self,
        name: &str,
        (origin, outside): (TrafficOrigin, &str),
        arrivals: ArrivalSpec,
    ) -> &mut ClientGroup {
        let place = self.place(origin, outside);
        let id = self.clients.push(ClientGroup {
            name: name.to_owned(),
            place,
            origin,
            lanes: Lanes::one(Lane { rule: RuleId::from_index(0), protocol: Protocol::Tcp }),
            next_hop: None,
            fragmented: Ratio::default(),
            destinations: NonZeroU16::MIN,
            addresses: ClientGroup::ADDRESSES,
            own_backends: Vec::new(),
            arrivals,
            connection: ConnectionProfile::default(),
            connect_timeout: ClientGroup::CONNECT_TIMEOUT,
            syn_retransmission: SynRetransmission::default(),
            request_timeout: ClientGroup::REQUEST_TIMEOUT,
            retries: 0,
            retry_backoff: Backoff::default(),
            max_age: None,
        });
        &mut self.clients[id]
    }

    fn place(&mut self, origin: TrafficOrigin, outside: &str) -> PlaceId {
        if let TrafficOrigin::Zone(zone) = origin {
            return PlaceId::from_index(zone.index());
        }
        let known = self.places.pairs().find(|(_, (place, _))| place.name == outside);
        match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.places.push((Place { name: outside.to_owned(), zone: None }, origin)),
        }
    }

    /// The world.
    ///
    /// # Errors
    /// If nothing can be measured in it: there is no time, nobody opens a connection, or clients that are backends have
    /// not one address each.
    pub fn build(mut self) -> Result<Scenario, Unfit> {
        if self.timing.duration.is_zero() || self.timing.sample_interval.is_zero() {
            return Err(Unfit("a measured window and its samples take longer than 0s".to_owned()));
        }
        let groups = self.clients.len();
        if !(1..=MAX_CLIENT_GROUPS).contains(&groups) {
            return Err(Unfit(format!("a world has 1 to {MAX_CLIENT_GROUPS} client groups, not {groups}")));
        }
        for group in &self.clients {
            let (addresses, backends) = (group.addresses.get(), group.own_backends.len());
            if backends > 0 && backends != addresses as usize {
                let what = format!(
                    "a client group has {addresses} addresses for the {backends} backends that it is"
                );
                return Err(Unfit(what));
            }
        }
        self.operations.sort_by_key(|operation| operation.at);
        let sole = (self.balancer, self.health_check, self.members);
        let RegionParts { balancers, rules, judges } = self.region.unwrap_or_else(|| only(sole));
        let row = |(_, origin): &(Place, TrafficOrigin)| {
            self.zones.ids().map(|zone| self.round_trips.between(*origin, zone).clone()).collect()
        };
        Ok(Scenario {
            timing: self.timing,
            round_trips: self.places.iter().map(row).collect(),
            places: self.places.into_iter().map(|(place, _)| place).collect(),
            zones: self.zones,
            prices: self.prices,
            balancers,
            rules,
            judges,
            groups: self.groups,
            backends: self.backends,
            clients: self.clients,
            initial_health: self.initial_health,
            faults: self.faults,
            operations: self.operations,
        })
    }
}

/// A region with one load balancer, which one rule leads to and one health check judges for.
fn only((settings, check, members): (Settings, HealthChecking, IdVec<BackendId, Membership>)) -> RegionParts {
    let name = String::new();
    let balancer = BalancerSpec { name: name.clone(), settings, members };
    let rule = RuleSpec {
        name: name.clone(),
        balancer: Some(BalancerId::from_index(0)),
        address: RuleSpec::FIRST_ADDRESS,
        port: RuleSpec::PORT,
        is_reached_from_elsewhere: true,
    };
    RegionParts {
        balancers: [balancer].into_iter().collect(),
        rules: [rule].into_iter().collect(),
        judges: [Judge { name, check, port: RuleSpec::PORT }].into_iter().collect(),
    }
}

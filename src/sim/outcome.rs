//! What a run found: counts, sums and histograms, as plain data.

use serde::{Deserialize, Serialize};

use super::history::{Chronicle, Spans};
use crate::ids::{BackendId, IdVec, JudgeId, LaneId, PlaceId, ZoneId};
use crate::lb::policy::PlacementOutcome;
use crate::stats::Histogram;

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCause {
    /// No packet of it was ever forwarded to a backend.
    NoBackend,
    /// No handshake within the connect timeout.
    ConnectTimeout,
    /// A backend answered its SYN with RST.
    Refused,
    /// A backend answered a later packet with RST.
    Reset,
    /// No response within the request timeout.
    RequestTimeout,
    /// A backend's queue was full.
    QueueFull,
    /// The client's address had a connection open on each of its ports: no packet was sent.
    NoPort,
}

impl FailureCause {
    /// Every cause, in the order of results.
    pub const ALL: [Self; 7] = [
        Self::NoBackend,
        Self::ConnectTimeout,
        Self::Refused,
        Self::Reset,
        Self::RequestTimeout,
        Self::QueueFull,
        Self::NoPort,
    ];

    /// Its name in results, behind `failed_` and `broken_` that of its metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoBackend => "no_backend",
            Self::ConnectTimeout => "connect_timeout",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::RequestTimeout => "request_timeout",
            Self::QueueFull => "queue_full",
            Self::NoPort => "no_port",
        }
    }
}

/// Counts of one kind (a client group to a zone, say): connections by their beginning, the rest by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Connections that began in the window.
    pub connections: u64,
    /// Those of them that did not complete all their requests.
    pub failed_connections: u64,
    /// Requests that got their response in the window, of whatever connection.
    pub requests: u64,
    /// Bytes sent from client to backend in the window.
    pub request_bytes: u64,
    /// Bytes received by the client in the window.
    pub response_bytes: u64,
}

impl Traffic {
    /// Those connections that completed all their requests.
    pub fn completed(&self) -> u64 {
        self.connections - self.failed_connections
    }
}

impl std::ops::AddAssign<&Self> for Traffic {
    fn add_assign(&mut self, other: &Self) {
        self.connections += other.connections;
        self.failed_connections += other.failed_connections;
        self.requests += other.requests;
        self.request_bytes += other.request_bytes;
        self.response_bytes += other.response_bytes;
    }
}

impl<'a> std::iter::Sum<&'a Self> for Traffic {
    fn sum<I: Iterator<Item = &'a Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}

/// What a health check of a resource saw of one backend, in the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthRecord {
    /// The health check of the resource.
    pub judge: JudgeId,
    /// The backend.
    pub backend: BackendId,
    /// How long it judged it, in nanoseconds.
    pub judged_nanos: u64,
    /// How long of that it held it unhealthy, in nanoseconds.
    pub unhealthy_nanos: u64,
    /// How often what it held changed.
    pub changes: u64,
    /// From a failure of the backend to its being noticed.
    pub detections: Spans,
}

/// One value for each zone, and one for connections that reached no backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByZone<T> {
    /// Backends of this zone.
    pub zones: IdVec<ZoneId, T>,
    /// No backend.
    pub nowhere: T,
}

impl<T: Clone + Default> ByZone<T> {
    /// Empty values for `zones` zones.
    pub fn new(zones: usize) -> Self {
        Self { zones: IdVec::from_fn(zones, |_| T::default()), nowhere: T::default() }
    }

    /// Of values zone by zone, then that for no backend: one at least.
    pub(super) fn of_row(row: &[T]) -> Self {
        let (nowhere, zones) = row.split_last().expect("a value for no backend");
        Self { zones: zones.iter().cloned().collect(), nowhere: nowhere.clone() }
    }
}

impl<T> ByZone<T> {
    /// The value for `zone`, or for no backend.
    #[inline]
    pub fn at(&mut self, zone: Option<ZoneId>) -> &mut T {
        match zone {
            Some(zone) => &mut self.zones[zone],
            None => &mut self.nowhere,
        }
    }

    /// Every value: zone by zone, then that for no backend.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.zones.iter_mut().chain([&mut self.nowhere])
    }

    /// Every value, with the zone that it is for.
    pub fn pairs(&self) -> impl Iterator<Item = (Option<ZoneId>, &T)> {
        self.zones.pairs().map(|(zone, value)| (Some(zone), value)).chain([(None, &self.nowhere)])
    }
}

/// How long things took between a client place and a backend zone, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Round trips of handshakes and requests.
    pub network_rtt: Histogram,
    /// From the first SYN to the handshake's end.
    pub connect: Histogram,
    /// From a request to its whole response.
    pub request: Histogram,
}

impl Latency {
    /// The three kinds with their names in results.
    pub fn kinds(&self) -> [(&'static str, &Histogram); 3] {
        [("network_rtt", &self.network_rtt), ("connect", &self.connect), ("request", &self.request)]
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.network_rtt.merge(&other.network_rtt);
        self.connect.merge(&other.connect);
        self.request.merge(&other.request);
    }
}

/// Worker time of backends while they serve: that of a dead one is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTime {
    /// In use, in nanoseconds.
    pub busy: u128,
    /// On offer, in nanoseconds: workers times the time for which they were there.
    pub offered: u128,
}

impl WorkerTime {
    /// Adds that of another backend, or of a later time.
    pub fn add(&mut self, other: Self) {
        self.busy += other.busy;
        self.offered += other.offered;
    }

    /// Busy over offered; absent where none was on offer.
    pub fn utilization(self) -> Option<f64> {
        (self.offered > 0).then(|| self.busy as f64 / self.offered as f64)
    }
}

/// What one backend did in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendOutcome {
    /// Its connections and requests.
    pub traffic: Traffic,
    /// Requests that clients sent to it in the window.
    pub asked: u64,
    /// How long it served and was configured in the window, in nanoseconds.
    pub available_nanos: u64,
    /// Its workers' time then; absent without a limit of workers.
    pub worker_time: Option<WorkerTime>,
    /// The highest utilization over one sample interval; absent without a limit of workers, or where it never served.
    pub peak_utilization: Option<f64>,
    /// The mean number of requests that waited, over time; absent without a limit of workers.
    pub mean_queue_length: Option<f64>,
    /// The mean time that requests waited, in nanoseconds, those that a failure dropped too; absent without a limit of
    /// workers, or without requests. With processor sharing how much longer they took than alone.
    pub mean_wait: Option<f64>,
    /// The most open connections at one time.
    pub peak_active: u64,
    /// How long it was configured in the measured window, in nanoseconds.
    pub configured_nanos: u64,
    /// How long the load balancer held it unhealthy, in nanoseconds.
    pub unhealthy_nanos: u64,
}

/// One sample of the timeline between one client place and one backend zone, or no backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficSample {
    /// Connections that began in the sample.
    pub connections: u64,
    /// Connections that failed in it.
    pub failed: u64,
    /// 99th percentile of connect times of handshakes that ended in it, in nanoseconds; absent if there were too few.
    pub connect_p99: Option<u64>,
    /// Time-weighted mean number of open connections.
    pub active: f64,
}

/// One sample of the timeline of a zone's backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZoneSample {
    /// Time-weighted mean number of backends held healthy.
    pub healthy: f64,
    /// Busy over available worker time of its backends; absent without a limit of workers, or where none served.
    pub utilization: Option<f64>,
}

/// The responses of one sample of the timeline, to all connections that were open in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Responses {
    /// How many were complete in it.
    pub count: u64,
    /// How long they took from their requests on, together, in nanoseconds.
    pub nanos: u128,
}

/// All samples of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Sample by sample: by client place and backend zone.
    pub traffic: Vec<IdVec<PlaceId, ByZone<TrafficSample>>>,
    /// Sample by sample: the backends of each zone.
    pub zones: Vec<IdVec<ZoneId, ZoneSample>>,
    /// Sample by sample: how often the role that serves changed.
    pub failover_switches: Vec<u64>,
    /// Sample by sample: how long requests took.
    #[serde(default)]
    pub responses: Vec<Responses>,
}

/// Everything that one run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// By client group and zone of the backend that the connection's packets reached last.
    pub traffic: IdVec<LaneId, ByZone<Traffic>>,
    /// Connections by client group and outcome of the decision that placed them, as [`PlacementOutcome::ALL`].
    pub decisions: IdVec<LaneId, [u64; PlacementOutcome::ALL.len()]>,
    /// Failed connections by cause, as [`FailureCause::ALL`].
    pub failures: [u64; FailureCause::ALL.len()],
    /// How long the clients of failed connections did not know it, in nanoseconds: from the first SYN, or from the last request
    /// of a connection that was open.
    #[serde(default)]
    pub failed_after: Histogram,
    /// By client place and backend zone.
    pub latency: IdVec<PlaceId, IdVec<ZoneId, Latency>>,
    /// By backend.
    pub backends: IdVec<BackendId, BackendOutcome>,
    /// By health check of a resource and backend, where one judged the other.
    pub health: Vec<HealthRecord>,
    /// Connections that no backend got.
    pub nowhere: Traffic,
    /// Connections that began in the window, counted when they began.
    pub started: u64,
    /// Those of them that completed all their requests, counted when they did.
    pub completed: u64,
    /// Connections under way when the window began: their first packet was sent, and they were not over.
    pub under_way_at_start: u64,
    /// Connections under way when the window ended.
    pub under_way_at_end: u64,
    /// Connections that ended in the window, whenever they began: completed or failed.
    pub ended: u64,
    /// Those of them that failed, by cause, as [`FailureCause::ALL`].
    pub broken: [u64; FailureCause::ALL.len()],
    /// Those of them that had been open: their handshake was done, or a datagram of theirs had reached a backend.
    pub broken_open: u64,
    /// How long connections were open in the window, together, in nanoseconds.
    pub open_nanos: u128,
    /// Connections placed on a backend that the load balancer held unhealthy at that moment.
    pub unhealthy_connections: u64,
    /// Packets looked up in the tracking table in the window.
    pub conntrack_lookups: u64,
    /// Lookups that found an entry.
    pub conntrack_hits: u64,
    /// The most entries at one time in the window.
    pub conntrack_peak_entries: u64,
    /// How often in the window a later packet of a connection was sent to another backend than those before.
    pub diverted_connections: u64,
    /// Connections of which the first answer met a machine of its own next hop.
    #[serde(default)]
    pub led_back_connections: u64,
    /// Those of them of which it met another machine than they did.
    #[serde(default)]
    pub split_connections: u64,
    /// Changes of a backend's state of health in the window.
    pub health_transitions: u64,
    /// Changes of the serving role in the window.
    pub failover_switches: u64,
    /// The timeline.
    pub timeline: Timeline,
    /// What happened, and when.
    pub history: Chronicle,
    /// Events that the run needed, warm-up and drain-out included.
    pub events: u64,
    /// Connections that were opened, warm-up included.
    pub opened: u64,
}

impl BackendOutcome {
    /// Busy over available worker time; absent without a limit of workers, or where it never served.
    pub fn utilization(&self) -> Option<f64> {
        self.worker_time?.utilization()
    }
}

impl Outcome {
    /// All measured connections.
    pub fn total(&self) -> Traffic {
        self.traffic.iter().flat_map(|row| row.pairs().map(|(_, traffic)| traffic)).sum()
    }

    /// Measured connections that failed for `cause`.
    pub fn failed(&self, cause: FailureCause) -> u64 {
        self.failures[cause as usize]
    }

    /// Connections that failed for `cause` in the window, whenever they began.
    pub fn broken(&self, cause: FailureCause) -> u64 {
        self.broken[cause as usize]
    }

    /// Connections that failed in the window, whenever they began.
    pub fn broken_connections(&self) -> u64 {
        self.broken.iter().sum()
    }

    /// Measured connections whose placing decision had this outcome.
    pub fn decided(&self, outcome: PlacementOutcome) -> u64 {
        self.decisions.iter().map(|counts| counts[outcome as usize]).sum()
    }

    /// The latencies over all places and zones.
    pub fn latency_overall(&self) -> Latency {
        let mut all = Latency::default();
        self.latency.iter().flatten().for_each(|latency| all.merge(latency));
        all
    }

    /// Checks that nothing got lost. By beginning: every connection that began has completed or failed for one cause, and
    /// the rows of every table add up to the same totals. By time: what was under way at the beginning of the window or
    /// began in it has ended in it or was under way at its end, and the timeline adds up to the window.
    ///
    /// # Panics
    /// If they do not: that is a fault of the simulator.
    pub fn assert_conserved(&self) {
        let total = self.total();
        let by_cause: u64 = self.failures.iter().sum();
        assert_eq!(self.started, self.completed + by_cause, "connections that began, and how they ended");
        assert_eq!(self.started, total.connections, "connections that began, and those in the tables");
        assert_eq!(total.failed_connections, by_cause, "failed connections and their causes");
        let decided: u64 = self.decisions.iter().flatten().sum();
        assert_eq!(total.connections, decided, "connections and decisions");
        let mut served: Traffic = self.backends.iter().map(|backend| &backend.traffic).sum();
        served += &self.nowhere;
        assert_eq!(total, served, "traffic by client and by backend");
        assert_eq!(
            self.nowhere.connections,
            self.failed(FailureCause::NoBackend) + self.failed(FailureCause::NoPort),
            "connections without a backend"
        );
        assert_eq!(self.nowhere.connections, self.decided(PlacementOutcome::Dropped), "dropped connections");
        self.assert_conserved_in_time();
    }

    fn assert_conserved_in_time(&self) {
        assert_eq!(
            self.under_way_at_start + self.started,
            self.ended + self.under_way_at_end,
            "connections under way, and those that ended"
        );
        let samples = self.timeline.traffic.iter().flat_map(|row| row.iter().flat_map(ByZone::pairs));
        let (began, broken) = samples.fold((0, 0), |(began, broken), (_, sample)| {
            (began + sample.connections, broken + sample.failed)
        });
        assert_eq!(began, self.started, "connections that began, and those of the timeline");
        assert_eq!(broken, self.broken_connections(), "connections that failed, and those of the timeline");
    }
}

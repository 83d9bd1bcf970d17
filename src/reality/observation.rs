//! What one run showed, real or simulated: the same counts and times of both.

use serde::{Deserialize, Serialize};

use crate::ids::{ClientId, Id, IdVec, LaneId, PlaceId, ZoneId};
use crate::sim::history::{HappeningKind, Subject};
use crate::sim::outcome::{FailureCause, Latency, Outcome};
use crate::sim::scenario::Scenario;
use crate::stats::Histogram;

/// What one run showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunObservation {
    /// What became of the connections that began in the window, by client group.
    pub clients: Vec<ClientCounts>,
    /// Those that failed, by cause in the order of [`FailureCause::ALL`].
    pub causes: [u64; FailureCause::ALL.len()],
    /// How long the clients of those did not know it, in nanoseconds: from the first SYN, or from the last request of a
    /// connection that was open.
    pub failed_after: Histogram,
    /// From the first SYN to the handshake's end, in nanoseconds.
    pub connect: Histogram,
    /// The same by the place of the clients, and by the backend's zone.
    pub connect_between: Vec<Vec<Histogram>>,
    /// From a request to its whole response, in nanoseconds.
    pub request: Histogram,
    /// Connections of the window that each backend completed.
    pub completed_by_backend: Vec<u64>,
    /// For how long backends were held unhealthy in the window, all together, in nanoseconds.
    pub unhealthy_nanos: u64,
    /// How often the state of health of a backend changed in the window.
    pub health_transitions: u64,
    /// From a backend's failure to its being held unhealthy, in seconds.
    pub detections: Vec<f64>,
    /// From a backend's recovery to its being held healthy, in seconds.
    pub recoveries: Vec<f64>,
    /// When new connections of a place went elsewhere, in seconds after the failure or recovery behind that.
    pub decisions: Vec<(usize, f64)>,
}

/// What became of a client group's connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCounts {
    /// Completed by backends of the group's own zone.
    pub in_zone: u64,
    /// Completed by backends of other zones.
    pub across: u64,
    /// Not completed.
    pub failed: u64,
}

impl RunObservation {
    /// What a simulated run of `scenario` showed.
    pub fn of_outcome(scenario: &Scenario, outcome: &Outcome) -> Self {
        let mut observation = Self {
            clients: scenario.clients.ids().map(|client| client_counts(scenario, outcome, client)).collect(),
            causes: FailureCause::ALL.map(|cause| outcome.failed(cause)),
            completed_by_backend: outcome.backends.iter().map(|it| it.traffic.completed()).collect(),
            unhealthy_nanos: outcome.backends.iter().map(|backend| backend.unhealthy_nanos).sum(),
            health_transitions: outcome.health_transitions,
            failed_after: outcome.failed_after.clone(),
            ..Self::default()
        };
        let connects =
            |row: &IdVec<ZoneId, Latency>| row.iter().map(|latency| latency.connect.clone()).collect();
        observation.connect_between = outcome.latency.iter().map(connects).collect();
        for latency in outcome.latency.iter().flat_map(IdVec::iter) {
            observation.connect.merge(&latency.connect);
            observation.request.merge(&latency.request);
        }
        for happening in &outcome.history.happenings {
            let Some(delay) = happening.delay.map(|nanos| nanos as f64 / 1e9) else { continue };
            match (happening.kind, happening.subject) {
                (HappeningKind::NoticedUnhealthy, _) => observation.detections.push(delay),
                (HappeningKind::NoticedHealthy, _) => observation.recoveries.push(delay),
                (HappeningKind::Decision, Subject::Place(place)) => {
                    observation.decisions.push((place.index(), delay));
                }
                _ => {}
            }
        }
        observation
    }

    /// The delays of the decisions for `place`, in the order of time.
    pub fn decisions_of(&self, place: PlaceId) -> impl DoubleEndedIterator<Item = f64> {
        self.decisions.iter().filter(move |(other, _)| *other == place.index()).map(|(_, delay)| *delay)
    }
}

fn client_counts(scenario: &Scenario, outcome: &Outcome, client: ClientId) -> ClientCounts {
    let own = scenario.places[scenario.clients[client].place].zone;
    let mut counts = ClientCounts::default();
    for (zone, traffic) in outcome.traffic[LaneId::from_index(client.index())].pairs() {
        counts.failed += traffic.failed_connections;
        *(if zone == own { &mut counts.in_zone } else { &mut counts.across }) += traffic.completed();
    }
    counts
}

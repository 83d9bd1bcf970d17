//! What is compared of a run.

use std::borrow::Cow;

use super::observation::RunObservation;
use crate::ids::{Id, PlaceId};
use crate::sim::outcome::FailureCause;
use crate::sim::scenario::Scenario;
use crate::stats::Histogram;

/// Something that a run shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealQuantity {
    /// Connections that failed, of the client groups whose names begin so.
    Failed(Cow<'static, str>),
    /// Connections that failed in this way.
    Cause(FailureCause),
    /// How long clients of failed connections did not know it, one by one.
    FailuresKnown,
    /// Connections that backends of other zones completed.
    Across,
    /// Those as a share of all that were completed.
    AcrossShare,
    /// Handshakes that took longer than this.
    ConnectsAbove {
        /// Milliseconds.
        millis: u64,
    },
    /// How long handshakes took between a place and a zone, one by one.
    ConnectTimes {
        /// The clients' place.
        from: Cow<'static, str>,
        /// The backends' zone.
        to: Cow<'static, str>,
    },
    /// Requests that took longer than this.
    RequestsAbove {
        /// Milliseconds.
        millis: u64,
    },
    /// The mean time of a request.
    MeanRequest,
    /// How long backends were held unhealthy, all together.
    HeldUnhealthy,
    /// Changes of health.
    HealthTransitions,
    /// From the failure to the first decision that sends new connections of a place elsewhere.
    FirstDecision {
        /// The place's number.
        place: usize,
    },
    /// From the recovery to the last one, which sends them back.
    LastDecision {
        /// The place's number.
        place: usize,
    },
    /// How unevenly connections spread over backends: χ² over its degrees of freedom.
    Spread,
    /// From failure to detection, backend by backend.
    Detections,
    /// From recovery to detection, backend by backend.
    Recoveries,
}

impl RealQuantity {
    /// What it is called, with its unit.
    pub fn name(&self) -> String {
        match self {
            Self::Failed(group) if group.is_empty() => "connections that fail".to_owned(),
            Self::Failed(group) => format!("{group} connections that fail"),
            Self::Cause(cause) => format!("failures by {}", cause.name()),
            Self::FailuresKnown => "failures known after, s".to_owned(),
            Self::Across => "connections completed across zones".to_owned(),
            Self::AcrossShare => "share of them across zones".to_owned(),
            Self::ConnectsAbove { millis } => {
                format!("handshakes of more than {} s", *millis as f64 / 1000.0)
            }
            Self::ConnectTimes { from, to } => format!("handshakes from {from} to {to}, ms"),
            Self::RequestsAbove { millis } => format!("requests of more than {} s", *millis as f64 / 1000.0),
            Self::MeanRequest => "mean request, ms".to_owned(),
            Self::HeldUnhealthy => "held unhealthy, s over all backends".to_owned(),
            Self::HealthTransitions => "changes of health".to_owned(),
            Self::FirstDecision { .. } => "spill after, s".to_owned(),
            Self::LastDecision { .. } => "return after, s".to_owned(),
            Self::Spread => "spread over backends, χ²/df".to_owned(),
            Self::Detections => "detection after, s".to_owned(),
            Self::Recoveries => "recovery after, s".to_owned(),
        }
    }

    /// How far both may lie apart without a word, as the kernel's network and the controller take some time of their own.
    pub fn slack(&self) -> f64 {
        match self {
            // Filling the tables, and threads that wait for their turn.
            Self::FirstDecision { .. } | Self::LastDecision { .. } | Self::Detections | Self::Recoveries => {
                0.03
            }
            // Timers of the kernel are that coarse beyond half a second.
            Self::FailuresKnown => 0.07,
            Self::HeldUnhealthy => 0.2,
            Self::MeanRequest => 1.0,
            Self::ConnectTimes { .. } => 0.5,
            _ => 0.0,
        }
    }

    /// What `run` says of it, as one number; the mean of several. Nothing if it says nothing.
    pub fn value(&self, run: &RunObservation) -> Option<f64> {
        let all = self.values(run);
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// What `run` says of it, one by one.
    pub fn values(&self, run: &RunObservation) -> Vec<f64> {
        let count = |count: u64| vec![count as f64];
        match self {
            // Which groups these are is said by `of_groups`.
            Self::Failed(_) => count(run.clients.iter().map(|counts| counts.failed).sum()),
            Self::Cause(cause) => count(run.causes[*cause as usize]),
            Self::FailuresKnown => seconds(&run.failed_after),
            Self::Across => count(run.clients.iter().map(|counts| counts.across).sum()),
            Self::AcrossShare => {
                let across: u64 = run.clients.iter().map(|counts| counts.across).sum();
                let all: u64 = run.completed_by_backend.iter().sum();
                if all > 0 { vec![across as f64 / all as f64] } else { Vec::new() }
            }
            Self::ConnectsAbove { millis } => count(run.connect.count_above(millis * 1_000_000)),
            // Which of them these are is said by `of_groups`, too.
            Self::ConnectTimes { .. } => {
                let each = run.connect_between.iter().flatten().flat_map(seconds);
                each.map(|seconds| seconds * 1e3).collect()
            }
            Self::RequestsAbove { millis } => count(run.request.count_above(millis * 1_000_000)),
            Self::MeanRequest => run.request.mean().map(|nanos| nanos / 1e6).into_iter().collect(),
            Self::HeldUnhealthy => vec![run.unhealthy_nanos as f64 / 1e9],
            Self::HealthTransitions => count(run.health_transitions),
            Self::FirstDecision { place } => {
                run.decisions_of(PlaceId::from_index(*place)).next().into_iter().collect()
            }
            Self::LastDecision { place } => {
                run.decisions_of(PlaceId::from_index(*place)).next_back().into_iter().collect()
            }
            Self::Spread => spread(&run.completed_by_backend).into_iter().collect(),
            Self::Detections => run.detections.clone(),
            Self::Recoveries => run.recoveries.clone(),
        }
    }

    /// The part of `run` that it is about: of some client groups alone, or between two places, if it names them.
    pub fn of_groups(&self, scenario: &Scenario, run: &RunObservation) -> RunObservation {
        let mut part = run.clone();
        if let Self::Failed(prefix) = self {
            let names = scenario.clients.iter().map(|group| &group.name);
            let mut is_meant = names.map(|name| name.starts_with(&**prefix));
            part.clients.retain(|_| is_meant.next() == Some(true));
        }
        if let Self::ConnectTimes { from, to } = self {
            let rows = scenario.places.iter().zip(&run.connect_between);
            let rows = rows.filter(|(place, _)| place.name == **from);
            let row = |row: &Vec<Histogram>| {
                let columns = scenario.zones.iter().zip(row).filter(|(zone, _)| **zone == **to);
                columns.map(|(_, times)| times.clone()).collect()
            };
            part.connect_between = rows.map(|(_, times)| row(times)).collect();
        }
        part
    }

    /// Whether whole distributions are compared: each value is independent of the others of its run.
    pub fn is_distribution(&self) -> bool {
        matches!(self, Self::Detections | Self::Recoveries | Self::FailuresKnown | Self::ConnectTimes { .. })
    }
}

/// The values of a histogram of nanoseconds, in seconds.
fn seconds(histogram: &Histogram) -> Vec<f64> {
    let each = histogram.values().flat_map(|(nanos, count)| (0..count).map(move |_| nanos as f64 / 1e9));
    each.collect()
}

/// χ² of counts that are expected to be alike, over its degrees of freedom.
fn spread(counts: &[u64]) -> Option<f64> {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum();
    (counts.len() > 1 && mean > 0.0).then(|| squares / (counts.len() - 1) as f64)
}

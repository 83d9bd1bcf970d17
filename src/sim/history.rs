//! What happened in a run, and when: plain data, and what follows from all of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::scenario::FailureMode;
use crate::ids::{BackendId, BalancerId, ClientId, IdVec, JudgeId, PlaceId};
use crate::lb::backend::Role;
use crate::lb::policy::PlacementOutcome;

/// The most happenings that a run keeps: they are in memory and in the journal. What is counted of them is of all.
pub const HAPPENINGS_MAX: usize = 10_000;

/// The kind of something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HappeningKind {
    /// A backend fails its clients, its probes, or both.
    Failed,
    /// The load balancer holds a backend unhealthy from now on.
    NoticedUnhealthy,
    /// A backend fails nobody any more.
    Recovered,
    /// The load balancer holds a backend healthy from now on.
    NoticedHealthy,
    /// New connections from a place go to other sets of backends, or are called otherwise.
    Decision,
    /// Another role serves.
    Role,
    /// An operator, or an autoscaler, changes something.
    Operation,
    /// Of the backends that new connections of a client group may get, none works.
    OutOfService,
    /// One of them works again.
    InService,
}

impl HappeningKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::NoticedUnhealthy => "noticed_unhealthy",
            Self::Recovered => "recovered",
            Self::NoticedHealthy => "noticed_healthy",
            Self::Decision => "decision",
            Self::Role => "role",
            Self::Operation => "operation",
            Self::OutOfService => "out_of_service",
            Self::InService => "in_service",
        }
    }
}

/// To whom something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A backend.
    Backend(BackendId),
    /// Everybody who sends from a place.
    Place(PlaceId),
    /// A client group.
    Clients(ClientId),
    /// The role that serves from now on in a load balancer.
    Role(BalancerId, Role),
    /// An operation, by its number.
    Operation(u32),
}

/// Why something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A failure of this mode began or ended.
    Failure(FailureMode),
    /// A backend failed or recovered, or that was noticed.
    Backend(BackendId),
    /// An operation, by its number.
    Operation(u32),
    /// An autoscaler.
    Autoscaler,
}

/// From what to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turnabout {
    /// The outcome of a decision, before and after.
    Outcome(PlacementOutcome, PlacementOutcome),
    /// The role that serves, before and after.
    Role(Role, Role),
    /// A backend joins.
    Added,
    /// A backend leaves.
    Removed,
    /// In the eyes of this load balancer, of several.
    Of(BalancerId),
}

/// Something that happened in the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// When, in nanoseconds since the simulation began.
    pub at: u64,
    /// What.
    pub kind: HappeningKind,
    /// To whom.
    pub subject: Subject,
    /// Why, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Trigger>,
    /// How long after its cause, or how long what ends has lasted, in nanoseconds. The cause may lie before the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
    /// From what to what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turnabout>,
}

/// Durations of which the number, sum and greatest are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// All together, in nanoseconds.
    pub nanos: u64,
    /// The longest, in nanoseconds.
    pub longest: u64,
}

impl Spans {
    /// Their mean, in seconds; none of none.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.nanos as f64 / 1e9 / self.count as f64)
    }

    /// The longest, in seconds; none of none.
    pub fn longest_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.longest as f64 / 1e9)
    }

    pub(super) fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.nanos += nanos;
        self.longest = self.longest.max(nanos);
    }
}

/// What became of sample connections when the backends that they may get changed, one to several, to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remapping {
    /// Sample connections, once for each change.
    pub keys: u64,
    /// Those whose backend is another one after the change.
    pub moved: u64,
    /// Those whose backend may still be got after it.
    pub kept: u64,
    /// Those of them that went to a backend which could be got before it, too.
    pub needless: u64,
}

/// What happened in the measured window of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chronicle {
    /// What happened, in the order of time: the first [`HAPPENINGS_MAX`].
    pub happenings: Vec<Happening>,
    /// How much more happened.
    pub left_out: u64,
    /// From a backend's failure to the load balancer's holding it unhealthy.
    pub detections: Spans,
    /// Decisions that changed, over all places that clients send from.
    pub decision_changes: u64,
    /// By client group: the time in which no backend worked that its new connections may get.
    pub outages: IdVec<ClientId, Spans>,
    /// How long each role served, in nanoseconds: primary, failover.
    pub role_nanos: [u64; 2],
    /// What became of connections' backends.
    pub remapping: Remapping,
    /// Detections by health check and backend, until they are with what else is known of those.
    #[serde(skip)]
    pub(super) detected: BTreeMap<(JudgeId, BackendId), Spans>,
}

impl Chronicle {
    pub(super) fn note(&mut self, happening: Happening) {
        if self.happenings.len() < HAPPENINGS_MAX {
            self.happenings.push(happening);
        } else {
            self.left_out += 1;
        }
    }

    /// Takes back the last happening of this kind to `subject`, which happened at `at` and was undone at once.
    pub(super) fn take_back(&mut self, at: u64, kind: HappeningKind, subject: Subject) {
        let is_it = |noted: &Happening| (noted.at, noted.kind, noted.subject) == (at, kind, subject);
        let later = self.happenings.iter().rev().take_while(|noted| noted.at == at);
        match later.into_iter().position(is_it) {
            Some(from_end) => drop(self.happenings.remove(self.happenings.len() - 1 - from_end)),
            None => self.left_out = self.left_out.saturating_sub(1),
        }
    }
}

//! What the Compute API answers to what it refuses (RES-9): one word and its HTTP status.

use super::path::Step;
use super::problem::Problem;
use crate::time::SimDuration;

/// A reason of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A value that the field can't have, or that other fields don't allow.
    Invalid,
    /// A name, or a method, that does not exist.
    NotFound,
    /// A name that is taken.
    AlreadyExists,
    /// Something that another resource needs.
    InUse,
}

impl Reason {
    /// The word and the status.
    fn answer(self) -> (&'static str, u16) {
        match self {
            Self::Invalid => ("invalid", 400),
            Self::NotFound => ("notFound", 404),
            Self::AlreadyExists => ("alreadyExists", 409),
            Self::InUse => ("resourceInUseByAnotherResource", 400),
        }
    }
}

/// Tables of the file that are resources of the API, or calls of it.
const RESOURCES: [&str; 5] =
    ["backend_service", "target_pools", "forwarding_rule", "health_check", "operations"];
/// Their keys that are fields of the API. Other keys are zonesim's own.
const FIELDS: [&str; 16] = [
    "balancing_mode",
    "capacity_scaler",
    "connection_persistence_on_unhealthy_backends",
    "failover_ratio",
    "group",
    "load_balancing_scheme",
    "locality_lb_policy",
    "name",
    "network_security_integration",
    "policy",
    "protocol",
    "session_affinity",
    "spillover",
    "spillover_ratio",
    "tracking_mode",
    "type",
];

impl Problem {
    /// It is the API that refuses this, for `reason`.
    pub(super) fn refused(self, reason: Reason) -> Self {
        let (word, status) = reason.answer();
        Self { note: Some(format!("the Compute API refuses this: {status} {word}")), ..self }
    }

    /// The same at the moment `at` of the run.
    pub(super) fn refused_at(self, reason: Reason, at: SimDuration) -> Self {
        let (word, status) = reason.answer();
        Self { note: Some(format!("the Compute API refuses this at {at}: {status} {word}")), ..self }
    }

    /// A wrong value of a field of the API is `invalid` there too.
    pub(super) fn with_reason(self) -> Self {
        let key = |step: Option<&Step>, known: &[&str]| matches!(step, Some(Step::Key(key)) if known.contains(&key.as_str()));
        let steps = self.path.steps();
        if self.note.is_none() && !self.at_key && key(steps.first(), &RESOURCES) && key(steps.last(), &FIELDS)
        {
            return self.refused(Reason::Invalid);
        }
        self
    }
}

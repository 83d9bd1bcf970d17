//! What an operator can do, as `[[operations]]` writes it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::affinity::Affinity;
use super::pools::HEALTH_CHECK;
use super::service::{FailoverKeys, TrackingKeys, ZonalAffinityKeys};
use crate::experiment::bounded::Whole;
use crate::lb::MAX_BACKENDS;
use crate::lb::ratio::Ratio;

/// A number of instances.
pub(in super::super) type Count = Whole<1, { MAX_BACKENDS as u32 }>;

/// A call of the Compute API. Settings that a call leaves out stay as they are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "do")]
pub(in super::super) enum Verb {
    /// `regionBackendServices.patch`
    SetZonalAffinity(ZonalAffinityKeys),
    /// `regionBackendServices.patch`
    SetFailoverPolicy(FailoverKeys),
    /// `regionBackendServices.patch`
    SetSessionAffinity {
        /// What keeps connections together from then on (AFF-1).
        session_affinity: Affinity,
    },
    /// `regionBackendServices.patch`
    SetConnectionTrackingPolicy(TrackingKeys),
    /// `instanceGroups.addInstances`, `targetPools.addInstance`: instances that did not exist before.
    AddInstances {
        /// The group of backends.
        group: String,
        /// How many; of those that are removed the newest. Default: all of them.
        #[schemars(extend("examples" = [2]))]
        count: Count,
    },
    /// `instanceGroups.removeInstances`, `targetPools.removeInstance`: these, or the newest of a group, all of them
    /// without a count.
    RemoveInstances {
        group: Option<String>,
        count: Option<Count>,
        /// These instances, by their names. Default: those of `group`.
        backends: Option<Vec<String>>,
    },
    /// `regionBackendServices.patch` of a group's `failover`.
    SetBackendFailover {
        group: String,
        /// Whether its members are failover backends from then on.
        failover: bool,
    },
    /// `targetPools.addHealthCheck`, by default to the pool of the forwarding rule.
    AddHealthCheck {
        /// The target pool. Default: that of the forwarding rule, where that is enough.
        #[schemars(example = &"www")]
        pool: Option<String>,
        /// The health check of the pool.
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.removeHealthCheck`
    RemoveHealthCheck {
        #[schemars(example = &"www")]
        pool: Option<String>,
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.setBackup`: without a pool or a ratio there is no backup.
    SetBackup {
        #[schemars(example = &"www")]
        pool: String,
        /// The pool that takes over. Default: none.
        backup_pool: Option<String>,
        /// The share of healthy instances below which it does. Default: none.
        failover_ratio: Option<Ratio>,
    },
    /// Every instance of a zone is removed.
    Drain {
        #[schemars(example = &"us-central1-a")]
        /// The zone whose instances go.
        zone: String,
    },
    /// `targetPools.delete`
    DeleteTargetPool {
        #[schemars(example = &"www")]
        pool: String,
    },
}

fn health_check() -> String {
    HEALTH_CHECK.to_owned()
}

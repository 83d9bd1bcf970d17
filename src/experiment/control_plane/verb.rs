//! What an operator can do, as `[[operations]]` writes it.

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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in super::super) enum Verb {
    /// `regionBackendServices.patch`
    SetZonalAffinity(ZonalAffinityKeys),
    /// `regionBackendServices.patch`
    SetFailoverPolicy(FailoverKeys),
    /// `regionBackendServices.patch`
    SetSessionAffinity { session_affinity: Affinity },
    /// `regionBackendServices.patch`
    SetConnectionTrackingPolicy(TrackingKeys),
    /// `instanceGroups.addInstances`, `targetPools.addInstance`: instances that did not exist before.
    AddInstances { group: String, count: Count },
    /// `instanceGroups.removeInstances`, `targetPools.removeInstance`: these, or the newest of a group, all of them
    /// without a count.
    RemoveInstances { group: Option<String>, count: Option<Count>, backends: Option<Vec<String>> },
    /// `regionBackendServices.patch` of a group's `failover`.
    SetBackendFailover { group: String, failover: bool },
    /// `targetPools.addHealthCheck`, by default to the pool of the forwarding rule.
    AddHealthCheck {
        pool: Option<String>,
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.removeHealthCheck`
    RemoveHealthCheck {
        pool: Option<String>,
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.setBackup`: without a pool or a ratio there is no backup.
    SetBackup { pool: String, backup_pool: Option<String>, failover_ratio: Option<Ratio> },
    /// Every instance of a zone is removed.
    Drain { zone: String },
    /// `targetPools.delete`
    DeleteTargetPool { pool: String },
}

fn health_check() -> String {
    HEALTH_CHECK.to_owned()
}

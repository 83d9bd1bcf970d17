//! Target pools (TPA-1 to TPA-5, TPF-1, RES-2).

use super::error::{ApiError, FieldPaths};
use super::fields::fields;
use super::{Assumptions, Reference, number};
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::selection::SelectionHash;
use crate::lb::tracking::{Tracker, TrackingPolicy};

fields! {
    /// A target pool.
    TargetPool {
        /// Its name.
        name: String,
        /// Which connections stay together. Default: NONE.
        #[serde(deserialize_with = "number::session_affinity")]
        session_affinity: Option<SessionAffinity>,
        /// The share of healthy instances below which the backup pool serves.
        #[serde(deserialize_with = "number::ratio")]
        failover_ratio: Option<Ratio>,
        /// The pool that takes over. Neither it nor the ratio is there without the other (TPF-1).
        backup_pool: Option<Reference>,
        /// The legacy HTTP health check that judges its instances, if any does.
        health_checks: Vec<Reference>,
        /// Its instances.
        instances: Vec<Reference>,
    }
}

impl TargetPool {
    /// How the load balancer is configured by it, if the API accepts its fields.
    ///
    /// # Errors
    /// If it has an affinity that pools can't have, or half of a backup.
    pub fn settings(&self, assumptions: &Assumptions) -> Result<Settings, ApiError> {
        let session_affinity = self.session_affinity.unwrap_or_default();
        const POSSIBLE: [SessionAffinity; 3] =
            [SessionAffinity::None, SessionAffinity::ClientIp, SessionAffinity::ClientIpProto];
        if !POSSIBLE.contains(&session_affinity) {
            let what = format!("a target pool can't have {}", session_affinity.name());
            let help = "write NONE, CLIENT_IP or CLIENT_IP_PROTO";
            return Err(ApiError::invalid(&["sessionAffinity"], what, help));
        }
        self.check_backup_is_whole()?;
        Ok(Settings {
            policy: AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio: self.failover_ratio }),
            session_affinity,
            tracking: TrackingPolicy::new(Tracker::TargetPool),
            hash: SelectionHash::Maglev(assumptions.table_size),
            drop_portless_fragments: assumptions.drop_portless_fragments,
            ..Settings::default()
        })
    }

    /// A backup pool and a failover ratio belong together: neither has an effect without the other (TPF-1).
    fn check_backup_is_whole(&self) -> Result<(), ApiError> {
        let (fields, what, help): (FieldPaths, _, _) =
            match (self.backup_pool.is_some(), self.failover_ratio.is_some()) {
                (true, false) => (
                    &["backupPool"],
                    "has no failover ratio beside it: the two belong together",
                    "add failoverRatio = 0.5, or leave the pool out",
                ),
                (false, true) => (
                    &["failoverRatio"],
                    "has no backup pool beside it: the two belong together",
                    "add backupPool = \"…\", or leave the ratio out",
                ),
                _ => return Ok(()),
            };
        Err(ApiError::invalid(fields, what, help).of_field())
    }
}

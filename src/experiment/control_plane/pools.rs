//! Target pools and the forwarding rule that points to one of them (TPA-1 to TPA-5, TPF-1, TPF-6, TPF-7, MTH).

use super::refusal::Refusal;
use crate::experiment::problem::{choice, quoted};
use crate::experiment::reason::Reason;
use crate::lb::Settings;
use crate::lb::affinity::SessionAffinity;
use crate::lb::backend::Role;
use crate::lb::health::ProbeType;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::ratio::Ratio;
use crate::lb::selection::{SelectionHash, TableSize};
use crate::lb::tracking::{Tracker, TrackingPolicy};

/// The one health check that there is.
pub(in super::super) const HEALTH_CHECK: &str = "default";

/// The target pools of a region, and the rule whose traffic is simulated.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Pools {
    pub(in super::super) region: String,
    /// The name of the forwarding rule.
    pub(in super::super) rule: String,
    /// The pool that it points to.
    pub(in super::super) target: usize,
    /// The size of Maglev's table.
    pub(in super::super) table_size: TableSize,
    pub(in super::super) drop_portless_fragments: bool,
    /// The type of the health check.
    pub(in super::super) check: ProbeType,
    pub(in super::super) all: Vec<Pool>,
}

/// A target pool.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Pool {
    name: String,
    session_affinity: SessionAffinity,
    backup: Option<usize>,
    /// Absent unless there is a backup.
    failover_ratio: Option<Ratio>,
    /// Whether a health check is attached.
    checked: bool,
    exists: bool,
}

impl Pool {
    /// A new pool without backup and health check.
    pub(in super::super) fn new(name: &str, session_affinity: SessionAffinity) -> Result<Self, Refusal> {
        match session_affinity {
            SessionAffinity::None | SessionAffinity::ClientIp | SessionAffinity::ClientIpProto => {}
            SessionAffinity::ClientIpPortProto | SessionAffinity::ClientIpNoDestination => {
                let what = format!("a target pool can't have {}", session_affinity.name());
                let help = "write NONE, CLIENT_IP or CLIENT_IP_PROTO";
                return Err(Refusal::invalid(&["session_affinity"], what, help));
            }
        }
        let name = name.to_owned();
        Ok(Self { name, session_affinity, backup: None, failover_ratio: None, checked: false, exists: true })
    }
}

impl Pools {
    /// The pool called `name`, as one of `fields` says.
    pub(in super::super) fn find(
        &self,
        name: &str,
        fields: &'static [&'static str],
    ) -> Result<usize, Refusal> {
        let found = self.all.iter().position(|pool| pool.exists && pool.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> =
                self.all.iter().filter(|pool| pool.exists).map(|pool| pool.name.as_str()).collect();
            let what = format!("there is no target pool {}", quoted(name));
            Refusal::because(Reason::NotFound, fields, what, choice(name, "target pools", &known))
        })
    }

    /// How the load balancer is configured.
    pub(in super::super) fn settings(&self) -> Settings {
        let target = &self.all[self.target];
        Settings {
            policy: AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio: target.failover_ratio }),
            session_affinity: target.session_affinity,
            tracking: TrackingPolicy::new(Tracker::TargetPool),
            hash: SelectionHash::Maglev(self.table_size),
            drop_portless_fragments: self.drop_portless_fragments,
            ..Settings::default()
        }
    }

    /// What the instances of a pool are to the rule, if it sends them traffic at all.
    pub(in super::super) fn role(&self, pool: usize) -> Option<Role> {
        if pool == self.target {
            return Some(Role::Primary);
        }
        // One level only: the backup's own backup does not count (TPF-4).
        (self.all[self.target].backup == Some(pool)).then_some(Role::Failover)
    }

    /// Whether a pool has not been deleted.
    pub(super) fn exists(&self, pool: usize) -> bool {
        self.all[pool].exists
    }

    /// Whether a health check judges the instances of a pool.
    pub(in super::super) fn is_checked(&self, pool: usize) -> bool {
        self.all[pool].checked
    }

    /// Sets or clears the backup pool. It is in use only with a ratio (TPF-1).
    pub(in super::super) fn set_backup(
        &mut self,
        pool: usize,
        backup: Option<&str>,
        failover_ratio: Option<Ratio>,
    ) -> Result<(), Refusal> {
        const FIELDS: &[&str] = &["backup_pool"];
        let backup =
            backup.filter(|name| !name.is_empty()).map(|name| self.find(name, FIELDS)).transpose()?;
        if backup == Some(pool) {
            let help = "name another pool, or leave it out for none";
            return Err(Refusal::invalid(FIELDS, "a pool can't be its own backup", help));
        }
        let pool = &mut self.all[pool];
        pool.backup = backup;
        pool.failover_ratio = failover_ratio.filter(|_| backup.is_some());
        Ok(())
    }

    /// Attaches the health checks called `names` to a pool.
    pub(in super::super) fn attach(&mut self, pool: usize, names: &[String]) -> Result<(), Refusal> {
        for name in names {
            self.check_name(name)?;
            if std::mem::replace(&mut self.all[pool].checked, true) {
                return Err(Refusal::invalid(
                    CHECK_FIELDS,
                    format!("target pool {:?} has a health check already", self.all[pool].name),
                    "a target pool has at most one health check",
                ));
            }
        }
        Ok(())
    }

    /// Takes the health check called `name` off a pool.
    pub(in super::super) fn detach(&mut self, pool: usize, name: &str) -> Result<(), Refusal> {
        self.check_name(name)?;
        if std::mem::replace(&mut self.all[pool].checked, false) {
            return Ok(());
        }
        let what = format!("target pool {:?} has no health check", self.all[pool].name);
        Err(Refusal::invalid(CHECK_FIELDS, what, "name a pool that has one"))
    }

    /// Deletes a pool that nothing uses.
    pub(in super::super) fn delete(&mut self, pool: usize) -> Result<(), Refusal> {
        let name = &self.all[pool].name;
        let resource = |kind, name| format!("projects/PROJECT/regions/{}/{kind}/{name}", self.region);
        let backed =
            self.all.iter().enumerate().find(|(_, other)| other.exists && other.backup == Some(pool));
        let user = match backed {
            _ if pool == self.target => resource("forwardingRules", &self.rule),
            Some((_, other)) => resource("targetPools", &other.name),
            None => {
                self.all[pool].exists = false;
                return Ok(());
            }
        };
        let what = format!(
            "The target_pool resource '{}' is already being used by '{user}'",
            resource("targetPools", name)
        );
        let help = "delete a pool that neither the forwarding rule nor another pool uses";
        Err(Refusal::because(Reason::InUse, &["pool"], what, help))
    }

    /// Whether `name` is a health check that target pools can use: a legacy HTTP one (TPA-3).
    fn check_name(&self, name: &str) -> Result<(), Refusal> {
        let not_found = |help: &str| {
            let what = format!(
                "The resource 'projects/PROJECT/global/httpHealthChecks/{name}' was not found: \
                 target pools take legacy HTTP health checks only"
            );
            Err(Refusal::because(Reason::NotFound, CHECK_FIELDS, what, help))
        };
        match (name, self.check) {
            (HEALTH_CHECK, ProbeType::Http) => Ok(()),
            (HEALTH_CHECK, _) => not_found("write health_check.type = \"HTTP\", or leave it out"),
            _ => not_found("write \"default\": that is the table [health_check]"),
        }
    }
}

const CHECK_FIELDS: &[&str] = &["health_checks", "health_check"];

//! `targetPools` (MTH, TPA-1 to TPA-4, TPF-6, TPF-7).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::Assumptions;
use crate::compute::error::{ApiError, FieldPaths, Reason};
use crate::compute::kind::ResourceKind;
use crate::compute::number::session_affinity;
use crate::compute::reference::Reference;
use crate::compute::resources::{Home, POOL, Resources};
use crate::compute::target_pool::TargetPool;
use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;

/// What `targetPools.insert` creates.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetPoolArguments {
    /// Its name.
    #[schemars(example = &"www")]
    name: String,
    /// NONE, CLIENT_IP or CLIENT_IP_PROTO: for good, for no method changes it (TPA-1). Default: NONE.
    #[serde(default, deserialize_with = "session_affinity")]
    #[schemars(with = "Option<SessionAffinity>", extend("examples" = ["CLIENT_IP"]))]
    session_affinity: Option<SessionAffinity>,
    /// The share of healthy instances below which the backup pool serves; it needs `backup_pool`. Default: none.
    failover_ratio: Option<Ratio>,
    /// The pool that takes over; it needs `failover_ratio`. Default: none.
    #[schemars(example = &"backup")]
    backup_pool: Option<Reference>,
    /// The legacy HTTP health check that judges its instances. Without one all count as healthy (TPA-4).
    #[serde(default)]
    #[schemars(example = &["legacy-80"])]
    health_checks: Vec<Reference>,
    /// Its instances.
    #[serde(default)]
    #[schemars(example = &["vm-7"])]
    instances: Vec<Reference>,
}

impl TargetPoolArguments {
    /// The pool.
    pub fn resource(&self) -> TargetPool {
        TargetPool {
            name: self.name.clone(),
            session_affinity: self.session_affinity,
            failover_ratio: self.failover_ratio,
            backup_pool: self.backup_pool.clone(),
            health_checks: self.health_checks.clone(),
            instances: self.instances.clone(),
            ..TargetPool::default()
        }
    }
}

const BACKUP: FieldPaths = &["backupPool", "target"];
const CHECKS: FieldPaths = &["healthChecks", "healthCheck"];
const INSTANCES: FieldPaths = &["instances"];

impl Resources {
    /// `targetPools.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, its affinity can't be, a half of a backup is missing, or it names what does not
    /// exist or it can't have.
    pub fn insert_target_pool(&mut self, pool: TargetPool) -> Result<(), ApiError> {
        Self::check_named(&pool.name)?;
        pool.settings(&Assumptions::default())?;
        if let Some(backup) = &pool.backup_pool {
            self.check_region(backup, BACKUP)?;
            self.check_backup(&pool.name, backup.name())?;
        }
        self.check_checks(&pool.name, &pool.health_checks, false)?;
        self.check_pool_instances(&pool.instances)?;
        self.check_new(ResourceKind::TargetPool, &pool.name)?;
        self.target_pools.push(pool);
        Ok(())
    }

    /// `targetPools.addInstance` of instances that exist. One that is there stays (O17).
    ///
    /// # Errors
    /// If the pool or an instance does not exist, or an instance is in another region.
    pub fn add_to_pool(&mut self, pool: &str, instances: &[Reference]) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        self.check_pool_instances(instances)?;
        let present = &mut self.pool_mut(pool)?.instances;
        for instance in instances {
            if !present.iter().any(|own| own.name() == instance.name()) {
                present.push(instance.clone());
            }
        }
        Ok(())
    }

    /// `targetPools.removeInstance`
    ///
    /// # Errors
    /// If the pool does not exist, or an instance is not in it.
    pub fn remove_from_pool(&mut self, pool: &str, instances: &[Reference]) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        let names: Vec<String> = instances.iter().map(|own| own.name().to_owned()).collect();
        self.remove_instances(&Home::Pool(pool.to_owned()), &names)
    }

    /// `targetPools.addHealthCheck` of a list, which the API takes with one member.
    ///
    /// # Errors
    /// If the pool or a check does not exist, or the pool would have several.
    pub fn add_health_checks(&mut self, pool: &str, checks: &[Reference]) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        if checks.is_empty() {
            return Err(ApiError::required(CHECKS, "name a legacy HTTP health check"));
        }
        self.check_checks(pool, checks, !self.pool(pool, POOL)?.health_checks.is_empty())?;
        self.pool_mut(pool)?.health_checks.extend(checks.iter().cloned());
        Ok(())
    }

    /// `targetPools.removeHealthCheck` of a list.
    ///
    /// # Errors
    /// If the pool or a check does not exist, or the pool does not have it.
    pub fn remove_health_checks(&mut self, pool: &str, checks: &[Reference]) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        let [only] = checks else {
            return Err(ApiError::required(CHECKS, "name the health check of the pool"));
        };
        let has_it = self.pool(pool, POOL)?.health_checks.iter().any(|own| own.name() == only.name());
        if !has_it && self.names(ResourceKind::HttpHealthCheck).contains(&only.name()) {
            let what = format!("target pool {pool:?} does not have this health check");
            return Err(ApiError::invalid(CHECKS, what, "name the one that it has"));
        }
        self.remove_health_check(pool, only.name())
    }

    /// `targetPools.setBackup` with references.
    ///
    /// # Errors
    /// If a pool does not exist, is in another region, or is to be its own backup.
    pub fn set_backup_pool(
        &mut self,
        pool: &str,
        backup: Option<&Reference>,
        failover_ratio: Option<Ratio>,
    ) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        let backup = backup.filter(|backup| !backup.as_str().is_empty());
        backup.map_or(Ok(()), |backup| self.check_region(backup, BACKUP))?;
        self.set_backup(pool, backup.map(Reference::name), failover_ratio)
    }

    /// Why pools can't be patched, which the API has no method for (MTH-3).
    pub(super) fn refuse_patch_of_pool(&self, pool: &str) -> Result<(), ApiError> {
        self.check_exists(ResourceKind::TargetPool, pool, POOL)?;
        let what = "a target pool keeps the session affinity that it was created with: \
                    there is no method to change it";
        let help =
            "insert another pool, and let the forwarding rule point to that by forwarding_rules.set_target";
        Err(ApiError::because(Reason::NotFound, &["sessionAffinity", "targetPool"], what, help))
    }

    fn check_checks(&self, pool: &str, checks: &[Reference], has_one: bool) -> Result<(), ApiError> {
        let mut checks = checks.iter().enumerate();
        checks.try_for_each(|(index, check)| {
            let attachable = self.check_attachable(pool, check.name(), has_one || index > 0);
            attachable.map_err(|error| error.of_member(index))
        })
    }

    fn check_pool_instances(&self, instances: &[Reference]) -> Result<(), ApiError> {
        for (index, instance) in instances.iter().enumerate() {
            self.instance(instance, INSTANCES).map_err(|error| error.of_member(index))?;
        }
        Ok(())
    }

    /// Checks what the target pool at `index` names, as at its creation.
    ///
    /// # Errors
    /// If its backup or its health check does not exist, or is one too many.
    pub fn check_pool(&self, index: usize) -> Result<(), ApiError> {
        let pool = &self.target_pools[index];
        if let Some(backup) = &pool.backup_pool {
            self.check_backup(&pool.name, backup.name())?;
        }
        let mut checks = pool.health_checks.iter().enumerate();
        checks.try_for_each(|(number, check)| self.check_attachable(&pool.name, check.name(), number > 0))
    }

    /// `targetPools.addHealthCheck`
    ///
    /// # Errors
    /// If the pool or the check does not exist, or the pool has one already.
    pub fn add_health_check(&mut self, pool: &str, check: &str) -> Result<(), ApiError> {
        let has_one = !self.pool(pool, POOL)?.health_checks.is_empty();
        self.check_attachable(pool, check, has_one)?;
        self.pool_mut(pool)?.health_checks.push(Reference::new(check));
        Ok(())
    }

    /// `targetPools.removeHealthCheck`
    ///
    /// # Errors
    /// If the pool or the check does not exist, or the pool does not have it.
    pub fn remove_health_check(&mut self, pool: &str, check: &str) -> Result<(), ApiError> {
        let has_one = !self.pool(pool, POOL)?.health_checks.is_empty();
        self.check_attachable(pool, check, false)?;
        if !has_one {
            let what = format!("target pool {pool:?} has no health check");
            return Err(ApiError::invalid(CHECKS, what, "name a pool that has one"));
        }
        self.pool_mut(pool)?.health_checks.clear();
        Ok(())
    }

    /// `targetPools.setBackup`: without a pool or a ratio there is no backup (TPF-1).
    ///
    /// # Errors
    /// If a pool does not exist, or is to be its own backup.
    pub fn set_backup(
        &mut self,
        pool: &str,
        backup: Option<&str>,
        failover_ratio: Option<Ratio>,
    ) -> Result<(), ApiError> {
        self.pool(pool, POOL)?;
        let backup = backup.filter(|name| !name.is_empty());
        backup.map_or(Ok(()), |backup| self.check_backup(pool, backup))?;
        let changed = self.pool_mut(pool)?;
        (changed.backup_pool, changed.failover_ratio) = match (backup, failover_ratio) {
            (Some(backup), Some(ratio)) => (Some(Reference::new(backup)), Some(ratio)),
            _ => (None, None),
        };
        Ok(())
    }

    /// `targetPools.delete`
    ///
    /// # Errors
    /// If the pool does not exist, or a forwarding rule or another pool uses it.
    pub fn delete_target_pool(&mut self, name: &str) -> Result<(), ApiError> {
        self.pool(name, POOL)?;
        self.check_unused(ResourceKind::TargetPool, name)?;
        self.target_pools.retain(|pool| pool.name != name);
        Ok(())
    }

    /// Checks that the pool called `backup` can take over from `pool` (TPF-6).
    fn check_backup(&self, pool: &str, backup: &str) -> Result<(), ApiError> {
        if self.pool(backup, BACKUP)?.name != pool {
            return Ok(());
        }
        let help = "name another pool, or leave it out for none";
        Err(ApiError::invalid(BACKUP, "a pool can't be its own backup", help))
    }

    /// Checks that `check` is a health check that target pools can have, a legacy HTTP one (TPA-3), and that `pool` has none.
    fn check_attachable(&self, pool: &str, check: &str, has_one: bool) -> Result<(), ApiError> {
        if !self.http_health_checks.iter().any(|own| own.name == check) {
            let what = format!(
                "The resource 'projects/PROJECT/global/httpHealthChecks/{check}' was not found: \
                 target pools take legacy HTTP health checks only"
            );
            return Err(ApiError::because(Reason::NotFound, CHECKS, what, "name one that exists"));
        }
        if has_one {
            let what = format!("target pool {pool:?} has a health check already");
            return Err(ApiError::invalid(CHECKS, what, "a target pool has at most one health check"));
        }
        Ok(())
    }
}

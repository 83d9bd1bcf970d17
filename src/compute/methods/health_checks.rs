//! `healthChecks` and `httpHealthChecks`.

use super::arguments::arguments;
use crate::compute::error::ApiError;
use crate::compute::fields::patched;
use crate::compute::health_check::{HealthCheck, HttpHealthCheck, ProbeTiming, ProbeType, ProbedPort};
use crate::compute::kind::ResourceKind;
use crate::compute::resources::Resources;
use crate::time::SimDuration;

arguments! {
    /// A health check, which backend services use.
    HealthCheckArguments, HealthCheckPatch {
        /// The health check.
        health_check,
        /// What a probe asks for. Needed at its creation.
        #[schemars(example = &"TCP")]
        r#type: Option<ProbeType>,
        /// The port that it asks. Default: 443 for SSL, HTTPS and HTTP2, 80 for the others, none for GRPC.
        #[schemars(extend("examples" = [80]))]
        port: Option<i64>,
        /// What HTTP asks for. Default: /.
        #[schemars(example = &"/healthz")]
        request_path: Option<String>,
        /// Whom HTTP asks. Default: the address of the forwarding rule.
        #[schemars(example = &"www.example.com")]
        host: Option<String>,
        /// From the start of one probe to the start of the next: 1 to 300 whole seconds (HCK-2). Default: 5 s.
        check_interval: Option<SimDuration>,
        /// How long a probe waits: 1 to 300 whole seconds, at most the interval (HCK-2). Default: 5 s.
        timeout: Option<SimDuration>,
        /// Successes in a row that make a backend healthy (HCK-2). Default: 2.
        healthy_threshold: Option<i64>,
        /// Failures in a row that make a backend unhealthy (HCK-2). Default: 2.
        unhealthy_threshold: Option<i64>,
    }
}

arguments! {
    /// A legacy HTTP health check, which target pools use.
    HttpHealthCheckArguments, HttpHealthCheckPatch {
        /// The legacy HTTP health check.
        http_health_check,
        /// The port that it asks. Default: 80.
        #[schemars(extend("examples" = [80]))]
        port: Option<i64>,
        /// What it asks for, without query parameters. Default: /.
        #[schemars(example = &"/healthz")]
        request_path: Option<String>,
        /// Whom it asks. Default: the address of the forwarding rule.
        #[schemars(example = &"www.example.com")]
        host: Option<String>,
        /// From the start of one probe to the start of the next: 1 to 300 whole seconds (HCK-2). Default: 5 s.
        check_interval: Option<SimDuration>,
        /// How long a probe waits: 1 to 300 whole seconds, at most the interval (HCK-2). Default: 5 s.
        timeout: Option<SimDuration>,
        /// Successes in a row that make a backend healthy (HCK-2). Default: 2.
        healthy_threshold: Option<i64>,
        /// Failures in a row that make a backend unhealthy (HCK-2). Default: 2.
        unhealthy_threshold: Option<i64>,
    }
}

impl HealthCheckArguments {
    /// The health check.
    pub fn resource(&self) -> HealthCheck {
        self.fields().resource(None)
    }
}

impl HttpHealthCheckArguments {
    /// The health check.
    pub fn resource(&self) -> HttpHealthCheck {
        self.fields().resource()
    }
}

impl HealthCheckPatch {
    /// The health check that has these fields and no others; what it asks is of type `usual` if they say none.
    pub fn resource(&self, usual: Option<ProbeType>) -> HealthCheck {
        let asked = ProbedPort {
            port: self.port,
            request_path: self.request_path.clone(),
            host: self.host.clone(),
            ..ProbedPort::default()
        };
        let name = self.health_check.clone();
        let check = match self.r#type.or(usual).filter(|_| asked != ProbedPort::default()) {
            Some(r#type) => HealthCheck::asking(name, r#type, asked),
            None => HealthCheck { name, ..HealthCheck::default() },
        };
        let timing = ProbeTiming {
            check_interval_sec: self.check_interval,
            timeout_sec: self.timeout,
            healthy_threshold: self.healthy_threshold,
            unhealthy_threshold: self.unhealthy_threshold,
        };
        HealthCheck { r#type: self.r#type, timing, ..check }
    }
}

impl HttpHealthCheckPatch {
    /// The health check that has these fields and no others.
    pub fn resource(&self) -> HttpHealthCheck {
        HttpHealthCheck {
            name: self.http_health_check.clone(),
            timing: ProbeTiming {
                check_interval_sec: self.check_interval,
                timeout_sec: self.timeout,
                healthy_threshold: self.healthy_threshold,
                unhealthy_threshold: self.unhealthy_threshold,
            },
            port: self.port,
            request_path: self.request_path.clone(),
            host: self.host.clone(),
            ..HttpHealthCheck::default()
        }
    }
}

impl Resources {
    /// `regionHealthChecks.insert`, `healthChecks.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, it asks for what can't be asked, or its timing can't be (HCK-2, HCK-3).
    pub fn insert_health_check(&mut self, check: HealthCheck) -> Result<(), ApiError> {
        Self::check_named(&check.name)?;
        check.probe()?;
        check.timing.checking()?;
        self.check_new(ResourceKind::HealthCheck, &check.name)?;
        self.health_checks.push(check);
        Ok(())
    }

    /// `regionHealthChecks.patch`, `healthChecks.patch`: fields that `change` leaves out stay as they are.
    ///
    /// # Errors
    /// If it does not exist, or could not be created as it then is.
    pub fn patch_health_check(&mut self, name: &str, change: &HealthCheck) -> Result<(), ApiError> {
        let kind = ResourceKind::HealthCheck;
        self.check_exists(kind, name, kind.field())?;
        let own = self.health_checks.iter_mut().find(|own| own.name == name);
        let own = own.expect("it was found just now");
        let changed = patched(&own.without_other_than(change.r#type), change);
        changed.probe()?;
        changed.timing.checking()?;
        *own = HealthCheck { name: name.to_owned(), ..changed };
        Ok(())
    }

    /// The same with keys, where what a probe asks belongs to the type that the check has then.
    pub(super) fn patch_health_check_by(&mut self, keys: &HealthCheckPatch) -> Result<(), ApiError> {
        let name = &keys.health_check;
        let own = self.health_checks.iter().find(|own| own.name == *name);
        let change = keys.resource(own.and_then(|own| own.r#type));
        self.patch_health_check(name, &change)
    }

    /// `httpHealthChecks.insert`
    ///
    /// # Errors
    /// As of [`Resources::insert_health_check`].
    pub fn insert_http_health_check(&mut self, check: HttpHealthCheck) -> Result<(), ApiError> {
        Self::check_named(&check.name)?;
        check.probe()?;
        check.timing.checking()?;
        self.check_new(ResourceKind::HttpHealthCheck, &check.name)?;
        self.http_health_checks.push(check);
        Ok(())
    }

    /// `httpHealthChecks.patch`: fields that `change` leaves out stay as they are.
    ///
    /// # Errors
    /// As of [`Resources::patch_health_check`].
    pub fn patch_http_health_check(&mut self, name: &str, change: &HttpHealthCheck) -> Result<(), ApiError> {
        let kind = ResourceKind::HttpHealthCheck;
        self.check_exists(kind, name, kind.field())?;
        let own = self.http_health_checks.iter_mut().find(|own| own.name == name);
        let own = own.expect("it was found just now");
        let changed = patched(own, change);
        changed.probe()?;
        changed.timing.checking()?;
        *own = HttpHealthCheck { name: name.to_owned(), ..changed };
        Ok(())
    }
}

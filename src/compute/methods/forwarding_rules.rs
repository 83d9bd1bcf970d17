//! `forwardingRules` (RES-5, REG-2).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::Assumptions;
use crate::compute::backend_service::BackendService;
use crate::compute::error::{ApiError, FieldPaths, Reason};
use crate::compute::forwarding_rule::{ForwardingRule, RuleProtocol, Scheme, TakenPorts};
use crate::compute::kind::ResourceKind;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;

/// What `forwardingRules.insert` creates.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardingRuleArguments {
    /// Its name.
    #[schemars(example = &"web-tcp")]
    name: String,
    /// Default: that of what it points to.
    load_balancing_scheme: Option<Scheme>,
    /// Its address. Default: one that no other has.
    #[schemars(example = &"10.0.0.5")]
    ip_address: Option<String>,
    /// Which packets it takes (REG-2). Default: the protocol of the backend service; TCP where that is UNSPECIFIED, and for
    /// target pools.
    ip_protocol: Option<RuleProtocol>,
    /// The ports that it takes, at most five. Without any it takes all.
    #[serde(default)]
    #[schemars(extend("examples" = [[80]]))]
    ports: Vec<i64>,
    /// The ports that it takes: one, or the first and the last. Default: all.
    #[schemars(example = &"80-81")]
    port_range: Option<String>,
    /// Whether it takes all ports, and packets without ports. Default: true if it has neither ports nor a range.
    all_ports: Option<bool>,
    /// The backend service that it points to. Default: none, a target pool.
    #[schemars(example = &"web")]
    backend_service: Option<Reference>,
    /// The target pool that it points to. Default: none, a backend service.
    #[schemars(example = &"www")]
    target: Option<Reference>,
    /// Whether VMs of other regions reach it. Default: false.
    allow_global_access: Option<bool>,
    /// Whether it collects packets of Packet Mirroring. Default: false.
    is_mirroring_collector: Option<bool>,
}

impl ForwardingRuleArguments {
    /// The rule.
    pub fn resource(&self) -> ForwardingRule {
        ForwardingRule {
            name: self.name.clone(),
            load_balancing_scheme: self.load_balancing_scheme,
            ip_address: self.ip_address.clone(),
            ip_protocol: self.ip_protocol,
            ports: self.ports.iter().map(i64::to_string).collect(),
            port_range: self.port_range.clone(),
            all_ports: self.all_ports,
            backend_service: self.backend_service.clone(),
            target: self.target.clone(),
            allow_global_access: self.allow_global_access,
            is_mirroring_collector: self.is_mirroring_collector,
            ..ForwardingRule::default()
        }
    }
}

const SERVICE: FieldPaths = &["backendService", "target"];
const TARGET: FieldPaths = &["target", "backendService"];
const GLOBAL_ACCESS: FieldPaths = &["allowGlobalAccess"];

impl Resources {
    /// `forwardingRules.insert`. A rule without a scheme gets that of what it points to.
    ///
    /// # Errors
    /// If its name can't be or is taken, it points nowhere, to what does not exist or takes no such rule, its ports can't
    /// be, or another rule has them at its address.
    pub fn insert_forwarding_rule(&mut self, rule: ForwardingRule) -> Result<(), ApiError> {
        Self::check_named(&rule.name)?;
        self.check_leads(&rule)?;
        let scheme = self.scheme_of(&rule);
        let rule = ForwardingRule { load_balancing_scheme: scheme.or(rule.load_balancing_scheme), ..rule };
        self.check_address(&rule)?;
        self.check_new(ResourceKind::ForwardingRule, &rule.name)?;
        self.forwarding_rules.push(rule);
        Ok(())
    }

    /// `forwardingRules.setTarget`: from then on the rule called `name` leads to `target`, a target pool or, if it is
    /// called as none or its reference says so, a backend service.
    ///
    /// # Errors
    /// If one of the two does not exist, `target` names both a pool and a service, or what it is takes no such rule.
    pub fn set_target(&mut self, name: &str, target: &Reference) -> Result<(), ApiError> {
        let index = self.forwarding_rule(name)?;
        let (rule, target) = (self.forwarding_rules[index].clone(), Some(target.clone()));
        let changed = match self.target_kind(target.as_ref())? {
            ResourceKind::TargetPool => ForwardingRule { target, backend_service: None, ..rule },
            _ => ForwardingRule { backend_service: target, target: None, ..rule },
        };
        self.check_leads(&changed)?;
        self.check_address(&changed)?;
        self.forwarding_rules[index] = changed;
        Ok(())
    }

    /// `forwardingRules.patch`: whether VMs of other regions reach the rule called `name`.
    ///
    /// # Errors
    /// If it does not exist, or is external.
    pub fn set_global_access(&mut self, name: &str, allow: bool) -> Result<(), ApiError> {
        let index = self.forwarding_rule(name)?;
        let allow_global_access = Some(allow);
        let changed = ForwardingRule { allow_global_access, ..self.forwarding_rules[index].clone() };
        self.check_global_access(&changed)?;
        self.forwarding_rules[index] = changed;
        Ok(())
    }

    fn forwarding_rule(&self, name: &str) -> Result<usize, ApiError> {
        let kind = ResourceKind::ForwardingRule;
        self.check_exists(kind, name, kind.field())?;
        Ok(self.forwarding_rules.iter().position(|own| own.name == name).expect("it was found just now"))
    }

    /// Whether `target` is a target pool or a backend service.
    fn target_kind(&self, target: Option<&Reference>) -> Result<ResourceKind, ApiError> {
        let Some(target) = target.filter(|target| !target.as_str().is_empty()) else {
            return Err(ApiError::required(TARGET, "add the target pool, or the backend service"));
        };
        let kinds = [ResourceKind::TargetPool, ResourceKind::BackendService];
        if let Some(said) = kinds.into_iter().find(|kind| target.is_in(kind.collection())) {
            return Ok(said);
        }
        let named: Vec<_> =
            kinds.into_iter().filter(|kind| self.names(*kind).contains(&target.name())).collect();
        match named[..] {
            [only] => Ok(only),
            [] => Ok(ResourceKind::TargetPool),
            _ => {
                let what = "names both a target pool and a backend service";
                let help = format!("write targetPools/{0} or backendServices/{0}", target.name());
                Err(ApiError::own(TARGET, what, help).of_field())
            }
        }
    }

    /// The scheme of what `rule` leads to.
    fn scheme_of(&self, rule: &ForwardingRule) -> Option<Scheme> {
        let Some(service) = &rule.backend_service else { return Some(Scheme::External) };
        let service = self.backend_services.iter().find(|own| own.name == service.name());
        service.map(BackendService::scheme)
    }

    /// Checks what `rule` says, and that what it leads to takes it.
    fn check_leads(&self, rule: &ForwardingRule) -> Result<(), ApiError> {
        match (&rule.backend_service, &rule.target) {
            (None, None) => {
                let help = "add backendService = \"…\", or target = \"…\" for a target pool";
                return Err(ApiError::required(TARGET, help));
            }
            (Some(_), Some(_)) => {
                let help = "keep one of the two";
                return Err(ApiError::invalid(TARGET, "can't stand beside backendService", help).of_field());
            }
            _ => {}
        }
        let ports = rule.taken_ports()?;
        if rule.ip_protocol == Some(RuleProtocol::L3Default) && ports != TakenPorts::All {
            let why = "A rule of protocol L3_DEFAULT takes all ports";
            let help = "write allPorts = true and no others, or TCP or UDP";
            return Err(ApiError::bad_value(&["IPProtocol"], "L3_DEFAULT", why, help));
        }
        match (&rule.backend_service, &rule.target) {
            (Some(service), _) => self.check_leads_to_service(rule, service)?,
            (None, Some(pool)) => self.check_leads_to_pool(rule, pool)?,
            (None, None) => {}
        }
        self.check_global_access(rule)
    }

    fn check_leads_to_service(&self, rule: &ForwardingRule, service: &Reference) -> Result<(), ApiError> {
        self.check_region(service, SERVICE)?;
        self.check_exists(ResourceKind::BackendService, service.name(), SERVICE)?;
        let found = self.backend_services.iter().find(|own| own.name == service.name());
        let found = found.expect("it was found just now");
        rule.check_service(found)?;
        if found.scheme() == Scheme::Internal && rule.port_range.is_some() {
            let what = "belongs to EXTERNAL forwarding rules";
            return Err(ApiError::invalid(&["portRange"], what, "write ports, or allPorts = true").of_field());
        }
        Ok(())
    }

    fn check_leads_to_pool(&self, rule: &ForwardingRule, pool: &Reference) -> Result<(), ApiError> {
        if self.target_kind(Some(pool))? == ResourceKind::BackendService {
            let why = "A rule leads to a backend service by backendService";
            let help = format!("write backendService = {:?} instead", pool.name());
            return Err(ApiError::bad_value(TARGET, pool.as_str(), why, help));
        }
        self.check_region(pool, TARGET)?;
        self.check_exists(ResourceKind::TargetPool, pool.name(), TARGET)?;
        if rule.load_balancing_scheme == Some(Scheme::Internal) {
            let why = "An INTERNAL forwarding rule needs a backend service";
            return Err(ApiError::bad_value(TARGET, pool.as_str(), why, "write EXTERNAL, or backendService"));
        }
        if rule.ports.len() > 1 {
            let what = "holds several ports, and a rule of a target pool has one range";
            let help = "write portRange = \"80-81\", or a rule for each port";
            return Err(ApiError::invalid(&["ports"], what, help).of_field());
        }
        rule.check_protocol(None)
    }

    fn check_global_access(&self, rule: &ForwardingRule) -> Result<(), ApiError> {
        let is_internal = self.scheme_of(rule) == Some(Scheme::Internal);
        if is_internal || rule.allow_global_access != Some(true) {
            return Ok(());
        }
        let why = "Global access belongs to INTERNAL forwarding rules";
        Err(ApiError::bad_value(
            GLOBAL_ACCESS,
            "true",
            why,
            "leave it out: every region reaches an external one",
        ))
    }

    /// Checks that no other rule has a port of `rule` at its address, for the same protocol (RES-5).
    pub(super) fn check_address(&self, rule: &ForwardingRule) -> Result<(), ApiError> {
        const ADDRESS: FieldPaths = &["IPAddress", "ipAddress"];
        let Some(address) = &rule.ip_address else { return Ok(()) };
        if address.parse::<std::net::Ipv4Addr>().is_err() {
            let help = "write an address, such as \"10.0.0.5\"";
            return Err(ApiError::bad_value(ADDRESS, address, "Must be an IPv4 address", help));
        }
        let ports = rule.taken_ports()?;
        let others = self
            .forwarding_rules
            .iter()
            .filter(|other| other.name != rule.name && other.ip_address.as_ref() == Some(address));
        for other in others {
            let is_same = self.protocol_of(other) == self.protocol_of(rule);
            if !is_same || !ports.overlap(&other.taken_ports()?) {
                continue;
            }
            let help = "give it another address, other ports, or another protocol";
            if self.scheme_of(rule) == Some(Scheme::Internal) {
                let what = format!("IP '{address}' is already being used by another resource");
                return Err(ApiError::because(Reason::AddressInUse, ADDRESS, what, help));
            }
            let why = "Specified IP address is in-use and would result in a conflict";
            return Err(ApiError::bad_value(ADDRESS, address, why, help));
        }
        Ok(())
    }

    /// Which packets `rule` takes (REG-2).
    pub fn protocol_of(&self, rule: &ForwardingRule) -> RuleProtocol {
        let service = rule.backend_service.as_ref();
        let service =
            service.and_then(|own| self.backend_services.iter().find(|other| other.name == own.name()));
        rule.protocol(service.map(|service| service.protocol.unwrap_or_default()))
    }
}

impl ForwardingRule {
    /// Checks that it can lead to `service` (REG-2, ZON-2).
    pub(super) fn check_service(&self, service: &BackendService) -> Result<(), ApiError> {
        let scheme = service.scheme();
        if let Some(own) = self.load_balancing_scheme.filter(|own| *own != scheme) {
            let (own, scheme) = (own.name(), scheme.name());
            let why = format!("A rule of scheme {own} can't lead to a backend service of scheme {scheme}");
            return Err(ApiError::bad_value(SERVICE, &service.name, why, "give both the same scheme"));
        }
        self.check_protocol(Some(service.protocol.unwrap_or_default()))?;
        service.settings(self, &Assumptions::default()).map(drop)
    }
}

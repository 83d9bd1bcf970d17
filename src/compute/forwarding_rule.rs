//! What leads traffic to a load balancer: forwarding rules (RES-5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reference;
use super::error::{ApiError, FieldPaths};
use super::fields::fields;

fields! {
    /// A forwarding rule. It points to a backend service, or to a target pool.
    ForwardingRule {
        /// Its name.
        name: String,
        /// Whose rule it is. Default: EXTERNAL.
        load_balancing_scheme: Option<Scheme>,
        /// Its address. Default: one that no other has.
        #[serde(rename = "IPAddress")]
        ip_address: Option<String>,
        /// Which packets it takes. Default: those of its backend service; TCP for one of protocol UNSPECIFIED, and for a pool.
        #[serde(rename = "IPProtocol")]
        ip_protocol: Option<RuleProtocol>,
        /// The ports that it takes, at most five. Default: all.
        ports: Vec<String>,
        /// The ports that a rule of a target pool takes: one, or the first and the last. Default: all.
        port_range: Option<String>,
        /// Whether it takes all ports, and packets without ports. Default: true if it has neither ports nor a range.
        all_ports: Option<bool>,
        /// The backend service that it points to.
        backend_service: Option<Reference>,
        /// The target pool that it points to.
        target: Option<Reference>,
        /// Whether VMs of other regions reach it; an external one is always reached. Default: false.
        allow_global_access: Option<bool>,
        /// Whether it collects packets of Packet Mirroring. Default: false.
        is_mirroring_collector: Option<bool>,
    }
}

/// Which packets a forwarding rule takes, if its load balancer is no next hop (REG-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RuleProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// All. A next hop of this protocol drops everything (NHOP-2).
    #[serde(rename = "L3_DEFAULT")]
    L3Default,
}

impl RuleProtocol {
    /// As it is written.
    pub fn name(self) -> &'static str {
        ["TCP", "UDP", "L3_DEFAULT"][self as usize]
    }
}

/// Which kind of load balancer a resource belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Scheme {
    /// An internal passthrough load balancer.
    Internal,
    /// An external one.
    External,
}

/// Which ports a forwarding rule takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenPorts {
    /// All, and packets without ports.
    All,
    /// Those from the first to the last of each pair.
    Ranges(Vec<(u16, u16)>),
}

impl TakenPorts {
    /// Whether a packet to `port`, or one without ports, is taken.
    pub fn has(&self, port: Option<u16>) -> bool {
        match (self, port) {
            (Self::All, _) => true,
            (Self::Ranges(ranges), Some(port)) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&port))
            }
            (Self::Ranges(_), None) => false,
        }
    }

    /// Whether both take one port.
    pub fn overlap(&self, other: &Self) -> bool {
        let (Self::Ranges(own), Self::Ranges(others)) = (self, other) else { return true };
        own.iter().any(|own| others.iter().any(|other| own.0 <= other.1 && other.0 <= own.1))
    }
}

/// The most `ports` of a rule.
const PORTS_MAX: usize = 5;
const PORTS: FieldPaths = &["ports"];
const PORT_RANGE: FieldPaths = &["portRange"];

impl ForwardingRule {
    /// The ports that it takes, if the API accepts what it says of them (RES-5).
    ///
    /// # Errors
    /// If it says it in several ways, or a port can't be.
    pub fn taken_ports(&self) -> Result<TakenPorts, ApiError> {
        let all = self.all_ports == Some(true);
        let ways = [(PORTS, !self.ports.is_empty()), (PORT_RANGE, self.port_range.is_some())];
        let mut said = ways.into_iter().filter(|(_, is_said)| *is_said).map(|(fields, _)| fields);
        match (said.next(), said.next()) {
            (Some(fields), _) if all => {
                let help = "keep one of the two";
                Err(ApiError::invalid(fields, "can't stand beside allPorts", help).of_field())
            }
            (Some(fields), Some(_)) => {
                let help = "keep one of the two";
                Err(ApiError::invalid(fields, "can't stand beside portRange", help).of_field())
            }
            (None, _) => Ok(TakenPorts::All),
            _ if self.ports.len() > PORTS_MAX => {
                let what = format!("names {} ports, and a rule has at most {PORTS_MAX}", self.ports.len());
                Err(ApiError::invalid(PORTS, what, "write fewer, or allPorts = true").of_field())
            }
            _ => {
                let ports = self.ports.iter().enumerate();
                let why = "Must be a port, or two with a - between them";
                let help = "write ports from 1 to 65535, the lower one first";
                let ports = ports.map(|(index, port)| {
                    port_range(port).ok_or_else(|| ApiError::bad_member(PORTS, index, port, why, help))
                });
                let bad_range = |range| ApiError::bad_value(PORT_RANGE, range, why, help);
                let range = self.port_range.iter();
                let range = range.map(|range| port_range(range).ok_or_else(|| bad_range(range)));
                ports.chain(range).collect::<Result<_, _>>().map(TakenPorts::Ranges)
            }
        }
    }
}

/// `written` as a port, or as the first and the last of several.
fn port_range(written: &str) -> Option<(u16, u16)> {
    let (first, last) = written.split_once('-').unwrap_or((written, written));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let range = (port(first)?, port(last)?);
    (range.0 <= range.1).then_some(range)
}

impl Scheme {
    /// As it is written.
    pub fn name(self) -> &'static str {
        ["INTERNAL", "EXTERNAL"][self as usize]
    }
}

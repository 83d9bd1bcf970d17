//! Session affinity as it is written (AFF-1).

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::lb::affinity::SessionAffinity;

/// A session affinity of a passthrough load balancer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(with = "String", extend("enum" = NAMES, "examples" = ["CLIENT_IP"]))]
pub(in super::super) struct Affinity(SessionAffinity);

/// The names of [`SessionAffinity`].
const NAMES: [&str; 5] =
    ["NONE", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_PROTO", "CLIENT_IP", "CLIENT_IP_NO_DESTINATION"];

/// Those that need a proxy, which reads what connections carry.
const OF_PROXIES: [&str; 4] = ["GENERATED_COOKIE", "HEADER_FIELD", "HTTP_COOKIE", "STRONG_COOKIE_AFFINITY"];

impl Affinity {
    /// What it is to the load balancer.
    pub(in super::super) fn get(self) -> SessionAffinity {
        self.0
    }
}

impl<'de> Deserialize<'de> for Affinity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Some(affinity) = SessionAffinity::ALL.into_iter().find(|affinity| affinity.name() == text) {
            return Ok(Self(affinity));
        }
        if OF_PROXIES.contains(&text.as_str()) {
            return Err(D::Error::custom(format!(
                "{text} belongs to application load balancers, which see cookies and headers; write one of {}",
                NAMES.join(", ")
            )));
        }
        Err(D::Error::unknown_variant(&text, &NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_load_balancer() {
        assert_eq!(SessionAffinity::ALL.map(SessionAffinity::name), NAMES);
    }
}

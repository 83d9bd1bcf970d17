//! `[semantics]`: what holds where the documents are silent, or contradict each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compute::Assumptions;
use crate::experiment::bounded::Span;
use crate::lb::zonal_affinity::SpecVersion;
use crate::time::SimDuration;

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Semantics {
    /// Which text decides where Preview and GA differ (ZON-9).
    pub(super) zonal_affinity_text: SpecVersion,
    /// How long entries of the old role live on after a switch of roles, unless draining is disabled (O1).
    pub(super) failover_drain: FailoverDrain,
    /// What a target pool with affinity NONE does with fragments that carry no ports (TPA-2).
    pub(super) portless_fragments: PortlessFragments,
    /// Whether an internal load balancer may have more than 250 backends without subsetting, which none has (ELIG-13).
    pub(super) unlimited_backends: bool,
}

impl Semantics {
    pub(super) fn assumptions(&self) -> Assumptions {
        Assumptions {
            spec_version: self.zonal_affinity_text,
            failover_drain: self.failover_drain.0,
            unlimited_backends: self.unlimited_backends,
            drop_portless_fragments: self.portless_fragments == PortlessFragments::Drop,
            ..Assumptions::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "SimDuration")]
#[schemars(extend("x-most" = Span::LONGEST))]
pub(super) struct FailoverDrain(SimDuration);

impl Default for FailoverDrain {
    fn default() -> Self {
        Self(SimDuration::from_secs(600))
    }
}

impl TryFrom<SimDuration> for FailoverDrain {
    type Error = String;
    fn try_from(value: SimDuration) -> Result<Self, String> {
        let most = Span::LONGEST;
        let wrong = || format!("{value} is out of range; write at most \"{most}\" (ten years)");
        (value <= most).then_some(Self(value)).ok_or_else(wrong)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PortlessFragments {
    /// They are lost, and so is their datagram.
    #[default]
    Drop,
    /// They go where a hash without ports sends them.
    Forward,
}

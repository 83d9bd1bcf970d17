//! Zonal affinity as it is configured (ZON-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ratio::Ratio;

/// Whether, and how firmly, new connections stay in their client's zone (ZON-1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ZonalAffinity {
    /// The original eligible backends are used as they are.
    #[default]
    Disabled,
    /// Connections stay in the zone, even on unhealthy backends.
    StayWithinZone,
    /// Connections stay while at least this share of the zone's backends is eligible.
    SpillCrossZone(Ratio),
}

impl ZonalAffinity {
    /// Its name in the Compute API.
    pub fn spillover(self) -> &'static str {
        match self {
            Self::Disabled => "ZONAL_AFFINITY_DISABLED",
            Self::StayWithinZone => "ZONAL_AFFINITY_STAY_WITHIN_ZONE",
            Self::SpillCrossZone(_) => "ZONAL_AFFINITY_SPILL_CROSS_ZONE",
        }
    }

    /// The spillover ratio, where one has an effect.
    pub fn spillover_ratio(self) -> Option<Ratio> {
        match self {
            Self::SpillCrossZone(ratio) => Some(ratio),
            Self::Disabled | Self::StayWithinZone => None,
        }
    }
}

/// Which text of the documentation decides when all primaries are unhealthy and spilling is on (ZON-9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SpecVersion {
    /// General availability (2026): the zone's own unhealthy backends.
    #[default]
    #[serde(rename = "GA_2026")]
    Ga2026,
    /// Preview (2025): all unhealthy primaries.
    #[serde(rename = "PREVIEW_2025")]
    Preview2025,
}

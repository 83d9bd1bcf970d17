//! The lines of a journal after its header.

use serde::{Deserialize, Serialize};

use crate::job::warmup::FoundWarmup;
use crate::sim::outcome::Outcome;

/// What a run found.
#[derive(Deserialize)]
pub(super) struct RunLine {
    pub(super) outcome: Outcome,
}

/// The line of a warm-up that was found.
#[derive(Serialize, Deserialize)]
pub(super) struct WarmupLine {
    pub(super) warmup: FoundWarmup,
}

/// What must be known of a line before its turn comes.
#[derive(Deserialize)]
pub(super) struct Glance {
    pub(super) cell: usize,
    pub(super) replication: u32,
    pub(super) outcome: Counted,
}

#[derive(Deserialize)]
pub(super) struct Counted {
    pub(super) events: u64,
    pub(super) opened: u64,
}

//! What goes wrong, and when.

use std::num::NonZeroU32;

use super::{Factor, FailureMode};
use crate::ids::{BackendId, ZoneId};
use crate::lb::ratio::Ratio;
use crate::random::Distribution;
use crate::time::{SimDuration, SimTime};

/// Something that goes wrong, once or again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it strikes, and what it does to it.
    pub effect: FaultEffect,
    /// When it strikes.
    pub schedule: FaultSchedule,
}

/// What a fault strikes, and what it does to it.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultEffect {
    /// Backends.
    Backends {
        /// Whom it can strike.
        targets: Vec<BackendId>,
        /// The share of them that it strikes, chosen at random for each replication: the nearest whole number, and at
        /// least one unless it is 0.
        fraction: Ratio,
        /// What happens to them.
        kind: BackendFault,
    },
    /// The network between two zones, both ways, or within one.
    Link {
        /// The two zones.
        between: [ZoneId; 2],
        /// What happens to it.
        kind: LinkFault,
    },
}

/// How many of `count` targets a fault strikes that strikes a share of them: the nearest whole number, and at least one
/// unless the share is 0.
pub fn struck(fraction: Ratio, count: usize) -> usize {
    let share = fraction.value() * count as f64;
    (share.round() as usize).max(usize::from(share > 0.0))
}

/// What a fault does to a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BackendFault {
    /// It fails.
    Fails(FailureMode),
    /// Its probes get no answer, as behind a firewall: clients do.
    BlocksProbes,
    /// It serves on, but is about to shut down: it answers probes that ask for a reply with an error (REG-7). One that asks
    /// for a handshake alone finds its port open.
    Drains,
    /// Requests that it begins to serve take this many times longer.
    Slow(Factor),
}

/// What a fault does to the network between two zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkFault {
    /// Round trips take this much longer.
    Delay(SimDuration),
    /// Each packet is lost with this probability.
    Loss(Ratio),
}

/// In the measured windows of which replications a fault at random times is on some time. Where that is not left to chance, the
/// world begins in its long run, and times without the fault have no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Occurrence {
    /// As it happens.
    #[default]
    Free,
    /// In all.
    Always,
    /// In every other one, from the first on, and in none between them.
    InTurn,
}

/// When a fault strikes, on the clock that starts with the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultSchedule {
    /// Once.
    Once {
        /// From then on.
        at: SimTime,
        /// For this long; to the end of the run if absent.
        duration: Option<SimDuration>,
    },
    /// On and off at a fixed rhythm.
    Flapping {
        /// From then on.
        at: SimTime,
        /// For this long; to the end of the run if absent.
        duration: Option<SimDuration>,
        /// From one beginning to the next.
        period: SimDuration,
        /// How long it lasts each time; shorter than the period.
        active: SimDuration,
    },
    /// At random times, for random durations (an alternating renewal process).
    Random {
        /// From the start, or the last end, to the next beginning.
        time_between: Distribution<SimDuration>,
        /// How long it lasts.
        duration: Distribution<SimDuration>,
        /// In which replications.
        occurrence: Occurrence,
    },
    /// One batch of the targets after the other: draining for `grace`, then refusing for `restart`, then a pause.
    Rolling {
        /// When the first batch begins.
        at: SimTime,
        /// How many backends a batch has.
        batch: NonZeroU32,
        /// From the end of one batch to the beginning of the next.
        pause: SimDuration,
        /// How long a backend drains before it restarts.
        grace: SimDuration,
        /// How long a restart takes.
        restart: SimDuration,
    },
}

impl FaultSchedule {
    /// When it strikes first; for random times the earliest moment at which it may.
    pub fn start(&self) -> SimTime {
        match self {
            Self::Once { at, .. } | Self::Flapping { at, .. } | Self::Rolling { at, .. } => *at,
            Self::Random { .. } => SimTime::ZERO,
        }
    }

    /// When it begins and ends, each time, in a run that ends at `horizon`; nothing of what comes at random or in batches.
    pub fn fixed_spans(&self, horizon: SimTime) -> Vec<(SimTime, Option<SimTime>)> {
        match self {
            Self::Once { at, duration } => vec![(*at, duration.map(|duration| *at + duration))],
            Self::Flapping { at, duration, period, active } => {
                let end = duration.map_or(horizon, |duration| (*at + duration).min(horizon));
                let starts = (0..).map(|round| *at + *period * round).take_while(|start| *start < end);
                starts.map(|start| (start, Some((start + *active).min(end)))).collect()
            }
            Self::Random { .. } | Self::Rolling { .. } => Vec::new(),
        }
    }

    pub(super) fn is_random(&self) -> bool {
        matches!(self, Self::Random { .. })
    }
}

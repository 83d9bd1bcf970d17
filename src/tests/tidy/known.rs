//! What breaks the rules today. What is not in this list fails. Strike what you mend: the list is to go.

pub(super) const KNOWN: &[&str] = &[
    // Names that a room may not know.
    "absence lb/affinity.rs serde",
    "absence lb/health.rs serde",
    "absence lb/packet.rs serde",
    "absence lb/ratio.rs serde",
    "absence lb/selection/maglev.rs serde",
    "absence lb/tracking.rs serde",
    "absence lb/zonal_affinity.rs serde",
    // Modules that use each other.
    "circle experiment: assignment, charts, empirical, plan, threshold, world",
    "circle experiment: files, trace",
    // Names of several public types, and their rooms.
    "name Clients",    // experiment, sim
    "name Count",      // random, experiment
    "name Factor",     // sim, workload
    "name NotAFactor", // sim, workload
];

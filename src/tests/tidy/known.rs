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
    "absence results/setup.rs toml_edit",
    // Panics without a reason.
    "reason figures/page.rs",
    // Names of several public types, and their rooms.
    "name Cell",       // experiment, results
    "name Fault",      // sim, results
    "name Group",      // sim, results
    "name Sample",     // stats, sim
    "name Simulation", // experiment, sim, results
    "name Threshold",  // experiment, results
];

//! What breaks the rules today. What is not in this list fails. Strike what you mend: the list is to go.

pub(super) const KNOWN: &[&str] = &[
    // Names that a room may not know.
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

//! What breaks the rules today. What is not in this list fails. Strike what you mend: the list is to go.

pub(super) const KNOWN: &[&str] = &[
    // Names that a room may not know.
    "absence lb/affinity.rs serde",
    "absence lb/eligibility.rs serde",
    "absence lb/health.rs serde",
    "absence lb/health/settings.rs serde",
    "absence lb/packet.rs serde",
    "absence lb/ratio.rs serde",
    "absence lb/selection/maglev.rs serde",
    "absence lb/tracking.rs serde",
    "absence lb/zonal_affinity.rs serde",
    "absence results/setup.rs toml_edit",
    // Modules that use each other.
    "circle experiment: assignment, charts, empirical, plan, threshold, world",
    "circle experiment: files, trace",
    "circle figures::charts: bars, metric, versus",
    "circle figures::draw: axes, guides, labels, layout, marks, series, tables",
    "circle figures::draw: canvas, lettering, pixels, vector",
    "circle job: journal, manifest",
    "circle lb: eligibility, target_pool",
    "circle sim: autoscaler, simulation",
    // Panics without a reason.
    "reason experiment/trace.rs",
    "reason figures/page.rs",
    "reason sim/clients.rs",
    // Names of several public types, and their rooms.
    "name Axis",           // experiment, figures
    "name BackendService", // experiment, results
    "name Candidate",      // answers, lb
    "name Cell",           // experiment, results
    "name Clients",        // experiment, sim
    "name Count",          // random, experiment
    "name Estimate",       // stats, figures
    "name Factor",         // sim, workload
    "name Fault",          // sim, results
    "name Group",          // sim, results
    "name Job",            // sim, cli, cli
    "name Judged",         // answers, answers, stats
    "name Level",          // stats, figures
    "name Line",           // answers, figures
    "name Mark",           // figures, sim
    "name Metric",         // figures, metrics
    "name NotAFactor",     // sim, workload
    "name Origin",         // lb, experiment
    "name Outcome",        // answers, lb, sim
    "name Place",          // experiment, sim
    "name Point",          // answers, figures
    "name Policy",         // answers, lb
    "name Pool",           // answers, experiment
    "name Probers",        // lb, sim
    "name Record",         // job, results
    "name Request",        // answers, answers, cli
    "name Row",            // answers, results
    "name Run",            // results, metrics
    "name Sample",         // stats, figures, sim, results
    "name Series",         // figures, results
    "name Simulation",     // experiment, sim, results
    "name Span",           // experiment, figures
    "name Standing",       // answers, job, experiment
    "name Table",          // cli, results
    "name Threshold",      // experiment, results
    "name Tick",           // figures, sim
    "name Verdict",        // answers, lb
    "name Victims",        // experiment, sim
    "name Whole",          // metrics, experiment
];

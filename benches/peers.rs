//! Targets 1 and 3: the light workload beside the bare loop, in one run.
//!
//! The yardstick of speed is the whole model, and a shared machine is noisy, so each is timed in turn and their ratio is
//! what counts. `cargo bench --bench peers` prints a Markdown table.

mod common;

use common::{Light, Timed, bare_loop, is_test, millions, rates, row, simulate, table};

use zonesim::cli::pages::use_large;

fn main() {
    use_large();
    table(
        "Light workload beside a bare loop on std's BinaryHeap (targets 1 and 3)",
        [
            "active connections",
            "zonesim, M connections/s",
            "bare loop, M connections/s",
            "ratio",
            "wanted ratio",
        ],
    );
    for (active, wanted) in [(1_000, "0.85"), (100_000, "2.1"), (1_000_000, "3")] {
        let experiment = Light::new(active).experiment();
        let connections = if is_test() { 10_000 } else { 3_000_000 };
        let all: [Timed<'_>; 2] = [
            Box::new(|| simulate(&experiment).opened),
            Box::new(move || bare_loop(if is_test() { 1000 } else { active }, connections)),
        ];
        let found = rates(&all);
        row([
            &active.to_string(),
            &millions(found[0]),
            &millions(found[1]),
            &format!("{:.2}", found[0] / found[1]),
            wanted,
        ]);
    }
}

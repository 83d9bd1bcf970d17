//! The light workload: the whole model with little to do but routing, tracking, health, delay and statistics.
//!
//! 3 zones of 10 backends with unlimited workers, three client groups of 1 000 addresses, one request a connection
//! whose service takes 60 s on average, so that active connections = 60 s x rate. Spill at 0.5, checks every 60 s.
//! Each run warms up for 15 minutes, longer than tracking entries live, and counts those connections too.
//!
//! `cargo bench --bench light` prints connections a second as items a second.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use zonesim::experiment::{Experiment, Overrides, Source};
use zonesim::random::RunSeed;
use zonesim::sim::Simulation;

fn main() {
    divan::main();
}

/// Whether `cargo test` only wants to see it work.
fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

fn experiment(active: u32) -> Experiment {
    let rate = f64::from(active) / 60.0;
    let (warmup, measured) = if is_test() { ("0s", 10_000.0) } else { ("15m", 3_000_000.0) };
    let zones = ["a", "b", "c"];
    let groups = zones.map(|zone| {
        format!("[[backend_service.backends]]\ngroup = \"ig-{zone}\"\nzone = \"{zone}\"\nsize = 10\n")
    });
    let clients = zones.map(|zone| {
        format!(
            "[[clients]]\nname = \"web-{zone}\"\nkind = \"vm\"\nzone = \"{zone}\"\naddresses = 1000\n\
             arrivals.poisson.rate = {:?}\nconnection.requests.constant = 1\nrequest_timeout = \"2h\"\n",
            rate / 3.0
        )
    });
    let text = format!(
        "name = \"light\"\n\
         simulation = {{ replications = 1, warmup = \"{warmup}\", duration = \"{}us\", sample_interval = \"1h\" }}\n\
         region = {{ name = \"r\", zones = {zones:?} }}\n\
         server = {{ workers = \"unlimited\", service_time = {{ exponential = {{ mean = \"60s\" }} }} }}\n\
         health_check = {{ check_interval = \"60s\", timeout = \"5s\" }}\n\
         [backend_service]\n\
         zonal_affinity = {{ spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }}\n\
         {}{}",
        (measured / rate * 1e6) as u64,
        groups.concat(),
        clients.concat(),
    );
    let source = Source { name: "light".to_owned(), text };
    Experiment::parse(source, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[divan::bench(args = [1_000, 100_000, 1_000_000], sample_count = 3, sample_size = 1)]
fn light(bencher: Bencher<'_, '_>, active: u32) {
    let experiment = experiment(active);
    let scenario = experiment.scenario(&experiment.cells()[0]);
    let run = || Simulation::new(&scenario, RunSeed::new(experiment.seed(), 0)).run();
    // Every run opens the same connections.
    bencher.counter(ItemsCount::new(run().opened)).bench(|| black_box(run()));
}

//! Targets 2 to 8: queueing, growth, memory, many backends, many addresses, sweeps, and what is written.
//!
//! `cargo bench --bench targets` prints Markdown tables; a word behind `--` runs the ones whose name has it
//! (`cargo bench --bench targets -- memory`).

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod common;

use std::alloc::System;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use cap::Cap;
use common::{Light, Timed, is_test, median, millions, parse, rates, rates_by, row, simulate, table};
use zonesim::cli::pages::use_large;
use zonesim::experiment::{Experiment, Overrides, Source};
use zonesim::job::runner::run_every;
use zonesim::random::RunSeed;
use zonesim::sim::Simulation;

/// Counts what is allocated. It slows everything alike.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Asks a process of its own for the memory of one light workload.
const MEASURE: &str = "--measure-memory=";

fn main() {
    use_large();
    let benchmarks: [(&str, fn()); 7] = [
        ("queueing", queueing),
        ("growth", growth),
        ("memory", memory),
        ("backends", backends),
        ("addresses", addresses),
        ("sweeps", sweeps),
        ("outputs", outputs),
    ];
    if let Some(light) =
        std::env::args().find_map(|argument| argument.strip_prefix(MEASURE).map(str::to_owned))
    {
        return measure(&light);
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (name, benchmark) in benchmarks {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            benchmark();
        }
    }
}

/// Target 2: 16 workers at 70 % utilization, about three requests a connection.
fn queueing() {
    let duration = if is_test() { 1 } else { 150 };
    let zone = |zone: &str| {
        format!(
            "[[backend_service.backends]]\ngroup = \"ig-{zone}\"\nzone = \"{zone}\"\nsize = 10\n\
             [[clients]]\nname = \"web-{zone}\"\nkind = \"vm\"\nzone = \"{zone}\"\naddresses = 1000\n\
             arrivals.poisson.rate = 7466.7\n"
        )
    };
    let experiment = parse(format!(
        "name = \"queueing\"\n\
         simulation = {{ replications = 1, warmup = \"1s\", duration = \"{duration}s\", sample_interval = \"10s\" }}\n\
         region = {{ name = \"r\", zones = [\"a\", \"b\", \"c\"] }}\n\
         [backend_service]\n\
         zonal_affinity = {{ spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.5 }}\n{}",
        ["a", "b", "c"].map(zone).concat()
    ));
    let all: [Timed<'_>; 1] = [Box::new(|| simulate(&experiment).events)];
    let found = rates(&all);
    let outcome = simulate(&experiment);
    table(
        "Queueing workload (target 2)",
        ["M events/s", "M connections/s", "requests a connection", "utilization", "wanted M events/s"],
    );
    let per_event = outcome.opened as f64 / outcome.events as f64;
    let total = outcome.total();
    let utilization: Vec<f64> = outcome.backends.iter().filter_map(|backend| backend.utilization()).collect();
    row([
        &millions(found[0]),
        &millions(found[0] * per_event),
        &format!("{:.2}", total.requests as f64 / total.connections as f64),
        &format!("{:.3}", utilization.iter().sum::<f64>() / utilization.len() as f64),
        "8",
    ]);
}

/// Target 3: the cost of a connection does not grow with the number that is open. Ten million with a service of an hour,
/// so that tracking entries stay near the active connections.
fn growth() {
    table(
        "Growth (target 3; the last with a mean service of 1 h and 4 h of warm-up)",
        ["active connections", "M connections/s", "ns a connection", "of that at 1000", "wanted"],
    );
    let light = [1_000, 100_000, 1_000_000].map(|active| Light::new(active).experiment());
    let all: [Timed<'_>; 3] = std::array::from_fn(|at| {
        let experiment = &light[at];
        Box::new(move || simulate(experiment).opened) as Timed<'_>
    });
    let found = rates(&all);
    let most = Light {
        mean_service_s: 3600,
        warmup_s: if is_test() { 0 } else { 4 * 3600 },
        measured: if is_test() { 10_000 } else { 3_000_000 },
        ..Light::new(10_000_000)
    };
    let most = most.experiment();
    let start = Instant::now();
    let rate = simulate(&most).opened as f64 / start.elapsed().as_secs_f64();
    let wanted = [("1000", ""), ("100000", ""), ("1000000", "2"), ("10000000", "it runs")];
    for ((active, wanted), rate) in wanted.into_iter().zip(found.iter().copied().chain([rate])) {
        let ratio = format!("{:.2}", found[0] / rate);
        row([active, &millions(rate), &format!("{:.0}", 1e9 / rate), &ratio, wanted]);
    }
}

/// Prints the most bytes that a light workload takes at a time, the most connections that are active at each backend, and
/// the most tracking entries.
#[expect(clippy::print_stdout, reason = "what this process is for")]
fn measure(light: &str) {
    let numbers: Vec<u32> = light.split(',').map(|number| number.parse().expect("a number")).collect();
    let [active, mean_service_s, warmup_s, measured_s] = numbers[..] else { panic!("four numbers") };
    let light = Light { mean_service_s, warmup_s, ..Light::new(active) };
    let light = Light { measured: (light.rate() * f64::from(measured_s)) as u32, ..light };
    let experiment = light.experiment();
    let before = ALLOCATED.allocated();
    let outcome = simulate(&experiment);
    let open: u64 = outcome.backends.iter().map(|backend| backend.peak_active).sum();
    println!("{} {open} {}", ALLOCATED.max_allocated() - before, outcome.conntrack_peak_entries);
}

/// Target 4: bytes for an active connection and for a tracking entry, from two runs that have them in other proportions.
fn memory() {
    let active = if is_test() { 1000 } else { 1_000_000 };
    let measured = |active: u32, mean_service_s: u32, warmup_s: u32, measured_s: u32| {
        let this = std::env::current_exe().expect("this program is a file");
        let light = format!("{MEASURE}{active},{mean_service_s},{warmup_s},{measured_s}");
        let output = Command::new(this).arg(light).output().expect("it starts again");
        let text = String::from_utf8(output.stdout).expect("it prints numbers");
        let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        (numbers[0], numbers[1], numbers[2])
    };
    let (short_warmup, long_warmup, time) = if is_test() { (60, 600, 6) } else { (900, 5 * 3600, 1200) };
    let (bytes, open, entries) = measured(active, 60, short_warmup, time);
    let (long_bytes, long_open, long_entries) = measured(active, 3600, long_warmup, time);
    // The table needs a while to find its size: dead entries take part in that.
    let (short, long) = if is_test() { (6, 60) } else { (2_000, 20_000) };
    let [early_bytes, later_bytes] =
        [short, long].map(|time| measured(active / 10, 60, short_warmup, time).0);
    // bytes = open x per connection + entries x per entry, twice.
    let determinant = open * long_entries - long_open * entries;
    let per_connection = (bytes * long_entries - long_bytes * entries) / determinant;
    let per_entry = (open * long_bytes - long_open * bytes) / determinant;
    table("Memory (target 4; 10^6 active connections)", ["what", "measured", "wanted at most"]);
    row(["an active connection with its events", &format!("{per_connection:.1} bytes"), "96 bytes"]);
    row(["a tracking entry", &format!("{per_entry:.1} bytes"), "32 bytes"]);
    row([
        "ten times the simulated time (10^5 active)",
        &format!("{:.3} x as much", later_bytes / early_bytes),
        "1",
    ]);
}

/// Target 5: ten thousand backends of which one or another changes its health once a second.
fn backends() {
    let many =
        Light { zones: 4, backends_per_zone: 2500, seconds_between_flips: Some(1.0), ..Light::new(100_000) };
    compare(
        "Backends (target 5; 10^5 active connections)",
        [(Light::new(100_000), "30 backends"), (many, "10 000 backends, a change of health every second")],
        "2",
    );
}

/// Target 6: a million client addresses.
fn addresses() {
    let of = |addresses| Light { addresses, ..Light::new(100_000) };
    compare(
        "Client addresses (target 6; 10^5 active connections)",
        [(of(333), "a thousand addresses"), (of(333_333), "a million addresses")],
        "1.3",
    );
}

/// The cost of a connection in two light workloads.
fn compare(title: &str, [(few, few_name), (many, many_name)]: [(Light, &str); 2], wanted: &str) {
    let (few, many) = (few.experiment(), many.experiment());
    let all: [Timed<'_>; 2] = [Box::new(|| simulate(&few).opened), Box::new(|| simulate(&many).opened)];
    let found = rates(&all);
    table(title, ["workload", "M connections/s", "cost of the first", "wanted at most"]);
    row([few_name, &millions(found[0]), "1", ""]);
    row([many_name, &millions(found[1]), &format!("{:.2}", found[0] / found[1]), wanted]);
}

/// The quickstart.
fn quickstart() -> Experiment {
    let source = Source {
        name: "quickstart.toml".to_owned(),
        text: include_str!("../experiments/quickstart.toml").to_owned(),
    };
    Experiment::parse(source, &Overrides::default()).expect("it is a shipped experiment")
}

/// Target 7: 64 runs on one thread and on two, and what a run costs before it begins.
fn sweeps() {
    let light = Light { warmup_s: 0, measured: if is_test() { 1000 } else { 200_000 }, ..Light::new(1000) };
    let sweep = Arc::new(parse(light.text().replace("replications = 1,", "replications = 64,")));
    let on = |jobs: usize| run_every(&sweep, jobs).expect("every run succeeds").len() as u64;
    let all: [Timed<'_>; 2] = [Box::new(|| on(1)), Box::new(|| on(2))];
    // Seconds of the clock: what matters is that both processors work.
    let found = rates_by(&all, || {
        let start = Instant::now();
        Box::new(move || start.elapsed())
    });
    table("Sweeps (target 7; 64 runs)", ["what", "measured", "wanted"]);
    row(["speed of two threads", &format!("{:.2} x that of one", found[1] / found[0]), "1.9 x"]);

    let experiment = quickstart();
    let set_up = (0..200).map(|replication| {
        let start = Instant::now();
        let scenario = experiment.scenario(&experiment.cells()[0]);
        let simulation = Simulation::new(&scenario, RunSeed::new(experiment.seed(), replication));
        let took = start.elapsed();
        drop(simulation);
        took.as_secs_f64() * 1e3
    });
    row(["setting up a run of the quickstart", &format!("{:.3} ms", median(set_up.collect())), "1 ms"]);
}

/// Target 8: everything that `run` writes for 250 cells of little traffic, and everything that `plot` draws.
fn outputs() {
    let step = if is_test() { 0.5 } else { 0.008_130_081_300_813 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = format!(
        "name = \"outputs\"\n\
         simulation = {{ replications = 5, warmup = \"1m\", duration = \"30m\", sample_interval = \"10s\" }}\n\
         region = {{ name = \"r\", zones = [\"a\", \"b\", \"c\"] }}\n\
         [backend_service]\n{}\
         [[arms]]\nname = \"stay\"\n\
         set = {{ \"backend_service.zonal_affinity.spillover\" = \"STAY_WITHIN_ZONE\" }}\n\
         [[arms]]\nname = \"spill\"\n\
         set = {{ \"backend_service.zonal_affinity.spillover\" = \"SPILL_CROSS_ZONE\" }}\n\
         sweep = {{ \"backend_service.zonal_affinity.spillover_ratio\" = {:?} }}\n\
         [sweep]\n\"clients.web-a.addresses\" = [10, 20]\n",
        ["a", "b", "c"]
            .map(|zone| format!(
                "[[backend_service.backends]]\ngroup = \"ig-{zone}\"\nzone = \"{zone}\"\nsize = 4\n\
                 [[clients]]\nname = \"web-{zone}\"\nkind = \"vm\"\nzone = \"{zone}\"\n\
                 arrivals.poisson.rate = 0.5\n"
            ))
            .concat(),
        (0..124)
            .map(|number| (f64::from(number) * step * 1e4).round() / 1e4)
            .take_while(|ratio| *ratio <= 1.0)
            .collect::<Vec<f64>>(),
    );
    let file = folder.path().join("outputs.toml");
    std::fs::write(&file, text).expect("the folder is writable");
    let out = folder.path().join("out");
    let time = |arguments: &[&Path]| {
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_zonesim")).args(arguments).arg("--quiet").output();
        assert!(status.expect("zonesim starts").status.success(), "{arguments:?}");
        start.elapsed().as_secs_f64()
    };
    let path = Path::new;
    let run = time(&[path("run"), &file, path("--out"), &out]);
    let plot = time(&[path("plot"), &out]);
    let dry = Experiment::parse(
        Source { name: "outputs".to_owned(), text: std::fs::read_to_string(&file).expect("it was written") },
        &Overrides::default(),
    );
    let cells = dry.expect("it was run").cells().len();
    table("What is written (target 8)", ["what", "seconds", "wanted"]);
    row([&format!("`run` of {cells} cells: simulation, CSV and charts"), &format!("{run:.1}"), "10"]);
    row([&format!("`plot` of {cells} cells"), &format!("{plot:.1}"), "10"]);
}

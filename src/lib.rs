//! zonesim: a discrete-event simulator of zonal affinity in Google Cloud passthrough Network Load Balancers.
//!
//! One experiment file describes a region, a load balancer, backends, clients and faults, and the alternatives to
//! compare. Every alternative meets the same traffic and the same failures; the results are CSV files and charts.
//!
//! # Map
//!
//! ```text
//! experiment file -> Experiment -> cells x replications -> Simulation::run -> Outcome -> CSV -> Figure -> PNG, SVG, HTML
//!                                   (rayon)                     |
//!                                                               asks -> lb::LoadBalancer::route(now, packet) -> Verdict
//! ```
//!
//! Data flows one way. A module uses only modules above it in this list:
//!
//! | module | what |
//! |---|---|
//! | [`unfit`] | values that an experiment can't have |
//! | [`time`], [`ids`] | integer nanoseconds; typed ids and the vectors that only they index |
//! | [`random`] | named streams, portable draws |
//! | [`stats`] | histograms, intervals |
//! | [`lb`], [`workload`] | the load balancer, without clock or I/O; what clients do |
//! | [`compute`] | the Compute API's resources: read, written, checked, changed by its methods |
//! | [`sim`] | the world: events, network, backends, probers, and what is measured |
//! | [`metrics`] | the metrics of a run and the columns of results files, each in one table |
//! | [`experiment`] | the experiment file and its cells |
//! | [`results`] | the tables of a results folder, written and read |
//! | [`answers`] | what follows from tables, and from the rules alone |
//! | [`job`] | an experiment into a results folder: runs, threads, journal, shards |
//! | [`validation`] | worlds of which theory gives the exact answer |
//! | [`reality`] | the same worlds on the kernel's own network |
//! | [`figures`] | figures, charts, the page |
//! | [`cli`] | the command line |
//!
//! | looking for | look in |
//! |---|---|
//! | a rule of which backends are chosen (`ELIG`, `ZON`, `TPF`) | [`lb::policy`], one file a policy |
//! | a rule of hashing (`HASH`), affinity (`AFF`), tracking (`CTE`), weights (`WGT`), health (`HCK`) | [`lb::selection`], [`lb::affinity`], [`lb::tracking`], [`lb::weight`], [`lb::health`] |
//! | what the Compute API takes and refuses (`RES`, `TPA`, `XBS`) | [`compute`] |
//! | a key of the experiment file | [`experiment::keys`]; its table is read in `experiment/world/` |
//! | a metric, a column | [`metrics::METRICS`], [`metrics::tables`] |
//! | a chart | [`figures::charts`], one file a chart |
//! | a command | [`cli`], one file a command |
//! | what happens in a run, and when | `sim/event.rs`, and `sim/simulation.rs` that handles it |
//! | what `events.csv` and `trace.csv` tell of it | `sim/historian.rs`, `sim/tracer.rs` |
//! | why two arms differ | [`answers`]: compare, recommend, expect, explain, search |
//!
//! # A world in a program
//!
//! Whoever embeds the model needs no file: [`sim::scenario::Scenario::builder`] puts a world together, and [`job::run`]
//! runs a whole experiment into a folder.
//!
//! ```
//! use zonesim::lb::{Settings, policy::{TrafficOrigin, any::AnyPolicy, backend_service::BackendServicePolicy}};
//! use zonesim::lb::{ratio::Ratio, zonal_affinity::ZonalAffinity};
//! use zonesim::metrics::{MeasuredRun, Metric};
//! use zonesim::sim::{Simulation, builder::GroupMember, scenario::{Group, Scenario}};
//! use zonesim::workload::{ArrivalSpec, Rate};
//! use zonesim::{ids::{Id, ZoneId}, random::RunSeed, time::SimDuration};
//!
//! let mut region = Scenario::builder(["us-central1-a", "us-central1-b"]);
//! let [a, b] = [0, 1].map(ZoneId::from_index);
//! region.group(Group::named("web"), [a, a, a, b].map(GroupMember::in_zone));
//! for (name, zone) in [("users-a", a), ("users-b", b)] {
//!     let arrivals = ArrivalSpec::Poisson { rate: Rate::try_from(40.0)? };
//!     region.clients(name, (TrafficOrigin::Zone(zone), ""), arrivals).retries = 1;
//! }
//! region.timing.duration = SimDuration::from_secs(300);
//! let mut cross_zone_share = |zonal_affinity| {
//!     let policy = BackendServicePolicy { zonal_affinity, ..BackendServicePolicy::default() };
//!     region.balancer = Settings { policy: AnyPolicy::BackendService(policy), ..Settings::default() };
//!     let scenario = region.clone().build()?;
//!     let outcome = Simulation::new(&scenario, RunSeed::new(42, 0)).run()?;
//!     let run = MeasuredRun { scenario: &scenario, outcome: &outcome, latency: &outcome.latency_overall() };
//!     Ok::<_, Box<dyn std::error::Error>>(Metric::named("cross_zone_connection_ratio").value(&run))
//! };
//! assert!(cross_zone_share(ZonalAffinity::Disabled)? > Some(0.4), "a quarter of a's connections, three of b's");
//! assert_eq!(cross_zone_share(ZonalAffinity::SpillCrossZone(Ratio::new(0.5)?))?, Some(0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! A test of the source (`src/tests/tidy.rs`) keeps these; most of them are absences.
//!
//! - `lb` has no clock, queue, file, thread or generator. Packet and time go in, a verdict comes out.
//! - `sim` touches no file and no thread. Only `job::runner` names rayon, only `results` and the reader of traces csv,
//!   only `figures` plotters, only `cli` prints.
//! - `job` knows no terminal and no command line: who watches is told data, and says whether to stop.
//! - No wall clock and no hash map of random order in the model: the same file and seed give the same bytes.
//! - Streams of random numbers are keyed by seed, replication, purpose and name, never by arm or thread.
//! - A ratio, rate, threshold or distribution that breaks its rule can't be built.
//! - At the end of every run nothing is lost: [`sim::outcome::Outcome::assert_conserved`].
//!
//! # To add a …
//!
//! - **key** of the experiment file: a field of the struct that its table is read into, in `experiment/world/`. Errors,
//!   what arms may set and the table of all keys ([`experiment::keys`]) derive from it.
//! - **policy** of zones: a file in `lb/policy/` that implements [`lb::policy::ZonePolicy`], and its variant of
//!   [`lb::policy::any::AnyPolicy`].
//! - **metric**: a row of `metrics/table.rs`. Headers, summaries, thresholds, comparisons and the words of charts derive from it.
//! - **column** of another results file: a row of its file in `metrics/tables/`. Header, writing and reading derive from it.
//! - **chart**: a file in `figures/charts/` and its line in the list there.
//! - **distribution**: a form in `random/distribution.rs` and a law in `random/distribution/law.rs`. **Arrival process**:
//!   a variant of [`workload::ArrivalSpec`].
//! - **event**: a variant of `sim::event::Event`; the compiler shows what must handle it.
//! - **known answer**: a case in `validation/cases/`, its formula in `validation/theory.rs`.
//! - **question**: a file in `experiments/`.

pub mod unfit;

pub mod ids;
pub mod time;

pub mod random;

pub mod stats;

pub mod lb;
pub mod workload;

pub mod compute;

pub mod sim;

pub mod metrics;

pub mod experiment;

pub mod results;

pub mod answers;

pub mod job;

pub mod validation;

pub mod reality;

pub mod figures;

pub mod cli;

#[cfg(test)]
mod tests;

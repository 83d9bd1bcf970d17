//! Running an experiment into a results folder: which runs there are, threads, journal, shards, and the manifest.
//!
//! [`run`] runs an experiment, or a shard of it; [`Search::run`](search::Search::run) what a search comes to ask for;
//! [`merge`](merge::merge) joins shards. Whoever watches is told how it gets on, and may stop it.
//!
//! ```
//! use zonesim::experiment::{Experiment, Overrides, QUICKSTART, Source};
//! use zonesim::job::{self, Folder, JobEnd, JobProgress, Watcher, runner::RunId};
//!
//! struct Counter(usize);
//! impl Watcher for Counter {
//!     fn finished(&mut self, _: RunId, progress: &JobProgress<'_>) {
//!         self.0 = progress.finished;
//!     }
//! }
//!
//! let source = Source { name: "quickstart".to_owned(), text: QUICKSTART.to_owned() };
//! let set = [("simulation.duration", "5s"), ("faults.0.at", "61s")].map(|(path, value)| (path.to_owned(), value.to_owned()));
//! let experiment = Experiment::parse(source, &Overrides { set: set.into(), replications: Some(1), ..Overrides::default() })?;
//! let out = tempfile::tempdir()?;
//! let mut counter = Counter(0);
//! let ended = job::run(&experiment, &Folder::new(out.path()), &mut counter)?;
//! let JobEnd::Complete(job) = ended else { panic!("nobody stopped it") };
//! let cells = experiment.cells().len();
//! assert_eq!((counter.0, job.summaries.len()), (cells, cells));
//! assert!(out.path().join("summary.csv").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agenda;
pub mod cost;
mod error;
mod folder;
mod holding;
mod journal;
pub mod manifest;
pub mod merge;
pub mod runner;
pub mod search;
mod shape;
pub mod shard;
pub mod size;
mod trace;
pub mod warmup;
mod watcher;
mod whole;
mod work;

pub use error::JobError;
pub use folder::Folder;
pub use trace::trace;
pub use watcher::{JobAccount, JobNote, JobProgress, Watcher};
pub use whole::{JobEnd, run};
pub use work::CompleteJob;

#[cfg(test)]
mod tests;

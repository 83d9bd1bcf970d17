//! The files of a results folder, but for its journal.

use std::path::Path;
use std::sync::Arc;

use super::error::JobError;
use super::journal::Journal;
use super::manifest::{EndedJob, Manifest, write_file};
use super::runner::{RunId, measured};
use super::watcher::Watcher;
use crate::experiment::Experiment;
use crate::metrics::Run;
use crate::results::tables::{CellSummary, Tables};
use crate::sim::outcome::Outcome;

/// A results folder that holds every run.
#[derive(Clone, Debug)]
pub struct CompleteJob {
    /// The experiment, with the warm-up that was found and the values that were tried.
    pub experiment: Arc<Experiment>,
    /// Each cell's metrics.
    pub summaries: Vec<CellSummary>,
    /// What made the folder.
    pub manifest: Manifest,
}

/// A results folder whose files are being written.
pub(super) struct Filling<'a> {
    experiment: &'a Arc<Experiment>,
    folder: &'a Path,
    tables: Tables<'a>,
}

impl<'a> Filling<'a> {
    /// Opens every file, so that a bad folder fails before anything is simulated.
    pub(super) fn begin(experiment: &'a Arc<Experiment>, folder: &'a Path) -> Result<Self, JobError> {
        let tables = Tables::create(folder, experiment)?;
        write_file(folder, "experiment.toml", &experiment.document_in(folder))?;
        Ok(Self { experiment, folder, tables })
    }

    /// Writes the rows of a run. Runs come in order.
    pub(super) fn add(&mut self, id: RunId, run: &Run<'_>) -> Result<(), JobError> {
        let experiment: &'a Experiment = self.experiment;
        Ok(self.tables.add(&experiment.cells()[id.cell], id.replication, run)?)
    }

    /// Writes the rows of a run with its outcome.
    pub(super) fn add_outcome(&mut self, id: RunId, outcome: &Outcome) -> Result<(), JobError> {
        measured(self.experiment, id, outcome, |run| self.add(id, run))
    }

    /// Writes the rest. The journal of a whole job goes last, so that a job that is stopped anywhere before can be resumed.
    pub(super) fn finish(
        self,
        mut journal: Journal,
        ended: &EndedJob<'_>,
        watcher: &mut dyn Watcher,
    ) -> Result<CompleteJob, JobError> {
        let summaries = self.tables.finish()?;
        journal.sync()?;
        let manifest = Manifest::new(self.experiment, ended, &summaries);
        manifest.write(self.folder)?;
        watcher.written(self.folder).map_err(JobError::Watcher)?;
        if manifest.complete && manifest.shard.is_none() {
            journal.remove()?;
        }
        Ok(CompleteJob { experiment: Arc::clone(self.experiment), summaries, manifest })
    }
}

//! Where a job's results go, and how it is run.

use std::fs;
use std::path::PathBuf;

use super::error::JobError;
use super::holding::{check_contents, check_idle, set_aside};
use super::journal::{Journal, Part, experiment_hash};
use super::manifest::Manifest;
use super::shard::Shard;
use super::watcher::{JobNote, Watcher};
use crate::experiment::Experiment;
use crate::results::{building, is_unfinished};

/// Where a job's results go, and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The results folder. It is made if it is not there.
    pub path: PathBuf,
    /// The part of the experiment that is run; all of it without one.
    pub shard: Option<Shard>,
    /// Whether a job that was interrupted there is finished. Without one it begins.
    pub resume: bool,
    /// Whether what is there is moved aside.
    pub force: bool,
    /// How many threads simulate, from 1 on.
    pub threads: usize,
}

impl Folder {
    /// The folder at `path` for a whole experiment, begun anew on all processors.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { path: path.into(), shard: None, resume: false, force: false, threads }
    }

    /// Whether it holds every run of `experiment` already. The journal of a shard stays, for its outcomes are merged.
    pub(super) fn is_complete(&self, experiment: &Experiment) -> Result<bool, JobError> {
        let same = |manifest: &Manifest| {
            manifest.complete
                && manifest.shard == self.shard
                && manifest.experiment_hash == experiment_hash(experiment)
        };
        let Some(manifest) = Manifest::read(&self.path).filter(same) else { return Ok(false) };
        if self.shard.is_none() {
            return Ok(!is_unfinished(&self.path));
        }
        let Some((mut journal, _)) = Journal::read_only(&self.path)? else { return Ok(false) };
        journal.check(experiment)?;
        Ok(journal.runs() == manifest.finished_runs)
    }

    /// Opens its journal, so that a bad folder fails before anything is simulated, and before anything is written to one that
    /// holds something else.
    pub(super) fn open(
        &self,
        experiment: &Experiment,
        part: Part,
        watcher: &mut dyn Watcher,
    ) -> Result<Journal, JobError> {
        if let Some(aside) = if self.force { set_aside(&self.path)? } else { None } {
            watcher.note(JobNote::Aside(aside));
        }
        if self.resume && is_unfinished(&self.path) {
            let journal = Journal::resume(&self.path, experiment, part)?;
            if !journal.damaged.is_empty() {
                watcher.note(JobNote::Damaged(journal.damaged.clone()));
            }
            return Ok(journal);
        }
        check_idle(&self.path)?;
        check_contents(&self.path, experiment, part)?;
        fs::create_dir_all(&self.path).map_err(JobError::file("create", &self.path))?;
        let journal = Journal::create(&self.path, experiment, part).map_err(|error| match error {
            JobError::InUse(_) => error,
            error => self.ended(error),
        })?;
        // Another process may have come between.
        match check_contents(&self.path, experiment, part) {
            Ok(()) => Ok(journal),
            Err(error) => journal.remove().and(Err(error)),
        }
    }

    /// `error`, which ended a job: it can be resumed if there is any finished run. Otherwise nothing of it stays.
    pub(super) fn ended(&self, error: JobError) -> JobError {
        match Journal::read_only(&self.path) {
            Ok(found) if found.as_ref().is_none_or(|(journal, _)| journal.is_empty()) => {
                // What can't be removed does no harm: it is empty.
                let _ = fs::remove_dir_all(building(&self.path));
                error
            }
            _ => JobError::Unfinished { folder: self.path.clone(), source: Box::new(error) },
        }
    }
}

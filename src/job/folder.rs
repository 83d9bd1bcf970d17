//! Where a job's results go, and how it is run.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::JobError;
use super::journal::{Journal, Part, experiment_hash};
use super::manifest::{self, Manifest};
use super::shard::Shard;
use super::watcher::{JobNote, Watcher};
use crate::experiment::Experiment;
use crate::metrics::tables::{FileRow, PacketRow};
use crate::results::{CHARTS, PAGE, is_unfinished};

/// Where a job's results go, and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The results folder. It is made if it is not there.
    pub path: PathBuf,
    /// The part of the experiment that is run; all of it without one.
    pub shard: Option<Shard>,
    /// Whether a job that was interrupted there is finished, and not begun anew.
    pub resume: bool,
    /// How many threads simulate, from 1 on.
    pub threads: usize,
}

impl Folder {
    /// The folder at `path` for a whole experiment, begun anew on all processors.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { path: path.into(), shard: None, resume: false, threads }
    }

    /// Whether it holds every run of `experiment` already. The journal of a shard stays, for its outcomes are merged.
    pub(super) fn is_complete(&self, experiment: &Experiment) -> bool {
        let same = |manifest: Manifest| {
            manifest.complete
                && manifest.shard == self.shard
                && manifest.experiment_hash == experiment_hash(experiment)
        };
        is_unfinished(&self.path) == self.shard.is_some() && Manifest::read(&self.path).is_some_and(same)
    }

    /// Opens its journal, so that a bad folder fails before anything is simulated.
    pub(super) fn open(
        &self,
        experiment: &Experiment,
        part: Part,
        watcher: &mut dyn Watcher,
    ) -> Result<Journal, JobError> {
        let unfinished = is_unfinished(&self.path);
        // A cluster may restart a shard that had not begun: then it begins, although it was to resume.
        if self.resume && (self.shard.is_none() || unfinished) {
            return Journal::resume(&self.path, experiment, part);
        }
        fs::create_dir_all(&self.path).map_err(JobError::file("create", &self.path))?;
        let journal = Journal::create(&self.path, experiment, part)?;
        if unfinished {
            watcher.note(JobNote::Discarded);
        }
        remove_old(&self.path)?;
        Ok(journal)
    }
}

/// Removes what an older job has left in its results folder that this one may not write again.
fn remove_old(folder: &Path) -> Result<(), JobError> {
    if Manifest::read(folder).is_none() {
        // Not a results folder: nothing here is ours.
        return Ok(());
    }
    let mut old = vec![folder.join(manifest::NAME)];
    if let Ok(entries) = fs::read_dir(folder.join(CHARTS)) {
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        old.extend(paths.filter(|path| {
            path.extension().is_some_and(|extension| extension == "png" || extension == "svg")
        }));
    }
    let others = [PAGE, PacketRow::FILE.name].map(|name| folder.join(name));
    old.extend(others.into_iter().filter(|path| path.exists()));
    old.iter().try_for_each(|path| fs::remove_file(path).map_err(JobError::file("remove", path)))
}

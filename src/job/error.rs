//! Why a job does not come to its end.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use super::runner::RunFailure;
use crate::experiment::ExperimentError;
use crate::results::error::WriteError;
use crate::results::observed::QuestionError;
use crate::unfit::Unfit;

/// Why a job does not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Something can't be done with a file or folder.
    #[error("can't {action} {}", path.display())]
    File {
        /// What.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A results file can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another process writes to this results folder.
    #[error("another zonesim is writing to {}; wait for it, or choose another --out", .0.display())]
    InUse(PathBuf),
    /// Unfinished work is in this results folder.
    #[error(
        "{} holds an unfinished job, which is kept: write --resume to finish it, another --out, or --force, which moves \
         the folder aside",
        .0.display()
    )]
    HoldsUnfinished(PathBuf),
    /// Something that is not to be replaced is in this results folder.
    #[error(
        "{} holds {holds}; write another --out, or --force, which moves the folder aside",
        folder.display()
    )]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        holds: String,
    },
    /// What is unfinished in this results folder is another job.
    #[error(
        "the unfinished job in {} is of another experiment, data file, seed, shard or version of zonesim, or its journal is \
         damaged throughout; write another --out, or --force instead of --resume, which moves the folder aside",
        .0.display()
    )]
    OtherJob(PathBuf),
    /// Pilots find no warm-up.
    #[error(transparent)]
    Warmup(#[from] Unfit),
    /// A run has no outcome.
    #[error(transparent)]
    Run(#[from] RunFailure),
    /// The experiment of shards, or of a step of a search, is none.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// What a search is asked for can't be sought.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// Folders are not the shards of one experiment, or not all of them; why.
    #[error("these shards can't be merged:\n  {}", .0.join("\n  "))]
    Unfit(Vec<String>),
    /// There is something in this folder, where merged results would go.
    #[error("{} is not empty, and is not overwritten; choose another --out", .0.display())]
    Taken(PathBuf),
    /// It would take more than it may.
    #[error("{0}")]
    TooLarge(String),
    /// Whoever watches could not do its part.
    #[error(transparent)]
    Watcher(Box<dyn Error + Send + Sync>),
    /// It ended after runs had begun. Those that are finished are kept, so that it can be resumed.
    #[error("the job in {} can be resumed", folder.display())]
    Unfinished {
        /// The results folder.
        folder: PathBuf,
        /// Why it ended.
        source: Box<Self>,
    },
}

impl JobError {
    /// What makes the error of what can't be done with `path`.
    pub(super) fn file(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { action, path: path.clone(), source }
    }
}

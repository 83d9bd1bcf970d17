//! What can be wrong with a results folder and with the files in it.

use std::io;
use std::path::PathBuf;

use crate::experiment::ExperimentError;
use crate::unfit::Unfit;

/// A file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write {}", path.display())]
pub struct WriteError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Why a results folder can't be read, or not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file is missing or not readable.
    #[error("can't read {}; is this a results folder?", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It lacks something, holds something else than it should, or is not whole.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// `manifest.json` is not JSON.
    #[error("can't read {}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// `experiment.toml` has to be read, for nothing else says what the rows are about, and is no experiment.
    #[error(
        "this results folder has no resolved.json of this version, and its experiment.toml can't be read; mend it, put the \
         files that it names back, or run the experiment again"
    )]
    Experiment(#[from] ExperimentError),
}

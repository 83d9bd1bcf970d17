//! What can be wrong with a results folder and with the files in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write {}", path.display())]
pub struct WriteError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Writes the file `path`, under another name first, so that it is never seen half-written.
///
/// # Errors
/// If it can't be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let draft = path.with_added_extension("tmp");
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    written.map_err(|source| WriteError { path: path.to_owned(), source })
}

use crate::experiment::ExperimentError;

/// Why a results folder can't be read.
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
    /// A file ends in the middle of a line, or before its header does.
    #[error("{}: half-written, line {line} has no end; run again with --resume", path.display())]
    HalfWritten {
        /// The file.
        path: PathBuf,
        /// Its last line.
        line: usize,
    },
    /// A line is not a record of the table.
    #[error("{}, line {line}: {problem}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The header lacks a column.
    #[error("{}, line 1: no column `{column}`", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column that is missing.
        column: String,
    },
    /// A field holds something else than it should.
    #[error("{}, line {line}, column `{column}`: expected {expected}, found {found:?}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
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
    /// `resolved.json` is written in another format, and there is no experiment file to make it anew from.
    #[error(
        "{}: written by zonesim {version} in another format than that of {}; put its experiment.toml back beside it, or run \
         the experiment again", path.display(), env!("CARGO_PKG_VERSION")
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The version that wrote it.
        version: String,
    },
}

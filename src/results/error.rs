//! What can be wrong with a results folder.

use std::path::PathBuf;

/// Why a results folder can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file is missing or not readable.
    #[error("can't read {}; is this a results folder?", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
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
    /// `experiment.toml` is not the experiment file that it should be.
    #[error("{}: {problem}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
}

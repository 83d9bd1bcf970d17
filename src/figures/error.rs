//! Why something of a results folder can't be drawn.

use crate::results::error::{ResultsError, WriteError};
use crate::results::observed::QuestionError;

/// Why there are no charts, or no page.
#[derive(Debug, thiserror::Error)]
pub enum FiguresError {
    /// The folder can't be read.
    #[error(transparent)]
    Folder(#[from] ResultsError),
    /// A chart is asked for that can't be drawn.
    #[error(transparent)]
    Request(#[from] QuestionError),
    /// A file can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

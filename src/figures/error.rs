//! Why something of a results folder can't be drawn.

use crate::results::error::WriteError;
use crate::results::observed::{FolderError, QuestionError};

/// Why there are no charts, or no page.
#[derive(Debug, thiserror::Error)]
pub enum FiguresError {
    /// The folder can't be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A chart is asked for that can't be drawn.
    #[error(transparent)]
    Request(#[from] QuestionError),
    /// A file can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

//! What the command says and does while a job runs.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::progress::ProgressLine;
use crate::cli::console::Console;
use crate::figures::charts::draw_all;
use crate::figures::draw::Format;
use crate::figures::error::FiguresError;
use crate::job::runner::RunId;
use crate::job::{JobError, JobNote, JobProgress, Watcher};

/// Shows a job on the terminal, draws its charts, and stops it once Ctrl-C is pressed.
pub(in crate::cli) struct Terminal<'a> {
    console: &'a Console,
    /// The files of each chart; nothing for none.
    charts: Option<&'static [Format]>,
    /// The most runs of a search.
    most: Option<u64>,
    stop: Arc<AtomicBool>,
    line: Option<ProgressLine>,
}

impl<'a> Terminal<'a> {
    pub(in crate::cli) fn new(console: &'a Console, charts: Option<&'static [Format]>) -> Self {
        Self { console, charts, most: None, stop: Arc::default(), line: None }
    }

    /// One that Ctrl-C stops, and not the process; of a search that has so many runs at `most`, or of a job.
    pub(super) fn stoppable(
        console: &'a Console,
        charts: Option<&'static [Format]>,
        most: Option<u64>,
    ) -> anyhow::Result<Self> {
        let terminal = Self { most, ..Self::new(console, charts) };
        let stop = Arc::clone(&terminal.stop);
        ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed)).context("can't listen for Ctrl-C")?;
        Ok(terminal)
    }
}

impl Watcher for Terminal<'_> {
    fn finished(&mut self, _: RunId, progress: &JobProgress<'_>) {
        self.waiting(progress);
    }

    fn waiting(&mut self, progress: &JobProgress<'_>) {
        let line = self.line.get_or_insert_with(|| ProgressLine::new(self.most, self.console));
        line.show(progress);
    }

    fn note(&mut self, note: JobNote) {
        self.line = None;
        self.console.note(&match note {
            JobNote::Discarded => {
                "an unfinished job in this folder is discarded; --resume would have finished it".to_owned()
            }
            JobNote::Pilots(runs) => format!("pilot runs that find the warm-up: {runs}"),
            JobNote::Warmup(entry) => format!("warm-up: {}", entry.text()),
        });
    }

    fn written(&mut self, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.line = None;
        if let Some(formats) = self.charts {
            draw_all(folder, formats, |_| {})?;
        }
        Ok(())
    }

    fn wants_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How a job that ends before it is done can be finished.
pub(super) fn resumable(folder: &Path) -> String {
    format!(
        "{} keeps the runs that are finished; the same command with --resume finishes the rest",
        folder.display()
    )
}

/// `error` as the command tells and judges it: what ended a job, and how that can be resumed.
pub(in crate::cli) fn told(error: JobError) -> anyhow::Error {
    match error {
        JobError::Unfinished { folder, source } => told(*source).context(resumable(&folder)),
        JobError::Watcher(source) => match source.downcast::<FiguresError>() {
            Ok(error) => (*error).into(),
            Err(other) => anyhow::anyhow!(other),
        },
        JobError::Experiment(error) => error.into(),
        JobError::Question(error) => error.into(),
        other => other.into(),
    }
}

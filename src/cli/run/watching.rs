//! What the command says and does while a job runs.

use std::error::Error;
use std::path::Path;

use super::progress::ProgressLine;
use crate::cli::console::Console;
use crate::cli::signals::{self, Finishing};
use crate::figures::charts::draw_all;
use crate::figures::draw::Format;
use crate::figures::error::FiguresError;
use crate::job::runner::RunId;
use crate::job::{JobError, JobNote, JobProgress, Watcher};

/// Shows a job on the terminal, draws its charts, and stops it once a signal says so.
pub(in crate::cli) struct Terminal<'a> {
    console: &'a Console,
    /// The files of each chart; nothing for none.
    charts: Option<&'static [Format]>,
    /// The most runs of a search.
    most: Option<u64>,
    /// There while a signal is to stop the job, and not the process.
    finishing: Option<Finishing>,
    line: Option<ProgressLine>,
}

impl<'a> Terminal<'a> {
    pub(in crate::cli) fn new(console: &'a Console, charts: Option<&'static [Format]>) -> Self {
        Self { console, charts, most: None, finishing: None, line: None }
    }

    /// One that a signal stops, and not the process; of a search that has so many runs at `most`, or of a job.
    pub(super) fn stoppable(
        console: &'a Console,
        charts: Option<&'static [Format]>,
        most: Option<u64>,
    ) -> Self {
        Self { most, finishing: Some(Finishing::begin()), ..Self::new(console, charts) }
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
            JobNote::Aside(folder) => format!("what was in this folder is in {} now", folder.display()),
            JobNote::Damaged(lines) => damage_text(&lines),
            JobNote::Pilots(runs) => format!("pilot runs that find the warm-up: {runs}"),
            JobNote::Warmup(entry) => format!("warm-up: {}", entry.text()),
        });
    }

    fn written(&mut self, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.line = None;
        // Nothing looks for a signal from here on. The journal is there still: what is left can be resumed.
        self.finishing = None;
        if let Some(formats) = self.charts {
            draw_all(folder, formats, |_| {})?;
        }
        Ok(())
    }

    fn wants_to_stop(&self) -> bool {
        self.finishing.is_some() && signals::asked().is_some()
    }
}

/// That these lines of a journal are damaged.
fn damage_text(lines: &[u64]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown: Vec<String> = lines.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    let more = if lines.len() > SHOWN_MAX { ", …" } else { "" };
    format!(
        "warning: damaged lines in the journal: {} ({}{more}); the runs that they held are simulated again",
        lines.len(),
        shown.join(", ")
    )
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

//! The journal of a job: every finished run, durable as soon as it is finished.
//!
//! One JSON object a line: first what the job is, then a run each. The CSV files are written from whole outcomes in
//! the order of runs, so a job that was interrupted can be finished from its journal to the same bytes. A line
//! that was cut short by a crash is dropped.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::experiment::runner::RunId;
use crate::sim::outcome::Outcome;

/// The journal's name in a results folder.
const NAME: &str = ".zonesim-journal";

/// Why a journal can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file error.
    #[error("can't use the journal {}", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another zonesim is writing to {}; wait for it, or choose another --out", folder.display())]
    InUse {
        /// The results folder.
        folder: PathBuf,
    },
    /// There is nothing to resume.
    #[error("{} holds no unfinished job to resume; run without --resume", folder.display())]
    Nothing {
        /// The results folder.
        folder: PathBuf,
    },
    /// The journal is of another job.
    #[error(
        "the unfinished job in {} is of another experiment, data file, seed or version of zonesim; \
         choose another --out, or run without --resume to start anew",
        folder.display()
    )]
    OtherJob {
        /// The results folder.
        folder: PathBuf,
    },
}

/// What a journal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    zonesim: String,
    experiment: String,
}

#[derive(Serialize, Deserialize)]
struct Record {
    cell: usize,
    replication: u32,
    outcome: Outcome,
}

/// A fingerprint of an experiment as run, overrides applied, and of its data files.
pub fn experiment_hash(experiment: &Experiment) -> String {
    format!("{:016x}", experiment.fingerprint())
}

/// An open journal, which no other process can open as long.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    last_sync: Instant,
}

/// Finished runs reach the disk after this time at the latest. (Each write reaches the system at once, so that only a
/// failure of the machine, and not of the process, can lose them.)
const SYNC_INTERVAL: Duration = Duration::from_millis(200);

impl Journal {
    /// Whether `folder` holds an unfinished job.
    pub fn exists(folder: &Path) -> bool {
        folder.join(NAME).exists()
    }

    /// Begins a new journal in `folder`, replacing an older one.
    ///
    /// # Errors
    /// If the file can't be written, or another process has it.
    pub fn create(folder: &Path, experiment: &Experiment) -> Result<Self, JournalError> {
        let mut journal = Self::open(folder, OpenOptions::new().write(true).create(true).truncate(false))?;
        journal.file.set_len(0).map_err(|source| journal.error(source))?;
        journal.append(&header(experiment))?;
        Ok(journal)
    }

    /// Opens the journal of an unfinished job in `folder`, with its finished runs.
    ///
    /// # Errors
    /// If there is none, it is of another job, or another process has it.
    pub fn resume(
        folder: &Path,
        experiment: &Experiment,
    ) -> Result<(Self, Vec<(RunId, Outcome)>), JournalError> {
        if !Self::exists(folder) {
            return Err(JournalError::Nothing { folder: folder.to_owned() });
        }
        let mut journal = Self::open(folder, OpenOptions::new().read(true).write(true))?;
        let (runs, whole) = journal.read(folder, experiment)?;
        let ready = journal.file.set_len(whole).and_then(|()| journal.file.seek(SeekFrom::End(0)));
        ready.map_err(|source| journal.error(source))?;
        Ok((journal, runs))
    }

    fn open(folder: &Path, options: &OpenOptions) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(source) => return Err(JournalError::Io { path, source }),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse { folder: folder.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(JournalError::Io { path, source }),
        }
        #[allow(clippy::disallowed_methods, reason = "the disk lives in real time")]
        let last_sync = Instant::now();
        Ok(Self { path, file, last_sync })
    }

    /// The finished runs, and how many bytes are whole lines.
    fn read(
        &self,
        folder: &Path,
        experiment: &Experiment,
    ) -> Result<(Vec<(RunId, Outcome)>, u64), JournalError> {
        let mut lines = CompleteLines { reader: BufReader::new(&self.file), length: 0 };
        let first: Option<Header> = lines.next().map_err(|source| self.error(source))?;
        if first != Some(header(experiment)) {
            return Err(JournalError::OtherJob { folder: folder.to_owned() });
        }
        let mut runs = Vec::new();
        while let Some(Record { cell, replication, outcome }) =
            lines.next().map_err(|source| self.error(source))?
        {
            runs.push((RunId { cell, replication }, outcome));
        }
        Ok((runs, lines.length))
    }

    /// Adds a finished run.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn add(&mut self, run: RunId, outcome: &Outcome) -> Result<(), JournalError> {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            cell: usize,
            replication: u32,
            outcome: &'a Outcome,
        }
        self.append(&Borrowed { cell: run.cell, replication: run.replication, outcome })
    }

    /// Removes the journal of a job that is complete.
    ///
    /// # Errors
    /// If the file can't be removed.
    pub fn remove(self) -> Result<(), JournalError> {
        std::fs::remove_file(&self.path).map_err(|source| self.error(source))
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let mut bytes = serde_json::to_vec(line).expect("plain data");
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|source| self.error(source))?;
        if self.last_sync.elapsed() >= SYNC_INTERVAL {
            self.file.sync_data().map_err(|source| self.error(source))?;
            #[allow(clippy::disallowed_methods, reason = "the disk lives in real time")]
            let now = Instant::now();
            self.last_sync = now;
        }
        Ok(())
    }

    fn error(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }
}

fn header(experiment: &Experiment) -> Header {
    Header { zonesim: env!("CARGO_PKG_VERSION").to_owned(), experiment: experiment_hash(experiment) }
}

/// Reads lines that are complete, and counts their bytes.
struct CompleteLines<R> {
    reader: R,
    length: u64,
}

impl<R: BufRead> CompleteLines<R> {
    /// The next line's value; `None` at the end, or at the first line that is cut short.
    fn next<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let value = if line.ends_with(b"\n") { serde_json::from_slice(&line).ok() } else { None };
        if value.is_some() {
            self.length += line.len() as u64;
        }
        Ok(value)
    }
}

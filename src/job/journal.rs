//! The journal of a job: every finished run, durable as soon as it is finished.
//!
//! One JSON object a line: first what the job is, then the warm-up if it was found, then a run each, in the order in
//! which they finished. The CSV files are written from it in the order of runs, so a job that was interrupted can be
//! finished to the same bytes, and the shards of a job can be merged. In memory stands only where each run is. A line that
//! was cut short by a crash is dropped.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::JobError;
use super::runner::RunId;
use super::shard::Shard;
use super::warmup::FoundWarmup;
use crate::experiment::Experiment;
use crate::results::{JOURNAL, is_unfinished};
use crate::sim::outcome::Outcome;

/// What finished runs did: what must be known of an outcome before its turn comes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct JobCounts {
    pub(super) events: u64,
    #[serde(rename = "opened")]
    pub(super) connections: u64,
}

impl std::ops::AddAssign for JobCounts {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.connections += other.connections;
    }
}

/// Which runs of an experiment a job is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// All.
    Whole,
    /// Those of a shard.
    Shard(Shard),
    /// All, and other jobs simulate them.
    Merged,
    /// Those that a search comes to ask for, numbered in the order in which it does; of this question.
    Search(u64),
}

/// What a journal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) zonesim: String,
    /// Fingerprint of the experiment as run.
    pub(super) experiment: String,
    pub(super) seed: u64,
    pub(super) part: Part,
}

impl Header {
    pub(super) fn new(experiment: &Experiment, part: Part) -> Self {
        let zonesim = env!("CARGO_PKG_VERSION").to_owned();
        Self { zonesim, experiment: experiment_hash(experiment), seed: experiment.seed(), part }
    }
}

/// A fingerprint of an experiment as run, overrides applied, and of its data files.
pub(super) fn experiment_hash(experiment: &Experiment) -> String {
    format!("{:016x}", experiment.fingerprint())
}

/// The line of a finished run, and as much of its outcome as is wanted.
#[derive(Serialize, Deserialize)]
struct RunLine<T> {
    cell: usize,
    replication: u32,
    outcome: T,
}

#[derive(Serialize, Deserialize)]
struct WarmupLine {
    warmup: FoundWarmup,
}

/// An open journal, which no other process can open to write as long.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the line of each run begins, and how long it is.
    lines: BTreeMap<RunId, (u64, usize)>,
    pub(super) warmup: Option<FoundWarmup>,
    /// How long the file is.
    length: u64,
    /// Of all runs in it.
    pub(super) counts: JobCounts,
    /// Of those that were added since it was opened.
    pub(super) fresh: JobCounts,
    opened: Instant,
    /// When it may be brought to the disk again, since it was opened.
    next_sync: Duration,
    is_synced: bool,
}

/// What can't be done where a file error occurs.
const ACTION: &str = "use the journal";
/// Finished runs are brought to the disk once this time has passed since that was done, if [`Journal::tick`] is called
/// often enough. (Each write reaches the system at once, so that only a failure of the machine, and not of the process,
/// can lose them.)
const SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// Where that is slow, as in a mounted bucket, it may take one part in so many of the time.
const SYNC_SHARE: u32 = 20;

impl Journal {
    /// Begins a new journal in `folder`, replacing an older one.
    pub(super) fn create(folder: &Path, experiment: &Experiment, part: Part) -> Result<Self, JobError> {
        let mut journal = Self::open(folder, File::options().read(true).append(true).create(true), true)?;
        journal.begin(&Header::new(experiment, part))?;
        Ok(journal)
    }

    /// Opens the journal of an unfinished job in `folder`, with its finished runs.
    pub(super) fn resume(folder: &Path, experiment: &Experiment, part: Part) -> Result<Self, JobError> {
        if !is_unfinished(folder) {
            return Err(JobError::Nothing(folder.to_owned()));
        }
        let mut journal = Self::open(folder, File::options().read(true).append(true), true)?;
        let header = Header::new(experiment, part);
        match journal.load()? {
            Some(Ok(found)) if found == header => {
                journal.file.set_len(journal.length).map_err(|source| journal.error(source))?;
            }
            // It was stopped before it had said what it is.
            None => journal.begin(&header)?,
            Some(_) => return Err(JobError::OtherJob(folder.to_owned())),
        }
        Ok(journal)
    }

    /// Opens the journal in `folder` to read; absent if there is none, or none that this version can read.
    pub(super) fn read_only(folder: &Path) -> Result<Option<(Self, Header)>, JobError> {
        if !is_unfinished(folder) {
            return Ok(None);
        }
        let mut journal = Self::open(folder, File::options().read(true), false)?;
        let header = journal.load()?.and_then(Result::ok);
        Ok(header.map(|header| (journal, header)))
    }

    /// Opens the file and locks it: against everybody if `writes`, otherwise against writers.
    fn open(folder: &Path, options: &OpenOptions, writes: bool) -> Result<Self, JobError> {
        let path = folder.join(JOURNAL);
        let io = JobError::file(ACTION, &path);
        let file = loop {
            let file = options.open(&path).map_err(&io)?;
            let locked = if writes { file.try_lock() } else { file.try_lock_shared() };
            match locked {
                // Its owner may have removed it between the two.
                Ok(()) if is_at(&file, &path) => break file,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(JobError::InUse(folder.to_owned())),
                Err(TryLockError::Error(source)) => return Err(io(source)),
            }
        };
        #[allow(clippy::disallowed_methods, reason = "the disk lives in real time")]
        let opened = Instant::now();
        Ok(Self {
            path,
            file,
            lines: BTreeMap::new(),
            warmup: None,
            length: 0,
            counts: JobCounts::default(),
            fresh: JobCounts::default(),
            opened,
            next_sync: SYNC_INTERVAL,
            is_synced: true,
        })
    }

    /// Empties the file and writes its first line.
    fn begin(&mut self, header: &Header) -> Result<(), JobError> {
        let emptied = self
            .file
            .metadata()
            .and_then(|found| if found.len() > 0 { self.file.set_len(0) } else { Ok(()) });
        emptied.map_err(|source| self.error(source))?;
        self.append(header).map(drop)
    }

    /// Reads what the journal is about and where its finished runs are, up to the first line that is not whole. Nothing
    /// without a whole line; an error of the first that is of another version, or of something else.
    fn load(&mut self) -> Result<Option<serde_json::Result<Header>>, JobError> {
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        let read = |reader: &mut BufReader<&File>, line: &mut Vec<u8>| {
            line.clear();
            let length = reader.read_until(b'\n', line).map_err(|source| self.error(source))?;
            Ok::<_, JobError>(line.ends_with(b"\n").then_some(length))
        };
        let Some(length) = read(&mut reader, &mut line)? else { return Ok(None) };
        let header = serde_json::from_slice(&line);
        if header.is_err() {
            return Ok(Some(header));
        }
        let (mut lines, mut counts, mut end) = (BTreeMap::new(), JobCounts::default(), length as u64);
        let mut found = None;
        while let Some(length) = read(&mut reader, &mut line)? {
            if let Ok(RunLine { cell, replication, outcome }) = serde_json::from_slice(&line) {
                if lines.insert(RunId { cell, replication }, (end, length)).is_none() {
                    counts += outcome;
                }
            } else if let Ok(WarmupLine { warmup }) = serde_json::from_slice(&line) {
                found = Some(warmup);
            } else {
                break;
            }
            end += length as u64;
        }
        (self.lines, self.warmup, self.counts, self.length) = (lines, found, counts, end);
        Ok(Some(header))
    }

    pub(super) fn runs(&self) -> u64 {
        self.lines.len() as u64
    }

    pub(super) fn has(&self, run: RunId) -> bool {
        self.lines.contains_key(&run)
    }

    pub(super) fn set_warmup(&mut self, warmup: FoundWarmup) -> Result<(), JobError> {
        self.append(&WarmupLine { warmup })?;
        self.warmup = Some(warmup);
        self.sync()
    }

    /// What `run` found, if it is in the journal.
    pub(super) fn outcome(&mut self, run: RunId) -> Result<Option<Outcome>, JobError> {
        let Some((start, length)) = self.lines.get(&run).copied() else { return Ok(None) };
        let mut line = vec![0; length];
        let found = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.read_exact(&mut line));
        let found: Result<RunLine<Outcome>, io::Error> =
            found.and_then(|()| serde_json::from_slice(&line).map_err(io::Error::from));
        found.map(|line| Some(line.outcome)).map_err(|source| self.error(source))
    }

    pub(super) fn add(&mut self, run: RunId, outcome: &Outcome) -> Result<(), JobError> {
        let line = self.append(&RunLine { cell: run.cell, replication: run.replication, outcome })?;
        self.lines.insert(run, line);
        let own = JobCounts { events: outcome.events, connections: outcome.opened };
        self.counts += own;
        self.fresh += own;
        self.tick()
    }

    /// Brings what was added to the disk, if it is time to.
    pub(super) fn tick(&mut self) -> Result<(), JobError> {
        if self.is_synced || self.opened.elapsed() < self.next_sync {
            return Ok(());
        }
        self.sync()
    }

    /// Brings what was added to the disk.
    pub(super) fn sync(&mut self) -> Result<(), JobError> {
        let begun = self.opened.elapsed();
        self.file.sync_data().map_err(|source| self.error(source))?;
        let ended = self.opened.elapsed();
        self.next_sync = ended + SYNC_INTERVAL.max((ended - begun) * SYNC_SHARE);
        self.is_synced = true;
        Ok(())
    }

    /// Removes the journal of a job that is complete.
    pub(super) fn remove(self) -> Result<(), JobError> {
        fs::remove_file(&self.path).map_err(|source| self.error(source))
    }

    /// Adds a line; tells where it begins and how long it is.
    fn append(&mut self, line: &impl Serialize) -> Result<(u64, usize), JobError> {
        let mut bytes = serde_json::to_vec(line).expect("plain data");
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|source| self.error(source))?;
        self.is_synced = false;
        let place = (self.length, bytes.len());
        self.length += bytes.len() as u64;
        Ok(place)
    }

    fn error(&self, source: io::Error) -> JobError {
        JobError::file(ACTION, &self.path)(source)
    }
}

/// Whether `file` is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => id(open) == id(there),
        _ => false,
    }
}

/// Whether `file` is the one at `path`: what is open can't be removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

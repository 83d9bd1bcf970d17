//! The journal of a job: every finished run, durable as soon as it is finished.
//!
//! One line each: first what the job is, then the warm-up if it was found, then the runs, in the order in which they finished;
//! JSON behind a checksum. The CSV files are written from it in the order of runs, so a job that was interrupted can be
//! finished to the same bytes, and the shards of a job can be merged. In memory stands only where each run is.
//!
//! The checksum of a run takes in what the job is, so that each line tells for itself whether it is whole and of this job. A
//! line that is not costs its own run, which is simulated again.

mod line;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::error::JobError;
use super::runner::RunId;
use super::shape::is_of;
use super::shard::Shard;
use super::warmup::FoundWarmup;
use crate::experiment::Experiment;
use crate::random::hash_bytes;
use crate::results::disk::{is_file, is_folder, make_folder, step};
use crate::results::{JOURNAL_FILE, building, is_unfinished};
use crate::sim::outcome::Outcome;
use line::{append_line, checked, next_line, read_line};

/// What finished runs did: what must be known of an outcome before its turn comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JobCounts {
    pub(super) events: u64,
    pub(super) connections: u64,
}

impl JobCounts {
    fn of(outcome: &Outcome) -> Self {
        Self { events: outcome.events, connections: outcome.opened }
    }
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

    /// What the checksums of its runs begin with.
    fn key(&self) -> u64 {
        hash_bytes(1, &serde_json::to_vec(self).expect("plain data"))
    }
}

/// A fingerprint of an experiment as run, overrides applied, and of its data files.
pub(super) fn experiment_hash(experiment: &Experiment) -> String {
    format!("{:016x}", experiment.fingerprint())
}

/// The line of a finished run, and as much of its outcome as is wanted.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunLine<T> {
    cell: usize,
    replication: u32,
    outcome: T,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarmupLine {
    warmup: FoundWarmup,
}

/// An open journal, which no other process can open to write as long.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the line of each run begins, how long it is, and its number.
    lines: BTreeMap<RunId, (u64, usize, u64)>,
    pub(super) warmup: Option<FoundWarmup>,
    /// The lines that are not whole, or are of no run of this job.
    pub(super) damaged: Vec<u64>,
    /// What the checksums of all lines but the first begin with.
    key: u64,
    /// Whether some line says what it is about.
    has_header: bool,
    /// Which runs it is about.
    part: Part,
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

/// What the checksum of a header begins with.
const HEADER_KEY: u64 = 0;

/// What can't be done where a file error occurs.
const ACTION: &str = "use the journal";
/// Finished runs are brought to the disk once this time has passed since that was done, if [`Journal::tick`] is called
/// often enough. (Each write reaches the system at once, so that only a failure of the machine, and not of the process,
/// can lose them.)
const SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// Where that is slow, as in a mounted bucket, it may take one part in so many of the time.
const SYNC_SHARE: u32 = 20;

impl Journal {
    /// Begins a new journal in `folder`, replacing one in which nothing is written.
    pub(super) fn create(folder: &Path, experiment: &Experiment, part: Part) -> Result<Self, JobError> {
        let mut journal = Self::open(folder, File::options().read(true).append(true).create(true), true)?;
        journal.begin(&Header::new(experiment, part))?;
        Ok(journal)
    }

    /// Opens the journal of an unfinished job in `folder`, with its finished runs.
    pub(super) fn resume(folder: &Path, experiment: &Experiment, part: Part) -> Result<Self, JobError> {
        if !is_folder(&building(folder)) {
            // An older version had a file of this name.
            return Err(JobError::OtherJob(folder.to_owned()));
        }
        let mut journal = Self::open(folder, File::options().read(true).append(true).create(true), true)?;
        let header = Header::new(experiment, part);
        match journal.find_header()? {
            Some(found) if found != header => return Err(JobError::OtherJob(folder.to_owned())),
            found => journal.load(&header, found.is_some())?,
        }
        // Of several damaged lines none proves to be of this job.
        if !journal.has_header && journal.is_empty() && journal.damaged.len() > 1 {
            return Err(JobError::OtherJob(folder.to_owned()));
        }
        let length = journal.length;
        journal.file.set_len(length).map_err(|source| journal.error(source))?;
        if !journal.has_header {
            journal.append(&header, HEADER_KEY)?;
        }
        journal.check(experiment)?;
        Ok(journal)
    }

    /// Opens the journal in `folder` to read; absent if there is none, or none that says what it is in this version's words.
    pub(super) fn read_only(folder: &Path) -> Result<Option<(Self, Header)>, JobError> {
        if !is_file(&building(folder).join(JOURNAL_FILE)) {
            return Ok(None);
        }
        let mut journal = Self::open(folder, File::options().read(true), false)?;
        let Some(header) = journal.find_header()? else { return Ok(None) };
        journal.load(&header, true)?;
        Ok(Some((journal, header)))
    }

    /// Whether anything is written in the journal of the unfinished job in `folder`.
    pub(super) fn has_begun(folder: &Path) -> Result<bool, JobError> {
        if !is_unfinished(folder) {
            return Ok(false);
        }
        // An older version had a file of the folder's name.
        let is_ours = is_folder(&building(folder));
        Ok(!is_ours || Self::open(folder, File::options().read(true), false)?.length > 0)
    }

    /// Whether the file called `name` beside it is its own.
    pub(super) fn is_its(name: &str) -> bool {
        name == JOURNAL_FILE
    }

    /// Whether it has nothing worth keeping.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.warmup.is_none()
    }

    /// Opens the file and locks it: against everybody if `writes`, otherwise against writers.
    fn open(folder: &Path, options: &OpenOptions, writes: bool) -> Result<Self, JobError> {
        let building = building(folder);
        let path = building.join(JOURNAL_FILE);
        let io = JobError::file(ACTION, &path);
        let file = loop {
            if writes {
                make_folder(&building).map_err(&io)?;
            }
            if !is_file(&path) && fs::symlink_metadata(&path).is_ok() {
                return Err(io(io::Error::other("it is a link or a device, and no file")));
            }
            let file = match options.open(&path) {
                // Its owner may have removed the folder that was just there.
                Err(error) if writes && error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(&io)?,
            };
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
        let length = file.metadata().map_err(&io)?.len();
        Ok(Self {
            path,
            file,
            lines: BTreeMap::new(),
            warmup: None,
            damaged: Vec::new(),
            key: HEADER_KEY,
            has_header: false,
            part: Part::Whole,
            length,
            counts: JobCounts::default(),
            fresh: JobCounts::default(),
            opened,
            next_sync: SYNC_INTERVAL,
            is_synced: true,
        })
    }

    /// Empties the file and writes its first line.
    fn begin(&mut self, header: &Header) -> Result<(), JobError> {
        if self.length > 0 {
            self.file.set_len(0).map_err(|source| self.error(source))?;
            self.length = 0;
        }
        (self.key, self.part) = (header.key(), header.part);
        self.append(header, HEADER_KEY).map(drop)
    }

    /// The first line that says what the journal is about.
    fn find_header(&mut self) -> Result<Option<Header>, JobError> {
        self.each_line(|_, line| {
            let header = checked(line, HEADER_KEY).and_then(|json| serde_json::from_slice(json).ok());
            header.map_or(ControlFlow::Continue(()), ControlFlow::Break)
        })
    }

    /// Hands every line, with where it begins, how long it is, and whether it has an end, to `take`, until that gives something.
    /// Of a long one only the beginning is there.
    fn each_line<T>(
        &mut self,
        mut take: impl FnMut((u64, usize, bool), &[u8]) -> ControlFlow<T>,
    ) -> Result<Option<T>, JobError> {
        let failed = JobError::file(ACTION, &self.path);
        self.file.rewind().map_err(&failed)?;
        let (mut reader, mut line, mut start) = (BufReader::new(&self.file), Vec::new(), 0);
        loop {
            let (length, is_ended) = next_line(&mut reader, &mut line).map_err(&failed)?;
            if length == 0 {
                return Ok(None);
            }
            if let ControlFlow::Break(found) = take((start, length, is_ended), &line) {
                return Ok(Some(found));
            }
            start += length as u64;
        }
    }

    /// Finds the finished runs of the job of this `header`; which stands there, or may be damaged.
    fn load(&mut self, header: &Header, has_header: bool) -> Result<(), JobError> {
        let key = header.key();
        let (mut lines, mut damaged, mut found, mut end) = (BTreeMap::new(), Vec::new(), None, 0);
        let (mut number, mut long) = (0, Vec::new());
        self.each_line::<()>(|(start, length, is_ended), line| {
            number += 1;
            let place = (start, length, number);
            if length > line.len() {
                long.push(place);
            } else if let Some(json) = checked(line, key) {
                if let Ok(RunLine { cell, replication, outcome: IgnoredAny }) = serde_json::from_slice(json) {
                    lines.entry(RunId { cell, replication }).or_insert(place);
                } else if let Ok(WarmupLine { warmup }) = serde_json::from_slice(json) {
                    found = Some(warmup);
                } else {
                    damaged.push(number);
                }
            } else if checked(line, HEADER_KEY).is_none() {
                damaged.push(number);
            }
            if is_ended {
                end = start + length as u64;
            }
            ControlFlow::Continue(())
        })?;
        for (start, length, number) in long {
            match read_line(&mut self.file, (start, length), key) {
                Ok(Some(RunLine { cell, replication, outcome: IgnoredAny })) => {
                    lines.entry(RunId { cell, replication }).or_insert((start, length, number));
                }
                _ => damaged.push(number),
            }
        }
        (self.lines, self.damaged, self.warmup, self.length) = (lines, damaged, found, end);
        (self.key, self.has_header, self.part) = (key, has_header, header.part);
        Ok(())
    }

    /// Counts what the finished runs did; drops those that `experiment` does not have, or whose outcomes are not of its shape.
    pub(super) fn check(&mut self, experiment: &Experiment) -> Result<(), JobError> {
        self.counts = JobCounts::default();
        // A search numbers cells in its own way.
        let is_numbered = !matches!(self.part, Part::Search(_));
        for (run, (.., number)) in self.lines.clone() {
            let is_there = run.cell < experiment.cells().len() && run.replication < experiment.replications();
            let found = if is_there || !is_numbered { self.outcome(run).ok().flatten() } else { None };
            let fits = |outcome: &Outcome| !is_numbered || is_of(outcome, experiment, run.cell);
            if let Some(outcome) = found.filter(fits) {
                self.counts += JobCounts::of(&outcome);
            } else {
                self.lines.remove(&run);
                self.damaged.push(number);
            }
        }
        self.damaged.sort_unstable();
        Ok(())
    }

    pub(super) fn runs(&self) -> u64 {
        self.lines.len() as u64
    }

    pub(super) fn has(&self, run: RunId) -> bool {
        self.lines.contains_key(&run)
    }

    pub(super) fn set_warmup(&mut self, warmup: FoundWarmup) -> Result<(), JobError> {
        self.append(&WarmupLine { warmup }, self.key)?;
        self.warmup = Some(warmup);
        self.sync()
    }

    /// What `run` found, if it is in the journal.
    pub(super) fn outcome(&mut self, run: RunId) -> Result<Option<Outcome>, JobError> {
        let Some((start, length, number)) = self.lines.get(&run).copied() else { return Ok(None) };
        let found = read_line::<RunLine<Outcome>>(&mut self.file, (start, length), self.key);
        let changed = || io::Error::other(format!("line {number} has changed since it was opened"));
        let line = found.and_then(|line| line.ok_or_else(changed)).map_err(|source| self.error(source))?;
        Ok(Some(line.outcome))
    }

    pub(super) fn add(&mut self, run: RunId, outcome: &Outcome) -> Result<(), JobError> {
        let line = RunLine { cell: run.cell, replication: run.replication, outcome };
        let (start, length) = self.append(&line, self.key)?;
        // Its number is asked for in what was there when it was opened.
        self.lines.insert(run, (start, length, 0));
        let own = JobCounts::of(outcome);
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

    /// Removes the journal of a job that is complete, and the folder in which it was.
    pub(super) fn remove(self) -> Result<(), JobError> {
        let building = self.path.parent().expect("it is in a folder");
        let removed =
            step().and_then(|()| fs::remove_file(&self.path)).and_then(|()| fs::remove_dir_all(building));
        removed.map_err(|source| self.error(source))
    }

    /// Adds a line; tells where it begins and how long it is.
    fn append(&mut self, line: &impl Serialize, key: u64) -> Result<(u64, usize), JobError> {
        let length = append_line(&mut self.file, line, key).map_err(|source| self.error(source))?;
        self.is_synced = false;
        let place = (self.length, length);
        self.length += length as u64;
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

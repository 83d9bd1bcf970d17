//! Joins the shards of an experiment into the results folder of a job that was not divided.
//!
//! The journals of the shards say where the outcome of each run stands. They are read one by one, in the order of runs, so
//! that one of them is in memory at a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::agenda::Agenda;
use super::error::JobError;
use super::journal::{Header, JobCounts, Journal, Part};
use super::manifest::{EndedJob, Manifest};
use super::runner::RunId;
use super::shard::Shard;
use super::watcher::Watcher;
use super::work::{CompleteJob, Filling};
use crate::experiment::{Experiment, Overrides};
use crate::results::JOURNAL;
use crate::results::description::EXPERIMENT;
use crate::results::disk::is_file;

/// Joins the shards in `folders`, in any order, into the results folder `out`: what a job that was not divided would have
/// written. A merge that was stopped may be done again; nothing else is overwritten.
///
/// # Errors
/// If they are not all shards of one experiment, some run is missing, `out` holds something, or a file can't be read or
/// written.
pub fn merge(folders: &[PathBuf], out: &Path, watcher: &mut dyn Watcher) -> Result<CompleteJob, JobError> {
    let mut parts = open(folders)?;
    let files = parts.iter().map(|part| part.folder.join(EXPERIMENT));
    let Some(file) = files.into_iter().find(|file| is_file(file)) else {
        let problem = |Opened { folder, shard, .. }: &Opened| {
            format!("shard {shard} in {} is not finished; run it again with --resume", folder.display())
        };
        return Err(JobError::Unfit(parts.iter().map(problem).collect()));
    };
    let experiment = Experiment::read(&file, &Overrides::default())?;
    let experiment = Arc::new(settled(&parts, experiment)?);
    if parts[0].header != Header::new(&experiment, parts[0].header.part) {
        let problem = format!("{} or a data file has changed since its shard was run", file.display());
        return Err(JobError::Unfit(vec![problem]));
    }
    let agendas = agendas(&mut parts, &experiment)?;
    let journal = claim(&experiment, out)?;
    let mut filling = Filling::begin(&experiment, out)?;
    for (run, part) in owners(&agendas) {
        let outcome = parts[part].journal.outcome(run)?;
        filling.add_outcome(run, &outcome.expect("every run was checked to be there"))?;
    }
    filling.finish(journal, &ended(&parts, &Agenda::joined(&agendas)), watcher)
}

/// A folder with a shard.
#[derive(Debug)]
struct Opened {
    folder: PathBuf,
    header: Header,
    shard: Shard,
    journal: Journal,
}

/// Opens the shards in `folders`, in order of number: all those of one experiment, seed, version and division, each once.
fn open(folders: &[PathBuf]) -> Result<Vec<Opened>, JobError> {
    let mut problems = Vec::new();
    let mut parts: Vec<Opened> = Vec::new();
    for folder in folders {
        let place = folder.display();
        let opened = Journal::read_only(folder)?;
        match opened.map(|(journal, header)| (header.part, header, journal)) {
            Some((Part::Shard(shard), header, journal)) => {
                parts.push(Opened { folder: folder.clone(), header, shard, journal });
            }
            Some(_) => problems.push(format!("{place} holds a whole job, no shard")),
            None => problems.push(format!(
                "{place} holds no shard, or none of which this version can read what it is; run it again with --resume"
            )),
        }
    }
    if folders.is_empty() {
        problems.push("no shard is named".to_owned());
    }
    if let Some((first, others)) = parts.split_first() {
        problems.extend(foreign(first));
        problems.extend(others.iter().filter_map(|other| differs(first, other)));
        // Which are missing can be told only of shards that belong together.
        if problems.is_empty() {
            parts.sort_by_key(|part| part.shard);
            problems.extend(gaps(&parts));
        }
    }
    if problems.is_empty() { Ok(parts) } else { Err(JobError::Unfit(problems)) }
}

/// `experiment` with the warm-up that pilots found, if it asks for one. Of one version, all shards found the same.
fn settled(parts: &[Opened], experiment: Experiment) -> Result<Experiment, JobError> {
    if !experiment.finds_warmup() {
        return Ok(experiment);
    }
    let mut found = parts.iter().filter_map(|part| Some((part.folder.display(), part.journal.warmup?)));
    let Some((first, warmup)) = found.next() else {
        let problem = "no shard has found the warm-up yet; run them again with --resume";
        return Err(JobError::Unfit(vec![problem.to_owned()]));
    };
    let Some((other, differing)) = found.find(|(_, other)| *other != warmup) else {
        return Ok(experiment.with_warmup(warmup.length));
    };
    let (length, differing) = (warmup.length, differing.length);
    let problem =
        format!("the pilots of {other} found a warm-up of {differing}, but those of {first} one of {length}");
    Err(JobError::Unfit(vec![problem]))
}

/// The runs of each shard of `experiment`, all of which must be finished.
fn agendas(parts: &mut [Opened], experiment: &Experiment) -> Result<Vec<Agenda>, JobError> {
    let (mut problems, mut agendas) = (Vec::new(), Vec::new());
    for Opened { folder, shard, journal, .. } in parts {
        journal.check(experiment)?;
        let mut agenda = Agenda::new(experiment, Some(*shard));
        agenda.catch_up(experiment, |run| journal.outcome(run))?;
        let runs = agenda.runs();
        let finished = runs.iter().filter(|run| journal.has(**run)).count();
        if finished < runs.len() {
            problems.push(format!(
                "shard {shard} in {} has finished {finished} of {} runs{}; run it again with --resume",
                folder.display(),
                runs.len(),
                if journal.damaged.is_empty() { "" } else { ", for its journal is damaged" }
            ));
        }
        agendas.push(agenda);
    }
    if problems.is_empty() { Ok(agendas) } else { Err(JobError::Unfit(problems)) }
}

/// The job of all of them, with the runs of `agenda`: as long as the longest shard took, on the threads of all.
fn ended<'a>(parts: &[Opened], agenda: &'a Agenda) -> EndedJob<'a> {
    let mut total = JobCounts::default();
    parts.iter().for_each(|part| total += part.journal.counts);
    let manifests: Vec<Manifest> = parts.iter().filter_map(|part| Manifest::read(&part.folder)).collect();
    let seconds = manifests.iter().map(|manifest| manifest.wall_time_s).fold(0.0, f64::max);
    let wall_time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let jobs = manifests.iter().map(|manifest| manifest.jobs).sum();
    let warmup = parts.iter().find_map(|part| part.journal.warmup);
    let finished_runs = parts.iter().map(|part| part.journal.runs()).sum();
    EndedJob {
        shard: None,
        search: None,
        agenda,
        warmup,
        jobs,
        wall_time,
        finished_runs,
        total,
        fresh: total,
    }
}

/// Every run in order, and which of `agendas` has it.
fn owners(agendas: &[Agenda]) -> BTreeMap<RunId, usize> {
    let agendas = agendas.iter().enumerate();
    agendas.flat_map(|(part, agenda)| agenda.runs().iter().map(move |run| (*run, part))).collect()
}

/// What is wrong with a shard by itself.
fn foreign(part: &Opened) -> Option<String> {
    let (found, own) = (&part.header.zonesim, env!("CARGO_PKG_VERSION"));
    (found != own).then(|| format!("{} is of zonesim {found}; this is {own}", part.folder.display()))
}

/// In what `other` is no shard of the same job as `first`.
fn differs(first: &Opened, other: &Opened) -> Option<String> {
    let (a, b) = (&first.header, &other.header);
    let (first_folder, folder) = (first.folder.display(), other.folder.display());
    if a.zonesim != b.zonesim {
        return Some(format!("{folder} is of zonesim {}, but {first_folder} of {}", b.zonesim, a.zonesim));
    }
    if a.seed != b.seed {
        return Some(format!("{folder} has seed {}, but {first_folder} has {}", b.seed, a.seed));
    }
    if a.experiment != b.experiment {
        return Some(format!("{folder} is of another experiment, or of other data, than {first_folder}"));
    }
    let [count, others] = [first, other].map(|part| part.shard.count());
    (count != others)
        .then(|| format!("{folder} is one of {others} shards, but {first_folder} one of {count}"))
}

/// Which shards are there twice, and which are missing, of `parts` in order.
fn gaps(parts: &[Opened]) -> Vec<String> {
    const NAMED_MAX: usize = 20;
    let twice = parts.windows(2).filter(|pair| pair[0].shard == pair[1].shard).map(|pair| {
        let (a, b) = (pair[0].folder.display(), pair[1].folder.display());
        format!("shard {} is there twice: {a} and {b}", pair[0].shard)
    });
    let mut problems: Vec<String> = twice.collect();
    let count = parts[0].shard.count();
    let is_there = |number: &u32| parts.binary_search_by_key(number, |part| part.shard.number()).is_ok();
    let missing: Vec<String> =
        (1..=count).filter(|number| !is_there(number)).map(|number| format!("{number}/{count}")).collect();
    if !missing.is_empty() {
        let more = missing.len().saturating_sub(NAMED_MAX);
        let named = missing[..missing.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        problems.push(format!("missing: shard {named}{more}"));
    }
    problems
}

/// Makes `out`, which must be empty or hold a merge of `experiment` that was stopped, and locks it.
fn claim(experiment: &Experiment, out: &Path) -> Result<Journal, JobError> {
    let failed = JobError::file("create", out);
    fs::create_dir_all(out).map_err(&failed)?;
    let entries = fs::read_dir(out).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    // One that was stopped before it had said what it is has left its subfolder alone.
    let is_begun = entries.iter().any(|entry| entry.file_name() != JOURNAL) || Journal::has_begun(out)?;
    let header = Header::new(experiment, Part::Merged);
    if is_begun && Journal::read_only(out)?.is_none_or(|(_, found)| found != header) {
        return Err(JobError::Taken(out.to_owned()));
    }
    Journal::create(out, experiment, Part::Merged)
}

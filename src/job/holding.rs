//! What a results folder holds, and whose it is: a job replaces what zonesim wrote of the very same experiment, and
//! touches nothing else.
//!
//! The manifest lists the files. What a job writes stands in a subfolder with its journal until it is whole; then it takes
//! its place, the manifest last. A job that ends in between is resumed: the manifest in the subfolder lists its files too.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::error::JobError;
use super::journal::{Journal, Part, experiment_hash};
use super::manifest::{self, Manifest};
use super::shard::Shard;
use crate::experiment::{Experiment, Overrides};
use crate::results::description::EXPERIMENT;
use crate::results::disk::{is_draft, is_file, is_folder, make_folder, rename, sync_folder};
use crate::results::{CHARTS, JOURNAL, building, is_unfinished};

/// What a job is of: finished results of the same may be replaced, for they would be the same again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    experiment: String,
    shard: Option<Shard>,
    search: Option<String>,
}

impl Identity {
    pub(super) fn new(experiment: &Experiment, part: Part) -> Self {
        let experiment = experiment_hash(experiment);
        let search = match part {
            Part::Search(question) => Some(format!("{experiment}-{question:016x}")),
            Part::Whole | Part::Shard(_) | Part::Merged => None,
        };
        let shard = match part {
            Part::Shard(shard) => Some(shard),
            Part::Whole | Part::Merged | Part::Search(_) => None,
        };
        Self { experiment, shard, search }
    }

    /// What the manifest of a search says that it was, beside the experiment that came of it.
    pub(super) fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }

    /// Whether `manifest` is of the same part of some experiment.
    fn is_part_of(&self, manifest: &Manifest) -> bool {
        (&manifest.search, manifest.shard, &self.search) == (&None, self.shard, &None)
    }

    /// Whether `manifest` is of this.
    pub(super) fn is_of(&self, manifest: &Manifest) -> bool {
        match &self.search {
            Some(_) => manifest.search == self.search,
            None => manifest.experiment_hash == self.experiment && manifest.shard == self.shard,
        }
    }
}

/// Whether the experiment in `home` is `experiment` in other words.
fn has_run(home: &Path, experiment: &Experiment) -> bool {
    let file = home.join(EXPERIMENT);
    let found = is_file(&file).then(|| Experiment::read(&file, &Overrides::default()));
    found.and_then(Result::ok).is_some_and(|found| found.is_effectively(experiment))
}

/// Checks that no unfinished work is in `home`.
pub(super) fn check_idle(home: &Path) -> Result<(), JobError> {
    if is_unfinished(home) && Journal::has_begun(home)? {
        return Err(JobError::HoldsUnfinished(home.to_owned()));
    }
    Ok(())
}

/// Checks that `home` is missing, is empty, or holds nothing but results of this `part` of `experiment`, finished or without a
/// journal.
pub(super) fn check_contents(home: &Path, experiment: &Experiment, part: Part) -> Result<(), JobError> {
    if !home.exists() {
        return Ok(());
    }
    let occupied = |holds: String| Err(JobError::Occupied { folder: home.to_owned(), holds });
    let identity = Identity::new(experiment, part);
    let is_of =
        |found: &Manifest| identity.is_of(found) || identity.is_part_of(found) && has_run(home, experiment);
    if let Some(found) = Manifest::read(home).filter(|found| !is_of(found)) {
        let shard = found.shard.map(|shard| format!(", shard {shard}")).unwrap_or_default();
        return occupied(format!(
            "results of another experiment, or of another seed or part of it (\"{}\", seed {}{shard})",
            found.experiment, found.seed
        ));
    }
    match foreign(home)? {
        Some(name) => occupied(format!("\"{name}\", which no job of zonesim has left there")),
        None => Ok(()),
    }
}

/// The first name in `home` that is none of a job's files; where a folder should stand, links are none.
fn foreign(home: &Path) -> Result<Option<String>, JobError> {
    let owned = owned(home);
    let is_own = |name: &str, path: &Path| is_file(path) && (owned.contains(name) || is_draft(name));
    for (name, path) in names(home)? {
        match &*name {
            JOURNAL if is_folder(&path) => {}
            CHARTS if is_folder(&path) => {
                let charts =
                    names(&path)?.into_iter().map(|(chart, path)| (format!("{CHARTS}/{chart}"), path));
                if let Some((chart, _)) = charts.into_iter().find(|(chart, path)| !is_own(chart, path)) {
                    return Ok(Some(chart));
                }
            }
            _ if is_own(&name, &path) => {}
            _ => return Ok(Some(name)),
        }
    }
    Ok(None)
}

/// The files of `home` that jobs wrote: those that its manifest lists, or that of a job which was stopped while its files took their place.
fn owned(home: &Path) -> BTreeSet<String> {
    let manifests =
        [home.to_owned(), building(home)].into_iter().filter_map(|folder| Manifest::read(&folder));
    manifests.flat_map(|manifest| manifest.files).filter(|name| is_plain(name)).collect()
}

/// Whether `name` is that of a file in a results folder, and leads nowhere else.
fn is_plain(name: &str) -> bool {
    let name = name.strip_prefix(CHARTS).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// What is in `folder`, by name.
fn names(folder: &Path) -> Result<Vec<(String, PathBuf)>, JobError> {
    let failed = JobError::file("look into", folder);
    let entries =
        fs::read_dir(folder).map_err(&failed)?.collect::<io::Result<Vec<DirEntry>>>().map_err(&failed)?;
    let named = entries.iter().map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let mut names: Vec<(String, PathBuf)> = named.collect();
    names.sort();
    Ok(names)
}

/// Empties the subfolder of `home` of what an earlier attempt has built; what must be known of that stays.
pub(super) fn clear(home: &Path) -> Result<(), JobError> {
    for (name, path) in names(&building(home))? {
        let removed = match &*name {
            CHARTS if is_folder(&path) => fs::remove_dir_all(&path),
            name if Journal::is_its(name) || name == manifest::NAME => Ok(()),
            _ => fs::remove_file(&path),
        };
        removed.map_err(JobError::file("remove", &path))?;
    }
    Ok(())
}

/// What a job has built in the subfolder of `home`: names of files, the manifest's among them.
pub(super) fn built(home: &Path) -> Result<Vec<String>, JobError> {
    let folder = building(home);
    let mut files: BTreeSet<String> = [manifest::NAME.to_owned()].into();
    for (name, path) in names(&folder)? {
        if name == CHARTS && is_folder(&path) {
            files.extend(names(&path)?.into_iter().map(|(chart, _)| format!("{CHARTS}/{chart}")));
        } else if !Journal::is_its(&name) {
            files.insert(name);
        }
    }
    Ok(files.into_iter().collect())
}

/// Gives the files that a job has built, which its manifest lists, their place in `home`, and removes those that the manifest
/// there lists and that are no more.
pub(super) fn publish(home: &Path, files: &[String]) -> Result<(), JobError> {
    let (folder, old) = (building(home), owned(home));
    let before = Manifest::read(home).map(|manifest| manifest.files).unwrap_or_default();
    for name in files {
        let place = home.join(name);
        if fs::symlink_metadata(&place).is_ok_and(|found| !found.is_file() || !old.contains(name)) {
            let holds = format!("\"{name}\", which no job of zonesim has left there");
            return Err(JobError::Occupied { folder: home.to_owned(), holds });
        }
    }
    let charts = home.join(CHARTS);
    if files.iter().any(|name| name.starts_with(CHARTS)) {
        make_folder(&charts).map_err(JobError::file("create", &charts))?;
    }
    let put = |name: &String| {
        rename(&folder.join(name), &home.join(name)).map_err(JobError::file("write", &home.join(name)))
    };
    files.iter().filter(|name| *name != manifest::NAME).try_for_each(put)?;
    for name in before.iter().filter(|name| is_plain(name) && !files.contains(name)) {
        let path = home.join(name);
        // A chart behind a link is not one of this folder.
        let is_here = path.parent().is_some_and(|parent| parent == home || is_folder(parent));
        if is_here && is_file(&path) {
            fs::remove_file(&path).map_err(JobError::file("remove", &path))?;
        }
    }
    put(&manifest::NAME.to_owned())?;
    // It goes if it is empty.
    let _ = is_folder(&charts).then(|| fs::remove_dir(&charts));
    sync_folder(home).map_err(JobError::file("write", home))
}

/// Gives the folder `home` the first free of its numbered names, if it holds anything; tells which.
pub(super) fn set_aside(home: &Path) -> Result<Option<PathBuf>, JobError> {
    let Ok(found) = fs::symlink_metadata(home) else { return Ok(None) };
    if found.is_dir() && names(home)?.is_empty() {
        return Ok(None);
    }
    // Not from under another process.
    if is_unfinished(home) {
        Journal::has_begun(home)?;
    }
    let failed = JobError::file("move aside", home);
    let Some(name) = home.file_name() else {
        return Err(failed(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it has no name; name it from its parent",
        )));
    };
    let numbered = (1_u32..).map(|number| {
        let mut numbered = name.to_owned();
        numbered.push(format!(".{number}"));
        home.with_file_name(numbered)
    });
    let free =
        numbered.into_iter().find(|path| fs::symlink_metadata(path).is_err()).expect("some number is free");
    rename(home, &free).map_err(failed)?;
    Ok(Some(free))
}

//! The data files that an experiment names, each of them read and checked once.
//!
//! Their paths are relative to the folder of the experiment file, or to its `data_folder`, which is relative to that. A
//! results folder names the data folder so, and its experiment still finds its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use toml_edit::{Item, TableLike};

use super::path::KeyPath;
use super::problem::{Problem, refuse};
use super::trace::{self, open};
use crate::random::hash_bytes;
use crate::workload::TraceSource;

/// The largest file that is held in memory as a whole: a million rows of 64 bytes.
const TEXT_MAX: u64 = 64_000_000;

#[derive(Debug, Default)]
pub(super) struct DataFiles {
    /// What paths are relative to; an experiment that stands in no file has no folder.
    folder: Option<PathBuf>,
    texts: Found<Arc<str>>,
    traces: Found<TraceSource>,
}

/// What files hold, or what is wrong with them.
type Found<T> = Mutex<BTreeMap<PathBuf, Result<T, String>>>;

impl DataFiles {
    pub(super) fn new(folder: Option<&Path>, data_folder: Option<&str>) -> Self {
        let data_folder = Path::new(data_folder.unwrap_or_default());
        let folder = match folder {
            Some(folder) => Some(folder.join(data_folder)),
            None => data_folder.is_absolute().then(|| data_folder.to_owned()),
        };
        Self { folder, ..Self::default() }
    }

    pub(super) fn text(&self, file: &str, place: &KeyPath) -> Result<(String, Arc<str>), Problem> {
        let path = self.locate(file, place)?;
        Ok((path.display().to_string(), found(&self.texts, &path, read_text, place)?))
    }

    pub(super) fn trace(&self, file: &str, place: &KeyPath) -> Result<TraceSource, Problem> {
        let path = self.locate(file, place)?;
        found(&self.traces, &path, trace::read, place)
    }

    fn locate(&self, file: &str, place: &KeyPath) -> Result<PathBuf, Problem> {
        match &self.folder {
            Some(folder) => Ok(folder.join(file)),
            None if Path::new(file).is_absolute() => Ok(file.into()),
            None => {
                let what =
                    "names a file, but the experiment stands in no folder that this could be relative to";
                let help = "write the experiment into a file, or name a file by its absolute path";
                refuse(place.clone(), what, help)
            }
        }
    }

    /// A number that depends on everything in the files; 0 if there are none.
    pub(super) fn fingerprint(&self) -> u64 {
        let texts = held(&self.texts, |text| hash_bytes(1, text.as_bytes()));
        let traces = held(&self.traces, |trace| trace.fingerprint);
        let mut contents = [texts, traces].concat();
        // Not in the order of paths, which differs from folder to folder.
        contents.sort_unstable();
        contents.iter().fold(0, |hash, content| hash_bytes(hash, &content.to_le_bytes()))
    }

    /// What `data_folder` has to be in an experiment file in `folder`; absent if there are no files, or no such path can
    /// be written.
    pub(super) fn folder_from(&self, folder: &Path) -> Option<String> {
        let no_files = held(&self.texts, |_| ()).is_empty() && held(&self.traces, |_| ()).is_empty();
        let own = self.folder.as_ref().filter(|_| !no_files)?;
        // An empty path is the working directory.
        let own = Path::new(".").join(own).canonicalize().ok()?;
        let path = relative(&folder.canonicalize().ok()?, &own);
        path.to_str().map(|path| path.replace(std::path::MAIN_SEPARATOR, "/"))
    }
}

/// What `files` hold at `path`, for the key at `place`; read with `read` if nobody asked before.
fn found<T: Clone>(
    files: &Found<T>,
    path: &Path,
    read: impl FnOnce(&Path) -> Result<T, String>,
    place: &KeyPath,
) -> Result<T, Problem> {
    let mut files = files.lock().expect("reading files does not panic");
    let read = files.entry(path.to_owned()).or_insert_with(|| read(path));
    read.clone().map_err(|error| Problem::because(place.clone(), &error))
}

fn held<T, U>(files: &Found<T>, view: impl Fn(&T) -> U) -> Vec<U> {
    let files = files.lock().expect("reading files does not panic");
    files.values().flatten().map(view).collect()
}

/// The text of the file or pipe `path`, which may have no end.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(TEXT_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > TEXT_MAX {
        return Err(std::io::Error::other(format!("it is longer than {TEXT_MAX} bytes")));
    }
    Ok(text)
}

fn read_text(path: &Path) -> Result<Arc<str>, String> {
    let (file, _) = open(path)?;
    let mut text = String::new();
    let length = file
        .take(TEXT_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("{} can't be read: {error}; name a file of text", path.display()))?;
    if length as u64 > TEXT_MAX {
        return Err(format!("{} is larger than {TEXT_MAX} bytes; leave some rows out", path.display()));
    }
    Ok(text.into())
}

/// The way from the folder `from` to the folder `to`; both are absolute and without detours.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let same = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    if same == 0 {
        return to.to_owned();
    }
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(same)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

/// Puts the text of its file into every empirical distribution below `table`, at `path`, that names one.
pub(super) fn inline_files(
    table: &mut dyn TableLike,
    path: &KeyPath,
    files: &DataFiles,
) -> Result<(), Problem> {
    for (key, item) in table.iter_mut() {
        let path = path.key(key.get());
        if let Some(table) = item.as_table_like_mut() {
            let inline = if key.get() == "empirical" { inline_file } else { inline_files };
            inline(table, &path, files)?;
        }
        let tables = item.as_array_of_tables_mut().into_iter().flat_map(|tables| tables.iter_mut());
        for (index, table) in tables.enumerate() {
            inline_files(table, &path.member(index), files)?;
        }
        let members = item.as_array_mut().into_iter().flat_map(|list| list.iter_mut());
        for (index, member) in members.enumerate() {
            let table = member.as_inline_table_mut();
            table.map_or(Ok(()), |table| inline_files(table, &path.member(index), files))?;
        }
    }
    Ok(())
}

fn inline_file(empirical: &mut dyn TableLike, path: &KeyPath, files: &DataFiles) -> Result<(), Problem> {
    let Some(file) = empirical.get("file").and_then(Item::as_str) else {
        return Ok(());
    };
    if empirical.contains_key("points") {
        let what = "stands beside `file`";
        return Err(Problem::that(path.key("points"), what, "keep one of the two").of_key());
    }
    let (shown, text) = files.text(file, &path.key("file"))?;
    // Errors in the text are told by the path that leads there from here.
    empirical.insert("file", toml_edit::value(shown));
    empirical.insert("points", toml_edit::value(&*text));
    Ok(())
}

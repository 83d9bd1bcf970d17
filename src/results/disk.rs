//! Files that are there whole or not at all: written under another name, brought to the disk, then renamed.
//!
//! Nothing here follows a link: a name that is one is replaced itself, and what it points to stays as it is. Nothing waits
//! for a pipe or reads a device: what is read is a regular file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::error::WriteError;

/// What the name of a file ends with while it is written. What a crash has left of one may be removed.
const DRAFT: &str = ".zonesim-draft";

/// A file that is being written. Until it is finished there is nothing under its name.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    draft: PathBuf,
    file: File,
}

impl NewFile {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(DRAFT);
        let draft = path.with_file_name(name);
        let created = step().and_then(|()| match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => OpenOptions::new().write(true).create_new(true).open(&draft),
        });
        match created {
            Ok(file) => Ok(Self { path: path.to_owned(), draft, file }),
            Err(source) => Err(WriteError { path: path.to_owned(), source }),
        }
    }

    /// Brings it to the disk, and gives it its name.
    pub(crate) fn finish(&mut self) -> Result<(), WriteError> {
        let synced = step().and_then(|()| self.file.sync_all());
        let renamed = synced.and_then(|()| rename(&self.draft, &self.path));
        renamed.map_err(|source| self.error(source))
    }

    pub(crate) fn error(&self, source: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    /// What was not finished is of no use. Once it is finished, there is nothing under the name of the draft.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.draft);
    }
}

/// Writes the file `path`; it is on the disk then.
///
/// # Errors
/// If it can't be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes).map_err(|source| file.error(source))?;
    file.finish()?;
    sync_folder(path.parent().unwrap_or(path)).map_err(|source| file.error(source))
}

/// Gives a file or folder another name in the same file system, in the place of a file that has it.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to)
}

/// Appends `bytes` to `file`.
pub(crate) fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    step()?;
    file.write_all(bytes)
}

/// Makes the folder `path` in a folder that is there; it may be there already, and is no link then.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    step()?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_folder(path) => Ok(()),
        made => made,
    }
}

/// Brings to the disk which names are in the folder `path`.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    step()?;
    // An empty path is the working directory. Where folders can't be opened, names need no sync.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Whether `path` is a folder, and no link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Whether `path` is a regular file, and no link to one.
pub(crate) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether the file called `name` is one that was being written when its writer ended.
pub(crate) fn is_draft(name: &str) -> bool {
    name.ends_with(DRAFT)
}

/// Opens the regular file `path` to read: a link, pipe or device is none, for it may have no end.
///
/// # Errors
/// If it is none, or can't be opened.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        let kind = if found.is_symlink() {
            "a link"
        } else if found.is_dir() {
            "a folder"
        } else {
            "a pipe, socket or device"
        };
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}, and no file")));
    }
    File::open(path)
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
pub(crate) fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use failing::step;

/// Disks that fail, for tests of what is left then.
#[cfg(test)]
pub(crate) mod failing {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        /// How many steps the disk of this thread takes before one fails, and all after it.
        static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// Lets `act` write to a disk that fails after so many steps; gives how many it took.
    pub(crate) fn after<T>(steps: u64, act: impl FnOnce() -> T) -> (T, u64) {
        LEFT.set(steps);
        let done = act();
        let left = LEFT.replace(u64::MAX);
        (done, steps - left)
    }

    pub(crate) fn step() -> io::Result<()> {
        match LEFT.get() {
            0 => Err(io::Error::new(io::ErrorKind::StorageFull, "no space left, for this test")),
            left => {
                LEFT.set(left - 1);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, b"old").unwrap();
        let (_, steps) = failing::after(u64::MAX, || write_whole(&path, b"old").unwrap());
        for failing in 0..steps {
            let (written, _) = failing::after(failing, || write_whole(&path, b"new"));
            assert!(written.is_err(), "step {failing}");
            let text = fs::read_to_string(&path).unwrap();
            // Only the sync of the folder comes after the rename.
            assert_eq!(text, if failing + 1 == steps { "new" } else { "old" });
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, draft] =
            ["target", "link", "link.zonesim-draft"].map(|name| folder.path().join(name));
        fs::write(&target, "of somebody else").unwrap();
        for name in [&link, &draft] {
            std::os::unix::fs::symlink(&target, name).unwrap();
        }
        assert!(open_regular(&link).unwrap_err().to_string().contains("a link"));
        write_whole(&link, b"own").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "of somebody else");
        assert_eq!(fs::read_to_string(&link).unwrap(), "own");
        assert!(open_regular(&link).is_ok());
        assert!(open_regular(folder.path()).unwrap_err().to_string().contains("a folder"));
        assert!(open_regular(Path::new("/dev/zero")).unwrap_err().to_string().contains("device"));
    }
}

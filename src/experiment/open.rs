//! How a data file is opened, and what is said of one that is not there.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use super::problem::nearest;

/// The file at `path`, which can be read again and again.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let unreadable = |error: std::io::Error| {
        let remedy = match neighbour(path).filter(|_| error.kind() == ErrorKind::NotFound) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "name a file that is there".to_owned(),
        };
        format!("{} can't be read: {error}; {remedy}", path.display())
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(format!("{} is no file; name one that can be read again and again", path.display()));
    }
    let file = File::open(path).map_err(unreadable)?;
    Ok((file, metadata))
}

/// The name in the folder of `path` that is most like its own.
fn neighbour(path: &Path) -> Option<String> {
    // An empty path is the working directory.
    let folder = std::fs::read_dir(Path::new(".").join(path.parent()?)).ok()?;
    let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str)).map(str::to_owned)
}

//! A CSV file as rows whose fields are asked for by name.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use super::disk::open_regular;
use super::error::ResultsError;
use crate::metrics::tables::{CsvRow, FileRow, RULE, column};
use crate::random::hash_bytes;
use crate::unfit::Unfit;

/// The longest row, in bytes. What is longer is no row of results, or has a quote that is not closed.
const ROW_MAX: usize = 1 << 20;

/// A CSV file whose records are still to be read.
pub struct CsvTable {
    path: PathBuf,
    header: Vec<String>,
    reader: csv::Reader<RowBytes>,
}

/// The bytes of a file as it was when it was opened, which end where a row would be too long.
struct RowBytes {
    file: Take<File>,
    /// How many were read since the last row.
    since: Cell<usize>,
}

impl Read for RowBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > ROW_MAX {
            let why = format!("the row is longer than {ROW_MAX} bytes; is a quote not closed?");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        let length = self.file.read(buffer)?;
        self.since.set(self.since.get() + length);
        Ok(length)
    }
}

/// Reads every row of the file of `R` in the folder `dir`, which `check` may refuse.
pub fn rows<R: FileRow>(
    dir: &Path,
    mut check: impl FnMut(&CsvRow<'_>) -> Result<(), Unfit>,
) -> Result<Vec<R>, ResultsError> {
    let mut seen = BTreeSet::new();
    CsvTable::open(&dir.join(R::FILE.name))?.read(|row| {
        check(row)?;
        if !R::KEY.is_empty() && !seen.insert(key(row, R::KEY)?) {
            return Err(row.odd("the row is there twice; remove one of the two"));
        }
        R::read(row)
    })
}

/// The same, of a file that may be left out of a folder to save space: then it has no rows, and its charts are not drawn.
pub fn rows_if_there<R: FileRow>(
    dir: &Path,
    check: impl FnMut(&CsvRow<'_>) -> Result<(), Unfit>,
) -> Result<Vec<R>, ResultsError> {
    match std::fs::symlink_metadata(dir.join(R::FILE.name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        _ => rows(dir, check),
    }
}

/// A number that tells a row from the others of its file: of its cell, its run if it is of one, and the columns `names`.
fn key(row: &CsvRow<'_>, names: &[&str]) -> Result<u64, Unfit> {
    let of_run = row.header.iter().any(|name| name == "replication").then_some("replication");
    let names = names.iter().copied().filter(|name| *name != RULE || row.header.iter().any(|it| it == RULE));
    let fields = ["cell"].iter().copied().chain(of_run).chain(names);
    fields.map(|name| row.text(name)).try_fold(0, |hash, field| Ok(hash_bytes(hash, field?.as_bytes())))
}

impl CsvTable {
    /// Opens the file `path` and reads its header.
    pub fn open(path: &Path) -> Result<Self, ResultsError> {
        let open = |source| ResultsError::Open { path: path.to_owned(), source };
        let mut file = open_regular(path).map_err(open)?;
        let length = file.metadata().map_err(open)?.len();
        if !ends_a_line(&mut file).map_err(open)? {
            let line = BufReader::new(&file).split(b'\n').count();
            let path = path.display();
            return Err(Unfit(format!(
                "{path}: half-written, line {line} has no end; run again with --resume"
            ))
            .into());
        }
        let bytes = RowBytes { file: file.take(length), since: Cell::new(0) };
        let mut reader = csv::Reader::from_reader(bytes);
        let header = reader.headers().map_err(|error| unreadable(path, &error))?;
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        if let Some(name) = header.iter().enumerate().find(|(at, name)| header[..*at].contains(name)) {
            return Err(
                Unfit(format!("{}, line 1: two columns are called `{}`", path.display(), name.1)).into()
            );
        }
        Ok(Self { path: path.to_owned(), header, reader })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Result<usize, Unfit> {
        column(&self.path, &self.header, name)
    }

    /// Makes something of every record, in file order. Only one record at a time is held: a timeline is long.
    pub fn read<T>(
        mut self,
        mut make: impl FnMut(&CsvRow<'_>) -> Result<T, Unfit>,
    ) -> Result<Vec<T>, ResultsError> {
        let mut record = csv::StringRecord::new();
        let mut made = Vec::new();
        loop {
            self.reader.get_ref().since.set(0);
            if !self.reader.read_record(&mut record).map_err(|error| unreadable(&self.path, &error))? {
                return Ok(made);
            }
            let line = record.position().map_or(0, csv::Position::line);
            made.push(make(&CsvRow { path: &self.path, line, header: &self.header, fields: &record })?);
        }
    }
}

/// Whether the last byte of `file` ends a line; goes back to the first.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    let is_empty = file.metadata()?.len() == 0;
    let ends = !is_empty && {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        last == *b"\n"
    };
    file.rewind()?;
    Ok(ends)
}

fn unreadable(path: &Path, error: &csv::Error) -> Unfit {
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} fields as in the header, found {len}")
        }
        csv::ErrorKind::Utf8 { err, .. } => err.to_string(),
        _ => error.to_string(),
    };
    let line = error.position().map_or(1, csv::Position::line);
    Unfit(format!("{}, line {line}: {problem}", path.display()))
}

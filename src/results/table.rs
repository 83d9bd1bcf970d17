//! A CSV file as rows whose fields are asked for by name.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use super::error::ResultsError;
use crate::metrics::tables::{CsvRow, FileRow, column};
use crate::unfit::Unfit;

/// A CSV file whose records are still to be read.
pub struct CsvTable {
    path: PathBuf,
    header: Vec<String>,
    reader: csv::Reader<Cursor<Vec<u8>>>,
}

/// Reads every row of the file of `R` in the folder `dir`.
pub fn rows<R: FileRow>(dir: &Path) -> Result<Vec<R>, ResultsError> {
    CsvTable::open(&dir.join(R::FILE.name))?.read(R::read)
}

/// The same, of a file that may be left out of a folder to save space: then it has no rows, and its charts are not drawn.
pub fn rows_if_there<R: FileRow>(dir: &Path) -> Result<Vec<R>, ResultsError> {
    if dir.join(R::FILE.name).exists() { rows(dir) } else { Ok(Vec::new()) }
}

impl CsvTable {
    /// Opens the file `path` and reads its header.
    pub fn open(path: &Path) -> Result<Self, ResultsError> {
        let open = |source| ResultsError::Open { path: path.to_owned(), source };
        let text = fs::read(path).map_err(open)?;
        if text.last() != Some(&b'\n') {
            let line = text.split(|byte| *byte == b'\n').count();
            let path = path.display();
            return Err(Unfit(format!(
                "{path}: half-written, line {line} has no end; run again with --resume"
            ))
            .into());
        }
        let mut reader = csv::Reader::from_reader(Cursor::new(text));
        let header = reader.headers().map_err(|error| unreadable(path, &error))?;
        let header = header.iter().map(str::to_owned).collect();
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
        while self.reader.read_record(&mut record).map_err(|error| unreadable(&self.path, &error))? {
            let line = record.position().map_or(0, csv::Position::line);
            made.push(make(&CsvRow { path: &self.path, line, header: &self.header, fields: &record })?);
        }
        Ok(made)
    }
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

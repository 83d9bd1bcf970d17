//! A CSV file as rows whose fields are asked for by name.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use super::error::ResultsError;
use crate::metrics::tables::{FileRow, ReadFields};

/// A CSV file whose records are still to be read.
pub struct CsvTable {
    path: PathBuf,
    header: Vec<String>,
    reader: csv::Reader<Cursor<Vec<u8>>>,
}

/// One record of a table.
pub struct CsvRow<'a> {
    path: &'a Path,
    header: &'a [String],
    record: &'a csv::StringRecord,
}

/// Reads every row of the file of `R` in the folder `dir`.
pub fn rows<R: FileRow>(dir: &Path) -> Result<Vec<R>, ResultsError> {
    CsvTable::open(&dir.join(R::FILE.name))?.read(|row| R::read(row))
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
            return Err(ResultsError::HalfWritten { path: path.to_owned(), line });
        }
        let mut reader = csv::Reader::from_reader(Cursor::new(text));
        let header = reader.headers().map_err(|error| record_error(path, &error))?;
        let header = header.iter().map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), header, reader })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Result<usize, ResultsError> {
        column(&self.path, &self.header, name)
    }

    /// Makes something of every record, in file order. Only one record at a time is held: a timeline is long.
    pub fn read<T>(
        mut self,
        mut make: impl FnMut(&CsvRow<'_>) -> Result<T, ResultsError>,
    ) -> Result<Vec<T>, ResultsError> {
        let mut record = csv::StringRecord::new();
        let mut made = Vec::new();
        while self.reader.read_record(&mut record).map_err(|error| record_error(&self.path, &error))? {
            made.push(make(&CsvRow { path: &self.path, header: &self.header, record: &record })?);
        }
        Ok(made)
    }
}

impl ReadFields for CsvRow<'_> {
    type Error = ResultsError;

    fn text(&self, name: &str) -> Result<&str, ResultsError> {
        Ok(&self.record[column(self.path, self.header, name)?])
    }

    fn index(&self, name: &str) -> Result<usize, ResultsError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.error(name, "a whole number", text))
    }

    fn number(&self, name: &str) -> Result<Option<f64>, ResultsError> {
        let text = self.text(name)?;
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| self.error(name, "a finite number or nothing", text))
    }
}

impl CsvRow<'_> {
    fn error(&self, column: &str, expected: &'static str, found: &str) -> ResultsError {
        ResultsError::Field {
            path: self.path.to_owned(),
            line: self.record.position().map_or(0, csv::Position::line),
            column: column.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }
}

fn column(path: &Path, header: &[String], name: &str) -> Result<usize, ResultsError> {
    header
        .iter()
        .position(|column| column == name)
        .ok_or_else(|| ResultsError::Column { path: path.to_owned(), column: name.to_owned() })
}

fn record_error(path: &Path, error: &csv::Error) -> ResultsError {
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} fields as in the header, found {len}")
        }
        csv::ErrorKind::Utf8 { err, .. } => err.to_string(),
        _ => error.to_string(),
    };
    ResultsError::Record {
        path: path.to_owned(),
        line: error.position().map_or(1, csv::Position::line),
        problem,
    }
}

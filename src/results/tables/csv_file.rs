//! One CSV file that is being written.

use std::fs::File;
use std::path::PathBuf;

use crate::metrics::tables::Field;
use crate::results::error::WriteError;
use crate::results::number::number;

#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    pub(super) fn create<'a>(
        path: PathBuf,
        header: impl Iterator<Item = &'a str>,
    ) -> Result<Self, WriteError> {
        let file = File::create(&path).map_err(|source| WriteError { path: path.clone(), source })?;
        let mut created = Self { path, writer: csv::Writer::from_writer(file) };
        created.write(header.map(|name| Field::Text(name.into())))?;
        Ok(created)
    }

    pub(super) fn write<'a>(&mut self, fields: impl Iterator<Item = Field<'a>>) -> Result<(), WriteError> {
        let texts = fields.map(|field| match field {
            Field::Text(text) => text.into_owned(),
            Field::Count(count) => count.to_string(),
            Field::Number(value) => value.map(number).unwrap_or_default(),
        });
        self.writer.write_record(texts).map_err(|error| self.error(error.into()))
    }

    /// Writes what is left; all of the file is on the disk then.
    pub(super) fn finish(&mut self) -> Result<(), WriteError> {
        let finished = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        finished.map_err(|source| self.error(source))
    }

    fn error(&self, source: std::io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }
}

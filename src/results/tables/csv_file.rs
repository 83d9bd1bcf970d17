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
    /// Creates the file and writes its header.
    pub(super) fn create<'a>(
        path: PathBuf,
        header: impl Iterator<Item = &'a str>,
    ) -> Result<Self, WriteError> {
        match File::create(&path) {
            Ok(file) => {
                let mut created = Self { path, writer: csv::Writer::from_writer(file) };
                created.write(header.map(Field::Text))?;
                Ok(created)
            }
            Err(source) => Err(WriteError { path, source }),
        }
    }

    pub(super) fn write<'a>(&mut self, fields: impl Iterator<Item = Field<'a>>) -> Result<(), WriteError> {
        for field in fields {
            let written = match field {
                Field::Text(text) => self.writer.write_field(text),
                Field::Owned(text) => self.writer.write_field(text),
                Field::Count(count) => self.writer.write_field(count.to_string()),
                Field::Number(value) => self.writer.write_field(value.map(number).unwrap_or_default()),
            };
            written.map_err(|error| self.error(error.into()))?;
        }
        let ended = self.writer.write_record(None::<&[u8]>);
        ended.map_err(|error| self.error(error.into()))
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

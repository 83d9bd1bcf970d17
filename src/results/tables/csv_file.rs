//! One CSV file that is being written.

use std::path::Path;

use crate::metrics::tables::Field;
use crate::results::disk::NewFile;
use crate::results::error::WriteError;
use crate::results::number::number;

#[derive(Debug)]
pub(super) struct CsvFile(csv::Writer<NewFile>);

impl CsvFile {
    pub(super) fn create<'a>(path: &Path, header: impl Iterator<Item = &'a str>) -> Result<Self, WriteError> {
        let mut created = Self(csv::Writer::from_writer(NewFile::create(path)?));
        created.write(header.map(|name| Field::Text(name.into())))?;
        Ok(created)
    }

    pub(super) fn write<'a>(&mut self, fields: impl Iterator<Item = Field<'a>>) -> Result<(), WriteError> {
        let texts = fields.map(|field| match field {
            Field::Text(text) => text.into_owned(),
            Field::Count(count) => count.to_string(),
            Field::Number(value) => value.map(number).unwrap_or_default(),
        });
        self.0.write_record(texts).map_err(|error| self.0.get_ref().error(error.into()))
    }

    /// Writes what is left; all of the file is on the disk then, under its name.
    pub(super) fn finish(self) -> Result<(), WriteError> {
        let mut file = self.0.into_inner().map_err(|error| {
            let source = std::io::Error::new(error.error().kind(), error.error().to_string());
            error.into_inner().get_ref().error(source)
        })?;
        file.finish()
    }
}

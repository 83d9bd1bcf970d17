//! `arrivals = { trace = { file = … } }`: connections from a CSV file.
//!
//! It is read line by line with a buffer of fixed size, so that it may be larger than memory: once as a whole, to check
//! it, and again in every run. A field in quotes may hold commas, and quotes as `""`, but no line break.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use schemars::JsonSchema;
use serde::Deserialize;

use super::problem::{choice, nearest};
use crate::random::{Bytes, hash_bytes};
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, TraceError, TraceRow, TraceRows, TraceSource};

pub(super) type WrittenArrivals = ArrivalSpec<TraceFile>;

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceFile {
    /// The path of a CSV file.
    #[schemars(example = &"data.csv")]
    pub file: String,
}

/// The columns of a trace. Those of `OPTIONAL` may be missing or empty.
const COLUMNS: [&str; 5] = ["t_s", "client_id", "request_bytes", "response_bytes", "duration_s"];
const REQUIRED: usize = 3;
const BUFFER: usize = 1 << 16;
/// What some programs begin a file of UTF-8 text with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const LINE_MAX: usize = 1 << 16;

pub(super) fn read(path: &Path) -> Result<TraceSource, String> {
    let (mut rows, version) = rows(path)?;
    let mut connections = 0;
    while rows.next_row()?.is_some() {
        connections += 1;
    }
    if connections == 0 {
        return Err(format!("{} holds no connection; write a row for each", rows.name));
    }
    let (name, fingerprint, last) = (rows.name, rows.reader.get_ref().fingerprint, rows.last);
    let path = path.to_owned();
    let rows = Arc::new(move || replay(&path, &version));
    Ok(TraceSource { name, fingerprint, connections, last, rows })
}

/// The rows of the trace at `path` once more. A run can't go on with another file than was checked.
fn replay(path: &Path, checked: &Version) -> TraceRows {
    let error = match rows(path) {
        Ok((mut rows, version)) if version == *checked => {
            return Box::new(std::iter::from_fn(move || rows.next_row().map_err(TraceError).transpose()));
        }
        Ok((rows, _)) => format!("{} is not the file that was checked", rows.name),
        Err(error) => error,
    };
    Box::new(std::iter::once(Err(TraceError(error))))
}

/// The file at `path`, which can be read again and again.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let unreadable = |error: io::Error| {
        let remedy = match neighbour(path).filter(|_| error.kind() == io::ErrorKind::NotFound) {
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

/// What tells that a file is the same as before: its length, and when it was changed.
type Version = (u64, Option<SystemTime>);

fn rows(path: &Path) -> Result<(Rows<impl BufRead + use<>>, Version), String> {
    let (file, metadata) = open(path)?;
    let rows = Rows::new(BufReader::with_capacity(BUFFER, file), path.display().to_string())?;
    Ok((rows, (metadata.len(), metadata.modified().ok())))
}

/// The lines of a trace that say something, each read by itself.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// How much of the line was handed on.
    taken: usize,
    number: u64,
    /// How many lines were asked for since the last row.
    asked: u32,
    fingerprint: u64,
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.line.len() {
            self.asked += 1;
            // No row goes on on the next line: this ends one whose quote is open.
            if self.asked == 1 {
                self.next_line()?;
            }
        }
        let length = (&self.line[self.taken..]).read(buffer)?;
        self.taken += length;
        Ok(length)
    }
}

impl<R: BufRead> Lines<R> {
    /// Takes the next line that says something; none at the end.
    fn next_line(&mut self) -> io::Result<()> {
        loop {
            self.line.clear();
            self.taken = 0;
            let length = (&mut self.reader).take(LINE_MAX as u64).read_until(b'\n', &mut self.line)?;
            if length == 0 {
                return Ok(());
            }
            self.number += 1;
            if length == LINE_MAX {
                let what = format!("the line has {LINE_MAX} bytes or more; break it up");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            self.fingerprint = hash_bytes(self.fingerprint, &self.line);
            if !self.line.ends_with(b"\n") {
                self.line.push(b'\n');
            }
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.taken = BYTE_ORDER_MARK.len();
            }
            let text = self.line[self.taken..].trim_ascii();
            if !text.is_empty() && !text.starts_with(b"#") {
                return Ok(());
            }
        }
    }
}

struct Rows<R> {
    reader: csv::Reader<Lines<R>>,
    name: String,
    record: StringRecord,
    /// Which of its columns is each of [`COLUMNS`].
    columns: [Option<usize>; COLUMNS.len()],
    last: SimTime,
}

impl<R: BufRead> Rows<R> {
    fn new(reader: R, name: String) -> Result<Self, String> {
        let lines = Lines { reader, line: Vec::new(), taken: 0, number: 0, asked: 0, fingerprint: 0 };
        let mut rows = Self {
            reader: ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(lines),
            name,
            record: StringRecord::new(),
            columns: [None; COLUMNS.len()],
            last: SimTime::ZERO,
        };
        if !rows.next_record()? {
            let names = COLUMNS.join(",");
            let help = format!("write a first line {names} and a row for each connection");
            return Err(format!("{} is empty; {help}", rows.name));
        }
        rows.columns = header(&rows.record).map_err(|error| rows.at_line(&error))?;
        Ok(rows)
    }

    fn next_row(&mut self) -> Result<Option<(SimTime, TraceRow)>, String> {
        if !self.next_record()? {
            return Ok(None);
        }
        let (at, row) = self.row().map_err(|error| self.at_line(&error))?;
        self.last = at;
        Ok(Some((at, row)))
    }

    fn at_line(&self, error: &str) -> String {
        format!("{}:{}: {error}", self.name, self.reader.get_ref().number)
    }

    /// Takes the fields of the next line; false at the end.
    fn next_record(&mut self) -> Result<bool, String> {
        self.reader.get_mut().asked = 0;
        let read = self.reader.read_record(&mut self.record);
        if self.reader.get_ref().asked > 1 {
            let what = "a quote is not closed on its line; close it, and write a quote inside quotes twice";
            return Err(self.at_line(what));
        }
        read.map_err(|error| match error.into_kind() {
            ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.at_line(&error.to_string())
            }
            ErrorKind::Io(error) => format!("{} can't be read: {error}; try again", self.name),
            ErrorKind::UnequalLengths { expected_len, len, .. } => self.at_line(&format!(
                "the row has {len} field(s), and the first line {expected_len}; write one for each column"
            )),
            _ => self.at_line("the line is not UTF-8; save the file as UTF-8 text"),
        })
    }

    fn row(&self) -> Result<(SimTime, TraceRow), String> {
        let field = |column: usize| self.columns[column].map_or("", |position| &self.record[position]);
        let filled = |column: usize| Some(field(column)).filter(|text| !text.is_empty());
        let at = SimTime::ZERO + seconds(0, field(0))?;
        if at < self.last {
            let before = SimTime::as_secs_f64(self.last);
            return Err(format!("the time {} comes after {before}; sort the rows by t_s", field(0)));
        }
        let client = filled(1).ok_or("client_id is empty; write a name for who connects")?;
        if client.starts_with('"') {
            return Err("client_id begins with a quote; leave out the space before the quotes".into());
        }
        let row = TraceRow {
            client_id: hash_bytes(0, client.as_bytes()),
            request_bytes: bytes(2, field(2))?,
            response_bytes: filled(3).map(|text| bytes(3, text)).transpose()?,
            duration: filled(4).map(|text| seconds(4, text)).transpose()?,
        };
        Ok((at, row))
    }
}

/// Where each of [`COLUMNS`] stands, as the first line says.
fn header(names: &StringRecord) -> Result<[Option<usize>; COLUMNS.len()], String> {
    if names[0].starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("the first line names no columns; write {} above it", COLUMNS.join(",")));
    }
    let mut columns = [None; COLUMNS.len()];
    for (position, name) in names.iter().enumerate() {
        match COLUMNS.iter().position(|column| *column == name) {
            Some(column) if columns[column].is_none() => columns[column] = Some(position),
            Some(_) => return Err(format!("there are two columns {name}; keep one of them")),
            None => {
                let help = choice(name, "columns", &COLUMNS);
                return Err(format!("{name:?} is no column of a trace; {help}"));
            }
        }
    }
    match columns[..REQUIRED].iter().position(Option::is_none) {
        Some(missing) => Err(format!("there is no column {0}; add {0}", COLUMNS[missing])),
        None => Ok(columns),
    }
}

fn seconds(column: usize, text: &str) -> Result<SimDuration, String> {
    SimDuration::from_decimal_secs(text).map_err(|error| format!("{}: {error}", COLUMNS[column]))
}

/// A whole number of bytes; some programs write whole numbers with a decimal.
fn bytes(column: usize, text: &str) -> Result<u64, String> {
    let (name, most) = (COLUMNS[column], Bytes::MAX.0);
    let count = text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|bytes| *bytes <= most);
    count.ok_or_else(|| format!("{name}: {text:?} is no number of bytes; write a whole number up to {most}"))
}

#[cfg(test)]
mod tests;

//! `arrivals = { trace = { file = … } }`: connections from a CSV file.
//!
//! It is read line by line with a buffer of fixed size, so that it may be larger than memory: once as a whole, to check
//! it, and again in every run. A field in quotes may hold commas, and quotes as `""`, but no line break.

use std::fs::Metadata;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;

use super::open::open;
use super::problem::choice;
use crate::random::{Bytes, hash_bytes};
use crate::time::{SimDuration, SimTime};
use crate::workload::{ArrivalSpec, TraceError, TraceRow, TraceRows, TraceSource};

/// An arrival process as the experiment file writes it.
pub(super) type WrittenArrivals = ArrivalSpec<TraceFile>;

/// A trace as the experiment file names it.
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
/// The size of the buffer.
const BUFFER: usize = 1 << 16;
/// What some programs begin a file of UTF-8 text with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// No line is so long.
const LINE_MAX: usize = 1 << 16;

/// Reads and checks the trace at `path`.
pub(super) fn read(path: &Path) -> Result<TraceSource, String> {
    let (mut rows, version) = rows(path)?;
    let mut connections = 0;
    while rows.next_row()?.is_some() {
        connections += 1;
    }
    if connections == 0 {
        return Err(format!("{} holds no connection; write a row for each", rows.name));
    }
    let (name, fingerprint, last) = (rows.name, rows.fingerprint, rows.last);
    let path = path.to_owned();
    let rows = Arc::new(move || replay(&path, &version));
    Ok(TraceSource { name, fingerprint, connections, last, rows })
}

/// The rows of the trace at `path` once more. A run can't go on with another file than was checked.
fn replay(path: &Path, checked: &Version) -> TraceRows {
    let same = match rows(path) {
        Ok((rows, version)) if version == *checked => Ok(rows),
        Ok((rows, _)) => Err(format!("{} is not the file that was checked", rows.name)),
        Err(error) => Err(error),
    };
    match same {
        Ok(mut rows) => Box::new(std::iter::from_fn(move || rows.next_row().map_err(TraceError).transpose())),
        Err(error) => Box::new(std::iter::once(Err(TraceError(error)))),
    }
}

/// What tells that a file is the same as before.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    length: u64,
    modified: Option<SystemTime>,
}

fn rows(path: &Path) -> Result<(Rows<impl BufRead + use<>>, Version), String> {
    let version = |file: Metadata| Version { length: file.len(), modified: file.modified().ok() };
    let (file, metadata) = open(path)?;
    let rows = Rows::new(BufReader::with_capacity(BUFFER, file), path.display().to_string())?;
    Ok((rows, version(metadata)))
}

/// The rows of a trace, one after the other.
struct Rows<R> {
    reader: R,
    /// What errors call it.
    name: String,
    line: Vec<u8>,
    line_number: u64,
    /// How many columns it has, and which of them is each of [`COLUMNS`].
    width: usize,
    columns: [Option<usize>; COLUMNS.len()],
    /// The time of the row before.
    last: SimTime,
    /// A hash of all lines so far.
    fingerprint: u64,
}

impl<R: BufRead> Rows<R> {
    /// Reads the names of the columns.
    fn new(reader: R, name: String) -> Result<Self, String> {
        let mut rows = Self {
            reader,
            name,
            line: Vec::new(),
            line_number: 0,
            width: 0,
            columns: [None; COLUMNS.len()],
            last: SimTime::ZERO,
            fingerprint: 0,
        };
        if !rows.next_line()? {
            let names = COLUMNS.join(",");
            return Err(format!(
                "{} is empty; write a first line {names} and a row for each connection",
                rows.name
            ));
        }
        let header = text(&rows.line).and_then(header);
        (rows.columns, rows.width) = header.map_err(|error| rows.at_line(&error))?;
        Ok(rows)
    }

    /// The next connection.
    fn next_row(&mut self) -> Result<Option<(SimTime, TraceRow)>, String> {
        if !self.next_line()? {
            return Ok(None);
        }
        let (at, row) = self.row().map_err(|error| self.at_line(&error))?;
        self.last = at;
        Ok(Some((at, row)))
    }

    fn at_line(&self, error: &str) -> String {
        format!("{}:{}: {error}", self.name, self.line_number)
    }

    /// Takes the next line that says something; false at the end.
    fn next_line(&mut self) -> Result<bool, String> {
        loop {
            self.line.clear();
            let mut bounded = (&mut self.reader).take(LINE_MAX as u64);
            let length = bounded.read_until(b'\n', &mut self.line);
            let length =
                length.map_err(|error| format!("{} can't be read: {error}; try again", self.name))?;
            if length == 0 {
                return Ok(false);
            }
            self.line_number += 1;
            if length == LINE_MAX {
                return Err(self.at_line(&format!("the line has {LINE_MAX} bytes or more; break it up")));
            }
            self.fingerprint = hash_bytes(self.fingerprint, &self.line);
            let mut line = self.line.trim_ascii();
            if self.line_number == 1 {
                line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
            }
            if !line.is_empty() && !line.starts_with(b"#") {
                return Ok(true);
            }
        }
    }

    /// The connection on the line.
    fn row(&self) -> Result<(SimTime, TraceRow), String> {
        let (fields, width) = fields(text(&self.line)?)?;
        if width != self.width {
            return Err(format!(
                "the row has {width} field(s), and the first line {}; write one for each column",
                self.width
            ));
        }
        let field = |column: usize| self.columns[column].map_or("", |position| fields[position]);
        let filled = |column: usize| Some(field(column)).filter(|text| !text.is_empty());
        let at = SimTime::ZERO + seconds(0, field(0))?;
        if at < self.last {
            let before = SimTime::as_secs_f64(self.last);
            return Err(format!("the time {} comes after {before}; sort the rows by t_s", field(0)));
        }
        let client = filled(1).ok_or("client_id is empty; write a name for who connects")?;
        let row = TraceRow {
            client_id: hash_bytes(0, client.replace("\"\"", "\"").as_bytes()),
            request_bytes: bytes(2, field(2))?,
            response_bytes: filled(3).map(|text| bytes(3, text)).transpose()?,
            duration: filled(4).map(|text| seconds(4, text)).transpose()?,
        };
        Ok((at, row))
    }
}

fn text(line: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8; save the file as UTF-8 text")?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// Where each of [`COLUMNS`] stands, as the first line says, and how many columns there are.
fn header(line: &str) -> Result<([Option<usize>; COLUMNS.len()], usize), String> {
    let (names, width) = fields(line)?;
    if names[0].starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("the first line names no columns; write {} above it", COLUMNS.join(",")));
    }
    let mut columns = [None; COLUMNS.len()];
    for (position, name) in names.iter().take(width).enumerate() {
        match COLUMNS.iter().position(|column| column == name) {
            Some(column) if columns[column].is_none() => columns[column] = Some(position),
            Some(_) => return Err(format!("there are two columns {name}; keep one of them")),
            None => {
                return Err(format!(
                    "{name:?} is no column of a trace; {}",
                    choice(name, "columns", &COLUMNS)
                ));
            }
        }
    }
    match columns[..REQUIRED].iter().position(Option::is_none) {
        Some(missing) => Err(format!("there is no column {0}; add {0}", COLUMNS[missing])),
        None => Ok((columns, width)),
    }
}

/// The fields of `line`, of which there may be one more than columns, and how many there are.
fn fields(line: &str) -> Result<([&str; COLUMNS.len() + 1], usize), String> {
    let mut fields = [""; COLUMNS.len() + 1];
    let mut rest = Some(line);
    let mut count = 0;
    while let Some(line) = rest {
        let (field, after) = match line.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => line.split_once(',').map_or((line, None), |(field, after)| (field, Some(after))),
        };
        if let Some(place) = fields.get_mut(count) {
            *place = field.trim();
        }
        count += 1;
        rest = after;
    }
    Ok((fields, count))
}

/// A field after its opening quote, and what follows the comma behind it.
fn quoted_field(text: &str) -> Result<(&str, Option<&str>), String> {
    let mut quotes = text.match_indices('"').map(|(at, _)| at).peekable();
    while let Some(at) = quotes.next() {
        if quotes.next_if_eq(&(at + 1)).is_some() {
            continue;
        }
        let after = text[at + 1..].trim_start();
        return match after.strip_prefix(',') {
            None if !after.is_empty() => {
                Err("text follows a closing quote; write a quote inside quotes twice".into())
            }
            after => Ok((&text[..at], after)),
        };
    }
    Err("a quote is not closed on its line; close it, and write a quote inside quotes twice".into())
}

fn seconds(column: usize, text: &str) -> Result<SimDuration, String> {
    SimDuration::from_decimal_secs(text).map_err(|error| format!("{}: {error}", COLUMNS[column]))
}

/// A whole number of bytes; some programs write whole numbers with a decimal.
fn bytes(column: usize, text: &str) -> Result<u64, String> {
    let count = text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|bytes| *bytes <= Bytes::MAX.0);
    count.ok_or_else(|| {
        format!(
            "{}: {text:?} is no number of bytes; write a whole number up to {}",
            COLUMNS[column],
            Bytes::MAX.0
        )
    })
}

#[cfg(test)]
mod tests;

//! A line of the journal: JSON behind a checksum. One that is long is written and read piece by piece, and never whole in memory:
//! the outcome of a run with many samples is twice as long as text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::random::{BytesHash, hash_bytes};
use crate::results::disk::append;

/// The hexadecimal digits of a checksum.
const DIGITS: usize = 16;
/// What stands before the JSON: a checksum and a blank.
const BEFORE: usize = DIGITS + 1;
/// The longest JSON that is made in memory, and the length of the pieces of what is longer.
pub(super) const LONG: usize = 1 << 24;
const PIECE: usize = 1 << 20;

/// What is in a line behind its checksum, if that is right.
pub(super) fn checked(line: &[u8], key: u64) -> Option<&[u8]> {
    let (digits, rest) = line.strip_suffix(b"\n")?.split_at_checked(DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    // No other spelling of the same number.
    (digits == checksum(hash_bytes(key, json)).as_bytes()).then_some(json)
}

fn checksum(hash: u64) -> String {
    format!("{hash:0DIGITS$x}")
}

/// Appends the line of `value` to `file`; gives its length.
///
/// # Errors
/// If it can't be written.
pub(super) fn append_line(file: &mut File, value: &impl Serialize, key: u64) -> io::Result<usize> {
    let mut beginning = Beginning { bytes: vec![b' '; BEFORE], length: 0 };
    serde_json::to_writer(&mut beginning, value)?;
    let Beginning { mut bytes, length, .. } = beginning;
    if length <= LONG {
        let hash = hash_bytes(key, &bytes[BEFORE..]);
        bytes[..DIGITS].copy_from_slice(checksum(hash).as_bytes());
        bytes.push(b'\n');
        append(file, &bytes)?;
    } else {
        drop(bytes);
        let mut hash = Hashed(BytesHash::new(key, length));
        serde_json::to_writer(&mut hash, value)?;
        let mut pieces = io::BufWriter::with_capacity(PIECE, Appended(file));
        write!(pieces, "{} ", checksum(hash.0.finish()))?;
        serde_json::to_writer(&mut pieces, value)?;
        pieces.write_all(b"\n")?;
        pieces.flush()?;
    }
    Ok(BEFORE + length + 1)
}

/// Reads the next line into `line`, but no more of it than a little beyond [`LONG`]; gives its whole length, 0 at the end, and
/// whether its end is there.
///
/// # Errors
/// If it can't be read.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    line.clear();
    let mut length = reader.by_ref().take(2 * LONG as u64).read_until(b'\n', line)?;
    if line.ends_with(b"\n") {
        return Ok((length, true));
    }
    loop {
        let piece = reader.fill_buf()?;
        let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(piece.len());
        reader.consume(taken);
        length += taken;
        if taken == 0 || end.is_some() {
            return Ok((length, end.is_some()));
        }
    }
}

/// Reads the line at `start` of `length` bytes; nothing if its checksum is wrong.
///
/// # Errors
/// If it can't be read, or is something else.
pub(super) fn read_line<T: DeserializeOwned>(
    file: &mut File,
    (start, length): (u64, usize),
    key: u64,
) -> io::Result<Option<T>> {
    let mut at = |position| file.seek(SeekFrom::Start(position));
    at(start)?;
    if length <= LONG {
        let mut line = vec![0; length];
        file.read_exact(&mut line)?;
        return checked(&line, key).map(serde_json::from_slice).transpose().map_err(io::Error::from);
    }
    let json = length - BEFORE - 1;
    let mut before = [0; BEFORE];
    file.read_exact(&mut before)?;
    let mut hash = Hashed(BytesHash::new(key, json));
    io::copy(&mut BufReader::with_capacity(PIECE, (&*file).take(json as u64)), &mut hash)?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if before != *format!("{} ", checksum(hash.0.finish())).as_bytes() || last != *b"\n" {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(start + BEFORE as u64))?;
    Ok(serde_json::from_reader(BufReader::with_capacity(PIECE, file.take(json as u64)))?)
}

/// Keeps what is written while it is short, and counts all of it.
struct Beginning {
    bytes: Vec<u8>,
    length: usize,
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len();
        if self.length <= LONG {
            self.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The hash of what is written.
struct Hashed(BytesHash);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is appended to.
struct Appended<'f>(&'f mut File);

impl Write for Appended<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        append(self.0, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_whole_and_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        for count in [0, 1, 100, LONG / 16 - 40, LONG / 16 + 40, LONG / 8] {
            let numbers: Vec<u64> = (0..count as u64).map(|number| 100_000_000_000_000 + number).collect();
            let mut file = File::options().read(true).append(true).create(true).open(&path).unwrap();
            let start = file.metadata().unwrap().len();
            let length = append_line(&mut file, &numbers, 7).unwrap();
            let text = std::fs::read(&path).unwrap();
            let json = checked(&text[start as usize..], 7).unwrap();
            assert!(text.len() == start as usize + length && json == serde_json::to_vec(&numbers).unwrap());
            assert!(read_line(&mut file, (start, length), 7).unwrap() == Some(numbers));
            assert!(
                read_line::<Vec<u64>>(&mut file, (start, length), 8).unwrap().is_none(),
                "of another job"
            );
        }
    }

    #[test]
    fn lines_are_found_whatever_their_length_and_half_ones_known() {
        let long = "y".repeat(5 * LONG);
        let text = format!("short\n{long}\nlast\n{long}");
        let (mut reader, mut line) = (text.as_bytes(), Vec::new());
        let mut next = || next_line(&mut reader, &mut line).map(|found| (found, line.len())).unwrap();
        assert_eq!(next(), ((6, true), 6));
        let (found, kept) = next();
        assert!(found == (5 * LONG + 1, true) && kept < found.0);
        assert_eq!(next(), ((5, true), 5));
        assert_eq!(next().0, (5 * LONG, false));
        assert_eq!(next(), ((0, false), 0));
    }

    #[test]
    fn a_long_line_knows_every_flipped_bit_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let text = "x".repeat(LONG + 100);
        let mut file = File::options().read(true).append(true).create(true).open(&path).unwrap();
        let length = append_line(&mut file, &text, 7).unwrap();
        for at in [0, DIGITS, BEFORE, BEFORE + 5, LONG, length - 2, length - 1] {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[at] ^= 1;
            let damaged = folder.path().join("damaged");
            std::fs::write(&damaged, bytes).unwrap();
            let found = read_line::<String>(&mut File::open(damaged).unwrap(), (0, length), 7);
            assert!(found.unwrap().is_none(), "byte {at}");
        }
    }
}

//! What clients and servers say to each other: a request names its own length and that of the response, and a response
//! names its backend.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// The shortest request.
pub(super) const HEADER: usize = 8;
/// The shortest response.
pub(super) const SHORTEST_RESPONSE: usize = 2;
/// What is read or written at once.
const CHUNK: usize = 16 * 1024;

/// A request of `length` bytes for a response of `wanted`, neither shorter than it can be.
pub(super) fn request(length: u64, wanted: u64) -> Vec<u8> {
    let length = size(length).max(HEADER);
    let wanted = size(wanted).max(SHORTEST_RESPONSE);
    let mut bytes = vec![0; length];
    bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
    bytes[4..HEADER].copy_from_slice(&(wanted as u32).to_be_bytes());
    bytes
}

/// The lengths of a request and of its response, once their header is there.
pub(super) fn lengths(received: &[u8]) -> Option<(usize, usize)> {
    let number = |from: usize| {
        let bytes = received.get(from..from + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")) as usize)
    };
    Some((number(0)?.max(HEADER), number(4)?))
}

/// A response of `length` bytes by backend number `backend`.
pub(super) fn response(length: usize, backend: u16) -> Vec<u8> {
    let mut bytes = vec![0; length.max(SHORTEST_RESPONSE)];
    bytes[..2].copy_from_slice(&backend.to_be_bytes());
    bytes
}

/// The backend that sent this response, once that is there.
pub(super) fn sender(received: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(received.get(..2)?.try_into().expect("two bytes")))
}

/// A length that fits into a message: at most a mebibyte.
fn size(length: u64) -> usize {
    length.min(1 << 20) as usize
}

/// How a stream stands after reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    Open,
    /// The other side has closed or reset it.
    Over,
}

/// Reads what is there, and adds it to `received`.
pub(super) fn read(stream: &mut TcpStream, received: &mut Vec<u8>) -> StreamState {
    let mut chunk = [0; CHUNK];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return StreamState::Over,
            Ok(count) => received.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return StreamState::Open,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return StreamState::Over,
        }
    }
}

/// Writes what the stream takes of `unsent`, and removes it there.
pub(super) fn write(stream: &mut TcpStream, unsent: &mut Vec<u8>) -> StreamState {
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(count) => drop(unsent.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return StreamState::Over,
        }
    }
    StreamState::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_lengths_and_their_backend() {
        for (length, wanted) in [(0, 0), (8, 2), (2048, 70_000)] {
            let bytes = request(length, wanted);
            assert_eq!(lengths(&bytes), Some((bytes.len(), (wanted as usize).max(SHORTEST_RESPONSE))));
            assert_eq!(lengths(&bytes[..HEADER - 1]), None);
        }
        assert_eq!(sender(&response(0, 59)), Some(59));
        assert_eq!(sender(&[0]), None);
    }
}

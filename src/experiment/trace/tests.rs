//! Traces as text: exact values, broken rows, and a size that would not fit a buffer.

use std::io::repeat;

use super::*;

type Row = (SimTime, TraceRow);

fn read_all(reader: impl BufRead) -> Result<Vec<Row>, String> {
    let mut rows = Rows::new(reader, "trace.csv".to_owned())?;
    std::iter::from_fn(|| rows.next_row().transpose()).collect()
}

fn rows_of(text: &str) -> Vec<Row> {
    read_all(text.as_bytes()).unwrap()
}

fn client(name: &str) -> u64 {
    hash_bytes(0, name.as_bytes())
}

#[test]
fn times_are_exact() {
    let times = ["0", "1e-9", "0.1", "0.30000000000000004", "7.000000001", "1234567.123456789", "2e6"];
    let text =
        times.iter().fold("t_s,client_id,request_bytes\n".to_owned(), |text, time| text + time + ",a,1\n");
    let nanos: Vec<u64> = rows_of(&text).iter().map(|(at, _)| at.as_nanos()).collect();
    let expected =
        [0, 1, 100_000_000, 300_000_000, 7_000_000_001, 1_234_567_123_456_789, 2_000_000_000_000_000];
    assert_eq!(nanos, expected);
}

#[test]
fn optional_columns_may_be_missing_or_empty() {
    let row = |client_id, request_bytes, response_bytes, duration: Option<u64>| TraceRow {
        client_id,
        request_bytes,
        response_bytes,
        duration: duration.map(SimDuration::from_millis),
    };
    let at = |millis| SimTime::ZERO + SimDuration::from_millis(millis);
    for (text, expected) in [
        ("t_s,client_id,request_bytes\n1,a,10\n", row(client("a"), 10, None, None)),
        ("t_s,client_id,request_bytes,response_bytes\n1,a,10,20\n", row(client("a"), 10, Some(20), None)),
        (
            "t_s,client_id,request_bytes,response_bytes,duration_s\n1,a,10,20,0.5\n",
            row(client("a"), 10, Some(20), Some(500)),
        ),
        ("t_s,client_id,request_bytes,duration_s\n1,a,10,2\n", row(client("a"), 10, None, Some(2000))),
        ("duration_s,request_bytes,t_s,client_id\n2,10,1,a\n", row(client("a"), 10, None, Some(2000))),
        ("t_s,client_id,request_bytes,response_bytes,duration_s\n1,a,0,,\n", row(client("a"), 0, None, None)),
        ("t_s,client_id,request_bytes,response_bytes\n1,a,10.0,20.0\n", row(client("a"), 10, Some(20), None)),
    ] {
        assert_eq!(rows_of(text), [(at(1000), expected)], "{text}");
    }
}

#[test]
fn client_names_may_hold_anything_in_quotes() {
    let clients = |text: &str| rows_of(text).iter().map(|(_, row)| row.client_id).collect::<Vec<u64>>();
    let text = "\"t_s\",\"client_id\",\"request_bytes\"\r\n\
                0,a,1\r\n0,\"a\",1\r\n\"0\",\"a,b\",\"1\"\r\n0,\"say \"\"hi\"\"\" ,1\r\n0,\"a\"\"\",1\r\n0,Zoë #1,1";
    let expected = ["a", "a", "a,b", "say \"hi\"", "a\"", "Zoë #1"].map(client);
    assert_eq!(clients(text), expected);
}

#[test]
fn comments_empty_lines_and_line_ends_do_not_matter() {
    let plain = rows_of("t_s,client_id,request_bytes\n1,a,10\n2,b,20\n");
    for text in [
        "t_s,client_id,request_bytes\r\n1,a,10\r\n2,b,20\r\n",
        "t_s,client_id,request_bytes\n1,a,10\n2,b,20",
        "# a comment\n\n  # another\nt_s,client_id,request_bytes\n\n1,a,10\n# \"\n2,b,20\n\n",
        "\u{feff}t_s,client_id,request_bytes\n1,a,10\n2,b,20\n",
        "\u{feff}# a comment\nt_s,client_id,request_bytes\n1,a,10\n2,b,20\n",
        " t_s , client_id , request_bytes\n 1 , a ,\t10\n2,b,20 \n",
    ] {
        assert_eq!(rows_of(text), plain, "{text:?}");
    }
}

#[test]
fn broken_traces_are_refused_by_their_line() {
    let columns = "t_s,client_id,request_bytes,response_bytes,duration_s";
    for (rows, part) in [
        (
            "1,a,10,20,1\n0.999999999,a,10,20,1",
            "trace.csv:3: the time 0.999999999 comes after 1; sort the rows by t_s",
        ),
        ("# x\n\n1,a,10,20", "trace.csv:4: the row has 4 field(s), and the first line 5; write one for each"),
        ("1,a,10,20,1,", "trace.csv:2: the row has 6 field(s), and the first line 5"),
        ("1,a,10,20,1,2,3,4,5", "trace.csv:2: the row has 9 field(s), and the first line 5"),
        ("1,,10,20,1", "trace.csv:2: client_id is empty; write"),
        ("1,\"\",10,20,1", "trace.csv:2: client_id is empty; write"),
        (",a,10,20,1", "trace.csv:2: t_s: \"\" is not a number of seconds; write"),
        ("-1,a,10,20,1", "trace.csv:2: t_s: \"-1\" is negative; a duration"),
        ("1s,a,10,20,1", "trace.csv:2: t_s: \"1s\" is not a number of seconds"),
        ("2026-05-21T10:00:00Z,a,10,20,1", "is not a number of seconds; write for example 12.5"),
        ("1,a,,20,1", "trace.csv:2: request_bytes: \"\" is no number of bytes; write a whole number"),
        ("1,a,-1,20,1", "request_bytes: \"-1\" is no number of bytes"),
        ("1,a,1.5,20,1", "request_bytes: \"1.5\" is no number of bytes"),
        ("1,a,10,1125899906842625,1", "response_bytes: \"1125899906842625\" is no number of bytes"),
        ("1,a,10,20,-1", "trace.csv:2: duration_s: \"-1\" is negative"),
        ("1,\"a,10,20,1\n2,b,10,20,1", "trace.csv:2: a quote is not closed on its line; close it"),
        ("1, \"a\",10,20,1", "trace.csv:2: client_id begins with a quote; leave out the space"),
    ] {
        let error = read_all(format!("{columns}\n{rows}\n").as_bytes()).unwrap_err();
        assert!(error.contains(part), "{rows}: {error}");
    }
}

#[test]
fn broken_headers_are_refused() {
    for (text, part) in [
        ("", "trace.csv is empty; write a first line t_s,client_id,request_bytes,response_bytes,duration_s"),
        ("# only\n\n# comments", "trace.csv is empty; write"),
        ("1,a,10\n", "trace.csv:1: the first line names no columns; write t_s,client_id"),
        ("# x\nt_s,client_id\n", "trace.csv:2: there is no column request_bytes; add request_bytes"),
        ("t_s,client,request_bytes\n", "\"client\" is no column of a trace; did you mean `client_id`?"),
        ("t_s,t_s,client_id,request_bytes\n", "there are two columns t_s; keep one"),
        ("t_s,client_id,request_bytes,\n", "trace.csv:1: \"\" is no column"),
        ("t_s\tclient_id\trequest_bytes\n", "is no column of a trace; "),
    ] {
        let error = read_all(text.as_bytes()).unwrap_err();
        assert!(error.contains(part), "{text:?}: {error}");
    }
    let error = read_all(&b"t_s,client_id,request_bytes\n1,\xff,10\n"[..]).unwrap_err();
    assert!(error.contains("trace.csv:2: the line is not UTF-8; save"), "{error}");
}

/// A trace of `rows` rows that is made while it is read.
struct Made {
    row: u64,
    rows: u64,
    pending: Vec<u8>,
    bytes: u64,
    largest_read: usize,
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest_read = self.largest_read.max(buffer.len());
        while self.pending.len() < buffer.len() && self.row < self.rows {
            let (seconds, millis) = (self.row / 1000, self.row % 1000);
            let row = format!("{seconds}.{millis:03},\"host, number {}\",1000,{}\n", self.row % 97, self.row);
            self.pending.extend_from_slice(row.as_bytes());
            self.row += 1;
        }
        let length = self.pending.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.pending[..length]);
        self.pending.drain(..length);
        self.bytes += length as u64;
        Ok(length)
    }
}

#[test]
fn long_traces_need_little_memory() {
    let pending = b"t_s,client_id,request_bytes,response_bytes\n".to_vec();
    let made = Made { row: 0, rows: 1_400_000, pending, bytes: 0, largest_read: 0 };
    let mut rows = Rows::new(BufReader::with_capacity(BUFFER, made), "made".to_owned()).unwrap();
    let mut count = 0;
    while let Some((at, row)) = rows.next_row().unwrap() {
        assert_eq!((at.as_nanos(), row.response_bytes), (count * 1_000_000, Some(count)));
        count += 1;
    }
    assert_eq!(count, 1_400_000);
    let Lines { reader, line, .. } = rows.reader.get_ref();
    let made = reader.get_ref();
    assert!(made.bytes > 50_000_000, "{} bytes", made.bytes);
    // All that is held are the buffer and a line.
    assert!(made.largest_read <= BUFFER && reader.capacity() == BUFFER && line.capacity() <= 1024);
}

#[test]
fn a_line_without_end_is_given_up() {
    let endless = b"t_s,client_id,request_bytes\n".chain(repeat(b'1'));
    let error = read_all(BufReader::new(endless)).unwrap_err();
    assert!(error.contains("trace.csv:2: the line has 65536 bytes or more; break it up"), "{error}");
}

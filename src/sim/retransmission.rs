//! When TCP sends again what was not acknowledged: what the network lost, what a load balancer dropped, and what met a
//! silent machine look the same to who sent it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::SimDuration;

/// When a client sends a SYN again that nobody answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SynRetransmission {
    /// After 1 s, twice as long each time: at 0, 1, 3, 7, 15 s … (RFC 6298, sections 2.1 and 5.5).
    #[default]
    Rfc6298,
    /// As Linux does since version 6.5, whose `tcp_syn_linear_timeouts` is 4: the wait stays at 1 s for four more SYNs before it
    /// doubles: at 0, 1, 2, 3, 4, 5, 7, 11 s …
    Linux,
    /// After these waits, one after the other, and never again after the last.
    After(Vec<SimDuration>),
}

/// Timeouts of Linux that do not lengthen the wait for an answer to a SYN.
pub const LINEAR_TIMEOUTS: u8 = 4;
/// The most SYNs that a list of waits can ask for.
const WAITS_MAX: usize = 255;
/// The longest wait in such a list.
const WAIT_MAX: SimDuration = SimDuration::from_secs(86_400);
const NAMES: [&str; 2] = ["rfc6298", "linux"];

impl SynRetransmission {
    /// How long the client waits for an answer to its SYN number `number`, from 0, before it sends another; nothing if it
    /// sends no more.
    pub fn wait(&self, number: u8) -> Option<SimDuration> {
        match self {
            Self::Rfc6298 => Some(HANDSHAKE.wait(number)),
            Self::Linux => Some(HANDSHAKE.wait(number.saturating_sub(LINEAR_TIMEOUTS))),
            Self::After(waits) => waits.get(usize::from(number)).copied(),
        }
    }

    /// How long after its first SYN the client's system gives up, whatever its program would wait: after seven SYNs
    /// (`tcp_syn_retries` of Linux is 6, and timeouts that do not lengthen the wait come on top of them). Never after a list.
    pub(super) fn gives_up(&self) -> SimDuration {
        match self {
            Self::Rfc6298 => SimDuration::from_secs(127),
            Self::Linux => SimDuration::from_secs(131),
            Self::After(_) => SimDuration::MAX,
        }
    }
}

/// A wait for an acknowledgement: a time for the first packet, twice as long for each copy of it (RFC 6298, 5.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct DoublingWait {
    first: SimDuration,
}

/// Of a packet of a handshake, SYN or SYN-ACK (RFC 6298, 2.1).
pub(super) const HANDSHAKE: DoublingWait = DoublingWait { first: SimDuration::from_secs(1) };

/// How often a server sends a SYN-ACK again by itself: `tcp_synack_retries` of Linux.
pub(super) const SYN_ACK_RETRIES: u8 = 5;

/// Copies of data that Linux sends before it gives up: the probe for a lost tail, and as many as the timeouts of 200 ms to 120 s
/// that come before 924.6 s, which is what `tcp_retries2`, 15, means.
pub(super) const DATA_COPIES: u8 = 16;

/// The least that a retransmission timeout of Linux, and a probe for a lost tail, wait beyond the round trip.
const LEAST_MARGIN: SimDuration = SimDuration::from_millis(200);
/// The longest retransmission timeout of Linux.
const LONGEST_TIMEOUT: SimDuration = SimDuration::from_secs(120);
/// What the round trip of a handshake was measured to take longer whose SYN-ACK was lost: the timestamp that is echoed is that
/// of the first SYN that arrived (RFC 7323, 4).
const LATE_SYN_ACK: SimDuration = HANDSHAKE.first;

/// How long a sender waits for an acknowledgement of data, of the copy with this number (0 is the data itself), where its round
/// trips are smoothed to `round_trip`, and `excess` of a handshake that was repeated.
///
/// At first a probe goes out for the tail that may be lost, after two round trips and what an acknowledgement may be delayed,
/// but no later than the retransmission timeout (RFC 8985, 7.2). Then it is that timeout, SRTT + max(200 ms, 4 RTTVAR) (RFC
/// 6298, 2.3, with the least of Linux), and it doubles.
pub(super) fn data_wait(copy: u8, round_trip: SimDuration, excess: SimDuration) -> SimDuration {
    let smoothed = round_trip + excess;
    // Of a first sample RTTVAR is half (RFC 6298, 2.2).
    let timeout = smoothed + (excess * 2).max(LEAST_MARGIN);
    match copy.checked_sub(1) {
        None => (smoothed * 2 + LEAST_MARGIN).min(timeout),
        Some(doublings) => (timeout * (1 << doublings.min(20))).min(LONGEST_TIMEOUT),
    }
}

/// What is left, when a client sends its request number `request`, from 1, of the excess of a handshake whose SYN-ACK was lost:
/// each exchange since has smoothed an eighth of it away (RFC 6298, 2.3). With it the first timeout is 3 s, which RFC 6298, 5.7
/// asks for.
pub(super) fn late_handshake(request: u32) -> SimDuration {
    let exchanges = request.saturating_sub(1).min(100);
    (0..exchanges).fold(LATE_SYN_ACK, |excess, _| SimDuration::from_nanos(excess.as_nanos() / 8 * 7))
}

impl DoublingWait {
    /// How long the sender waits for an acknowledgement of the copy with this number; 0 is the packet itself.
    pub(super) fn wait(self, copy: u8) -> SimDuration {
        self.first * (1 << copy.min(20))
    }
}

impl Serialize for SynRetransmission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rfc6298 => serializer.serialize_str(NAMES[0]),
            Self::Linux => serializer.serialize_str(NAMES[1]),
            Self::After(waits) => serializer.collect_seq(waits),
        }
    }
}

impl JsonSchema for SynRetransmission {
    fn schema_name() -> Cow<'static, str> {
        "SynRetransmission".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut wait = generator.subschema_for::<SimDuration>();
        wait.insert("x-above".to_owned(), "0s".into());
        wait.insert("x-most".to_owned(), WAIT_MAX.to_string().into());
        json_schema!({ "anyOf": [
            { "type": "string", "enum": NAMES },
            { "type": "array", "items": wait, "maxItems": WAITS_MAX, "examples": [["1s", "2s", "4s"]] },
        ] })
    }
}

impl<'de> Deserialize<'de> for SynRetransmission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = SynRetransmission;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}, {:?} or a list of waits, such as [\"1s\", \"2s\"]", NAMES[0], NAMES[1])
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                match NAMES.iter().position(|name| *name == text) {
                    Some(0) => Ok(SynRetransmission::Rfc6298),
                    Some(_) => Ok(SynRetransmission::Linux),
                    None => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut waits = Vec::new();
                while let Some(wait) = list.next_element::<SimDuration>()? {
                    if wait.is_zero() || wait > WAIT_MAX {
                        let text = format!("a wait of {wait} is out of range; write 1ns to {WAIT_MAX}");
                        return Err(A::Error::custom(text));
                    }
                    if waits.len() == WAITS_MAX {
                        return Err(A::Error::custom(format!(
                            "the list is too long; write at most {WAITS_MAX} waits"
                        )));
                    }
                    waits.push(wait);
                }
                Ok(SynRetransmission::After(waits))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;

    use super::*;

    fn read(text: &str) -> Result<SynRetransmission, String> {
        let value: toml_edit::Value = text.parse().unwrap();
        SynRetransmission::deserialize(value.into_deserializer()).map_err(|error| error.message().to_owned())
    }

    /// The seconds at which SYNs are sent, up to eight.
    fn seconds(text: &str) -> Vec<f64> {
        let syns = read(text).unwrap();
        let mut at = SimDuration::ZERO;
        let mut times = vec![0.0];
        for wait in (0..7).map_while(|number| syns.wait(number)) {
            at = at + wait;
            times.push(at.as_secs_f64());
        }
        times
    }

    #[test]
    fn systems_give_up_as_linux_does() {
        for (syns, count) in [(SynRetransmission::Rfc6298, 7), (SynRetransmission::Linux, 11)] {
            let waits = (0..count).filter_map(|number| syns.wait(number));
            assert_eq!(waits.fold(SimDuration::ZERO, |sum, wait| sum + wait), syns.gives_up());
        }
        let timeouts = (1..=DATA_COPIES).map(|copy| data_wait(copy, SimDuration::ZERO, SimDuration::ZERO));
        let sum = timeouts.fold(SimDuration::ZERO, |sum, wait| sum + wait);
        assert_eq!(sum, SimDuration::from_millis(924_600));
    }

    #[test]
    fn syns_go_again_when_their_stack_says() {
        assert_eq!(seconds("\"rfc6298\""), [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0]);
        assert_eq!(seconds("\"linux\""), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0]);
        assert_eq!(seconds("[\"500ms\", \"2s\"]"), [0.0, 0.5, 2.5]);
        assert_eq!(seconds("[]"), [0.0]);
        assert_eq!(SynRetransmission::default(), read("\"rfc6298\"").unwrap());
    }

    #[test]
    fn data_goes_again_as_linux_sends_it() {
        let secs = |request, late, copies: u8| -> Vec<f64> {
            let excess = if late { late_handshake(request) } else { SimDuration::ZERO };
            let wait = |copy| data_wait(copy, SimDuration::from_millis(4), excess);
            let times = (0..copies).scan(SimDuration::ZERO, |at, copy| {
                *at = *at + wait(copy);
                Some(at.as_secs_f64())
            });
            times.collect()
        };
        // Seen on Linux 6.18: 0.21, 0.41, 0.85, 1.68, 3.35 s.
        assert_eq!(secs(1, false, 5), [0.204, 0.408, 0.816, 1.632, 3.264]);
        // Seen too: 2.2 s after a handshake whose SYN-ACK was lost; then the timeout of RFC 6298, 5.7.
        assert_eq!(secs(1, true, 3), [2.208, 5.212, 11.22]);
        assert_eq!(secs(2, true, 1), [2.0 * 0.879 + 0.2]);
        assert!((secs(90, true, 1)[0] - 0.204).abs() < 1e-4, "it is forgotten");
        assert_eq!(data_wait(40, SimDuration::ZERO, SimDuration::ZERO), LONGEST_TIMEOUT);
    }

    #[test]
    fn impossible_times_are_refused() {
        for (text, part) in [
            ("\"bsd\"", "rfc6298"),
            ("3", "list of waits"),
            ("[\"0s\"]", "out of range"),
            ("[\"25h\"]", "out of range"),
            ("[1]", "duration"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let long = format!("[{}]", vec!["\"1s\""; 256].join(", "));
        assert!(read(&long).unwrap_err().contains("too long"));
    }
}

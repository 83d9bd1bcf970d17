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
const LINEAR_TIMEOUTS: u8 = 4;
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
}

/// A wait for an acknowledgement: a time for the first packet, twice as long for each copy of it (RFC 6298, 5.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    first: SimDuration,
}

/// Of a packet of a handshake, SYN or SYN-ACK (RFC 6298, 2.1).
pub(super) const HANDSHAKE: Backoff = Backoff { first: SimDuration::from_secs(1) };

/// Of other packets: the least timeout of Linux, which round trips here are too short to lengthen.
pub(super) const DATA: Backoff = Backoff { first: SimDuration::from_millis(200) };

impl Backoff {
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
    fn syns_go_again_when_their_stack_says() {
        assert_eq!(seconds("\"rfc6298\""), [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0]);
        assert_eq!(seconds("\"linux\""), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0]);
        assert_eq!(seconds("[\"500ms\", \"2s\"]"), [0.0, 0.5, 2.5]);
        assert_eq!(seconds("[]"), [0.0]);
        assert_eq!(SynRetransmission::default(), read("\"rfc6298\"").unwrap());
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

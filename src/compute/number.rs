//! How values are read and written: numbers may stand in quotes, and durations are numbers of seconds.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;
use crate::time::SimDuration;

/// A number, or one in quotes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number")]
enum Written<T> {
    Number(T),
    Text(String),
}

pub(super) fn number<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + FromStr,
    D: Deserializer<'de>,
{
    match Option::deserialize(from)? {
        None => Ok(None),
        Some(Written::Number(number)) => Ok(Some(number)),
        Some(Written::Text(text)) => {
            text.parse().map(Some).map_err(|_| Error::custom(format!("{text:?} is not a number")))
        }
    }
}

/// Reads a ratio.
pub(super) fn ratio<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Ratio>, D::Error> {
    number(from)?.map(Ratio::new).transpose().map_err(Error::custom)
}

/// Durations as seconds. Fractions are kept, so that they can be refused by name.
pub(super) mod seconds {
    use super::*;

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SimDuration>, D::Error> {
        const MOST: f64 = i32::MAX as f64;
        let seconds: Option<f64> = number(from)?;
        let duration = |seconds: f64| match seconds {
            0.0..=MOST => Ok(SimDuration::from_nanos_f64(seconds * 1e9)),
            _ => Err(Error::custom(format!("{seconds} is not a number of seconds"))),
        };
        seconds.map(duration).transpose()
    }

    pub(in super::super) fn serialize<S: Serializer>(
        duration: &Option<SimDuration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match duration.map(SimDuration::as_nanos) {
            None => to.serialize_none(),
            Some(nanos) if nanos % 1_000_000_000 == 0 => to.serialize_u64(nanos / 1_000_000_000),
            Some(nanos) => to.serialize_f64(nanos as f64 / 1e9),
        }
    }
}

/// Those that need a proxy, which reads what connections carry.
const OF_PROXIES: [&str; 4] = ["GENERATED_COOKIE", "HEADER_FIELD", "HTTP_COOKIE", "STRONG_COOKIE_AFFINITY"];

/// Reads a session affinity of a passthrough load balancer (AFF-1).
pub(crate) fn session_affinity<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SessionAffinity>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    if OF_PROXIES.contains(&text.as_str()) {
        return Err(Error::custom(format!(
            "{text} belongs to application load balancers, which see cookies and headers; write one of {}",
            SessionAffinity::ALL.map(SessionAffinity::name).join(", ")
        )));
    }
    SessionAffinity::deserialize(serde::de::value::StringDeserializer::new(text)).map(Some)
}

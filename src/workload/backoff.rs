//! How long a client waits before it tries again.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::time::SimDuration;
use crate::unfit::number;

/// Exponential back-off: before the first retry `base`, before each other one `factor` times as long as before the one
/// that precedes it, but never longer than `max`. By default there is no wait.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Backoff {
    /// Before the first retry.
    pub base: SimDuration,
    /// The longest wait; not less than `base`.
    pub max: SimDuration,
    /// Each wait over the one before.
    pub factor: BackoffFactor,
    /// The part of each wait that is random.
    pub jitter: Jitter,
}

impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The method that is derived for it reads the keys one by one.
        let backoff = Self::deserialize(deserializer)?;
        let Self { base, max, .. } = backoff;
        if base <= max {
            return Ok(backoff);
        }
        Err(D::Error::custom(format!(
            "the first wait can't be {base}, longer than the longest, {max}; write a max of at least {base}"
        )))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: SimDuration::ZERO,
            max: SimDuration::from_secs(10),
            factor: BackoffFactor(2.0),
            jitter: Jitter(0.0),
        }
    }
}

impl Backoff {
    /// The wait before retry number `retry`, counted from 1, where `chance` is a random number from 0 to 1: without
    /// jitter the whole wait, with jitter j evenly from 1 - j of it on.
    pub fn wait(&self, retry: u32, chance: f64) -> SimDuration {
        let max = self.max.as_nanos() as f64;
        let mut wait = self.base.as_nanos() as f64;
        // Once it is at its longest, or nothing, it stays so.
        for _ in 1..retry {
            if wait >= max || wait == 0.0 {
                break;
            }
            wait *= self.factor.0;
        }
        SimDuration::from_nanos_f64(wait.min(max) * (1.0 - self.jitter.0 * chance))
    }
}

number! {
    /// How fast waits grow: from 1, where all are alike, to 1000.
    #[schemars(extend("minimum" = 1, "maximum" = 1000))]
    BackoffFactor: |value| (1.0..=1000.0).contains(&value),
    "{value} is no factor of a back-off; write 1.0 (waits are alike) to 1000.0, such as 2.0"
}

number! {
    /// The random part of a wait: from 0, nothing of it, to 1, all.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    Jitter: |value| (0.0..=1.0).contains(&value),
    "{value} is no part of a wait; write 0.0 (nothing of it is random) to 1.0 (all of it is)"
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;

    use super::*;

    fn read(text: &str) -> Result<Backoff, String> {
        let value: toml_edit::Value = text.parse().unwrap();
        <Backoff as Deserialize>::deserialize(value.into_deserializer())
            .map_err(|error| error.message().to_owned())
    }

    fn waits(text: &str, chance: f64) -> [u64; 5] {
        let backoff = read(text).unwrap();
        [1, 2, 3, 4, 100].map(|retry| backoff.wait(retry, chance).as_nanos() / 1_000_000)
    }

    #[test]
    fn waits_grow_to_the_longest() {
        assert_eq!(waits("{}", 0.5), [0; 5], "by default a retry comes at once");
        assert_eq!(waits("{ base = \"100ms\" }", 0.5), [100, 200, 400, 800, 10_000]);
        assert_eq!(waits("{ base = \"2s\", factor = 3, max = \"7s\" }", 0.0), [2000, 6000, 7000, 7000, 7000]);
        assert_eq!(waits("{ base = \"1s\", factor = 1.0 }", 0.0), [1000; 5]);
        assert_eq!(waits("{ base = \"10s\" }", 0.0), [10_000; 5]);
    }

    #[test]
    fn jitter_shortens_waits() {
        let text = "{ base = \"100ms\", jitter = 0.5 }";
        assert_eq!(waits(text, 0.0), [100, 200, 400, 800, 10_000]);
        assert_eq!(waits(text, 1.0), [50, 100, 200, 400, 5000]);
        assert_eq!(waits("{ base = \"100ms\", jitter = 1 }", 0.75), [25, 50, 100, 200, 2500]);
    }

    #[test]
    fn impossible_waits_are_refused() {
        for (text, part) in [
            ("{ base = \"11s\" }", "can't be 11s, longer than the longest, 10s; write a max of at least 11s"),
            ("{ base = \"-1s\" }", "negative"),
            ("{ base = 5 }", "duration"),
            ("{ factor = 0.5 }", "0.5 is no factor"),
            ("{ factor = nan }", "NaN is no factor"),
            ("{ factor = inf }", "inf is no factor"),
            ("{ jitter = 1.1 }", "1.1 is no part"),
            ("{ jitter = -0.1 }", "-0.1 is no part"),
            ("{ jiter = 0.1 }", "jiter"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

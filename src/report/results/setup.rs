//! What a folder's `experiment.toml` says about its rows: names, zones, and when faults came.
//!
//! Only these few keys are read, and all of them may be missing: charts need nothing else, and the file itself
//! was checked when the experiment ran.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::error::ResultsError;
use crate::report::figure::unit::Unit;
use crate::time::SimDuration;

/// The part of an experiment that its charts show.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The experiment's name.
    pub name: String,
    /// The question that it asks.
    pub description: String,
    /// The place that it looks at.
    pub region: Region,
    /// Its times.
    pub simulation: Simulation,
    /// What broke, in file order.
    pub faults: Vec<Fault>,
}

/// The region's part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Region {
    /// The zones in file order.
    pub zones: Vec<String>,
}

/// The simulation's part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Simulation {
    /// The time before measurement; nothing if the simulation found it by itself.
    #[serde(deserialize_with = "duration")]
    pub warmup: Option<SimDuration>,
    /// The measured time.
    #[serde(deserialize_with = "duration")]
    pub duration: Option<SimDuration>,
    /// The resolution of the timeline.
    #[serde(deserialize_with = "duration")]
    pub sample_interval: Option<SimDuration>,
}

/// When something broke, and what.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Fault {
    /// When it began.
    pub at: SimDuration,
    /// How long it lasted; nothing if it lasted to the end.
    pub duration: Option<SimDuration>,
    /// How it broke.
    #[serde(default)]
    pub kind: String,
    /// What broke, in words.
    #[serde(default, deserialize_with = "words")]
    pub target: String,
}

impl Setup {
    /// Reads the file `path`; a missing file says nothing.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let Some(text) = text_if_there(path)? else { return Ok(Self::default()) };
        toml_edit::de::from_str(&text)
            .map_err(|error| ResultsError::Toml { path: path.to_owned(), problem: error.to_string() })
    }
}

/// A duration with a unit; a word such as `"auto"` is none.
fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SimDuration>, D::Error> {
    let text = String::deserialize(from)?;
    if text.chars().all(char::is_alphabetic) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}

/// The words for a target: `us-central1-a (50 %)`.
fn words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Target {
        zone: String,
        group: String,
        backends: Vec<String>,
        link: Vec<String>,
        fraction: Option<f64>,
    }
    let target = Target::deserialize(from)?;
    let names = [target.zone, target.group, target.backends.join(", "), target.link.join("–")];
    let share = target.fraction.map(|fraction| format!("({})", Unit::Percent.text(fraction)));
    let words: Vec<String> = names.into_iter().chain(share).filter(|word| !word.is_empty()).collect();
    Ok(words.join(" "))
}

/// The text of the file `path`, or nothing if there is no such file.
pub(super) fn text_if_there(path: &Path) -> Result<Option<String>, ResultsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultsError::Open { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_in_every_spelling_of_their_target() {
        let setup = toml_edit::de::from_str::<Setup>(
            r#"
            name = "n"
            [simulation]
            warmup = "auto"
            duration = "30m"
            [[faults]]
            at = "10m"
            duration = "5m"
            target = { zone = "us-central1-a", fraction = 0.5 }
            kind = "silent"
            [[faults]]
            at = "90s"
            target = { backends = ["ig-a-1", "ig-a-2"] }
            kind = "refuse"
            "#,
        )
        .unwrap();
        assert_eq!(setup.simulation.warmup, None);
        assert_eq!(setup.simulation.duration, Some(SimDuration::from_secs(1800)));
        let targets: Vec<_> = setup.faults.iter().map(|fault| fault.target.as_str()).collect();
        assert_eq!(targets, ["us-central1-a (50 %)", "ig-a-1, ig-a-2"]);
        assert_eq!(setup.faults[1].duration, None);
    }
}

//! What can be wrong with an experiment: one kind of error, with the key it is about and the remedy.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Expected, Unexpected};

use super::path::{KeyPath, Step};
pub(super) use crate::compute::quoted;
use crate::metrics::{METRICS, Metric};

/// Something that is wrong with the value at a key path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", what.trim_start_matches([' ', ':']))]
pub(super) struct Problem {
    pub path: KeyPath,
    /// Whether the key itself is wrong rather than its value.
    pub at_key: bool,
    /// What is wrong, to be read after the path: ` can't be 5`, or `: 1.5 is not a ratio`.
    pub what: String,
    /// What the Compute API answers, if it is the API that refuses it.
    pub note: Option<String>,
    pub help: Option<String>,
    /// Whether `help` is no more than the name of a key that is missing: the table of keys has an example.
    pub names_missing_key: bool,
}

impl Problem {
    pub(super) fn new(path: KeyPath, what: String, help: Option<String>) -> Self {
        Self { path, at_key: false, what, note: None, help, names_missing_key: false }
    }

    /// `path` followed by `what`, a predicate such as `can't be 5`.
    pub(super) fn that(path: KeyPath, what: impl fmt::Display, help: impl Into<String>) -> Self {
        Self::new(path, format!(" {what}"), Some(help.into()))
    }

    pub(super) fn of_key(self) -> Self {
        Self { at_key: true, ..self }
    }

    /// `message` about `path`. What follows the last `; ` of it is the remedy.
    pub(super) fn because(path: KeyPath, message: &impl ToString) -> Self {
        let message = message.to_string();
        let (what, help) = match message.rsplit_once("; ") {
            Some((what, help)) => (what, Some(help.to_owned())),
            None => (message.as_str(), None),
        };
        Self::new(path, format!(": {what}"), help)
    }

    /// The last step of `path` is none of the keys `known` there.
    pub(super) fn unknown_key(path: KeyPath, known: &[&str]) -> Self {
        let key = if let Some(Step::Key(key)) = path.steps().last() { key.as_str() } else { "" };
        let help = choice(key, "known keys", known);
        Self::that(path, "is not a known key", help).of_key()
    }

    pub(super) fn missing_key(path: KeyPath, key: &str) -> Self {
        Self { names_missing_key: true, ..Self::that(path, format_args!("has no `{key}`"), key) }
    }

    /// `name` at `path` is none of `known`; `what` they are, in the plural.
    pub(super) fn unknown_name<'a>(
        path: KeyPath,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let help = choice(name, what, &known);
        Self::that(path, format_args!("names {}, which does not exist", quoted(name)), help)
    }

    pub(super) fn under(self, step: Step) -> Self {
        Self { path: self.path.under(step), ..self }
    }
}

pub(super) fn refuse<T>(
    path: KeyPath,
    what: impl fmt::Display,
    help: impl Into<String>,
) -> Result<T, Problem> {
    Err(Problem::that(path, what, help))
}

pub(super) fn metric(name: &str, path: KeyPath) -> Result<&'static Metric, Problem> {
    let known = METRICS.iter().map(|metric| metric.name);
    Metric::find(name).ok_or_else(|| Problem::unknown_name(path, name, "metrics", known))
}

/// Checks that all `names` differ; the one at index `i` stands at `path(i)`.
pub(super) fn distinct(names: &[impl AsRef<str>], path: impl Fn(usize) -> KeyPath) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    let Some(index) = names.iter().position(|name| !seen.insert(name.as_ref())) else { return Ok(()) };
    let what = format!("names {} a second time", quoted(names[index].as_ref()));
    refuse(path(index), what, "give each its own name")
}

/// Help for `found`, which is none of `known`: the nearest of them, and what there is.
pub(super) fn choice(found: &str, what: &str, known: &[&str]) -> String {
    let near = nearest(found, known.iter().copied());
    let shown = if near.is_some() { 14 } else { 40 };
    let mut list = known.iter().take(shown).copied().collect::<Vec<_>>().join(", ");
    if known.len() > shown {
        list += &format!(" and {} more", known.len() - shown);
    }
    match (near, known) {
        (_, []) => format!("there are no {what}"),
        (Some(near), [_]) => format!("did you mean `{near}`?"),
        (Some(near), _) => format!("did you mean `{near}`? {what}: {list}"),
        (None, _) => format!("{what}: {list}"),
    }
}

/// The one of `known` that `found` may have been meant to be.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let found = found.to_lowercase();
    let length = found.chars().count();
    let distances =
        known.iter().map(|name| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), *name));
    let close = distances
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= 1.max(length / 3));
    let part = || known.iter().copied().find(|name| length >= 3 && name.to_lowercase().contains(&found));
    close.map(|(_, name)| name).filter(|_| length > 1).or_else(part)
}

/// How serde says what is wrong; [`super::reader`] adds the path.
impl serde::de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::because(KeyPath::default(), &message)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let help = format!("write {}", english(expected));
        Self::that(KeyPath::default(), format_args!("can't be {}", shown(found)), help)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let what = format!("has {length} member{}", if length == 1 { "" } else { "s" });
        Self::that(KeyPath::default(), what, format!("write {}", english(expected)))
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        let what = format!("can't be {}", quoted(found));
        let help = match known {
            [only] => format!("write \"{only}\": this version supports no other"),
            _ => {
                let full = full_names(known);
                let near = nearest(found, known.iter().copied());
                let near = near.and_then(|near| full.iter().find(|name| name.ends_with(near)));
                choice(near.copied().unwrap_or(found), "supported values", &full)
            }
        };
        Self::that(KeyPath::default(), what, help)
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::unknown_key(KeyPath::to(field), known)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing_key(KeyPath::default(), field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::that(KeyPath::default(), format_args!("has `{field}` twice"), "keep one of them")
    }
}

/// `names` without those that are the end of another, such as `DISABLED` of `ZONAL_AFFINITY_DISABLED`.
fn full_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let is_tail = |name: &&str| names.iter().any(|other| other.len() > name.len() && other.ends_with(*name));
    names.iter().copied().filter(|name| !is_tail(name)).collect()
}

/// A value that was found, much as the file writes it.
pub(super) fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => quoted(text),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        other => other.to_string(),
    }
}

/// What serde's own types expect, in words.
fn english(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    match expected.as_str() {
        "u8" | "u16" | "u64" => "a whole number, 0 or more".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text in quotes".to_owned(),
        "a sequence" => "a list in square brackets".to_owned(),
        "an array of length 2" => "a list of 2".to_owned(),
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        for (found, near) in [
            ("kin", Some("kind")),
            ("KIND", Some("kind")),
            ("zoen", Some("zone")),
            ("adresses", Some("addresses")),
            ("timeout", Some("connect_timeout")),
            ("colour", None),
            ("", None),
        ] {
            let known = ["kind", "zone", "addresses", "connect_timeout"];
            assert_eq!(nearest(found, known), near, "{found}");
        }
    }

    #[test]
    fn long_lists_and_texts_are_cut() {
        let names: Vec<String> = (0..100).map(|number| format!("ig-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let help = choice("ig-x", "backends", &names);
        assert!(
            help.starts_with("did you mean `ig-0`? backends: ig-0, ") && help.ends_with("ig-13 and 86 more")
        );
        assert_eq!(quoted(&"ä".repeat(100)), format!("\"{}\"…", "ä".repeat(60)));
    }
}

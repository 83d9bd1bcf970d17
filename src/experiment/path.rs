//! Ways from the root of an experiment file to one of its values.

use toml_edit::Key;

/// One step of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Member(usize),
}

/// The way to a value of a given file, with positions in lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyPath(Vec<Step>);

impl KeyPath {
    pub(super) fn to(key: &str) -> Self {
        Self::default().key(key)
    }

    pub(super) fn key(&self, key: &str) -> Self {
        self.on(Step::Key(key.to_owned()))
    }

    pub(super) fn member(&self, index: usize) -> Self {
        self.on(Step::Member(index))
    }

    fn on(&self, step: Step) -> Self {
        Self([&self.0[..], &[step]].concat())
    }

    /// The same way from one step further up.
    pub(super) fn under(mut self, step: Step) -> Self {
        self.0.insert(0, step);
        self
    }

    /// The way without the members that it ends with.
    pub(super) fn to_last_key(&self) -> Self {
        let keys = self.0.iter().rposition(|step| matches!(step, Step::Key(_))).map_or(0, |last| last + 1);
        Self(self.0[..keys].to_vec())
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }
}

/// A path as users write it, `clients.web-a.arrivals`, where members of lists go by their names.
///
/// It parses like a dotted TOML key: a part with other characters than letters, digits, `_` and `-` is quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePath(Vec<String>);

impl NamePath {
    /// Reads `text`; `None` if it is no dotted key.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let keys = Key::parse(text.trim()).ok().filter(|keys| !keys.is_empty())?;
        Some(Self(keys.iter().map(|key| key.get().to_owned()).collect()))
    }

    /// Its parts; there is at least one.
    pub(super) fn parts(&self) -> &[String] {
        &self.0
    }

    /// Whether it leads to the value at `other`, to one that this is part of, or to a part of it.
    pub(super) fn overlaps(&self, other: &[String]) -> bool {
        self.0.starts_with(other) || other.starts_with(&self.0)
    }

    /// The path as a way of keys, for errors about the path itself.
    pub(super) fn to_keys(&self) -> KeyPath {
        KeyPath(self.0.iter().cloned().map(Step::Key).collect())
    }
}

/// `parts` as a dotted key, quoted where needed.
pub(super) fn dotted(parts: &[impl AsRef<str>]) -> String {
    let keys: Vec<String> =
        parts.iter().map(|part| Key::new(part.as_ref()).display_repr().into_owned()).collect();
    keys.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_dotted_keys() {
        for (text, parts) in [
            ("name", vec!["name"]),
            ("clients.web-a.arrivals.poisson.rate", vec!["clients", "web-a", "arrivals", "poisson", "rate"]),
            ("faults.0.at", vec!["faults", "0", "at"]),
            (r#"clients."web a".zone"#, vec!["clients", "web a", "zone"]),
            (r#" clients . "web.a" . zone "#, vec!["clients", "web.a", "zone"]),
        ] {
            let path = NamePath::parse(text).unwrap();
            assert_eq!(path.parts(), parts, "{text}");
            assert_eq!(NamePath::parse(&dotted(path.parts())), Some(path), "{text} survives writing");
        }
        for text in ["", ".", "a.", ".a", "a..b", "web a", "a=b", "a.\"b"] {
            assert_eq!(NamePath::parse(text), None, "{text}");
        }
    }
}

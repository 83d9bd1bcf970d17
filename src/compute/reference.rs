//! How one resource names another.

use serde::{Deserialize, Serialize};

/// A reference to a resource: its URL, the end of one, `zone/name`, or the name alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reference(String);

impl Reference {
    /// The reference `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name of the resource.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The zone that it is in, if the reference says so.
    pub fn zone(&self) -> Option<&str> {
        let parts: Vec<&str> = self.0.split('/').collect();
        match parts[..] {
            [zone, _] => Some(zone),
            _ => parts.windows(2).find(|pair| pair[0] == "zones").map(|pair| pair[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_their_ends_name_the_same_resource() {
        for (text, zone) in [
            ("https://www.googleapis.com/compute/v1/projects/p/zones/z-a/instances/vm-1", Some("z-a")),
            ("http://127.0.0.1:8080/compute/v1/projects/p/zones/z-a/instances/vm-1", Some("z-a")),
            ("projects/p/zones/z-a/instances/vm-1", Some("z-a")),
            ("zones/z-a/instances/vm-1", Some("z-a")),
            ("z-a/vm-1", Some("z-a")),
            ("projects/p/regions/r/targetPools/vm-1", None),
            ("vm-1", None),
        ] {
            let reference = Reference::new(text);
            assert_eq!((reference.name(), reference.zone()), ("vm-1", zone), "{text}");
        }
    }
}

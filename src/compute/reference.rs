//! How one resource names another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reference to a resource: its URL, the end of one, `zone/name`, or the name alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
            [collection, _] if collection.contains(char::is_uppercase) => None,
            [zone, _] => Some(zone),
            _ => self.after("zones"),
        }
    }

    /// The region that it is in, if the reference says so.
    pub fn region(&self) -> Option<&str> {
        self.after("regions")
    }

    /// Whether the reference says that it is in the collection of that name, as `targetPools/www` does.
    pub fn is_in(&self, collection: &str) -> bool {
        self.after(collection).is_some()
    }

    /// Whether the reference says that it is in no region.
    pub fn is_global(&self) -> bool {
        self.after("global").is_some()
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands behind `part` in the path.
    fn after(&self, part: &str) -> Option<&str> {
        let mut parts = self.0.split('/').skip_while(|own| *own != part);
        parts.nth(1)
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
            ("targetPools/vm-1", None),
            ("vm-1", None),
        ] {
            let reference = Reference::new(text);
            assert_eq!((reference.name(), reference.zone()), ("vm-1", zone), "{text}");
        }
        let pool = Reference::new("projects/p/regions/r/targetPools/www");
        assert_eq!(
            (pool.region(), pool.is_in("targetPools"), pool.is_in("routes")),
            (Some("r"), true, false)
        );
        let check = Reference::new("https://www.googleapis.com/compute/v1/projects/p/global/healthChecks/hc");
        assert!(check.is_global() && check.region().is_none() && !Reference::new("hc").is_global());
    }
}

//! Zones in the order of the experiment file, under names as short as they can be.

use crate::answers::gather::distinct;
use crate::results::Results;

/// The zones that occur, and how they are called in charts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Zones {
    /// Their names in the files; empty for "none".
    pub(super) names: Vec<String>,
    /// Their names in charts.
    pub(super) labels: Vec<String>,
    /// What was cut from the names, in words; nothing if nothing was.
    pub(super) note: Option<String>,
}

/// The zones of the experiment that are among `seen`, then the rest of `seen` in order.
pub(super) fn of<'a>(results: &Results, seen: impl Iterator<Item = &'a str>) -> Zones {
    let mut found = distinct(seen);
    let configured = &results.description.zones;
    let position = |name: &str| configured.iter().position(|zone| zone == name).unwrap_or(usize::MAX);
    found.sort_by_key(|name| position(name));
    let region = region(configured);
    let label = |name: &&str| match (*name, region) {
        ("" | "none", _) => "no backend".to_owned(),
        (name, Some(region)) => name.strip_prefix(region).unwrap_or(name).to_owned(),
        (name, None) => name.to_owned(),
    };
    Zones {
        labels: found.iter().map(label).collect(),
        names: found.into_iter().map(str::to_owned).collect(),
        note: region.map(|region| format!("Zone names are without “{region}”.")),
    }
}

/// What all zones begin with, up to and with the last dash.
fn region(zones: &[String]) -> Option<&str> {
    let (region, _) = zones.first()?.rsplit_once('-')?;
    let prefix = &zones[0][..=region.len()];
    let all = zones.iter().all(|zone| zone.len() > prefix.len() && zone.starts_with(prefix));
    (all && zones.len() > 1).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn zones_lose_what_they_share() {
        let results = SampleFolder::default().results();
        let zones =
            of(&results, ["internet", "us-central1-c", "us-central1-a", "", "us-central1-c"].into_iter());
        assert_eq!(zones.labels, ["a", "c", "internet", "no backend"]);
        assert_eq!(zones.names[0], "us-central1-a");
        assert!(zones.note.unwrap().contains("us-central1-"));
        assert_eq!(region(&["x-a".to_owned()]), None);
        assert_eq!(region(&["x-a".to_owned(), "y-b".to_owned()]), None);
    }
}

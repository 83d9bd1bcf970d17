//! `[network]`: round-trip times.

use super::zone_pair;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::ids::{IdVec, ZoneId};
use crate::sim::builder::{RoundTrips, ZoneLink};

pub(super) fn round_trips(
    written: RoundTrips<String>,
    zones: &IdVec<ZoneId, String>,
) -> Result<RoundTrips, Problem> {
    let RoundTrips { same_zone_rtt, cross_zone_rtt, other_region_rtt, hybrid_rtt, internet_rtt, links } =
        written;
    let mut found: Vec<ZoneLink> = Vec::new();
    for (index, ZoneLink { between, rtt }) in links.into_iter().enumerate() {
        let path = KeyPath::to("network").key("links").member(index).key("between");
        let [from, to] = zone_pair(zones, &between, &path)?;
        if from == to {
            let what = format!("names {:?} twice", between[0]);
            return refuse(path, what, "name two zones; within a zone same_zone_rtt holds");
        }
        if found.iter().any(|earlier| earlier.joins(from, to)) {
            return refuse(path, "names a pair that an earlier link names", "keep one of the two");
        }
        found.push(ZoneLink { between: [from, to], rtt });
    }
    Ok(RoundTrips { same_zone_rtt, cross_zone_rtt, other_region_rtt, hybrid_rtt, internet_rtt, links: found })
}

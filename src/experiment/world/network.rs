//! `[network]`: round-trip times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zone_id;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::ids::{ClientId, IdVec, PlaceId, ZoneId};
use crate::lb::policy::TrafficOrigin;
use crate::random::Distribution;
use crate::sim::scenario::{ClientGroup, Place};
use crate::time::SimDuration;

type RoundTrip = Distribution<SimDuration>;

/// `[network]`: round-trip times between places.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NetworkKeys {
    /// Within a zone.
    same_zone_rtt: Distribution<SimDuration>,
    /// From zone to zone.
    cross_zone_rtt: Distribution<SimDuration>,
    /// From another region.
    other_region_rtt: Distribution<SimDuration>,
    /// Through a VPN tunnel or an Interconnect attachment.
    hybrid_rtt: Distribution<SimDuration>,
    /// From the internet.
    internet_rtt: Distribution<SimDuration>,
    /// Pairs of zones with round-trip times of their own.
    #[serde(skip_serializing)]
    links: Vec<Link>,
}

impl Default for NetworkKeys {
    fn default() -> Self {
        let lognormal = |micros: u64, sigma| {
            let median = SimDuration::from_nanos(micros * 1000);
            Distribution::lognormal(median, sigma).expect("a positive median")
        };
        Self {
            same_zone_rtt: lognormal(70, 0.4),
            cross_zone_rtt: lognormal(190, 0.35),
            other_region_rtt: Distribution::constant(SimDuration::from_millis(30)),
            hybrid_rtt: Distribution::constant(SimDuration::from_millis(12)),
            internet_rtt: Distribution::constant(SimDuration::from_millis(30)),
            links: Vec::new(),
        }
    }
}

/// `[[network.links]]`: a pair of zones, both ways.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Link {
    /// The two zones.
    #[schemars(example = ["us-central1-b", "us-central1-c"])]
    between: [String; 2],
    /// Their round-trip time.
    #[schemars(extend("examples" = [{ "constant": "1ms" }]))]
    rtt: Distribution<SimDuration>,
}

impl NetworkKeys {
    /// Round-trip times from each place to each zone.
    pub(super) fn round_trips(
        &self,
        zones: &IdVec<ZoneId, String>,
        places: &IdVec<PlaceId, Place>,
        clients: &IdVec<ClientId, ClientGroup>,
    ) -> Result<IdVec<PlaceId, IdVec<ZoneId, RoundTrip>>, Problem> {
        let links = self.links(zones)?;
        let between = |a: ZoneId, b: ZoneId| {
            let link = links.iter().find(|(ends, _)| *ends == [a.min(b), a.max(b)]);
            let usual = if a == b { &self.same_zone_rtt } else { &self.cross_zone_rtt };
            link.map_or(usual, |(_, rtt)| rtt).clone()
        };
        let from_outside =
            |place| match clients.iter().find(|group| group.place == place).map(|group| group.origin) {
                Some(TrafficOrigin::Hybrid) => self.hybrid_rtt.clone(),
                Some(TrafficOrigin::Internet) => self.internet_rtt.clone(),
                // A consumer of a published service is in the same region, in a zone that nobody knows.
                Some(TrafficOrigin::PrivateServiceConnect) => self.cross_zone_rtt.clone(),
                Some(TrafficOrigin::OtherRegion | TrafficOrigin::Zone(_)) | None => {
                    self.other_region_rtt.clone()
                }
            };
        let row = |(id, place): (PlaceId, &Place)| match place.zone {
            Some(zone) => zones.ids().map(|other| between(zone, other)).collect(),
            None => zones.ids().map(|_| from_outside(id)).collect(),
        };
        Ok(places.pairs().map(row).collect())
    }

    /// The links, their ends in order.
    fn links(&self, zones: &IdVec<ZoneId, String>) -> Result<Vec<([ZoneId; 2], RoundTrip)>, Problem> {
        let mut links: Vec<([ZoneId; 2], RoundTrip)> = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let path = KeyPath::to("network").key("links").member(index).key("between");
            let end = |end: usize| zone_id(zones, &link.between[end], &path.member(end));
            let ends = [end(0)?, end(1)?];
            if ends[0] == ends[1] {
                let what = format!("names {:?} twice", link.between[0]);
                return refuse(path, what, "name two zones; within a zone same_zone_rtt holds");
            }
            let ends = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            if links.iter().any(|(earlier, _)| *earlier == ends) {
                return refuse(path, "names a pair that an earlier link names", "keep one of the two");
            }
            links.push((ends, link.rtt.clone()));
        }
        Ok(links)
    }
}

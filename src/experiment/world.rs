//! What one cell simulates: the tables of the file, and the [`Scenario`] that they describe.
//!
//! A table stands as it is written, with its defaults, in the file that also resolves its names. Each default
//! stands there, or with the type of its field, and nowhere else.

mod backends;
mod balancer;
mod clients;
mod faults;
mod network;
mod timing;

use serde::Deserialize;
use toml_edit::Table;

use super::bounded::Name;
use super::node::Node;
use super::path::KeyPath;
use super::plan;
use super::problem::{Problem, distinct};
use super::reader::{names_of, read};
use crate::ids::{IdVec, ZoneId};
use crate::lb::health::{HealthCheck, HealthCheckSettings};
use crate::sim::scenario::{Prices, Scenario, Server};
use backends::ServerKeys;
use balancer::BackendService;
use clients::Client;
use faults::WrittenFault;
pub(super) use network::Network;
pub(super) use timing::Simulation;

/// The tables of the file that a cell depends on. [`plan::Plan`] holds the others.
#[derive(Debug, Deserialize)]
struct World {
    #[serde(default)]
    simulation: Simulation,
    region: Region,
    #[serde(default)]
    network: Network,
    #[serde(default)]
    prices: Prices,
    backend_service: BackendService,
    #[serde(default)]
    health_check: HealthCheckSettings,
    #[serde(default)]
    server: ServerKeys,
    clients: Vec<Client>,
    #[serde(default)]
    faults: Vec<WrittenFault>,
}

/// The scenario that the experiment `root` describes.
pub(super) fn scenario(root: &Table) -> Result<Scenario, Problem> {
    check_keys(root)?;
    let world: World = read(Node::Table(root), &KeyPath::default())?;
    let timing = world.simulation.timing()?;
    let zones = world.region.zones()?;
    let server = world.server.over(Server::default());
    let backends = backends::backends(&world.backend_service.backends, server, &zones)?;
    let (places, clients) = clients::clients(&world.clients, world.region.name.as_str(), &zones)?;
    let round_trips = world.network.round_trips(&zones, &places, &clients)?;
    let faults = faults::faults(&world.faults, &timing, &zones, &backends)?;
    let (groups, backends) = backends;
    let health_check = HealthCheck::new(world.health_check).map_err(|error| {
        let path = error.key().split('.').fold(KeyPath::to("health_check"), KeyPath::key);
        Problem::because(path, &error)
    })?;
    Ok(Scenario {
        timing,
        places,
        round_trips,
        prices: world.prices,
        balancer: world.backend_service.settings(),
        health_check,
        groups,
        backends,
        clients,
        faults,
        operations: Vec::new(),
        zones,
    })
}

/// Checks the keys of the root, some of which belong to the plan and some to the world.
pub(super) fn check_keys(root: &Table) -> Result<(), Problem> {
    let known: Vec<&str> = names_of::<World>().iter().copied().chain(plan::KEYS).collect();
    let has = |key: &str| root.contains_key(key);
    if let Some(key) = ["target_pools", "forwarding_rule"].into_iter().find(|key| has(key)) {
        let (what, help) = if has("backend_service") {
            ("is a second load balancer beside `backend_service`", "keep one of the two")
        } else {
            let what = "belongs to a target pool, and this version simulates backend services only";
            (what, "describe the load balancer as [backend_service]")
        };
        return Err(Problem { at_key: true, ..Problem::that(KeyPath::to(key), what, help) });
    }
    match root.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, _)) => Err(Problem::unknown_key(KeyPath::to(key), &known)),
        None => Ok(()),
    }
}

/// `[region]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Region {
    /// Its name.
    name: Name,
    /// Its zones, at least one.
    zones: Vec<Name>,
}

impl Region {
    /// The zones by name.
    fn zones(&self) -> Result<IdVec<ZoneId, String>, Problem> {
        let path = || KeyPath::to("region").key("zones");
        if self.zones.is_empty() {
            return Err(Problem::that(path(), "is empty", "name at least one zone"));
        }
        distinct(&self.zones, |index| path().member(index))?;
        if let Some(index) = self.zones.iter().position(|zone| RESERVED.contains(&zone.as_str())) {
            let what = format!("can't be {:?}", self.zones[index].as_str());
            let help = "results use this word; choose another name";
            return Err(Problem::that(path().member(index), what, help));
        }
        Ok(self.zones.iter().map(|zone| zone.as_str().to_owned()).collect())
    }
}

/// What results write where a zone can stand.
const RESERVED: [&str; 3] = ["all", "vpn", "interconnect"];

/// The zone called `name`, as `path` says.
fn zone_id(zones: &IdVec<ZoneId, String>, name: &str, path: &KeyPath) -> Result<ZoneId, Problem> {
    let found = zones.pairs().find(|(_, zone)| *zone == name).map(|(id, _)| id);
    let known = || zones.iter().map(String::as_str);
    found.ok_or_else(|| Problem::unknown_name(path.clone(), name, "zones of the region", known()))
}

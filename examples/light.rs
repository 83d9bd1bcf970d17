use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::num::NonZeroU32;
use zonesim::ids::*;
use zonesim::lb::backend::Role;
use zonesim::lb::health::*;
use zonesim::lb::ratio::Ratio;
use zonesim::lb::zonal_affinity::*;
use zonesim::random::*;
use zonesim::sim::scenario::*;
use zonesim::sim::*;
use zonesim::time::*;
use zonesim::workload::*;

fn main() {
    let active: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let conns: f64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let rate = active / 60.0;
    let zones: IdVec<ZoneId, String> = ["a", "b", "c"].iter().map(|s| s.to_string()).collect();
    let places = zones.pairs().map(|(z, n)| Place { name: n.clone(), zone: Some(z) }).collect();
    let same = Distribution::lognormal("70us".parse().unwrap(), 0.4).unwrap();
    let cross = Distribution::lognormal("190us".parse().unwrap(), 0.35).unwrap();
    let groups = zones
        .iter()
        .map(|z| Group {
            name: format!("ig-{z}"),
            server: Server {
                workers: Workers::Unlimited,
                queue_limit: 0,
                service_time: Distribution::exponential(SimDuration::from_secs(60)).unwrap(),
                failures: None,
            },
        })
        .collect();
    let mut backends = IdVec::default();
    for (z, n) in zones.pairs() {
        for i in 1..=10 {
            backends.push(BackendSpec {
                name: format!("ig-{n}-{i}"),
                group: GroupId::from_index(z.index()),
                zone: z,
                role: Role::Primary,
            });
        }
    }
    let spec = |rate: f64| {
        let v: toml_edit::Value = format!("{{ poisson = {{ rate = {rate:?} }} }}").parse().unwrap();
        ArrivalSpec::deserialize(v.into_deserializer()).unwrap()
    };
    let clients = zones
        .pairs()
        .map(|(z, n)| ClientGroup {
            name: format!("web-{n}"),
            place: PlaceId::from_index(z.index()),
            origin: Origin::Zone(z),
            addresses: NonZeroU32::new(1000).unwrap(),
            arrivals: spec(rate / 3.0),
            connection: ConnectionProfile { requests: Distribution::constant(1.0), ..Default::default() },
            connect_timeout: "10s".parse().unwrap(),
            request_timeout: "1h".parse().unwrap(),
            retries: 0,
        })
        .collect();
    let v: toml_edit::Value = "{check_interval=\"60s\", timeout=\"5s\"}".parse().unwrap();
    let check = HealthCheck::new(HealthCheckSettings::deserialize(v.into_deserializer()).unwrap()).unwrap();
    let scenario = Scenario {
        timing: Timing {
            warmup: "15m".parse().unwrap(),
            duration: SimDuration::from_nanos_f64(conns / rate * 1e9),
            sample_interval: "1h".parse().unwrap(),
        },
        round_trips: zones
            .ids()
            .map(|a| zones.ids().map(|b| if a == b { same } else { cross }).collect())
            .collect(),
        zones,
        places,
        prices: Prices::default(),
        policy: Policy {
            zonal_affinity: ZonalAffinity::SpillCrossZone(Ratio::new(0.5).unwrap()),
            ..Default::default()
        },
        health_check: check,
        groups,
        backends,
        clients,
        faults: vec![],
    };
    let t = std::time::Instant::now();
    let outcome = Simulation::new(&scenario, RunSeed::new(1, 0)).run();
    let s = t.elapsed().as_secs_f64();
    println!(
        "{active}: {:.2} M conn/s, {:.2} M events/s, opened {} peak {} total {:?}",
        outcome.opened as f64 / s / 1e6,
        outcome.events as f64 / s / 1e6,
        outcome.opened,
        outcome.conntrack_peak_entries,
        outcome.total()
    );
}

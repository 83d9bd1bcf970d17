//! The load balancer's data plane, in the kernel: nftables picks a backend by the hash of a packet's fields, from tables
//! that zonesim's own load balancer filled, and keeps the choice as the mark of the connection.
//!
//! The mark of a backend is its number plus 1; 0 is none. A SYN is selected anew always (CTE-2); so is a packet without
//! an entry, or whose entry points at a backend that it does not follow any more (CTE-5, CTE-9).
//!
//! What the network loses is lost between load balancer and backends, where neither of them takes note of it.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::LabError;
use super::line::round_trip;
use super::network::{FAR_MARK, Host, VIP, run};
use crate::ids::{BackendId, ClientId, Id, ZoneId};
use crate::lb::LoadBalancer;
use crate::lb::affinity::{Fields, SessionAffinity};
use crate::lb::packet::{PacketClass, Protocol};
use crate::lb::policy::TrafficOrigin;
use crate::random::mix;
use crate::reality::scenarios::Forwarding;
use crate::reality::world::ENTRIES;
use crate::sim::scenario::{LinkFault, Scenario};
use crate::time::SimTime;

/// Hashes begin here, so that none of them is a backend's mark.
const FIRST_HASH: u32 = 1 << 16;

/// What the kernel was told last.
pub(super) struct DataPlane {
    forwarding: Forwarding,
    /// By origin: the backend of each hash.
    tables: Vec<(TrafficOrigin, Vec<Option<BackendId>>)>,
    /// Backends whose entries have ended.
    ended: BTreeSet<BackendId>,
    silent: BTreeSet<BackendId>,
    unprobed: BTreeSet<BackendId>,
    /// Links that lose packets, each with the rules for it.
    lossy: Vec<([ZoneId; 2], LinkFault)>,
}

impl DataPlane {
    /// Installs the rules for `scenario`, with seed `seed` for the hash. Nothing is forwarded yet.
    pub(super) fn install(scenario: &Scenario, forwarding: Forwarding, seed: u32) -> Result<Self, LabError> {
        let idle = scenario.first_balancer().settings.tracking.idle_timeout.as_secs_f64().round();
        nft(&ruleset(scenario, forwarding, seed))?;
        super::network::set(&format!("net.netfilter.nf_conntrack_tcp_timeout_established={idle}"))?;
        super::network::set("net.netfilter.nf_conntrack_tcp_be_liberal=1")?;
        Ok(Self {
            forwarding,
            tables: origins(scenario).into_iter().map(|origin| (origin, Vec::new())).collect(),
            ended: BTreeSet::new(),
            silent: BTreeSet::new(),
            unprobed: BTreeSet::new(),
            lossy: Vec::new(),
        })
    }

    /// Tells the kernel what `balancer` decides at time `now`, where that has changed.
    pub(super) fn follow(&mut self, now: SimTime, balancer: &mut LoadBalancer) -> Result<(), LabError> {
        let mut commands = String::new();
        for (number, (origin, table)) in self.tables.iter_mut().enumerate() {
            let decided = table_of(balancer, *origin);
            if *table != decided {
                commands += &filled(number, &decided, self.forwarding);
                *table = decided;
            }
        }
        let backends = balancer.roster().all().ids();
        let ended: BTreeSet<BackendId> =
            backends.filter(|backend| !balancer.follows(now, *backend, Protocol::Tcp)).collect();
        if ended != self.ended {
            let marks: Vec<String> = ended.iter().map(|backend| mark(*backend).to_string()).collect();
            commands += &replaced("ip", "ended", &marks);
            self.ended = ended;
        }
        if commands.is_empty() { Ok(()) } else { nft(&commands) }
    }

    /// Whether `backends` neither get nor send a packet.
    pub(super) fn silence(&mut self, backends: &[BackendId], so: bool) -> Result<(), LabError> {
        change(&mut self.silent, backends, so);
        nft(&replaced("netdev", "silent", &interfaces(&self.silent)))
    }

    /// Whether no probe gets to `backends`.
    pub(super) fn block_probes(&mut self, backends: &[BackendId], so: bool) -> Result<(), LabError> {
        change(&mut self.unprobed, backends, so);
        nft(&replaced("netdev", "unprobed", &interfaces(&self.unprobed)))
    }

    /// Whether the network between two zones has `fault`.
    pub(super) fn link(
        &mut self,
        scenario: &Scenario,
        between: [ZoneId; 2],
        fault: LinkFault,
        so: bool,
    ) -> Result<(), LabError> {
        if so {
            self.lossy.push((between, fault));
        } else {
            self.lossy.retain(|other| *other != (between, fault));
        }
        let rules: String =
            self.lossy.iter().map(|(between, fault)| lossy(scenario, *between, *fault)).collect();
        nft(&format!("flush chain netdev lab loss\n{rules}"))
    }
}

fn change(set: &mut BTreeSet<BackendId>, backends: &[BackendId], so: bool) {
    if so {
        set.extend(backends);
    } else {
        set.retain(|backend| !backends.contains(backend));
    }
}

fn interfaces(backends: &BTreeSet<BackendId>) -> Vec<String> {
    backends.iter().map(|backend| format!("\"{}\"", Host::Backend(backend.index()).name())).collect()
}

fn mark(backend: BackendId) -> usize {
    backend.index() + 1
}

/// Where clients are, each place once: connections from there are selected by one table.
fn origins(scenario: &Scenario) -> Vec<TrafficOrigin> {
    let mut origins = Vec::new();
    for group in scenario.clients.iter() {
        if !origins.contains(&group.origin) {
            origins.push(group.origin);
        }
    }
    origins
}

/// The backend of every hash of new connections from `origin`.
fn table_of(balancer: &mut LoadBalancer, origin: TrafficOrigin) -> Vec<Option<BackendId>> {
    let entry = |hash: u32| {
        // Maglev takes the remainder; whatever else may look at a hash finds random bits in the rest.
        let word = mix(u64::from(hash)) >> 1;
        let word = word - word % u64::from(ENTRIES) + u64::from(hash);
        balancer.selection_of(origin, word)
    };
    (0..ENTRIES).map(entry).collect()
}

/// Fills the table number `number`.
fn filled(number: usize, table: &[Option<BackendId>], forwarding: Forwarding) -> String {
    let entries = (FIRST_HASH..).zip(table).filter_map(|(hash, backend)| {
        let backend = (*backend)?;
        Some(match forwarding {
            Forwarding::Marks => format!("{hash} : {}", mark(backend)),
            Forwarding::Dnat => format!("{hash} : {}", Host::Backend(backend.index()).address()),
        })
    });
    let entries: Vec<String> = entries.collect();
    let added = match entries.is_empty() {
        true => String::new(),
        false => format!("add element ip lab table{number} {{ {} }}\n", entries.join(", ")),
    };
    format!("flush map ip lab table{number}\n{added}")
}

/// Gives the set `name` of a family's table these elements.
fn replaced(family: &str, name: &str, elements: &[String]) -> String {
    let added = match elements {
        [] => String::new(),
        _ => format!("add element {family} lab {name} {{ {} }}\n", elements.join(", ")),
    };
    format!("flush set {family} lab {name}\n{added}")
}

/// The rules for packets between two zones that lose some of them. Probers are in the zone of whom they probe.
fn lossy(scenario: &Scenario, between: [ZoneId; 2], fault: LinkFault) -> String {
    let LinkFault::Loss(probability) = fault else { return String::new() };
    let millionth = (probability.value() * 1e6).round();
    let hosts = |zone: ZoneId| {
        let place = |client: usize| scenario.places[scenario.clients.iter().as_slice()[client].place].zone;
        let clients =
            (0..scenario.clients.len()).filter(|client| place(*client) == Some(zone)).map(Host::Client);
        let backends = scenario.backends.pairs().filter(|(_, spec)| spec.zone == zone);
        let backends: Vec<Host> = backends.map(|(id, _)| Host::Backend(id.index())).collect();
        (clients.collect::<Vec<Host>>(), backends)
    };
    let [one, other] = between.map(hosts);
    let mut pairs = vec![(one.0.clone(), other.1.clone())];
    if between[0] == between[1] {
        pairs.push((vec![Host::Probers], one.1));
    } else {
        pairs.push((other.0, one.1));
    }
    let joined = |names: Vec<String>| names.join(", ");
    let mut rules = String::new();
    for (senders, backends) in
        pairs.iter().filter(|(senders, backends)| !senders.is_empty() && !backends.is_empty())
    {
        let senders = joined(senders.iter().map(|host| host.sources()).collect());
        let backends = joined(backends.iter().map(|host| host.name()).collect());
        for way in [
            format!("oifname {{ {backends} }} ip saddr {{ {senders} }}"),
            format!("iifname {{ {backends} }} ip daddr {{ {senders} }}"),
        ] {
            let _ = writeln!(
                rules,
                "add rule netdev lab loss {way} numgen random mod 1000000 < {millionth} drop"
            );
        }
    }
    rules
}

/// The chains that have packets take the line to backends that are far away: each with the backend's zone in its header, by
/// its number and 1 more (RFC 2474). Nobody but the line answers them, though the kernel would.
fn far(scenario: &Scenario) -> String {
    let mut rules = String::new();
    for (client, zone) in far_pairs(scenario) {
        let name = Host::Client(client.index()).name();
        let backends = scenario.backends.pairs().filter(|(_, spec)| spec.zone == zone);
        let marks: Vec<String> = backends.map(|(backend, _)| mark(backend).to_string()).collect();
        let _ = writeln!(
            rules,
            "  iifname {name} meta mark {{ {} }} ip dscp set {} meta mark set meta mark or {FAR_MARK:#x}",
            marks.join(", "),
            zone.index() + 1
        );
    }
    if rules.is_empty() {
        return rules;
    }
    format!(
        " chain far {{ type filter hook prerouting priority mangle + 1; policy accept;\n{rules} }}\n \
         chain mute {{ type filter hook output priority raw; policy accept;\n  ip saddr {VIP} drop\n }}\n \
         chain onward {{ type route hook output priority mangle; policy accept;\n  \
         ip daddr {VIP} meta mark set ct mark\n }}\n"
    )
}

/// Each client group with each zone of backends that is far from it.
fn far_pairs(scenario: &Scenario) -> BTreeSet<(ClientId, ZoneId)> {
    let zones: BTreeSet<ZoneId> = scenario.backends.iter().map(|spec| spec.zone).collect();
    let pairs = scenario.clients.ids().flat_map(|client| zones.iter().map(move |zone| (client, *zone)));
    pairs.filter(|(client, zone)| round_trip(scenario, *client, *zone).is_some()).collect()
}

/// The fields that a packet is hashed by.
fn hashed(affinity: SessionAffinity) -> &'static str {
    match affinity.fields(PacketClass::Ports) {
        Fields::Five => "ip saddr . ip daddr . ip protocol . tcp sport . tcp dport",
        Fields::Three => "ip saddr . ip daddr . ip protocol",
        Fields::Two => "ip saddr . ip daddr",
        Fields::Source => "ip saddr",
    }
}

fn ruleset(scenario: &Scenario, forwarding: Forwarding, seed: u32) -> String {
    let fields = match forwarding {
        Forwarding::Marks => hashed(scenario.first_balancer().settings.session_affinity),
        Forwarding::Dnat => hashed(SessionAffinity::None),
    };
    let hash = format!("meta mark set jhash {fields} mod {ENTRIES} seed {seed:#x} offset {FIRST_HASH}");
    let (value, hook) = match forwarding {
        Forwarding::Marks => ("mark", "type filter hook prerouting priority mangle"),
        Forwarding::Dnat => ("ipv4_addr", "type nat hook prerouting priority dstnat"),
    };
    let mut rules = String::from("table ip lab {\n");
    let mut inward = String::new();
    let origins = origins(scenario);
    for number in 0..origins.len() {
        let picked = match forwarding {
            Forwarding::Marks => format!(
                "{hash}\n meta mark set meta mark map @table{number}\n meta mark >= {FIRST_HASH} drop\n ct mark set meta mark"
            ),
            Forwarding::Dnat => format!("{hash}\n dnat to meta mark map @table{number}\n drop"),
        };
        let _ = writeln!(
            rules,
            " map table{number} {{ type mark : {value}; }}\n chain pick{number} {{\n {picked}\n }}"
        );
    }
    for (client, group) in scenario.clients.pairs() {
        let name = Host::Client(client.index()).name();
        let number =
            origins.iter().position(|origin| *origin == group.origin).expect("every origin has a table");
        inward += &match forwarding {
            Forwarding::Marks => format!(
                "  iifname {name} tcp flags & (fin | syn | rst | ack) == syn goto pick{number}\n  \
                 iifname {name} ct mark 0 goto pick{number}\n  \
                 iifname {name} ct mark @ended goto pick{number}\n  \
                 iifname {name} meta mark set ct mark\n"
            ),
            Forwarding::Dnat => format!("  iifname {name} ip daddr {VIP} goto pick{number}\n"),
        };
    }
    // What has no backend is dropped without a word.
    let astray = match forwarding {
        Forwarding::Marks => format!("  ip daddr {VIP} meta mark 0 drop\n"),
        Forwarding::Dnat => String::new(),
    };
    let devices: Vec<String> = scenario.backends.ids().map(|id| Host::Backend(id.index()).name()).collect();
    let (devices, probers) = (devices.join(", "), Host::Probers.sources());
    let far = match forwarding {
        Forwarding::Marks => far(scenario),
        Forwarding::Dnat => String::new(),
    };
    rules
        + &far
        + &format!(
            " set ended {{ type mark; }}\n chain inward {{ {hook}; policy accept;\n{inward}{astray} }}\n}}\n\
             table netdev lab {{\n set silent {{ type ifname; }}\n set unprobed {{ type ifname; }}\n chain loss {{ }}\n \
             chain toward {{ type filter hook egress devices = {{ {devices} }} priority 0; policy accept;\n  \
             oifname @silent drop\n  oifname @unprobed ip saddr {probers} drop\n  jump loss\n }}\n \
             chain back {{ type filter hook ingress devices = {{ {devices} }} priority 0; policy accept;\n  \
             iifname @silent drop\n  jump loss\n }}\n}}\n"
        )
}

fn nft(commands: &str) -> Result<(), LabError> {
    run("nft", &["-f", "-"], commands).map(drop)
}

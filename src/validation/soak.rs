//! Random worlds, each put together from parts: whatever stands together in a file runs, loses no connection, and runs the
//! same again. A world is known by its number, so that one that fails can be looked at.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::experiment::{Experiment, Overrides, Source};
use crate::job::runner::{RunId, run_one};
use crate::random::{Purpose, RunSeed, below};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::Scenario;

const SERVICES: &[&str] = &[
    r#"zonal_affinity = { spillover = "SPILL_CROSS_ZONE", spillover_ratio = 0.5 }, allow_global_access = true"#,
    r#"zonal_affinity = { spillover = "STAY_WITHIN_ZONE" }, protocol = "UNSPECIFIED""#,
    r#"session_affinity = "CLIENT_IP", connection_tracking_policy = { tracking_mode = "PER_SESSION", idle_timeout = "700s" }, protocol = "UNSPECIFIED""#,
    r#"failover_policy = { failover_ratio = 0.7, drop_traffic_if_unhealthy = true, disable_connection_drain_on_failover = true }"#,
    r#"failover_policy = { failover_ratio = 0.3 }, connection_draining = { draining_timeout = "20s" }, connection_tracking_policy = { connection_persistence_on_unhealthy_backends = "ALWAYS_PERSIST" }"#,
    r#"connection_tracking_policy = { connection_persistence_on_unhealthy_backends = "NEVER_PERSIST" }, allow_global_access = true, protocol = "UNSPECIFIED""#,
    r#"load_balancing_scheme = "EXTERNAL", maglev_table_size = 251, session_affinity = "CLIENT_IP_PROTO""#,
];

const CHECKS: &[&str] = &[
    "",
    r#"check_interval = "2s", timeout = "1s", through_queue = true"#,
    r#"check_interval = "3s", probers = { count = 3, verdict = "majority" }, timeout = "3s", propagation_delay = "700ms""#,
    r#"type = "HTTP", check_interval = "2s", timeout = "2s""#,
    r#"check_interval = "4s", timeout = "4s", probe_retransmission = false"#,
    r#"check_interval = "4s", timeout = "4s", probers = { count = 3, verdict = "majority" }, probe_retransmission = true, through_queue = true"#,
    r#"type = "HTTP", initial_state = "HEALTHY", unhealthy_threshold = 1, through_queue = true, timeout = "5s""#,
];

const SERVERS: &[&str] = &[
    r#"workers = 2"#,
    r#"workers = "unlimited""#,
    r#"workers = 2, queue_limit = 3, discipline = "processor_sharing""#,
    r#"workers = 3, service_time = { lognormal = { median = "2s", sigma = 2.0 } }"#,
    r#"workers = 1, queue_limit = 0, slow_start = { duration = "10s", factor = 4.0 }"#,
    r#"workers = 3, failures = { time_to_failure = { exponential = { mean = "30s" } }, time_to_repair = { exponential = { mean = "10s" } }, mode = "serving_only" }"#,
    r#"workers = 2, discipline = "processor_sharing", failures = { time_to_failure = { weibull = { scale = "30s", shape = 2.0 } }, time_to_repair = { constant = "5s" }, mode = "refuse" }"#,
];

const CLIENTS: &[&str] = &[
    r#"{ name = "c1", kind = "vm", zone = "a", arrivals = { poisson = { rate = 15.0 } }, request_timeout = "3s" }"#,
    r#"{ name = "c2", kind = "vpn", arrivals = { mmpp = { rates = [1.0, 40.0], mean_dwell = "5s" } }, retries = 2, retry_backoff = { base = "300ms", jitter = 0.5 } }"#,
    r#"{ name = "c3", kind = "vm", region = "elsewhere", arrivals = { closed = { population = 20, think_time = { exponential = { mean = "1s" } } } }, addresses = 3 }"#,
    r#"{ name = "c4", kind = "vm", zone = "b", arrivals = { diurnal = { mean_rate = 10.0, peak_to_mean = 1.8, period = "40s" } }, max_age = "2s", connection = { requests = { geometric = { mean = 8.0 } }, think_time = { constant = "500ms" } } }"#,
    r#"{ name = "c5", kind = "backend", group = "ga", arrivals = { deterministic = { rate = 5.0 } } }"#,
    r#"{ name = "c7", kind = "vm", zone = "a", arrivals = { poisson = { rate = 0.5 } }, connection = { requests = { constant = 600 }, think_time = { constant = "20ms" } } }"#,
    r#"{ name = "c6", kind = "interconnect", arrivals = { poisson = { rate = 8.0 } }, connect_timeout = "800ms", retries = 1 }"#,
    r#"{ name = "c8", kind = "vm", zone = "b", arrivals = { poisson = { rate = 4.0 } }, connect_timeout = "8760h", request_timeout = "8760h", syn_retransmission = "linux" }"#,
    r#"{ name = "c9", kind = "vpn", arrivals = { poisson = { rate = 6.0 } }, connect_timeout = "20s", syn_retransmission = ["500ms", "2s"] }"#,
];

/// Only where the load balancer takes UDP.
const DATAGRAMS: &str = r#"{ name = "u", kind = "vm", zone = "b", protocol = "UDP", fragmented = 0.4, arrivals = { poisson = { rate = 10.0 } }, request_timeout = "2s" }"#;

const FAULTS: &[&str] = &[
    r#"{ at = "12s", duration = "10s", target = { zone = "a" } }"#,
    r#"{ at = "15s", duration = "20s", target = { group = "gb", fraction = 0.5 }, kind = "refuse" }"#,
    r#"{ at = "10s", target = { backends = ["ga-1", "gb-1"] }, kind = "slow", factor = 8.0 }"#,
    r#"{ at = "18s", duration = "9s", target = { group = "ga" }, kind = "probe_block", flapping = { period = "3s", active = "2s" } }"#,
    r#"{ at = "14s", duration = "9s", target = { group = "gb" }, kind = "serving_only" }"#,
    r#"{ at = "17s", duration = "9s", target = { zone = "b" }, kind = "unhealthy_only" }"#,
    r#"{ at = "11s", target = { link = ["a", "b"] }, kind = "link_loss", probability = 0.2 }"#,
    r#"{ at = "11s", target = { link = ["a", "a"] }, kind = "link_loss", probability = 0.2 }"#,
    r#"{ at = "16s", duration = "9s", target = { link = ["b", "b"] }, kind = "link_delay", added_rtt = "300ms" }"#,
    r#"{ at = "20s", target = { group = "gb" }, kind = "rolling_restart", batch = 2, grace = "2s", restart = "3s", pause = "1s" }"#,
    r#"{ target = { zone = "b" }, random = { time_between = { exponential = { mean = "15s" } }, duration = { exponential = { mean = "4s" } } } }"#,
];

/// Only where the world begins in its long run.
const RARE: &str = r#"{ target = { zone = "a" }, kind = "refuse", random = { time_between = { exponential = { mean = "10m" } }, duration = { exponential = { mean = "5s" } }, at_least_one = true } }"#;

const OPERATIONS: &[&str] = &[
    r#"{ at = "13s", do = "set_session_affinity", session_affinity = "CLIENT_IP" }"#,
    r#"{ at = "17s", do = "add_instances", group = "gb", count = 2 }"#,
    r#"{ at = "21s", do = "remove_instances", backends = ["gb-2"] }"#,
    r#"{ at = "25s", do = "set_backend_failover", group = "gb", failover = true }"#,
    r#"{ at = "31s", do = "set_backend_failover", group = "gb", failover = false }"#,
    r#"{ at = "28s", do = "drain", zone = "b" }"#,
];

/// The parts of a world.
#[derive(Debug)]
struct Parts {
    service: &'static str,
    check: &'static str,
    server: &'static str,
    clients: Vec<&'static str>,
    faults: Vec<&'static str>,
    operations: Vec<&'static str>,
    autoscaled: bool,
    stationary: bool,
}

/// Chooses parts.
struct Chooser<R>(R);

impl<R: rand::Rng> Chooser<R> {
    fn below(&mut self, count: usize) -> usize {
        below(self.0.next_u64(), count as u64) as usize
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// From `least` to `most` of them, in their order.
    fn some(&mut self, of: &[&'static str], least: usize, most: usize) -> Vec<&'static str> {
        let count = least + self.below(most - least + 1);
        let mut chosen: Vec<usize> = (0..of.len()).collect();
        while chosen.len() > count {
            chosen.remove(self.below(chosen.len()));
        }
        chosen.into_iter().map(|index| of[index]).collect()
    }

    fn parts(&mut self) -> Parts {
        let server = self.one(SERVERS);
        let stationary = self.below(3) == 0;
        let rare = (stationary && self.below(2) == 0).then_some(RARE);
        Parts {
            stationary,
            service: self.one(SERVICES),
            check: self.one(CHECKS),
            server,
            clients: self.some(CLIENTS, 1, CLIENTS.len()),
            faults: self.some(FAULTS, 0, 4).into_iter().chain(rare).collect(),
            operations: self.some(OPERATIONS, 0, 3),
            autoscaled: self.below(2) == 1 && !server.contains("unlimited"),
        }
    }
}

/// The experiment file of the world of this number.
pub fn world(number: u64) -> String {
    let generator = RunSeed::new(number, 0).stream(Purpose::Arrivals, "soak").generator();
    Chooser(generator).parts().text(number)
}

impl Parts {
    fn text(&self, number: u64) -> String {
        let Self { service, check, server, .. } = self;
        let health = if self.stationary { "stationary" } else { "all_up" };
        let law = r#", service_time = { gamma = { mean = "40ms", shape = 0.7 } }"#;
        let server = format!("{server}{}", if server.contains("service_time") { "" } else { law });
        let mut clients = self.clients.join(", ");
        if service.contains("UNSPECIFIED") {
            clients += &format!(", {DATAGRAMS}");
        }
        let rule = if service.contains("UNSPECIFIED") { "L3_DEFAULT" } else { "TCP" };
        let policy = if self.autoscaled {
            r#", autoscaling_policy = { min_num_replicas = 1, max_num_replicas = 6, boot_time = "1s", cool_down_period = "2s", evaluation_interval = "1s", stabilization_period = "0s" }"#
        } else {
            ""
        };
        format!(
            r#"
            name = "random"
            simulation = {{ seed = {number}, replications = 1, warmup = "9s", duration = "1m", sample_interval = "7s", initial_health = "{health}" }}
            region = {{ name = "r", zones = ["a", "b"] }}
            server = {{ {server} }}
            health_check = {{ {check} }}
            clients = [{clients}]
            faults = [{}]
            operations = [{}]
            forwarding_rule = {{ ip_protocol = "{rule}" }}
            backend_service = {{ {service}, backends = [
                {{ group = "ga", zone = "a", size = 3{policy} }},
                {{ group = "gb", zone = "b", size = 3 }},
                {{ group = "gc", zones = ["a", "b"], size = 2, failover = true }},
            ] }}
            "#,
            self.faults.join(", "),
            self.operations.join(", ")
        )
    }
}

/// What happens in the world of this number.
///
/// # Errors
/// What is wrong with it.
pub fn survive(number: u64) -> Result<Outcome, String> {
    let run = || {
        let source = Source { name: format!("world {number}"), text: world(number) };
        let experiment =
            Experiment::parse(source, &Overrides::default()).map_err(|error| error.to_string())?;
        let id = RunId { cell: 0, replication: 0 };
        let first = run_one(&experiment, id).map_err(|error| error.to_string())?;
        check(&experiment.scenario(&experiment.cells()[0]), &first)?;
        let again = run_one(&experiment, id).map_err(|error| error.to_string())?;
        if first == again { Ok(first) } else { Err("another run differs".to_owned()) }
    };
    let caught = catch_unwind(AssertUnwindSafe(run));
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned())
    })
}

/// Checks what holds in every run, beside the conservation that is asserted at the end of each.
fn check(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    let holds = |is_so: bool, what: &str| if is_so { Ok(()) } else { Err(what.to_owned()) };
    let window = scenario.timing.duration.as_nanos();
    for backend in outcome.backends.iter() {
        let times = backend.unhealthy_nanos <= backend.configured_nanos && backend.configured_nanos <= window;
        holds(times, "a backend is longer unhealthy than configured, or configured than measured")?;
        let shares = [backend.utilization(), backend.peak_utilization].into_iter().flatten();
        holds(
            shares.into_iter().all(|share| (0.0..=1.0 + 1e-9).contains(&share)),
            "a backend is busy beyond its workers",
        )?;
        holds(backend.mean_queue_length.is_none_or(|length| length >= 0.0), "a queue is shorter than empty")?;
        holds(backend.mean_wait.is_none_or(|wait| wait >= 0.0), "a wait is shorter than none")?;
    }
    for row in &outcome.timeline.zones {
        for (zone, sample) in row.pairs() {
            let members = scenario.backends.iter().filter(|spec| spec.zone == zone).count() as f64;
            holds((0.0..=members).contains(&sample.healthy), "more backends are healthy than there are")?;
        }
    }
    holds(outcome.timeline.traffic.len() == scenario.timing.samples(), "the timeline has another length")?;
    holds(outcome.conntrack_hits <= outcome.conntrack_lookups, "more lookups hit than there are")
}

/// What became of many worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Soak {
    /// The number of the first world.
    pub first: u64,
    /// How many ran, each twice.
    pub worlds: u64,
    /// Events of one run of each.
    pub events: u64,
    /// Connections of one run of each.
    pub connections: u64,
    /// Connections of them that failed, of those that were measured.
    pub failed: u64,
    /// The numbers of those that something is wrong with, and what.
    pub wrong: Vec<(u64, String)>,
}

/// Runs `count` worlds from the number `first` on, on so many threads; tells `progress` how many are done, which may end it.
pub fn soak(first: u64, count: u64, jobs: usize, mut progress: impl FnMut(u64) -> bool) -> Soak {
    let (next, stops) = (AtomicU64::new(0), AtomicBool::new(false));
    let found = Mutex::new(Soak { first, ..Soak::default() });
    let work = || {
        while !stops.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let survived = survive(first + index);
            let mut found = found.lock().expect("nothing panics while it counts");
            found.worlds += 1;
            match survived {
                Ok(outcome) => {
                    found.events += outcome.events;
                    found.connections += outcome.opened;
                    found.failed += outcome.total().failed_connections;
                }
                Err(why) => found.wrong.push((first + index, why)),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(std::time::Duration::from_millis(50));
            if progress(found.lock().expect("nothing panics while it counts").worlds) {
                stops.store(true, Ordering::Relaxed);
            }
        }
    });
    let mut found = found.into_inner().expect("nothing panics while it counts");
    found.wrong.sort();
    found
}

impl Soak {
    /// The page that says what became of them.
    pub fn render(&self) -> String {
        let Self { first, worlds, events, connections, failed, wrong } = self;
        let mut text = format!(
            "# Random worlds\n\n\
             Made by `zonesim validate --soak {worlds}`. Each world is put together from random parts (service, health check, \
             server, clients, faults, operations, autoscaling) and is run twice. Every run asserts that no connection and no byte is \
             lost; beside that queues, shares, times and timelines are checked, and that both runs are the same.\n\n\
             | worlds from number {first} on | events of one run each | connections | failed | panics, lost connections, differences |\n\
             |---|---|---|---|---|\n\
             | {worlds} | {events} | {connections} | {failed} | {} |\n",
            wrong.len()
        );
        for (number, why) in wrong {
            let _ = writeln!(text, "\nWorld {number}: {why}");
        }
        text
    }
}

//! Overrides of the command line.

use std::sync::Arc;

use super::{SMALL, changed, parse, parse_with, refusal, set};
use crate::experiment::{Experiment, Overrides};
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::random::Distribution;
use crate::sim::scenario::{Scenario, Workers};
use crate::time::SimDuration;

fn overridden(assignments: &[(&str, &str)]) -> Experiment {
    parse_with(SMALL, &set(assignments)).unwrap()
}

fn first(experiment: &Experiment) -> Arc<Scenario> {
    experiment.scenario(&experiment.cells()[0])
}

#[test]
fn an_override_is_like_a_changed_file() {
    for (path, value, old, new) in [
        ("server.workers", "unlimited", "workers = 8", "workers = \"unlimited\""),
        ("server.workers", " 9 ", "workers = 8", "workers = 9"),
        ("simulation.warmup", "30s", "warmup = \"1m\"", "warmup = \"30s\""),
        ("simulation.sample_interval", "1s", "seed = 7", "seed = 7\nsample_interval = \"1s\""),
        ("clients.web-a.arrivals.poisson.rate", "5", "{ rate = 20.0 }", "{ rate = 5 }"),
        (
            "clients.web-a.arrivals.deterministic.rate",
            "5",
            "poisson = { rate = 20.0 }",
            "deterministic = { rate = 5 }",
        ),
        ("clients.web-a.arrivals", "{ poisson = { rate = 5 } }", "{ rate = 20.0 }", "{ rate = 5 }"),
        ("clients.office.kind", "interconnect", "\"vpn\"", "\"interconnect\""),
        ("backend_service.backends.ig-b.failover", "false", "failover = true", "failover = false"),
        (
            "backend_service.backends.ig-b.server.workers",
            "1",
            "size = 3",
            "size = 3\nserver = { workers = 1 }",
        ),
        ("faults.0.target.fraction", "0.25", "fraction = 0.5", "fraction = 0.25"),
        (
            "faults.0.target",
            "{ group = 'ig-b' }",
            "zone = \"us-central1-a\", fraction = 0.5",
            "group = \"ig-b\"",
        ),
        ("prices.inter_zone_per_gib", "0.02", "[server]", "[prices]\ninter_zone_per_gib = 0.02\n[server]"),
        ("server.failures", "{}", "workers = 8", "workers = 8\nfailures = {}"),
        ("server.failures.mode", "refuse", "workers = 8", "workers = 8\nfailures = { mode = \"refuse\" }"),
        ("health_check.probers.phase", "1s", "timeout = \"5s\"", "timeout = \"5s\"\nprobers.phase = \"1s\""),
        ("server.service_time.constant", "4ms", "exponential = { mean = \"5ms\" }", "constant = \"4ms\""),
        ("server.service_time.exponential.mean", "4ms", "mean = \"5ms\"", "mean = \"4ms\""),
        ("network.cross_zone_rtt.lognormal.sigma", "0", "sigma = 0.35", "sigma = 0"),
        ("simulation.seed", "8", "seed = 7", "seed = 8"),
        ("name", "'1'", "\"small\"", "\"1\""),
    ] {
        let (changed, overridden) = (parse(&changed(old, new)).unwrap(), overridden(&[(path, value)]));
        assert_eq!(first(&overridden), first(&changed), "{path}={value}");
        assert_eq!(
            (overridden.seed(), overridden.name()),
            (changed.seed(), changed.name()),
            "{path}={value}"
        );
    }
}

#[test]
fn a_part_of_a_default_leaves_its_other_parts() {
    let rtt = |experiment: &Experiment| {
        first(experiment).round_trips.iter().next().unwrap().iter().next().unwrap().clone()
    };
    let micros = |micros: u64| SimDuration::from_nanos(micros * 1000);
    let experiment = overridden(&[("network.same_zone_rtt.lognormal.median", "90us")]);
    assert_eq!(rtt(&experiment), Distribution::lognormal(micros(90), 0.4).unwrap());
    let experiment = overridden(&[("network.same_zone_rtt.constant", "90us")]);
    assert_eq!(rtt(&experiment), Distribution::constant(micros(90)));
    let experiment = overridden(&[("clients.web-a.connection.response_bytes.lognormal.sigma", "2")]);
    let profile = first(&experiment).clients.iter().next().unwrap().connection.clone();
    assert_eq!(profile.response_bytes, Distribution::lognormal(16_384.0, 2.0).unwrap());
}

#[test]
fn the_command_line_loses_to_arms_and_wins_over_the_file() {
    let experiment = overridden(&[
        ("backend_service.zonal_affinity.spillover", "DISABLED"),
        ("server.workers", "3"),
        ("server.workers", "4"),
    ]);
    let scenarios: Vec<_> = experiment.cells().iter().map(|cell| experiment.scenario(cell)).collect();
    assert_eq!(scenarios[0].first_balancer().settings.policy.get().zonal_affinity(), ZonalAffinity::Disabled);
    assert_eq!(
        scenarios[4].first_balancer().settings.policy.get().zonal_affinity(),
        ZonalAffinity::StayWithinZone
    );
    let workers = scenarios[0].groups.iter().next().unwrap().server.workers;
    assert!(matches!(workers, Workers::Limited(count) if count.get() == 4), "the last one wins");
}

#[test]
fn a_value_that_no_cell_keeps_is_refused() {
    let error = refusal(SMALL, &set(&[("clients.web-a.addresses", "3")]));
    let told = "`clients.web-a.addresses` has this value in no cell: arms spill, stay set it";
    assert!(error.contains(told), "{error}");
}

#[test]
fn flags_for_seed_and_replications() {
    let overrides = Overrides { seed: Some(99), replications: Some(3), ..set(&[("simulation.seed", "98")]) };
    let experiment = parse_with(SMALL, &overrides).unwrap();
    assert_eq!((experiment.seed(), experiment.replications()), (99, 3));
    let error = refusal(SMALL, &Overrides { seed: Some(u64::MAX), ..Overrides::default() });
    assert!(error.contains("--seed 18446744073709551615"), "{error}");
    let error = refusal(SMALL, &Overrides { replications: Some(0), ..Overrides::default() });
    assert!(
        error.contains("`simulation.replications` can't be 0") && error.contains("--replications 0"),
        "{error}"
    );
}

#[test]
fn arms_and_thresholds_can_be_overridden_too() {
    let experiment = overridden(&[
        ("arms.spill.sweep.\"backend_service.zonal_affinity.spillover_ratio\"", "[0.75]"),
        ("sweep.clients.web-a.addresses", "[7]"),
        ("arms.stay.set.server.workers", "7"),
        ("thresholds.0.max", "0.5"),
    ]);
    assert_eq!(experiment.cells().len(), 2);
    assert_eq!(experiment.cells()[0].values[0].as_ref().unwrap().as_str(), "0.75");
    assert_eq!(experiment.thresholds()[0].limits.max, Some(0.5));
    let server = experiment.scenario(&experiment.cells()[1]).groups.iter().next().unwrap().server.clone();
    assert!(matches!(server.workers, Workers::Limited(count) if count.get() == 7));
    assert_eq!(server.service_time, first(&experiment).groups.iter().next().unwrap().server.service_time);
}

#[test]
fn the_document_keeps_comments_and_is_the_same_experiment() {
    let text = changed("workers = 8", "# how many\nworkers = 8 # at a time");
    let assignments = [
        ("server.workers", "9"),
        ("server.queue_limit", "5"),
        ("clients.web-a.arrivals.poisson.rate", "21.5"),
        ("clients.office.connection.requests.constant", "1"),
        ("prices.inter_zone_per_gib", "0.02"),
        ("faults.0.target.fraction", "1"),
        ("health_check.probers.phase", "2s"),
    ];
    let experiment = parse_with(&text, &set(&assignments)).unwrap();
    let document = experiment.document();
    let lines: Vec<&str> = document.lines().filter(|line| !text.lines().any(|old| old == *line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    probers = { phase = "2s" }
    workers = 9 # at a time
    queue_limit = 5
    arrivals = { poisson = { rate = 21.5 } }
    connection = { requests = { constant = 1 } }
    target = { zone = "us-central1-a", fraction = 1 }
    [prices]
    inter_zone_per_gib = 0.02
    "#);
    assert!(document.contains("# how many\nworkers = 9 # at a time\n"));
    let again = parse(document).unwrap();
    assert_eq!(again.cells(), experiment.cells());
    for cell in experiment.cells() {
        assert_eq!(again.scenario(cell), experiment.scenario(cell));
    }
    assert_eq!(parse(SMALL).unwrap().document(), SMALL);
}

#[test]
fn bad_overrides_are_shown_as_they_were_written() {
    for (path, value, says, helps) in [
        ("server.worker", "9", "`server.worker` is not a known key", "did you mean `workers`?"),
        ("srver.workers", "9", "`srver` is not a known key", "did you mean `server`?"),
        ("server.workers", "none", "`server.workers` can't be \"none\"", "\"unlimited\""),
        ("server..workers", "9", "\"server..workers\" is not a path", "dots between them"),
        ("", "9", "\"\" is not a path", "dots between them"),
        ("server", "9", "`server` can't be 9", "a table with keys of workers, queue_limit"),
        ("clients.web-z.addresses", "5", "names no member of `clients`", "its members: web-a, office"),
        ("clients.0.addresses", "5", "names no member of `clients`", "its members: web-a, office"),
        ("clients.web-a", "5", "is a whole member of a list", "name one of its keys"),
        ("faults", "5", "`faults` can't be 5", "a list in square brackets"),
        ("faults.1.at", "5s", "names no member of `faults`", "numbered from 0 to 0"),
        ("simulation.seed.x", "5", "leads through `simulation.seed`, which is 7", "end the path there"),
        (
            "region.zones.0.x",
            "5",
            "leads through `region.zones.0`, which is \"us-central1-a\"",
            "end the path",
        ),
        (
            "health_check.check_interval",
            "2s",
            "TimeoutSec should be less than checkIntervalSec",
            "at most 2s",
        ),
        ("faults.0.at", "96000h", "longer than any run", "at most 3650d"),
        (
            "clients.web-a.arrivals.posson.rate",
            "5",
            "`clients.web-a.arrivals.posson` is not",
            "mean `poisson`?",
        ),
        ("name", "5", "`name` can't be 5", "text in quotes"),
        ("sweep", "5", "`sweep` can't be 5", "a table of paths and values"),
        ("arms", "[]", "`arms` is empty", "a single arm, \"base\""),
        ("arms.stay.set.\"server.workers\"", "0", "`server.workers` can't be 0", "\"unlimited\""),
    ] {
        let error = refusal(SMALL, &set(&[("server.queue_limit", "3"), (path, value)]));
        assert!(
            error.lines().next().is_some_and(|title| title.contains(says)),
            "{path} says {says}:\n{error}"
        );
        assert!(
            error.contains(&format!("test.toml, overridden by --set {path}={value}\n")),
            "{path}:\n{error}"
        );
        assert!(
            error.rsplit_once("help: ").is_some_and(|(_, help)| help.contains(helps)),
            "{path}:\n{error}"
        );
    }
}

#[test]
fn an_error_of_the_file_is_not_blamed_on_an_override() {
    let error = refusal(&changed("workers = 8", "workers = 0"), &set(&[("server.queue_limit", "3")]));
    assert!(error.contains("test.toml:35:11"), "{error}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is a file, before and after")]
fn files_of_any_layout_can_be_overridden() {
    let text = r#"# no table header comes first
name = "layout"
region = { name = "us-central1", zones = ["us-central1-a"] } # one zone
simulation.duration = "1m" # dotted
clients = [
  # the only ones
  { name = "web", kind = "vm", zone = "us-central1-a", arrivals = { poisson = { rate = 1 } } },
]
[server.failures] # no [server]
mode = "silent"
[backend_service.zonal_affinity]
spillover = "DISABLED"
[[backend_service.backends]]
group = "ig"
zone = "us-central1-a"
[backend_service.backends.server]
workers = 1
# the end
"#;
    let assignments = [
        ("simulation.seed", "5"),
        ("simulation.duration", "2m"),
        ("clients.web.arrivals.deterministic.rate", "2"),
        ("clients.web.connection.requests.geometric.mean", "2"),
        ("server.workers", "9"),
        ("server.failures.mode", "refuse"),
        ("backend_service.zonal_affinity.spillover_ratio", "0.5"),
        ("backend_service.backends.ig.server.queue_limit", "3"),
        ("backend_service.backends.ig.size", "2"),
        ("network.links", "[]"),
        ("description", "changed"),
    ];
    let experiment = parse_with(text, &set(&assignments)).unwrap();
    insta::assert_snapshot!(experiment.document(), @r#"
    # no table header comes first
    name = "layout"
    region = { name = "us-central1", zones = ["us-central1-a"] } # one zone
    simulation.duration = "2m" # dotted
    simulation.seed = 5
    clients = [
      # the only ones
      { name = "web", kind = "vm", zone = "us-central1-a", arrivals = { deterministic = { rate = 2 } }, connection = { requests = { geometric = { mean = 2 } } } },
    ]
    description = "changed"

    [server]
    workers = 9
    [server.failures] # no [server]
    mode = "refuse"
    [backend_service.zonal_affinity]
    spillover = "DISABLED"
    spillover_ratio = 0.5
    [[backend_service.backends]]
    group = "ig"
    zone = "us-central1-a"
    size = 2
    [backend_service.backends.server]
    workers = 1
    queue_limit = 3

    [network]
    links = []
    # the end
    "#);
    let again = parse(experiment.document()).unwrap();
    assert_eq!(first(&again), first(&experiment));
    assert_eq!((again.seed(), again.description()), (5, "changed"));
}

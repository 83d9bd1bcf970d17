//! Errors as they look, to be read.

use super::{SMALL, changed, refusal, set};
use crate::experiment::{Experiment, ExperimentError, Overrides, Source};

fn wrong(old: &str, new: &str) -> String {
    refusal(&changed(old, new), &Overrides::default())
}

fn overridden(path: &str, value: &str) -> String {
    refusal(SMALL, &set(&[(path, value)]))
}

#[test]
fn of_text_and_keys() {
    insta::assert_snapshot!(wrong("[region]", "[region"), @r"
    error: this is not TOML: unclosed table, expected `]`
     --> test.toml:9:8
      |
    9 | [region
      |        ^
      |
      = help: write key = value, texts in double quotes, tables as [name], lists of tables as [[name]]
    ");
    insta::assert_snapshot!(wrong("[region]", "[regio]"), @"
    error: `regio` is not a known key
     --> test.toml:9:2
      |
    9 | [regio]
      |  ^^^^^
      |
      = help: did you mean `region`? known keys: backend_service, backend_services, clients, faults, forwarding_rule, forwarding_rules, health_check, health_checks, instance_groups, instances, load, network, network_endpoint_groups, operations and 14 more
    ");
    insta::assert_snapshot!(wrong("kind = \"vpn\"", "kid = \"vpn\""), @r#"
    error: `clients.office.kid` is not a known key
      --> test.toml:46:1
       |
    46 | kid = "vpn"
       | ^^^
       |
       = help: did you mean `kind`? known keys: name, kind, zone, region, group, to, destination_range, protocol, fragmented, destinations, addresses, arrivals, connection, connect_timeout and 5 more
    "#);
    insta::assert_snapshot!(wrong("arrivals = { deterministic = { rate = 2 } }\n", ""), @r"
    error: `clients.office` has no `arrivals`
      --> test.toml:44:1
       |
    44 | [[clients]]
       | ^^^^^^^^^^^
       |
       = help: add arrivals = { poisson = { rate = 200.0 } }
    ");
    insta::assert_snapshot!(refusal("", &Overrides::default()), @r#"
    error: the experiment has no `name`
    --> test.toml
     = help: add name = "some-name"
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "what users see is shown whole")]
fn of_values() {
    insta::assert_snapshot!(wrong("warmup = \"1m\"", "warmup = 60"), @r#"
    error: `simulation.warmup` can't be 60
     --> test.toml:6:10
      |
    6 | warmup = 60
      |          ^^
      |
      = help: write a duration with a unit, such as "2m", or "auto"
    "#);
    insta::assert_snapshot!(wrong("spillover_ratio = 0.5", "spillover_ratio = 1.5"), @r#"
    error: `backend_service.zonal_affinity.spillover_ratio`: 1.5 is not a ratio
      --> test.toml:17:70
       |
    17 | zonal_affinity = { spillover = "SPILL_CROSS_ZONE", spillover_ratio = 1.5 }
       |                                                                      ^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = help: write a number from 0.0 to 1.0
    "#);
    insta::assert_snapshot!(wrong("\"SPILL_CROSS_ZONE\"", "\"SPILL\""), @r#"
    error: `backend_service.zonal_affinity.spillover` can't be "SPILL"
      --> test.toml:17:32
       |
    17 | zonal_affinity = { spillover = "SPILL", spillover_ratio = 0.5 }
       |                                ^^^^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = help: did you mean `ZONAL_AFFINITY_SPILL_CROSS_ZONE`? supported values: ZONAL_AFFINITY_DISABLED, ZONAL_AFFINITY_STAY_WITHIN_ZONE, ZONAL_AFFINITY_SPILL_CROSS_ZONE
    "#);
    insta::assert_snapshot!(wrong("lognormal = {", "lognormal = { mean = \"1ms\","), @r#"
    error: `network.cross_zone_rtt.lognormal.mean` is not a known key
      --> test.toml:14:34
       |
    14 | cross_zone_rtt = { lognormal = { mean = "1ms", median = "190us", sigma = 0.35 } }
       |                                  ^^^^
       |
       = help: known keys: median, sigma
    "#);
    insta::assert_snapshot!(wrong("timeout = \"5s\"", "timeout = \"6s\""), @r#"
    error: `health_check.timeout`: Invalid value for field 'resource.timeoutSec': '6'. TimeoutSec should be less than checkIntervalSec
      --> test.toml:32:11
       |
    32 | timeout = "6s"
       |           ^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = help: make it at most 5s, the check_interval
    "#);
    insta::assert_snapshot!(wrong("{ zone = \"us-central1-a\"", "{ group = \"igb\""), @r#"
    error: `faults.0.target.group` names "igb", which does not exist
      --> test.toml:51:20
       |
    51 | target = { group = "igb", fraction = 0.5 }
       |                    ^^^^^
       |
       = help: did you mean `ig-b`? groups: ig-a, ig-b
    "#);
    insta::assert_snapshot!(wrong("[backend_service]", "[backend_service]\nsession_affinity = \"HTTP_COOKIE\""), @r#"
    error: `backend_service.session_affinity`: HTTP_COOKIE belongs to application load balancers, which see cookies and headers
      --> test.toml:17:20
       |
    17 | session_affinity = "HTTP_COOKIE"
       |                    ^^^^^^^^^^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = help: write one of NONE, CLIENT_IP_PORT_PROTO, CLIENT_IP_PROTO, CLIENT_IP, CLIENT_IP_NO_DESTINATION
    "#);
}

#[test]
fn in_a_cell() {
    insta::assert_snapshot!(wrong("[0.25, 0.5]", "[0.25, 1.5]"), @r#"
    error: `backend_service.zonal_affinity.spillover_ratio`: 1.5 is not a ratio
      --> test.toml:55:69
       |
    55 | sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.25, 1.5] }
       |                                                                     ^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = note: in arm `spill` with spillover_ratio = 1.5, addresses = 100
       = help: write a number from 0.0 to 1.0
    "#);
    insta::assert_snapshot!(wrong("[0.25, 0.5]", "{ from = 0.5, to = 1.5, step = 0.5 }"), @r#"
    error: `backend_service.zonal_affinity.spillover_ratio`: 1.5 is not a ratio
      --> test.toml:55:62
       |
    55 | sweep = { "backend_service.zonal_affinity.spillover_ratio" = { from = 0.5, to = 1.5, step = 0.5 } }
       |                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = note: in arm `spill` with spillover_ratio = 1.5, addresses = 100
       = help: write a number from 0.0 to 1.0
    "#);
    insta::assert_snapshot!(wrong("\"STAY_WITHIN_ZONE\"", "\"STAY\""), @r#"
    error: `backend_service.zonal_affinity.spillover` can't be "STAY"
      --> test.toml:59:54
       |
    59 | set = { "backend_service.zonal_affinity.spillover" = "STAY" }
       |                                                      ^^^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = note: in arm `stay` with addresses = 100
       = help: did you mean `ZONAL_AFFINITY_STAY_WITHIN_ZONE`? supported values: ZONAL_AFFINITY_DISABLED, ZONAL_AFFINITY_STAY_WITHIN_ZONE, ZONAL_AFFINITY_SPILL_CROSS_ZONE
    "#);
    insta::assert_snapshot!(wrong("affinity.spillover\"", "affinity.spilover\""), @r#"
    error: `backend_service.zonal_affinity.spilover` is not a known key
      --> test.toml:59:9
       |
    59 | set = { "backend_service.zonal_affinity.spilover" = "STAY_WITHIN_ZONE" }
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = note: in arm `stay` with addresses = 100
       = help: did you mean `spillover`? known keys: spillover, spillover_ratio
    "#);
    insta::assert_snapshot!(wrong("\"clients.web-a.addresses\" = [100", "\"health_check.check_interval\" = [\"6s\", \"4s\"]\n\"clients.web-a.addresses\" = [100"), @r#"
    error: `health_check.timeout`: Invalid value for field 'resource.timeoutSec': '5'. TimeoutSec should be less than checkIntervalSec
      --> test.toml:62:40
       |
    62 | "health_check.check_interval" = ["6s", "4s"]
       |                                        ^^^^
       |
       = note: the Compute API refuses this: 400 invalid
       = note: in arm `spill` with spillover_ratio = 0.25, check_interval = 4s, addresses = 100
       = help: make it at most 4s, the check_interval
    "#);
}

#[test]
fn on_the_command_line() {
    insta::assert_snapshot!(overridden("server.worker", "9"), @r"
    error: `server.worker` is not a known key
    --> test.toml, overridden by --set server.worker=9
     = help: did you mean `workers`? known keys: workers, queue_limit, service_time, discipline, failures, slow_start
    ");
    insta::assert_snapshot!(overridden("clients.web-z.addresses", "5"), @r"
    error: `clients.web-z.addresses` names no member of `clients`
    --> test.toml, overridden by --set clients.web-z.addresses=5
     = help: did you mean `web-a`? its members: web-a, office
    ");
    insta::assert_snapshot!(overridden("health_check.check_interval", "2s"), @r"
    error: `health_check.timeout`: Invalid value for field 'resource.timeoutSec': '5'. TimeoutSec should be less than checkIntervalSec
    --> test.toml, overridden by --set health_check.check_interval=2s
     = note: the Compute API refuses this: 400 invalid
     = help: make it at most 2s, the check_interval
    ");
    insta::assert_snapshot!(overridden("arms.stay.set.\"server.workers\"", "0"), @r#"
    error: `server.workers` can't be 0
    --> test.toml, overridden by --set arms.stay.set."server.workers"=0
     = note: in arm `stay` with addresses = 100
     = help: write a whole number of workers, 1 or more, or "unlimited"
    "#);
}

#[test]
fn of_a_file_that_is_not_there() {
    let read = |path: &str| Experiment::read(path.as_ref(), &Overrides::default()).unwrap_err().to_string();
    insta::assert_snapshot!(read("no/such/file.toml"), @r"
    error: `no/such/file.toml` can't be read: No such file or directory (os error 2)
    --> no/such/file.toml
     = help: name an experiment file, a text in TOML
    ");
    assert!(read("src").contains("`src` can't be read"));
}

#[test]
fn with_colour() {
    let source = Source { name: "x.toml".to_owned(), text: "name = 5".to_owned() };
    let error: ExperimentError = Experiment::parse(source, &Overrides::default()).unwrap_err();
    assert!(error.render(true).contains("\u{1b}["));
    assert!(!error.render(false).contains('\u{1b}'));
    assert_eq!(error.to_string(), error.render(false));
}

//! What the world does.

use std::fs;
use std::path::Path;

use super::{case, column, mean, run_case};
use crate::{assert_status, stderr, zonesim};

/// The sum of a column of `runs.csv`.
fn sum(folder: &Path, metric: &str) -> f64 {
    column(folder, "runs.csv", metric).iter().sum()
}

/// Asserts that `count` of `trials` is what probability `share` makes likely: within five standard deviations.
#[track_caller]
fn assert_share(count: f64, trials: f64, share: f64) {
    let tolerance = 5.0 * (trials * share * (1.0 - share)).sqrt();
    assert!((count - trials * share).abs() <= tolerance, "{count} of {trials}, expected {share}");
}

#[test]
fn a_machine_that_serves_nothing_calls_itself_in_vain() {
    let folder = case("own-calls-of-a-broken-machine");
    run_case(folder.path(), "own-calls-of-a-broken-machine", &[]);
    assert_share(sum(folder.path(), "failed_connections"), sum(folder.path(), "connections"), 1.0 / 3.0);
    assert_eq!(sum(folder.path(), "failed_connections"), sum(folder.path(), "failed_connect_timeout"));
}

#[test]
fn a_machine_that_is_dead_calls_nobody() {
    let folder = case("own-calls-of-a-broken-machine");
    let dead = ["--set", "faults.0.kind=silent"];
    run_case(folder.path(), "own-calls-of-a-broken-machine", &dead);
    assert_eq!(sum(folder.path(), "failed_connections"), 0.0);
    // Two of three machines at 60 calls a second, for five times three minutes.
    let (count, expected) = (sum(folder.path(), "connections"), 60.0 * 180.0 * 5.0 * 2.0 / 3.0);
    assert!((count - expected).abs() <= 5.0 * f64::sqrt(expected), "{count}, expected {expected}");
}

#[test]
fn a_draining_server_says_so_to_its_http_check_at_once() {
    let name = "error-reply-fails-a-probe-at-once";
    let folder = case(name);
    run_case(folder.path(), name, &[]);
    let (failed, all) = (sum(folder.path(), "failed_connections"), sum(folder.path(), "connections"));
    assert!(failed < 0.0005 * all, "{failed} of {all}");
    // A TCP check finds the port open until the grace ends.
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    let output = run_case(folder.path(), name, &["--set", "health_check.type=TCP"]);
    assert!(stderr(&output).contains("[grace-that-no-check-sees]"), "{}", stderr(&output));
    assert!(sum(folder.path(), "failed_refused") > 100.0);
}

#[test]
fn a_request_to_a_silent_backend_is_sent_again() {
    let folder = case("request-to-a-silent-backend");
    run_case(folder.path(), "request-to-a-silent-backend", &[]);
    assert_eq!(sum(folder.path(), "failed_request_timeout"), 0.0);
    let (resets, diverted) = (sum(folder.path(), "failed_reset"), sum(folder.path(), "diverted_connections"));
    // Two new connections a second think for 9 s each when the backend dies.
    assert!(resets == diverted && (resets - 90.0).abs() <= 5.0 * f64::sqrt(90.0), "{resets} of 90");
}

#[test]
fn a_rule_has_its_own_protocol() {
    let name = "rule-protocol-beside-an-unspecified-service";
    let folder = case(name);
    let output = run_case(folder.path(), name, &[]);
    assert!(stderr(&output).contains("[strict-rule-of-an-unspecified-service]"), "{}", stderr(&output));
    assert!(sum(folder.path(), "connections") > 1000.0 && sum(folder.path(), "failed_connections") == 0.0);
    let file = format!("{name}.toml");
    let all = ["--set", "forwarding_rule.ip_protocol=L3_DEFAULT"];
    let output = zonesim(folder.path(), &[&["run", file.as_str(), "--dry-run"], &all[..]].concat());
    assert_status(&output, 2);
    let why = stderr(&output);
    assert!(why.contains("a rule of protocol L3_DEFAULT drops everything"), "{why}");
}

#[test]
fn a_backup_pool_and_a_ratio_belong_together() {
    let folder = case("backup-pool-without-ratio");
    let file = folder.path().join("backup-pool-without-ratio.toml");
    let text = fs::read_to_string(&file).unwrap();
    let pool = "backup_pool = \"spare\"\n";
    for (text, words) in [
        (text.clone(), "`target_pools.www.backup_pool` has no failover ratio"),
        (
            text.replace(pool, "failover_ratio = 0.5\n"),
            "`target_pools.www.failover_ratio` has no backup pool",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let output = zonesim(folder.path(), &["run", "backup-pool-without-ratio.toml", "--dry-run"]);
        assert_status(&output, 2);
        let why = stderr(&output);
        assert!(why.contains(words) && why.contains("beside it: the two belong together"), "{why}");
        assert!(why.contains("the Compute API refuses this: 400 invalid"), "{why}");
    }
    fs::write(&file, text.replace(pool, &format!("{pool}failover_ratio = 0.5\n"))).unwrap();
    run_case(folder.path(), "backup-pool-without-ratio", &[]);
    // Clients of the internet are in no zone: what their traffic costs is not known, and so not $0.
    let cost = column(folder.path(), "runs.csv", "cross_zone_usd_per_month");
    assert!(cost.iter().all(|cost| cost.is_nan()), "{cost:?}");
    assert!(mean(folder.path(), "processing_usd_per_month") > 0.0);
}

#[test]
fn other_regions_reach_an_internal_load_balancer_with_global_access_only() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "far"
        region = { name = "r", zones = ["a"] }
        simulation = { replications = 1, warmup = "1m", duration = "1m" }
        backend_service.backends = [{ group = "g", zone = "a" }]
        clients = [
            { name = "vm", kind = "vm", region = "far", arrivals = { poisson = { rate = 5.0 } } },
            { name = "vpn", kind = "vpn", region = "far", arrivals = { poisson = { rate = 5.0 } } },
            { name = "line", kind = "interconnect", region = "farther", arrivals = { poisson = { rate = 5.0 } } },
            { name = "near", kind = "vpn", arrivals = { poisson = { rate = 5.0 } } },
        ]
    "#;
    fs::write(folder.path().join("far.toml"), text).unwrap();
    for (access, lost) in
        [(None, [1.0, 1.0, 1.0, 0.0]), (Some("true"), [0.0; 4]), (Some("false"), [1.0, 1.0, 1.0, 0.0])]
    {
        let set = access.map(|access| format!("backend_service.allow_global_access={access}"));
        let more: Vec<&str> = set.iter().flat_map(|set| ["--set", set.as_str()]).collect();
        run_case(folder.path(), "far", &more);
        for (client, lost) in ["vm", "vpn", "line", "near"].iter().zip(lost) {
            let clients = text_column(folder.path(), "client");
            let rows = |column_name: &str| -> f64 {
                let values = column(folder.path(), "traffic.csv", column_name);
                clients.iter().zip(values).filter(|(name, _)| name == client).map(|(_, value)| value).sum()
            };
            assert_eq!(rows("failed_connections"), lost * rows("connections"), "{client}, {access:?}");
        }
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

fn text_column(folder: &Path, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_path(folder.join("out/traffic.csv")).unwrap();
    let position = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|row| row.unwrap()[position].to_owned()).collect()
}

//! What is said about wrong files: where, what, and what to write instead.

use super::{changed, refusal, set};
use crate::experiment::Overrides;

/// Checks what is said about changes of the small experiment, one a line:
/// old text ⇒ new text ¦ line:column ¦ a part of the title ¦ a part of the remedy.
fn check(table: &str) {
    for row in table.lines().map(str::trim_start).filter(|row| !row.is_empty()) {
        let (old, rest) = row.split_once(" ⇒ ").expect("an arrow");
        let fields: Vec<&str> = rest.split(" ¦ ").collect();
        let [new, place, says, helps] = fields[..] else { panic!("four fields: {row}") };
        let text = changed(&old.replace("\\n", "\n"), &new.replace("\\n", "\n"));
        let error = refusal(&text, &Overrides::default());
        let (title, help) = (error.lines().next(), error.rsplit_once("help: ").map(|(_, help)| help));
        assert!(error.contains(&format!("--> test.toml:{place}\n")), "{row}\n{error}");
        assert!(title.is_some_and(|title| title.contains(says)), "{row}\n{error}");
        assert!(help.is_some_and(|help| help.contains(helps)), "{row}\n{error}");
    }
}

#[test]
fn the_text_itself() {
    check(
        r#"
        [region] ⇒ [region ¦ 9:8 ¦ not TOML: unclosed table ¦ [name]
        seed = 7 ⇒ seed = 7\nseed = 8 ¦ 5:1 ¦ not TOML: duplicate key ¦ key = value
        seed = 7 ⇒ seed = "7 ¦ 4:10 ¦ not TOML ¦ double quotes
        seed = 7 ⇒ seed = seven ¦ 4:8 ¦ not TOML ¦ double quotes
        [network] ⇒ [[network]] ¦ 13:1 ¦ `network` can't be a list ¦ single brackets, as in [server]
        [[faults]] ⇒ [faults] ¦ 49:1 ¦ `faults` can't be a table ¦ double brackets, as in [[clients]]
    "#,
    );
}

#[test]
fn names_of_keys() {
    check(
        r#"
        seed = 7 ⇒ sed = 7 ¦ 4:1 ¦ `simulation.sed` is not a known key ¦ did you mean `seed`?
        [region] ⇒ [regio] ¦ 9:2 ¦ `regio` is not a known key ¦ did you mean `region`?
        [region] ⇒ precison = {}\n[region] ¦ 9:1 ¦ `simulation.precison` is not ¦ did you mean `precision`?
        [[faults]] ⇒ [[operation]] ¦ 49:3 ¦ `operation` is not a known key ¦ mean `operations`?
        sigma = 0.35 ⇒ sigm = 0.35 ¦ 14:52 ¦ `network.cross_zone_rtt.lognormal.sigm` ¦ mean `sigma`?
        lognormal = { ⇒ normal = { ¦ 14:20 ¦ `network.cross_zone_rtt.normal` is ¦ mean `lognormal`?
        workers = 8 ⇒ worker = 8 ¦ 35:1 ¦ `server.worker` is not a known key ¦ mean `workers`?
        kind = "vpn" ⇒ kid = "vpn" ¦ 46:1 ¦ `clients.office.kid` is not ¦ mean `kind`?
        zone = "us-central1-a", fraction ⇒ zones = [], fraction ¦ 51:12 ¦ `faults.0.target.zones` ¦ `zone`?
        metric =  ⇒ metrics =  ¦ 65:1 ¦ `thresholds.0.metrics` is not ¦ mean `metric`?
        max = 0.01 ⇒ maximum = 0.01 ¦ 67:1 ¦ `thresholds.0.maximum` is not ¦ metric, arm, min, max
        set = { ⇒ sets = { ¦ 59:1 ¦ `arms.stay.sets` is not a known key ¦ mean `set`?
        [server] ⇒ [target_pools]\n[server] ¦ 34:2 ¦ a second load balancer ¦ keep one of the two
    "#,
    );
}

#[test]
fn missing_keys() {
    check(
        r#"
        , sigma = 0.35  ⇒  ¦ 14:32 ¦ `network.cross_zone_rtt.lognormal` has no `sigma` ¦ add sigma = 0.4
        kind = "vpn"\n ⇒  ¦ 44:1 ¦ `clients.office` has no `kind` ¦ add kind = "vm"
        arrivals = { deterministic = { rate = 2 } }\n ⇒  ¦ 44:1 ¦ has no `arrivals` ¦ arrivals = { poisson
        zone = "us-central1-b"\n ⇒  ¦ 24:1 ¦ `backend_service.backends.ig-b` has no `zone` ¦ zones = [
        kind = "vpn" ⇒ kind = "vm" ¦ 44:1 ¦ `clients.office` has no `zone` ¦ region = "…"
        at = "5m"\n ⇒  ¦ 49:1 ¦ `faults.0` has no `at` ¦ add at = "10m"
        zone = "us-central1-a", fraction ⇒ fraction ¦ 51:10 ¦ target` names no backends ¦ group = "…"
        max = 0.01 ⇒  ¦ 64:1 ¦ `thresholds.0` has neither `min` nor `max` ¦ max = 0.001
        name = "us-central1"\n ⇒  ¦ 9:1 ¦ `region` has no `name` ¦ add name
        name = "stay"\n ⇒  ¦ 57:1 ¦ `arms.1` has no `name` ¦ add name
    "#,
    );
}

#[test]
fn types_and_ranges() {
    check(
        r#"
        name = "small" ⇒ name = "Small One!" ¦ 1:8 ¦ can't name a results folder ¦ "small-one"
        name = "small" ⇒ name = ".." ¦ 1:8 ¦ can't name a results folder ¦ "my-experiment"
        seed = 7 ⇒ seed = -1 ¦ 4:8 ¦ `simulation.seed` can't be -1 ¦ a whole number, 0 or more
        replications = 2 ⇒ replications = 0 ¦ 5:16 ¦ can't be 0 ¦ from 1 to 1000000
        replications = 2 ⇒ replications = 2.0 ¦ 5:16 ¦ can't be 2.0 ¦ a whole number from 1
        warmup = "1m" ⇒ warmup = 60 ¦ 6:10 ¦ `simulation.warmup` can't be 60 ¦ a duration with a unit
        warmup = "1m" ⇒ warmup = "1" ¦ 6:10 ¦ `simulation.warmup`: "1" has no unit ¦ for example "1s"
        warmup = "1m" ⇒ warmup = "4000d" ¦ 6:10 ¦ can't be 4000d ¦ at most "3650d"
        "10m" ⇒ "0s" ¦ 7:12 ¦ `simulation.duration`: 0s is out of range ¦ above 0s
        "10m" ⇒ "10m"\nsample_interval = "1ms" ¦ 8:19 ¦ 10m into 600000 samples ¦ at least "6ms"
        sigma = 0.35 ⇒ sigma = -0.35 ¦ 14:18 ¦ `network.cross_zone_rtt`: lognormal needs ¦ sigma of 0 or more
        "190us" ⇒ 190 ¦ 14:43 ¦ lognormal.median` can't be 190 ¦ "70us"
        spillover_ratio = 0.5 ⇒ spillover_ratio = 1.5 ¦ 17:70 ¦ 1.5 is not a ratio ¦ from 0.0 to 1.0
        size = 2\n ⇒ size = 0\n ¦ 22:8 ¦ `backend_service.backends.ig-a.size` can't be 0 ¦ from 1 to 16384
        failover = true ⇒ failover = "yes" ¦ 28:12 ¦ can't be "yes" ¦ true or false
        workers = 8 ⇒ workers = 0 ¦ 35:11 ¦ `server.workers` can't be 0 ¦ or "unlimited"
        workers = 8 ⇒ workers = 2000-01-01 ¦ 35:11 ¦ can't be a date ¦ whole number of workers
        workers = 8 ⇒ queue_limit = 5000000000 ¦ 35:15 ¦ can't be 5000000000 ¦ to 4294967295
        rate = 2  ⇒ rate = 0  ¦ 47:39 ¦ `clients.office.arrivals.deterministic.rate`: 0 is ¦ above 0
        kind = "vpn" ⇒ kind = "vpn"\naddresses = 16777217 ¦ 47:13 ¦ can't be 16777217 ¦ to 16777216
        kind = "vpn" ⇒ kind = "vpn"\nretries = 101 ¦ 47:11 ¦ `clients.office.retries` can't be ¦ 0 to 100
        "office" ⇒ "a,b" ¦ 45:8 ¦ "a,b" is not a name ¦ leave out commas
        "office" ⇒ "" ¦ 45:8 ¦ the name is empty ¦ at least one character
        max = 0.01 ⇒ max = nan ¦ 67:7 ¦ `thresholds.0.max` can't be NaN ¦ finite
        max = 0.01 ⇒ max = 0.01\nmin = 1 ¦ 68:7 ¦ is 1, above `max` = 0.01 ¦ swap
    "#,
    );
}

#[test]
fn charts() {
    const CHART: &str = "[[charts]]\nmetric = \"failure_ratio\"\naxis = \"spillover_ratio\"\n";
    for (old, new, place, says, helps) in [
        ("failure_ratio", "failure_rate", "65:10", "names \"failure_rate\"", "did you mean `failure_ratio`?"),
        ("\"spillover_ratio", "\"spilover_ratio", "66:8", "names \"spilover_ratio\"", "`spillover_ratio`?"),
        (
            "axis = \"spillover_ratio\"\n",
            "",
            "64:1",
            "`charts.0` has no `axis`",
            "add axis = \"spillover_ratio\"",
        ),
        ("axis =", "facet = \"adresses\"\naxis =", "66:9", "names \"adresses\"", "did you mean `addresses`?"),
        ("axis =", "facet = \"spillover_ratio\"\naxis =", "66:9", "is the `axis` itself", "another axis"),
        ("axis =", "arms = [\"spil\"]\naxis =", "66:9", "names \"spil\"", "did you mean `spill`?"),
        ("axis =", "arms = []\naxis =", "66:8", "is empty", "leave it out"),
        ("axis =", "log = \"z\"\naxis =", "66:7", "`charts.0.log`", "\"x\", \"y\" or"),
        ("axis =", "file = \"../x\"\naxis =", "66:8", "can't name a file", "letters, digits"),
        ("axis =", "colour = 1\naxis =", "66:1", "`charts.0.colour` is not a known key", "metric, axis"),
    ] {
        let chart = CHART.replace(old, new);
        assert_ne!(chart, CHART, "{old}");
        let error =
            refusal(&changed("[[thresholds]]", &format!("{chart}\n[[thresholds]]")), &Overrides::default());
        let help = error.rsplit_once("help: ").map_or("", |(_, help)| help);
        assert!(error.contains(&format!("--> test.toml:{place}\n")), "{chart}\n{error}");
        assert!(error.contains(says) && help.contains(helps), "{chart}\n{error}");
    }
    let twice = changed("[[thresholds]]", &format!("{CHART}\n{CHART}\n[[thresholds]]"));
    assert!(refusal(&twice, &Overrides::default()).contains("a second time"));
    let zero = changed("[0.25, 0.5]", "[0.0, 0.5]")
        .replace("[[thresholds]]", &format!("{CHART}log = \"x\"\n[[thresholds]]"));
    assert!(refusal(&zero, &Overrides::default()).contains("not above zero"));
}

#[test]
fn choices() {
    check(
        r#"
        "SPILL_CROSS_ZONE" ⇒ "SPIL_CROSS_ZONE" ¦ 17:32 ¦ SPIL ¦ mean `ZONAL_AFFINITY_SPILL_CROSS_ZONE`?
        [backend_service] ⇒ [backend_service]\nprotocol = "ICMP" ¦ 17:12 ¦ can't be "ICMP" ¦ TCP, UDP, UNSPECIFIED
        kind = "vpn" ⇒ kind = "vp" ¦ 46:8 ¦ `clients.office.kind` can't be "vp" ¦ vm, vpn, interconnect
        kind = "vpn" ⇒ kind = "internet" ¦ 46:8 ¦ does not reach an internal ¦ vm, vpn or interconnect
        target = { ⇒ kind = "slo"\ntarget = { ¦ 51:8 ¦ `faults.0.kind` can't be "slo" ¦ did you mean `slow`?
        { deterministic = { rate = 2 } } ⇒ "poisson" ¦ 47:12 ¦ needs a value for `poisson` ¦ { poisson = … }
        { deterministic = { rate = 2 } } ⇒ {} ¦ 47:12 ¦ arrivals` is empty ¦ poisson, deterministic
        { deterministic = { rate = 2 } } ⇒ 3 ¦ 47:12 ¦ can't be 3 ¦ one of poisson, deterministic
        rate = 2 } ⇒ rate = 2 }, poisson = { rate = 2 } ¦ 47:12 ¦ has both `deterministic` and ¦ keep one
        timeout = "5s" ⇒ probers = { phase = "5" } ¦ 32:21 ¦ "5" is no phase ¦ write "random"
    "#,
    );
}

#[test]
fn faults() {
    check(
        r#"
        target = { ⇒ kind = "slow"\ntarget = { ¦ 49:1 ¦ `faults.0` has no `factor` ¦ add factor = 3.0
        target = { ⇒ kind = "slow"\nfactor = 0.5\ntarget = { ¦ 52:10 ¦ 0.5 is not a factor ¦ from 1.0
        target = { ⇒ factor = 2.0\ntarget = { ¦ 51:10 ¦ means nothing to kind = "silent" ¦ write kind = "slow"
        target = { ⇒ batch = 2\ntarget = { ¦ 51:9 ¦ means nothing to ¦ write kind = "rolling_restart"
        target = { ⇒ kind = "link_loss"\ntarget = { ¦ 52:19 ¦ `faults.0.target.zone` means nothing ¦ link = [
        target = { zone = "us-central1-a", fraction = 0.5 } ⇒ kind = "link_loss"\ntarget = { } ¦ 52:10 ¦ names no network ¦ link = [
        { zone = "us-central1-a", fraction = 0.5 } ⇒ { link = ["us-central1-a", "us-central1-b"] } ¦ 51:19 ¦ is the network, which can't be silent ¦ link_delay
        target = { zone = "us-central1-a", fraction = 0.5 } ⇒ kind = "link_loss"\ntarget = { link = ["us-central1-a", "us-central1-b"] } ¦ 49:1 ¦ has no `probability` ¦ 0.01
        target = { zone = "us-central1-a", fraction = 0.5 } ⇒ kind = "link_delay"\ntarget = { link = ["us-central1-a", "us-central1-b"] } ¦ 49:1 ¦ has no `added_rtt` ¦ "5ms"
        target = { zone = "us-central1-a", fraction = 0.5 } ⇒ kind = "link_delay"\nadded_rtt = "1ms"\ntarget = { link = ["us-central1-a", "us-central-b"] } ¦ 53:37 ¦ does not exist ¦ mean `us-central1-b`?
        target = { ⇒ kind = "link_loss"\nprobability = 1.5\ntarget = { ¦ 52:15 ¦ 1.5 ¦ from 0
        target = { ⇒ flapping = { period = "10s", active = "10s" }\ntarget = { ¦ 51:39 ¦ is 10s, but the period is 10s ¦ less than
        target = { ⇒ flapping = { period = "1ms", active = "10us" }\ntarget = { ¦ 51:23 ¦ more than 100000 times ¦ longer
        target = { ⇒ flapping = { period = "10s" }\ntarget = { ¦ 51:12 ¦ has no `active` ¦ "20s"
        at = "5m" ⇒ random = { time_between = { constant = "1m" }, duration = { constant = "1s" } }\nduration = "5s" ¦ 51:12 ¦ stands beside `random` ¦ keep one
        at = "5m" ⇒ random = { time_between = { constant = "0s" }, duration = { constant = "0s" } } ¦ 50:10 ¦ strikes every 0s ¦ longer
        target = { ⇒ kind = "rolling_restart"\nduration = "5s"\ntarget = { ¦ 52:12 ¦ stands beside kind = ¦ keep one
        target = { ⇒ kind = "rolling_restart"\nbatch = 0\ntarget = { ¦ 52:9 ¦ can't be 0 ¦ from 1
        workers = 8 ⇒ workers = "unlimited"\ndiscipline = "processor_sharing" ¦ 36:14 ¦ shares workers that are unlimited ¦ a number of workers
        workers = 8 ⇒ failures = { time_to_failure = { constant = "0s" }, time_to_repair = { constant = "1ns" } } ¦ 35:12 ¦ come and go every 1ns ¦ 1ms or more
        target = { ⇒ kind = "rolling_restart"\npause = "50000d"\ntarget = { ¦ 52:9 ¦ longer than any run ¦ at most
        size = 2 ⇒ size = 2\nautoscaling_policy = { max_num_replicas = 9, boot_time = "50000d" } ¦ 23:58 ¦ longer than any run ¦ at most
        size = 2 ⇒ size = 2\nautoscaling_policy = { max_num_replicas = 9, evaluation_interval = "1ms" } ¦ 23:68 ¦ looks more often ¦ 1s or more
        kind = "vpn" ⇒ kind = "vpn"\nretry_backoff = { base = "1s" } ¦ 47:17 ¦ there are no retries ¦ retries = 1
        kind = "vpn" ⇒ kind = "vpn"\nconnection = { requests = { constant = 0 } } ¦ 47:27 ¦ is 0 on average ¦ 1 to
        kind = "vpn" ⇒ kind = "vpn"\nconnection = { requests = { constant = 99999999 } } ¦ 47:27 ¦ is 99999999 ¦ 1 to
        kind = "vpn" ⇒ kind = "vpn"\nconnection = { requests = { constant = 1e6 }, think_time = { constant = "1m" } } ¦ 47:27 ¦ would follow its connections for 9 ¦ a max_age
        kind = "vpn" ⇒ kind = "vpn"\nconnection = { response_bytes = { constant = 1e16 } } ¦ 47:33 ¦ more than bytes can be ¦ at most 1125899906842624
        target = { ⇒ kind = "rolling_restart"\nrestart = "2000d"\ntarget = { ¦ 51:8 ¦ longer than any run ¦ more at a time
        kind = "vpn" ⇒ kind = "vpn"\nconnection = { think_time = { constant = "50000d" } } ¦ 47:29 ¦ to their end ¦ at most
        workers = 8 ⇒ discipline = "lifo" ¦ 35:14 ¦ can't be "lifo" ¦ fifo, processor_sharing
        workers = 8 ⇒ slow_start = { duration = "1m" } ¦ 35:14 ¦ has no `factor` ¦ 3.0
        workers = 8 ⇒ slow_start = { duration = "0s", factor = 3 } ¦ 35:27 ¦ a slow start of 0s ¦ above 0s
        workers = 8 ⇒ failures = { mode = "slow" } ¦ 35:21 ¦ can't be "slow" ¦ silent, refuse, unhealthy_only, serving_only
        timeout = "5s" ⇒ through_queue = 1 ¦ 32:17 ¦ can't be 1 ¦ true or false
    "#,
    );
}

#[test]
fn groups_that_are_autoscaled_and_clients_that_are_backends() {
    check(
        r#"
        size = 3 ⇒ size = 3\nautoscaling_policy = { } ¦ 28:22 ¦ has no `max_num_replicas` ¦ 10
        size = 3 ⇒ size = 3\nautoscaling_policy = { max_num_replicas = 2 } ¦ 27:8 ¦ is 3, but the group is to have 3 to 2 ¦ within
        size = 3 ⇒ size = 3\nautoscaling_policy = { max_num_replicas = 9, min_num_replicas = 4 } ¦ 27:8 ¦ have 4 to 9 ¦ within
        size = 3 ⇒ size = 3\nautoscaling_policy = { max_num_replicas = 0 } ¦ 28:43 ¦ can't be 0 ¦ from 1
        size = 3 ⇒ size = 3\nautoscaling_policy = { max_num_replicas = 9, cpu_utilization = { utilization_target = 0 } } ¦ 28:87 ¦ can't be 0 ¦ above 0.0
        size = 3 ⇒ size = 3\nserver = { workers = "unlimited" }\nautoscaling_policy = { max_num_replicas = 9 } ¦ 29:22 ¦ follows a utilization ¦ a number of workers
        kind = "vpn" ⇒ kind = "backend" ¦ 44:1 ¦ has no `group` ¦ "ig-a"
        kind = "vpn" ⇒ kind = "backend"\ngroup = "ig-c" ¦ 47:9 ¦ names "ig-c", which does not exist ¦ mean `ig-a`?
        kind = "vpn" ⇒ kind = "backend"\ngroup = "ig-a"\naddresses = 3 ¦ 48:13 ¦ has no meaning ¦ leave `addresses` out
        kind = "vpn" ⇒ kind = "vpn"\ngroup = "ig-a" ¦ 47:9 ¦ has no meaning for a client of kind vpn ¦ kind = "backend"
    "#,
    );
}

#[test]
fn names_of_things() {
    check(
        r#"
        "us-central1-b"] ⇒ "us-central1-a"] ¦ 11:27 ¦ "us-central1-a" a second time ¦ own name
        "us-central1-b"] ⇒ "vpn"] ¦ 11:27 ¦ can't be "vpn" ¦ choose another name
        zone = "us-central1-b" ⇒ zone = "us-central-b" ¦ 26:8 ¦ does not exist ¦ mean `us-central1-b`?
        zone = "us-central1-b" ⇒ zones = [] ¦ 26:9 ¦ zones` is empty ¦ at least one zone
        zone = "us-central1-b" ⇒ zones = ["us-central1-b", "x"] ¦ 26:27 ¦ names "x" ¦ zones of the
        group = "ig-b" ⇒ group = "ig-a" ¦ 25:9 ¦ names "ig-a" a second time ¦ own name
        name = "office" ⇒ name = "web-a" ¦ 45:8 ¦ names "web-a" a second time ¦ own name
        name = "stay" ⇒ name = "spill" ¦ 58:8 ¦ names "spill" a second time ¦ own name
        { zone = "us-central1-a" ⇒ { group = "igb" ¦ 51:20 ¦ names "igb" ¦ did you mean `ig-b`?
        { zone = "us-central1-a" ⇒ { backends = ["ig-a-3"] ¦ 51:24 ¦ "ig-a-3" ¦ backends: ig-a-1, ig-a-2
        { zone = "us-central1-a" ⇒ { backends = [] ¦ 51:23 ¦ is empty ¦ at least one backend
        arm = "stay" ⇒ arm = "sty" ¦ 66:7 ¦ names "sty" ¦ did you mean `stay`? arms: spill, stay
        "failure_ratio" ⇒ "failure_rate" ¦ 65:10 ¦ names "failure_rate" ¦ mean `failure_ratio`?
    "#,
    );
}

#[test]
fn keys_that_contradict_each_other() {
    check(
        r#"
        timeout = "5s" ⇒ timeout = "6s" ¦ 32:11 ¦ TimeoutSec should be less than checkIntervalSec ¦ at most 5s
        timeout = "5s" ⇒ probers = { count = 2 } ¦ 32:21 ¦ `health_check.probers.count`: 2 ¦ count = 1
        at = "5m" ⇒ at = "11m"\nflapping = { period = "1m", active = "20s" } ¦ 50:6 ¦ is 11m, but the measured window ends at 11m ¦ earlier
        kind = "vpn" ⇒ kind = "vpn"\nzone = "x" ¦ 47:8 ¦ no meaning for a client of kind vpn ¦ leave `zone` out
        kind = "vpn" ⇒ kind = "vm"\nregion = "us-central1" ¦ 47:10 ¦ own region ¦ zone = "us-central1-a"
        kind = "vpn" ⇒ kind = "vm"\nregion = "us-central1-b" ¦ 47:10 ¦ a zone of ¦ zone = "us-central1-b"
        size = 3 ⇒ zones = ["us-central1-a"] ¦ 27:9 ¦ stands beside `zone` ¦ keep `zone`
        fraction = 0.5 } ⇒ group = "ig-a" } ¦ 51:10 ¦ in several ways ¦ zone, group and backends
        fraction = 0.5 } ⇒ fraction = 0.5 }\n[[network.links]]\nbetween = ["us-central1-a", "us-central1-a"]\nrtt = { constant = "1ms" } ¦ 53:11 ¦ twice ¦ name two zones
        fraction = 0.5 } ⇒ fraction = 0.5 }\n[[network.links]]\nbetween = ["us-central1-a"]\nrtt = { constant = "1ms" } ¦ 53:11 ¦ has 1 member ¦ a list of 2
    "#,
    );
}

#[test]
fn arms_and_axes() {
    check(
        r#"
        [0.25, 0.5] ⇒ [0.25, 1.5] ¦ 55:69 ¦ spillover_ratio`: 1.5 is not a ratio ¦ from 0.0 to 1.0
        [0.25, 0.5] ⇒ [0.25, 0.250] ¦ 55:69 ¦ has the value 0.250 twice ¦ leave one
        [0.25, 0.5] ⇒ [] ¦ 55:62 ¦ is empty ¦ at least one value
        [0.25, 0.5] ⇒ 0.5 ¦ 55:62 ¦ can't be 0.5 ¦ a list of values, or { from
        [0.25, 0.5] ⇒ [{}] ¦ 55:63 ¦ can't be a table ¦ list finite numbers
        [0.25, 0.5] ⇒ { from = 0.0, to = 1.0 } ¦ 55:62 ¦ has no `step` ¦ add step = 0.1
        [0.25, 0.5] ⇒ { from = 0, to = 1, step = 0 } ¦ 55:89 ¦ never leads ¦ other than 0
        [0.25, 0.5] ⇒ { from = 1, to = 0, step = 0.1 } ¦ 55:89 ¦ never leads ¦ swap
        [0.25, 0.5] ⇒ { from = 0, to = 1, step = 1e-5 } ¦ 55:62 ¦ has 100001 values ¦ at most 10000
        [0.25, 0.5] ⇒ { from = 0, to = "1s", step = 1 } ¦ 55:62 ¦ mixes numbers and durations ¦ durations, or
        [0.25, 0.5] ⇒ { from = 0, to = 1, step = 1e-20 } ¦ 55:89 ¦ too long a number ¦ 15 digits
        { "backend_service.zonal_affinity.spillover" ⇒ { "srver.workers" ¦ 59:9 ¦ `srver` is not ¦ mean `server`?
        affinity.spillover" ⇒ affinity.spilover" ¦ 59:9 ¦ `backend_service.zonal_affinity.spilover` ¦ mean `spillover`?
        "STAY_WITHIN_ZONE" ⇒ "STAY" ¦ 59:54 ¦ can't be "STAY" ¦ mean `ZONAL_AFFINITY_STAY_WITHIN_ZONE`?
        "clients.web-a.addresses" ⇒ "clients.web-b.addresses" ¦ 62:1 ¦ no member of `clients` ¦ mean `web-a`?
        "clients.web-a.addresses" ⇒ clients = { web-a.addresses = [1] }\n"server.workers" ¦ 62:11 ¦ without from, to and step ¦ in quotes
        "clients.web-a.addresses" ⇒ clients.web-a.adresses ¦ 62:15 ¦ `clients.web-a.adresses` is not ¦ `addresses`?
        "clients.web-a.addresses" ⇒ server.workers = [1]\n"server . workers" ¦ 63:1 ¦ stands there twice ¦ keep one
        name = "small" ⇒ name = "a; b" ¦ 1:8 ¦ "a; b" can't name a results folder ¦ write "a--b"
        "clients.web-a.addresses" ⇒ "simulation.seed" ¦ 62:1 ¦ holds for the whole experiment ¦ outside of arms
        "clients.web-a.addresses" ⇒ "a..b" ¦ 62:1 ¦ is not a path ¦ dots between them
        "clients.web-a.addresses" ⇒ "backend_service.zonal_affinity.spillover_ratio" ¦ 55:11 ¦ shared [sweep] ¦ keep one
        "clients.web-a.addresses" ⇒ "backend_service.zonal_affinity.spillover" ¦ 62:1 ¦ `set` of arm "stay" ¦ keep one
        = [100, 200] ⇒ = { from = 1, to = 10000, step = 1 }\n"server.workers" = { from = 1, to = 100, step = 1 } ¦ 61:1 ¦ leads to 6000000 runs ¦ at most 1000000
    "#,
    );
}

#[test]
fn an_experiment_that_lacks_everything() {
    let clients = "clients = [{ name = \"c\", kind = \"vpn\", arrivals = { poisson = { rate = 1 } } }]";
    let region = format!("name = \"x\"\nregion = {{ name = \"r\", zones = [\"a\"] }}\n{clients}\n");
    let (rule, pools) = ("forwarding_rule = { target = \"www\" }", "target_pools = [{ name = \"www\" }]");
    for (text, says) in [
        ("", "the experiment has no `name`"),
        ("name = \"x\"", "the experiment has no `region`"),
        (&region, "the experiment has no `backend_service`"),
        (&format!("{region}{rule}"), "the experiment has no `target_pools`"),
        (&format!("{region}{pools}"), "the experiment has no `forwarding_rule`"),
    ] {
        let error = refusal(text, &Overrides::default());
        assert!(error.contains(says) && error.contains("--> test.toml\n"), "{error}");
    }
}

#[test]
fn a_key_that_only_some_arms_lack() {
    let text = changed("size = 2\n", "size = 1\n");
    let error = refusal(&text, &set(&[("arms.stay.set.\"faults.0.target\"", "{ backends = [\"ig-a-2\"] }")]));
    assert!(error.contains("`faults.0.target.backends.0` names \"ig-a-2\""), "{error}");
    assert!(error.contains("--set arms.stay.set.\"faults.0.target\"="), "{error}");
    assert!(error.contains("in arm `stay` with addresses = 100"), "{error}");
}

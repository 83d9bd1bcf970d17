//! What is read, refused, or noted.

use std::fs;

use super::{case, run_case};
use crate::{SMALL, assert_status, stderr, stdout, zonesim};

/// Reads the experiment `text` without running it, with `more` arguments: exit status, standard output and error.
fn read(text: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder for a test");
    fs::write(folder.path().join("x.toml"), text).expect("the folder can be written");
    let output = zonesim(folder.path(), &[&["run", "x.toml", "--dry-run"], more].concat());
    (output.status.code(), stdout(&output), stderr(&output))
}

/// The experiment of the case `name`.
fn text_of(name: &str) -> String {
    fs::read_to_string(case(name).path().join(format!("{name}.toml"))).expect("the case is there")
}

#[test]
fn a_value_that_every_arm_overrides_is_checked() {
    let text = text_of("value-that-every-arm-overrides");
    let (status, _, error) = read(&text, &[]);
    assert_eq!(status, Some(2));
    assert!(error.contains("can't be \"BANANA\"") && error.contains("x.toml:7:32"), "{error}");
    // Not only words: names, times, and values below a table that arms set as a whole.
    let stay = "set = { \"backend_service.zonal_affinity.spillover\" = \"STAY_WITHIN_ZONE\" }";
    for (base, set, told) in [
        ("spillover_ratio = 1.5", "{ \"backend_service.zonal_affinity\" = {} }", "1.5"),
        (
            "spillover = 5",
            "{ \"backend_service.zonal_affinity\" = { spillover = \"DISABLED\" } }",
            "can't be 5",
        ),
    ] {
        let text = text.replace("spillover = \"BANANA\"", base).replace(stay, &format!("set = {set}"));
        let (status, _, error) = read(&text, &[]);
        assert_eq!(status, Some(2), "{error}");
        assert!(error.contains(told) && error.contains("x.toml:7:"), "{error}");
    }
    let text = text
        .replace("BANANA", "DISABLED")
        .replace("zone = \"us-central1-a\", size", "zone = \"nowhere\", size");
    let text = text.replace(stay, "set = { \"backend_service.backends.g.zone\" = \"us-central1-a\" }");
    let (status, _, error) = read(&text, &[]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("\"nowhere\""), "{error}");
}

#[test]
fn a_file_that_is_complete_only_with_its_arms_is_right() {
    let text = text_of("value-that-every-arm-overrides").replace("spillover = \"BANANA\"", "");
    let text = text.replace("arrivals = { poisson = { rate = 10.0 } }", "arrivals = { poisson = {} }");
    let arm = "set = { \"clients.c.arrivals.poisson.rate\" = 5.0 }";
    let text =
        text.replace("set = { \"backend_service.zonal_affinity.spillover\" = \"STAY_WITHIN_ZONE\" }", arm);
    let (status, _, error) = read(&text, &[]);
    assert_eq!(status, Some(0), "{error}");
}

#[test]
fn a_set_that_no_arm_keeps_is_refused_and_says_who_sets_it() {
    let text = text_of("value-that-every-arm-overrides").replace("BANANA", "DISABLED");
    let set = "backend_service.zonal_affinity.spillover=SPILL_CROSS_ZONE";
    let (status, _, error) = read(&text, &["--set", set]);
    assert_eq!(status, Some(2));
    assert!(error.contains("in no cell: arm stay sets it"), "{error}");
    assert!(error.contains("arms.stay.set.\"backend_service.zonal_affinity.spillover\"=VALUE"), "{error}");
    // What the error says to write is right.
    let way = "arms.stay.set.\"backend_service.zonal_affinity.spillover\"=SPILL_CROSS_ZONE";
    assert_eq!(read(&text, &["--set", way]).0, Some(0));
    // One arm that keeps it is enough, and an axis sets too.
    let two = text.replace("arms = [", "arms = [{ name = \"plain\" }, ");
    assert_eq!(read(&two, &["--set", set]).0, Some(0));
    let swept = format!("{text}[sweep]\n\"clients.c.addresses\" = [10, 20]\n");
    let (status, _, error) = read(&swept, &["--set", "clients.c.addresses=5"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("change the values of the axis clients.c.addresses"), "{error}");
    // An alternative that gives way to another leaves nothing either.
    let other = text.replace(
        "set = { \"backend_service.zonal_affinity.spillover\" = \"STAY_WITHIN_ZONE\" }",
        "set = { \"clients.c.arrivals.deterministic.rate\" = 2.0 }",
    );
    let (status, _, error) = read(&other, &["--set", "clients.c.arrivals.poisson.rate=5"]);
    assert_eq!(status, Some(2), "{error}");
}

#[test]
fn settings_without_effect_are_noted_by_run_and_explain() {
    let folder = case("drop-without-failover-backends");
    let file = "drop-without-failover-backends.toml";
    let note = "note: `backend_service.failover_policy.drop_traffic_if_unhealthy` has no effect: there are no failover backends";
    for output in [
        run_case(folder.path(), "drop-without-failover-backends", &["--replications", "1"]),
        zonesim(folder.path(), &["run", file, "--dry-run"]),
        zonesim(folder.path(), &["explain", file]),
    ] {
        assert_status(&output, 0);
        assert_eq!(stderr(&output).matches(note).count(), 1, "{}", stderr(&output));
    }
    let quiet = zonesim(folder.path(), &["run", file, "--dry-run", "--quiet"]);
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn each_kind_of_setting_without_effect_is_noted_where_it_has_none() {
    let text = text_of("drop-without-failover-backends").replace("drop_traffic_if_unhealthy = true", "");
    assert!(!read(&text, &[]).2.contains("note:"), "{}", read(&text, &[]).2);
    let group = "backend_service.backends.g";
    for (sets, id, cures) in [
        (
            vec!["backend_service.failover_policy.failover_ratio=0.5"],
            "failover-ratio-without-failover-backends",
            "backend_service.failover_policy.failover_ratio=0.0",
        ),
        (
            vec!["backend_service.zonal_affinity.spillover_ratio=0.5"],
            "spillover-ratio-without-spilling",
            "backend_service.zonal_affinity.spillover=SPILL_CROSS_ZONE",
        ),
        (
            vec!["backend_service.connection_draining.draining_timeout=60s"],
            "draining-timeout-without-removal",
            "operations=[{ at = \"2m\", do = \"remove_instances\", group = \"g\", count = 1 }]",
        ),
        (
            vec!["backend_service.backends.g.capacity_scaler=0.5"],
            "capacity-scaler",
            "backend_service.backends.g.capacity_scaler=1.0",
        ),
        (
            vec!["server.workers=unlimited", "server.queue_limit=5"],
            "queue-limit-beside-unlimited-workers",
            "server.workers=4",
        ),
        (
            vec!["backend_service.backends.g.server={ workers = \"unlimited\", queue_limit = 5 }"],
            "queue-limit-beside-unlimited-workers",
            "backend_service.backends.g.server.workers=4",
        ),
        (
            vec!["server.workers=unlimited", "health_check.through_queue=true"],
            "through-queue-beside-unlimited-workers",
            "server.workers=4",
        ),
        (
            vec!["backend_service.maglev_table_size=251"],
            "table-size-without-maglev",
            "backend_service.load_balancing_scheme=EXTERNAL",
        ),
        (
            vec!["backend_service.subsetting.policy=CONSISTENT_HASH_SUBSETTING"],
            "subsetting",
            "backend_service.subsetting.policy=NONE",
        ),
    ] {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        let (status, _, error) = read(&text, &sets);
        assert_eq!(status, Some(0), "{error}");
        assert_eq!(error.matches(&format!("[{id}]")).count(), 1, "{group} {id}: {error}");
        let (_, _, error) = read(&text, &[&sets[..], &["--set", cures]].concat());
        assert!(!error.contains(&format!("[{id}]")), "{id}: {error}");
    }
}

#[test]
fn a_value_that_one_arm_uses_is_not_noted_and_an_arm_is_named_that_sets_one_in_vain() {
    // The file's own ratio serves the arm that spills.
    let shared = format!("{SMALL}\n[backend_service.zonal_affinity]\nspillover_ratio = 0.5\n");
    let shared = shared
        .replace("sweep = { \"backend_service.zonal_affinity.spillover_ratio\" = [0.0, 0.5, 1.0] }\n", "");
    let (status, _, error) = read(&shared, &[]);
    assert_eq!(status, Some(0), "{error}");
    assert!(!error.contains("note:"), "{error}");
    let own = SMALL.replace(
        "name = \"disabled\"\n",
        "name = \"disabled\"\nset = { \"backend_service.zonal_affinity.spillover_ratio\" = 0.5, \"server.workers\" = 8 }\n",
    );
    let (_, _, error) = read(&own, &[]);
    let note = "note: in arm disabled `backend_service.zonal_affinity.spillover_ratio` has no effect";
    assert_eq!(error.matches(note).count(), 1, "{error}");
}

#[test]
fn a_cold_start_that_sessions_never_forget_is_a_warning() {
    let text = text_of("cold-start-skews-sessions");
    let warns = |sets: &[&str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        let (status, _, error) = read(&text, &sets);
        assert_eq!(status, Some(0), "{error}");
        error.contains("warning: `health_check.initial_state`")
            && error.contains("initial_state = \"HEALTHY\"")
    };
    assert!(warns(&[]));
    assert!(!warns(&["health_check.initial_state=HEALTHY"]));
    assert!(!warns(&["backend_service.connection_tracking_policy.tracking_mode=PER_CONNECTION"]));
    assert!(!warns(&["backend_service.backends.g.size=1"]));
    // Clients that come back once in two hours are forgotten after ten minutes.
    assert!(!warns(&["clients.c.arrivals.poisson.rate=0.1"]));
}

#[test]
fn a_failure_that_no_check_sees_is_told_by_explain() {
    let folder = case("failures-that-no-check-sees");
    let explain =
        |down: &str| zonesim(folder.path(), &["explain", "failures-that-no-check-sees.toml", "--down", down]);
    let output = explain("node-1");
    assert_status(&output, 0);
    assert!(
        stderr(&output).contains("note: --down node-1 has no effect: no health check judges it"),
        "{}",
        stderr(&output)
    );
    assert!(stdout(&output).contains("2  node-1..2"), "{}", stdout(&output));
    assert!(stderr(&explain("node")).contains("--down node-1,node-2 has no effect"));
}

#[test]
fn down_takes_ranges_groups_and_zones() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    fs::write(folder.path().join("x.toml"), SMALL).expect("the folder can be written");
    let healthy = |down: &str| {
        let output = zonesim(
            folder.path(),
            &["explain", "x.toml", "--arm", "disabled", "--format", "json", "--down", down],
        );
        assert_status(&output, 0);
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        json[0]["healthy"].to_string()
    };
    assert_eq!(healthy("ig-a-1"), r#"["ig-a-2","ig-b-1","ig-b-2"]"#);
    for both in ["ig-a-1..2", "ig-a-1..ig-a-2", "ig-a", "us-central1-a", "ig-a-2,ig-a-1"] {
        assert_eq!(healthy(both), r#"["ig-b-1","ig-b-2"]"#, "{both}");
    }
    for (wrong, told) in [
        ("ig-a-1..7", "\"ig-a-3\""),
        ("ig-a-2..1", "ig-a-1..2"),
        ("us-central1-c", "did you mean"),
        ("ig-a-1..x", "no range"),
    ] {
        let output = zonesim(folder.path(), &["explain", "x.toml", "--down", wrong]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(told), "{wrong}: {}", stderr(&output));
    }
}

#[test]
fn limits_are_read_with_their_units_in_files_as_on_the_command_line() {
    let threshold = |text: &str| format!("{SMALL}\n[[thresholds]]\n{text}\n");
    for right in [
        "metric = \"failure_ratio\"\nmax = \"1%\"",
        "metric = \"failure_ratio\"\nmax = \"1 %\"",
        "metric = \"failure_ratio\"\nmax = 1",
        "metric = \"request_p99_ms\"\nmin = \"0.5 ms\"\nmax = \"0.1s\"",
    ] {
        let (status, _, error) = read(&threshold(right), &[]);
        assert_eq!(status, Some(0), "{error}");
    }
    for (wrong, told) in [
        ("metric = \"failure_ratio\"\nmax = \"1ms\"", "\"0.1%\""),
        ("metric = \"request_p99_ms\"\nmax = \"1%\"", "\"20ms\""),
        ("metric = \"request_p99_ms\"\nmin = \"1s\"\nmax = \"20ms\"", "swap the two"),
        ("metric = \"failure_ratio\"\nmax = true", "a number"),
    ] {
        let (status, _, error) = read(&threshold(wrong), &[]);
        assert_eq!(status, Some(2), "{error}");
        assert!(error.contains(told), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder for a test");
    let missed = threshold("metric = \"request_p99_ms\"\nmax = \"0.01 ms\"");
    fs::write(folder.path().join("x.toml"), missed).expect("the folder can be written");
    let run = zonesim(folder.path(), &["run", "x.toml", "--out", "out", "--no-charts"]);
    assert_status(&run, 3);
    let recommend = |limit: &str| {
        let args =
            ["recommend", "out", "--objective", "failure_ratio", "--subject-to", limit, "--format", "json"];
        zonesim(folder.path(), &args)
    };
    for (limit, bound) in [
        ("request_p99_ms<=20s", "at_most"),
        ("request_p99_ms < 20 s", "below"),
        ("connections>1", "above"),
        ("connections>=1", "at_least"),
    ] {
        let output = recommend(limit);
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(json["constraints"][0]["bound"], bound, "{limit}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&recommend("request_p99_ms<20s"))).expect("JSON");
    assert_eq!(json["constraints"][0]["limit"], 20_000.0);
}

#[test]
fn durations_may_have_a_space_before_their_unit() {
    for length in ["5 m", "300 s", "4 m 60 s"] {
        let (status, plan, error) = read(SMALL, &["--set", &format!("simulation.duration={length}")]);
        assert_eq!(status, Some(0), "{error}");
        assert!(plan.contains("\t24800"), "{length}: {plan}");
    }
}

#[test]
fn load_multiplies_the_rate_of_every_client_group() {
    let clients = |arrivals: &str| SMALL.replace("{ poisson = { rate = 40.0 } }", arrivals);
    let expected = |text: &str, load: &str| -> Vec<String> {
        let (status, plan, error) = read(text, &["--set", &format!("load={load}")]);
        assert_eq!(status, Some(0), "{error}");
        plan.lines().skip(1).map(|line| line.rsplit('\t').next().unwrap_or_default().to_owned()).collect()
    };
    for arrivals in [
        "{ poisson = { rate = 40.0 } }",
        "{ deterministic = { rate = 40.0 } }",
        "{ mmpp = { rates = [0.0, 80.0], mean_dwell = \"10s\" } }",
        "{ diurnal = { mean_rate = 40.0, peak_to_mean = 1.0, period = \"1h\" } }",
    ] {
        let text = clients(arrivals);
        assert_eq!(expected(&text, "1.0"), ["5600"; 4], "{arrivals}");
        assert_eq!(expected(&text, "2.5"), ["14000"; 4], "{arrivals}");
    }
}

#[test]
fn load_is_an_axis_and_a_setting_of_arms() {
    let text = format!("load = 2.0\n{SMALL}\n[sweep]\nload = [0.5, 1.0]\n");
    let (status, plan, error) = read(&text, &[]);
    assert_eq!(status, Some(0), "{error}");
    assert!(
        plan.starts_with(
            "cell\tarm\tload\tspillover_ratio\texpected_connections\n0\tdisabled\t0.5\t\t2800\n"
        ),
        "{plan}"
    );
    let text = SMALL.replace("name = \"disabled\"\n", "name = \"disabled\"\nset = { load = 3 }\n");
    let (_, plan, error) = read(&text, &[]);
    assert!(plan.contains("0\tdisabled\t\t16800\n1\tspill\t0.0\t5600\n"), "{plan}{error}");
}

#[test]
fn load_multiplies_the_clients_of_a_closed_loop_and_no_trace() {
    let closed = "{ closed = { population = 30, think_time = { exponential = { mean = \"1s\" } } } }";
    let text = SMALL.replace("{ poisson = { rate = 40.0 } }", closed);
    let folder = tempfile::tempdir().expect("a folder for a test");
    fs::write(folder.path().join("x.toml"), &text).expect("the folder can be written");
    let connections = |load: &str| {
        let (set, out) = (format!("load={load}"), format!("out-{load}"));
        let args = ["run", "x.toml", "--out", &out, "--no-charts", "--set", &set];
        assert_status(&zonesim(folder.path(), &args), 0);
        let mut reader = csv::Reader::from_path(folder.path().join(&out).join("runs.csv")).expect("a file");
        let position = reader.headers().expect("a header").iter().position(|name| name == "connections");
        let row = reader.records().next().expect("a row").expect("a row");
        row[position.expect("a column")].parse::<f64>().expect("a number")
    };
    let ratio = connections("3") / connections("1");
    assert!((2.5..3.5).contains(&ratio), "{ratio}");
    let (status, _, error) = read(&text, &["--set", "load=0.75"]);
    assert_eq!(status, Some(2));
    assert!(
        error.contains("makes 22.5 clients of a population of 30") && error.contains("`web-a`"),
        "{error}"
    );

    fs::write(folder.path().join("trace.csv"), "t_s,client_id,request_bytes,response_bytes\n1,a,1,1\n")
        .expect("the folder can be written");
    let traced = SMALL.replace("{ poisson = { rate = 40.0 } }", "{ trace = { file = \"trace.csv\" } }");
    fs::write(folder.path().join("x.toml"), traced).expect("the folder can be written");
    assert_status(&zonesim(folder.path(), &["run", "x.toml", "--dry-run"]), 0);
    let output = zonesim(folder.path(), &["run", "x.toml", "--dry-run", "--set", "load=2"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("2 can't multiply a trace"), "{}", stderr(&output));
}

#[test]
fn an_internal_load_balancer_has_at_most_250_backends_unless_the_limit_is_lifted() {
    let text = |size: u32| SMALL.replacen("size = 2", &format!("size = {size}"), 1);
    assert_eq!(read(&text(248), &[]).0, Some(0));
    let (status, _, error) = read(&text(249), &[]);
    assert_eq!(status, Some(2));
    for part in [
        "`backend_service.backends` has 251 instances in all",
        "at most 250",
        "400 invalid",
        "semantics.unlimited_backends = true",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    for lifted in [
        "semantics.unlimited_backends=true",
        "backend_service.load_balancing_scheme=EXTERNAL",
        "backend_service.subsetting.policy=CONSISTENT_HASH_SUBSETTING",
    ] {
        // External load balancers and subsets have no zonal affinity.
        let plain = text(300).split("[[arms]]").next().unwrap_or_default().to_owned();
        let (status, _, error) = read(&plain, &["--set", lifted]);
        assert_eq!(status, Some(0), "{lifted}: {error}");
    }
    let grown = "[[operations]]\nat = \"20s\"\ndo = \"add_instances\"\ngroup = \"ig-a\"\ncount = 247\n";
    let (status, _, error) = read(&format!("{SMALL}{grown}"), &[]);
    assert_eq!(status, Some(2));
    assert!(error.contains("at 20s: 400 invalid") && error.contains("251"), "{error}");
    let growing =
        text(2).replacen("size = 2\n", "size = 2\nautoscaling_policy = { max_num_replicas = 249 }\n", 1);
    let (status, _, error) = read(&growing, &[]);
    assert_eq!(status, Some(2));
    assert!(error.contains("max_num_replicas") && error.contains("251 instances"), "{error}");
}

#[test]
fn explain_says_why_failover_backends_serve_without_zonal_affinity() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let text = SMALL.replacen("size = 2\n", "size = 3\n", 1).replacen(
        "zone = \"us-central1-b\"\nsize = 2\n",
        "zone = \"us-central1-b\"\nsize = 2\nfailover = true\n",
        1,
    );
    let text = format!("{text}\n[backend_service.failover_policy]\nfailover_ratio = 0.5\n");
    fs::write(folder.path().join("x.toml"), text).expect("the folder can be written");
    let explain = |down: &str, format: &str| {
        let args = ["explain", "x.toml", "--arm", "disabled", "--down", down, "--format", format];
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 0);
        stdout(&output)
    };
    for (down, reason) in [
        ("ig-a-1..2", "1 of 3 primaries healthy (0.333) < failover ratio 0.5"),
        ("ig-a-1", "2 of 3 primaries healthy (0.667) >= failover ratio 0.5"),
        ("ig-a-1..2,ig-b", "1 of 3 primaries healthy (0.333), and no failover backend is healthy"),
        (
            "ig-a,ig-b",
            "0 of 3 primaries healthy (0.000) and no failover backend: all primaries are the last resort",
        ),
    ] {
        assert!(
            explain(down, "text").contains(&format!("{reason}; zonal affinity is disabled")),
            "{}",
            explain(down, "text")
        );
        let json: serde_json::Value = serde_json::from_str(&explain(down, "json")).expect("JSON");
        assert_eq!(json[0]["because"], format!("{reason}; zonal affinity is disabled"));
        assert_eq!(json[0]["original_eligible"]["because"], reason);
    }
}

#[test]
fn the_table_at_the_end_shows_what_differs_between_arms() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    // Where nothing fails, handshakes take as long as their way.
    let far = SMALL.lines().filter(|line| !line.starts_with("failures =")).collect::<Vec<_>>().join("\n");
    let far = format!("{far}\n[network]\ncross_zone_rtt = {{ constant = \"30ms\" }}\n");
    fs::write(folder.path().join("x.toml"), far).expect("the folder can be written");
    let output = zonesim(folder.path(), &["run", "x.toml", "--out", "out", "--no-charts"]);
    assert_status(&output, 0);
    let table = stderr(&output);
    let header = table.lines().find(|line| line.starts_with("cell")).expect("a table");
    assert!(header.contains("busiest backend") && header.contains("connect p99 ms"), "{table}");
    // Arms that are alike have no need of more columns.
    let alike = SMALL.split("[[arms]]").next().unwrap_or_default().to_owned()
        + "[[arms]]\nname = \"one\"\n[[arms]]\nname = \"other\"\n";
    fs::write(folder.path().join("y.toml"), alike).expect("the folder can be written");
    let output = zonesim(folder.path(), &["run", "y.toml", "--out", "y", "--no-charts"]);
    assert!(!stderr(&output).contains("busiest backend"), "{}", stderr(&output));
}

#[test]
fn cells_share_a_row_only_if_no_metric_tells_them_apart() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    // Prices change no headline but the dollars of clients that cross; processing is no headline.
    let text = SMALL.split("[[arms]]").next().unwrap_or_default().to_owned()
        + "[sweep]\n\"prices.processing_per_gib\" = [0.008, 0.008000001, 0.1]\n";
    fs::write(folder.path().join("x.toml"), text).expect("the folder can be written");
    let output = zonesim(folder.path(), &["run", "x.toml", "--out", "out", "--no-charts"]);
    assert_status(&output, 0);
    let rows = stderr(&output).lines().filter(|line| line.starts_with("base ")).count();
    assert_eq!(rows, 3, "{}", stderr(&output));
}

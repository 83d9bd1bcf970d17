//! Intervals, verdicts and recommendations that say no more than the replications do, and commands that end.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::{case, column, run_case};
use crate::compare::{four_a_zone, results_of};
use crate::crash::signal;
use crate::{assert_status, command, stderr, stdout, zonesim};

#[test]
fn a_limit_just_beside_an_estimate_is_answered() {
    let folder = results_of(&four_a_zone());
    let connections = mean_of(folder.path(), "disabled", "connections");
    // The smaller the gap, the more replications would decide: up to more than can be counted.
    for gap in ["0.3", "0.03", "0.003", "0.0003", "0.00001", "0"] {
        let limit = format!("connections<={}", connections - gap.parse::<f64>().unwrap());
        let args = ["recommend", "out", "--objective", "failure_ratio", "--subject-to", &limit];
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 3);
        assert!(stdout(&output).contains("replications would decide"), "{limit}: {}", stdout(&output));
    }
}

/// The mean of `metric` in the cell of `arm`, from the runs themselves.
fn mean_of(folder: &Path, arm: &str, metric: &str) -> f64 {
    let values = column(folder, "runs.csv", metric);
    let mut reader = csv::Reader::from_path(folder.join("out/runs.csv")).unwrap();
    let is_of = |row: Result<csv::StringRecord, csv::Error>| row.unwrap().iter().nth(1) == Some(arm);
    let own: Vec<f64> =
        reader.records().map(is_of).zip(values).filter(|(own, _)| *own).map(|(_, value)| value).collect();
    own.iter().sum::<f64>() / own.len() as f64
}

/// Waits for `child`, which has been told to end.
fn ended(child: &mut Child) -> Option<i32> {
    // A hundred times what it may take, so that a slow machine does not matter.
    ended_in_time(child, Duration::from_secs(100))
}

/// The same, within `most`.
fn ended_in_time(child: &mut Child, most: Duration) -> Option<i32> {
    for _ in 0..most.as_millis() / 10 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the signal does not end it");
}

#[test]
fn a_signal_ends_a_command_that_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, status) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        // Reading a pipe into which nobody writes takes for ever.
        let fifo = folder.path().join(format!("pipe{name}.toml"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut child = command(folder.path(), &["expect", fifo.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Opening the pipe waits for the command to open it, after it has begun to listen.
        let _writer = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        signal(&child, name);
        assert_eq!(ended(&mut child), Some(status), "{name}");
    }
}

/// Begins a run that takes minutes, after `before` in a shell, and waits until it has begun.
fn long_run(folder: &Path, before: &str) -> Child {
    let text = crate::SMALL.replacen("\"60s\"", "\"200h\"", 1);
    fs::write(folder.join("long.toml"), text).unwrap();
    let script = format!("{before} exec \"$0\" run long.toml --jobs 2 --no-charts --out out");
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_zonesim")])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.join("out/.zonesim-journal").exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it takes minutes");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_run_that_computes_ends_within_a_second_of_each_signal() {
    for (name, status) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = long_run(folder.path(), "");
        // It simulates by now.
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        // A second by itself; machines on which tests run may be busy.
        assert_eq!(ended_in_time(&mut child, Duration::from_secs(5)), Some(status), "{name}");
        assert!(folder.path().join("out/.zonesim-journal").exists(), "what is done is kept");
    }
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = long_run(folder.path(), "trap '' HUP;");
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(child.try_wait().unwrap(), None, "nohup keeps it alive");
    signal(&child, "-TERM");
    assert_eq!(ended(&mut child), Some(143));
}

/// Of `metric` in the cells of summary.csv: what stands in `field`.
fn summary(folder: &Path, metric: &str, field: &str) -> Vec<f64> {
    let values = column(folder, "summary.csv", field);
    let mut reader = csv::Reader::from_path(folder.join("out/summary.csv")).unwrap();
    let place = reader.headers().unwrap().iter().position(|name| name == "metric").unwrap();
    let rows = reader.records().map(|row| &row.unwrap()[place] == metric);
    rows.zip(values).filter(|(own, _)| *own).map(|(_, value)| value).collect()
}

#[test]
fn outages_that_no_replication_saw_are_not_excluded() {
    let folder = case("rare-outages");
    let said = stderr(&run_case(folder.path(), "rare-outages", &["--seed", "5"]));
    // Each of ten replications of 5 minutes is hit with probability 8 %: none is, by chance.
    assert_eq!(summary(folder.path(), "failure_ratio", "mean")[0], 0.0);
    let high = summary(folder.path(), "failure_ratio", "ci_high");
    assert!((high[0] - (1.0 - 0.05_f64.powf(0.1))).abs() < 1e-9, "{high:?}");
    assert!(said.contains("at most 25.9 %; 0 of 10 have any"), "{said}");
    let args = ["recommend", "out", "--objective", "cross_zone_usd_per_month"];
    let output = zonesim(folder.path(), &[&args[..], &["--subject-to", "failure_ratio<=1%"]].concat());
    assert_status(&output, 3);
    let text = stdout(&output);
    assert!(text.contains("no cell keeps to all constraints"), "{text}");
    assert!(
        text.contains("stay: not known; about 427 more replications would show it if there are none"),
        "{text}"
    );
}

#[test]
fn a_rare_event_that_is_not_seen_is_not_known_precisely() {
    let folder = case("precision-of-a-rare-event");
    let rare = "clients.x.arrivals.poisson.rate=3";
    let few = "simulation.precision.max_replications=20";
    let said = stderr(&run_case(folder.path(), "precision-of-a-rare-event", &["--set", rare, "--set", few]));
    assert!(said.contains("the precision is not reached"), "{said}");
    assert!(said.contains("base  0 % (at most 13.9 %; 0 of 20 have any)"), "{said}");
    assert_eq!(column(folder.path(), "runs.csv", "failure_ratio").len(), 20);
}

#[test]
fn estimates_differ_by_what_their_difference_says() {
    let folder = case("unequal-replications");
    // Cells end at different numbers of replications.
    run_case(folder.path(), "unequal-replications", &["--seed", "14"]);
    let counts = summary(folder.path(), "failure_ratio", "n");
    assert!(counts[0] != counts[1], "{counts:?}");
    let args = ["recommend", "out", "--objective", "failure_ratio", "--format", "json"];
    let output = zonesim(folder.path(), &args);
    assert_status(&output, 0);
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let found = &answer["sections"][0]["candidates"];
    let number = |index: usize, key: &str| found[index][key].as_f64().unwrap();
    assert!(number(1, "behind") >= 0.0, "the best is the first: {found}");
    let gap = number(1, "objective") - number(0, "objective");
    assert!((gap - number(1, "behind")).abs() < 1e-12, "{found}");
}

#[test]
fn a_world_that_remembers_its_start_says_so() {
    let folder = case("warmup-that-does-not-see-health");
    let name = "warmup-that-does-not-see-health";
    let said = stderr(&run_case(folder.path(), name, &["--set", "simulation.warmup=5m"]));
    let warning = said.lines().find(|line| line.contains("has not forgotten that runs begin")).unwrap();
    assert!(warning.starts_with("warning: ") && warning.contains("repair takes 2h"), "{warning}");
    assert!(
        warning.contains("cross_zone_connection_ratio is ") && warning.contains("24.4 % in the long run"),
        "{warning}"
    );
    assert!(warning.contains("initial_health = \"stationary\""), "{warning}");
    // With a warm-up that is long enough there is nothing to say.
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    let long = run_case(folder.path(), name, &["--set", "simulation.warmup=8h", "--replications", "2"]);
    assert!(!stderr(&long).contains("has not forgotten"), "{}", stderr(&long));
}

#[test]
fn a_warm_up_that_is_found_and_a_stationary_start_forget_that_all_was_well() {
    let folder = case("warmup-that-does-not-see-health");
    let name = "warmup-that-does-not-see-health";
    let rate = "clients.x.arrivals.poisson.rate=0.1";
    for start in
        [&[][..], &["--set", "simulation.initial_health=stationary", "--set", "simulation.warmup=0s"]]
    {
        let more = [&["--replications", "150", "--set", rate], start].concat();
        let said = stderr(&run_case(folder.path(), name, &more));
        assert!(!said.contains("has not forgotten"), "{said}");
        // Pilots of two hours can't tell: three times the 80 minutes in which a backend forgets its state.
        assert_eq!(
            said.contains("warm-up: 14400 s") && said.contains("healthy backends"),
            start.is_empty(),
            "{said}"
        );
        let shares = column(folder.path(), "runs.csv", "cross_zone_connection_ratio");
        let count = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / count;
        let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = (variance / count).sqrt();
        assert!((mean - 0.244).abs() < 4.0 * error && error < 0.03, "{start:?}: {mean} +- {error}");
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
    // Nobody wants to wait for a world that takes weeks: it says what to write instead.
    let weeks = "server.failures.time_to_repair.exponential.mean=400h";
    let args = ["run", "warmup-that-does-not-see-health.toml", "--out", "out", "--no-charts", "--set", weeks];
    let output = zonesim(folder.path(), &args);
    assert_status(&output, 1);
    assert!(stderr(&output).contains("simulation.initial_health = \"stationary\""), "{}", stderr(&output));
}

/// A zone that is down five minutes in a hundred hours.
const RARE: &str = r#"
        name = "rare"
        simulation = { initial_health = "stationary", replications = 20, warmup = "1m", duration = "10m", sample_interval = "1m" }
        region = { name = "r", zones = ["a"] }
        server = { workers = "unlimited", service_time = { constant = "1ms" } }
        backend_service.backends = [{ group = "g", zone = "a", size = 2 }]
        clients = [{ name = "c", kind = "vm", zone = "a", arrivals = { poisson = { rate = 5.0 } } }]
        faults = [{ target = { zone = "a" }, random = { time_between = { exponential = { mean = "100h" } }, duration = { constant = "5m" }, at_least_one = true } }]
    "#;

/// The mean over all windows, by hand: of replications with the fault in turn with those without.
fn over_all_windows(values: &[f64], chance: f64) -> f64 {
    let mean = |odd: usize| values.iter().skip(odd).step_by(2).sum::<f64>() * 2.0 / values.len() as f64;
    chance * mean(0) + (1.0 - chance) * mean(1)
}

#[test]
fn strata_with_and_without_a_rare_fault_are_weighted_to_its_true_frequency() {
    let folder = tempfile::tempdir().unwrap();
    let text = RARE.replace("at_least_one = true", "at_least_one = true, stratified = true");
    let arms = "[[arms]]\nname = \"rare\"\n[[arms]]\nname = \"never\"\nset = { \"faults\" = [] }\n";
    fs::write(folder.path().join("rare.toml"), format!("{text}\n{arms}")).unwrap();
    let said = stderr(&run_case(folder.path(), "rare", &[]));
    assert!(said.contains("every other measured window of") && said.contains("0.25 % of them"), "{said}");
    let chance = 1.0 - 1200.0 / 1201.0 * (-1.0_f64 / 600.0).exp();
    let [weights, failed, connections] = ["stratum_weight", "failed_connections", "connections"]
        .map(|name| column(folder.path(), "runs.csv", name));
    // The arm without the fault has halves that are alike, so that its replications stand beside the other's.
    for (replication, weight) in weights.iter().enumerate() {
        let expected = match (replication < 20, replication % 2) {
            (true, 0) => chance,
            (true, _) => 1.0 - chance,
            (false, _) => 0.5,
        };
        assert!((weight - expected).abs() < 1e-7, "{replication}: {weight}");
    }
    let hit = |odd: usize| failed[..20].iter().skip(odd).step_by(2).filter(|failed| **failed > 0.0).count();
    assert!(hit(0) >= 9 && hit(1) == 0 && failed[20..].iter().all(|failed| *failed == 0.0), "{failed:?}");
    let summary = fs::read_to_string(folder.path().join("out/summary.csv")).unwrap();
    let row = |cell: usize, metric: &str| -> Vec<f64> {
        let line = summary.lines().find(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            fields[0] == cell.to_string() && fields[2] == metric
        });
        line.unwrap().split(',').skip(4).map(|field| field.parse().unwrap_or(f64::NAN)).collect()
    };
    let of_all = over_all_windows(&failed[..20], chance);
    let [n, mean, ..] = row(0, "failed_connections")[..] else { panic!() };
    assert!(n == 10.0 && (mean / of_all - 1.0).abs() < 1e-7, "{mean} and {of_all}");
    let ratio = of_all / over_all_windows(&connections[..20], chance);
    let [n, mean, _, low, high, ..] = row(0, "failure_ratio")[..] else { panic!() };
    assert!(n == 10.0 && (mean / ratio - 1.0).abs() < 1e-7, "{mean} and {ratio}");
    assert!(0.0 < low && low < mean && mean < high && high < 3.0 * mean, "{low} to {high}");
    // Both ask for the same means: differences, and what is recommended.
    let compared = zonesim(
        folder.path(),
        &["compare", "out", "--baseline", "never", "--metric", "failure_ratio", "--format", "json"],
    );
    let compared: serde_json::Value = serde_json::from_str(&stdout(&compared)).unwrap();
    let found = compared["rows"].as_array().unwrap().iter().find(|row| row["cell"] == 0).unwrap();
    assert!((found["value"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-7, "{found}");
    assert_eq!(found["n"], 10);
    for (times, standing, more) in [(3.0, "recommended", None), (0.5, "undecided", Some(0))] {
        let limit = format!("failure_ratio<={}", times * ratio);
        let args =
            ["recommend", "out", "--objective", "connections", "--subject-to", &limit, "--format", "json"];
        let asked: serde_json::Value = serde_json::from_str(&stdout(&zonesim(folder.path(), &args))).unwrap();
        let candidate = &asked["sections"][0]["candidates"][0];
        let found = &candidate["constraints"][0];
        assert!((found["value"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-7, "{asked:#}");
        assert_eq!((&candidate["cell"], &candidate["standing"]), (&0.into(), &standing.into()), "{asked:#}");
        // Replications come in twos.
        assert_eq!(found["more_replications"].as_u64().map(|more| more % 2), more, "{asked:#}");
    }
}

#[test]
fn strata_that_can_not_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rare.toml"), RARE).unwrap();
    let stratified = "faults.0.random.stratified=true";
    for (set, says) in [
        (vec![stratified, "faults.0.random.at_least_one=false"], "write at_least_one = true beside it"),
        (vec![stratified, "simulation.replications=7"], "write an even number"),
    ] {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["run", "rare.toml", "--dry-run"].into_iter().chain(sets).collect();
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    let fault = RARE.lines().find(|line| line.trim().starts_with("faults")).unwrap();
    let fault = fault
        .trim()
        .trim_start_matches("faults = [")
        .trim_end_matches(']')
        .replace("true }", "true, stratified = true }");
    let two = format!("faults = [{fault}, {fault}]");
    let lines = RARE.lines().map(|line| if line.trim().starts_with("faults") { &two } else { line });
    fs::write(folder.path().join("two.toml"), lines.collect::<Vec<&str>>().join("\n")).unwrap();
    let output = zonesim(folder.path(), &["run", "two.toml", "--dry-run"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("replications are of two strata"), "{}", stderr(&output));
}

#[test]
fn a_rare_fault_that_is_asked_to_happen_says_how_often_it_does() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rare.toml"), RARE).unwrap();
    let said = stderr(&run_case(folder.path(), "rare", &[]));
    // Up 100 h of 100 h and 5 min, and then for ten minutes more.
    assert!(said.contains("every measured window of") && said.contains("0.25 % of all windows"), "{said}");
    let manifest = fs::read_to_string(folder.path().join("out/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let chance = manifest["asked_for"][0]["chance"].as_f64().unwrap();
    assert!((chance - (1.0 - 1200.0 / 1201.0 * (-1.0_f64 / 600.0).exp())).abs() < 1e-12, "{chance}");
    let failed = column(folder.path(), "runs.csv", "failed_connections");
    assert!(
        failed.iter().filter(|failed| **failed > 0.0).count() >= 18,
        "it strikes in every one: {failed:?}"
    );
    for (path, value, says) in [
        ("simulation.initial_health", "all_up", "begins in its long run"),
        ("faults.0.random.time_between", "{ constant = \"1h\" }", "is not exponential"),
    ] {
        let set = format!("{path}={value}");
        let output = zonesim(folder.path(), &["run", "rare.toml", "--dry-run", "--set", &set]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

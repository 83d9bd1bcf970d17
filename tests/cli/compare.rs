//! `zonesim compare`: signs, sizes and verdicts of results whose answer is known, and clear errors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::crash::JOURNAL;
use crate::{SMALL, assert_status, stderr, stdout, zonesim};

/// Two zones of four backends each, of which three of zone a fail for a while; arms `disabled`, `six` and `seven` (ratios of
/// 0.6 and 0.7, which are the same policy with four backends a zone), and `stay`.
pub(crate) fn four_a_zone() -> String {
    let head = SMALL[..SMALL.find("[server]").unwrap()].replace("size = 2", "size = 4");
    let head = head.replace("replications = 2", "replications = 6");
    let arm = |name: &str, spillover: &str, ratio: &str| {
        format!(
            "[[arms]]\nname = \"{name}\"\nset = {{ \"backend_service.zonal_affinity\" = \
             {{ spillover = \"{spillover}\", spillover_ratio = {ratio} }} }}\n"
        )
    };
    [
        head,
        "[server]\nworkers = \"unlimited\"\n".to_owned(),
        "[[clients]]\nname = \"web-a\"\nkind = \"vm\"\nzone = \"us-central1-a\"\n\
         arrivals = { poisson = { rate = 40.0 } }\nrequest_timeout = \"2s\"\n"
            .to_owned(),
        "[[faults]]\nat = \"20s\"\ntarget = { backends = [\"ig-a-1\", \"ig-a-2\", \"ig-a-3\"] }\n\
         kind = \"refuse\"\n"
            .to_owned(),
        arm("disabled", "DISABLED", "0.0"),
        arm("six", "SPILL_CROSS_ZONE", "0.6"),
        arm("seven", "SPILL_CROSS_ZONE", "0.7"),
        arm("stay", "STAY_WITHIN_ZONE", "0.0"),
    ]
    .concat()
}

/// Runs `text` in a new folder; the results are in `out`.
pub(crate) fn results_of(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file.toml"), text).unwrap();
    assert_status(&zonesim(folder.path(), &["run", "file.toml", "--no-charts", "--out", "out"]), 0);
    folder
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let output = zonesim(folder, &[args, &["--format", "json"]].concat());
    assert_status(&output, 0);
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn row<'a>(answer: &'a Value, metric: &str, arm: &str) -> &'a Value {
    let rows = answer["rows"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric && row["arm"] == arm).unwrap()
}

#[test]
fn the_same_policy_is_identical_and_differences_have_their_sign_and_size() {
    let folder = results_of(&four_a_zone());
    let answer = json(folder.path(), &["compare", "out"]);
    assert_eq!(
        (answer["baseline"].as_str(), answer["correction"].as_str()),
        (Some("disabled"), Some("bonferroni"))
    );
    for metric in ["failure_ratio", "cross_zone_connection_ratio", "request_p99_ms"] {
        let (six, seven) = (row(&answer, metric, "six"), row(&answer, metric, "seven"));
        assert_eq!((&six["value"], &six["p"]), (&seven["value"], &seven["p"]), "{metric}");
        assert_eq!((&six["same_as"], &seven["same_as"]), (&Value::Null, &Value::from(1)), "{metric}");
    }
    // Half of the connections cross without affinity while all are up and more when three of the eight are down; none
    // where all stay.
    let crossing = row(&answer, "cross_zone_connection_ratio", "stay");
    assert_eq!((&crossing["verdict"], &crossing["value"]), (&"better".into(), &0.0.into()));
    let difference = crossing["difference"].as_f64().unwrap();
    assert!((-0.8..-0.5).contains(&difference), "{difference}");
    let (low, high) = (crossing["ci_low"].as_f64().unwrap(), crossing["ci_high"].as_f64().unwrap());
    assert!(low < difference && difference < high && high < 0.0);
    assert!(crossing["corrected_ci_low"].as_f64().unwrap() <= low);

    let against =
        json(folder.path(), &["compare", "out", "--baseline", "six", "--metric", "failure_ratio,requests"]);
    let same = row(&against, "failure_ratio", "seven");
    assert_eq!((&same["verdict"], &same["difference"]), (&"identical".into(), &0.0.into()));
    assert_eq!(row(&against, "failure_ratio", "six")["verdict"], "baseline");
    let text = stdout(&zonesim(folder.path(), &["compare", "out", "--baseline", "six"]));
    assert!(text.contains("identical, exactly"), "{text}");
}

#[test]
fn formats_hold_the_same_numbers_and_every_call_gives_the_same_bytes() {
    let folder = results_of(&four_a_zone());
    let args = ["compare", "out", "--format", "csv"];
    let csv = stdout(&zonesim(folder.path(), &args));
    assert_eq!(csv, stdout(&zonesim(folder.path(), &args)));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    let answer = json(folder.path(), &["compare", "out"]);
    assert_eq!(rows.len(), answer["rows"].as_array().unwrap().len());
    assert_eq!(rows.len(), 5 * 4, "five metrics of four cells");
    for (row, record) in rows.iter().zip(answer["rows"].as_array().unwrap()) {
        assert_eq!(row["verdict"], record["verdict"].as_str().unwrap());
        assert_eq!(row["difference"].is_empty(), record["difference"].is_null());
        if let Some(value) = record["value"].as_f64() {
            assert!((row["value"].parse::<f64>().unwrap() - value).abs() <= 1e-8 * value.abs());
        }
    }
    let table = stdout(&zonesim(folder.path(), &["compare", "out"]));
    for part in ["6 replications each", "+ better", "hold together with 95 %", "best: ", "CRN"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains('\u{1b}'), "no colour is needed");
    assert!(table.lines().all(|line| line.trim_end() == line), "no line ends with blanks");
}

#[test]
fn wrong_questions_are_status_2_and_broken_folders_status_1() {
    let folder = results_of(SMALL);
    let fails = |args: &[&str], status: i32, part: &str| {
        let output = zonesim(folder.path(), &[&["compare"], args].concat());
        assert_status(&output, status);
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(part), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "one clear message: {}", stderr(&output));
    };
    fails(&["out", "--metric", "failure_rate"], 2, "did you mean \"failure_ratio\"?");
    fails(&["out", "--baseline", "spil"], 2, "did you mean \"spill\"?");
    fails(&["out", "--baseline", "spill,spillover_ratio=0.7"], 2, "it has 0.0, 0.5, 1.0");
    fails(&["nowhere"], 2, "there is no folder nowhere");
    fs::create_dir(folder.path().join("out/.zonesim-journal")).unwrap();
    fs::write(folder.path().join("out").join(JOURNAL), "").unwrap();
    fails(&["out"], 1, "--resume");
    fs::remove_dir_all(folder.path().join("out/.zonesim-journal")).unwrap();
    let manifest = folder.path().join("out/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let version = format!("\"zonesim\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version));
    fs::write(&manifest, text.replace(&version, "\"zonesim\": \"9.0.0\"")).unwrap();
    fails(&["out"], 1, "made by zonesim 9.0.0");
    fs::write(&manifest, &text).unwrap();
    let runs = folder.path().join("out/runs.csv");
    let text = fs::read_to_string(&runs).unwrap();
    fs::write(&runs, &text[..text.len() - 3]).unwrap();
    fails(&["out"], 1, "half-written");
}

#[test]
fn one_replication_and_lacking_files_are_said() {
    let folder = results_of(&SMALL.replacen("replications = 2", "replications = 1", 1));
    let output = zonesim(folder.path(), &["compare", "out"]);
    assert_status(&output, 2);
    assert!(stderr(&output).contains("--replications"), "{}", stderr(&output));

    let folder = results_of(SMALL);
    fs::remove_file(folder.path().join("out/traffic.csv")).unwrap();
    let output = zonesim(folder.path(), &["compare", "out"]);
    assert_status(&output, 0);
    assert!(stderr(&output).contains("cross_zone_connection_ratio is missing"), "{}", stderr(&output));
    assert!(stdout(&output).contains("missing"), "{}", stdout(&output));
}

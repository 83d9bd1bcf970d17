//! Folders as they are written, and as they are when somebody has edited them.

use super::sample::SampleFolder;
use super::*;

#[test]
fn a_folder_gives_its_arms_axes_and_cells_in_file_order() {
    let results = SampleFolder::default().results();
    assert_eq!(results.arms, ["disabled", "stay", "spill"]);
    assert_eq!(results.axes, ["spillover_ratio"]);
    assert_eq!(results.cells.len(), 13);
    assert_eq!(results.cells[0].values, [""], "an arm without the axis has no value of it");
    assert_eq!(results.cells[2].values, ["0.0"]);
    assert!(results.cells.iter().all(|cell| cell.replications == 5));
    assert_eq!(results.runs.len(), 13 * 5);
    assert_eq!(results.description.zones.len(), 3);
    assert!(results.manifest.is_some());
    let summary = results.summary(0, "failure_ratio").unwrap();
    assert_eq!((summary.n, summary.confidence), (Some(5.0), Some(0.95)));
}

#[test]
fn missing_values_are_missing_and_not_zero() {
    let folder = SampleFolder { replications: 1, ..SampleFolder::default() }.write();
    let results = Results::read(folder.path()).unwrap();
    let summary = results.summary(0, "failure_ratio").unwrap();
    assert!(summary.mean.is_some());
    assert_eq!((summary.std_dev, summary.ci_low), (None, None));
}

/// Damages one file of a good folder and gives the error.
fn error_after(file: &str, damage: impl Fn(String) -> String) -> String {
    let folder = SampleFolder::default().write();
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, damage(text)).unwrap();
    Results::read(folder.path()).unwrap_err().to_string()
}

#[test]
fn errors_name_file_line_column_and_what_was_expected() {
    let error = error_after("traffic.csv", |text| text.replacen("us-central1-a,us-central1-a,", "x,y,z", 1));
    assert!(error.contains("traffic.csv, line 2"), "{error}");
    let error = error_after("runs.csv", |text| text.replacen("0,disabled,,1,", "0,disabled,,one,", 1));
    assert!(error.contains("runs.csv, line 3, column `replication`"), "{error}");
    assert!(error.contains("expected a whole number, found \"one\""), "{error}");
    let error = error_after("latency.csv", |text| text.replacen("p99_ms", "p98_ms", 1));
    assert!(error.contains("latency.csv") && error.contains("no column `p99_ms`"), "{error}");
    let error = error_after("summary.csv", |text| text.replacen(",0.95,", ",NaN,", 1));
    assert!(error.contains("line 2, column `confidence`: expected a finite number or nothing"), "{error}");
    let error = error_after("experiment.toml", |text| text.replacen("\"10m\"", "\"10\"", 1));
    assert!(error.contains("its experiment.toml can't be read; mend it"), "{error}");
    let error = error_after("resolved.json", |text| text.replacen("\"zones\"", "\"regions\"", 1));
    assert!(error.contains("can't read") && error.contains("resolved.json"), "{error}");
}

#[test]
fn half_written_and_missing_files_are_errors() {
    let error = error_after("timeline.csv", |text| text[..text.len() - 5].to_owned());
    assert!(error.contains("timeline.csv") && error.contains("half-written"), "{error}");
    let error = error_after("backends.csv", |_| String::new());
    assert!(error.contains("backends.csv") && error.contains("half-written"), "{error}");
    let error = error_after("manifest.json", |text| text[..text.len() / 2].to_owned());
    assert!(error.contains("manifest.json"), "{error}");
    let error = Results::read(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(error.contains("runs.csv"), "{error}");
}

#[test]
fn rows_that_are_missing_doubled_or_of_no_run_are_errors() {
    let line = |text: &str, number: usize| text.lines().nth(number - 1).unwrap().to_owned() + "\n";
    for name in [
        "runs.csv",
        "summary.csv",
        "traffic.csv",
        "latency.csv",
        "backends.csv",
        "decisions.csv",
        "timeline.csv",
    ] {
        let error = error_after(name, |text| text.clone() + &line(&text, 3));
        let last = |text: &str| text.lines().count();
        assert!(error.contains(name) && error.contains("twice"), "{error}");
        let error =
            error_after(name, |text| text.clone() + &line(&text, last(&text)).replacen("12,", "99,", 1));
        assert!(error.contains(name) || error.contains("99"), "{error}");
        let error = error_after(name, |text| text + &format!("{}\n", "9,".repeat(1 << 20)));
        assert!(
            error.contains(name) && (error.contains("fields") || error.contains("longer than")),
            "{error}"
        );
        let error = error_after(name, |text| text + "\"" + &"x\n".repeat(1 << 20));
        assert!(error.contains(name) && error.contains("is a quote not closed?"), "{error}");
        let error = error_after(name, |text| text.replacen("arm", "cell", 1));
        assert!(error.contains(name) && error.contains("line 1"), "{error}");
    }
    for name in ["runs.csv", "summary.csv", "traffic.csv", "backends.csv"] {
        let error = error_after(name, |text| line(&text, 1));
        assert!(error.contains(name) && error.contains("there "), "{error}");
    }
    for name in ["summary.csv", "traffic.csv", "backends.csv"] {
        let error = error_after(name, |text| {
            text.lines().filter(|line| !line.starts_with("5,")).map(|line| line.to_owned() + "\n").collect()
        });
        assert!(error.contains(name) && error.contains("cell 5"), "{error}");
    }
    let error = error_after("manifest.json", |_| "{\"complete\": true, \"finished_runs\": 66}".to_owned());
    assert!(error.contains("there are 65 rows, but manifest.json says 66"), "{error}");
}

#[test]
fn values_out_of_their_range_are_errors() {
    let second = |text: &str, column: &str, value: &str| {
        let at = text.lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut fields: Vec<&str> = lines[1].split(',').collect();
        fields[at] = value;
        lines[1] = fields.join(",");
        lines.join("\n") + "\n"
    };
    for (name, column, value, expected) in [
        ("runs.csv", "failure_ratio", "1.5", "a ratio from 0 to 1"),
        ("runs.csv", "connections", "-1", "a number from 0 on"),
        ("runs.csv", "connections", "inf", "a finite number"),
        ("runs.csv", "connections", "NaN", "a finite number"),
        ("runs.csv", "replication", "-1", "a whole number"),
        ("runs.csv", "cell", "99999999999999999999", "a whole number"),
        ("traffic.csv", "connections", "-3", "a number from 0 on"),
        ("latency.csv", "p99_ms", "-0.5", "a number from 0 on"),
        ("timeline.csv", "time_s", "-10", "a number from 0 on"),
        ("summary.csv", "mean", "1e999", "a finite number"),
    ] {
        let error = error_after(name, |text| second(&text, column, value));
        assert!(
            error.contains(&format!("{name}, line 2, column `{column}`: expected {expected}")),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn links_pipes_and_devices_are_no_results() {
    for name in ["runs.csv", "traffic.csv", "summary.csv", "manifest.json", "resolved.json"] {
        let folder = SampleFolder::default().write();
        let path = folder.path().join(name);
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        for target in [Path::new("/dev/zero"), &moved] {
            std::os::unix::fs::symlink(target, &path).unwrap();
            let error = Results::read(folder.path()).unwrap_err();
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(error.to_string().contains(name) && cause.contains("a link"), "{error}: {cause}");
            fs::remove_file(&path).unwrap();
        }
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = Results::read(folder.path()).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(error.to_string().contains(name) && cause.contains("a pipe"), "{error}: {cause}");
    }
}

#[test]
fn description_and_manifest_may_be_missing() {
    let folder = SampleFolder::default().write();
    for file in ["experiment.toml", "resolved.json", "manifest.json"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    let results = Results::read(folder.path()).unwrap();
    assert!(results.description.name.is_empty() && results.description.policies.is_none());
    assert_eq!(results.manifest, None);
}

//! `zonesim report` and `[[charts]]`: a page and charts from the folder alone, and clear errors.

use std::fs;
use std::path::Path;

use crate::run::folder_with;
use crate::{SMALL, assert_status, stderr, stdout, zonesim};

/// The small experiment with charts and thresholds of its own.
fn asking() -> String {
    format!(
        "{SMALL}\n[[charts]]\nmetric = \"failure_ratio\"\naxis = \"spillover_ratio\"\nfile = \"mine\"\n\
         [[thresholds]]\nmetric = \"failure_ratio\"\nmax = 1.0\n\
         [[thresholds]]\nmetric = \"requests\"\narm = \"spill\"\nmin = 1e12\n"
    )
}

/// A folder with results of the experiment `text` in `out`, and nothing that they were made of.
fn results_alone(text: &str, status: i32) -> tempfile::TempDir {
    let folder = folder_with(text);
    assert_status(&zonesim(folder.path(), &["run", "small.toml", "--no-charts", "--out", "out"]), status);
    fs::remove_file(folder.path().join("small.toml")).unwrap();
    folder
}

#[test]
fn a_page_needs_the_folder_alone_loads_nothing_and_is_the_same_every_time() {
    let folder = results_alone(&asking(), 3);
    let moved = tempfile::tempdir().unwrap();
    fs::rename(folder.path().join("out"), moved.path().join("elsewhere")).unwrap();
    let page = |args: &[&str]| {
        let output = zonesim(moved.path(), &[&["report", "elsewhere"], args].concat());
        assert_status(&output, 0);
        assert_eq!(stdout(&output), "", "a page is no data for standard output");
        assert!(stderr(&output).contains("report in "), "{}", stderr(&output));
    };
    page(&[]);
    page(&["--out", "again.html"]);
    let read = |path: &str| fs::read_to_string(moved.path().join(path)).unwrap();
    let html = read("elsewhere/report.html");
    assert_eq!(html, read("again.html"));
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    for outside in ["http:", "https:", "//", "src=", "<script", "<link", "<iframe", "url(", "@import"] {
        let found = html.find(outside).map(|at| &html[at.saturating_sub(40)..at + 40]);
        assert_eq!(found, None, "{outside}");
    }
    for part in [
        "Failure ratio by spillover ratio",
        "4 passed, 3 missed",
        "requests at least 1T",
        "<h2>Thresholds</h2>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("1/2</text>"), "two backends a zone have one threshold");
}

#[test]
fn charts_that_are_asked_for_are_drawn_from_the_folder_alone() {
    let folder = results_alone(&asking(), 3);
    let charts = || -> Vec<(String, Vec<u8>)> {
        assert_status(&zonesim(folder.path(), &["plot", "out", "--format", "both"]), 0);
        let entries =
            fs::read_dir(folder.path().join("out/charts")).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let first = charts();
    assert!(["mine.png", "mine.svg"].iter().all(|name| first.iter().any(|(found, _)| found == name)));
    assert_eq!(first, charts());
}

/// Changes a file of the folder, tries both commands, and puts the file back.
#[track_caller]
fn fails(folder: &Path, file: &str, change: &dyn Fn(&str) -> String, status: i32, part: &str) {
    let path = folder.join("out").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{file} is changed");
    fs::write(&path, changed).unwrap();
    for command in ["report", "plot"] {
        let output = zonesim(folder, &[command, "out"]);
        assert_status(&output, status);
        let message = stderr(&output);
        assert!(message.contains(part), "{command}: {message}");
        assert_eq!(message.matches("error:").count(), 1, "{command}: one clear message: {message}");
        assert!(!folder.join("out/report.html").exists() && !folder.join("out/charts").exists());
    }
    fs::write(&path, text).unwrap();
}

#[test]
fn wrong_requests_and_broken_folders_are_clear_errors_and_leave_nothing_behind() {
    let folder = results_alone(&asking(), 3);
    let folder = folder.path();
    for (from, to, part) in [
        ("metric = \"failure_ratio\"", "metric = \"failure_rate\"", "did you mean `failure_ratio`?"),
        (
            "axis = \"spillover_ratio\"",
            "axis = \"rate\"",
            "`charts.0.axis` names \"rate\", which does not exist",
        ),
        ("[[charts]]", "[[charts]", "experiment.toml can't be read; mend it"),
    ] {
        fails(folder, "experiment.toml", &|text| text.replacen(from, to, 1), 2, part);
    }
    fails(folder, "summary.csv", &|text| text[..text.len() - 4].to_owned(), 1, "summary.csv: half-written");
    fails(
        folder,
        "runs.csv",
        &|text| text.replacen("failure_ratio", "x", 1),
        2,
        "no metric \"failure_ratio\"",
    );
    let version = |text: &str| text.replace(env!("CARGO_PKG_VERSION"), "9.0.0");
    let manifest = folder.join("out/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, version(&text)).unwrap();
    let output = zonesim(folder, &["report", "out"]);
    assert_status(&output, 1);
    assert!(stderr(&output).contains("made by zonesim 9.0.0, this is"), "{}", stderr(&output));
}

#[test]
fn an_experiment_that_asks_for_a_chart_of_what_it_lacks_is_not_run() {
    for (from, to, part) in [
        ("metric = \"failure_ratio\"\naxis", "metric = \"failure_rate\"\naxis", "failure_ratio"),
        ("axis = \"spillover_ratio\"", "axis = \"spill_ratio\"", "spillover_ratio"),
    ] {
        let folder = folder_with(&asking().replace(from, to));
        let output = zonesim(folder.path(), &["run", "small.toml"]);
        assert_status(&output, 2);
        assert!(
            stderr(&output).contains(part) && stderr(&output).contains("small.toml:"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn every_command_that_reads_a_folder_refuses_one_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("results/nightly")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (command, more) in [
        ("compare", &[][..]),
        ("plot", &[]),
        ("report", &[]),
        ("recommend", &["--objective", "requests"]),
        ("merge", &["--out", "merged"]),
    ] {
        let ask = |name: &str| zonesim(folder.path(), &[&[command, name], more].concat());
        for (name, part) in [
            ("nowhere", "there is no folder nowhere"),
            ("results/nihgtly", "did you mean results/nightly?"),
            ("file", "file is no folder"),
            ("results/nightly", if command == "merge" { "holds no shard" } else { "it has no runs.csv" }),
        ] {
            let output = ask(name);
            assert_status(&output, 2);
            assert!(stderr(&output).contains(part), "{command} {name}: {}", stderr(&output));
            assert_eq!(stdout(&output), "", "{command} {name}");
            assert_eq!(stderr(&output).matches("error:").count(), 1, "{command} {name}: {}", stderr(&output));
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is written");
}

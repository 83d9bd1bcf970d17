use std::fs;

use super::*;
use crate::experiment::ChartRequest;
use crate::results::description::{ChartEntry, ThresholdEntry};
use crate::results::sample::{SampleFolder, redescribe};

fn page(sample: &SampleFolder) -> String {
    html(sample.write().path()).unwrap()
}

/// Checks that every element that is opened is closed, in order, and gives the text between them.
fn well_formed(page: &str) -> String {
    const VOID: [&str; 2] = ["meta", "wbr"];
    let (mut open, mut text) = (Vec::new(), String::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!before.contains('>') || open.last() == Some(&"style"), "a stray >: {before}");
        text.push_str(before);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order");
        } else if !tag.ends_with('/') {
            let name = tag.split_whitespace().next().unwrap();
            assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric()), "<{tag}>");
            if !VOID.contains(&name) {
                open.push(name);
            }
        }
    }
    assert_eq!(open, [""; 0], "never closed");
    text
}

#[test]
fn a_page_is_whole_loads_nothing_and_is_the_same_every_time() {
    for sample in [
        SampleFolder::default(),
        SampleFolder::one_cell(),
        SampleFolder::no_axis(),
        SampleFolder::many_arms(),
    ] {
        let html = page(&sample);
        let text = well_formed(&html);
        for heading in ["Answer", "Summary", "Comparison", "Charts", "Experiment"] {
            assert!(text.contains(heading), "{heading}");
        }
        for outside in ["http://", "https://", "src=", "<script", "<link", "<img", "url(", "@import", "NaN"] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert_eq!(html.matches("<figure>").count(), html.matches("aria-label=").count());
        assert_eq!(html, page(&sample));
    }
}

#[test]
fn the_answer_names_the_best_and_says_what_each_arm_changes() {
    let html = page(&SampleFolder::default());
    let answer = well_formed(&html);
    let answer = &answer[answer.find("Answer\n").unwrap()..answer.find("Summary\n").unwrap()];
    assert!(
        answer.contains("Fewest failed connections: ") && answer.contains("Against disabled:"),
        "{answer}"
    );
    assert!(answer.contains("stay: failed connections worse, +"), "{answer}");
    assert!(answer.contains("cross-zone cost a month better, −$"), "{answer}");
    let alone = well_formed(&page(&SampleFolder::one_cell()));
    assert!(alone.contains("No verdict: every cell has only one replication"), "{alone}");
}

#[test]
fn names_are_text_and_not_markup() {
    let hostile = "<b>x</b><script>alert(1)</script>&\"";
    let sample =
        SampleFolder { arms: vec!["disabled".to_owned(), hostile.to_owned()], ..SampleFolder::no_axis() };
    let folder = sample.write();
    let path = folder.path().join("experiment.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}# </style></pre>{hostile}\n")).unwrap();
    redescribe(folder.path(), |description| description.question = format!("</style></pre>{hostile}"));
    let html = html(folder.path()).unwrap();
    let text = well_formed(&html);
    assert!(!html.contains("<b>") && !html.contains("<script") && html.matches("</style>").count() == 1);
    assert!(text.contains("&lt;/style&gt;&lt;/pre&gt;&lt;b&gt;x&lt;/b&gt;"));
}

#[test]
fn five_hundred_cells_make_a_page_that_can_be_read() {
    let html = page(&SampleFolder::five_hundred_cells());
    well_formed(&html);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    assert!(html.contains("Shown are 60 of ") && html.contains("summary.csv has all"));
}

#[test]
fn thresholds_stand_in_a_table_with_every_cell_that_they_judge() {
    assert!(!page(&SampleFolder::default()).contains("id=\"thresholds\""), "there are none");
    let folder = SampleFolder::default().write();
    let threshold = |metric: &str, arm: Option<&str>, min, max| ThresholdEntry {
        metric: metric.to_owned(),
        arm: arm.map(str::to_owned),
        min,
        max,
    };
    redescribe(folder.path(), |description| {
        description.thresholds = vec![
            threshold("failure_ratio", None, None, Some(0.01)),
            threshold("requests", Some("stay"), Some(1.0), None),
            threshold("connections", None, Some(1.0), None),
        ];
    });
    let html = html(folder.path()).unwrap();
    let text = well_formed(&html);
    let section = &text[text.find("Thresholds\n").unwrap()..text.find("Summary\n").unwrap()];
    // Staying and low ratios fail more than 1 %; the sample has no column of requests.
    assert!(section.contains("20 passed, 7 missed"), "{section}");
    assert!(
        section.contains("spill, spillover_ratio = 0.3") && section.contains("failure_ratio at most 1 %")
    );
    assert!(section.contains("requests at least 1") && section.contains("missing"));
    assert!(html.contains("8 more that passed</summary>") && html.contains("<nav><a href=\"#answer\""));
}

#[test]
fn a_chart_that_cannot_be_drawn_is_an_error_with_its_line() {
    let folder = SampleFolder::default().write();
    let request = |metric: &str, axis: &str| ChartRequest {
        metric: metric.to_owned(),
        axis: axis.to_owned(),
        ..ChartRequest::default()
    };
    let right = request("failure_ratio", "spillover_ratio");
    let facet = ChartRequest { facet: Some("rate".to_owned()), ..right.clone() };
    let arms = ChartRequest { arms: Some(vec!["sty".to_owned()]), ..right };
    for (request, part) in [
        (request("failure_rate", "spillover_ratio"), "metric: there is no metric \"failure_rate\"; did you"),
        (request("failure_ratio", "ratio"), "axis: there is no axis \"ratio\""),
        (facet, "facet: there is no axis"),
        (arms, "arms: there is no arm \"sty\"; did you"),
    ] {
        let lines = ["metric", "axis", "facet", "arms"].map(|key| (key.to_owned(), 27)).into();
        redescribe(folder.path(), |description| description.charts = vec![ChartEntry { request, lines }]);
        let error = html(folder.path()).unwrap_err().to_string();
        assert!(error.contains("experiment.toml, line 27: charts.0.") && error.contains(part), "{error}");
    }
}

#[test]
fn what_is_missing_is_said() {
    let folder = SampleFolder::default().write();
    for file in ["timeline.csv", "manifest.json", "experiment.toml", "resolved.json"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    let text = well_formed(&html(folder.path()).unwrap());
    for file in ["timeline.csv", "manifest.json", "experiment.toml"] {
        assert!(text.contains(&format!("{file} is not there")), "{file}");
    }
    fs::write(folder.path().join("summary.csv"), "cell,arm").unwrap();
    assert!(html(folder.path()).unwrap_err().to_string().contains("summary.csv: half-written"));
    fs::write(folder.path().join("manifest.json"), "{\"zonesim\": \"99.0.0\"}").unwrap();
    assert!(html(folder.path()).unwrap_err().to_string().contains("made by zonesim 99.0.0"));
    assert!(html(Path::new("/nonexistent")).unwrap_err().to_string().contains("runs.csv"));
}

#[test]
fn browsers_are_told_to_load_nothing() {
    let html = page(&SampleFolder::default());
    assert!(html.contains(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">")));
    assert!(POLICY.starts_with("default-src 'none'"));
}

use super::*;
use crate::report::results::sample::Sample;

fn page(sample: &Sample) -> String {
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
    for sample in [Sample::default(), Sample::one_cell(), Sample::no_axis(), Sample::many_arms()] {
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
    let html = page(&Sample::default());
    let answer = well_formed(&html);
    let answer = &answer[answer.find("Answer\n").unwrap()..answer.find("Summary\n").unwrap()];
    assert!(
        answer.contains("Fewest failed connections: ") && answer.contains("Against disabled:"),
        "{answer}"
    );
    assert!(answer.contains("stay: failed connections worse, +"), "{answer}");
    assert!(answer.contains("cross-zone cost a month better, −$"), "{answer}");
    let alone = well_formed(&page(&Sample::one_cell()));
    assert!(alone.contains("No verdict: every cell has only one replication"), "{alone}");
}

#[test]
fn names_are_text_and_not_markup() {
    let hostile = "<b>x</b><script>alert(1)</script>&\"";
    let sample = Sample { arms: vec!["disabled".to_owned(), hostile.to_owned()], ..Sample::no_axis() };
    let folder = sample.write();
    let path = folder.path().join("experiment.toml");
    let text = fs::read_to_string(&path).unwrap();
    let description = format!("'''</style></pre>{hostile}'''");
    fs::write(&path, text.replace("\"How much stays?\"", &description)).unwrap();
    let html = html(folder.path()).unwrap();
    let text = well_formed(&html);
    assert!(!html.contains("<b>") && !html.contains("<script") && html.matches("</style>").count() == 1);
    assert!(text.contains("&lt;/style&gt;&lt;/pre&gt;&lt;b&gt;x&lt;/b&gt;"));
}

#[test]
fn five_hundred_cells_make_a_page_that_can_be_read() {
    let html = page(&Sample::five_hundred_cells());
    well_formed(&html);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    assert!(html.contains("Shown are 60 of ") && html.contains("summary.csv has all"));
}

#[test]
fn what_is_missing_is_said() {
    let folder = Sample::default().write();
    for file in ["timeline.csv", "manifest.json", "experiment.toml"] {
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

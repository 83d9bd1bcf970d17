//! `precision`: what it becomes, and what is said about a wrong one.

use super::{SMALL, changed, parse, parse_with, refusal, set};
use crate::experiment::{Experiment, Overrides};
use crate::stats::{Confidence, Tolerance};

/// The small experiment with these keys of a precision.
fn precise(keys: &str) -> String {
    changed("replications = 2", &format!("precision = {{ {keys} }}"))
}

fn stands(experiment: &Experiment) -> (Option<String>, u32) {
    (experiment.precision().map(ToString::to_string), experiment.replications())
}

#[test]
fn a_precision_has_one_tolerance_and_defaults() {
    let experiment = parse(&precise(
        "metric = \"failure_ratio\", relative = 0.05, confidence = 0.9, max_replications = 200",
    ));
    let experiment = experiment.unwrap();
    let precision = experiment.precision().unwrap();
    assert_eq!(precision.metric.name, "failure_ratio");
    assert_eq!(precision.rule.tolerance, Tolerance::Relative(0.05));
    assert_eq!(precision.rule.confidence, Confidence::try_from(0.9).unwrap());
    assert_eq!(stands(&experiment), (Some("failure_ratio within ±5 %".to_owned()), 200));
    let experiment = parse(&precise("metric = \"requests\", absolute = 50")).unwrap();
    assert_eq!(stands(&experiment), (Some("requests within ±50".to_owned()), 1000));
    assert_eq!(experiment.precision().unwrap().rule.confidence, Confidence::P95);
}

#[test]
fn wrong_precisions_say_what_to_write() {
    for (keys, what, help) in [
        ("relative = 0.1", "has no `metric`", "metric = \"failure_ratio\""),
        (
            "metric = \"failure_rate\", relative = 0.1",
            "which does not exist",
            "did you mean `failure_ratio`?",
        ),
        ("metric = \"requests\"", "has neither `relative` nor `absolute`", "relative = 0.05"),
        ("metric = \"requests\", relative = 0.1, absolute = 1.0", "has both", "keep one of them"),
        (
            "metric = \"requests\", relative = 0.0",
            "`simulation.precision.relative` can't be 0",
            "0.05 for 5 %",
        ),
        ("metric = \"requests\", relative = 5", "can't be 5", "strictly between 0 and 1"),
        ("metric = \"requests\", absolute = -1.0", "can't be -1", "above 0"),
        ("metric = \"requests\", absolute = inf", "can't be inf", "above 0"),
        ("metric = \"requests\", relative = 0.1, confidence = 95", "95 is not a confidence", "such as 0.95"),
        ("metric = \"requests\", relative = 0.1, max_replications = 14", "can't be 14", "from 15 to 1000000"),
        (
            "metric = \"requests\", relative = 0.1, max_replication = 20",
            "is not a known key",
            "`max_replications`",
        ),
    ] {
        let error = refusal(&precise(keys), &Overrides::default());
        assert!(
            error.contains(what) && error.contains(help) && error.contains("test.toml:5:"),
            "{keys}:\n{error}"
        );
    }
}

#[test]
fn a_precision_and_a_number_exclude_each_other() {
    let both = changed(
        "replications = 2",
        "replications = 2\nprecision = { metric = \"requests\", relative = 0.1 }",
    );
    insta::assert_snapshot!(refusal(&both, &Overrides::default()), @r#"
    error: `simulation.precision` stands beside `replications`, which says the same in another way
     --> test.toml:6:1
      |
    6 | precision = { metric = "requests", relative = 0.1 }
      | ^^^^^^^^^
      |
      = help: keep one of the two
    "#);
    // Both count as runs at most.
    let many = precise("metric = \"requests\", relative = 0.1, max_replications = 1000000");
    assert!(refusal(&many, &Overrides::default()).contains("leads to 6000000 runs"));
}

#[test]
fn what_the_command_line_says_replaces_the_other() {
    let file = precise("metric = \"requests\", relative = 0.1");
    let fixed = Overrides { replications: Some(3), ..Overrides::default() };
    let experiment = parse_with(&file, &fixed).unwrap();
    assert_eq!(stands(&experiment), (None, 3));
    assert!(!experiment.document().contains("precision"), "{}", experiment.document());
    assert_eq!(stands(&parse_with(&file, &set(&[("simulation.replications", "4")])).unwrap()), (None, 4));
    let precision = "{ metric = 'requests', absolute = 9.5 }";
    let experiment = parse_with(SMALL, &set(&[("simulation.precision", precision)])).unwrap();
    assert_eq!(stands(&experiment), (Some("requests within ±9.5".to_owned()), 1000));
    assert_eq!(stands(&parse(experiment.document()).unwrap()), stands(&experiment));
    // A part of it may change too.
    let experiment = parse_with(&file, &set(&[("simulation.precision.relative", "0.2")])).unwrap();
    assert_eq!(stands(&experiment).0.unwrap(), "requests within ±20 %");
}

#[test]
fn no_arm_has_a_precision_of_its_own() {
    for key in ["simulation.precision", "simulation.precision.relative"] {
        let text = changed("\"clients.web-a.addresses\" = [100, 200]", &format!("\"{key}\" = [0.1, 0.2]"));
        let error = refusal(&text, &Overrides::default());
        assert!(error.contains("holds for the whole experiment"), "{error}");
    }
}

//! Whatever the text, reading it ends in an experiment or in an error that says where and what.

use proptest::prelude::*;

use super::{POOLS, parse_with, set};
use crate::experiment::QUICKSTART;

/// A change of a text.
#[derive(Clone, Debug)]
enum Change {
    Delete { at: usize, length: usize },
    Insert { at: usize, text: String },
    SwapLines { one: usize, other: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let text = prop_oneof![
        "[\\[\\]{}=\",.#0-9a-z \n]{1,4}",
        "\\PC{1,3}",
        Just("0".to_owned()),
        Just("-".to_owned()),
        Just("inf".to_owned()),
        Just("\r\n\t".to_owned()),
        Just("[[clients]]\n".to_owned()),
        Just("\"9999999999999999999999d\"".to_owned()),
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), 1_usize..40)
            .prop_map(|(at, length)| Change::Delete { at: at.index(QUICKSTART.len()), length }),
        (any::<prop::sample::Index>(), text)
            .prop_map(|(at, text)| Change::Insert { at: at.index(QUICKSTART.len()), text }),
        (0_usize..120, 0_usize..120).prop_map(|(one, other)| Change::SwapLines { one, other }),
    ]
}

fn apply(text: &str, change: Change) -> String {
    let floor = |at: usize| text.floor_char_boundary(at.min(text.len()));
    match change {
        Change::Delete { at, length } => format!("{}{}", &text[..floor(at)], &text[floor(at + length)..]),
        Change::Insert { at, text: new } => format!("{}{new}{}", &text[..floor(at)], &text[floor(at)..]),
        Change::SwapLines { one, other } => {
            let mut lines: Vec<&str> = text.lines().collect();
            if one < lines.len() && other < lines.len() {
                lines.swap(one, other);
            }
            lines.join("\n")
        }
    }
}

fn check(text: &str, assignments: &[(&str, &str)]) {
    match parse_with(text, &set(assignments)) {
        Ok(experiment) => {
            let first = &experiment.cells()[0];
            let again = parse_with(experiment.document(), &set(&[])).expect("the document is the experiment");
            assert_eq!(again.scenario(first), experiment.scenario(first));
        }
        Err(error) => {
            for text in [error.render(false), error.render(true), error.to_string()] {
                assert!(text.contains("test.toml") && text.lines().count() >= 2, "{text}");
            }
        }
    }
}

/// The settings without comments and without the arrival of most changes in them.
fn body() -> String {
    QUICKSTART.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// Pools with an operation of every kind that they take.
fn pools() -> String {
    let operations = [
        "do = \"set_backup\"\npool = \"www\"\nbackup_pool = \"third\"\nfailover_ratio = 0.25",
        "do = \"add_instances\"\ngroup = \"idle\"\ncount = 2",
        "do = \"remove_instances\"\nbackends = [\"web-1\", \"idle-1\"]",
        "do = \"remove_health_check\"\npool = \"www\"",
        "do = \"add_health_check\"",
        "do = \"drain\"\nzone = \"us-central1-b\"",
        "do = \"set_backup\"\npool = \"spare\"",
        "do = \"delete_target_pool\"\npool = \"spare\"",
    ];
    let write = |(minute, keys): (usize, &&str)| format!("[[operations]]\nat = \"{minute}m\"\n{keys}\n");
    format!("{POOLS}{}", operations.iter().enumerate().map(write).collect::<String>())
}

#[test]
fn the_pools_are_right() {
    check(&pools(), &[]);
    parse_with(&pools(), &set(&[])).unwrap();
}

proptest! {
    #[test]
    fn changed_pools_never_panic(changes in prop::collection::vec(change(), 1..4)) {
        check(&changes.into_iter().fold(pools(), |text, change| apply(&text, change)), &[]);
    }

    #[test]
    fn any_override_of_pools_never_panics(
        path in "(target_pools|target_pools\\.(www|spare|third)|operations|operations\\.[0-7]|forwarding_rule|semantics|health_check)\
                 (\\.(name|target|instances|web|size|backup_pool|failover_ratio|health_checks|do|at|pool|group|count|zone|type|0|\\PC)){0,3}",
        value in "(0|-1|1\\.5|5s|inf|true|\\[\\]|\\{\\}|drain|www|spare|third|web|\\[\"default\"\\]|16384|HTTP|TCP|\\PC{0,4})",
    ) {
        check(&pools(), &[(&path, &value)]);
    }

    #[test]
    fn changed_quickstarts_never_panic(changes in prop::collection::vec(change(), 1..4)) {
        check(&changes.into_iter().fold(body(), |text, change| apply(&text, change)), &[]);
    }

    #[test]
    fn any_override_never_panics(
        path in "(server|clients|clients\\.web-a|arms\\.spill|faults\\.0|sweep|network|backend_service|simulation|region|thresholds|\\PC)\
                 (\\.(workers|failures|arrivals|poisson|constant|set|sweep|target|backends|ig-a|size|zones|\"a\\.b\"|0|\\PC)){0,3}",
        value in "(0|-1|1\\.5|5s|inf|true|\\[\\]|\\{\\}|\\[1, 2\\]|\\{ a = 1 \\}|2000-01-01|\"x\"|\\PC{0,4})",
    ) {
        check(QUICKSTART, &[(&path, &value)]);
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,80}") {
        check(&text, &[("a", "1")]);
    }
}

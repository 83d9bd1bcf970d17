//! Every case, run as `zonesim validate` runs it.

use std::fs;
use std::path::Path;

use super::{cases, table};

/// Runs the cases about `what`: theory lies within their intervals of 99.9 %, these are narrow, and the committed table
/// shows them.
fn agree(what: &str) {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/validation.md");
    let committed = fs::read_to_string(committed).unwrap();
    let [mut wrong, mut stale] = [String::new(), String::new()];
    for (_, cases) in cases::groups().into_iter().filter(|(about, _)| *about == what) {
        for finding in cases.iter().flat_map(|case| case.run(1).unwrap()) {
            let row = table::row(&finding);
            if !finding.agrees() {
                wrong += &format!("{row}  {:?}, at most {}\n", finding.wide, finding.bound);
            }
            if !committed.contains(&row) {
                stale += &row;
            }
        }
    }
    assert!(wrong.is_empty(), "theory and simulation part:\n{wrong}");
    assert!(stale.is_empty(), "results/validation.md is old; make it with `zonesim validate`:\n{stale}");
}

#[test]
fn queues_are_as_theory_says() {
    agree("queues");
}

#[test]
fn sharing_is_as_theory_says() {
    agree("sharing");
}

#[test]
fn availability_is_as_theory_says() {
    agree("availability");
}

#[test]
fn detection_is_as_theory_says() {
    agree("detection");
}

#[test]
fn what_happened_is_as_theory_says() {
    agree("history");
}

#[test]
fn networks_are_as_theory_says() {
    agree("network");
}

#[test]
fn accounts_are_as_theory_says() {
    agree("accounts");
}

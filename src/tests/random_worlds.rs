//! Random worlds: whatever stands together in a file runs, loses no connection, and runs the same again.

use std::collections::BTreeSet;

use crate::validation::soak::{soak, survive, world};

#[test]
fn run_soundly_and_the_same_again() {
    let found = soak(0, 150, 2, |_| false);
    assert!(found.wrong.is_empty(), "{:?}", found.wrong);
    assert_eq!(found.worlds, 150);
    assert!(found.failed > 0 && found.failed < found.connections && found.connections < found.events);
    assert!(found.render().contains("| 150 |") && !found.render().contains("World "));
    assert_eq!(soak(0, 20, 1, |_| false), soak(0, 20, 2, |_| false));
}

#[test]
fn differ_from_each_other_and_are_known_by_their_number() {
    let texts: BTreeSet<String> =
        (0..1000).map(|number| world(number).replacen(&number.to_string(), "", 1)).collect();
    assert!(texts.len() > 950, "{}", texts.len());
    assert_eq!(world(7), world(7));
    assert!(survive(7).unwrap() == survive(7).unwrap());
}

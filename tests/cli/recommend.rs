//! `zonesim recommend`: the best that keeps to limits with confidence, and which swept ratios are the same policy.

use serde_json::Value;

use crate::compare::{four_a_zone, results_of};
use crate::{assert_status, stderr, stdout, zonesim};

#[test]
fn it_recommends_the_best_that_keeps_to_the_limit() {
    let folder = results_of(&four_a_zone());
    let ask = |args: &[&str], status: i32| {
        let all = [&["recommend", "out", "--objective", "cross_zone_usd_per_month"], args].concat();
        let output = zonesim(folder.path(), &all);
        assert_status(&output, status);
        stdout(&output)
    };
    // Without a limit staying is cheapest: nothing crosses. But then one of two zones has all the load, twice the mean.
    assert!(ask(&[], 0).contains("=> stay"));
    let text = ask(&["--subject-to", "zone_load_max_over_mean<=1.9", "--format", "json"], 0);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let section = &answer["sections"][0];
    assert_eq!(
        (&section["recommended"], &section["binding"][0]),
        (&1.into(), &"zone_load_max_over_mean <= 1.9".into())
    );
    let candidates = section["candidates"].as_array().unwrap();
    let stay = candidates.iter().find(|candidate| candidate["arm"] == "stay").unwrap();
    assert_eq!(
        (&stay["standing"], &stay["constraints"][0]["standing"]),
        (&"infeasible".into(), &"broken".into())
    );
    assert!(stay["constraints"][0]["bound_low"].as_f64().unwrap() > 1.9);
    // 0.6 and 0.7 are the same policy with four backends a zone, by the results and by the rules.
    let six = candidates.iter().find(|candidate| candidate["arm"] == "six").unwrap();
    assert_eq!((&six["standing"], &six["same_cells"]), (&"recommended".into(), &serde_json::json!([2])));
    assert_eq!(
        answer["same_policies"],
        serde_json::json!([{ "cells": [1, 2], "keep": 2, "thresholds": [{ "eligible": 3, "backends": 4 }] }])
    );
    let impossible = ask(&["--subject-to", "failure_ratio<=0", "--subject-to", "requests>=1"], 3);
    assert!(impossible.contains("no cell keeps to all constraints"), "{impossible}");
    assert!(impossible.contains("binds: failure_ratio"), "{impossible}");
}

#[test]
fn wrong_questions_are_status_2() {
    let folder = results_of(&four_a_zone());
    for (args, status, part) in [
        (&["out", "--objective", "cross_zone_usd"][..], 2, "cross_zone_usd_per_month"),
        (&["out", "--objective", "requests", "--subject-to", "failure_ratio=1"], 2, "METRIC<=VALUE"),
        (&["out", "--objective", "requests", "--subject-to", "failures<=1"], 2, "there is no metric"),
        (&["out"], 2, "--objective"),
        (&["nowhere", "--objective", "requests"], 2, "there is no folder nowhere"),
    ] {
        let output = zonesim(folder.path(), &[&["recommend"], args].concat());
        assert_status(&output, status);
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(part), "{args:?}: {}", stderr(&output));
    }
}

//! Target pools against an independent reading of the failover table, in counts and whole thousandths.

use std::fs;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::{Rng, RngExt};
use serde_json::Value;

use super::{ratio, strings};
use crate::{assert_status, stdout, zonesim};

const ZONES: [&str; 2] = ["z-a", "z-b"];

/// What arms of one file have in common: sizes of the groups of the two pools, and who is down.
struct Fleet {
    target: Vec<usize>,
    backup: Vec<usize>,
    down: Vec<String>,
}

impl Fleet {
    fn random(rng: &mut impl Rng) -> Self {
        let mut sizes = |most| (0..rng.random_range(0..3)).map(|_| rng.random_range(0..=most)).collect();
        let (target, backup) = (sizes(6), sizes(3));
        let mut fleet = Self { target, backup, down: Vec::new() };
        let dying = [0.0, 0.3, 0.6, 0.9, 1.0][rng.random_range(0..5)];
        let mut all = fleet.members('t');
        all.extend(fleet.members('b'));
        fleet.down = all.into_iter().filter(|_| rng.random_bool(dying)).collect();
        fleet
    }

    fn members(&self, pool: char) -> Vec<String> {
        let sizes = if pool == 't' { &self.target } else { &self.backup };
        let groups = sizes.iter().enumerate();
        groups
            .flat_map(|(group, size)| (1..=*size).map(move |number| format!("{pool}{group}-{number}")))
            .collect()
    }

    fn file(&self, arms: &str) -> String {
        let mut text = format!(
            "name = \"random\"\nregion = {{ name = \"r\", zones = {ZONES:?} }}\nforwarding_rule.target = \"t\"\n"
        );
        for (pool, sizes) in [("t", &self.target), ("b", &self.backup), ("c", &vec![2])] {
            text += &format!("[[target_pools]]\nname = \"{pool}\"\n");
            // The backup has a backup of its own, which must not matter.
            text += if pool == "b" { "backup_pool = \"c\"\nfailover_ratio = 1.0\n" } else { "" };
            for (group, size) in sizes.iter().enumerate() {
                let zone = ZONES[group % 2];
                text += &format!(
                    "[[target_pools.instances]]\nname = \"{pool}{group}\"\nzone = \"{zone}\"\nsize = {size}\n"
                );
            }
        }
        text += "[[clients]]\nname = \"out\"\nkind = \"internet\"\narrivals.poisson.rate = 1\n";
        text += "[[clients]]\nname = \"in\"\nkind = \"vm\"\nzone = \"z-a\"\narrivals.poisson.rate = 1\n";
        text + arms
    }
}

/// What an arm sets.
struct Arm {
    backup: bool,
    /// In thousandths.
    ratio: Option<u64>,
    checked: [bool; 2],
}

impl Arm {
    fn random(rng: &mut impl Rng) -> Self {
        let backup = rng.random_bool(0.75);
        let ratio = backup.then(|| if rng.random_bool(0.1) { 0 } else { ratio(rng) });
        Self { backup, ratio, checked: [rng.random_bool(0.8), rng.random_bool(0.8)] }
    }

    fn text(&self, name: &str) -> String {
        let mut set = Vec::new();
        if self.backup {
            set.push("\"target_pools.t.backup_pool\" = \"b\"".to_owned());
        }
        if let Some(ratio) = self.ratio {
            set.push(format!("\"target_pools.t.failover_ratio\" = {}.{:03}", ratio / 1000, ratio % 1000));
        }
        for (pool, checked) in ["t", "b"].iter().zip(self.checked) {
            if checked {
                set.push(format!("\"target_pools.{pool}.health_checks\" = [\"default\"]"));
            }
        }
        format!("[[arms]]\nname = \"{name}\"\nset = {{ {} }}\n", set.join(", "))
    }

    /// The instances of a pool that count as healthy.
    fn healthy(&self, fleet: &Fleet, pool: char) -> Vec<String> {
        let checked = self.checked[usize::from(pool == 'b')];
        fleet.members(pool).into_iter().filter(|name| !checked || !fleet.down.contains(name)).collect()
    }

    /// The row of the table that applies: kind, outcome, where connections go, and words that only this row has.
    fn expected(&self, fleet: &Fleet) -> (&'static str, &'static str, Vec<String>, &'static str) {
        let (target, backup) = (fleet.members('t'), fleet.members('b'));
        let (up, spare) = (self.healthy(fleet, 't'), self.healthy(fleet, 'b'));
        let (n, h) = (target.len() as u64, up.len() as u64);
        let to_target = |words| ("healthy_target", "target_pool", up.clone(), words);
        let to_backup = |words| ("healthy_backup", "backup_pool", spare.clone(), words);
        let last = |words| ("unhealthy_target", "last_resort", target.clone(), words);
        match self.ratio {
            None if h > 0 => to_target("no backup pool is in use"),
            None if n > 0 => last("no backup pool is in use: all of them are the last resort"),
            None => ("none", "dropped", vec![], "is empty, and no backup pool is in use"),
            Some(0) if h > 0 => to_target("failover ratio 0.0 needs only one"),
            Some(ratio) if ratio > 0 && n > 0 && 1000 * h >= ratio * n => to_target(") >= failover ratio"),
            Some(_) if n == 0 && !spare.is_empty() => to_backup("the target pool is empty, and"),
            Some(0) if !spare.is_empty() => to_backup("failover ratio 0.0 needs one; "),
            Some(_) if !spare.is_empty() => to_backup(") < failover ratio"),
            Some(_) if h > 0 => to_target(": the remaining ones serve"),
            Some(_) if n > 0 => last(": all of the target pool are the last resort"),
            Some(_) if !backup.is_empty() => {
                ("unhealthy_backup", "last_resort", backup, ": all of the backup pool are the last resort")
            }
            Some(_) => ("none", "dropped", vec![], "is empty, and so is its backup pool"),
        }
    }
}

#[test]
fn json_agrees_with_an_independent_reading_of_the_failover_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let rng = runner.rng();
    let mut rows = std::collections::BTreeMap::new();
    for _ in 0..80 {
        let fleet = Fleet::random(rng);
        let arms: Vec<Arm> = (0..40).map(|_| Arm::random(rng)).collect();
        let text: String =
            arms.iter().enumerate().map(|(number, arm)| arm.text(&format!("arm-{number}"))).collect();
        fs::write(folder.path().join("random.toml"), fleet.file(&text)).unwrap();
        let list = fleet.down.join(",");
        let mut args = vec!["explain", "random.toml", "--format", "json"];
        if !fleet.down.is_empty() {
            args.extend(["--down", &list]);
        }
        let output = zonesim(folder.path(), &args);
        if fleet.down.iter().any(|name| name.starts_with('b')) && arms.iter().all(|arm| !arm.backup) {
            assert_status(&output, 2);
            continue;
        }
        assert_status(&output, 0);
        let found: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(found.len(), arms.len() * 2);
        for (element, index) in found.iter().zip(0..) {
            let arm: &Arm = &arms[index / 2];
            let (kind, outcome, serving, words) = arm.expected(&fleet);
            *rows.entry(words).or_insert(0) += 1;
            assert_eq!(element["original_eligible"]["kind"], kind, "{element}");
            assert_eq!(element["outcome"], outcome, "{element}");
            assert_eq!(strings(&element["original_eligible"]["backends"]), serving, "{element}");
            assert_eq!(strings(&element["modified_eligible"]), serving, "{element}");
            assert!(element["because"].as_str().unwrap().contains(words), "{words}: {element}");
            assert_eq!(strings(&element["configured"]["primary"]), fleet.members('t'));
            let backup = if arm.backup { fleet.members('b') } else { vec![] };
            assert_eq!(strings(&element["configured"]["failover"]), backup);
            let spare = if arm.backup { arm.healthy(&fleet, 'b') } else { vec![] };
            assert_eq!(strings(&element["healthy"]), [arm.healthy(&fleet, 't'), spare].concat(), "{element}");
            for key in
                ["zonal_match_test", "zonal_matched", "intersection", "healthy_share", "spillover_ratio"]
            {
                assert!(element[key].is_null(), "{key} of {element}");
            }
        }
    }
    assert!(rows.len() == 12 && rows.values().all(|count| *count >= 10), "every row is met: {rows:?}");
    assert!(rows.values().sum::<u32>() >= 6000, "{rows:?}");
}

/// The worked cases P1 to P19: pools as healthy and unhealthy counts, ratio, whether checked, and where traffic goes. P17, a
/// backup without a ratio, comes about by no file: it is refused.
#[test]
fn p1_to_p19() {
    const UNSET: &str = "";
    type Case = (usize, [usize; 2], Option<[usize; 2]>, &'static str, [bool; 2], &'static str, &'static str);
    const BOTH: [bool; 2] = [true, true];
    let cases: [Case; 18] = [
        (1, [2, 2], Some([2, 0]), "0.5", BOTH, "target_pool", "t-1 t-2"),
        (2, [1, 3], Some([1, 1]), "0.5", BOTH, "backup_pool", "b-1"),
        (3, [1, 3], Some([0, 2]), "0.5", BOTH, "target_pool", "t-1"),
        (4, [1, 3], Some([2, 0]), "0", BOTH, "target_pool", "t-1"),
        (5, [0, 4], Some([1, 1]), "0", BOTH, "backup_pool", "b-1"),
        (6, [0, 4], Some([0, 2]), "0.5", BOTH, "last_resort", "t-1 t-2 t-3 t-4"),
        (7, [0, 0], Some([0, 2]), "0.5", BOTH, "last_resort", "b-1 b-2"),
        (8, [0, 0], Some([0, 0]), "0.5", BOTH, "dropped", ""),
        (9, [0, 0], Some([1, 1]), "0.5", BOTH, "backup_pool", "b-1"),
        (10, [4, 0], Some([1, 0]), "1", BOTH, "target_pool", "t-1 t-2 t-3 t-4"),
        (11, [3, 1], Some([1, 0]), "1", BOTH, "backup_pool", "b-1"),
        (12, [0, 2], Some([1, 0]), "0.5", [false, true], "target_pool", "t-1 t-2"),
        (13, [0, 2], Some([0, 2]), "0.5", [true, false], "backup_pool", "b-1 b-2"),
        (14, [0, 2], Some([0, 1]), "0", BOTH, "last_resort", "t-1 t-2"),
        (15, [0, 3], None, UNSET, BOTH, "last_resort", "t-1 t-2 t-3"),
        (16, [1, 2], None, UNSET, BOTH, "target_pool", "t-1"),
        (18, [0, 2], Some([0, 0]), "0.5", BOTH, "last_resort", "t-1 t-2"),
        (19, [1, 9], Some([1, 0]), "0.1", BOTH, "target_pool", "t-1"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, target, backup, ratio, checked, outcome, serving) in cases {
        let mut text = String::from(
            "name = \"p\"\nregion = { name = \"r\", zones = [\"z\"] }\nforwarding_rule.target = \"t\"\n\
             clients = [{ name = \"c\", kind = \"internet\", arrivals.poisson.rate = 1 }]\n",
        );
        let mut down = Vec::new();
        for (name, counts, checked) in [("t", Some(target), checked[0]), ("b", backup, checked[1])] {
            let Some([up, dead]) = counts else { continue };
            text += &format!("[[target_pools]]\nname = \"{name}\"\n");
            text += if checked { "health_checks = [\"default\"]\n" } else { "" };
            if name == "t" && backup.is_some() {
                text += "backup_pool = \"b\"\n";
                text += &if ratio == UNSET { String::new() } else { format!("failover_ratio = {ratio}\n") };
            }
            let size = up + dead;
            text += &format!("[[target_pools.instances]]\nname = \"{name}\"\nzone = \"z\"\nsize = {size}\n");
            down.extend((up + 1..=size).map(|number| format!("{name}-{number}")));
        }
        fs::write(folder.path().join("p.toml"), text).unwrap();
        let list = down.join(",");
        let mut args = vec!["explain", "p.toml", "--format", "json"];
        if !down.is_empty() {
            args.extend(["--down", &list]);
        }
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 0);
        let [element] = &serde_json::from_str::<Vec<Value>>(&stdout(&output)).unwrap()[..] else {
            panic!("one element")
        };
        assert_eq!(element["outcome"], outcome, "P{number}: {element}");
        assert_eq!(strings(&element["modified_eligible"]).join(" "), serving, "P{number}: {element}");
    }
}

#[test]
fn text_calls_the_pools_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = Fleet { target: vec![3], backup: vec![2], down: vec![] };
    let arm = Arm { backup: true, ratio: Some(500), checked: [true, true] };
    fs::write(folder.path().join("pools.toml"), fleet.file(&arm.text("half"))).unwrap();
    let output = zonesim(folder.path(), &["explain", "pools.toml", "--down", "t0-1,t0-2", "--client", "out"]);
    assert_status(&output, 0);
    insta::assert_snapshot!(stdout(&output), @r"
    arm half · client out in internet
      target pool                                3  t0-1..3
      backup pool                                2  b0-1..2
      unhealthy                                  2  t0-1..2
      eligible (healthy backup)                  2  b0-1..2
      => backup_pool: 1 of 3 instances of the target pool healthy (0.333) < failover ratio 0.5, and 2 of 2 instances of the backup pool healthy
    ");
}

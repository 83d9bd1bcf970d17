//! `zonesim explain` against an independent reading of the rules: lists of names, and ratios of whole numbers.

mod pools;

use std::fs;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::{Rng, RngExt};
use serde_json::Value;

use crate::{SMALL, assert_status, stderr, stdout, zonesim};

const ZONES: [&str; 3] = ["z-a", "z-b", "z-c"];
const CLIENTS: [(&str, &str); 6] = [
    ("in-a", "kind = \"vm\"\nzone = \"z-a\""),
    ("in-b", "kind = \"vm\"\nzone = \"z-b\""),
    ("in-c", "kind = \"vm\"\nzone = \"z-c\""),
    ("tunnel", "kind = \"vpn\""),
    ("line", "kind = \"interconnect\""),
    ("far", "kind = \"vm\"\nregion = \"europe-west1\""),
];

/// One service: groups with zone, size and role, and its policy. Ratios are in thousandths.
struct Service {
    groups: Vec<(usize, usize, bool)>,
    down: Vec<String>,
    failover_ratio: u64,
    drop: bool,
    global_access: bool,
    spillover: &'static str,
    ratio: u64,
}

impl Service {
    /// Members of one role: name, zone, health.
    fn members(&self, failover: bool) -> Vec<(String, usize, bool)> {
        let groups = self.groups.iter().enumerate().filter(|(_, group)| group.2 == failover);
        let members = groups.flat_map(|(number, (zone, size, _))| {
            (1..=*size).map(move |member| (format!("g{number}-{member}"), *zone))
        });
        members.map(|(name, zone)| (name.clone(), zone, !self.down.contains(&name))).collect()
    }

    /// What the rules give client `client`: the outcome and the modified eligible backends.
    fn expected(&self, client: usize) -> (&'static str, Vec<String>) {
        let (primaries, failovers) = (self.members(false), self.members(true));
        let healthy = |list: &[(String, usize, bool)]| list.iter().filter(|member| member.2).count() as u64;
        let (up, spare) = (healthy(&primaries), healthy(&failovers));
        let names = |list: &[(String, usize, bool)], keep: &dyn Fn(&(String, usize, bool)) -> bool| {
            list.iter().filter(|member| keep(member)).map(|member| member.0.clone()).collect::<Vec<_>>()
        };
        let serving = if up == 0 && spare == 0 {
            if self.drop && !failovers.is_empty() || primaries.is_empty() {
                return ("dropped", vec![]);
            }
            &primaries
        } else if up == 0 || spare > 0 && 1000 * up < self.failover_ratio * primaries.len() as u64 {
            &failovers
        } else {
            &primaries
        };
        let last_resort = healthy(serving) == 0;
        let eligible = names(serving, &|member| member.2 || last_resort);
        if client == 5 && !self.global_access {
            return ("dropped", vec![]);
        }
        if self.spillover == "DISABLED" {
            return ("affinity_disabled", eligible);
        }
        if client > 2 {
            return ("incompatible_client", eligible);
        }
        let matched = names(serving, &|member| member.1 == client);
        let shared = names(serving, &|member| member.1 == client && (member.2 || last_resort));
        if matched.is_empty() {
            return ("no_zonal_match", eligible);
        }
        let enough = 1000 * shared.len() as u64 >= self.ratio * matched.len() as u64;
        let in_zone = if last_resort { "in_zone_unhealthy" } else { "in_zone" };
        match self.spillover {
            "STAY_WITHIN_ZONE" if shared.is_empty() => ("in_zone_unhealthy", matched),
            "STAY_WITHIN_ZONE" => (in_zone, shared),
            _ if !shared.is_empty() && enough => (in_zone, shared),
            _ => ("spilled", eligible),
        }
    }

    fn arm(&self, name: &str) -> String {
        let roles: String = self
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| format!("\"backend_service.backends.g{number}.failover\" = {}, ", group.2))
            .collect();
        let thousandths = |ratio: u64| format!("{}.{:03}", ratio / 1000, ratio % 1000);
        format!(
            "[[arms]]\nname = \"{name}\"\nset = {{ {roles}\"backend_service.allow_global_access\" = {}, \
             \"backend_service.failover_policy.failover_ratio\" = {}, \
             \"backend_service.failover_policy.drop_traffic_if_unhealthy\" = {}, \
             \"backend_service.zonal_affinity.spillover\" = \"{}\", \
             \"backend_service.zonal_affinity.spillover_ratio\" = {} }}\n",
            self.global_access,
            thousandths(self.failover_ratio),
            self.drop,
            self.spillover,
            thousandths(self.ratio),
        )
    }
}

/// A ratio that equality is likely to meet, or any other.
fn ratio(rng: &mut impl Rng) -> u64 {
    const LIKELY: [u64; 12] = [0, 100, 200, 250, 300, 400, 500, 600, 700, 750, 800, 1000];
    if rng.random_bool(0.8) { LIKELY[rng.random_range(0..LIKELY.len())] } else { rng.random_range(0..=1000) }
}

fn file(groups: &[(usize, usize, bool)], arms: &str) -> String {
    let mut text = format!("name = \"random\"\nregion = {{ name = \"r\", zones = {ZONES:?} }}\n");
    for (number, (zone, size, _)) in groups.iter().enumerate() {
        text += &format!(
            "[[backend_service.backends]]\ngroup = \"g{number}\"\nzone = \"{}\"\nsize = {size}\n",
            ZONES[*zone]
        );
    }
    for (name, place) in CLIENTS {
        text += &format!(
            "[[clients]]\nname = \"{name}\"\n{place}\narrivals = {{ poisson = {{ rate = 1.0 }} }}\n"
        );
    }
    text + arms
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn json_agrees_with_an_independent_reading_of_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let rng = runner.rng();
    let mut compared = 0;
    for _ in 0..60 {
        let groups: Vec<(usize, usize, bool)> = (0..rng.random_range(1..6))
            .map(|_| (rng.random_range(0..3), rng.random_range(1..6), false))
            .collect();
        let dying = [0.0, 0.3, 0.6, 0.9, 1.0][rng.random_range(0..5)];
        let all = groups
            .iter()
            .enumerate()
            .flat_map(|(number, group)| (1..=group.1).map(move |m| format!("g{number}-{m}")));
        let down: Vec<String> = all.filter(|_| rng.random_bool(dying)).collect();
        let services: Vec<Service> = (0..12)
            .map(|_| Service {
                groups: groups.iter().map(|(zone, size, _)| (*zone, *size, rng.random_bool(0.3))).collect(),
                down: down.clone(),
                failover_ratio: ratio(rng),
                drop: rng.random_bool(0.5),
                global_access: rng.random_bool(0.5),
                spillover: ["DISABLED", "STAY_WITHIN_ZONE", "SPILL_CROSS_ZONE", "SPILL_CROSS_ZONE"]
                    [rng.random_range(0..4)],
                ratio: ratio(rng),
            })
            .collect();
        let arms: String =
            services.iter().enumerate().map(|(arm, service)| service.arm(&format!("arm-{arm}"))).collect();
        fs::write(folder.path().join("random.toml"), file(&groups, &arms)).unwrap();
        let list = down.join(",");
        let mut args = vec!["explain", "random.toml", "--format", "json"];
        if !down.is_empty() {
            args.extend(["--down", &list]);
        }
        let output = zonesim(folder.path(), &args);
        assert_status(&output, 0);
        let found: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(found.len(), services.len() * CLIENTS.len());
        for (element, index) in found.iter().zip(0..) {
            let (service, client) = (&services[index / CLIENTS.len()], index % CLIENTS.len());
            let (outcome, modified) = service.expected(client);
            assert_eq!(element["outcome"], outcome, "{element}");
            assert_eq!(strings(&element["modified_eligible"]), modified, "{element}");
            assert_eq!(element["compatible"], client < 3, "{element}");
            compared += 1;
        }
    }
    assert_eq!(compared, 60 * 12 * 6);
}

#[test]
fn one_element_has_every_field_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    let args = [
        "explain",
        "small.toml",
        "--arm",
        "spill",
        "--down",
        "ig-a-2",
        "--format",
        "json",
        "--client",
        "web-a",
    ];
    let output = zonesim(folder.path(), &args);
    assert_status(&output, 0);
    let elements: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let at_half = elements.iter().find(|element| element["spillover_ratio"] == 0.5).unwrap();
    let expected = serde_json::json!({
        "arm": "spill", "client": "web-a", "client_zone": "us-central1-a", "compatible": true,
        "configured": {"primary": ["ig-a-1", "ig-a-2", "ig-b-1", "ig-b-2"], "failover": []},
        "healthy": ["ig-a-1", "ig-b-1", "ig-b-2"],
        "original_eligible": {"kind": "healthy_primary", "backends": ["ig-a-1", "ig-b-1", "ig-b-2"]},
        "zonal_match_test": ["ig-a-1", "ig-a-2", "ig-b-1", "ig-b-2"],
        "zonal_matched": ["ig-a-1", "ig-a-2"], "intersection": ["ig-a-1"],
        "healthy_share": 0.5, "spillover": "ZONAL_AFFINITY_SPILL_CROSS_ZONE", "spillover_ratio": 0.5,
        "modified_eligible": ["ig-a-1"], "outcome": "in_zone",
        "because": "1 of 2 zonal matched backends eligible (0.500) >= spillover ratio 0.5",
    });
    assert_eq!(*at_half, expected);
}

#[test]
fn text_shows_every_set_on_the_way_and_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    let output = zonesim(folder.path(), &["explain", "small.toml", "--arm", "spill", "--down", "ig-a-2"]);
    assert_status(&output, 0);
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn unknown_names_get_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    for (flag, name, near) in
        [("--down", "ig-a-3", "ig-a-"), ("--arm", "spil", "spill"), ("--client", "web-b", "web-a")]
    {
        let output = zonesim(folder.path(), &["explain", "small.toml", flag, name]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(near), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

/// The outcome and the reason for the first client of `SMALL` without arms, with `keys` in its backend service.
fn outcome_of(keys: &str, client: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let text = SMALL[..SMALL.find("[[arms]]").unwrap()]
        .replacen(
            "[[backend_service.backends]]",
            &format!("[backend_service]\n{keys}\n[[backend_service.backends]]"),
            1,
        )
        .replace("kind = \"vm\"\nzone = \"us-central1-a\"\narrivals", &format!("{client}\narrivals"));
    fs::write(folder.path().join("one.toml"), text).unwrap();
    let output = zonesim(folder.path(), &["explain", "one.toml", "--format", "json"]);
    assert_status(&output, 0);
    let elements: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    (elements[0].clone(), elements[0]["because"].as_str().unwrap().to_owned())
}

#[test]
fn external_services_inspection_and_consumers() {
    let (found, because) = outcome_of("load_balancing_scheme = \"EXTERNAL\"", "kind = \"internet\"");
    assert_eq!(found["outcome"], "affinity_disabled");
    assert_eq!(
        (&found["client_zone"], strings(&found["modified_eligible"]).len()),
        (&Value::from("internet"), 4)
    );
    assert_eq!(because, "an external load balancer has no zonal affinity");

    let stay = "zonal_affinity = { spillover = \"STAY_WITHIN_ZONE\" }";
    let inspected = format!("network_security_integration = \"OUT_OF_BAND\"\n{stay}");
    let vm = "kind = \"vm\"\nzone = \"us-central1-a\"";
    let (found, because) = outcome_of(&inspected, vm);
    assert_eq!((&found["outcome"], strings(&found["modified_eligible"]).len()), (&Value::from("dropped"), 0));
    assert!(because.starts_with("a Network Security Integration drops every packet"), "{because}");
    let (found, _) = outcome_of("network_security_integration = \"OUT_OF_BAND\"", vm);
    assert_eq!(found["outcome"], "affinity_disabled", "without zonal affinity it does no harm");

    let (found, because) = outcome_of(stay, "kind = \"private_service_connect\"");
    assert_eq!(
        (&found["outcome"], &found["compatible"]),
        (&Value::from("incompatible_client"), &Value::from(false))
    );
    assert!(because.contains("Private Service Connect"), "{because}");
}

#[test]
fn axes_stand_apart_from_the_fields_whatever_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{}[sweep]\n\"backend_service.zonal_affinity.spillover\" = [\"STAY_WITHIN_ZONE\", \"DISABLED\"]\n\
         \"clients.web-a.zone\" = [\"us-central1-a\", \"us-central1-b\"]\n",
        &SMALL[..SMALL.find("[[arms]]").unwrap()]
    );
    fs::write(folder.path().join("axes.toml"), text).unwrap();
    let output = zonesim(folder.path(), &["explain", "axes.toml", "--client", "web-a", "--format", "json"]);
    assert_status(&output, 0);
    let elements: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let told: Vec<_> = elements
        .iter()
        .map(|element| {
            (element["spillover"].as_str().unwrap(), element["axes"]["spillover"].as_str().unwrap())
        })
        .collect();
    assert_eq!(told[0], ("ZONAL_AFFINITY_STAY_WITHIN_ZONE", "STAY_WITHIN_ZONE"));
    assert_eq!(told[2], ("ZONAL_AFFINITY_DISABLED", "DISABLED"));
    assert!(elements.iter().all(|element| element["axes"].as_object().unwrap().len() == 2));
    let text = stdout(&output);
    assert_eq!(text.matches("\"spillover\":").count(), 8, "{text}");
}

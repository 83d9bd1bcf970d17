//! Routes in a file: what can't be, and what operations may not do to them.

use super::{refusal, scenario};
use crate::experiment::Overrides;

/// The region of the guide with its route.
fn routed() -> String {
    format!("{}{}", super::guide::region(), super::guide::route())
}

/// The refusal of the guide's region with `new` in place of `old`.
fn refused(old: &str, new: &str) -> String {
    let text = routed();
    assert_eq!(text.matches(old).count(), 1, "{old:?} stands once");
    refusal(&text.replace(old, new), &Overrides::default())
}

#[test]
fn what_can_not_be_or_does_nothing_is_refused() {
    let table = r#"
        destination = "10.1.0.0/16" ⇒ destination = "10.1.0.0" ¦ `routes.0.destination` ¦ length of its prefix
        destination = "10.1.0.0/16" ⇒ destination = "10.1.0.0"\nkind = "policy_based" ¦ `routes.0.destination` ¦ length of its prefix
        \nnext_hop = "fw-in" ⇒ \nnext_hop = "fw-on" ¦ `routes.0.next_hop` ¦ fw-in
        \nnext_hop = "fw-in" ⇒ \nnext_hop = "www-tcp" ¦ `routes.0.next_hop` ¦ scheme INTERNAL
        \nnext_hop = "fw-in" ⇒ \nnext_hop = "www-tcp"\nkind = "policy_based" ¦ `routes.0.next_hop` ¦ scheme INTERNAL
        return_next_hop = "fw-out" ⇒ return_next_hop = "fw-on" ¦ `routes.0.return_next_hop` ¦ fw-out
        return_next_hop = "fw-out" ⇒ return_next_hop = "www-tcp" ¦ `routes.0.return_next_hop` ¦ scheme INTERNAL
        return_next_hop = "fw-out" ⇒ session_sync = true ¦ `routes.0.session_sync` has no effect ¦ return_next_hop =
        return_next_hop = "fw-out" ⇒ destination_zone = "us-central1-a" ¦ `routes.0.destination_zone` has no effect ¦ return_next_hop =
        return_next_hop = "fw-out" ⇒ return_next_hop = "fw-out"\ndestination_zone = "us-east1-b" ¦ `routes.0.destination_zone` ¦ zones of the region
        return_next_hop = "fw-out" ⇒ return_next_hop = "fw-out"\nkind = "dynamic" ¦ `routes.0.kind` ¦ static
        destination_range = "10.1.0.0/16" ⇒ destination_range = "10.2.0.0/16" ¦ `clients.2.destination_range` is "10.2.0.0/16", which no route ¦ 10.1.0.0/16
        destination_range = "10.1.0.0/16" ⇒ destination_range = "10.0.0.0/8" ¦ `clients.2.destination_range` is "10.0.0.0/8", which no route ¦ 10.1.0.0/16
        destination_range = "10.1.0.0/16" ⇒ destination_range = "somewhere" ¦ `clients.2.destination_range` is "somewhere", which is no IPv4 ¦ 10.1.0.0/16
        destination_range = "10.1.0.0/16" ⇒ destination_range = "10.1.7.0/28" ¦ `clients.2.destinations` is 20, and "10.1.7.0/28" has 16 ¦ at most 16
        destination_range = "10.1.0.0/16" ⇒ destination_range = "10.1.0.0/16"\nto = "fw-in" ¦ `clients.2.destination_range` stands beside ¦ keep one
        name = "fw-out"\nbackend_service = "fw-out"\n ⇒ name = "fw-out"\nbackend_service = "fw-out"\n[[routes]]\nname = "half"\ndestination = "10.1.0.8/29"\nnext_hop = "fw-out"\n ¦ `clients.2.destination_range` is "10.1.0.0/16", of which "firewalls" leads a part, and "half" another ¦ one route
        kind = "vm"\nzone = "us-central1-b" ⇒ kind = "private_service_connect" ¦ `clients.2.destination_range` has no meaning ¦ vpn
        kind = "vm"\nzone = "us-central1-b" ⇒ kind = "backend"\ngroup = "fw" ¦ `clients.2.destination_range` has no meaning ¦ vpn
        kind = "vm"\nzone = "us-central1-b" ⇒ kind = "internet" ¦ `clients.2.kind` can't be "internet" ¦ write vm
    "#;
    for row in table.lines().map(str::trim_start).filter(|row| !row.is_empty()) {
        let (old, rest) = row.split_once(" ⇒ ").expect("an arrow");
        let [new, says, helps] = rest.split(" ¦ ").collect::<Vec<_>>()[..] else { panic!("{row}") };
        let error = refused(&old.replace("\\n", "\n"), &new.replace("\\n", "\n"));
        // Members of lists are named where they have names.
        let says = says.replace("routes.0", "routes.firewalls").replace("clients.2", "clients.spokes");
        let help = error.rsplit_once("help: ").map(|(_, help)| help.to_owned()).unwrap_or_default();
        assert!(error.contains(&says) && help.contains(helps), "{row}\n{error}");
    }
    let many =
        "destination_range = \"10.1.0.0/16\"\ndestinations = 501\nkind = \"vm\"\nzone = \"us-central1-a\"";
    let group = |name| {
        format!("[[clients]]\nname = \"{name}\"\n{many}\narrivals = {{ poisson = {{ rate = 1.0 }} }}\n")
    };
    let text = format!("{}{}{}", routed(), group("x"), group("y"));
    let error = refusal(&text, &Overrides::default());
    assert!(error.contains("has 1022 addresses that routes lead to"), "{error}");
    let error = refusal(
        &super::changed("kind = \"vpn\"", "kind = \"vpn\"\ndestination_range = \"10.1.0.0/16\""),
        &Overrides::default(),
    );
    assert!(error.contains("no route leads to") && error.contains("add [[routes]]"), "{error}");
}

#[test]
fn nhop_2_a_next_hop_that_drops_everything_is_named() {
    let findings = |text: &str| {
        let found = super::parse(text).unwrap().findings();
        found
            .into_iter()
            .filter(|it| it.id == "next-hop-drops-everything")
            .map(|it| it.what)
            .collect::<Vec<_>>()
    };
    let text = routed();
    assert!(findings(&text).is_empty());
    for (name, whose) in [("fw-in", "its packets"), ("fw-out", "answers to it")] {
        let shared = format!(
            "[[forwarding_rules]]\nname = \"too\"\nbackend_service = \"{name}\"\nip_address = \"10.9.0.9\"\nports = [443]\n"
        );
        let rule = format!("name = \"{name}\"\nbackend_service");
        assert_eq!(text.matches(&rule).count(), 1);
        let own = format!("name = \"{name}\"\nip_address = \"10.9.0.9\"\nports = [80]\nbackend_service");
        let found = findings(&format!("{}{shared}", text.replace(&rule, &own)));
        assert!(
            found.len() == 1 && found[0].contains(&format!("{name:?} as the next hop of {whose}")),
            "{found:?}"
        );
    }
}

#[test]
fn nhop_2_operations_leave_the_ways_of_clients_as_they_are() {
    let with = |operation: &str| format!("operations = [{{ at = \"1m\", {operation} }}]\n{}", routed());
    for (operation, says) in [
        ("do = \"forwarding_rules.delete\", forwarding_rule = \"fw-in\"", "already being used by"),
        ("do = \"forwarding_rules.delete\", forwarding_rule = \"fw-out\"", "changes where a route leads"),
        ("do = \"routes.delete\", route = \"firewalls\"", "changes where a route leads"),
        (
            "do = \"routes.insert\", name = \"finer\", dest_range = \"10.1.0.0/17\", next_hop_ilb = \"fw-out\"",
            "changes where a route leads",
        ),
        (
            "do = \"routes.insert\", name = \"a\", dest_range = \"10.1.0.0/16\", next_hop_ilb = \"fw-out\"",
            "changes where a route leads",
        ),
        (
            "do = \"policy_based_routes.insert\", name = \"all\", next_hop_ilb_ip = \"fw-out\"",
            "changes where a route",
        ),
        ("do = \"forwarding_rules.patch\", forwarding_rule = \"fw-in\", allow_global_access = true", ""),
    ] {
        match says {
            "" => drop(scenario(&with(operation))),
            _ => {
                let error = refusal(&with(operation), &Overrides::default());
                assert!(error.contains(says), "{operation}\n{error}");
            }
        }
    }
}

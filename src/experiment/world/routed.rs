//! Where routes lead clients and their answers, which no operation changes.

use std::net::Ipv4Addr;

use crate::compute::{Reference, Resources, RouteChoice};

/// The addresses that a client group sends to through a route, and the rule of its answers: no operation changes their way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Routed {
    /// The first of them, and how many they are.
    pub(super) destinations: (Ipv4Addr, u32),
    pub(super) answers: Option<String>,
}

impl Routed {
    /// What they meet among `resources`.
    pub(super) fn way(&self, resources: &Resources) -> impl PartialEq + use<> {
        let rule = self.answers.as_ref().and_then(|rule| resources.next_hop(&Reference::new(rule)));
        let answers = rule.map(|rule| (rule.name.clone(), resources.drops_as_next_hop(&rule.name)));
        (choices(resources, self.destinations).collect::<Vec<_>>(), answers)
    }
}

/// What each of the addresses from `first` on is led to; of equal neighbours one.
pub(super) fn choices(
    resources: &Resources,
    (first, count): (Ipv4Addr, u32),
) -> impl Iterator<Item = Option<RouteChoice>> {
    let addresses = (0..count).map(move |number| Ipv4Addr::from_bits(first.to_bits() + number));
    let mut last = None;
    addresses.filter_map(move |address| {
        let choice = resources.choose_route(&format!("{address}/32"));
        let is_new = last.as_ref() != Some(&choice);
        last = Some(choice.clone());
        is_new.then_some(choice)
    })
}

//! Who uses whom inside a room: no circle between sibling modules.
//!
//! A module and those below it (`sim/clients.rs` and `sim/clients/`) count as one: a parent may declare, call and
//! re-export its children while they use what it defines. Between the children of one parent, though, each must be
//! readable before those that use it. What is imported through a re-export counts as imported from where it stands.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::source::{Named, Source, sources};

/// Which of its siblings a module uses, and where.
type Siblings<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

pub(super) fn circles() -> Vec<Violation> {
    let modules = Modules::of_the_crate();
    let uses = modules.uses();
    let mut parents: BTreeMap<&[String], Siblings<'_>> = BTreeMap::new();
    for Use { from, to, at } in &uses {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        // Rooms have an order of their own.
        if shared > 0 && shared < from.len().min(to.len()) {
            let siblings = parents.entry(&from[..shared]).or_default();
            let used = siblings.entry(&from[shared]).or_default();
            used.entry(&to[shared]).or_insert_with(|| at.clone());
        }
    }
    parents.iter().flat_map(|(parent, siblings)| circles_between(parent, siblings)).collect()
}

/// The circles between the children of one parent: sets of modules each of which leads to every other.
fn circles_between(parent: &[String], siblings: &Siblings<'_>) -> Vec<Violation> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        siblings.keys().map(|from| (*from, reached(siblings, from))).collect();
    let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (from, to) in &reached {
        let circle: Vec<&str> =
            to.iter().copied().filter(|to| reached.get(to).is_some_and(|back| back.contains(from))).collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    let violation = |circle: &Vec<&str>| {
        let uses: Vec<String> = circle
            .iter()
            .flat_map(|from| siblings[from].iter().map(move |(to, at)| (from, to, at)))
            .filter(|(_, to, _)| circle.contains(to))
            .map(|(from, to, at)| format!("  {at}: `{from}` uses `{to}`"))
            .collect();
        Violation {
            key: format!("circle {}: {}", parent.join("::"), circle.join(", ")),
            help: format!(
                "these modules use each other; move what several need into one below them:\n{}",
                uses.join("\n")
            ),
        }
    };
    circles.iter().map(violation).collect()
}

/// The siblings that `from` uses, those that these use, and so on.
fn reached<'a>(siblings: &Siblings<'a>, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut to_follow = vec![from];
    while let Some(at) = to_follow.pop() {
        let used = siblings.get(at).into_iter().flat_map(BTreeMap::keys);
        to_follow.extend(used.copied().filter(|to| found.insert(*to)));
    }
    found
}

/// One module's use of another.
pub(super) struct Use<'a> {
    pub(super) from: &'a [String],
    /// Where that stands which is used.
    pub(super) to: Vec<String>,
    pub(super) at: String,
}

/// The modules of the crate, and what each imports under which name.
pub(super) struct Modules {
    paths: Vec<(&'static Source, Vec<Named>)>,
    all: BTreeSet<&'static [String]>,
}

impl Modules {
    pub(super) fn of_the_crate() -> Self {
        let paths: Vec<_> = sources().iter().map(|source| (source, source.paths())).collect();
        Self { all: paths.iter().map(|(source, _)| source.module.as_slice()).collect(), paths }
    }

    /// Every use of another module of the crate.
    pub(super) fn uses(&self) -> Vec<Use<'_>> {
        let imports: BTreeMap<(&[String], &str), &[String]> = self
            .paths
            .iter()
            .flat_map(|(source, paths)| paths.iter().map(|named| (source.module.as_slice(), named)))
            .filter_map(|(module, named)| {
                Some(((module, named.imported_as.as_deref()?), named.names.as_slice()))
            })
            .collect();
        let one = |source: &'static Source, named: &Named| {
            let to = self.place(&imports, &source.module, &named.names)?;
            Some(Use { from: &source.module, to, at: source.at(named.line) })
        };
        let all = self.paths.iter().flat_map(|(source, paths)| paths.iter().map(|named| (*source, named)));
        all.filter_map(|(source, named)| one(source, named)).collect()
    }

    /// The module in which that stands which `names` means in module `from`; `None` if it is not of this crate.
    fn place(
        &self,
        imports: &BTreeMap<(&[String], &str), &[String]>,
        from: &[String],
        names: &[String],
    ) -> Option<Vec<String>> {
        let child = |of: &[String], name: &String| {
            let path: Vec<String> = of.iter().chain([name]).cloned().collect();
            self.all.contains(path.as_slice()).then_some(path)
        };
        let ups = names.iter().take_while(|name| *name == "super").count();
        let (mut at, mut rest) = match names[0].as_str() {
            "crate" => (Vec::new(), &names[1..]),
            "self" => (from.to_vec(), &names[1..]),
            "super" => (from[..from.len() - ups].to_vec(), &names[ups..]),
            _ => (child(from, &names[0])?, &names[1..]),
        };
        while let Some(below) = rest.first().and_then(|name| child(&at, name)) {
            (at, rest) = (below, &rest[1..]);
        }
        let import = rest.first().and_then(|item| imports.get(&(at.as_slice(), item.as_str())));
        Some(import.and_then(|import| self.place(imports, &at, import)).unwrap_or(at))
    }
}

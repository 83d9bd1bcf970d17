//! Properties of the source itself: who may use whom, who may name what, and what things are called.
//!
//! The length of functions and the number of their parameters are kept by clippy (`.clippy.toml`).

mod absences;
mod circles;
mod source;

use std::collections::BTreeMap;
use std::path::Path;

use circles::Modules;
use source::{Source, Word, is_name, sources};

/// Rooms from the bottom up: a room uses only rooms on earlier lines.
const LAYERS: &[&[&str]] = &[
    &["unfit"],
    &["time", "ids"],
    &["random"],
    &["stats"],
    &["lb", "workload"],
    &["compute"],
    &["sim"],
    &["metrics"],
    &["experiment"],
    &["results"],
    &["answers"],
    &["job"],
    &["validation"],
    &["reality"],
    &["figures"],
    &["cli"],
];

/// What breaks a rule.
struct Violation {
    /// What it is, wherever in its file it stands.
    key: String,
    /// Where it stands, and what to do.
    help: String,
}

/// Asserts that nothing breaks a rule.
#[track_caller]
fn assert_kept(found: &[Violation]) {
    let found: Vec<String> = found.iter().map(|Violation { key, help }| format!("{key}: {help}")).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn rooms_use_those_below_them() {
    let rank = |room: &str| LAYERS.iter().position(|layer| layer.contains(&room));
    for used in Modules::of_the_crate().uses() {
        let (Some(from), Some(to)) = (used.from.first(), used.to.first()) else { continue };
        let is_below = from == to || rank(to) < rank(from);
        assert!(is_below, "{}: `{from}` must not use `{to}`, which comes after it or beside it", used.at);
    }
}

#[test]
fn every_room_has_its_layer() {
    for source in sources() {
        let is_known = source.room() == "lib" || LAYERS.iter().any(|layer| layer.contains(&source.room()));
        assert!(is_known, "src/{}: `{}` stands in no layer of src/tests/tidy.rs", source.path, source.room());
    }
}

#[test]
fn no_modules_use_each_other() {
    assert_kept(&circles::circles());
}

#[test]
fn names_that_a_room_may_not_know_are_absent() {
    assert_kept(&absences::found());
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for name in (0..source.words.len()).filter_map(|at| public_type(source, at)) {
            places.entry(&name.text).or_default().push(source.at(name.line));
        }
    }
    let shared = places.iter().filter(|(_, places)| places.len() > 1).map(|(name, places)| Violation {
        key: format!("name {name}"),
        help: format!("public types of one name; say of what each is: {}", places.join(", ")),
    });
    assert_kept(&shared.collect::<Vec<_>>());
}

/// The name of the type that is declared `pub`, `pub(crate)` or `pub(super)` at the word number `at`, if one is.
fn public_type(source: &Source, at: usize) -> Option<&Word> {
    let mut behind = at + 1;
    if source.is(behind, "(") {
        behind += source.words[at..].iter().position(|word| word.text == ")")?;
    }
    let declared = source.words.get(behind)?;
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&declared.text.as_str());
    let name = source.words.get(behind + 1)?;
    (source.is(at, "pub") && is_type && is_name(&name.text)).then_some(name)
}

#[test]
fn what_panics_says_why_it_cannot() {
    let found = sources().iter().flat_map(|source| {
        let panics = (0..source.words.len()).filter(|at| panics_without_reason(source, *at));
        panics.map(|at| Violation {
            key: format!("reason {}", source.path),
            help: format!(
                "{}: `{}` gives no reason; expect the invariant in words, say why in a comment beside it, or give an error",
                source.at(source.words[at].line),
                source.words[at].text
            ),
        })
    });
    assert_kept(&found.collect::<Vec<_>>());
}

/// Whether the word number `at` is a call that may panic, with neither words nor a comment that say why it won't.
fn panics_without_reason(source: &Source, at: usize) -> bool {
    let is_method = at > 0 && source.is(at - 1, ".") && source.is(at + 1, "(");
    let is_macro = source.is(at + 1, "!");
    let panics = match source.words[at].text.as_str() {
        "unwrap" | "unwrap_err" => is_method,
        "expect" | "expect_err" => is_method && !source.is_in_words(at + 2),
        "unreachable" => is_macro && !source.is_in_words(at + 3),
        "panic" | "todo" | "unimplemented" => is_macro,
        _ => false,
    };
    let line = source.words[at].line;
    let beside = &source.lines[line.saturating_sub(2)..line];
    panics && !beside.iter().any(|line| line.contains("// "))
}

/// The front page and the front pages of the rooms say where things are.
#[test]
fn paths_in_front_pages_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for source in sources().iter().filter(|source| source.module.len() < 2) {
        let docs = source.lines.iter().enumerate().filter(|(_, line)| line.starts_with("//! "));
        for (number, line) in docs {
            for path in line.split('`').skip(1).step_by(2).filter(|text| text.contains('/')) {
                let exists =
                    path.contains(' ') || root.join(path).exists() || root.join("src").join(path).exists();
                assert!(exists, "{}: there is no `{path}`", source.at(number + 1));
            }
        }
    }
}

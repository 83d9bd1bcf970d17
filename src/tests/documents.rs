//! `docs/documents.md`, which says what becomes of Google's statements: its tests exist, and every row has its standing.

use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../docs/documents.md");

/// What a page says, and what becomes of it.
struct Row {
    says: &'static str,
    standing: &'static str,
    rule: &'static str,
    shown_by: &'static str,
}

/// The rows of the table in the section called `name`.
fn rows(name: &str) -> Vec<Row> {
    let heading = format!("\n## {name}\n");
    let (_, rest) = PAGE.split_once(heading.as_str()).unwrap_or_else(|| panic!("no section {name}"));
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [says, standing, rule, shown_by] = cells[..] else { panic!("four cells: {line}") };
        Row { says, standing, rule, shown_by }
    })
    .collect()
}

/// What stands in code spans.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether a code span is the path of a test.
fn is_path(span: &str) -> bool {
    span.contains("::") && span.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

/// Whether there is a test at `path`: in the file of its module, or in a module within that of its parent.
fn has_test(path: &str) -> bool {
    let mut names: Vec<&str> = path.split("::").collect();
    let name = names.pop().unwrap_or_default();
    let text = fs::read_to_string(file_of(&names)).ok().or_else(|| {
        let module = names.pop()?;
        let text = fs::read_to_string(file_of(&names)).ok()?;
        let opening = format!("\nmod {module} {{\n");
        text.split_once(opening.as_str()).map(|(_, inside)| inside.to_owned())
    });
    text.is_some_and(|text| declares_test(&text, name))
}

fn file_of(module: &[&str]) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(format!("{}.rs", module.join("/")))
}

/// Whether a function of that name, of no module within, stands below `#[test]`, as it does within `proptest!` too.
fn declares_test(text: &str, name: &str) -> bool {
    let start = format!("fn {name}(");
    let own = text.lines().take_while(|line| !(line.starts_with("mod ") && line.ends_with('{')));
    let lines: Vec<&str> = own.map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(start.as_str())) else { return false };
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    above.into_iter().any(|line| *line == "#[test]")
}

#[test]
fn tests_that_it_names_exist() {
    let mut paths: Vec<&str> = spans(PAGE).filter(|span| is_path(span)).collect();
    paths.sort_unstable();
    paths.dedup();
    let missing: Vec<&&str> = paths.iter().filter(|path| !has_test(path)).collect();
    assert!(missing.is_empty() && paths.len() > 40, "of {} these are no tests: {missing:#?}", paths.len());
}

#[test]
fn what_is_no_test_is_told_from_one() {
    assert!(has_test("tests::documents::what_is_no_test_is_told_from_one"));
    assert!(
        has_test("lb::affinity::tests::aff_8_both_directions_hash_alike"),
        "within the file that it tests"
    );
    assert!(has_test("lb::tests::pools::pools_agree_with_the_page"), "within proptest!");
    for path in [
        "tests::documents::rows",
        "tests::documents::what_is_no_test",
        "lb::affinity::aff_8_both_directions_hash_alike",
        "lb::tests::ponds::pools_agree_with_the_page",
    ] {
        assert!(!has_test(path), "{path}");
    }
}

#[test]
fn every_statement_has_its_standing() {
    for (section, least) in [("Zonal affinity", [35, 5, 2]), ("Target pools", [30, 15, 4])] {
        let mut counts = [0; 3];
        for Row { says, standing, rule, shown_by } in rows(section) {
            let is_shown = spans(shown_by).any(|span| is_path(span) || span.starts_with("zonesim "));
            let kind = match standing {
                "works" => 0,
                "refused" => 1,
                _ => 2,
            };
            let reason = standing.strip_prefix("not modelled: ").unwrap_or_default();
            assert!(is_shown || kind == 2, "{says}: what shows it?");
            assert!(!reason.is_empty() || kind < 2, "{says}: {standing}");
            assert!(!rule.is_empty() && !says.is_empty(), "{says}: {rule}");
            counts[kind] += 1;
        }
        assert!(counts.iter().zip(least).all(|(count, least)| *count >= least), "{section}: {counts:?}");
    }
    for Row { says, standing, .. } in rows("Not modelled") {
        assert!(!standing.is_empty(), "{says}: what happens instead");
    }
}

#[test]
fn experiments_that_it_names_exist() {
    let words = spans(PAGE).filter(|span| span.starts_with("zonesim ")).flat_map(str::split_whitespace);
    let files: Vec<&str> = words.filter(|word| word.ends_with(".toml")).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(files.iter().all(|file| root.join(file).exists()) && files.len() > 4, "{files:?}");
}

//! Properties of the source itself: who may import whom, and who may name which crate.

use std::fs;
use std::path::Path;

/// Layers from the bottom up: a module uses only modules on earlier lines.
const LAYERS: &[&[&str]] = &[
    &["time", "ids"],
    &["random", "stats"],
    &["lb", "workload"],
    &["compute"],
    &["sim"],
    &["metrics"],
    &["experiment"],
    &["results"],
    &["answers"],
    &["job"],
    &["validation"],
    &["figures"],
    &["cli"],
];

/// Crates that one module alone may name.
const SOLE_USERS: &[(&str, &str)] = &[
    ("rayon", "job/runner.rs"),
    ("csv", "results"),
    ("plotters", "figures"),
    ("dejavu", "figures"),
    ("png", "figures"),
    ("anyhow", "cli"),
    ("clap", "cli"),
    ("indicatif", "cli"),
    ("ctrlc", "cli"),
    ("statrs", "stats"),
    ("rand_distr", "random"),
    ("annotate_snippets", "experiment"),
];

/// What must not stand in the model: files, threads, clocks.
const MODEL: &[&str] = &["time", "ids", "random", "stats", "lb", "workload", "compute", "sim"];
const ABSENT_FROM_MODEL: &[&str] =
    &["std::fs", "std::thread", "std::io", "std::sync::Mutex", "Rc<", "RefCell"];

/// What must not stand in `job`, which who embeds it calls: what the command line alone knows.
const ABSENT_FROM_JOB: &[&str] = &["anyhow", "clap", "indicatif", "ctrlc", "std::env", "println!"];

#[test]
fn imports_point_downwards() {
    for source in sources() {
        let Some(rank) = rank(&source.module) else { continue };
        for used in LAYERS.iter().copied().flatten() {
            if *used != source.module && mentions(&source.text, used) {
                let below = LAYERS[..rank].iter().any(|layer| layer.contains(used));
                assert!(below, "{}: `{}` must not use `{used}`", source.path, source.module);
            }
        }
    }
}

#[test]
fn every_module_has_its_layer() {
    for source in sources() {
        let known =
            ["lib", "main", "tests"].contains(&source.module.as_str()) || rank(&source.module).is_some();
        assert!(known, "{}: `{}` stands in no layer", source.path, source.module);
    }
}

#[test]
fn crates_have_their_sole_users() {
    for source in sources() {
        for (name, user) in SOLE_USERS {
            let names_it = [format!("{name}::"), format!("use {name};")]
                .iter()
                .any(|text| source.text.match_indices(text).any(|(at, _)| starts_a_word(&source.text, at)));
            let allowed = source.path.starts_with(user);
            assert!(!names_it || allowed, "{}: only `{user}` may use `{name}`", source.path);
        }
    }
}

#[test]
fn the_model_touches_no_file_thread_or_shared_state() {
    for source in sources().iter().filter(|source| MODEL.contains(&source.module.as_str())) {
        for name in ABSENT_FROM_MODEL {
            assert!(!source.text.contains(name), "{}: the model must not name `{name}`", source.path);
        }
    }
}

#[test]
fn jobs_know_no_command_line() {
    for source in sources().iter().filter(|source| source.module == "job") {
        for name in ABSENT_FROM_JOB {
            assert!(!source.text.contains(name), "{}: `job` must not name `{name}`", source.path);
        }
    }
}

struct Source {
    module: String,
    path: String,
    /// The product's part of the file: tests may use anything.
    text: String,
}

/// The part of a file before its tests; nothing of a file that is all tests.
fn product(path: &str, text: &str) -> String {
    let is_test = path.ends_with("tests.rs") || path.contains("tests/");
    let part = text.split("#[cfg(test)]\nmod tests {").next().expect("split gives at least one part");
    if is_test { String::new() } else { part.to_owned() }
}

fn starts_a_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '`' | '.'))
}

/// Whether `text` imports or names `module` of this crate.
fn mentions(text: &str, module: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text.match_indices("crate::").any(|(at, key)| {
        let rest = &text[at + key.len()..];
        match rest.strip_prefix('{') {
            None => rest.starts_with(&format!("{module}::")) || rest.starts_with(&format!("{module};")),
            Some(group) => {
                let group = group.split(';').next().unwrap_or_default();
                group.starts_with(&format!("{module}::")) || group.contains(&format!(",{module}::"))
            }
        }
    })
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).unwrap();
                let first = relative.iter().next().unwrap().to_str().unwrap();
                let module = first.trim_end_matches(".rs").to_owned();
                let relative = relative.to_str().unwrap().to_owned();
                let text = product(&relative, &fs::read_to_string(&path).unwrap());
                found.push(Source { module, path: relative, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

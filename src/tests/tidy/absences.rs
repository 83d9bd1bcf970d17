//! Names that only some rooms may know.

use super::Violation;
use super::source::{Source, sources};

/// Crates that these places alone may name.
const SOLE_USERS: &[(&str, &[&str])] = &[
    ("rayon", &["job/runner.rs"]),
    ("csv", &["results", "experiment/trace"]),
    ("plotters", &["figures"]),
    ("dejavu", &["figures"]),
    ("png", &["figures"]),
    ("anyhow", &["cli"]),
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("signal_hook", &["cli"]),
    ("statrs", &["stats"]),
    ("rand_distr", &["random"]),
    ("annotate_snippets", &["experiment"]),
    ("toml_edit", &["experiment"]),
];

const MODEL: &[&str] = &["unfit", "time", "ids", "random", "stats", "lb", "workload", "compute", "sim"];

/// Rooms with what none of them may name, beside clocks and hash maps of random order, which clippy refuses.
const ABSENT: &[(&[&str], &[&str], &str)] = &[
    (
        MODEL,
        &["std::fs", "std::thread", "std::io", "std::process", "std::env", "Mutex", "Rc", "RefCell"],
        "the model touches no file, thread or shared state",
    ),
    (&["lb"], &["rand", "rand_xoshiro", "serde_json"], "the load balancer draws nothing and reads no file"),
    (
        &["experiment"],
        &["fs::write", "fs::create_dir", "fs::create_dir_all", "File::create", "OpenOptions"],
        "an experiment is read; only a job and the commands write",
    ),
    (
        &["answers", "job"],
        &[
            "std::env",
            "println",
            "eprintln",
            "io::stdin",
            "io::stdout",
            "io::stderr",
            "IsTerminal",
            "anstream",
        ],
        "only the command line knows the terminal",
    ),
];

pub(super) fn found() -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources() {
        found.extend(keys_in_lb(source));
        let absent = ABSENT.iter().filter(|(rooms, ..)| rooms.contains(&source.room()));
        for path in source.paths() {
            let names = absent.clone().flat_map(|(_, names, why)| names.iter().map(move |name| (name, *why)));
            let mut add = |name: &str, help: String| {
                let key = format!("absence {} {name}", source.path);
                found.push(Violation { key, help: format!("{}: {help}", source.at(path.line)) });
            };
            for (name, why) in names.filter(|(name, _)| contains(&path.names, name)) {
                add(name, (*why).to_owned());
            }
            for (name, users) in SOLE_USERS {
                if path.names[0] == *name && !users.iter().any(|user| source.path.starts_with(user)) {
                    add(
                        name,
                        format!(
                            "only `{}` uses the crate `{name}`; ask it for what you need",
                            users.join("`, `")
                        ),
                    );
                }
            }
        }
    }
    found
}

/// Structs of the load balancer that are read by key. Single values know how they are spelled, and no more.
fn keys_in_lb(source: &Source) -> impl Iterator<Item = Violation> {
    let words = &source.words;
    let is_struct = |at: &usize| source.is(*at, "struct") && source.is(at + 2, "{");
    let is_read = |at: &usize| {
        let before = words[..*at].iter().rev().take_while(|word| ![";", "}"].contains(&word.text.as_str()));
        before.into_iter().any(|word| ["Serialize", "Deserialize"].contains(&word.text.as_str()))
    };
    let found = (0..words.len()).filter(|_| source.room() == "lb").filter(is_struct).filter(is_read);
    found.map(|at| Violation {
        key: format!("keys {}", source.path),
        help: format!("{}: keys belong to `compute` or `experiment`", source.at(words[at].line)),
    })
}

/// Whether the names of `part` stand in `path` one after the other.
fn contains(path: &[String], part: &str) -> bool {
    let part: Vec<&str> = part.split("::").collect();
    path.windows(part.len()).any(|names| names == part)
}

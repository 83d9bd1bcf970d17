//! What is printed is text: no name and no value of an experiment file runs in a spreadsheet, or does something to a terminal.

use std::fs;
use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::compute::is_hidden;
use crate::experiment::{Experiment, Overrides, Source};
use crate::figures::draw::Format;
use crate::figures::{charts, page};
use crate::job::{Folder, Watcher, run};

/// Texts that are more than text somewhere.
const ODD: [&str; 7] = ["=1+1", "+1", "@sum(1)", "a\u{1b}[31mb", "a\u{202e}b", "a\rb", "</text><script>"];

/// A world in which every kind of name and of text stands.
const WORLD: &str = r#"
name = "printed"
description = "What is printed?"
simulation = { replications = 1, warmup = "1s", duration = "9s", sample_interval = "3s" }
region = { name = "r", zones = ["a", "b"] }
health_check = { check_interval = "1s", timeout = "1s" }
backend_service.backends = [{ group = "ig", zones = ["a", "b"], size = 2 }]
[[clients]]
name = "web"
kind = "vm"
zone = "a"
arrivals = { poisson = { rate = 5.0 } }
[[clients]]
name = "far"
kind = "vm"
region = "elsewhere"
arrivals = { poisson = { rate = 5.0 } }
[[faults]]
at = "2s"
duration = "3s"
target = { zone = "a" }
[[operations]]
at = "3s"
do = "remove_instances"
backends = ["ig-1"]
[sweep]
"server.workers" = [4, 8]
"backend_service.zonal_affinity.spillover" = ["ZONAL_AFFINITY_DISABLED", "ZONAL_AFFINITY_STAY_WITHIN_ZONE"]
[[arms]]
name = "one"
[[arms]]
name = "two"
set = { "clients.web.arrivals.poisson.rate" = 6.0 }
[[thresholds]]
metric = "failure_ratio"
arm = "one"
max = 1.0
[[charts]]
metric = "failure_ratio"
axis = "workers"
facet = "spillover"
title = "Own"
file = "own"
"#;

/// Gives the text number `wanted` of `table` and of what it holds to `change`; counts on from `seen`.
fn at_text(
    table: &mut dyn TableLike,
    (wanted, seen): (usize, &mut usize),
    change: &mut dyn FnMut(&mut Value),
) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Value(value) => in_value(value, (wanted, seen), change),
            Item::Table(inner) => at_text(inner, (wanted, seen), change),
            Item::ArrayOfTables(tables) => {
                tables.iter_mut().for_each(|inner| at_text(inner, (wanted, seen), change));
            }
            Item::None => {}
        }
    }
}

fn in_value(value: &mut Value, (wanted, seen): (usize, &mut usize), change: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::String(_) => {
            if *seen == wanted {
                change(value);
            }
            *seen += 1;
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| in_value(inner, (wanted, seen), change)),
        Value::InlineTable(inner) => at_text(inner, (wanted, seen), change),
        _ => {}
    }
}

fn read(text: String) -> Result<Experiment, String> {
    let source = Source { name: "printed.toml".to_owned(), text };
    Experiment::parse(source, &Overrides::default()).map_err(|error| error.render(false))
}

struct Silent;

impl Watcher for Silent {}

/// Checks every field of every table in `folder`, and every chart and page.
fn check_folder(folder: &Path, what: &str) {
    let is_odd = |letter: char| is_hidden(letter) && letter != '\n';
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "csv") {
            let mut reader =
                csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(&entry).unwrap();
            for field in reader
                .records()
                .flat_map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
            {
                let is_run = field.starts_with(['=', '+', '@']) || field.contains(is_hidden);
                assert!(!is_run, "{what}: {field:?} in {}", entry.display());
            }
        }
    }
    let mut drawn = vec![page::html(folder).unwrap()];
    for path in charts::draw_all(folder, &[Format::Svg], |_| ()).unwrap() {
        drawn.push(fs::read_to_string(path).unwrap());
    }
    for text in drawn {
        assert!(!text.contains(is_odd) && !text.contains("</text><script>"), "{what}");
    }
}

#[test]
fn no_text_of_an_experiment_is_more_than_text_anywhere() {
    let original: DocumentMut = WORLD.parse().unwrap();
    read(original.to_string()).unwrap();
    let mut count = 0;
    at_text(original.clone().as_table_mut(), (usize::MAX, &mut count), &mut |_| ());
    assert!(count > 30, "{count} texts");
    let mut accepted = Vec::new();
    for (number, odd) in (0..count).flat_map(|number| ODD.map(|odd| (number, odd))) {
        let (mut changed, mut old) = (original.clone(), String::new());
        at_text(changed.as_table_mut(), (number, &mut 0), &mut |value| {
            old = value.as_str().unwrap_or_default().to_owned();
            *value = odd.into();
        });
        match read(changed.to_string()) {
            Err(error) => assert!(!error.contains(|letter| is_hidden(letter) && letter != '\n'), "{error:?}"),
            Ok(experiment) => {
                let out = tempfile::tempdir().unwrap();
                run(&experiment, &Folder::new(out.path()), &mut Silent).unwrap();
                check_folder(out.path(), &format!("{odd:?} for {old:?}"));
                // Markup may stand in a name: it is shown as it is.
                if !odd.contains('<') {
                    accepted.push(old);
                }
            }
        }
    }
    accepted.dedup();
    assert_eq!(accepted, ["What is printed?", "Own"], "all other texts are names, or words of a list");
}

//! `empirical = { file = … }`: distributions whose points stand in a file.

use toml_edit::{Item, Table, TableLike, Value};

use super::files::DataFiles;
use super::path::KeyPath;
use super::problem::Problem;

/// Puts the text of its file into every empirical distribution of the experiment `root` that names one.
pub(super) fn inline_files(root: &mut Table, files: &DataFiles) -> Result<(), Problem> {
    in_table(root, KeyPath::default(), files)
}

/// In a value that stands at `path`.
fn in_item(item: &mut Item, path: KeyPath, files: &DataFiles) -> Result<(), Problem> {
    match item {
        Item::Table(table) => in_table(table, path, files),
        Item::ArrayOfTables(tables) => {
            let mut members = tables.iter_mut().enumerate();
            members.try_for_each(|(index, table)| in_table(table, path.member(index), files))
        }
        Item::Value(value) => in_value(value, path, files),
        Item::None => Ok(()),
    }
}

fn in_value(value: &mut Value, path: KeyPath, files: &DataFiles) -> Result<(), Problem> {
    match value {
        Value::InlineTable(table) => in_table(table, path, files),
        Value::Array(list) => {
            let mut members = list.iter_mut().enumerate();
            members.try_for_each(|(index, member)| in_value(member, path.member(index), files))
        }
        _ => Ok(()),
    }
}

fn in_table(table: &mut dyn TableLike, path: KeyPath, files: &DataFiles) -> Result<(), Problem> {
    for (key, item) in table.iter_mut() {
        let path = path.key(key.get());
        match item.as_table_like_mut().filter(|_| key.get() == "empirical") {
            Some(empirical) => inline_file(empirical, &path, files)?,
            None => in_item(item, path, files)?,
        }
    }
    Ok(())
}

fn inline_file(empirical: &mut dyn TableLike, path: &KeyPath, files: &DataFiles) -> Result<(), Problem> {
    let Some(file) = empirical.get("file").and_then(Item::as_str) else {
        return Ok(());
    };
    if empirical.contains_key("points") {
        let what = "stands beside `file`";
        return Err(Problem::that(path.key("points"), what, "keep one of the two").of_key());
    }
    let (shown, text) = files.text(file, &path.key("file"))?;
    // Errors in the text are told by the path that leads there from here.
    empirical.insert("file", Item::Value(shown.into()));
    empirical.insert("points", Item::Value((*text).into()));
    Ok(())
}

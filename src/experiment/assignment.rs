//! Values that override what the file says: of `--set`, of an arm, of an axis.

use toml_edit::{InlineTable, Item, Table, TableLike, Value};

use super::node::Node;
use super::path::{KeyPath, NamePath, dotted};
use super::problem::{Problem, choice, shown};
use super::world;

#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub path: NamePath,
    pub value: Value,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum Origin {
    Flag(String),
    File(KeyPath),
}

impl Assignment {
    /// Sets the value in the experiment `root`. Tables that the path needs and that are not there begin with
    /// their defaults. Whether the key exists is found out when the experiment is read.
    pub(super) fn apply(&self, root: &mut Table) -> Result<(), Problem> {
        put(root, &self.path, 0, &self.value)
    }
}

/// Sets the key that the parts of `path` from `depth` on name below `table`.
fn put(table: &mut dyn TableLike, path: &NamePath, depth: usize, value: &Value) -> Result<(), Problem> {
    let parts = path.parts();
    let key = &parts[depth];
    replace_rival(table, &parts[..=depth]);
    let Some(next) = parts.get(depth + 1) else {
        write(table, key, value.clone());
        return Ok(());
    };
    if holds_paths(&parts[..depth]) && !key.contains('.') && !table.contains_key(key) {
        write(table, &dotted(&parts[depth..]), value.clone());
        return Ok(());
    }
    if table.get(key).is_none_or(Item::is_none) {
        let begin =
            if depth == 0 { Item::Table(Table::new()) } else { Item::Value(begin(&parts[..=depth], next)) };
        insert(table, key, begin);
    }
    let item = table.get_mut(key).expect("it has just been inserted if it was missing");
    let node = Node::of_item(item).expect("an item that is there");
    let (found, depth, index) = match node.members() {
        None => (node, depth, None),
        Some(members) => {
            let index = member(&members, path, depth + 1)?;
            (members[index], depth + 1, Some(index))
        }
    };
    let Some(next) = parts.get(depth + 1) else {
        let help = "name one of its keys, such as clients.web-a.addresses";
        return Err(no_path(path, "is a whole member of a list".to_owned(), help));
    };
    if found.as_table().is_none() {
        let what = format!("leads through `{}`, which is {}", dotted(&parts[..=depth]), shown(found.found()));
        return Err(no_path(path, what, "end the path there"));
    }
    let table = match index {
        None => item.as_table_like_mut(),
        Some(index) => member_table(item, index),
    };
    let table = table.expect("it is a table");
    give_way(table, next);
    put(table, path, depth + 1, value)
}

/// Whether the keys of the table at `parts` are paths, so that the rest of a path is one key.
fn holds_paths(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    matches!(parts[..], ["sweep"] | ["arms", _, "set" | "sweep"])
}

/// Removes the key from `table` that can't stand beside the one at `parts`: who sets the one means it instead of the other.
fn replace_rival(table: &mut dyn TableLike, parts: &[String]) {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let rival = match parts[..] {
        ["simulation", "replications"] => "precision",
        ["simulation", "precision"] => "replications",
        _ => return,
    };
    table.remove(rival);
}

/// Writes `value` for `key`, in the layout of the old value if there is one.
fn write(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(old) => *old = Item::Value(value),
        None => insert(table, key, Item::Value(value)),
    }
}

fn insert(table: &mut dyn TableLike, key: &str, item: Item) {
    // The space before the closing brace of an inline table belongs to its last value; it moves to the new one.
    let last = table.iter_mut().last().and_then(|(_, item)| item.as_value_mut().map(Value::decor_mut));
    if let Some(decor) = last.filter(|decor| decor.suffix().and_then(|raw| raw.as_str()) == Some(" ")) {
        decor.set_suffix("");
    }
    table.insert(key, item);
}

/// What the missing table at `parts` begins with, when the path goes on to `next`.
fn begin(parts: &[String], next: &str) -> Value {
    let default = default_of(parts).filter(|value| Node::of_value(value).get(next).is_some());
    default.unwrap_or_else(|| Value::InlineTable(InlineTable::new()))
}

/// The default of the key at `parts`, in a group that of the key that holds in its place.
fn default_of(parts: &[String]) -> Option<Value> {
    let row = world::KEYS.find(parts)?;
    let base = row.base.as_ref().and_then(|base| world::KEYS.find(&base.split('.').collect::<Vec<_>>()));
    let default = base.unwrap_or(row).default.as_ref()?;
    Some(default.parse().expect("defaults are kept as TOML has them"))
}

/// Of the alternatives of a distribution or an arrival process, `table` holds one: it gives way to `next`.
fn give_way(table: &mut dyn TableLike, next: &str) {
    let held: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let [held] = &held[..] else { return };
    let both = |place: &&str| {
        let has = |name: &str| world::KEYS.names_at(place).any(|other| other == name);
        has(held) && has(next)
    };
    if held != next && ["<distribution>.", "clients.<name>.arrivals."].iter().any(both) {
        table.remove(held);
    }
}

/// The position in a list of the member that part `depth` of `path` names.
fn member(members: &[Node<'_>], path: &NamePath, depth: usize) -> Result<usize, Problem> {
    let (list, part) = (path.parts()[depth - 1].as_str(), path.parts()[depth].as_str());
    let names: Vec<&str> = members.iter().filter_map(|member| member.name_in(list)).collect();
    let what = || format!("names no member of `{}`", dotted(&path.parts()[..depth]));
    if !names.is_empty() {
        let index = members.iter().position(|member| member.name_in(list) == Some(part));
        return index.ok_or_else(|| no_path(path, what(), &choice(part, "its members", &names)));
    }
    let index = part.parse().ok().filter(|index| *index < members.len());
    index.ok_or_else(|| match members.len() {
        0 => no_path(path, what(), "it has no members"),
        count => no_path(path, what(), &format!("its members are numbered from 0 to {}", count - 1)),
    })
}

fn member_table(list: &mut Item, index: usize) -> Option<&mut dyn TableLike> {
    match list {
        Item::ArrayOfTables(tables) => tables.get_mut(index).map(|table| table as &mut dyn TableLike),
        Item::Value(Value::Array(array)) => {
            let table = array.get_mut(index)?.as_inline_table_mut()?;
            Some(table as &mut dyn TableLike)
        }
        _ => None,
    }
}

/// `path` is wrong by itself, whatever value it gets.
fn no_path(path: &NamePath, what: String, help: &str) -> Problem {
    Problem::that(path.to_keys(), what, help).of_key()
}

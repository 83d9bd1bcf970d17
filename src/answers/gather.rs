//! Items without their repetitions, and items that belong together.

use crate::experiment::Cell;

/// `cells` in few words: arms and axis values.
pub fn span_text(cells: &[&Cell]) -> String {
    let name = |cell: &&Cell| {
        let values = cell.values.iter().flatten().map(|value| format!(" {value}"));
        format!("{}{}", cell.arm, values.collect::<String>())
    };
    match cells {
        [first, .., last] if last.index - first.index == cells.len() - 1 => {
            format!("{} … {} ({} cells)", name(first), name(last), cells.len())
        }
        _ => cells.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

/// Each of `items` once, where it first stands.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// The items in groups of those that are like their first one, in the order of the first ones.
pub fn grouped<T>(items: impl IntoIterator<Item = T>, is_like: impl Fn(&T, &T) -> bool) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| is_like(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

//! The worked cases of the load balancer's rules, and independent readings of them.

mod decisions;
mod pools;
mod timelines;
mod tracking;

/// The rows of a table, cut into cells.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').map(str::trim).collect())
}

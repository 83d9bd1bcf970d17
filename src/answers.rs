//! What follows from the tables of a results folder, and from the rules alone.

pub mod circumstance;
pub mod compare;
pub mod disagreement;
pub mod expect;
pub mod explain;
pub mod gather;
pub mod health;
pub mod offered;
pub mod recommend;
pub mod search;
mod situation;
pub mod thresholds;
pub mod unforgotten;

#[cfg(test)]
mod tests;

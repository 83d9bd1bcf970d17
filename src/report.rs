//! Results: rows, CSV files, charts.

pub mod charts;
pub mod compare;
pub mod draw;
pub mod expect;
pub mod figure;
pub mod gauge;
pub mod journal;
pub mod manifest;
pub mod markup;
pub mod merge;
mod number;
pub mod observed;
pub mod page;
pub mod policies;
pub mod recommend;
pub mod record;
pub mod results;
pub mod search;
pub mod tables;
pub mod thresholds;
pub mod wording;

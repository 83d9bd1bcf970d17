//! Results: rows, CSV files, charts.

pub mod charts;
pub mod draw;
pub mod figure;
pub mod journal;
pub mod manifest;
mod number;
pub mod results;
pub mod tables;

//! Results: rows, CSV files, charts.

pub mod figure;
pub mod results;

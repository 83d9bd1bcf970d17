//! Results: rows, CSV files, charts.

pub mod draw;
pub mod figure;
pub mod results;

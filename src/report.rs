//! Results: rows, CSV files, charts.

pub mod charts;
pub mod draw;
pub mod figure;
pub mod results;

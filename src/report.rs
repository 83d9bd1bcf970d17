//! Results: rows, CSV files, charts.

pub mod figure;

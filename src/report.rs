//! Results: rows, CSV files, charts.

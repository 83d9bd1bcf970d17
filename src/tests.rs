//! Tests of more than one room: the source itself, and whole runs.

mod tidy;

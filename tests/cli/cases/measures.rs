//! What is counted, and when.

//! Running an experiment into a results folder: which runs there are, threads, journal, shards, and the manifest.

pub mod agenda;
pub mod cost;
pub mod journal;
pub mod manifest;
pub mod merge;
pub mod runner;
pub mod shard;
pub mod warmup;

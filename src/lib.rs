//! zonesim: a discrete-event simulator of zonal affinity in Google Cloud passthrough Network Load Balancers.

pub mod ids;
pub mod random;
pub mod stats;
pub mod time;

pub mod lb;
pub mod workload;

pub mod sim;

pub mod experiment;

pub mod report;

#[cfg(test)]
mod tests;

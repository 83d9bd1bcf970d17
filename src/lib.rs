//! zonesim: a discrete-event simulator of zonal affinity in Google Cloud passthrough Network Load Balancers.

pub mod ids;
pub mod time;

pub mod report;

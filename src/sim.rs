//! The world: clients, network, backends and probers around the load balancer.

pub mod metric;
pub mod outcome;
pub mod scenario;

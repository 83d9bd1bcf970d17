//! Reality beside the simulation: the same worlds on the kernel's own network.
//!
//! A scenario is an experiment file. One side of it is simulated many times; the other is a laboratory on Linux, with real
//! connections, probes and faults, where nftables forwards as zonesim's own load balancer decides. Both give the same
//! observations, and tests say whether they can come of one law.

#[cfg(target_os = "linux")]
pub mod crew;
#[cfg(target_os = "linux")]
pub mod lab;
pub mod limits;
pub mod observation;
#[cfg(target_os = "linux")]
mod plan;
pub mod quantity;
pub mod scenarios;
pub mod table;
pub mod verdict;
pub mod world;

#[cfg(test)]
mod tests;

//! The world: clients, network, backends and probers around the load balancer.
//!
//! [`Simulation`] owns its parts and hands each handler those that it changes; events carry ids. It touches no file and no
//! thread.

mod autoscaler;
mod balancers;
pub mod builder;
mod calendar;
mod clients;
mod connection;
mod event;
mod fault;
mod flow;
mod front;
mod historian;
pub mod history;
mod links;
mod machine;
mod machines;
mod operate;
pub mod outcome;
pub mod packets;
mod prober;
mod probing;
mod queue;
mod recorder;
mod remapper;
pub mod retransmission;
mod run_error;
pub mod scenario;
mod service;
mod simulation;
mod station;
mod tracer;

pub use run_error::RunError;
pub use simulation::Simulation;

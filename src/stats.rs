//! Statistics: the only place that computes them.

mod histogram;
mod interval;
mod level;
mod moments;

pub use histogram::Histogram;
pub use interval::{Confidence, Interval, ratio_interval, student_interval};
pub use level::Level;
pub use moments::Moments;

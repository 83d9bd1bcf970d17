//! Statistics: the only place that computes them.

mod estimate;
mod family;
mod histogram;
mod holm;
mod interval;
mod level;
mod moments;
mod mser;
mod nature;
mod paired;
mod rare;
mod sample;
mod sequential;
mod skew;
mod strata;
mod student;
mod two_sample;

pub use estimate::{Estimate, POWER};
pub use family::Family;
pub use histogram::Histogram;
pub use holm::{Judged, holm};
pub use interval::{Confidence, Interval, ratio_interval};
pub use level::Level;
pub use moments::Moments;
pub use mser::{MSER_BATCH, MSER_BATCHES_MIN, Truncation, mser};
pub use nature::{Nature, Range};
pub use paired::{Paired, PairedTest};
pub use sample::{Observation, Sample};
pub use sequential::{LOOK_AHEAD, Look, PILOT, SequentialRule, Tolerance, Width};
pub use skew::SkewedEstimate;
pub use strata::Strata;
pub use two_sample::{binomial_tail, kolmogorov_smirnov, mean_difference, prediction_range};

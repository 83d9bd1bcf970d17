//! Values to positions along an axis, and the ticks that help to read them back.

use super::canvas::{Rect, Spot};
use crate::figures::{PanelAxis, Scale};

/// Ticks of a horizontal axis are at least so many pixels apart, and at most so many.
const X_TICKS: (f64, f64) = (84.0, 12.0);
/// The same of a vertical axis, which runs upwards: more would stripe the paper.
const Y_TICKS: (f64, f64) = (46.0, 8.0);
/// Below this ratio of its ends, a log axis has ticks in equal steps.
const SHORT: f64 = 4.0;

/// An axis laid between two pixel positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection<'a> {
    pub(super) axis: &'a PanelAxis,
    from: f64,
    to: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTick {
    pub(super) value: f64,
    pub(super) text: String,
}

impl<'a> Projection<'a> {
    pub(super) fn new(axis: &'a PanelAxis, from: f64, to: f64) -> Self {
        Self { axis, from, to }
    }

    /// The position of `value`; what lies outside the range is put at its end.
    pub(super) fn at(self, value: f64) -> f64 {
        let (low, high) = self.axis.range;
        let share = match self.axis.scale {
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => (value / low).ln() / (high / low).ln(),
            Scale::Linear | Scale::Category(_) => (value - low) / (high - low),
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    pub(super) fn ticks(self) -> Vec<AxisTick> {
        let (least, most) = if self.from < self.to { X_TICKS } else { Y_TICKS };
        let length = (self.to - self.from).abs();
        let most = (length / least.max(length / most)).max(1.0);
        match &self.axis.scale {
            Scale::Category(names) => {
                let places = names.iter().cloned().enumerate();
                places.map(|(place, text)| AxisTick { value: place as f64, text }).collect()
            }
            Scale::Linear => self.linear(most),
            Scale::Log => {
                let (low, high) = self.axis.range;
                let ticks = self.log(most);
                // A short range has hardly a round number in it. Its equal steps shrink towards the end.
                let shrinking = (1.0 - low / high) / (high / low).ln();
                if ticks.len() < 2 || high / low < SHORT { self.linear(most * shrinking) } else { ticks }
            }
        }
    }

    fn linear(self, most: f64) -> Vec<AxisTick> {
        let (low, high) = self.axis.range;
        let step = round_step((high - low) / most);
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let tick = |multiple: i64| {
            let value = multiple as f64 * step;
            AxisTick { value, text: self.axis.unit.tick(value, step) }
        };
        (first..=last).map(tick).collect()
    }

    fn log(self, most: f64) -> Vec<AxisTick> {
        let (low, high) = self.axis.range;
        let decades = (high / low).log10();
        let factors: &[f64] = match most / decades {
            room if room >= 4.0 => &[1.0, 2.0, 5.0],
            room if room >= 2.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let stride = (decades / most).ceil().max(1.0) as i32;
        let exponents = low.log10().floor() as i32..=high.log10().floor() as i32;
        exponents
            .filter(|exponent| exponent.rem_euclid(stride) == 0)
            .flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powi(exponent)))
            .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
            .map(|value| AxisTick { value, text: self.axis.unit.tick(value, value) })
            .collect()
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A panel's plot area with its two projections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane<'a> {
    pub(super) plot: Rect,
    pub(super) x: Projection<'a>,
    pub(super) y: Projection<'a>,
}

impl Plane<'_> {
    pub(super) fn spot(self, x: f64, y: f64) -> Spot {
        (self.x.at(x), self.y.at(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::unit::Unit;

    fn texts(axis: &PanelAxis, length: f64) -> Vec<String> {
        Projection::new(axis, 0.0, 0.84 * length).ticks().into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = |low, high| PanelAxis::linear("", Unit::Number, (low, high));
        assert_eq!(texts(&linear(0.0, 1.0), 500.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(&linear(0.0, 1780.0), 400.0), ["0", "500", "1k", "1.5k"]);
        assert_eq!(texts(&linear(1.0, 1.07), 400.0), ["1", "1.02", "1.04", "1.06"]);
        let log = |low, high| PanelAxis::log("", Unit::Number, (low, high));
        assert_eq!(texts(&log(0.05, 200.0), 400.0), ["0.1", "1", "10", "100"]);
        assert_eq!(texts(&log(1.0, 12.0), 500.0), ["1", "2", "5", "10"]);
        assert_eq!(texts(&log(31.0, 38.0), 400.0), ["32", "34", "36", "38"]);
        assert_eq!(texts(&log(1e-9, 1e9), 400.0), ["1e-5", "1", "100k"]);
    }

    #[test]
    fn positions_run_from_end_to_end() {
        let axis = PanelAxis::log("", Unit::Number, (0.1, 1000.0));
        let projection = Projection::new(&axis, 0.0, 400.0);
        for (value, position) in [(0.1, 0.0), (1.0, 100.0), (1000.0, 400.0), (0.0, 0.0), (1e9, 400.0)] {
            assert!((projection.at(value) - position).abs() < 1e-9, "{value}");
        }
        let axis = PanelAxis::categories("", vec!["a".to_owned(), "b".to_owned()]).reversed();
        let projection = Projection::new(&axis, 100.0, 0.0);
        assert_eq!((projection.at(0.0), projection.at(1.0)), (25.0, 75.0));
    }
}

//! The axis that metrics are shown against, and value axes that fit their data.

use crate::experiment::keys;
use crate::figures::PanelAxis;
use crate::figures::mark::PlotValue;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::Results;
use crate::time::SimDuration;

/// From this ratio of largest to smallest on, a log axis shows more than one from zero.
const LOG_FROM: f64 = 8.0;

/// How far below the least value the bands of a log axis are followed.
const LOWEST_BAND: f64 = 10.0;

/// White left and right of the data over their extent: room for half a marker and for a whole one.
const LEFT: f64 = 0.04;
const RIGHT: f64 = 0.07;

/// The first axis of the experiment whose values are all numbers or durations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumericAxis {
    /// Its position in [`Results::axes`].
    pub(super) index: usize,
    pub(super) name: String,
    /// The unit of its values; may be empty.
    pub(super) unit: &'static str,
    /// Whether equal ratios are to be equally long, whatever the values.
    pub(super) log: bool,
}

pub(super) fn first_numeric(results: &Results) -> Option<NumericAxis> {
    (0..results.axes.len()).find_map(|index| numeric(results, index))
}

/// The axis at `index` of [`Results::axes`], if all of its values are numbers or durations.
pub(super) fn numeric(results: &Results, index: usize) -> Option<NumericAxis> {
    let name = &results.axes[index];
    let mut texts =
        results.cells.iter().map(|cell| cell.values[index].as_str()).filter(|text| !text.is_empty());
    let first = texts.next()?;
    let all = number(first).is_some() && texts.all(|text| number(text).is_some());
    let unit = if first.parse::<f64>().is_ok() { unit(name) } else { "s" };
    all.then(|| NumericAxis { index, name: words(name), unit, log: false })
}

/// The number that an axis value stands for; durations in seconds.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = text.parse().ok().filter(|number: &f64| number.is_finite());
    plain.or_else(|| text.parse::<SimDuration>().ok().map(SimDuration::as_secs_f64))
}

pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// The unit of the keys that are called like the end of the column `name`; may be empty.
fn unit(name: &str) -> &'static str {
    let end = name.rsplit('.').next();
    let mut units =
        keys().filter(|row| row.path.rsplit('.').next() == end).filter_map(|row| row.unit.as_deref());
    units.next().unwrap_or_default()
}

impl NumericAxis {
    /// The horizontal axis through `values`, which are sorted.
    pub(super) fn through(&self, values: &[f64]) -> PanelAxis {
        let mut label = self.name.clone();
        // The tail of a path keeps its spelling.
        if let Some(first) = label.get_mut(..1).filter(|_| !self.name.contains('.')) {
            first.make_ascii_uppercase();
        }
        if !self.unit.is_empty() {
            label = format!("{label} ({})", self.unit);
        }
        let (Some(low), Some(high)) = (values.first().copied(), values.last().copied()) else {
            return PanelAxis::linear(label, Unit::Number, (0.0, 1.0));
        };
        // Values that grow by factors crowd at the left of a linear axis.
        let middle = (values[values.len() / 2] - low) / (high - low);
        if low > 0.0 && high > low && (self.log || (high / low >= LOG_FROM && middle < 0.3)) {
            let ratio = high / low;
            let range = (low / ratio.powf(LEFT), high * ratio.powf(RIGHT));
            return PanelAxis::log(label, Unit::Number, range);
        }
        let length = if high > low { high - low } else { low.abs().max(1.0) };
        PanelAxis::linear(label, Unit::Number, (low - length * LEFT, high + length * RIGHT))
    }
}

/// How the values of a metric want to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueAxis<'a> {
    pub(super) label: &'a str,
    pub(super) unit: Unit,
    /// The value that a linear axis begins at.
    pub(super) base: f64,
    /// Whether a log axis is welcome where values are far apart.
    pub(super) log: bool,
}

impl<'a> ValueAxis<'a> {
    /// How the values of `metric` want to be shown: multiples begin at what is even, and times may be far apart.
    pub(super) fn of(metric: &Metric, label: &'a str) -> Self {
        let base = if metric.is_multiple() { 1.0 } else { 0.0 };
        Self { label, unit: metric.format, base, log: metric.unit == "ms" }
    }

    /// A log axis on which all of `estimates` can be seen that are above zero, with their intervals down to a tenth of the
    /// least of them: a band may begin anywhere between there and zero, or below it. Nothing if there are none.
    pub(super) fn log_around(self, estimates: &[PlotValue]) -> Option<PanelAxis> {
        let least = least_positive(estimates)?;
        let ends = || estimates.iter().filter(|one| one.value > 0.0).flat_map(|one| one.values());
        let low = ends().filter(|end| *end > 0.0).fold(least, f64::min).max(least / LOWEST_BAND);
        let high = ends().fold(least, f64::max);
        Some(PanelAxis::log(self.label, self.unit, (low / 1.3, high * 1.3)))
    }

    /// An axis on which all of `estimates` can be seen.
    pub(super) fn around(self, estimates: &[PlotValue]) -> PanelAxis {
        let high = estimates.iter().flat_map(|estimate| estimate.values()).fold(f64::NEG_INFINITY, f64::max);
        if self.log && least_positive(estimates).is_some_and(|low| high / low >= LOG_FROM) {
            return self.log_around(estimates).expect("there is a value above zero");
        }
        let low = estimates.iter().map(|estimate| estimate.value).fold(self.base, f64::min);
        let high = if high > low { high } else { low + if self.unit == Unit::Percent { 0.01 } else { 1.0 } };
        PanelAxis::linear(self.label, self.unit, (low, high + (high - low) * 0.06))
    }
}

fn least_positive(estimates: &[PlotValue]) -> Option<f64> {
    estimates.iter().map(|estimate| estimate.value).filter(|value| *value > 0.0).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Scale;
    use crate::results::sample::SampleFolder;

    #[test]
    fn durations_are_numbers_too() {
        assert_eq!(number("0.5"), Some(0.5));
        assert_eq!(number("1m"), Some(60.0));
        assert_eq!(number("CLIENT_IP"), None);
        assert_eq!(number("inf"), None);
        let values = ["1s", "5s", "1m"].map(str::to_owned).to_vec();
        let sample = SampleFolder {
            axis: "health_check.check_interval".to_owned(),
            values,
            ..SampleFolder::default()
        };
        let axis = first_numeric(&sample.results()).unwrap();
        assert_eq!(axis.through(&[1.0, 5.0, 60.0]).label, "health check.check interval (s)");
    }

    #[test]
    fn words_are_no_numeric_axis() {
        let values = ["NONE", "CLIENT_IP"].map(str::to_owned).to_vec();
        assert_eq!(first_numeric(&SampleFolder { values, ..SampleFolder::default() }.results()), None);
        assert_eq!(first_numeric(&SampleFolder::no_axis().results()), None);
    }

    #[test]
    fn axes_fit_their_data() {
        let plain = ValueAxis { label: "", unit: Unit::Percent, base: 0.0, log: true };
        let estimates = |values: &[f64]| values.iter().copied().map(PlotValue::from).collect::<Vec<_>>();
        assert_eq!(plain.around(&estimates(&[5.0, 10.0])).range, (0.0, 10.6));
        assert_eq!(plain.around(&estimates(&[0.0, 0.0])).range.0, 0.0);
        assert_eq!(plain.around(&estimates(&[1.0, 0.0, 100.0])).scale, Scale::Log);
        assert_eq!(plain.around(&[]).range, (0.0, 0.0106));
        let axis = NumericAxis { index: 0, name: "rate".to_owned(), unit: "", log: false };
        assert_eq!(axis.through(&[1.0, 10.0, 100.0]).scale, Scale::Log);
        assert_eq!(axis.through(&[1.0, 5.0, 10.0]).scale, Scale::Linear);
        assert_eq!(axis.through(&[2.0]).range, (1.92, 2.14));
    }
}

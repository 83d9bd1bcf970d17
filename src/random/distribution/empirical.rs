//! Distributions that are given by their distribution function.

use std::sync::Arc;

/// A distribution function of straight pieces, from shares to values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve(Arc<[Knot]>);

/// A point of the function: the share of draws that are at most this value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Knot {
    pub(super) share: f64,
    pub(super) value: f64,
}

impl Curve {
    /// The function through `knots`, which do not fall and end at `full`; `full` is the share of all draws.
    pub(super) fn new(mut knots: Vec<Knot>, full: f64) -> Self {
        for knot in &mut knots {
            knot.share = (knot.share / full).min(1.0);
        }
        // The end may miss `full` by a rounding error.
        if let Some(last) = knots.last_mut() {
            last.share = 1.0;
        }
        Self(knots.into())
    }

    /// The value below which the share `unit`, 0 < `unit` < 1, of draws lies. The first value has its share to itself.
    #[inline]
    pub(super) fn value(&self, unit: f64) -> f64 {
        let above = self.0.partition_point(|knot| knot.share < unit);
        let Some(below) = above.checked_sub(1) else { return self.0[0].value };
        let (below, above) = (self.0[below], self.0[above]);
        below.value + (above.value - below.value) * ((unit - below.share) / (above.share - below.share))
    }

    /// The piece, with its ends, in which a draw lies that is the likelier the longer it is; `unit` picks it.
    pub(super) fn piece_by_length(&self, unit: f64) -> (f64, f64) {
        let first = (self.0[0].share, self.0[0].value, self.0[0].value);
        let later =
            self.0.windows(2).map(|ends| (ends[1].share - ends[0].share, ends[0].value, ends[1].value));
        let mut rest = unit * self.mean();
        let mut pieces = std::iter::once(first).chain(later).filter(|(share, ..)| *share > 0.0);
        let found = pieces.find(|(share, low, high)| {
            rest -= share * (low + high) / 2.0;
            rest <= 0.0
        });
        // Rounding may leave something of the mean.
        let last = self.0[self.0.len() - 1].value;
        found.map_or((last, last), |(_, low, high)| (low, high))
    }

    pub(super) fn mean(&self) -> f64 {
        let pieces = self.0.windows(2);
        let piece = |ends: &[Knot]| (ends[1].share - ends[0].share) * (ends[0].value + ends[1].value) / 2.0;
        self.0[0].share * self.0[0].value + pieces.map(piece).sum::<f64>()
    }
}

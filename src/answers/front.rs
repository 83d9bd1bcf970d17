//! Which of some alternatives no other is better than in two ways at once.

/// Puts `items`, of which each has two values that are good low, in the order of the first value, and says of each whether no
/// other is better in both.
pub fn front<T>(mut items: Vec<T>, values: impl Fn(&T) -> (f64, f64)) -> Vec<(T, bool)> {
    items.sort_by(|a, b| {
        let (a, b) = (values(a), values(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let mut least = f64::INFINITY;
    let judged = items.into_iter().map(|item| {
        let second = values(&item).1;
        let best = second < least;
        least = least.min(second);
        (item, best)
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_better_in_any_way_is_behind_the_front() {
        let judged = front(vec![(2.0, 2.0), (1.0, 3.0), (3.0, 2.0), (2.0, 1.0), (1.0, 4.0)], |pair| *pair);
        let front: Vec<(f64, f64)> = judged.iter().filter(|(_, best)| *best).map(|(pair, _)| *pair).collect();
        assert_eq!(front, [(1.0, 3.0), (2.0, 1.0)]);
        assert_eq!(judged[1], ((1.0, 4.0), false));
    }
}

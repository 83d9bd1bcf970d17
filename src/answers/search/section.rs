//! Which positions of a grid a search tries: by bisection, or by golden section.
//!
//! Both are functions of what is known: they give the positions that are missing, or the result.

/// What a search comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought<T> {
    /// The positions of the grid that have to be tried to go on.
    Missing(Vec<usize>),
    /// The result.
    Found(T),
}

/// What bisection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Both ends are in, or both are out.
    Alike(bool),
    /// Two neighbours, of which one is in.
    Between { kept: usize, not: usize },
}

/// Halves the positions from 0 to `last` until two neighbours differ in `is_in`.
pub(super) fn bisect(last: usize, is_in: impl Fn(usize) -> Option<bool>) -> Sought<Ends> {
    let missing: Vec<usize> = [0, last].into_iter().filter(|at| is_in(*at).is_none()).collect();
    let (Some(first_in), Some(last_in)) = (is_in(0), is_in(last)) else { return Sought::Missing(missing) };
    if first_in == last_in {
        return Sought::Found(Ends::Alike(first_in));
    }
    let (mut low, mut high) = (0, last);
    while high - low > 1 {
        let middle = low.midpoint(high);
        match is_in(middle) {
            None => return Sought::Missing(vec![middle]),
            Some(same) if same == first_in => low = middle,
            Some(_) => high = middle,
        }
    }
    let (kept, not) = if first_in { (low, high) } else { (high, low) };
    Sought::Found(Ends::Between { kept, not })
}

/// The most positions that bisection tries: both ends, and the middles.
pub(super) fn bisections(last: usize) -> usize {
    2 + last.max(1).next_power_of_two().ilog2() as usize
}

/// Narrows the positions from 0 to `last` down to the one of least `cost`, if there is one valley.
///
/// On a grid the golden section is Fibonacci's: an interval of a Fibonacci number is divided at the two before it, so that
/// one of the two inner positions is always known from before (Kiefer, "Sequential minimax search for a maximum", 1953).
/// Positions beyond the last are worse than all others. Of equal ones the lower is kept.
pub(super) fn golden(last: usize, cost: impl Fn(usize) -> Option<f64>) -> Sought<usize> {
    let fibonacci = lengths(last);
    let mut index = fibonacci.len() - 1;
    // The interval has its ends outside: position 0 is the first inner one.
    let mut low = 0;
    let position = |low: usize, offset: usize| low + offset - 1;
    while index > 1 {
        let (left, right) = (position(low, fibonacci[index - 2]), position(low, fibonacci[index - 1]));
        let seen = |at: usize| if at > last { Some(f64::INFINITY) } else { cost(at) };
        match (seen(left), seen(right)) {
            (Some(a), Some(b)) => {
                if a > b {
                    low += fibonacci[index - 2];
                }
                index -= 1;
            }
            (a, b) => {
                let missing = [(left, a), (right, b)].into_iter().filter(|(_, seen)| seen.is_none());
                return Sought::Missing(missing.map(|(at, _)| at).collect());
            }
        }
    }
    let at = position(low, 1);
    if cost(at).is_some() { Sought::Found(at) } else { Sought::Missing(vec![at]) }
}

/// The most positions that the golden section tries.
pub(super) fn golden_steps(last: usize) -> usize {
    (lengths(last).len() - 1).max(1)
}

/// Fibonacci's numbers 1, 2, 3, 5 … up to the first interval that has all positions inside.
fn lengths(last: usize) -> Vec<usize> {
    let mut numbers = vec![1, 2];
    while numbers[numbers.len() - 1] < last + 2 {
        numbers.push(numbers[numbers.len() - 2] + numbers[numbers.len() - 1]);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Asks until the search has ended; gives the result and how many positions were tried.
    fn run<V: Copy, T>(
        value: impl Fn(usize) -> V,
        search: impl Fn(&dyn Fn(usize) -> Option<V>) -> Sought<T>,
    ) -> (T, usize) {
        let mut known: BTreeMap<usize, V> = BTreeMap::new();
        loop {
            match search(&|at| known.get(&at).copied()) {
                Sought::Found(found) => return (found, known.len()),
                Sought::Missing(positions) => {
                    assert!(!positions.is_empty(), "a search asks for something or ends");
                    for at in positions {
                        assert!(known.insert(at, value(at)).is_none(), "{at} was known");
                    }
                }
            }
        }
    }

    #[test]
    fn ends_that_are_alike_end_a_bisection() {
        for same in [true, false] {
            assert_eq!(run(|_| same, |known| bisect(100, known)), (Ends::Alike(same), 2));
        }
        assert_eq!(run(|at| at == 0, |known| bisect(1, known)), (Ends::Between { kept: 0, not: 1 }, 2));
    }

    proptest! {
        #[test]
        fn a_bisection_finds_any_boundary_in_its_steps(last in 1_usize..10_000, share in 0.0_f64..1.0, up in any::<bool>()) {
            let first_out = 1 + ((last - 1) as f64 * share) as usize;
            let (found, tried) = run(|at| (at < first_out) == up, |known| bisect(last, known));
            let (kept, not) = if up { (first_out - 1, first_out) } else { (first_out, first_out - 1) };
            prop_assert_eq!(found, Ends::Between { kept, not });
            prop_assert!(tried <= bisections(last), "{} of {}", tried, bisections(last));
        }

        #[test]
        fn a_golden_section_finds_the_floor_of_any_valley_in_its_steps(
            last in 0_usize..10_000, share in 0.0_f64..=1.0, steepness in 0.1_f64..10.0,
        ) {
            let best = (last as f64 * share) as usize;
            let cost = |at: usize| {
                let far = at.abs_diff(best) as f64;
                if at < best { far * steepness } else { far.sqrt() }
            };
            let (found, tried) = run(cost, |known| golden(last, known));
            prop_assert_eq!(found, best);
            prop_assert!(tried <= golden_steps(last), "{} of {}", tried, golden_steps(last));
        }
    }

    #[test]
    fn steps_grow_with_the_logarithm() {
        assert_eq!([1, 2, 3, 78, 1000].map(bisections), [2, 3, 4, 9, 12]);
        assert_eq!([0, 1, 2, 6, 1000].map(golden_steps), [1, 2, 3, 4, 15]);
    }
}
